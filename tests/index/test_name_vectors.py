"""Vectors of names: made once, found again, brought up to date after edits, searched by any index."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.tiny_models import tiny_bert

from linnet.arrays_file import ArraysWriter
from linnet.data import Concept, Name
from linnet.errors import FormatError, LinnetWarning
from linnet.index import name_vectors
from linnet.index.approximate import Hnsw
from linnet.index.name_vectors import EditedVectors, NameVectors, NameVectorsFile, SearchedNames
from linnet.kb import KbName, KnowledgeBase, Mask
from linnet.kb.build import build
from linnet.kb.edit import edit
from linnet.retrieve.dense import Dense

WORDS = ("fever", "pain", "cyst", "fracture", "rash", "edema", "ulcer", "palsy")
PLACES = ("head", "arm", "leg", "hand", "foot", "back", "neck", "hip", "skin", "eye")


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    words = sorted({*WORDS, *PLACES, "of", "gout"})
    return str(tiny_bert(tmp_path_factory.mktemp("bert") / "tiny", words=words, layers=1))


@pytest.fixture
def base(tmp_path: Path) -> KnowledgeBase:
    """80 concepts with two names each."""
    texts = [(f"{place} {word}", f"{word} of {place}") for place in PLACES for word in WORDS]
    stream = [Concept(f"X:{n}", tuple(map(Name, own)), definition=own[1]) for n, own in enumerate(texts)]
    return build(stream, tmp_path / "base.kb")


def again(base: KnowledgeBase) -> KnowledgeBase:
    return KnowledgeBase.open(base.path)


def plain(dense: Dense) -> NameVectors:
    found = dense.names_index
    assert isinstance(found, NameVectors)
    return found


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every name that is encoded from now on."""
    texts: list[str] = []
    plainly = Dense.encode_cut_names

    def listed(self: Dense, names: Sequence[str], descriptions: Sequence[str] | None = None) -> Any:
        texts.extend(names)
        return plainly(self, names, descriptions)

    monkeypatch.setattr(Dense, "encode_cut_names", listed)
    return texts


def answers(dense: Dense, queries: npt.NDArray[np.float32], k: int = 6, mask: Mask | None = None) -> list[Any]:
    found = dense.names_index.search(queries, k, [mask] * len(queries))
    return [[*zip(one.rows.tolist(), one.names.tolist(), one.scores.round(4).tolist(), strict=True)] for one in found]


