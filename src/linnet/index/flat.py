"""Exact search among vectors of names: all scores by matrix products, the best name of each concept, the best concepts.

Vectors (n, d) are kept concept by concept, so that the best name of a concept is the maximum of a slice. They may be
memory-mapped; products are taken of so many names at once that the scores of a batch of queries fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.errors import LinnetError
from linnet.kb import Mask

__all__ = ["Flat", "Found", "products"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Places = npt.NDArray[np.intp]

SCORES = 1 << 24  # in memory at once, 64 MiB
ROUNDING = 1e-5  # a matrix product gives equal vectors scores that differ by so much at most, as they stand in it
QUERIES = 64  # multiplied with a block of names at once


class Found(NamedTuple):
    """The nearest concepts of one query, best first, ties by row: ``rows``, ``scores`` and ``names`` (k,) of each.

    ``names`` are places in the arrays that the index was made of.
    """

    rows: Ints
    scores: Floats
    names: Ints


class Flat:
    """All vectors, compared one by one.

    Args:
        vectors: float32 (n, d); for cosines they have length 1.
        concepts: int32 (n,), the concept of each.

    Raises:
        LinnetError: not as many concepts as vectors.

    >>> index = Flat(np.eye(3, dtype=np.float32), np.array([7, 8, 7], np.int32))
    >>> [found] = index.search(np.array([[0.0, 0.6, 0.8]], np.float32), 2)
    >>> found.rows.tolist(), (found.scores * 10).round().tolist(), found.names.tolist()
    ([7, 8], [8.0, 6.0], [2, 1])
    """

    def __init__(self, vectors: Floats, concepts: Ints) -> None:
        if len(vectors) != len(concepts):
            raise LinnetError(f"{len(vectors)} vectors of {len(concepts)} names: there must be one for each")
        self.vectors, self.concepts = vectors, concepts
        order = np.argsort(concepts, kind="stable")
        # vectors in order, as those of a knowledge base nearly are, need no copy
        self._order: Places | None = None if (concepts[1:] >= concepts[:-1]).all() else order
        ordered = concepts[order]
        self._starts = np.flatnonzero(np.r_[np.ones(min(1, len(ordered)), np.bool_), ordered[1:] != ordered[:-1]])
        self._rows: Ints = ordered[self._starts]

    def __len__(self) -> int:
        return len(self.concepts)

    def search(self, queries: Floats, k: int, masks: Sequence[Mask | None] | None = None) -> list[Found]:
        """Return the nearest `k` concepts of each query; fewer only if fewer are allowed.

        Args:
            queries: float32 (queries, d).
            k: how many concepts.
            masks: which concepts may be found, for each query; None = all.
        """
        if not len(self._rows) or not len(queries):
            return [_nothing() for _ in queries]
        found: list[Found] = []
        for start in range(0, len(queries), QUERIES):
            some = queries[start : start + QUERIES]
            chosen = masks[start : start + QUERIES] if masks is not None else [None] * len(some)
            best = self._best_of_concepts(some)
            found += [self._top(scores, query, k, mask) for scores, query, mask in zip(best, some, chosen, strict=True)]
        return found

    def _best_of_concepts(self, queries: Floats) -> Floats:
        """Return the score of each concept's best name, (queries, concepts)."""
        best = np.empty((len(queries), len(self._rows)), np.float32)
        for first, last in self._blocks(max(1, SCORES // len(queries))):
            begin = self._starts[first]
            end = self._starts[last] if last < len(self._starts) else len(self)
            names = self.vectors[begin:end] if self._order is None else self.vectors[self._order[begin:end]]
            scores = queries @ names.T
            np.maximum.reduceat(scores, self._starts[first:last] - begin, axis=1, out=best[:, first:last])
        return best

    def _blocks(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of whole concepts with at most `most` names, but one concept at least."""
        first = 0
        while first < len(self._starts):
            last = int(np.searchsorted(self._starts, self._starts[first] + most, side="right")) - 1
            if self._starts[first] + most >= len(self):
                last = len(self._starts)
            last = max(last, first + 1)
            yield first, last
            first = last

    def _top(self, scores: Floats, query: Floats, k: int, mask: Mask | None) -> Found:
        places = np.arange(len(scores)) if mask is None else np.flatnonzero(mask.array[self._rows])
        scores = scores[places]
        if len(scores) > k:
            # all of those about as good as the k-th, so that ties go by row
            kth = np.partition(scores, len(scores) - k)[len(scores) - k]
            places = places[np.flatnonzero(scores >= kth - ROUNDING)]
        if not len(places):
            return _nothing()
        scores, names = self._compare(places, query)
        order = np.lexsort((places, -scores))[:k]
        return Found(self._rows[places[order]], scores[order], names[order])

    def _compare(self, places: Places, query: Floats) -> tuple[Floats, Ints]:
        """Return scores once more, the same whatever is beside a concept, and the first of its best names."""
        begins = self._starts[places]
        sizes = np.append(self._starts, len(self))[places + 1] - begins
        firsts = np.cumsum(sizes) - sizes
        own = np.arange(int(sizes.sum())) + np.repeat(begins - firsts, sizes)
        own = own if self._order is None else self._order[own]
        scores = products(self.vectors[own], query)
        best = np.maximum.reduceat(scores, firsts)
        at = np.flatnonzero(
            scores == np.repeat(best, sizes)
        )  # the first of each concept is the first at or behind its own
        return best, own[at[np.searchsorted(at, firsts)]].astype(np.int32)


def products(vectors: Floats, query: Floats) -> Floats:
    """Return the product of each vector (n, d) with a query (d,), equal for equal vectors wherever they stand."""
    found: Floats = (vectors * query).sum(axis=1)
    return found


def _nothing() -> Found:
    return Found(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.int32))
