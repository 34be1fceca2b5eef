from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.data import Candidates, Concept, Document, Mention, Name
from linnet.errors import RecipeError
from linnet.kb import KnowledgeBase
from linnet.kb_build import build
from linnet.pipeline import Allow
from linnet.retrieve.ngram import Ngram
from linnet.text.normalise import basic

NAMES = (
    ("Seizure", "Epileptic seizure"),
    ("Febrile seizures",),
    ("Short stature", "Small stature"),
    ("β-thalassaemia", "beta thalassemia"),
    ("Σύνδρομο Down",),
    ("癫痫", "癲癇發作"),
    ("A",),
    ("+++",),
    ("Seizure",),
    ("Sjögren syndrome",),
)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    stream = [
        Concept(f"X:{i}", tuple(map(Name, texts)), ("odd" if i % 2 else "even",)) for i, texts in enumerate(NAMES)
    ]
    return build(stream, tmp_path_factory.mktemp("ngram") / "a.kb")


def grams(text: str, low: int, high: int) -> Counter[str]:
    padded = f" {basic(text)} " if basic(text) else ""
    return Counter(padded[i : i + n] for n in range(low, high + 1) for i in range(len(padded) - n + 1))


def slowly(kb: KnowledgeBase, text: str, low: int = 2, high: int = 4, min_df: int = 1) -> list[float]:
    """Return the score of every concept as a textbook has it: dense TF-IDF vectors, cosine, best name."""
    everything = [(name.concept, grams(name.text, low, high)) for name in kb.names()]
    df = Counter(gram for _, counts in everything for gram in counts)
    idf = {gram: math.log((1 + len(everything)) / (1 + n)) + 1 for gram, n in df.items() if n >= min_df}
    order = {gram: place for place, gram in enumerate(sorted(idf))}

    def vector(counts: Counter[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        dense = np.zeros(len(order))
        for gram, count in counts.items():
            if gram in order:
                dense[order[gram]] = count * idf[gram]
        length = math.sqrt(float(dense @ dense))
        return dense / length if length else dense

    query = vector(grams(text, low, high))
    best = [0.0] * len(kb)
    for concept, counts in everything:
        best[concept] = max(best[concept], float(vector(counts) @ query))
    return best


def found(ngram: Ngram, text: str, allow: Allow | None = None) -> Candidates:
    [[candidates]] = ngram.retrieve(
        [Document("d", text, mentions=(Mention(0, len(text)),), abbreviations=())], allow=allow
    )
    return candidates


def agree(kb: KnowledgeBase, text: str, candidates: Candidates, best: list[float]) -> None:
    scores = dict(zip(candidates.rows.tolist(), candidates.scores.tolist(), strict=True))
    assert scores == pytest.approx({row: score for row, score in enumerate(best) if score > 1e-9}, abs=1e-5)
    assert candidates == candidates.sorted()
    assert candidates.names is not None
    for row, name, score in zip(candidates.rows, candidates.names, candidates.scores, strict=True):
        assert kb.name(int(name)) in kb[int(row)].names
        assert score <= 1


TEXTS = [
    "seizures",
    "seizure",
    "x",
    "a",
    "βeta thalassemia",
    "Σύνδρομο",
    "癫痫 发作",
    "癫",
    "?",
    "stature short",
    "zzz",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("low", [1, 2])
@pytest.mark.parametrize("min_df", [1, 2])
def test_it_is_tf_idf_cosine(names: KnowledgeBase, text: str, low: int, min_df: int) -> None:
    ngram = Ngram(kb=names, ngram_range=(low, 4), min_df=min_df)
    agree(names, text, found(ngram, text), slowly(names, text, low, 4, min_df))


@settings(deadline=None)
@given(text=st.text("seizure shortβλ癫", min_size=1, max_size=12))
def test_any_mention(names: KnowledgeBase, text: str) -> None:
    agree(names, text, found(SHARED.setdefault(names.version, Ngram(kb=names)), text), slowly(names, text))


SHARED: dict[str, Ngram] = {}


def test_equal_names_are_ordered_by_row_and_the_first_name_wins(names: KnowledgeBase) -> None:
    candidates = found(Ngram(kb=names), "SEIZURE")
    assert candidates.rows[:2].tolist() == [0, 8]
    assert candidates.scores[:2].tolist() == pytest.approx([1, 1])
    assert candidates.names is not None
    assert names.name(int(candidates.names[0])).text == "Seizure"
    assert candidates.kb == names.version


def test_k(names: KnowledgeBase) -> None:
    everything = found(Ngram(kb=names, k=10_000), "seizure")
    assert 3 <= len(everything) <= len(names)
    for k in (1, 2, 3):
        assert found(Ngram(kb=names, k=k), "seizure") == everything.top(k)


def test_allow_comes_before_k(names: KnowledgeBase) -> None:
    candidates = found(Ngram(kb=names, k=1), "seizure", Allow(types=("odd",)))
    assert candidates.rows.tolist() == [1]
    assert len(found(Ngram(kb=names), "seizure", Allow(ids=()))) == 0


def test_names_without_letters_are_like_nothing(tmp_path: Path) -> None:
    kb = build([Concept("X:1", (Name("+"),)), Concept("X:2", (Name("-"),))], tmp_path / "a.kb")
    assert len(found(Ngram(kb=kb), "+")) == len(found(Ngram(kb=kb), "a")) == 0


@pytest.mark.parametrize(
    ("keywords", "messages"),
    [
        ({"ngram_range": (3, 2)}, [r"ngram_range: \[3, 2\] must be 1 <= shortest <= longest"]),
        ({"ngram_range": (0, 2)}, ["ngram_range"]),
        ({"k": 0}, ["k: 0 must be at least 1"]),
        ({"k": -1, "ngram_range": (0, 0)}, ["ngram_range", "k: -1"]),
    ],
)
def test_wrong_keywords(names: KnowledgeBase, keywords: dict[str, object], messages: list[str]) -> None:
    for message in messages:
        with pytest.raises(RecipeError, match=message):
            Ngram(kb=names, **keywords)  # type: ignore[arg-type]
    assert Ngram(kb=names, ngram_range=[1, 3]).ngram_range == (1, 3)  # type: ignore[arg-type]
