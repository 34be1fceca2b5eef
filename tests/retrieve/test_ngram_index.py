from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError, LinnetWarning
from linnet.kb import KnowledgeBase, Mask
from linnet.kb.build import build as build_kb
from linnet.retrieve import ngram_file
from linnet.retrieve.ngram_build import Vocabulary, build
from linnet.retrieve.ngram_file import NgramFile
from linnet.retrieve.ngram_index import NgramIndex, best_concepts
from linnet.retrieve.ngram_text import Analysis

WORDS = ("renal", "kidney", "cell", "carcinoma", "carcinomas", "of", "the", "cyst", "cysts", "adrenal", "x", "syndrome")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def index_of(texts: Sequence[str], concepts: Sequence[int], analysis: Analysis) -> NgramIndex:
    return build(((row, concepts[row], text) for row, text in enumerate(texts)), analysis)


def exhaustive(index: NgramIndex, text: str, k: int, mask: Mask | None = None) -> list[tuple[int, float, int]]:
    """Score all names, sort them all, and keep of each concept the first."""
    scores = index.similarities([text])[0].tolist()
    names = zip(scores, index.concepts.tolist(), index.name_rows.tolist(), strict=True)
    best: dict[int, tuple[int, float, int]] = {}
    for score, concept, row in sorted(names, key=lambda name: (-name[0], name[1], name[2])):
        if score > 0 and (mask is None or concept in mask):
            best.setdefault(concept, (concept, score, row))
    return list(best.values())[:k]


def searched(index: NgramIndex, text: str, k: int, mask: Mask | None = None) -> list[tuple[int, float, int]]:
    return list(zip(*(column.tolist() for column in index.search(text, k, mask)), strict=True))


