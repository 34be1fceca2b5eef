"""Which units of gold and predicted documents share characters: one join of intervals for the whole corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.data import Span
from linnet.evaluate.units import Corpus, Ints, Spans, Units

__all__ = ["Overlaps", "intersecting", "one_to_one"]

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """Pairs of a gold and a predicted unit with the same label that share a character, each pair once.

    ``gold`` and ``predicted`` int64 (pairs,) are units, ``shared`` int64 (pairs,) the characters they have in common,
    ``exact`` bool (pairs,) whether their spans are the same, ``apart`` int64 (pairs,) by how many characters their
    starts and their ends differ, together.
    """

    gold: Ints
    predicted: Ints
    shared: Ints
    exact: Bools
    apart: Ints

    @classmethod
    def of(cls, corpus: Corpus, spans: Spans, gold: Units, predicted: Units) -> Overlaps:
        """Return all pairs; a discontinuous span (where `spans` keeps parts) has the characters of its parts alone."""
        # each label gets a line of text of its own, so that only units of the same label can meet
        one, other = gold.label * corpus.length, predicted.label * corpus.length
        left, right = intersecting(
            one + spans.start[gold.span],
            one + spans.end[gold.span],
            other + spans.start[predicted.span],
            other + spans.end[predicted.span],
        )
        a, b = gold.span[left], predicted.span[right]
        shared = np.minimum(spans.end[a], spans.end[b]) - np.maximum(spans.start[a], spans.start[b])
        broken = np.flatnonzero((spans.shape[a] > 0) | (spans.shape[b] > 0))
        if len(broken):
            parts = list(corpus.numbers.shapes)
            for pair in broken.tolist():
                shared[pair] = _common(*(_pieces(spans, int(span), corpus, parts) for span in (a[pair], b[pair])))
        apart = np.abs(spans.start[a] - spans.start[b]) + np.abs(spans.end[a] - spans.end[b])
        kept = shared > 0
        return cls(left[kept], right[kept], shared[kept], (a == b)[kept], apart[kept])


def _pieces(spans: Spans, span: int, corpus: Corpus, parts: Sequence[tuple[Span, ...]]) -> list[tuple[int, int]]:
    if shape := parts[int(spans.shape[span])]:
        offset = int(corpus.base[spans.doc[span]])
        return [(offset + start, offset + end) for start, end in shape]
    return [(int(spans.start[span]), int(spans.end[span]))]


def _common(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> int:
    return sum(max(0, min(b, d) - max(a, c)) for a, b in one for c, d in other)


def intersecting(starts: Ints, ends: Ints, other_starts: Ints, other_ends: Ints) -> tuple[Ints, Ints]:
    """Return all pairs of intervals, half-open and not empty, of two lists that share a place, each pair once.

    Of two intervals that intersect, one starts inside the other; in order of their starts those are a stretch. Takes
    O(n log n) and what the pairs need, however deep intervals are nested.

    >>> first, second = intersecting(*(np.array(ends) for ends in ([0, 4], [5, 6], [4, 6], [5, 9])))
    >>> sorted(zip(first.tolist(), second.tolist()))
    [(0, 0), (1, 0)]
    """
    order, other_order = np.argsort(starts, kind="stable"), np.argsort(other_starts, kind="stable")
    first, last = (np.searchsorted(starts, edge, sorter=order) for edge in (other_starts, other_ends))
    b, a = _stretches(first, last)
    low = np.searchsorted(other_starts, starts, side="right", sorter=other_order)  # the same start was counted above
    c, d = _stretches(low, np.maximum(low, np.searchsorted(other_starts, ends, sorter=other_order)))
    return np.concatenate((order[a], c)), np.concatenate((b, other_order[d]))


def _stretches(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Return (i, x) for every x in [first[i], last[i])."""
    counts = last - first
    owner = np.repeat(np.arange(len(counts)), counts)
    skipped = np.cumsum(counts) - counts
    return owner, np.arange(len(owner)) - np.repeat(skipped - first, counts)


def one_to_one(gold: Ints, predicted: Ints, *, sizes: tuple[int, int]) -> Bools:
    """Return which gold units get a partner of their own, bool (gold units,), as many as can be.

    Args:
        gold: int64 (pairs,), units that fit the predicted one of the same pair.
        predicted: int64 (pairs,).
        sizes: how many units there are of each.

    >>> one_to_one(np.array([0, 1, 1]), np.array([0, 0, 1]), sizes=(3, 2)).tolist()
    [True, True, False]
    """
    from scipy.sparse import csgraph, csr_array  # noqa: PLC0415 - slow to import, needed here alone

    if not len(gold):
        return np.zeros(sizes[0], np.bool_)
    graph = csr_array((np.ones(len(gold), np.int8), (gold, predicted)), shape=sizes)
    partner: Bools = csgraph.maximum_bipartite_matching(graph, perm_type="column") >= 0
    return partner
