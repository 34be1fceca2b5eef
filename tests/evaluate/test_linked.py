"""The table of gold mentions, against a slow reference that sorts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Candidates, Document, Mention, Span
from linnet.errors import DataError, MismatchError
from linnet.evaluate import places
from linnet.evaluate.answers import RULES, Rule
from linnet.evaluate.linked import Linked
from linnet.kb import KnowledgeBase

TEXT = "seizure and cold and short stature"
IDS = ("A", "B", "C", "D", None)
Entry = tuple[str | None, float]


def made(
    rows: Sequence[int], scores: Sequence[float], *, ids: tuple[str | None, ...] = (), version: str = ""
) -> Candidates:
    return Candidates(np.array(rows, np.int32), np.array(scores, np.float32), ids=ids, kb=version)


def listed(entries: list[Entry]) -> Candidates:
    return made([-1] * len(entries), [score for _, score in entries], ids=tuple(id for id, _ in entries))


def one(gold: Mention, predicted: Mention | None, *, kb: KnowledgeBase | None = None, rule: Rule = "all-of") -> Linked:
    ours = Document("a", TEXT, mentions=() if predicted is None else (predicted,))
    return Linked.of([(Document("a", TEXT, mentions=(gold,)), ours)], kb=kb, rule=rule)


# --- ranks -----------------------------------------------------------------------------------------------------------

ENTRIES = st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=7)
ANSWERS = st.lists(st.lists(st.sampled_from(["A", "B", "C", "D", "E"]), max_size=3).map(tuple), min_size=1, max_size=3)


def reference(entries: list[Entry], answers: list[tuple[str, ...]], rule: Rule) -> tuple[int, float]:
    """Sort, then look at every prefix."""
    order = [id for id, _ in sorted(entries, key=lambda entry: (-entry[1], entry[0] or ""))]
    accepted: list[set[str | None]] = [set(answer) or {None} for answer in answers]
    if rule == "any-of":
        accepted = [{id} for answer in accepted for id in answer]
    rank = next((k for k in range(1, len(order) + 1) if any(a <= set(order[:k]) for a in accepted)), 0)
    return rank, max(_average_precision(order, answer) for answer in accepted)


def _average_precision(order: list[str | None], answer: set[str | None]) -> float:
    total, seen = 0.0, set[str | None]()
    for place, id in enumerate(order, start=1):
        if id in answer and id not in seen:
            seen.add(id)
            total += len(seen) / place
    return total / len(answer)


@given(st.lists(st.tuples(ENTRIES | st.none(), ANSWERS), max_size=6), st.sampled_from(RULES), st.integers(1, 9))
def test_ranks_are_those_of_sorted_lists(
    rows: list[tuple[list[Entry] | None, list[tuple[str, ...]]]], rule: Rule, block: int
) -> None:
    gold = [Mention(0, 1, concepts=answers[0], alternatives=tuple(answers[1:])) for _, answers in rows]
    ours = [Mention(0, 1, candidates=None if entries is None else listed(entries)) for entries, _ in rows]
    pairs = [
        (Document(str(at), "x", mentions=(theirs,)), Document(str(at), "x", mentions=(mention,)))
        for at, (theirs, mention) in enumerate(zip(gold, ours, strict=True))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "BLOCK", block)
        linked = Linked.of(pairs, kb=None, rule=rule)
    expected = [reference(entries or [], answers, rule) for entries, answers in rows]
    assert linked.rank.tolist() == [rank for rank, _ in expected]
    assert linked.precision.tolist() == pytest.approx([precision for _, precision in expected])


@given(ENTRIES, ANSWERS, st.sampled_from(RULES), st.randoms())
def test_tied_candidates_may_stand_in_any_order(
    entries: list[Entry], answers: list[tuple[str, ...]], rule: Rule, random: Random
) -> None:
    gold = Mention(0, 7, concepts=answers[0], alternatives=tuple(answers[1:]))
    before = one(gold, Mention(0, 7, candidates=listed(entries)), rule=rule)
    random.shuffle(entries)
    after = one(gold, Mention(0, 7, candidates=listed(entries)), rule=rule)
    assert (after.rank[0], after.precision[0]) == (before.rank[0], before.precision[0])


def test_rows_and_ids_say_the_same(kb: KnowledgeBase) -> None:
    rows, scores = [3, -1, 1, 8, 2], [0.9, 0.9, 0.5, 0.5, 0.5]
    ids = tuple(None if row < 0 else kb.id(row) for row in rows)
    by_row = made(rows, scores, version=kb.version)
    by_id = made([-1] * 5, scores, ids=ids, version=kb.version)
    for row, place in ((3, 2), (-1, 1), (1, 3), (2, 4), (8, 5), (4, 0)):
        gold = Mention(0, 7, concepts=() if row < 0 else (kb.id(row),))
        for candidates in (by_row, by_id):
            assert one(gold, Mention(0, 7, candidates=candidates), kb=kb).rank.tolist() == [place]


def test_lists_by_row_and_by_id_may_be_mixed(kb: KnowledgeBase) -> None:
    lists = [made([1, 2], [1.0, 0.5]), listed([("NO:1", 1.0), ("HP:0009999", 0.5)]), Candidates.none()]
    gold = tuple(Mention(at, at + 1, concepts=("HP:0001250",)) for at in range(3))
    ours = tuple(replace(mention, candidates=c, concepts=None) for mention, c in zip(gold, lists, strict=True))
    linked = Linked.of([(Document("a", TEXT, mentions=gold), Document("a", TEXT, mentions=ours))], kb=kb)
    assert linked.rank.tolist() == [1, 2, 0]


def test_retired_ids_are_their_successors(kb: KnowledgeBase) -> None:
    live, old, older, nothing = "HP:0001250", "HP:0009999", "HP:0009998", "HP:0009997"
    for theirs, mine in itertools.product((live, old, older), repeat=2):
        linked = one(
            Mention(0, 7, concepts=(theirs,)), Mention(0, 7, concepts=(mine,), candidates=listed([(mine, 1)])), kb=kb
        )
        assert (linked.right[0], linked.rank[0], linked.in_kb[0]) == (True, 1, True)
    linked = one(Mention(0, 7, concepts=(nothing,)), Mention(0, 7, concepts=(nothing,)), kb=kb)
    assert (linked.right[0], linked.in_kb[0]) == (True, False)
    both = one(Mention(0, 7, concepts=(live,)), Mention(0, 7, concepts=(old, older)), kb=kb)
    assert both.right.tolist() == [True]  # one concept, said twice


def test_rows_of_retired_concepts_are_their_successors(kb: KnowledgeBase) -> None:
    retired = [row for row in range(len(kb)) if row not in kb.mask()]
    for row in retired:
        linked = one(Mention(0, 7, concepts=("HP:0001250",)), Mention(0, 7, candidates=made([row], [1.0])), kb=kb)
        assert linked.rank.tolist() == [int(kb.id(row) in kb)]


@pytest.mark.parametrize("rows", [[10_000], [-2], [1, 2**31 - 1]])
def test_rows_that_the_knowledge_base_lacks_are_refused(rows: list[int], kb: KnowledgeBase) -> None:
    ours = Mention(0, 7, candidates=made(rows, [1.0] * len(rows)))
    with pytest.raises(MismatchError, match=rf"document 'a' has row -?\d+ .* this one has {len(kb)} rows"):
        one(Mention(0, 7, concepts=("HP:0001250",)), ours, kb=kb)


def test_rows_without_a_knowledge_base_are_refused() -> None:
    with pytest.raises(MismatchError, match=r"document 'a' has row 1 of a knowledge base .*; give it"):
        one(Mention(0, 7, concepts=("A",)), Mention(0, 7, candidates=made([-1, 1], [1.0, 0.5])))
    nil = one(Mention(0, 7, concepts=()), Mention(0, 7, candidates=made([-1], [1.0])))
    assert nil.rank.tolist() == [1]


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "alternatives", "said", "all_of", "any_of"),
    [
        (("A",), (), ("A",), True, True),
        (("A",), (), ("B",), False, False),
        (("A", "B"), (), ("B", "A"), True, True),
        (("A", "B"), (), ("A",), False, True),
        (("A",), (), ("A", "B"), False, True),
        (("A",), (("B", "C"),), ("C", "B"), True, True),
        (("A",), (("B", "C"),), ("C",), False, True),
        (("A", "A"), (), ("A",), True, True),
        (("A",), (), (), False, False),
        (("A",), (), None, False, False),
        (("A",), ((),), (), True, True),
        ((), (), (), True, True),
        ((), (), ("A",), False, False),
        ((), (), None, False, False),
    ],
)
def test_what_is_right(
    gold: tuple[str, ...],
    alternatives: tuple[tuple[str, ...], ...],
    said: tuple[str, ...] | None,
    all_of: bool,
    any_of: bool,
) -> None:
    theirs, ours = Mention(0, 7, concepts=gold, alternatives=alternatives), Mention(0, 7, concepts=said)
    assert [one(theirs, ours, rule=rule).right.tolist() for rule in RULES] == [[all_of], [any_of]]


def test_other_columns(kb: KnowledgeBase) -> None:
    gold = [
        Mention(0, 7, concepts=("HP:0001250",)),
        Mention(12, 16, concepts=("X:1", "NO:1")),
        Mention(21, 26, concepts=("NO:1",), alternatives=(("X:1",),)),
        Mention(27, 34, concepts=()),
        Mention(8, 11),
    ]
    ours = [Mention(0, 7, concepts=(), probability=0.25), Mention(12, 16), Mention(27, 33)]
    pairs = [(Document("z", ""), Document("z", "")), (doc(*gold), doc(*ours))]
    linked = Linked.of(pairs, kb=kb)
    assert linked.documents == ("z", "a")
    assert linked.doc.tolist() == [1] * 4  # nobody said what 8-11 is
    assert linked.gold == tuple(gold[:4])
    assert linked.predicted == (ours[0], ours[1], None, None)
    assert linked.in_kb.tolist() == [True, False, True, False]
    assert linked.nil.tolist() == [False, False, False, True]
    assert np.isnan(linked.probability).tolist() == [False, True, True, True]
    assert linked.probability[0] == 0.25
    assert linked.texts == (pairs[0][0], pairs[1][0])
    assert Linked.of(pairs, kb=None).in_kb.tolist() == [True, True, True, False]


def doc(*mentions: Mention) -> Document:
    return Document("a", TEXT, mentions=mentions)


def test_no_such_rule() -> None:
    with pytest.raises(DataError, match="rule 'most-of' is none of all-of, any-of"):
        Linked.of([], kb=None, rule="most-of")  # type: ignore[arg-type]


# --- order and overlap -----------------------------------------------------------------------------------------------


@st.composite
def shapes(draw: st.DrawFn) -> Mention:
    cuts = sorted(draw(st.sets(st.integers(0, 12), min_size=2, max_size=4)))
    parts = tuple(Span(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False))
    concepts = draw(st.sampled_from([("A",), ("B",), ("A", "B"), ()]))
    return Mention(parts[0].start, parts[-1].end, parts=parts if len(parts) > 1 else (), concepts=concepts)


@given(st.lists(shapes(), max_size=8))
def test_overlap_is_a_shared_character(mentions: list[Mention]) -> None:
    linked = Linked.of([(doc(*mentions), doc())], kb=None)
    characters = [{at for span in mention.spans for at in range(*span)} for mention in linked.gold]
    expected = [any(i != j and a & b for j, b in enumerate(characters)) for i, a in enumerate(characters)]
    assert linked.overlapping.tolist() == expected


@given(st.lists(shapes(), max_size=6), st.lists(shapes(), max_size=6), st.randoms())
def test_shuffled_mentions_give_the_same_table(gold: list[Mention], ours: list[Mention], random: Random) -> None:
    before = Linked.of([(doc(*gold), doc(*ours))], kb=None)
    random.shuffle(gold)
    random.shuffle(ours)
    after = Linked.of([(doc(*gold), doc(*ours))], kb=None)
    assert (after.gold, after.predicted) == (before.gold, before.predicted)
    assert after.right.tolist() == before.right.tolist()