@pytest.mark.slow
@settings(max_examples=200)
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=60),
    text=TEXTS,
    k=st.integers(1, 10),
    sharing=st.integers(1, 4),
    allowed=st.none() | st.sets(st.integers(0, 59), max_size=60),
    words=st.booleans(),
)
def test_bounds_never_lose_a_name(
    texts: list[str], text: str, k: int, sharing: int, allowed: set[int] | None, words: bool
) -> None:
    index = index_of(texts, [row // sharing for row in range(len(texts))], Analysis(word_boundaries=words))
    mask = None if allowed is None else Mask(np.isin(np.arange(60), list(allowed)), "v")
    assert searched(index, text, k, mask) == exhaustive(index, text, k, mask)
    many = index.search_all([text, *texts, "qqq"], k, mask)
    assert [list(zip(*(column.tolist() for column in found), strict=True)) for found in many] == [
        exhaustive(index, one, k, mask) for one in (text, *texts, "qqq")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 5, 20, 64, 5000])
@pytest.mark.parametrize("share", [None, 0.9, 0.5, 0.05, 0.0])
def test_bounds_never_lose_a_name_among_thousands(k: int, share: float | None) -> None:
    rng = np.random.default_rng(k)
    words = np.array(["".join(rng.choice(list("aeioulnrst"), rng.integers(2, 9))) for _ in range(900)])
    ranks = np.minimum(rng.zipf(1.3, 40_000), 900) - 1
    ends = np.cumsum(rng.integers(1, 7, 9_000))
    texts = [" ".join(words[ranks[end - 7 : end]]) for end in ends if 7 <= end <= 40_000]
    index = index_of(texts, [row // 2 for row in range(len(texts))], Analysis())
    mask = None if share is None else Mask(rng.random(len(texts)) < share, "v")
    for text in [*texts[:30], "tea", "near the stone", "q", ""]:
        assert searched(index, text, k, mask) == exhaustive(index, text, k, mask)


@pytest.mark.parametrize("k", [1 << 31, (1 << 63) - 1, 1 << 70])
def test_more_concepts_than_any_number_of_an_array(k: int) -> None:
    index = index_of(["renal cell carcinoma", "renal cyst"], [0, 1], Analysis())
    assert searched(index, "renal cyst", k) == searched(index, "renal cyst", 2)


def test_most_names_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{i} disease of word{i * 7919 % 20_011}" for i in range(20_000)]
    index = index_of(texts, range(len(texts)), Analysis())
    scored = []
    plain = NgramIndex._scores

    def counted(self: NgramIndex, units: object, names: Sequence[int] | None = None) -> object:
        scored.append(len(self) if names is None else len(names))
        return plain(self, units, names)  # type: ignore[arg-type]

    monkeypatch.setattr(NgramIndex, "_scores", counted)
    rows, _, _ = index.search(texts[77], 3)
    assert rows[0] == 77
    assert sum(scored) < len(texts) / 4


def test_another_vocabulary_is_kept_to() -> None:
    names = index_of(["renal cyst", "renal failure"], [0, 1], Analysis())
    other = build(
        [(0, 5, "renal cysts"), (1, 6, "qqq")], Analysis(), vocabulary=Vocabulary(names.grams, names.arrays["idf"])
    )
    assert other.grams is names.grams
    assert other.search("cysts", 9)[0].tolist() == [5]
    assert other.search("qqq", 9)[0].tolist() == []


def test_best_concepts_of_nothing() -> None:
    empty = np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.int32)
    assert [len(column) for column in best_concepts(*empty, 3)] == [0, 0, 0]


# --- the file --------------------------------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> KnowledgeBase:
    return build_kb(
        [Concept("X:1", (Name("Renal cyst"), Name("β-cell"))), Concept("X:2", (Name("Ren"),))], tmp_path / "a.kb"
    )


def test_it_is_built_once_and_then_opened(own: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    made = NgramFile(own, Analysis()).current()
    path = NgramFile(own, Analysis()).path
    assert path.exists()
    assert [file.name for file in path.parent.glob("*.part")] == []
    monkeypatch.setattr(ngram_file, "build", lambda *_, **__: pytest.fail("built again"))
    opened = NgramFile(own, Analysis()).current()
    assert all(np.array_equal(opened.arrays[name], made.arrays[name]) for name in made.arrays)
    assert not opened.arrays["lists"].flags.writeable
    assert searched(opened, "renal cysts", 5) == searched(made, "renal cysts", 5)


def test_every_option_has_a_file_of_its_own(own: KnowledgeBase) -> None:
    plain = Analysis()
    changes: list[dict[str, Any]] = [
        {"ngram_range": (3, 3)}, {"min_df": 2}, {"max_features": 9}, {"char_side": "front"}, {"char_count": 4},
        {"word_boundaries": False}, {"sublinear_tf": False},
    ]  # fmt: skip
    assert {next(iter(change)) for change in changes} == {field.name for field in dataclasses.fields(Analysis)}
    paths = {NgramFile(own, dataclasses.replace(plain, **change)).path for change in changes}
    assert len(paths | {NgramFile(own, plain).path}) == len(changes) + 1


def test_a_stale_index_is_built_again(own: KnowledgeBase, tmp_path: Path) -> None:
    NgramFile(own, Analysis()).current()
    other = build_kb([Concept("X:9", (Name("Lung"),))], tmp_path / "b.kb")
    NgramFile(own, Analysis()).path.replace(NgramFile(other, Analysis()).path)
    assert searched(NgramFile(other, Analysis()).current(), "lung", 5)[0][::2] == (0, 0)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:20],
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: data[:2000] + bytes([data[2000] ^ 1]) + data[2001:],
        lambda data: b"x" + data[1:],
        lambda data: data.replace(b'{"tag"', b'["tag"'),
        lambda data: data.replace(b'"idf"', b'"odf"'),
        lambda data: re.sub(rb'"arrays": \{"grams": \[\d+', b'"arrays": {"grams": [9e99', data, count=1),
        lambda data: re.sub(rb'"<f4"', b'"|O"' + b" ", data, count=1),
    ],
)
def test_a_damaged_index_is_built_again(own: KnowledgeBase, damage: object) -> None:
    path = NgramFile(own, Analysis()).path
    want = searched(NgramFile(own, Analysis()).current(), "renal", 5)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))  # type: ignore[operator]
    assert searched(NgramFile(own, Analysis()).current(), "renal", 5) == want
    assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_written_to(own: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.warns(
        LinnetWarning, match=r"cannot be written to \(Permission denied\): the n-gram index is built again"
    ):
        index = NgramFile(own, Analysis()).current()
    assert searched(index, "ren", 1)[0][0] == 1
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.warns(LinnetWarning), pytest.raises(KnowledgeBaseError, match=r"a\.kb\.ngrams-\w+ cannot be written"):
        NgramFile(own, Analysis()).current()
