"""Measures as ratios of sums, and protocols as masks."""

from __future__ import annotations

import numpy as np
import pytest

from linnet.data import Mention
from linnet.evaluate.linked import PROTOCOLS, Linked
from linnet.evaluate.measures import Measure


def test_sums_before_ratios() -> None:
    measure = Measure("accuracy@1", np.array([[1.0, 1.0], [0.0, 3.0]]))
    assert measure.value == 0.25  # micro: not the mean of 1 and 0


@pytest.mark.parametrize("empty", [0.0, 1.0])
def test_nothing_over_nothing_is_as_stated(empty: float) -> None:
    assert Measure("recall", np.zeros((2, 2)), empty).value == empty
    assert Measure("recall", np.zeros((0, 2)), empty).value == empty


def test_four_columns_are_a_harmonic_mean() -> None:
    counts = np.array([[1.0, 4.0, 1.0, 1.0], [1.0, 4.0, 0.0, 1.0]])  # P 2/8, R 1/2
    assert Measure("f1", counts).value == pytest.approx(2 * 0.25 * 0.5 / 0.75)
    assert Measure("f1", np.array([[0.0, 4.0, 0.0, 1.0]])).value == 0.0


def test_many_draws_at_once() -> None:
    measure = Measure("recall", np.array([[1.0, 2.0], [3.0, 4.0]]))
    draws = np.array([[2, 0], [0, 2], [1, 1]])
    assert measure.of(draws @ measure.counts).tolist() == [0.5, 0.75, pytest.approx(4 / 6)]


def test_protocols_drop_what_they_say() -> None:
    columns = {"right": bool, "rank": np.int32, "precision": float, "probability": float}
    linked = Linked(
        documents=("a",),
        doc=np.zeros(4, np.int32),
        gold=tuple(Mention(at, at + 1) for at in range(4)),
        predicted=(None,) * 4,
        in_kb=np.array([True, False, True, True]),
        nil=np.array([False, False, False, True]),
        overlapping=np.array([True, False, False, False]),
        texts=(),
        **{name: np.zeros(4, kind) for name, kind in columns.items()},
    )
    kept = {protocol: linked.mask(protocol).nonzero()[0].tolist() for protocol in PROTOCOLS}
    assert kept == {"all": [0, 1, 2], "in-kb": [0, 2], "in-kb-genbioel": [2]}
    assert len(linked) == 4
