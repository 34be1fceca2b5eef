"""Each kind of error by hand, what wins over what, and that no order has an influence."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Candidates, Document, Mention, Span
from linnet.evaluate import evaluate
from linnet.evaluate.errors import KINDS, NOT_IN_KB, confusions, errors
from linnet.evaluate.linked import Linked
from linnet.evaluate.relations import Relations
from linnet.evaluate.report import Wrong
from linnet.kb import KnowledgeBase

TEXT = "Cold came, then a tonic-clonic seizure, then cold again; " + "and so on " * 20
SEIZURE = Span(18, 38)


def gold(start: int, end: int, *concepts: str, **fields: Any) -> Mention:
    return Mention(start, end, concepts=concepts, source="gold", **fields)


def said(start: int, end: int, *concepts: str, candidates: Sequence[str] | None = (), **fields: Any) -> Mention:
    found = None
    if candidates is not None:
        scores = [1.0 / (at + 1) for at in range(len(candidates))]
        found = Candidates([-1] * len(candidates), scores, ids=tuple(candidates))  # type: ignore[arg-type]
    return Mention(start, end, concepts=concepts, candidates=found, **fields)


def found(
    theirs: Sequence[Mention], ours: Sequence[Mention], kb: KnowledgeBase | None = None, **fields: Any
) -> list[Wrong]:
    pairs = [(Document("d", TEXT, mentions=tuple(theirs), **fields), Document("d", TEXT, mentions=tuple(ours)))]
    return errors(pairs, Linked.of(pairs, kb=kb), kb=kb)


HULL = attrgetter("span")


@st.composite
def broken(draw: st.DrawFn) -> Mention:
    """Draw a mention of one concept and one or two parts."""
    cuts = sorted(draw(st.sets(st.integers(0, 6), min_size=2, max_size=4)))
    parts = tuple(Span(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False))
    where = Mention(parts[0].start, parts[-1].end, parts=parts if len(parts) > 1 else ())
    return replace(where, concepts=(draw(st.sampled_from("AB")),))


def kinds(*args: Any, **fields: Any) -> list[tuple[str, ...]]:
    return [(error.kind, *error.tags) for error in found(*args, **fields)]


# --- spans -----------------------------------------------------------------------------------------------------------


def test_missed_spurious_and_boundary(kb: KnowledgeBase) -> None:
    theirs = [gold(0, 4, "X:1"), gold(*SEIZURE, "HP:0002069"), gold(45, 49, "X:1")]
    ours = [said(31, 38, "HP:0001250", probability=0.7), said(50, 55, "X:2")]
    missed, boundary, lost, spurious = found(theirs, ours, kb)
    assert (missed.kind, missed.surface, missed.before, missed.after) == ("missed", "Cold", "", TEXT[4:64])
    assert (missed.gold, missed.gold_names, missed.predicted, missed.found) == (("X:1",), ("Cold",), (), None)
    assert (missed.rank, missed.probability, missed.document) == (0, None, "d")
    assert (boundary.kind, boundary.surface, boundary.found) == ("boundary", "tonic-clonic seizure", Span(31, 38))
    assert (boundary.gold_names, boundary.predicted_names) == (("Tonic-clonic seizure",), ("Seizure",))
    assert (boundary.before, boundary.probability) == (TEXT[:18], 0.7)
    assert lost.kind == "missed"
    assert (spurious.kind, spurious.surface, spurious.gold, spurious.predicted) == ("spurious", "again", (), ("X:2",))
    assert (spurious.start, spurious.end, spurious.found) == (50, 55, Span(50, 55))


def test_the_best_overlap_explains_and_each_explains_one() -> None:
    one, other = gold(0, 10, "A"), gold(4, 16, "B")
    # the right concept goes before the larger overlap
    assert [error.predicted for error in found([one], [said(1, 10, "C"), said(8, 12, "A")])] == [("A",), ("C",)]
    assert [error.predicted for error in found([one], [said(8, 12, "C"), said(1, 10, "B")])] == [("B",), ("C",)]
    assert [(error.kind, error.gold) for error in found([one, other], [said(5, 16, "A")])] == [
        ("boundary", ("A",)),
        ("missed", ("B",)),
    ]
    # what overlaps are the parts; what is found, the hull
    apart = gold(0, 30, "A", parts=(Span(0, 4), Span(25, 30)))
    assert kinds([apart], [said(10, 20, "A")]) == [("missed",), ("spurious",)]
    assert kinds([apart], [said(0, 30, "A")]) == []
    assert kinds([apart], [said(0, 30, "B")]) == [("not retrieved",)]


def test_what_is_no_error() -> None:
    assert kinds([gold(0, 4, "A")], [said(0, 4, "A")]) == []
    assert kinds([gold(0, 4)], []) == []  # NIL that was not found: nothing to link
    assert kinds([gold(0, 4)], [said(0, 4)]) == []
    assert kinds([], [said(0, 4)]) == []
    assert kinds([Mention(0, 4, source="gold")], [said(0, 4, "A")]) == []  # nobody said what it is
    assert kinds([], [said(0, 4, "A"), said(5, 9, "A")], reviewed=(Span(0, 4),)) == [("spurious",)]
    assert kinds([gold(0, 4, "A", alternatives=(("B",),))], [said(0, 4, "B")]) == []
    assert kinds([], []) == []


@pytest.mark.slow
@given(st.lists(broken(), max_size=5, unique_by=HULL), st.lists(broken(), max_size=5, unique_by=HULL))
def test_missed_and_boundary_are_what_recognition_lacks(theirs: list[Mention], ours: list[Mention]) -> None:
    report = evaluate([Document("d", TEXT, mentions=tuple(theirs))], [Document("d", TEXT, mentions=tuple(ours))])
    recall, strict = report["recognition.strict.recall"], report["strict.recall"]
    missed = report.kinds.get("missed", 0) + report.kinds.get("boundary", 0)
    assert missed == (recall.below or 0) - (recall.above or 0)
    assert report["all.accuracy@1"].above == strict.above


def test_saying_it_twice_is_one_error() -> None:
    assert kinds([], [said(0, 4, "A"), said(0, 4, "A", id="p2")]) == [("spurious",)]
    assert kinds([gold(0, 4, "A")], [said(0, 4, "A"), said(0, 4, "A", id="p2")]) == []
    assert kinds([gold(0, 4, "A")], [said(0, 4, "A", probability=0.9), said(0, 4, "B")]) == [("spurious",)]


# --- answers ---------------------------------------------------------------------------------------------------------


def test_nil(kb: KnowledgeBase) -> None:
    assert kinds([gold(0, 4, "X:1")], [said(0, 4)], kb) == [("nil", "not retrieved")]
    assert kinds([gold(0, 4, "X:1")], [said(0, 4, candidates=["X:2", "X:1"])], kb) == [("nil", "misranked")]
    assert kinds([gold(0, 4)], [said(0, 4, "X:1", candidates=["X:1"])], kb) == [("nil",)]
    open_one = replace(said(0, 4), concepts=None)
    assert kinds([gold(0, 4, "X:1"), gold(5, 9)], [open_one, replace(open_one, start=5, end=9)]) == [
        ("nil", "not retrieved")
    ]


def wrong(kb: KnowledgeBase | None, want: str, *said_ids: str, span: Span = SEIZURE) -> tuple[str, ...]:
    [kind] = kinds([gold(*span, want)], [said(*span, *said_ids, candidates=[*said_ids, want])], kb)
    return kind


def test_relations(kb: KnowledgeBase) -> None:
    assert wrong(kb, "HP:0002069", "HP:0001250") == ("parent", "misranked")
    assert wrong(kb, "HP:0002069", "HP:0000118") == ("parent", "misranked")  # however far above
    assert wrong(kb, "HP:0001250", "HP:0002069") == ("child", "misranked")
    assert wrong(kb, "HP:0004322", "HP:0000175") == ("sibling", "misranked")
    assert wrong(kb, "X:1", "X:2", span=Span(0, 4)) == ("homonym", "type", "misranked")
    assert wrong(kb, "X:1", "X:2") == ("type", "misranked")  # the text names neither
    assert wrong(kb, "HP:0002069", "HP:0004322") == ("misranked",)
    assert wrong(kb, "HP:0002069", "HP:0009999") == ("parent", "misranked")  # a retired id means its successor
    assert wrong(None, "HP:0002069", "HP:0001250") == ("misranked",)


def test_what_the_knowledge_base_lacks(kb: KnowledgeBase) -> None:
    [error] = found([gold(0, 4, "NO:1")], [said(0, 4, "X:2", candidates=["X:2"])], kb)
    assert (error.kind, error.tags) == ("not retrieved", (NOT_IN_KB,))
    assert (error.gold_names, error.predicted_names) == (("",), ("Cold",))
    assert kinds([gold(0, 4, "NO:1")], [], kb) == [("missed", NOT_IN_KB)]
    assert kinds([gold(0, 4, "X:1")], [said(0, 4, "NO:2", candidates=None)], kb) == [("other",)]


def test_several_concepts(kb: KnowledgeBase) -> None:
    both = gold(*SEIZURE, "HP:0002069", "X:1")
    half = said(*SEIZURE, "HP:0002069", candidates=["HP:0002069", "X:2", "X:1"])
    [error] = found([both], [half], kb)
    assert (error.kind, error.tags, error.rank) == ("misranked", (), 3)  # what was said is right, and not all
    assert kinds([both], [replace(half, concepts=("X:1", "HP:0001250"))], kb) == [("parent", "misranked")]
    too_many = said(0, 4, "X:1", "X:2", candidates=["X:1", "X:2"])
    assert [error.kind for error in found([gold(0, 4, "X:1")], [too_many], kb)] == ["misranked"]


def test_types_of_mentions_count_if_they_are_of_golds_vocabulary() -> None:
    theirs = [gold(0, 4, "A", types=("Disease",)), gold(5, 9, "B", types=("Chemical",))]
    right = said(5, 9, "B")
    assert kinds(theirs, [said(0, 4, "C", types=("Chemical",)), right]) == [("type", "not retrieved")]
    assert kinds(theirs, [said(0, 4, "C", types=("Disorder",)), right]) == [("not retrieved",)]
    assert kinds(theirs, [said(0, 4, "C", types=("Chemical", "Disease")), right]) == [("not retrieved",)]


def test_unknown_ids_and_empty_texts_are_related_to_nothing(kb: KnowledgeBase) -> None:
    relations = Relations(kb)
    assert relations.between("NO:1", "X:1", surface="cold") == set()
    assert relations.between("X:1", "X:2", surface=" - ") == {"type"}
    assert relations.between("X:1", "X:2", surface="\ud800") == {"type"}
    assert relations.name("\ud800") == relations.name("HP:0009997") == ""


# --- lists -----------------------------------------------------------------------------------------------------------

MENTIONS = st.lists(
    st.builds(
        lambda start, length, ids: (start, start + length, *ids),
        st.integers(0, 30),
        st.integers(1, 8),
        st.lists(st.sampled_from(["A", "B", "C"]), max_size=2, unique=True),
    ),
    max_size=8,
)


@pytest.mark.slow
@given(MENTIONS, MENTIONS, st.integers(0, 99))
def test_every_wrong_mention_is_one_error_in_any_order(theirs: list[Any], ours: list[Any], seed: int) -> None:
    want, have = [gold(*one) for one in theirs], [said(*one) for one in ours]
    expected = found(want, have)
    chance = random.Random(seed)
    assert found(chance.sample(want, len(want)), chance.sample(have, len(have))) == expected
    pairs = [(Document("d", TEXT, mentions=tuple(want)), Document("d", TEXT, mentions=tuple(have)))]
    linked = Linked.of(pairs, kb=None)
    at_gold = [error for error in expected if error.kind != "spurious"]
    unfound = sum(bool(n and not (m and m.concepts)) for n, m in zip(linked.nil, linked.predicted, strict=True))
    right_nil = sum(bool(n and r) for n, r in zip(linked.nil, linked.right, strict=True))
    assert len(at_gold) == int((~linked.right).sum()) - (unfound - right_nil)
    assert {error.kind for error in expected} <= set(KINDS)
    places = [(error.start, -error.end) for error in expected]
    assert places == sorted(places)


def test_documents_keep_golds_order() -> None:
    docs = [Document(id, TEXT, mentions=(gold(0, 4, "A"),)) for id in ("b", "c", "a")]
    pairs = [(doc, Document(doc.id, TEXT, mentions=())) for doc in docs]
    assert [error.document for error in errors(pairs, Linked.of(pairs, kb=None), kb=None)] == ["b", "c", "a"]


def test_confusions(kb: KnowledgeBase) -> None:
    theirs = [gold(0, 4, "X:1"), gold(*SEIZURE, "X:1", "HP:0001250"), gold(45, 49, "X:1"), gold(60, 65, "X:2")]
    ours = [said(0, 4, "X:2"), said(*SEIZURE, "X:2"), said(45, 50, "X:2"), said(90, 95, "X:1")]
    listed = confusions(found(theirs, ours, kb))
    assert [(one.gold, one.predicted, one.count) for one in listed] == [
        (("X:1",), ("X:2",), 2),
        (("HP:0001250", "X:1"), ("X:2",), 1),
    ]
    assert listed[1].gold_names == ("Seizure", "Cold")
    assert confusions([]) == []


@pytest.mark.parametrize("surface", ["<script>", "\x00", "é😀"])
def test_texts_are_passed_on_as_they_are(surface: str) -> None:
    doc = Document("d", f"{surface} is odd", mentions=(gold(0, len(surface), "A"),))
    pairs = [(doc, Document("d", doc.text, mentions=()))]
    [error] = errors(pairs, Linked.of(pairs, kb=None), kb=None)
    assert (error.surface, error.after) == (surface, " is odd")
