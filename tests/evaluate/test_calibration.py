"""Calibration by hand and against slow computations; NIL; what `decide` gives on real documents."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Document, Mention, Span
from linnet.errors import DataError
from linnet.evaluate.calibration import Calibration, nil
from linnet.evaluate.linked import Linked

ANSWERS = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.8, 0.95, 1.0]), st.booleans()), max_size=40)


def of(*answers: tuple[float, bool]) -> Calibration:
    return Calibration([probability for probability, _ in answers], [right for _, right in answers])


def cut(found: Calibration, **how: Any) -> list[Any]:
    return [(one.confidence, one.accuracy, one.count) for one in found.bins(**how)]


# --- figures ---------------------------------------------------------------------------------------------------------


def test_equal_masses_by_hand() -> None:
    found = of((0.2, False), (0.9, True), (0.4, True), (0.6, False), (0.7, True))
    # 5 answers in 2 bins: the first 2, then 3
    assert cut(found, bins=2) == [
        (pytest.approx(0.3), 0.5, 2),
        (pytest.approx((0.6 + 0.7 + 0.9) / 3), pytest.approx(2 / 3), 3),
    ]
    assert found.ece(bins=2) == pytest.approx((2 * 0.2 + 3 * abs(2.2 / 3 - 2 / 3)) / 5)
    assert len(found) == 5


def test_equal_widths_by_hand() -> None:
    found = of((0.0, False), (0.25, True), (0.26, False), (1.0, True))
    assert cut(found, bins=4, by="width") == [(0.125, 0.5, 2), (0.26, 0.0, 1), (1.0, 1.0, 1)]
    assert found.ece(bins=4, by="width") == pytest.approx((2 * 0.375 + 0.26) / 4)


def test_ties_are_shared_between_the_bins_they_fall_into() -> None:
    found = of((0.5, True), (0.5, False), (0.5, False), (0.5, False))
    assert cut(found, bins=2) == [(0.5, 0.25, 2), (0.5, 0.25, 2)]


def test_risk_and_coverage_by_hand() -> None:
    found = of((0.9, True), (0.9, False), (0.8, True), (0.1, False))
    curve = found.risk_coverage()
    assert curve.threshold.tolist() == [0.9, 0.8, 0.1]
    assert curve.coverage.tolist() == [0.5, 0.75, 1.0]
    assert curve.risk.tolist() == pytest.approx([0.5, 1 / 3, 0.5])
    # of the surest 1, 2, 3, 4; the first two are tied, and half of them is wrong
    assert found.aurc == pytest.approx((0.5 + 0.5 + 1 / 3 + 0.5) / 4)


def test_the_perfect_and_the_empty() -> None:
    sure = of((1.0, True), (0.0, False))
    assert (sure.ece(), sure.brier, sure.aurc) == (0.0, 0.0, 0.25)  # the second of two is wrong: (0 + 1/2) / 2
    empty = of()
    assert (len(empty), empty.ece(), empty.brier, empty.aurc, empty.bins()) == (0, 0.0, 0.0, 0.0, [])
    assert empty.risk_coverage().coverage.tolist() == []


@given(ANSWERS, st.randoms(use_true_random=False), st.integers(1, 20), st.sampled_from(["mass", "width"]))
def test_order_has_no_influence(answers: list[tuple[float, bool]], random: object, bins: int, by: str) -> None:
    shuffled = list(answers)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = of(*answers), of(*shuffled)
    assert one.bins(bins=bins, by=by) == other.bins(bins=bins, by=by)  # type: ignore[arg-type]
    assert (one.brier, one.aurc) == (other.brier, other.aurc)


@given(ANSWERS, st.integers(1, 20))
def test_against_slow_computations(answers: list[tuple[float, bool]], bins: int) -> None:
    found = of(*answers)
    if not answers:
        return
    assert found.brier == pytest.approx(sum((p - right) ** 2 for p, right in answers) / len(answers))
    widths = 0.0
    for place in range(bins):
        inside = [(p, r) for p, r in answers if (place == 0 or p > place / bins) and p <= (place + 1) / bins]
        widths += abs(sum(p for p, _ in inside) - sum(r for _, r in inside)) / len(answers)
    assert found.ece(bins=bins, by="width") == pytest.approx(widths)
    sizes = [one.count for one in found.bins(bins=bins)]
    assert sum(sizes) == len(answers)
    assert max(sizes) - min(sizes) <= 1
    assert abs(found.ece(bins=1) - abs(np.mean([p - r for p, r in answers]))) < 1e-12
    curve = found.risk_coverage()
    for threshold, coverage, risk in zip(curve.threshold, curve.coverage, curve.risk, strict=True):
        kept = [right for p, right in answers if p >= threshold]
        assert coverage == pytest.approx(len(kept) / len(answers))
        assert risk == pytest.approx(1 - np.mean(kept))


def test_frequencies_that_hold_have_a_small_error() -> None:
    random = np.random.default_rng(3)
    probability = random.beta(4, 1, 20_000)
    right = random.random(20_000) < probability
    assert Calibration(probability, right).ece() < 0.01
    assert Calibration(probability**2, right).ece() > 0.05
    assert Calibration(probability, right).aurc < 0.6 * (1 - right.mean())


def test_what_cannot_be_measured() -> None:
    for wrong in (math.nan, -0.1, 1.1):
        with pytest.raises(DataError, match="is not between 0 and 1; leave answers without probability out"):
            of((0.5, True), (wrong, True))
    with pytest.raises(DataError, match=r"\(2,\) probabilities of \(1,\) answers"):
        Calibration([0.5, 0.5], [True])
    with pytest.raises(DataError, match="bins: 0 must be at least 1"):
        of((0.5, True)).ece(bins=0)
    with pytest.raises(DataError, match="by: 'size' is none of mass, width"):
        of((0.5, True)).ece(by="size")  # type: ignore[arg-type]


# --- documents -------------------------------------------------------------------------------------------------------

TEXT = "x" * 60


def gold(start: int, *concepts: str, **fields: object) -> Mention:
    return Mention(start, start + 5, concepts=concepts, source="gold", **fields)  # type: ignore[arg-type]


def said(start: int, probability: float | None, *concepts: str) -> Mention:
    return Mention(start, start + 5, concepts=concepts, probability=probability)


def pair(theirs: list[Mention], ours: list[Mention], **fields: object) -> tuple[Document, Document]:
    return Document("d", TEXT, mentions=tuple(theirs), **fields), Document("d", TEXT, mentions=tuple(ours))  # type: ignore[arg-type]


def test_all_that_was_predicted() -> None:
    theirs = [gold(0, "A"), gold(10, "A", "B", alternatives=(("C",),)), gold(20), gold(30, "A"), gold(30, "old")]
    ours = [said(0, 0.9, "A"), said(10, 0.8, "B", "A"), said(10, 0.7, "C"), said(10, 0.6, "A"), said(20, 0.5, "A")]
    ours += [said(30, 0.4, "new"), said(40, 0.3, "A"), said(50, None, "A"), said(45, 0.2)]
    found = Calibration.of_pairs([pair(theirs, ours)], live=lambda name: name.replace("old", "new"))
    curve = found.risk_coverage()
    assert curve.threshold.tolist() == [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]
    right = len(found) - curve.risk * curve.coverage * len(found) - len(found) + curve.coverage * len(found)
    assert np.diff(right, prepend=0).round(9).tolist() == [1, 1, 1, 0, 0, 1, 0]


def test_what_nobody_reviewed_does_not_count() -> None:
    ours = [said(0, 0.9, "A"), said(10, 0.8, "A")]
    assert len(Calibration.of_pairs([pair([], ours, reviewed=(Span(0, 5),))])) == 1
    assert len(Calibration.of_pairs([pair([gold(10, "A")], ours, reviewed=(Span(0, 5),))])) == 2
    assert len(Calibration.of_pairs([(Document("d", TEXT), Document("d", TEXT))])) == 0


def test_what_nobody_linked_is_neither_right_nor_wrong() -> None:
    unknown = replace(gold(0), concepts=None)
    ours = [said(0, 0.9, "A")]
    assert len(Calibration.of_pairs([pair([unknown], ours)])) == 0
    assert Calibration.of_pairs([pair([unknown, gold(0, "A")], ours)]).brier == pytest.approx(0.01)


def test_one_concept_of_several_is_right_where_the_rule_says_so() -> None:
    pairs = [pair([gold(0, "A", "B")], [said(0, 0.9, "A")])]
    assert Calibration.of_pairs(pairs).brier == pytest.approx(0.81)
    assert Calibration.of_pairs(pairs, rule="any-of").brier == pytest.approx(0.01)


def table(*rows: tuple[Mention, Mention | None, bool]) -> Linked:
    """Return a table of one mention in each document."""
    columns = {name: np.zeros(len(rows), kind) for name, kind in (("rank", np.int32), ("precision", np.float64))}
    return Linked(
        documents=tuple(f"d{at}" for at in range(len(rows))),
        doc=np.arange(len(rows), dtype=np.int32),
        gold=tuple(row[0] for row in rows),
        predicted=tuple(row[1] for row in rows),
        right=np.array([row[2] for row in rows], np.bool_),
        in_kb=np.array([row[0].concepts != ("out",) for row in rows], np.bool_),
        nil=np.array([not row[0].concepts for row in rows], np.bool_),
        overlapping=np.zeros(len(rows), np.bool_),
        probability=np.array([math.nan if not m or m.probability is None else m.probability for _, m, _ in rows]),
        **columns,  # type: ignore[arg-type]
    )


def test_at_the_spans_of_gold() -> None:
    linked = table(
        (gold(0, "A"), said(0, 0.9, "A"), True),
        (gold(0, "A"), said(0, 0.7, "B"), False),
        (gold(0, "A"), None, False),
        (gold(0, "A"), said(0, None, "A"), True),
        (gold(0, "A"), said(0, 0.6), False),  # NIL
        (gold(0), said(0, 0.5, "A"), False),
        (gold(0, "out"), said(0, 0.3, "A"), False),
    )
    assert Calibration.of_linked(linked).risk_coverage().threshold.tolist() == [0.9, 0.7, 0.5, 0.3]
    assert Calibration.of_linked(linked, protocol="all").risk_coverage().threshold.tolist() == [0.9, 0.7, 0.3]
    assert Calibration.of_linked(linked, protocol="in-kb").risk_coverage().risk.tolist() == [0.0, 0.5]


def test_nil_by_hand() -> None:
    linked = table(
        (gold(0), said(0, 0.5), True),
        (gold(0), said(0, None), True),
        (gold(0), said(0, 0.5, "A"), False),
        (gold(0), None, False),
        (gold(0), replace(said(0, None), concepts=None), False),  # not answered
        (gold(0, "A"), said(0, 0.5), False),
        (gold(0, "A"), None, False),
    )
    values = {measure.name: measure.value for measure in nil(linked)}
    wanted = {"precision": 2 / 3, "recall": 2 / 5, "f1": 0.5}
    assert values == pytest.approx({f"given-span.nil.{part}": value for part, value in wanted.items()})
    assert [measure.value for measure in nil(table())] == [1.0, 1.0, 1.0]
    assert all(len(measure.counts) == 7 for measure in nil(linked))


def test_shares_that_are_none() -> None:
    with pytest.raises(DataError, match=r"2\.0 right; expected true, false, or a share"):
        Calibration([0.5], [2])


def test_parts_put_together_are_the_whole() -> None:
    """Also where answers of equal probability lie in several parts, some right and some wrong."""
    chance = np.random.default_rng(4)
    probability, right = chance.choice([0.2, 0.5, 0.9], 60), chance.random(60) < 0.6
    parts = [Calibration(probability[at : at + 20], right[at : at + 20]) for at in (0, 20, 40)]
    whole, together = Calibration(probability, right), Calibration.of_all(parts)
    assert len(together) == 60
    assert together.brier == pytest.approx(whole.brier)
    assert together.ece(bins=3) == pytest.approx(whole.ece(bins=3))
    assert len(Calibration.of_all([])) == 0
