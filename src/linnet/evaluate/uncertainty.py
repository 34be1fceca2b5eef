"""Uncertainty of metrics and of differences: bootstrap by document, McNemar's test, adjusted p-values.

Mentions of one document are alike, so documents are what is drawn anew (Efron & Tibshirani 1993, ch. 13 and 16). Draws
are made from counts in sorted order: the order of the documents has no influence, and equal input gives equal figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError
from linnet.evaluate.measures import Measure

__all__ = ["FEW", "Adjustment", "adjust", "interval", "intervals", "mcnemar", "paired_bootstrap", "spread"]

Adjustment = Literal["holm", "bonferroni"]
Floats = npt.NDArray[np.float64]

FEW = 20  # documents; of fewer, 95 % intervals hold the true value in under 93 % of cases, of 10 in 90 %, of 3 in 75 %
BLOCK = 1 << 21  # documents drawn at once: 16 MB
SAME = 1e-12  # differences closer than this are the same, whatever the order of the sums


def interval(measure: Measure, *, samples: int = 1000, seed: int = 13, level: float = 0.95) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a measure, documents drawn with replacement.

    Args:
        measure: the metric, with its counts by document.
        samples: how often the documents are drawn.
        seed: of the draws.
        level: the share of the draws whose value lies inside, between 0 and 1.

    Returns:
        The (1 - level) / 2 and (1 + level) / 2 quantiles of the values of the draws. Draws that hold nothing to count
        (0/0) say nothing and are left out; if nothing was counted at all, both ends are the figure itself.

    Raises:
        DataError: fewer than one sample, or a level outside 0 … 1.

    >>> low, high = interval(Measure("accuracy@1", np.array([[3.0, 4.0], [1.0, 2.0], [4.0, 4.0]])))
    >>> 0.5 <= low < 0.8 < high <= 1.0
    True
    """
    return intervals([measure], samples=samples, seed=seed, level=level)[0]


def intervals(
    measures: Sequence[Measure], *, samples: int = 1000, seed: int = 13, level: float = 0.95
) -> list[tuple[float, float]]:
    """Return `interval` of each of several measures over the same documents, which are drawn once for all.

    Raises:
        DataError: as `interval`, and if the measures are not over the same number of documents.

    >>> halves = Measure("accuracy@1", np.ones((9, 2)) * [1, 2])
    >>> intervals([halves, Measure("mrr", np.zeros((9, 2)))])
    [(0.5, 0.5), (0.0, 0.0)]
    """
    _check(samples, level)
    documents = {len(measure.counts) for measure in measures}
    if len(documents) > 1:
        raise DataError(f"measures over {sorted(documents)} documents: give those of one set of documents")
    if not measures:
        return []
    columns = np.cumsum([0, *(measure.counts.shape[1] for measure in measures)])
    counts = np.hstack([_sort(measure.counts) for measure in measures])
    drawn: list[list[Floats]] = [[] for _ in measures]
    for weights in _draws(len(counts), samples, seed):
        sums = weights @ counts
        for place, measure in enumerate(measures):
            mine = sums[:, columns[place] : columns[place + 1]]
            defined = (mine[:, 1::2] != 0).any(axis=1)
            drawn[place].append(measure.of(mine[defined]))
    ends = ((1 - level) / 2, (1 + level) / 2)
    return [_quantiles(np.concatenate(figures), ends, m.value) for m, figures in zip(measures, drawn, strict=True)]


def spread(
    figure: Callable[[Floats], Floats], documents: int, *, samples: int = 1000, seed: int = 13, level: float = 0.95
) -> tuple[float, float] | None:
    """Return the percentile bootstrap interval of a figure that is no `Measure`, documents drawn with replacement.

    Args:
        figure: maps how often each document is drawn, float64 (draws, documents), to float64 (draws,), the figure of
            each draw; NaN where a draw has none, which is left out.
        documents: how many there are; the same draws for every figure over as many.
        samples: how often the documents are drawn.
        seed: of the draws.
        level: the share of the draws whose value lies inside, between 0 and 1.

    Returns:
        Quantiles as in `interval`; None if no draw has the figure.

    Raises:
        DataError: fewer than one sample, or a level outside 0 … 1.

    >>> spread(lambda weights: weights @ [0.5, 0.5], 2)
    (1.0, 1.0)
    """
    _check(samples, level)
    drawn = np.concatenate([figure(weights) for weights in _draws(documents, samples, seed)])
    drawn = drawn[~np.isnan(drawn)]
    ends = ((1 - level) / 2, (1 + level) / 2)
    return _quantiles(drawn, ends, 0.0) if len(drawn) else None


def _quantiles(figures: Floats, ends: tuple[float, float], otherwise: float) -> tuple[float, float]:
    if not len(figures):
        return otherwise, otherwise
    low, high = np.quantile(figures, ends)
    return float(low), float(high)


