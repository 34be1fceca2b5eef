from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.rerank.logit import Lists, Logit, softmax


def lists(seed: int, mentions: int, columns: int = 3) -> Lists:
    """Lists whose right candidate is the one with the highest first column."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, mentions)
    starts = np.cumsum(lengths) - lengths
    table = rng.normal(size=(int(lengths.sum()), columns)).astype(np.float32)
    right = np.zeros(len(table), np.bool_)
    for start, length in zip(starts, lengths, strict=True):
        right[start + table[start : start + length, 0].argmax()] = True
    return Lists(table, right, starts, np.arange(mentions))


@given(st.lists(st.lists(st.floats(-700, 700), min_size=1, max_size=6), min_size=1, max_size=6))
def test_probabilities_add_up_in_each_list(scores: list[list[float]]) -> None:
    starts = np.cumsum([0, *map(len, scores)])[:-1]
    found = softmax(np.array([score for some in scores for score in some]), starts)
    for start, some in zip(starts, scores, strict=True):
        want = [math.exp(score - max(some)) for score in some]
        np.testing.assert_allclose(found[start : start + len(some)], np.array(want) / sum(want), rtol=1e-9, atol=1e-300)


def test_the_least_loss_is_found() -> None:
    some = lists(1, 60)
    model = Logit.fit(some, penalty=1.0)

    def objective(weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        """The same by loops."""
        total = 0.0
        scaled = (some.table - model.means) / model.scales
        for start, length in zip(some.starts, some.lengths, strict=True):
            scores = [math.exp(float(row @ weights)) for row in scaled[start : start + length]]
            good = sum(s for s, ok in zip(scores, some.right[start : start + length], strict=True) if ok)
            total -= math.log(good / sum(scores))
        return total + float(weights @ weights)

    best = objective(model.weights)
    rng = np.random.default_rng(2)
    for _ in range(20):
        assert objective(model.weights + rng.normal(scale=0.05, size=3)) > best
    assert model.loss(some) == pytest.approx((best - float(model.weights @ model.weights)) / len(some), rel=1e-3)


def test_it_learns_what_is_there_to_learn() -> None:
    model = Logit.fit(lists(3, 200), penalty=1.0)
    fresh = lists(4, 200)
    assert fresh.right[fresh.first(model.score(fresh.table))].mean() > 0.95
    assert abs(model.weights[0]) > 5 * max(abs(model.weights[1]), abs(model.weights[2]))


def test_a_score_does_not_depend_on_the_candidates_beside_it() -> None:
    some = lists(5, 40)
    model = Logit.fit(some, penalty=1.0)
    whole = model.score(some.table)
    assert [float(model.score(row[None])[0]) for row in some.table] == whole.tolist()
    assert model.score(some.table[::-1]).tolist() == whole[::-1].tolist()


def test_the_first_of_equals_is_taken() -> None:
    some = Lists(np.zeros((5, 1), np.float32), np.zeros(5, np.bool_), np.array([0, 2]), np.array([0, 1]))
    assert some.first(np.array([1.0, 1.0, 0.0, 2.0, 2.0])).tolist() == [0, 3]


def test_mentions_and_columns_can_be_taken() -> None:
    some = lists(6, 10)
    kept = np.arange(10) % 2 == 0
    fewer = some.take(kept, np.array([True, False, True]))
    assert len(fewer) == 5
    assert fewer.table.shape == (int(some.lengths[kept].sum()), 2)
    assert fewer.groups.tolist() == [0, 2, 4, 6, 8]
    assert fewer.lengths.tolist() == some.lengths[kept].tolist()
