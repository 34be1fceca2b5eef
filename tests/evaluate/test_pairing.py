"""Which document and which mention belongs to which."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Candidates, Document, Mention, Span
from linnet.errors import MismatchError
from linnet.evaluate.pairing import pair_documents, partners, sort_by_place
from linnet.kb import KnowledgeBase
from linnet.kb.successors import successor
from linnet.pipeline.component import align

TEXT = "seizure and cold and short stature"


def doc(id: str, *mentions: Mention) -> Document:
    return Document(id, TEXT, mentions=mentions)


def same(gold: Mention, predicted: Mention) -> bool:
    return gold.concepts == predicted.concepts


def test_in_golds_order() -> None:
    gold = [doc("b"), doc("a"), doc("c")]
    predicted = [doc("a", Mention(0, 7)), doc("c"), doc("b")]
    pairs = pair_documents(gold, predicted, kb=None)
    assert [(theirs.id, ours.id) for theirs, ours in pairs] == [("b", "b"), ("a", "a"), ("c", "c")]
    assert pairs[1][1].mentions == (Mention(0, 7),)
    assert pair_documents([], [], kb=None) == []


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([doc("a"), doc("b")], [doc("a")], "1 document not among the predicted ones: 'b'"),
        ([doc("a")], [doc("a"), doc("b")], "1 document not among the gold ones: 'b'"),
        ([doc("a")], [doc("a"), doc("a")], "1 document occurring more than once among the predicted documents: 'a'"),
        (
            [doc("a"), doc("a"), doc("a")],
            [doc("a")],
            "1 document occurring more than once among the gold documents: 'a'",
        ),
        ([doc("a")], [Document("a", "other")], "1 document with another text on the other side: 'a'"),
        ([doc("a")], [doc("a", Mention(0, 7, source="gold"))], r"gold mentions.*: 'a'; hide them.*bare\(\)"),
        ([doc(id) for id in "abcdefg"], [], "7 documents not among .* 'a', 'b', 'c', 'd', 'e', …; evaluate the same"),
    ],
)
def test_what_does_not_belong_together_is_refused(
    gold: list[Document], predicted: list[Document], message: str
) -> None:
    with pytest.raises(MismatchError, match=message):
        pair_documents(gold, predicted, kb=None)


def test_candidates_of_another_version_are_refused(kb: KnowledgeBase) -> None:
    def linked(version: str) -> list[Document]:
        return [
            doc("a", Mention(0, 7, candidates=Candidates(np.array([1], np.int32), np.ones(1, np.float32), kb=version))),
            doc("b"),
        ]

    gold = [doc("a"), doc("b")]
    for known in (kb.version, ""):
        assert len(pair_documents(gold, linked(known), kb=kb)) == 2
    assert len(pair_documents(gold, linked("older"), kb=None)) == 2
    with pytest.raises(MismatchError, match=rf"1 document .* version older: 'a'; .* {kb.path.name} \(version"):
        pair_documents(gold, linked("older"), kb=kb)


def test_candidates_of_a_version_that_was_edited_since(kb: KnowledgeBase, tmp_path: Path) -> None:
    edited = Path(shutil.copy(kb.path, tmp_path / "edited.kb"))
    with KnowledgeBase.edit(edited) as edit:
        edit.retire("X:2", successor="X:1")
    candidates = Candidates(np.full(1, -1, np.int32), np.ones(1, np.float32), ids=("X:2",), kb=kb.version)
    ours = [doc("a", Mention(0, 7, candidates=candidates))]
    assert pair_documents([doc("a")], ours, kb=KnowledgeBase.open(edited))
    rows = replace(candidates, rows=np.array([kb.row("X:2")], np.int32), ids=())
    with pytest.raises(MismatchError, match="version"):  # rows do not lead to successors
        pair_documents([doc("a")], [doc("a", Mention(0, 7, candidates=rows))], kb=KnowledgeBase.open(edited))


def test_user_mentions_are_predictions_of_people() -> None:
    assert pair_documents([doc("a")], [doc("a", Mention(0, 7, source="user"))], kb=None)


def test_successors(kb: KnowledgeBase) -> None:
    live = successor(kb)
    assert [live(id) for id in ("HP:0009998", "HP:0009999", "HP:0001250")] == ["HP:0001250"] * 3
    assert [live(id) for id in ("HP:0009997", "NO:1", "", "\ud800")] == ["HP:0009997", "NO:1", "", "\ud800"]
    assert successor(None)("HP:0009998") == "HP:0009998"


# --- mentions --------------------------------------------------------------------------------------------------------

SPANS = st.sampled_from([(0, 7, ()), (0, 7, (Span(0, 2), Span(4, 7))), (12, 16, ()), (21, 34, ()), (0, 16, ())])
IDS = st.sampled_from(["", "T1", "T2"])
CONCEPTS = st.none() | st.lists(st.sampled_from(["A", "B", "C"]), max_size=2).map(tuple)


@st.composite
def mention(draw: st.DrawFn) -> Mention:
    start, end, parts = draw(SPANS)
    chance = draw(st.none() | st.sampled_from([0.2, 0.8]))
    return Mention(start, end, parts=parts, id=draw(IDS), concepts=draw(CONCEPTS), probability=chance)


MENTIONS = st.lists(mention(), max_size=6)


@given(MENTIONS, MENTIONS, st.randoms())
def test_order_changes_no_partner(gold: list[Mention], predicted: list[Mention], random: Random) -> None:
    before = partners(sort_by_place(gold), predicted, fits=same)
    for some in (gold, predicted):
        random.shuffle(some)
    after = partners(sort_by_place(gold), predicted, fits=same)

    # gold mentions that are equal but for their probability, which gold does not have, may change places
    def answers(found: list[Mention | None]) -> list[str]:
        pairs = zip(sort_by_place(gold), found, strict=True)
        return sorted(repr((m.spans, m.id, m.concepts, None if o is None else (o.id, o.concepts))) for m, o in pairs)

    assert answers(after) == answers(before)


@given(MENTIONS, MENTIONS)
def test_partners_stand_on_the_same_span_and_are_used_once(gold: list[Mention], predicted: list[Mention]) -> None:
    found = partners(gold, predicted, fits=same)
    used = [id(partner) for partner in found if partner is not None]
    assert len(set(used)) == len(used)
    for where in (attrgetter("span"), attrgetter("spans")):  # hulls; the same parts come first
        for place in map(where, gold):
            there = sum(where(other) == place for other in predicted)
            own = [partner for mention, partner in zip(gold, found, strict=True) if where(mention) == place]
            same_place = [partner for partner in own if partner is not None and where(partner) == place]
            assert len(same_place) == min(len(own), there)
    assert all(one is None or one.span == mention.span for mention, one in zip(gold, found, strict=True))


@given(MENTIONS, MENTIONS)
def test_without_duplicates_it_is_align(gold: list[Mention], predicted: list[Mention]) -> None:
    gold, predicted = (list({mention.span: mention for mention in some}.values()) for some in (gold, predicted))
    gold, predicted = ([replace(mention, parts=()) for mention in some] for some in (gold, predicted))
    expected = [ours for theirs, ours in align(doc("a", *gold), doc("a", *predicted)) if theirs is not None]
    assert partners(gold, predicted, fits=same) == expected


def guess(concept: str | None, probability: float | None = None, id: str = "") -> Mention:
    concepts = None if concept is None else tuple(filter(None, (concept,)))
    return Mention(0, 7, id=id, concepts=concepts, probability=probability)


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        (["A"], [guess("A", 0.1), guess("B", 0.9)], ["B"]),  # a second guess does not help
        (["A"], [guess("A"), guess("B", 0.1)], ["B"]),  # what has a probability comes first
        (["A"], [guess(None, 0.9), guess("B")], ["B"]),  # what has an answer comes first
        (["A", "B"], [guess("B", 0.9), guess("A", 0.1)], ["A", "B"]),
        (["A", "B"], [guess("C", 0.9), guess("B", 0.5), guess("A", 0.1)], ["C", "B"]),  # two of three
        (["A", "B"], [guess("B")], [None, "B"]),
        (["A", "B"], [guess("C")], ["C", None]),
        (["A", "A"], [guess("A"), guess("A")], ["A", "A"]),
        (["A"], [], [None]),
        ([], [guess("A")], []),
    ],
)
def test_several_at_one_span(gold: list[str], predicted: list[Mention], expected: list[str | None]) -> None:
    theirs = [guess(concept) for concept in gold]
    for order in itertools.permutations(predicted):
        found = partners(theirs, order, fits=same)
        assert [None if m is None else (m.concepts or (None,))[0] for m in found] == expected


def test_ids_decide_before_anything_else() -> None:
    gold = [guess("A", id="T1"), guess("B", id="T2")]
    predicted = [guess("A", 0.9, id="T2"), guess("B", 0.8, id="T1")]
    for order in itertools.permutations(predicted):
        assert partners(gold, order, fits=same) == [predicted[1], predicted[0]]
    one = [replace(mention, id="T3") for mention in predicted]
    assert partners(gold, one, fits=same) == one


def test_equal_guesses_are_told_apart_by_their_candidates() -> None:
    scores = np.array([1.0, 0.5], np.float32)
    lists = [Candidates(np.array(rows, np.int32), scores) for rows in ([1, 2], [2, 1])]
    predicted = [replace(guess("A"), candidates=candidates) for candidates in (*lists, None)]
    found = [partners([guess("B")], order, fits=same) for order in itertools.permutations(predicted)]
    assert all(partner == found[0] for partner in found)
