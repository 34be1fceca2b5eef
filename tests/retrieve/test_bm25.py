from __future__ import annotations

import copy
import math
import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Abbreviation, Candidates, Concept, Document, Mention, Name, Span
from linnet.errors import RecipeError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Allow
from linnet.retrieve import bm25_index
from linnet.retrieve.bm25 import Bm25
from linnet.text.normalise import basic
from linnet.text.variants import stem

CONCEPTS = (
    Concept(
        "X:0", (Name("Seizure"), Name("Epileptic seizure")), ("even",), "Fits of the brain, and fits of the brain."
    ),
    Concept("X:1", (Name("Febrile seizures"),), ("odd",), "A seizure that comes with fever."),
    Concept("X:2", (Name("Short stature"), Name("Small stature")), ("even",)),
    Concept("X:3", (Name("β-thalassaemia"), Name("beta thalassemia")), ("odd",), "An anaemia."),
    Concept("X:4", (Name("Σύνδρομο Down"),), ("even",)),
    Concept("X:5", (Name("癫痫"), Name("癲癇 發作")), ("odd",)),
    Concept("X:6", (Name("A"),), ("even",), "?!"),
    Concept("X:7", (Name("+++"),), ("odd",), "What nothing else finds: wombats and wombats."),
    Concept("X:8", (Name("Seizure"), Name("seizure seizure")), ("even",)),
    Concept("X:9", (Name("Old seizure"),), ("odd",), "Retired wombats.", replaced_by="X:0"),
)
TEXTS = [
    "seizures", "Seizure, febrile", "seizure seizure", "x", "a", "β thalassemia", "Σύνδρομο", "癫痫", "癲癇 發作",
    "?", "", "a stature of the brain", "wombat", "fits", "anemia", "SHORT\u200b stature", "\ud800", "old",
]  # fmt: skip


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build(CONCEPTS, tmp_path_factory.mktemp("bm25") / "a.kb")


def textbook(texts: list[tuple[int, str]], query: str, k1: float, b: float) -> tuple[list[float], float]:
    """Return the BM25 score of each text by its definition, and the sum of the query's inverse document frequencies."""
    split = [Counter(stem(word) for word in basic(text).split()) for _, text in texts]
    split = [words for words in split if words]
    mean = sum(map(Counter.total, split)) / max(len(split), 1)

    def idf(word: str) -> float:
        df = sum(word in words for words in split)
        return math.log(1 + (len(split) - df + 0.5) / (df + 0.5))

    wanted = [stem(word) for word in basic(query).split()]
    scores = []
    for _, text in texts:
        words = Counter(stem(word) for word in basic(text).split())
        norm = k1 * (1 - b + b * words.total() / mean) if mean else 0.0
        scores.append(sum(idf(word) * words[word] / (words[word] + norm) for word in wanted if words[word]))
    return scores, sum(map(idf, wanted))


def slowly(kb: KnowledgeBase, text: str, k1: float, b: float, weight: float) -> dict[int, float]:
    """Return the score of every concept that has one."""
    named = [(name.concept, name.text) for name in kb.names()]
    defined = [(row, concept.definition) for row, concept in enumerate(CONCEPTS) if row != 9 and concept.definition]
    by_name, highest = textbook(named, text, k1, b)
    by_definition, most = textbook(defined, text, k1, b)
    best: dict[int, float] = {}
    for (row, _), score in zip(named, by_name, strict=True):
        best[row] = max(best.get(row, 0.0), score)
    for (row, _), score in zip(defined, by_definition, strict=True):
        best[row] = best.get(row, 0.0) + weight * score
    return {row: score / (highest + weight * most) for row, score in best.items() if score}


def found(bm25: Bm25, text: str, allow: Allow | None = None) -> Candidates:
    doc = Document("d", text or " ", mentions=(Mention(0, len(text) or 1),), abbreviations=())
    [[candidates]] = bm25.retrieve([doc], allow=allow)
    return candidates


def ids(kb: KnowledgeBase, candidates: Candidates) -> list[str]:
    return [kb.id(row) for row in candidates.rows]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(("k1", "b", "weight"), [(1.2, 0.75, 0.2), (0.0, 0.3, 0.0), (2.0, 0.0, 3.0), (0.9, 1.0, 1.0)])
def test_scores_are_those_of_the_definition(
    names: KnowledgeBase, text: str, k1: float, b: float, weight: float
) -> None:
    candidates = found(Bm25(kb=names, k1=k1, b=b, definition_weight=weight), text)
    scores = dict(zip(candidates.rows.tolist(), candidates.scores.tolist(), strict=True))
    assert scores == pytest.approx(slowly(names, text, k1, b, weight), rel=1e-5)
    assert candidates == candidates.sorted()
    assert candidates.kb == names.version
    assert all(0 < score <= 1 for score in candidates.scores)


WORDS = ("seizure", "febrile", "a", "of", "brain", "癫痫", "stature", "wombat", "new")


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_any_words(names: KnowledgeBase, words: list[str]) -> None:
    text = " ".join(words)
    candidates = found(Bm25(kb=names), text)
    scores = dict(zip(candidates.rows.tolist(), candidates.scores.tolist(), strict=True))
    assert scores == pytest.approx(slowly(names, text, 1.2, 0.75, 0.1), rel=1e-5)