def paired_bootstrap(a: Measure, b: Measure, *, samples: int = 1000, seed: int = 13) -> float:
    """Return the two-sided p-value of the difference of one measure between two systems, by paired bootstrap.

    The same documents are drawn for both. With d the observed difference and d* that of a draw,
    p = (1 + number of draws with abs(d* - d) >= abs(d)) / (1 + samples): under the hypothesis of no difference, d* - d
    is how differences scatter around 0 (Efron & Tibshirani 1993, ch. 16; the 1 as in Davison & Hinkley 1997, ch. 4).

    Args:
        a: the measure of the one system.
        b: the same measure of the other, over the same documents in the same order.
        samples: how often the documents are drawn; no p is below 1 / (1 + samples).
        seed: of the draws.

    Raises:
        DataError: measures of two names or shapes, or fewer than one sample.

    >>> better, worse = (Measure("accuracy@1", np.array([[n, 10.0]] * 20)) for n in (9.0, 7.0))
    >>> round(paired_bootstrap(better, worse), 3), paired_bootstrap(worse, worse)
    (0.001, 1.0)
    """
    _check(samples, 0.5)
    if a.counts.shape != b.counts.shape or a.name != b.name:
        one, other = (f"{m.name} of {len(m.counts)} documents ({m.counts.shape[1]} columns)" for m in (a, b))
        raise DataError(f"{one} and {other} cannot be compared: use the same measure over the same documents")
    if a.value < b.value:  # which system comes first has no influence on the order of the counts
        a, b = b, a
    observed = a.value - b.value
    both = _sort(np.hstack([a.counts, b.counts]))
    width = a.counts.shape[1]
    extreme = 0
    for weights in _draws(len(both), samples, seed):
        sums = weights @ both
        differences = a.of(sums[:, :width]) - b.of(sums[:, width:])
        extreme += int((np.abs(differences - observed) >= observed - SAME).sum())
    return (1 + extreme) / (1 + samples)


def _check(samples: int, level: float) -> None:
    if samples < 1:
        raise DataError(f"samples: {samples} draws of the documents; at least 1 is needed, 1000 are usual")
    if not 0.0 < level < 1.0:
        raise DataError(f"level: {level} is not between 0 and 1; 0.95 is usual")


def _sort(counts: Floats) -> Floats:
    return counts[np.lexsort(counts.T[::-1])]


def _draws(documents: int, samples: int, seed: int) -> Iterator[Floats]:
    """Yield how often each document is drawn, float64 (draws, documents), in blocks of draws."""
    chance = np.random.default_rng(seed)
    size = max(1, BLOCK // max(1, documents))
    for start in range(0, samples, size):
        draws = min(size, samples - start)
        if documents == 0:
            yield np.zeros((draws, 0))
            continue
        picked = chance.integers(documents, size=(draws, documents))
        picked += np.arange(draws)[:, None] * documents
        counted = np.bincount(picked.ravel(), minlength=draws * documents)
        yield counted.reshape(draws, documents).astype(np.float64)


def mcnemar(right_a: npt.ArrayLike, right_b: npt.ArrayLike) -> float:
    """Return the exact two-sided p-value of McNemar's test: are two systems right equally often?

    Of the mentions that one system alone gets right, each system's share is binomial (n, 1/2) if they are equally good
    (McNemar 1947). Mentions count as independent: where documents hold many alike, `paired_bootstrap` is the safer.

    Args:
        right_a: bool (mentions,), what the one system gets right.
        right_b: bool (mentions,), the same mentions, the other system.

    Raises:
        DataError: arrays that are not of the same mentions.

    >>> mcnemar([True, True, True, True, True, False], [False, False, False, False, False, False])
    0.0625
    """
    one, other = np.asarray(right_a, np.bool_), np.asarray(right_b, np.bool_)
    if one.shape != other.shape or one.ndim != 1:
        raise DataError(f"McNemar's test of arrays of shapes {one.shape} and {other.shape}: give the same mentions")
    from scipy.special import bdtr  # noqa: PLC0415 - slow to import, and needed here alone

    only_one, only_other = int((one & ~other).sum()), int((other & ~one).sum())
    tail = bdtr(min(only_one, only_other), only_one + only_other, 0.5)
    return min(1.0, 2.0 * float(tail))


def adjust(p_values: Sequence[float], method: Adjustment = "holm") -> list[float]:
    """Return p-values of several comparisons, adjusted so that any false alarm among them has the stated probability.

    Args:
        p_values: one of each comparison, 0 … 1.
        method: ``bonferroni`` multiplies each by their number; ``holm`` (Holm 1979) the smallest by their number, the
            next by one less, and so on, none below the one before, and is never the larger of the two.

    Raises:
        DataError: a p-value that is none, or another method.

    >>> adjust([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    if method not in get_args(Adjustment):
        raise DataError(f"method {method!r} is none of {', '.join(get_args(Adjustment))}")
    values = np.asarray(p_values, np.float64)
    if wrong := [value for value in p_values if not 0.0 <= value <= 1.0]:
        raise DataError(f"{wrong[0]} is not a p-value: p-values lie between 0 and 1")
    factors = np.full(len(values), float(len(values)))
    order = np.argsort(values, kind="stable")
    if method == "holm":
        factors -= np.arange(len(values))
        adjusted = np.maximum.accumulate(values[order] * factors)
    else:
        adjusted = values[order] * factors
    found = np.empty(len(values))
    found[order] = np.minimum(adjusted, 1.0)
    return [float(value) for value in found]
