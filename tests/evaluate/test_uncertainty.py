"""Intervals, comparisons and adjusted p-values against slow or independent computations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from linnet.errors import DataError
from linnet.evaluate import uncertainty
from linnet.evaluate.measures import Measure
from linnet.evaluate.uncertainty import adjust, interval, intervals, mcnemar, paired_bootstrap, spread


def accuracy(right: Sequence[float], of: Sequence[float]) -> Measure:
    return Measure("accuracy@1", np.column_stack([right, of]).astype(np.float64))


def simulated(seed: int, documents: int = 60, chance: float = 0.8) -> Measure:
    """Mentions of one document share their luck: its own chance of being right, and many or few mentions."""
    random = np.random.default_rng(seed)
    mentions = random.integers(1, 30, documents)
    own = random.beta(8 * chance, 8 * (1 - chance), documents)
    return accuracy(random.binomial(mentions, own).tolist(), mentions.tolist())


# --- intervals -------------------------------------------------------------------------------------------------------


def test_the_exact_distribution_of_three_documents() -> None:
    measure = accuracy([3, 1, 4], [4, 2, 4])
    draws = [measure.of(measure.counts[list(draw)].sum(axis=0)) for draw in itertools.product(range(3), repeat=3)]
    low, high = interval(measure, samples=20_000, level=0.6)
    assert (low, high) == pytest.approx(tuple(np.quantile(draws, [0.2, 0.8])), abs=1e-9)


def test_agrees_with_scipy() -> None:
    measure = simulated(1, documents=200)

    def ratio(right: np.ndarray, of: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(right.sum(axis=axis) / of.sum(axis=axis))

    theirs = stats.bootstrap(
        tuple(measure.counts.T), ratio, paired=True, n_resamples=20_000, method="percentile", random_state=5
    ).confidence_interval
    assert interval(measure, samples=20_000) == pytest.approx((theirs.low, theirs.high), abs=0.001)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    inside = 0
    for seed in range(300):
        low, high = interval(simulated(seed), samples=400, seed=seed)
        inside += low <= 0.8 <= high
    assert 0.91 <= inside / 300 <= 0.98
    # mentions as if they were independent: far too sure
    mentions = [simulated(seed).counts.sum(axis=0) for seed in range(300)]
    naive = [stats.binomtest(int(right), int(of)).proportion_ci(method="wilson") for right, of in mentions]
    assert sum(ci.low <= 0.8 <= ci.high for ci in naive) / 300 < 0.8


def test_wider_levels_are_wider_and_seeds_differ() -> None:
    measure = simulated(3)
    inner, outer = interval(measure, level=0.5), interval(measure, level=0.99)
    assert outer[0] < inner[0] < measure.value < inner[1] < outer[1]
    assert interval(measure) == interval(measure)
    assert interval(measure) != interval(measure, seed=14)


def test_the_spread_of_any_figure_is_that_of_a_measure() -> None:
    right, of = np.array([1.0, 2.0, 3.0, 4.0]), np.array([4.0, 2.0, 3.0, 5.0])  # in sorted order, as they are drawn
    expected = interval(accuracy(right.tolist(), of.tolist()), samples=50, seed=2, level=0.8)
    assert spread(lambda weights: weights @ right / (weights @ of), 4, samples=50, seed=2, level=0.8) == expected


def test_draws_without_a_figure_have_no_spread() -> None:
    assert spread(lambda weights: np.full(len(weights), np.nan), 3) is None
    assert spread(lambda weights: np.where(weights[:, 0] > 0, 0.5, np.nan), 3) == (0.5, 0.5)
    with pytest.raises(DataError, match="level: 1"):
        spread(lambda weights: weights[:, 0], 3, level=1.0)


def test_the_order_of_documents_has_no_influence() -> None:
    measure, other = simulated(4), simulated(5)
    shuffled = np.random.default_rng(0).permutation(len(measure.counts))
    moved = Measure(measure.name, measure.counts[shuffled])
    assert interval(moved) == interval(measure)
    expected = paired_bootstrap(measure, other)
    assert paired_bootstrap(moved, Measure(other.name, other.counts[shuffled])) == expected


def test_many_measures_are_each_as_if_alone() -> None:
    four = Measure("f1", np.hstack([simulated(6).counts, simulated(7).counts]))
    measures = [simulated(6), four, accuracy([0] * 60, [0] * 60)]
    assert intervals(measures) == [interval(measure) for measure in measures]
    assert intervals([]) == []


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = interval(simulated(8), samples=100)
    monkeypatch.setattr(uncertainty, "BLOCK", 130)  # two draws of sixty documents
    assert interval(simulated(8), samples=100) == whole


def test_draws_with_nothing_to_count_are_left_out() -> None:
    rare = accuracy([1, 1] + [0] * 50, [1, 1] + [0] * 50)
    assert interval(rare) == (1.0, 1.0)  # with 0/0 as 0 the low end would be 0
    nothing = Measure("recall", np.zeros((4, 2)), 1.0)
    assert interval(nothing) == (1.0, 1.0)
    assert interval(Measure("recall", np.zeros((0, 2)))) == (0.0, 0.0)
    # nothing predicted but something to find is a figure: F1 = 0
    assert interval(Measure("f1", np.array([[0.0, 0.0, 0.0, 3.0]] * 3))) == (0.0, 0.0)


def test_what_cannot_be_drawn() -> None:
    measure = simulated(9)
    with pytest.raises(DataError, match="samples: 0 draws"):
        interval(measure, samples=0)
    for level in (0.0, 1.0, 95.0, math.nan):
        with pytest.raises(DataError, match=r"level: .* is not between 0 and 1; 0\.95 is usual"):
            interval(measure, level=level)
    with pytest.raises(DataError, match=r"measures over \[5, 60\] documents"):
        intervals([measure, simulated(9, documents=5)])


# --- two systems -----------------------------------------------------------------------------------------------------


def test_the_paired_p_by_all_draws() -> None:
    a, b = accuracy([4, 3, 3, 1], [4, 4, 4, 4]), accuracy([3, 3, 2, 2], [4, 4, 4, 4])
    observed = a.value - b.value
    extreme = [
        abs(sum(a.counts[i, 0] - b.counts[i, 0] for i in draw) / 16 - observed) >= observed - 1e-12
        for draw in itertools.product(range(4), repeat=4)
    ]
    assert paired_bootstrap(a, b, samples=40_000) == pytest.approx(np.mean(extreme), abs=0.01)


def test_no_difference_is_found_where_there_is_none_and_found_where_there_is_one() -> None:
    random = np.random.default_rng(2)
    found = {0.8: 0, 0.86: 0}
    for seed in range(200):
        base = simulated(seed, documents=80)
        of = base.counts[:, 1].astype(int)
        for chance in found:
            pair = [accuracy(random.binomial(of, value).tolist(), of.tolist()) for value in (0.8, chance)]
            found[chance] += paired_bootstrap(*pair, samples=200, seed=seed) <= 0.05
    assert found[0.8] / 200 <= 0.09
    assert found[0.86] / 200 >= 0.9


def test_which_system_comes_first_has_no_influence() -> None:
    for seed in range(5):
        a, b = simulated(seed), simulated(seed + 100)
        assert paired_bootstrap(a, b) == paired_bootstrap(b, a)
    same = simulated(0)
    assert paired_bootstrap(same, same) == 1.0
    # equal figures of unequal documents
    assert paired_bootstrap(accuracy([1, 0], [1, 1]), accuracy([0, 1], [1, 1])) == 1.0
    assert paired_bootstrap(accuracy([], []), accuracy([], [])) == 1.0


def test_what_cannot_be_compared() -> None:
    measure = simulated(1)
    for other in (Measure("mrr", measure.counts), simulated(1, documents=5), Measure("accuracy@1", np.zeros((60, 4)))):
        with pytest.raises(DataError, match="cannot be compared: use the same measure over the same documents"):
            paired_bootstrap(measure, other)
    with pytest.raises(DataError, match="samples: -1"):
        paired_bootstrap(measure, measure, samples=-1)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_mcnemar_is_the_binomial_test_of_what_one_alone_gets_right(rights: list[tuple[bool, bool]]) -> None:
    a, b = [one for one, _ in rights], [other for _, other in rights]
    alone, discordant = rights.count((True, False)), rights.count((True, False)) + rights.count((False, True))
    expected = stats.binomtest(alone, discordant).pvalue if discordant else 1.0
    assert mcnemar(a, b) == pytest.approx(expected)
    assert mcnemar(b, a) == pytest.approx(expected)


def test_mcnemar_by_hand() -> None:
    # 10 mentions that one alone gets right, 8 of them the first: 2 * (1 + 10 + 45) / 1024
    assert mcnemar([True] * 8 + [False] * 2, [False] * 8 + [True] * 2) == pytest.approx(2 * 56 / 1024)
    assert mcnemar([], []) == 1.0
    assert 0.0 < mcnemar([True] * 900 + [False] * 700, [False] * 900 + [True] * 700) < 1e-5
    with pytest.raises(DataError, match=r"shapes \(2,\) and \(1,\): give the same mentions"):
        mcnemar([True, False], [True])


# --- several comparisons ---------------------------------------------------------------------------------------------


def test_adjusted_by_hand() -> None:
    # Holm: 0.01 * 4, then max(0.04, 0.02 * 3), max(0.06, 0.03 * 2), max(0.06, 0.5 * 1)
    assert adjust([0.5, 0.01, 0.03, 0.02]) == pytest.approx([0.5, 0.04, 0.06, 0.06])
    assert adjust([0.5, 0.01, 0.03, 0.02], "bonferroni") == pytest.approx([1.0, 0.04, 0.12, 0.08])
    assert adjust([]) == adjust([], "bonferroni") == []
    assert adjust([0.2]) == [0.2]


@given(st.lists(st.floats(0, 1), max_size=20))
def test_adjusted_values_keep_their_order(values: list[float]) -> None:
    holm, bonferroni = adjust(values), adjust(values, "bonferroni")
    assert all(value <= one <= other <= 1 for value, one, other in zip(values, holm, bonferroni, strict=True))
    for (_, before), (_, after) in itertools.pairwise(sorted(zip(values, holm, strict=True))):
        assert before <= after
    rejected = sorted(values)
    step_down = 0  # Holm as it is told: reject while the smallest left is small enough
    while step_down < len(rejected) and rejected[step_down] * (len(rejected) - step_down) <= 0.05:
        step_down += 1
    assert sum(value <= 0.05 for value in holm) == step_down


def test_what_is_no_p_value() -> None:
    for value in (-0.1, 1.1, math.nan):
        with pytest.raises(DataError, match="is not a p-value"):
            adjust([0.5, value])
    with pytest.raises(DataError, match="method 'fdr' is none of holm, bonferroni"):
        adjust([0.5], "fdr")  # type: ignore[arg-type]
