from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from linnet.data import (
    Abbreviation,
    Candidates,
    Concept,
    Document,
    FrozenDict,
    Mention,
    Name,
    Passage,
    Span,
    by_position,
    mention_id,
)
from linnet.errors import DataError


def test_records_do_not_change() -> None:
    mention = Mention(0, 4, meta={"flags": ["negated"], "deep": {"a": [1]}}, signals={"detect": 0.5})
    with pytest.raises(FrozenInstanceError):
        mention.start = 3  # type: ignore[misc]
    for change in ("update", "pop", "clear", "__setitem__", "__delitem__", "setdefault"):
        with pytest.raises(TypeError, match="immutable"):
            getattr(mention.meta, change)("deep", 1)
    assert mention.meta["flags"] == ("negated",)
    with pytest.raises(TypeError, match="immutable"):
        mention.meta["deep"]["a"] = 2  # type: ignore[index]


def test_frozen_dict_pickles_and_hashes() -> None:
    value: FrozenDict[int] = FrozenDict({"a": 1})
    assert pickle.loads(pickle.dumps(value)) == value == {"a": 1}
    assert hash(value) == hash(FrozenDict({"a": 1}))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"start": 3, "end": 3}, "before the end"),
        ({"start": -1, "end": 3}, "at least 0"),
        ({"start": 0, "end": 9, "parts": (Span(0, 9),)}, "twos or more"),
        ({"start": 0, "end": 9, "parts": (Span(0, 5), Span(4, 9))}, "must not overlap"),
        ({"start": 0, "end": 9, "parts": (Span(5, 9), Span(0, 4))}, "must be ordered"),
        ({"start": 0, "end": 9, "parts": (Span(0, 0), Span(4, 9))}, "must be ordered"),
        ({"start": 0, "end": 9, "parts": (Span(1, 3), Span(4, 9))}, "hull"),
        ({"start": 0, "end": 9, "source": "silver"}, "silver"),
        ({"start": 0, "end": 9, "probability": 1.5}, "1.5"),
        ({"start": 0, "end": 9, "probability": float("nan")}, "nan"),
        ({"start": 0, "end": 9, "calibration": "yes"}, "yes"),
    ],
)
def test_mentions_that_contradict_themselves(keywords: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Mention(**keywords)  # type: ignore[arg-type]


def test_parts_may_touch_and_spans_are_parts_or_the_whole() -> None:
    parts = (Span(0, 4), Span(4, 9))
    assert Mention(0, 9, parts=parts).spans == parts
    assert Mention(0, 9).spans == (Span(0, 9),) == (Mention(0, 9).span,)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"mentions": (Mention(0, 9),)}, "mention 0-9"),
        ({"passages": (Passage(0, 9),)}, "passages"),
        ({"passages": (Passage(3, 2),)}, "passages"),
        ({"sentences": (Span(-1, 2),)}, "sentences"),
        ({"reviewed": (Span(0, 9),)}, "reviewed"),
        ({"abbreviations": (Abbreviation(Span(0, 1), Span(2, 9)),)}, "abbreviations"),
    ],
)
def test_documents_refuse_offsets_outside_the_text(keywords: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Document("d", "12345678", **keywords)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((1, "Fits."), r"id: expected a string, found 1; str\(1\)"),
        ((np.int64(7), "Fits."), r"id: expected a string, found np.int64\(7\); str\(7\)"),
        ((None, "Fits."), "id: expected a string, found None$"),
        ((float("nan"), "Fits."), "id: expected a string, found nan$"),
        (("d", None), "text: expected a string, found None$"),
    ],
)
def test_documents_refuse_ids_and_texts_that_are_no_strings(values: tuple[object, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Document(*values)  # type: ignore[arg-type]


def test_document_of_has_a_stable_id() -> None:
    assert Document.of("a").id == Document.of("a").id != Document.of("b").id
    assert Document.of("a", "x").id == "x"
    assert Document.of("\ud800").id  # a lone surrogate is text too


def full() -> Document:
    mention = Mention(
        0,
        5,
        parts=(Span(0, 2), Span(3, 5)),
        id="T1",
        types=("D",),
        source="gold",
        candidates=Candidates([1], [0.5]),  # type: ignore[arg-type]
        concepts=("X:1",),
        alternatives=(("X:2",),),
        probability=0.5,
        calibration="joint",
        signals={"detect": 1.0},
        group="g",
        meta={"author": "a"},
    )
    return Document(
        "d",
        "ab cde",
        passages=(Passage(0, 6, "title", {"section": "T"}),),
        sentences=(Span(0, 6),),
        abbreviations=(Abbreviation(Span(0, 1), Span(3, 6)),),
        mentions=(mention,),
        reviewed=(Span(0, 6),),
        meta={"relations": [1]},
    )


def test_bare_documents_hold_id_text_and_passages_alone() -> None:
    assert full().bare() == Document("d", "ab cde", passages=(Passage(0, 6, "title"),))


def test_spans_only_holds_start_end_parts_and_id_alone() -> None:
    doc = full().spans_only()
    assert doc.mentions == (Mention(0, 5, parts=(Span(0, 2), Span(3, 5)), id="T1"),)
    assert doc.bare() == full().bare()
    assert (doc.meta, doc.sentences, doc.abbreviations, doc.reviewed) == ({}, None, None, None)


def test_surface_joins_parts() -> None:
    doc = full()
    assert doc.surface(doc.mentions[0]) == "ab de"[:2] + " " + doc.text[3:5]  # type: ignore[index]


def test_candidates_compare_by_value_and_do_not_hash() -> None:
    one = Candidates([1, 2], [0.5, 0.25], names=[3, 4], features={"x": [1.0, 2.0]}, kb="v")  # type: ignore[arg-type, dict-item]
    same = pickle.loads(pickle.dumps(one))
    assert one == same
    for other in (
        Candidates([1, 3], [0.5, 0.25], names=[3, 4], features={"x": [1.0, 2.0]}, kb="v"),  # type: ignore[arg-type, dict-item]
        Candidates([1, 2], [0.5, 0.2], names=[3, 4], features={"x": [1.0, 2.0]}, kb="v"),  # type: ignore[arg-type, dict-item]
        Candidates([1, 2], [0.5, 0.25], names=[3, 5], features={"x": [1.0, 2.0]}, kb="v"),  # type: ignore[arg-type, dict-item]
        Candidates([1, 2], [0.5, 0.25], features={"x": [1.0, 2.0]}, kb="v"),  # type: ignore[arg-type, dict-item]
        Candidates([1, 2], [0.5, 0.25], names=[3, 4], features={"x": [1.0, 3.0]}, kb="v"),  # type: ignore[arg-type, dict-item]
        Candidates([1, 2], [0.5, 0.25], names=[3, 4], features={"y": [1.0, 2.0]}, kb="v"),  # type: ignore[arg-type, dict-item]
        Candidates([1, 2], [0.5, 0.25], names=[3, 4], features={"x": [1.0, 2.0]}, kb="w"),  # type: ignore[arg-type, dict-item]
    ):
        assert one != other
    assert one != "candidates"
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Mention(0, 1))


def test_candidates_are_copied_and_read_only() -> None:
    rows = np.array([1, 2], np.int32)
    candidates = Candidates(rows, np.array([1.0, 0.5], np.float32))
    rows[0] = 9
    assert candidates.rows.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        candidates.rows[0] = 3


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"rows": [1], "scores": [1.0, 2.0]}, "1 rows but 2 scores"),
        ({"rows": [1], "scores": [1.0], "names": [1, 2]}, "2 names"),
        ({"rows": [1], "scores": [1.0], "features": {"x": []}}, "feature 'x'"),
        ({"rows": [1], "scores": [1.0], "ids": ("a", "b")}, "2 ids"),
        ({"rows": [[1]], "scores": [1.0]}, "one dimension"),
        ({"rows": [1], "scores": [float("nan")]}, "finite"),
        ({"rows": [1], "scores": [float("inf")]}, "finite"),
    ],
)
def test_candidates_that_contradict_themselves(keywords: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Candidates(**keywords)  # type: ignore[arg-type]


def test_rescored_candidates_keep_their_earlier_scores() -> None:
    rows, names, scores = np.array([4, 9], np.int32), np.array([1, 2], np.int32), np.array([0.8, 0.5], np.float32)
    new = np.array([0.1, 0.9], np.float32)
    some = Candidates(rows, scores, names, {"ngram": np.array([0.1, 0.2], np.float32)}, "v")
    again = some.rescored(new, np.array([1, 0]), before="retrieval")
    features = {"retrieval": scores[::-1], "ngram": np.array([0.2, 0.1], np.float32)}
    assert again == Candidates(rows[::-1], new[::-1], names[::-1], features, "v")
    assert not any(column.flags.writeable for column in (again.rows, again.scores, *again.features.values()))


def test_candidates_sort_best_first_ties_by_row_and_take_everything_along() -> None:
    candidates = Candidates(
        [5, 3, 8],  # type: ignore[arg-type]
        [0.5, 0.5, 0.9],  # type: ignore[arg-type]
        names=[50, 30, 80],  # type: ignore[arg-type]
        features={"x": [5.0, 3.0, 8.0]},  # type: ignore[dict-item]
        ids=("e", "c", "h"),
        labels=("E", None, "H"),
    ).sorted()
    assert candidates.rows.tolist() == [8, 3, 5]
    assert candidates.names is not None
    assert candidates.names.tolist() == [80, 30, 50]
    assert candidates.features["x"].tolist() == [8, 3, 5]
    assert (candidates.ids, candidates.labels) == (("h", "c", "e"), ("H", None, "E"))
    assert candidates.top(1).rows.tolist() == [8]
    assert candidates.top(5) is candidates
    assert len(Candidates.none("v")) == 0


def test_mention_ids_depend_on_document_span_and_types() -> None:
    base = mention_id("d", [Span(0, 5)], ("A",))
    assert base == mention_id("d", [Span(0, 5)], ["A"])
    others = [
        mention_id("e", [Span(0, 5)], ("A",)),
        mention_id("d", [Span(0, 6)], ("A",)),
        mention_id("d", [Span(0, 5)]),
    ]
    assert len({base, *others}) == 4


def test_reading_order() -> None:
    a, b, c = Mention(0, 9), Mention(0, 3), Mention(2, 4)
    assert by_position([c, b, a]) == (a, b, c)


def test_concepts_are_called_by_their_first_name() -> None:
    assert Concept("X:1", (Name("A"), Name("B"))).name == "A"
    assert Concept("X:1").name == "X:1"
    assert Concept("X:1", origin="f:1") == Concept("X:1", origin="f:2")
