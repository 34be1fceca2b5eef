"""Search among names by TF-IDF cosine of character n-grams, exactly and without looking at most names.

A name's vector is the sum of those of its units (`linnet.retrieve.ngram_text`), so the dot product of a mention with
a name is the sum of its dot products with the name's units. Search has two steps:

1. The mention against all units: one sparse product with the units' n-grams. There are far fewer words than names.
2. Names through their units. With ``c`` the cosine of mention and unit, and ``spread`` of a name the sum of its units'
   lengths over its own length, the score of a name is at most ``spread`` times the largest ``c`` of its units. Names of
   a unit are listed with the largest spread first, so that only the head of a list can hold names above a score that
   some names are known to reach; these few are scored exactly.

Arrays (float32 and int32; n names, all in order of falling spread; u units; g n-grams) may be memory-mapped.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from linnet.kb import Mask
from linnet.retrieve.ngram_text import Analysis

__all__ = ["ARRAYS", "Floats", "Ints", "NgramIndex", "best_concepts"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Places = npt.NDArray[np.intp]

SLACK = 1e-5  # bounds are float32 sums: names that might reach a score by rounding are looked at too
SEEDS = 1_000  # names scored to learn what score the best reach
NEAR = (0.7, 0.4, 0.1)  # units so near, as shares of the nearest, are looked at for them
ARRAYS = (
    "grams", "idf", "gram_ends", "gram_units", "gram_weights", "inverse", "list_ends", "lists", "name_ends",
    "name_units", "name_weights", "spread", "concepts", "name_rows",
)  # fmt: skip


class NgramIndex:
    """Names and their units as sparse matrices over the arrays named in `ARRAYS`.

    ``grams`` (g,) are sorted, ``idf`` (g,) are their weights; ``gram_*`` hold the weights of n-grams in units, by
    n-gram (g, u); ``inverse`` (u,) is 1 / length of a unit; ``list_ends`` (u + 1,) and ``lists`` say which names hold a
    unit; ``name_*`` hold counts of units over the length of the name, by name (n, u); ``spread``, ``concepts`` and
    ``name_rows`` (n,) belong to names.
    """

    def __init__(self, arrays: Mapping[str, Any], analysis: Analysis) -> None:
        self.arrays, self.analysis = arrays, analysis
        self.grams, self.inverse, self.spread = arrays["grams"], arrays["inverse"], arrays["spread"]
        self.ends, self.lists = arrays["list_ends"], arrays["lists"]
        self.concepts, self.name_rows = arrays["concepts"], arrays["name_rows"]
        self.name_ends, self.name_units = arrays["name_ends"], arrays["name_units"]
        self.name_weights = arrays["name_weights"]
        matrix = (arrays["gram_weights"], arrays["gram_units"], arrays["gram_ends"])
        self.by_gram: Any = sparse.csr_array(matrix, shape=(len(self.grams), len(self.inverse)))
        self._rising = self.spread[::-1].copy()  # a search in a reversed view would copy it each time
        self._allowed: tuple[Mask | None, Places] = (None, np.empty(0, np.intp))

    def __len__(self) -> int:
        return len(self.concepts)

    def search(self, text: str, k: int, mask: Mask | None = None) -> tuple[Ints, Floats, Ints]:
        """Return rows, scores and name rows of the best `k` concepts, best first, ties by row.

        Only concepts of `mask` and only scores above 0; the name is the best one, of equally good ones the first.
        """
        units = self._units(text)
        if units is None:
            return np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.int32)
        names, floor = self._names(units, k, mask)
        scores = self._scores(units, names)
        if names is None:
            return best_concepts(self.concepts, scores, self.name_rows, k)
        if floor > 0:  # `k` concepts reach it, so nothing below is an answer
            kept = np.flatnonzero(scores >= floor)
            names, scores = names[kept], scores[kept]
        return best_concepts(self.concepts[names], scores, self.name_rows[names], k)

    def similarities(self, text: str) -> Floats:
        """Return the score of every name (n,)."""
        units = self._units(text)
        return np.zeros(len(self), np.float32) if units is None else np.minimum(self._scores(units), np.float32(1))

    def _scores(self, units: Floats, names: Places | None = None) -> Floats:
        """Return the scores of some names, or of all: sums over their units, always in the same order."""
        if names is None:
            starts = self.name_ends[:-1]
            products = self.name_weights * units[self.name_units]
        else:
            starts, flat = _flat(self.name_ends[names], self.name_ends[names + 1])
            products = self.name_weights[flat] * units[self.name_units[flat]]
        scores: Floats = np.add.reduceat(products, starts) if len(starts) else np.empty(0, np.float32)
        return scores

    def _units(self, text: str) -> Floats | None:
        """Return the dot product of a text, at length 1, with every unit (u,); None if no n-gram is known."""
        frequencies = self.analysis.frequencies(self.analysis.units(text))
        # in the order of n-grams, so that equal texts give equal sums
        known = sorted((place, frequencies[gram]) for gram in frequencies if (place := self._gram(gram)) is not None)
        if not known:
            return None
        places = np.array([place for place, _ in known])
        weights = np.array([frequency for _, frequency in known], np.float32)
        weights *= self.arrays["idf"][places]
        length = np.sqrt((weights.astype(np.float64) ** 2).sum())
        if not length:
            return None
        found: Floats = self.by_gram[places].T @ (weights / np.float32(length))
        return found

    @functools.cached_property
    def _gram(self) -> Callable[[str], int | None]:
        """From an n-gram to its place; a look-up costs a tenth of a binary search in the array."""
        return {gram: place for place, gram in enumerate(self.grams.tolist())}.get

    def _names(self, units: Floats, k: int, mask: Mask | None) -> tuple[Places | None, float]:
        """Return names among which the best `k` concepts' best names are, and a score these reach.

        None stands for all names, and 0 for a score that is not known.
        """
        if mask is not None:
            allowed = self._of(mask)
            if len(allowed) * 4 < len(self):  # a narrow mask is scored whole: bounds would rule out little
                return allowed, 0.0
        cosines = units * self.inverse
        floor = self._floor(units, cosines, k, mask) * (1 - SLACK)
        names = self._above(cosines, floor) if floor > 0 else None
        if mask is None:
            return names, floor
        return (self._of(mask) if names is None else names[mask.array[self.concepts[names]]]), floor

    def _of(self, mask: Mask) -> Places:
        known, names = self._allowed  # the masks of a batch are one and the same
        if known is not mask:
            names = np.flatnonzero(mask.array[self.concepts])
            self._allowed = (mask, names)
        return names

    def _floor(self, units: Floats, cosines: Floats, k: int, mask: Mask | None) -> float:
        """Return a score that at least `k` concepts are known to reach, 0 if so many were not met."""
        nearest, wanted = float(cosines.max()), min(max(SEEDS, 8 * k), len(self.lists))
        for share in NEAR:
            near = np.flatnonzero(cosines >= share * nearest)
            near = near[np.argsort(-cosines[near], kind="stable")]
            # of long lists the end, where the names are of little else than this unit
            ends = self.ends[near + 1]
            starts = np.maximum(self.ends[near], ends - wanted)
            sizes = np.cumsum(ends - starts)
            if sizes[-1] < wanted and share != NEAR[-1]:
                continue
            few = np.searchsorted(sizes, wanted) + 1
            listed = np.sort(self.lists[_flat(starts[:few], ends[:few])[1]])
            names = listed[_firsts(listed)]
            if mask is not None:
                names = names[mask.array[self.concepts[names]]]
            floor = _kth(self.concepts[names], self._scores(units, names), k)
            if floor > 0:
                return floor
            wanted = min(8 * wanted, len(self.lists))
        return 0.0

    def _above(self, cosines: Floats, floor: float) -> Places | None:
        """Return all names that may score `floor` or more, None if these would be most of them."""
        near = np.flatnonzero(cosines * self.spread[0] >= floor)
        starts, ends = self.ends[near], self.ends[near + 1]
        # the first name of a list has the largest spread of all: most lists are of no use
        useful = cosines[near] * self.spread[self.lists[starts]] >= floor
        starts, ends = starts[useful], ends[useful]
        heads = len(self) - np.searchsorted(self._rising, floor / cosines[near[useful]])
        ends = _lower_bounds(self.lists, starts, ends, heads)
        if (ends - starts).sum() * 4 > len(self):
            return None
        names = np.sort(self.lists[_flat(starts, ends)[1]])
        return names[_firsts(names)]


def _flat(starts: Ints | Places, ends: Ints | Places) -> tuple[Places, Places]:
    """Return where each of some slices starts when they are put together, and the places of all their items."""
    sizes = ends - starts
    after = np.cumsum(sizes, dtype=np.intp)
    first = after - sizes
    return first, np.arange(after[-1] if len(after) else 0) + np.repeat(starts - first, sizes)


def _firsts(ordered: Ints) -> Places:
    """Return the places of the first of every run of equal values."""
    return np.flatnonzero(np.concatenate([np.ones(min(1, len(ordered)), np.bool_), ordered[1:] != ordered[:-1]]))


def _lower_bounds(values: Ints, starts: Ints, ends: Ints, limits: Places) -> Places:
    """Return for each rising slice of `values` where it reaches its limit: a binary search in all at once."""
    low, high = starts.astype(np.intp), ends.astype(np.intp)
    while len(open := np.flatnonzero(low < high)):
        middle = (low[open] + high[open]) >> 1
        less = values[middle] < limits[open]
        low[open[less]] = middle[less] + 1
        high[open[~less]] = middle[~less]
    return low


def best_concepts(concepts: Ints, scores: Floats, name_rows: Ints, k: int) -> tuple[Ints, Floats, Ints]:
    """Return rows, scores and name rows of the best `k` concepts of scored names, best first, ties by row.

    Scores are cut at 1, which sums may exceed by rounding; names without a score above 0 are left out.
    """
    floor = _kth(concepts, scores, k)
    kept = np.flatnonzero(scores >= floor if floor > 0 else scores > 0)
    concepts, scores, name_rows = concepts[kept], np.minimum(scores[kept], np.float32(1)), name_rows[kept]
    # of each concept its best name, of equally good names the first
    order = np.lexsort((name_rows, -scores, concepts))
    first = np.ones(len(order), np.bool_)
    first[1:] = concepts[order][1:] != concepts[order][:-1]
    best = order[first]
    best = best[np.lexsort((concepts[best], -scores[best]))][:k]
    return concepts[best], scores[best], name_rows[best]


def _kth(concepts: Ints, scores: Floats, k: int) -> float:
    """Return the score of the `k`-th best concept, cut at 1; 0 if there are fewer."""
    size = 4 * k
    while True:
        whole = size >= len(scores)
        top = np.arange(len(scores)) if whole else np.argpartition(-scores, size)[:size]
        top = top[np.argsort(-scores[top], kind="stable")]
        _, firsts = np.unique(concepts[top], return_index=True)
        if len(firsts) >= k:
            return float(min(scores[top[np.sort(firsts)[k - 1]]], 1.0))
        if whole:
            return 0.0
        size *= 4
