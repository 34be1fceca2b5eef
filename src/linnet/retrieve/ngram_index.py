"""Search among names by TF-IDF cosine of character n-grams, exactly and without looking at most names.

A name's vector is the sum of those of its units (`linnet.retrieve.ngram_text`), so the dot product of a mention with
a name is the sum of its dot products with the name's units. Search has two steps:

1. The mention against all units, as the sum of its own units, each compared once for all mentions that hold it: one
   sparse product with the n-grams. There are far fewer words than names.
2. Names through their units. With ``c`` the cosine of mention and unit, and ``spread`` of a name the sum of its units'
   lengths over its own length, the score of a name is at most ``spread`` times the largest ``c`` of its units. Names of
   a unit are listed with the largest spread first, so that only the head of a list can hold names above a score that
   some names are known to reach; these few are scored exactly.

Arrays (float32 and int32; n names, all in order of falling spread; u units; g n-grams) may be memory-mapped.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from linnet.kb import Mask
from linnet.retrieve.ngram_text import Analysis

__all__ = ["ARRAYS", "Floats", "Found", "Ints", "NgramIndex", "best_concepts"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Found: TypeAlias = tuple[Ints, Floats, Ints]  # rows, scores and name rows of concepts, best first
Places = npt.NDArray[np.intp]

SLACK = 1e-5  # bounds are float32 sums: names that might reach a score by rounding are looked at too
BLOCK = 1 << 21  # products of texts and units that are held at once
REMEMBERED = 10_000  # units of texts whose n-grams are kept
SEEDS = 500  # names scored to learn what score the best reach
NEAR = (0.4, 0.1)  # units so near, as shares of the nearest, are looked at for them
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
        matrix = (arrays["gram_weights"], arrays["gram_units"], arrays["gram_ends"])
        self.by_gram: Any = sparse.csr_array(matrix, shape=(len(self.grams), len(self.inverse)))
        matrix = (arrays["name_weights"], arrays["name_units"], arrays["name_ends"])
        self.by_name: Any = sparse.csr_array(matrix, shape=(len(self.concepts), len(self.inverse)))
        self._rising = self.spread[::-1].copy()  # a search in a reversed view would copy it each time
        self._allowed: tuple[Mask | None, Places] = (None, np.empty(0, np.intp))

    def __len__(self) -> int:
        return len(self.concepts)

    def search(self, text: str, k: int, mask: Mask | None = None) -> Found:
        """Return what `search_all` returns, of one text."""
        return self.search_all([text], k, mask)[0]

    def search_all(self, texts: Sequence[str], k: int, mask: Mask | None = None) -> list[Found]:
        """Return rows, scores and name rows of the best `k` concepts of each text, best first, ties by row.

        Only concepts of `mask` and only scores above 0; the name is the best one, of equally good names the first.
        """
        size = max(1, BLOCK // max(1, len(self.inverse)))
        blocks = (texts[start : start + size] for start in range(0, len(texts), size))
        return [found for some in blocks for found in self._search(self._units(some), k, mask)]

    def similarities(self, texts: Sequence[str]) -> Floats:
        """Return the score of every name for each text (texts, n)."""
        return np.minimum(self._all_scores(self._units(texts)), np.float32(1))

    def _search(self, units: Floats, k: int, mask: Mask | None) -> Iterator[Found]:
        """Yield the answer for each text, whose products with the units are given (texts, u)."""
        names, floors, whole = self._names(units, k, mask)
        scores = self._scores(units, names)
        bounds = np.searchsorted(names.of, np.arange(len(units) + 1)).tolist()
        for text, floor in enumerate(floors.tolist()):
            if whole[text]:
                own, some = self._whole(units[text : text + 1], mask)
            else:
                own, some = names.what[bounds[text] : bounds[text + 1]], scores[bounds[text] : bounds[text + 1]]
            if floor > 0:  # `k` concepts reach it, so nothing below is an answer
                kept = np.flatnonzero(some >= floor)
                own, some = own[kept], some[kept]
            yield best_concepts(self.concepts[own], some, self.name_rows[own], k)

    def _whole(self, units: Floats, mask: Mask | None) -> tuple[Places, Floats]:
        """Return all names of a mask and their scores for one text."""
        if mask is None:
            return np.arange(len(self)), self._all_scores(units)[0]
        names = self._of(mask)
        return names, self._scores(units, Pairs(np.zeros_like(names), names))

    def _all_scores(self, units: Floats) -> Floats:
        """Return the scores of all names for each text (texts, n)."""
        scores: Floats = self.by_name @ units.T
        return np.ascontiguousarray(scores.T)

    def _scores(self, units: Floats, names: Pairs) -> Floats:
        """Return the scores of names, each for one text: sums over their units, always in the same order."""
        scores: Floats = _beside(self.by_name[names.what], names.of, len(units)) @ units.ravel()
        return scores

    def _units(self, texts: Sequence[str]) -> Floats:
        """Return the dot product of each text, at length 1, with every unit (texts, u); 0 if no n-gram is known.

        A text is the sum of its units, and texts share many: each is compared once. They are added in alphabetical
        order, so that equal texts give equal sums whatever they are looked up with.
        """
        held = [Counter(self.analysis.units(text)) for text in texts]
        units = sorted(set().union(*held))
        known = [self._weights(unit) for unit in units]
        of = np.repeat(np.arange(len(units)), [len(places) for places, _ in known])
        grams = Pairs(of, np.concatenate([np.empty(0, np.intp), *(places for places, _ in known)]))
        weights = np.concatenate([np.empty(0, np.float32), *(weights for _, weights in known)])
        products = _beside(self.by_gram[grams.what], grams.of, len(units)).T @ weights
        number = {unit: place for place, unit in enumerate(units)}
        sums = _rows([{number[unit]: count for unit, count in own.items()} for own in held], len(units))
        lengths = self._lengths(sums, grams, weights)
        sums.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(sums.indptr))
        found: Floats = sums @ products.reshape(len(units), len(self.inverse))
        return found

    def _lengths(self, sums: Any, grams: Pairs, weights: Floats) -> Floats:
        """Return the Euclidean length of each text (texts), a sum of units whose n-grams weigh so much."""
        ends = np.searchsorted(grams.of, np.arange(sums.shape[1] + 1))
        starts, ends = ends[sums.indices], ends[sums.indices + 1]
        flat, of = _flat(starts, ends)[1], np.repeat(np.arange(sums.shape[0]), np.diff(sums.indptr))
        keys = np.repeat(of * len(self.grams), ends - starts) + grams.what[flat]
        order = np.argsort(keys, kind="stable")
        firsts = _firsts(keys[order])
        values = (np.repeat(sums.data, ends - starts) * weights[flat])[order]
        squares = np.add.reduceat(values, firsts) ** 2 if len(firsts) else values
        of_square = keys[order][firsts] // max(len(self.grams), 1)
        return np.sqrt(np.bincount(of_square, squares, minlength=sums.shape[0])).astype(np.float32)

    @functools.cached_property
    def _weights(self) -> Callable[[str], tuple[Places, Floats]]:
        """From a unit to its known n-grams, in order, and what they weigh in it; many units come again and again."""
        return functools.lru_cache(REMEMBERED)(self._weigh)

    def _weigh(self, unit: str) -> tuple[Places, Floats]:
        frequencies = self.analysis.frequencies([unit])
        known = sorted((place, frequencies[gram]) for gram in frequencies if (place := self._gram(gram)) is not None)
        places = np.array([place for place, _ in known], np.intp)
        weights = np.array([frequency for _, frequency in known], np.float32)
        return places, weights * self.arrays["idf"][places]

    @functools.cached_property
    def _gram(self) -> Callable[[str], int | None]:
        """From an n-gram to its place; a look-up costs a tenth of a binary search in the array."""
        return {gram: place for place, gram in enumerate(self.grams.tolist())}.get

    @functools.cached_property
    def _largest(self) -> Floats:
        """The spread of the first name of each unit's list, the largest of all of them (u,)."""
        largest: Floats = self.spread[self.lists[self.ends[:-1]]]
        return largest

    @functools.cached_property
    def _rows(self) -> int:
        """How many rows the knowledge base has, up to the last concept with a name."""
        return int(self.concepts.max(initial=0)) + 1

    def _names(self, units: Floats, k: int, mask: Mask | None) -> tuple[Pairs, Floats, Bools]:
        """Return names among which the best `k` concepts' best names are, for each text.

        Also a score that these concepts reach, 0 if none is known (texts), and for which texts all names have to be
        scored (texts), because bounds would rule out little; such a text has no names.
        """
        cosines = units * self.inverse
        nearest = cosines.max(axis=1, initial=0)
        if mask is not None and len(self._of(mask)) * 4 < len(self):  # narrow
            return Pairs(*np.empty((2, 0), np.intp)), np.zeros(len(units), np.float32), nearest > 0
        floors = self._floors(units, cosines, nearest, k, mask) * np.float32(1 - SLACK)
        names, many = self._above(cosines, floors)
        return names if mask is None else self._within(names, mask), floors, (nearest > 0) & ((floors <= 0) | many)

    def _within(self, names: Pairs, mask: Mask) -> Pairs:
        kept = mask.array[self.concepts[names.what]]
        return Pairs(names.of[kept], names.what[kept])

    def _of(self, mask: Mask) -> Places:
        known, names = self._allowed  # the masks of a batch are one and the same
        if known is not mask:
            names = np.flatnonzero(mask.array[self.concepts])
            self._allowed = (mask, names)
        return names

    def _floors(self, units: Floats, cosines: Floats, nearest: Floats, k: int, mask: Mask | None) -> Floats:
        """Return a score that at least `k` concepts are known to reach, 0 if so many were not met (texts)."""
        floors = np.zeros(len(units), np.float32)
        wanted = np.full(len(units), min(max(SEEDS, 8 * k), len(self.lists)))
        for share in NEAR:
            open = np.flatnonzero((nearest > 0) & (floors == 0))
            if not len(open):
                break
            near = _pairs(cosines, open, share * nearest)
            order = np.lexsort((-cosines[near.of, near.what], near.of))
            of, units_near = near.of[order], near.what[order]
            # of long lists the end, where the names are of little else than this unit
            ends = self.ends[units_near + 1]
            starts = np.maximum(self.ends[units_near], ends - wanted[of])
            sizes = ends - starts
            total = np.bincount(of, sizes, len(units)).astype(np.intp)
            before = np.cumsum(sizes) - sizes - (np.cumsum(total) - total)[of]
            chosen = (before < wanted[of]) & ((total >= wanted)[of] | (share == NEAR[-1]))
            listed = self.lists[_flat(starts[chosen], ends[chosen])[1]]
            names = Pairs(np.repeat(of[chosen], sizes[chosen]), listed)
            names = names if mask is None else self._within(names, mask)
            floors = np.maximum(floors, self._kth(names, self._scores(units, names), k, len(units)))
            wanted[total >= wanted] *= 8
        return floors

    def _kth(self, names: Pairs, scores: Floats, k: int, texts: int) -> Floats:
        """Return the score of the `k`-th best concept for each text, cut at 1; 0 if there are fewer."""
        width = self._rows
        keys = names.of * width + self.concepts[names.what]
        order = np.argsort(keys)
        first = _firsts(keys[order])
        best = np.maximum.reduceat(scores[order], first) if len(first) else scores
        bounds = np.searchsorted(keys[order][first], np.arange(texts + 1) * width).tolist()
        lists = (best[start:end] for start, end in itertools.pairwise(bounds))
        kth = [np.partition(some, len(some) - k)[len(some) - k] if len(some) >= k else 0 for some in lists]
        return np.minimum(np.array(kth, np.float32), np.float32(1))

    def _above(self, cosines: Floats, floors: Floats) -> tuple[Pairs, Bools]:
        """Return all names that may score the floor of a text or more, and for which texts these would be most."""
        of, near = _pairs(cosines * self._largest, np.flatnonzero(floors > 0), floors)
        starts, ends, limits = self.ends[near], self.ends[near + 1], floors[of] / cosines[of, near]
        heads = len(self) - np.searchsorted(self._rising, limits)
        ends = _lower_bounds(self.lists, starts, ends, heads)
        many = np.bincount(of, ends - starts, len(floors)) * 4 > len(self)
        few = ~many[of]
        of, starts, ends = of[few], starts[few], ends[few]
        return Pairs(np.repeat(of, ends - starts), self.lists[_flat(starts, ends)[1]]), many


