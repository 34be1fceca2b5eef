from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.data import Abbreviation, Candidates, Concept, Document, Mention, Name, Span
from linnet.errors import LinnetWarning, RecipeError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Allow
from linnet.retrieve.ngram import Ngram
from linnet.text.normalise import basic

pytestmark = pytest.mark.filterwarnings("ignore:1 names hold no letter and no digit")  # of NAMES: "+++"
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


def grams(text: str, low: int, high: int, *, words: bool = True, sublinear: bool = True) -> dict[str, float]:
    """Return term frequencies of n-grams, those of words added up."""
    total: dict[str, float] = {}
    for unit in basic(text).split() if words else [basic(text)] * bool(basic(text)):
        padded = f" {unit} "
        counts = Counter(padded[i : i + n] for n in range(low, high + 1) for i in range(len(padded) - n + 1))
        for gram, count in counts.items():
            total[gram] = total.get(gram, 0) + (1 + math.log(count) if sublinear else count)
    return total


def slowly(kb: KnowledgeBase, text: str, low: int = 2, high: int = 4, min_df: int = 1, **how: bool) -> list[float]:
    """Return the score of every concept as a textbook has it: dense TF-IDF vectors, cosine, best name."""
    everything = [(name.concept, grams(name.text, low, high, **how)) for name in kb.names()]
    everything = [(concept, counts) for concept, counts in everything if counts]
    df = Counter(gram for _, counts in everything for gram in counts)
    idf = {gram: math.log((1 + len(everything)) / (1 + n)) + 1 for gram, n in df.items() if n >= min_df}
    order = {gram: place for place, gram in enumerate(sorted(idf))}

    def vector(counts: dict[str, float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        dense = np.zeros(len(order))
        for gram, count in counts.items():
            if gram in order:
                dense[order[gram]] = count * idf[gram]
        length = math.sqrt(float(dense @ dense))
        return dense / length if length else dense

    query = vector(grams(text, low, high, **how))
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
@pytest.mark.parametrize(("words", "sublinear"), [(True, True), (True, False), (False, True)])
def test_it_is_tf_idf_cosine(
    names: KnowledgeBase, text: str, low: int, min_df: int, words: bool, sublinear: bool
) -> None:
    ngram = Ngram(kb=names, ngram_range=(low, 4), min_df=min_df, word_boundaries=words, sublinear_tf=sublinear)
    want = slowly(names, text, low, 4, min_df, words=words, sublinear=sublinear)
    agree(names, text, found(ngram, text), want)


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


def test_names_without_letters_are_like_nothing_and_a_warning_says_so(tmp_path: Path) -> None:
    kb = build([Concept("X:1", (Name("+"),)), Concept("X:2", (Name("-"),))], tmp_path / "a.kb")
    with pytest.warns(LinnetWarning, match=r"2 names hold no letter and no digit.*'\+', '-'"):
        _ = Ngram(kb=kb).index
    assert len(found(Ngram(kb=kb), "+")) == len(found(Ngram(kb=kb), "a")) == 0


@pytest.mark.parametrize(
    ("keywords", "messages"),
    [
        ({"ngram_range": (3, 2)}, [r"ngram_range: \[3, 2\] must be 1 <= shortest <= longest"]),
        ({"ngram_range": (0, 2)}, ["ngram_range"]),
        ({"k": 0}, ["k: 0 must be at least 1"]),
        ({"k": -1, "ngram_range": (0, 0)}, ["ngram_range", "k: -1"]),
        ({"min_df": 0, "max_features": 0}, ["min_df: 0 must", "max_features: 0 must"]),
        ({"char_side": "front", "char_count": 0}, ["char_count: 0 must be at least 1 for char_side 'front'"]),
        ({"char_side": "separate", "char_count": 1}, ["at least 2"]),
        ({"char_side": "both"}, ["char_side: 'both' is none of none, front, back, separate, together"]),
        ({"prior": -0.1}, ["prior: -0.1 must be between 0 and 10"]),
        ({"prior": math.nan}, ["prior: nan"]),
    ],
)
def test_wrong_keywords(names: KnowledgeBase, keywords: dict[str, object], messages: list[str]) -> None:
    for message in messages:
        with pytest.raises(RecipeError, match=message):
            Ngram(kb=names, **keywords)  # type: ignore[arg-type]
    assert Ngram(kb=names, ngram_range=[1, 3]).ngram_range == (1, 3)  # type: ignore[arg-type]


# --- sides of names --------------------------------------------------------------------------------------------------


def ids(candidates: Candidates) -> list[int]:
    return [int(row) for row in candidates.rows]


def test_only_the_chosen_side_of_a_name_is_compared(tmp_path: Path) -> None:
    texts = ["abcdxxxxxxxxxxxx", "xxxxxxxxxxxxabcd", "abcdyyyyyyyyefgh", "efghyyyyyyyyabcd"]
    kb = build([Concept(f"X:{i}", (Name(text),)) for i, text in enumerate(texts)], tmp_path / "a.kb")

    def exact(side: Literal["front", "back", "separate", "together"], count: int, text: str) -> list[int]:
        candidates = found(Ngram(kb=kb, char_side=side, char_count=count), text)
        return sorted(candidates.rows[candidates.scores > 0.9999].tolist())

    assert exact("front", 4, "abcdzzzzzz") == [0, 2]
    assert exact("back", 4, "zzzzzzabcd") == [1, 3]
    assert exact("separate", 8, "abcdzzzzefgh") == [2]
    assert exact("together", 8, "abcdzzzzefgh") == [2, 3]
    assert exact("separate", 8, "efghzzzzabcd") == [3]


def test_halves_in_separate_vocabularies_have_nothing_in_common(tmp_path: Path) -> None:
    kb = build([Concept("X:1", (Name("abcdxxxx"),)), Concept("X:2", (Name("yyyyefgh"),))], tmp_path / "a.kb")
    assert ids(found(Ngram(kb=kb, char_side="separate", char_count=8, ngram_range=(3, 3)), "zzzzabcd")) == []
    assert ids(found(Ngram(kb=kb, char_side="together", char_count=8, ngram_range=(3, 3)), "zzzzabcd")) == [0]


def test_max_features_keeps_the_most_frequent(names: KnowledgeBase) -> None:
    everything = Ngram(kb=names).index.grams.tolist()
    few = Ngram(kb=names, max_features=5)
    df = Counter(gram for name in names.names() for gram in grams(name.text, 2, 4))
    assert set(few.index.grams.tolist()) == set(sorted(df, key=lambda gram: (-df[gram], gram))[:5])
    assert Ngram(kb=names, max_features=10**6).index.grams.tolist() == everything
    assert len(found(few, "seizure"))
    assert len(found(few, "癫")) == 0


# --- edges -----------------------------------------------------------------------------------------------------------


def test_a_mention_of_ten_thousand_characters(names: KnowledgeBase) -> None:
    text = "short stature and seizures, " * 360
    assert len(text) > 10_000
    agree(names, text, found(Ngram(kb=names), text), slowly(names, text))
    assert len(found(Ngram(kb=names), "x" * 10_001)) == 0


def test_a_word_longer_than_every_ngram_of_the_knowledge_base(tmp_path: Path) -> None:
    kb = build([Concept("X:1", (Name("A"),)), Concept("X:2", (Name("b"),))], tmp_path / "a.kb")
    assert ids(found(Ngram(kb=kb), "a")) == [0]
    assert ids(found(Ngram(kb=kb), "ab")) == [0, 1]  # begins as one and ends as the other
    assert ids(found(Ngram(kb=kb), "cad")) == []


def test_an_empty_vocabulary(tmp_path: Path) -> None:
    kb = build([Concept("X:1", (Name("Seizure"),))], tmp_path / "a.kb")
    assert ids(found(Ngram(kb=kb, word_boundaries=False, min_df=3, max_features=2), "seizure")) == []


def test_word_order_makes_ties_that_rows_decide(tmp_path: Path) -> None:
    texts = ["stature short", "short stature", "stature, short", "short  Stature"]
    kb = build([Concept(f"X:{i}", (Name(text),)) for i, text in enumerate(texts)], tmp_path / "a.kb")
    candidates = found(Ngram(kb=kb), "stature short")
    assert ids(candidates) == [0, 1, 2, 3]
    assert len(set(candidates.scores.tolist())) == 1
    assert ids(found(Ngram(kb=kb, k=2), "short stature")) == [0, 1]


def test_without_long_forms_abbreviations_are_looked_up_as_they_stand(names: KnowledgeBase) -> None:
    doc = Document("d", "Seizure (QQ)", (), (), (Abbreviation(Span(9, 11), Span(0, 7)),), (Mention(9, 11),))
    assert len(Ngram(kb=names).retrieve([doc])[0][0])
    plain = Ngram(kb=names, long_forms=False)
    assert len(plain.retrieve([doc])[0][0]) == 0
    assert plain.needs == {"mentions"}


def test_equal_texts_are_looked_up_once(names: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    ngram = Ngram(kb=names)
    doc = Document("d", "seizure seizure", mentions=(Mention(0, 7), Mention(8, 15)), abbreviations=())
    [[first, second]] = ngram.retrieve([doc])
    assert first is second
    typed = replace(doc, mentions=(Mention(0, 7, types=("a",)), Mention(8, 15, types=("b",))))
    allow = Allow(by_type=(("a", Allow(types=("odd",))), ("b", Allow(types=("even",)))))
    [[odd, even]] = ngram.retrieve([typed], allow=allow)
    assert ids(odd)
    assert ids(even)
    assert not set(ids(odd)) & set(ids(even))


def test_answers_are_kept_from_call_to_call_and_bounded(names: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linnet.retrieve.ngram.REMEMBERED", 3)
    ngram, texts = Ngram(kb=names), ["seizure", "fits", "febrile seizure", "a fit"]
    expected = [Ngram(kb=names).candidates([text], None)[0] for text in texts]
    first = ngram.candidates(texts[:2], None)
    assert ngram.candidates(texts[:3], None)[0] is first[0]
    assert ngram.candidates(texts, None) == expected
    assert ngram.candidates([*texts, *texts], None) == [*expected, *expected]
    odd = ngram.candidates(["seizure"], Allow(types=("odd",)).mask(names))
    assert odd != first[:1], "what is asked of a part of the concepts is looked up for itself"


def test_training_forgets_earlier_answers(names: KnowledgeBase) -> None:
    ngram = Ngram(kb=names)
    [before] = ngram.candidates(["seizure"], None)
    other = before.rows[-1]
    train = [Document("d", "seizure", mentions=(Mention(0, 7, source="gold", concepts=(names.id(other),)),))]
    list(ngram.fit(train, [], before=ngram, kb=names, args={}))
    [after] = ngram.candidates(["seizure"], None)
    assert before.rows[0] != other
    assert after.rows[0] == other