@pytest.mark.parametrize("names_of", ["all", "preferred"])
def test_one_vector_a_concept_or_one_a_name(base: KnowledgeBase, bert: str, names_of: Any) -> None:
    made = plain(Dense(kb=base, encoder=bert, names=names_of, definitions=names_of == "preferred"))
    assert len(made.vectors) == (160 if names_of == "all" else 80)
    assert np.linalg.norm(made.vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_they_are_made_once_and_again_when_damaged(base: KnowledgeBase, bert: str, encoded: list[str]) -> None:
    before = np.array(plain(Dense(kb=base, encoder=bert)).vectors)
    [kept] = base.path.parent.glob("*.vectors-*")
    assert len(encoded) == 160
    assert np.array_equal(plain(Dense(kb=base, encoder=bert)).vectors, before)
    assert len(encoded) == 160
    whole = kept.read_bytes()
    for count, damaged in ((320, whole[:-8]), (480, whole[:999] + bytes([whole[999] ^ 64]) + whole[1000:])):
        kept.write_bytes(damaged)
        assert np.array_equal(plain(Dense(kb=base, encoder=bert)).vectors, before)
        assert len(encoded) == count
    other = Dense(kb=base, encoder=bert, name_pooling="cls")
    assert not np.array_equal(plain(other).vectors, before)


@pytest.mark.parametrize(
    "header", [{}, {"about": {}}, {"about": {"kb": "v"}, "size": 3}, {"about": {"kb": "v"}, "size": "2"}]
)
def test_a_file_of_another_shape_is_refused(tmp_path: Path, header: dict[str, Any]) -> None:
    def write(told: dict[str, Any]) -> NameVectors:
        with (tmp_path / "names.vectors").open("w+b") as file:
            writer = ArraysWriter(file, name_vectors.MAGIC)
            writer.put("vectors", np.ones(4, np.float32))
            writer.put("concepts", np.arange(2, dtype=np.int32))
            writer.put("name_rows", np.arange(2, dtype=np.int32))
            writer.finish(told)
        return NameVectors.open(tmp_path / "names.vectors")

    with pytest.raises(FormatError, match="holds no vectors of names; delete it"):
        write(header)
    assert len(write({"about": {"kb": "v"}, "size": 2}).vectors) == 2


@pytest.mark.parametrize("index", ["flat", "hnsw"])
def test_after_edits_only_what_changed_is_encoded(
    base: KnowledgeBase, bert: str, encoded: list[str], index: Any, tmp_path: Path
) -> None:
    Dense(kb=base, encoder=bert, index=index).names_index  # noqa: B018 - makes them
    encoded.clear()
    gone = base.row("X:5")
    with edit(base.path) as changes:
        changes.add(Concept("X:80", (Name("gout"), Name("gout of foot"))))
        changes.add(Concept("X:3", (Name("gout of hand"),)))  # one more name
        changes.retire("X:5", "X:6")
    kb = again(base)
    dense = Dense(kb=kb, encoder=bert, index=index)
    assert isinstance(dense.names_index, EditedVectors)
    assert sorted(encoded) == sorted([name.text for name in kb.names([kb.row("X:80"), kb.row("X:3")])])
    encoded.clear()
    with edit(base.path) as changes:
        changes.add(Concept("X:81", (Name("gout of neck"),)))
    kb = again(base)
    dense = Dense(kb=kb, encoder=bert, index=index)
    dense.names_index  # noqa: B018 - makes them
    assert encoded == ["gout of neck"]
    # the same answers as from nothing
    (tmp_path / "fresh").mkdir()
    copied = shutil.copy(kb.path, tmp_path / "fresh")
    fresh = Dense(kb=KnowledgeBase.open(copied), encoder=bert, index=index)
    queries = dense.encode_names(["gout", "gout of hand", "head edema", "gout of neck", "pain of hip"])
    odd = Mask(np.arange(len(kb.mask().array)) % 2 == 1, kb.version)
    for mask in (None, odd & kb.mask()):
        assert answers(dense, queries, mask=mask) == answers(fresh, queries, mask=mask)
    best = [found[0][0] for found in answers(dense, queries)]
    assert (best[0], best[1], best[3]) == (kb.row("X:80"), kb.row("X:3"), kb.row("X:81"))
    assert gone not in {row for found in answers(dense, queries, 200) for row, *_ in found}
    dense.names_index.save(tmp_path / "saved")
    saved = NameVectors.open(tmp_path / "saved")
    assert saved.about["kb"] == kb.version
    assert "since" not in saved.about
    assert sorted(saved.name_rows.tolist()) == sorted(name.row for name in kb.names())


def test_when_much_has_changed_everything_is_made_anew(base: KnowledgeBase, bert: str, encoded: list[str]) -> None:
    Dense(kb=base, encoder=bert).names_index  # noqa: B018 - makes them
    encoded.clear()
    with edit(base.path) as changes:
        for n in range(80, 90):
            changes.add(Concept(f"X:{n}", (Name(f"gout of {PLACES[n - 80]}"),)))
    assert len(plain(Dense(kb=again(base), encoder=bert)).vectors) == 170
    assert len(encoded) == 170


def test_another_knowledge_base_in_the_same_place_is_another(base: KnowledgeBase, bert: str) -> None:
    Dense(kb=base, encoder=bert).names_index  # noqa: B018 - makes them
    base.close()
    base.path.unlink()
    other = build([Concept("Y:1", (Name("gout"),))], base.path)
    made = plain(Dense(kb=other, encoder=bert))
    assert (len(made.vectors), made.about["kb"]) == (1, other.version)


@pytest.mark.parametrize("index", ["hnsw", "ivf"])
def test_an_index_is_kept_beside_the_vectors_and_built_again_when_damaged(
    base: KnowledgeBase, bert: str, index: Any, caplog: pytest.LogCaptureFixture
) -> None:
    dense = Dense(kb=base, encoder=bert, index=index)
    queries = dense.encode_names(["fever of head", "eye rash"])
    want = answers(Dense(kb=base, encoder=bert, index="flat"), queries)
    assert answers(dense, queries) == want
    [kept] = base.path.parent.glob(f"*.{index}")
    before = kept.stat().st_mtime_ns
    assert answers(Dense(kb=base, encoder=bert, index=index), queries) == want
    assert kept.stat().st_mtime_ns == before
    kept.write_bytes(kept.read_bytes()[:-9])
    assert answers(Dense(kb=base, encoder=bert, index=index), queries) == want
    assert f"{kept.name}: no index, or one that is cut short" in caplog.text
    assert kept.stat().st_mtime_ns != before


def test_where_nothing_can_be_written_it_says_so(
    base: KnowledgeBase, bert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    dense = Dense(kb=base, encoder=bert, index="hnsw")
    monkeypatch.setattr(Hnsw, "save", full)
    with pytest.warns(LinnetWarning, match="No space left on device.*the index of names is built each time"):
        assert len(answers(dense, dense.encode_names(["fever of head"]))[0]) == 6


def test_progress_is_told(
    base: KnowledgeBase, bert: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(name_vectors, "TELL", 0.0)
    monkeypatch.setattr(name_vectors, "BLOCK", 100)
    caplog.set_level("INFO", "linnet")
    Dense(kb=base, encoder=bert, index="hnsw").names_index  # noqa: B018 - makes them
    assert "vectors of names: 100 of 160" in caplog.text
    assert "index of names (hnsw): 160 of 160" in caplog.text


def test_a_concept_that_is_again_what_it_was_is_found_once(base: KnowledgeBase, bert: str) -> None:
    """Retired, restored, and another one added: what was made in between does not come twice."""
    seen = Dense(kb=base, encoder=bert, index="flat")
    query = seen.encode_names(["head fever"])
    seen.search(query, 5)
    concept = base[0]
    with edit(base.path) as change:
        change.retire("X:0")
    Dense(kb=again(base), encoder=bert, index="flat").search(query, 5)
    with edit(base.path) as change:
        change.add(concept)
    with edit(base.path) as change:
        change.add(Concept("X:80", (Name("gout"),)))
    dense = Dense(kb=again(base), encoder=bert, index="flat")
    [found] = dense.search(query, 5)
    assert found.rows[0] == 0
    assert len(set(found.rows.tolist())) == 5
    [new] = dense.search(dense.encode_names(["gout"]), 1)
    assert dense.kb.id(int(new.rows[0])) == "X:80"


class Letters:
    """Vectors of names that count their letters: what takes the place of a network."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, names: Sequence[KbName]) -> tuple[npt.NDArray[np.float32], int]:
        self.read += [name.text for name in names]
        counts = np.array([[name.text.count(letter) for letter in "abcdefghijklm"] for name in names], np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True), sum(len(name.text) > 12 for name in names)


@pytest.mark.parametrize("index", ["flat", "hnsw", "ivf"])
def test_any_function_from_names_to_vectors_will_do(base: KnowledgeBase, index: Any) -> None:
    encode = Letters()

    def searched(kb: KnowledgeBase) -> SearchedNames:
        return NameVectorsFile(kb, {"letters": "a-m"}, encode, size=13, tokens=12, preferred=True).searched(index)

    with pytest.warns(LinnetWarning, match="6 names are longer than 12 word pieces"):
        searched(base)
    assert len(encode.read) == 80
    with edit(base.path) as changes:
        changes.add(Concept("X:80", (Name("gagged"), Name("not asked for"))))
    kb = again(base)
    found = searched(kb)
    assert encode.read[80:] == ["gagged"]
    wanted = [kb.name_row(kb.row("X:80"), "gagged"), kb.name_row(kb.row("X:9"), "arm pain")]
    queries, _ = encode([next(kb.names([kb.row(id)])) for id in ("X:80", "X:9")])
    assert [one.names[0] for one in found.search(queries, 3)] == wanted
    odd = Mask(np.arange(len(kb.mask().array)) % 2 == 1, kb.version)
    assert {row % 2 for one in found.search(queries, 9, [odd, odd]) for row in one.rows.tolist()} == {1}