class Pairs(NamedTuple):
    """Names or units for texts: which text each is for, and which it is, both (pairs,); texts rise."""

    of: Places
    what: Places


def _beside(rows: Any, of: Places, texts: int) -> Any:
    """Return sparse rows (rows, u) with the columns of each text beside those of the others (rows, texts * u)."""
    if texts == 1:
        return rows
    width = rows.shape[1]
    rows.indices += np.repeat(np.multiply(of, width, dtype=rows.indices.dtype), np.diff(rows.indptr))
    return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], texts * width))


def _rows(counts: Sequence[Mapping[int, int]], width: int) -> Any:
    """Return counts by column as sparse rows in float32, columns in order (rows, width)."""
    columns = [sorted(own) for own in counts]
    values = [own[column] for own, some in zip(counts, columns, strict=True) for column in some]
    ends = np.cumsum([0, *map(len, columns)])
    flat = np.array([*itertools.chain.from_iterable(columns)], np.int32)
    return sparse.csr_array((np.array(values, np.float32), flat, ends), shape=(len(counts), width))


def _pairs(values: Floats, rows: Places, least: Floats) -> Pairs:
    """Return where the values (texts, u) of some rows are at least as large as these say, in order."""
    some = values if len(rows) == len(values) else values[rows]
    of, what = np.divmod(np.flatnonzero(some >= least[rows, None]), max(values.shape[1], 1))
    return Pairs(rows[of], what)


def _flat(starts: Ints | Places, ends: Ints | Places) -> tuple[Places, Places]:
    """Return where each of some slices starts when they are put together, and the places of all their items."""
    sizes = ends - starts
    after = np.cumsum(sizes, dtype=np.intp)
    first = after - sizes
    return first, np.arange(after[-1] if len(after) else 0) + np.repeat(starts - first, sizes)


def _firsts(ordered: Ints | Places) -> Places:
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
    floor = _kth(concepts, scores, k) if len(scores) > 8 * k else 0.0
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