def test_both_ways_of_adding_up_agree(names: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in TEXTS:
        monkeypatch.setattr(bm25_index, "FEW", 0)  # sorted as soon as there is one
        one = found(Bm25(kb=names), text)
        monkeypatch.setattr(bm25_index, "FEW", 1000)  # never
        assert found(Bm25(kb=names), text) == one


def test_names_that_matched(names: KnowledgeBase) -> None:
    candidates = found(Bm25(kb=names), "epileptic wombats")
    assert candidates.names is not None
    matched = [names.name(int(name)).text if name >= 0 else None for name in candidates.names]
    assert dict(zip(ids(names, candidates), matched, strict=True)) == {"X:0": "Epileptic seizure", "X:7": None}
    by_name_too = found(Bm25(kb=names, definition_weight=1000.0), "febrile fever")
    assert by_name_too.names is not None
    assert names.name(int(by_name_too.names[0])).text == "Febrile seizures"


def test_ties_are_broken_by_row(names: KnowledgeBase) -> None:
    candidates = found(Bm25(kb=names, definitions=False, k1=0.0), "seizure")
    assert ids(names, candidates) == ["X:0", "X:1", "X:8"]
    assert len(set(candidates.scores.tolist())) == 1
    assert ids(names, found(Bm25(kb=names, definitions=False, k1=0.0, k=2), "seizure")) == ["X:0", "X:1"]


def test_k_counts_after_the_filter(names: KnowledgeBase) -> None:
    bm25 = Bm25(kb=names, k=1)
    assert ids(names, found(bm25, "seizure")) == ["X:8"]
    assert ids(names, found(bm25, "seizure", Allow(types=("odd",)))) == ["X:1"]
    assert ids(names, found(bm25, "seizure", Allow(ids=("X:0", "X:2")))) == ["X:0"]
    assert ids(names, found(bm25, "seizure", Allow(ids=("X:2",)))) == []
    assert ids(names, found(bm25, "wombat", Allow(types=("even",)))) == []
    everything = found(Bm25(kb=names, k=10**6), "a seizure of stature, beta down wombat 癫痫")
    assert sorted(ids(names, everything)) == [f"X:{n}" for n in range(9)]


def test_masks_by_mention_type(names: KnowledgeBase) -> None:
    text = "seizure seizure"
    doc = Document("d", text, mentions=(Mention(0, 7, types=("T",)), Mention(8, 15)), abbreviations=())
    allow = Allow(by_type=(("T", Allow(types=("odd",))),))
    [[typed, other]] = Bm25(kb=names).retrieve([doc], allow=allow)
    assert ids(names, typed) == ["X:1"]
    assert ids(names, other) == ["X:8", "X:0", "X:1"]


def test_long_mentions(names: KnowledgeBase) -> None:
    for text in ("seizure " * 1250, "x" * 10_000, "癫" * 10_000, "? " * 5_000):
        candidates = found(Bm25(kb=names), text)
        assert bool(len(candidates)) == text.startswith("s")
        assert all(candidates.scores <= 1)


def test_without_definitions(names: KnowledgeBase) -> None:
    assert ids(names, found(Bm25(kb=names, definitions=False), "wombat")) == []
    assert ids(names, found(Bm25(kb=names), "wombats")) == ["X:7"]
    zero, none = Bm25(kb=names, definition_weight=0.0), Bm25(kb=names, definitions=False)
    assert all(found(zero, text) == found(none, text) for text in TEXTS)


def test_abbreviations_are_written_out(names: KnowledgeBase) -> None:
    text = "Short stature (SS). SS"
    pair = Abbreviation(Span(15, 17), Span(0, 13))
    doc = Document("d", text, mentions=(Mention(20, 22),), abbreviations=(pair,))
    [[candidates]] = Bm25(kb=names).retrieve([doc])
    assert ids(names, candidates) == ["X:2"]
    as_it_is = Bm25(kb=names, long_forms=False)
    assert as_it_is.needs == {"mentions"}
    assert as_it_is.retrieve([doc]) == [[Candidates([], [], names=[], kb=names.version)]]  # type: ignore[arg-type]


def test_wrong_options_are_all_named(names: KnowledgeBase) -> None:
    with pytest.raises(RecipeError) as caught:
        Bm25(kb=names, k=0, k1=-1, b=1.5, definition_weight=math.inf)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["k", "b", "k1", "definition_weight"]
    with pytest.raises(RecipeError, match="k1: nan must be between 0 and 1000"):
        Bm25(kb=names, k1=math.nan)


def test_an_empty_knowledge_base(tmp_path: Path) -> None:
    nothing = build([Concept("X:1", (Name("+"),))], tmp_path / "empty.kb")
    assert len(found(Bm25(kb=nothing), "seizure")) == 0


def test_copies_build_their_own_index(names: KnowledgeBase, tmp_path: Path) -> None:
    bm25 = Bm25(kb=names, k=2, b=0.5)
    want = found(bm25, "seizure")
    bm25.save(tmp_path / "saved")
    for again in (Bm25.load(tmp_path / "saved", kb=names), pickle.loads(pickle.dumps(bm25)), copy.copy(bm25)):
        assert again.config() == bm25.config()
        assert not {"names", "texts"} & set(again.__dict__)
        assert found(again, "seizure") == want
    bm25.k1, bm25.b = 0.0, 0.0
    bm25.__post_init__()
    assert found(bm25, "seizure") == found(Bm25(kb=names, k=2, k1=0.0, b=0.0), "seizure")


def test_index_of_nothing() -> None:
    index = bm25_index.build([], k1=1.2, b=0.75)
    places, scores = index.search({"seizure": 1})
    assert (len(index), len(places), len(scores)) == (0, 0, 0)
    assert np.isfinite(index.highest({"seizure": 1}))
