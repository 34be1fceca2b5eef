"""The measures of linking, by hand and against their definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linnet.data import Candidates, Document, Mention
from linnet.errors import DataError
from linnet.evaluate.linked import PROTOCOLS, Linked
from linnet.evaluate.linking import RECALL_AT, linking
from linnet.kb import KnowledgeBase

TEXT = "seizure and cold and short stature"
SPANS = ((0, 7), (12, 16), (21, 34), (21, 26))


def ranked(*ids: str | None) -> Candidates:
    scores = 1.0 - 0.1 * np.arange(len(ids))
    return Candidates(np.full(len(ids), -1), scores, ids=ids)


def gold(id: str, *answers: tuple[str, ...]) -> Document:
    mentions = (Mention(*span, concepts=a, source="gold") for span, a in zip(SPANS, answers, strict=False))
    return Document(id, TEXT, mentions=tuple(mentions))


def ours(id: str, *lists: Candidates | None) -> Document:
    """Answer the first candidate; None = the mention was not found."""
    found = (
        Mention(*span, candidates=c, concepts=tuple(filter(None, c.ids[:1])))
        for span, c in zip(SPANS, lists, strict=False)
        if c is not None
    )
    return Document(id, TEXT, mentions=tuple(found))


def values(linked: Linked, **options: object) -> dict[str, float]:
    return {measure.name: measure.value for measure in linking(linked, protocol="all", **options)}  # type: ignore[arg-type]


PAIRS = [
    (gold("a", ("A",), ("B",), ("C",)), ours("a", ranked("A", "X"), ranked("X", "Y", "B"), ranked("X"))),
    (gold("b"), ours("b", ranked("A"))),
    (gold("c", ("A", "B"), (), ("D",), ("E",)), ours("c", ranked("A", "X", "B"), ranked("A"), ranked(), None)),
]


def test_worked_by_hand() -> None:
    # six mentions; ranks 1, 3, none of 1, 3 (A and B), none of 0, not found; the NIL mention counts nowhere
    found = values(Linked.of(PAIRS, kb=None))
    both = (1 + 2 / 3) / 2  # average precision of the composite
    expected = {
        "accuracy@1": 1 / 6,
        "coverage": 1,
        "recall@1": 1 / 6,
        "recall@2": 1 / 6,
        "recall@5": 3 / 6,
        "recall@all": 3 / 6,
        "mrr": (1 + 1 / 3 + 1 / 3) / 6,
        "map": (1 + 1 / 3 + both) / 6,
        "normalised.accuracy@1": 1 / 3,
        "normalised.map": (1 + 1 / 3 + both) / 3,
        "gold-added-last.accuracy@1": 2 / 6,  # the empty list
        "gold-added-last.map": (1 + 1 / 3 + both + 1 / 2 + 1) / 6,
        "gold-added-first.accuracy@1": 3 / 6,
        "gold-added-first.map": (1 + 1 / 3 + both + 1 + 1) / 6,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert [f"recall@{k}" in found for k in RECALL_AT] == [True] * len(RECALL_AT)


def test_any_of_is_the_easier_rule() -> None:
    found = values(Linked.of(PAIRS, kb=None, rule="any-of"))
    assert found["accuracy@1"] == pytest.approx(2 / 6)
    assert found["mrr"] == found["map"] == pytest.approx((1 + 1 / 3 + 1) / 6)


def test_documents_keep_their_counts() -> None:
    measures = {measure.name: measure for measure in linking(Linked.of(PAIRS, kb=None), protocol="all")}
    assert measures["accuracy@1"].counts.tolist() == [[1, 3], [0, 0], [0, 3]]
    assert measures["recall@5"].counts.tolist() == [[2, 3], [0, 0], [1, 3]]
    assert measures["normalised.accuracy@1"].counts.tolist() == [[1, 2], [0, 0], [0, 1]]


def test_perfect_and_empty() -> None:
    answers = (("A",), ("B", "C"), ("D",))
    perfect = [
        replace(m, source="pred", candidates=ranked(*m.concepts or ())) for m in gold("a", *answers).mentions or ()
    ]
    pair = (gold("a", *answers), Document("a", TEXT, mentions=tuple(perfect)))
    found = values(Linked.of([pair], kb=None))
    assert found.pop("recall@1") == pytest.approx(2 / 3)  # two concepts need two places
    assert found.pop("mrr") == pytest.approx(2.5 / 3)
    assert set(found.values()) == {1.0}
    silent = values(Linked.of([(gold("a", *answers), Document("a", TEXT))], kb=None))
    assert silent.pop("coverage") == 1.0
    assert set(silent.values()) == {0.0}
    for nothing in ([], [(gold("a"), ours("a"))], [(gold("a", ()), ours("a"))]):
        assert set(values(Linked.of(nothing, kb=None)).values()) == {0.0}


def test_answers_without_candidates_have_no_ranks() -> None:
    bare = tuple(replace(mention, candidates=None) for mention in PAIRS[0][1].mentions or ())
    found = values(Linked.of([(PAIRS[0][0], Document("a", TEXT, mentions=bare))], kb=None))
    assert found == {"accuracy@1": pytest.approx(1 / 3), "coverage": 1}
    some = (*bare[:2], *(PAIRS[0][1].mentions or ())[2:])
    found = values(Linked.of([(PAIRS[0][0], Document("a", TEXT, mentions=some))], kb=None))
    assert found["recall@all"] == 0
    assert found["gold-added-first.accuracy@1"] == pytest.approx(2 / 3)  # the right one, and the one with a list


def test_protocols(kb: KnowledgeBase) -> None:
    answers = (("HP:0001250",), ("NO:1",), ("HP:0004322",), ("HP:0004322",))  # the last two overlap
    lists = (ranked("HP:0001250"), ranked("NO:1"), ranked("HP:0004322"), ranked("HP:0001250"))
    linked = Linked.of([(gold("a", *answers), ours("a", *lists))], kb=kb)
    found = {p: {m.name: m.value for m in linking(linked, protocol=p)} for p in PROTOCOLS}
    assert [found[p]["accuracy@1"] for p in PROTOCOLS] == pytest.approx([3 / 4, 2 / 3, 1])
    assert [found[p]["coverage"] for p in PROTOCOLS] == pytest.approx([3 / 4, 1, 1])


def test_slices_count_alone() -> None:
    linked = Linked.of(PAIRS, kb=None)
    first = np.arange(len(linked)) == 0
    assert values(linked, among=first)["accuracy@1"] == 1
    assert values(linked, among=~first)["accuracy@1"] == 0


def test_what_cannot_be_is_refused() -> None:
    linked = Linked.of(PAIRS, kb=None)
    with pytest.raises(DataError, match="protocol 'best' is none of all, in-kb, in-kb-genbioel"):
        linking(linked, protocol="best")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"shape \(3,\) does not fit 7 mentions"):
        linking(linked, protocol="all", among=np.ones(3, np.bool_))
