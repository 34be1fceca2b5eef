"""Building the n-gram index of names: units and n-grams are counted in Python once each, all sums are SciPy's.

Building takes about 150 bytes of memory a name. Document frequencies are exact (the number of names that hold an
n-gram), which takes one sparse product over all names, and their lengths take another; both go block by block.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from linnet.reporter import warn
from linnet.retrieve.ngram_index import Floats, Ints, NgramIndex
from linnet.retrieve.ngram_text import Analysis

__all__ = ["Vocabulary", "build"]

logger = logging.getLogger(__name__)

BLOCK = 50_000  # names whose n-grams are in memory at once


class Vocabulary(NamedTuple):
    """N-grams in order (grams,) and what each weighs, float32 (grams,)."""

    grams: npt.NDArray[np.str_]
    idf: Floats


def build(
    names: Iterable[tuple[int, int, str]], analysis: Analysis, *, vocabulary: Vocabulary | None = None
) -> NgramIndex:
    """Return the index of `names`, each a row of its own, its concept's row and a text.

    Args:
        names: in the order in which equally good ones win.
        analysis: what n-grams are taken.
        vocabulary: use these n-grams and weights instead of those of the names; others weigh nothing.

    >>> index = build([(0, 0, "renal failure"), (1, 1, "renal cyst")], Analysis())
    >>> rows, scores, names = index.search("Cyst, renal", 2)
    >>> rows.tolist(), scores[:1].round(3).tolist()
    ([1, 0], [1.0])
    """
    rows, concepts, counts, texts = _collect(names, analysis)
    grams, frequencies = _count(texts, analysis)
    vocabulary = vocabulary or _vocabulary(counts, grams, frequencies, analysis)
    weights = _weighted(grams, frequencies, vocabulary)
    lengths = _lengths(counts, weights)
    sizes = np.sqrt(_squares(weights))
    if empty := int((lengths == 0).sum()):
        logger.warning("%d of %d names hold no n-gram that is kept, and cannot be found by n-grams", empty, len(rows))
    with np.errstate(divide="ignore"):
        inverse = np.where(sizes > 0, 1 / sizes, 0).astype(np.float32)
        scale = np.where(lengths > 0, 1 / lengths, 0)
    spread = (scale * (counts @ sizes)).astype(np.float32)
    order = np.argsort(-spread, kind="stable")
    by_name = counts[order]
    by_name.data *= np.repeat(scale[order], np.diff(by_name.indptr)).astype(np.float32)
    lists = sparse.csc_array(by_name)  # names of a unit, in the order of names
    by_gram = sparse.csr_array(weights.T)
    arrays = {
        "grams": vocabulary.grams, "idf": vocabulary.idf, "inverse": inverse, "spread": spread[order],
        "gram_ends": by_gram.indptr, "gram_units": by_gram.indices, "gram_weights": by_gram.data,
        "list_ends": lists.indptr, "lists": lists.indices,
        "name_ends": by_name.indptr, "name_units": by_name.indices, "name_weights": by_name.data,
        "concepts": concepts[order], "name_rows": rows[order],
    }  # fmt: skip
    return NgramIndex(arrays, analysis)


def _collect(names: Iterable[tuple[int, int, str]], analysis: Analysis) -> tuple[Ints, Ints, Any, list[str]]:
    """Return name rows (n,), concept rows (n,), how often each holds each unit (n, units), and the units' texts."""
    places: dict[str, int] = {}
    rows, concepts, units, ends = array("i"), array("i"), array("i"), array("i", [0])
    skipped: list[str] = []
    place = places.setdefault
    for row, concept, text in names:
        found = analysis.units(text)
        if not found:
            skipped.append(text)
            continue
        rows.append(row)
        concepts.append(concept)
        units.extend([place(unit, len(places)) for unit in found])
        ends.append(len(units))
    _warn(skipped)
    ones = np.ones(len(units), np.float32)
    columns, starts = np.frombuffer(units or b"", np.int32), np.frombuffer(ends, np.int32)
    # copies: SciPy sums in place, and the sum takes units in order, so that equal bags of units give equal scores
    counts = sparse.csr_array((ones, columns.copy(), starts.copy()), shape=(len(rows), len(places)))
    counts.sum_duplicates()
    return np.array(rows, np.int32), np.array(concepts, np.int32), counts, list(places)


def _warn(skipped: list[str]) -> None:
    if skipped:
        warn(
            f"{len(skipped)} names hold no letter and no digit, and cannot be found by n-grams: "
            + ", ".join(map(repr, skipped[:3]))
        )


def _count(units: list[str], analysis: Analysis) -> tuple[list[str], Any]:
    """Return the n-grams of all units, and how often each unit holds each (units, grams)."""
    places: dict[str, int] = {}
    columns, ends = array("i"), array("i", [0])
    place = places.setdefault
    for unit in units:
        columns.extend([place(gram, len(places)) for gram in analysis.grams(unit)])
        ends.append(len(columns))
    ones = np.ones(len(columns), np.float32)
    indices, starts = np.frombuffer(columns or b"", np.int32), np.frombuffer(ends, np.int32)
    frequencies = sparse.csr_array((ones, indices.copy(), starts.copy()), shape=(len(units), len(places)))
    frequencies.sum_duplicates()
    if analysis.sublinear_tf:
        frequencies.data = 1 + np.log(frequencies.data)
    return list(places), frequencies


def _vocabulary(counts: Any, grams: list[str], frequencies: Any, analysis: Analysis) -> Vocabulary:
    """Return the n-grams that count, with smoothed inverse document frequencies over names."""
    within = np.zeros(len(grams), np.int64)
    for block in _blocks(counts):
        within += np.bincount((block @ frequencies).indices, minlength=len(grams))
    kept = np.flatnonzero(within >= analysis.min_df)
    if analysis.max_features is not None:
        # the most frequent ones; of equally frequent ones those first in the alphabet
        order = np.lexsort((np.array(grams)[kept], -within[kept])) if len(kept) else kept
        kept = kept[order[: analysis.max_features]]
    # as if one more name held every n-gram
    idf = np.log((1 + counts.shape[0]) / (1 + within[kept])) + 1
    texts = np.array([grams[gram] for gram in kept], f"<U{max(map(len, grams), default=1)}")
    order = np.argsort(texts, kind="stable")
    return Vocabulary(texts[order], idf[order].astype(np.float32))


def _weighted(grams: list[str], frequencies: Any, vocabulary: Vocabulary) -> Any:
    """Return TF-IDF weights (units, grams of the vocabulary)."""
    places = {gram: place for place, gram in enumerate(vocabulary.grams.tolist())}
    there = [(column, places[gram]) for column, gram in enumerate(grams) if gram in places]
    old, new = (np.array([pair[side] for pair in there], np.int32) for side in (0, 1))
    moved: Any = sparse.csr_matrix((vocabulary.idf[new], (old, new)), shape=(len(grams), len(places)), dtype=np.float32)
    weights = sparse.csr_array(frequencies @ moved)
    weights.sort_indices()
    return weights


def _lengths(counts: Any, weights: Any) -> npt.NDArray[np.float64]:
    """Return the Euclidean length of the vector of every name (n,)."""
    parts = [np.sqrt(_squares(sparse.csr_array(block @ weights))) for block in _blocks(counts)]
    return np.concatenate([np.empty(0), *parts])


def _squares(matrix: Any) -> npt.NDArray[np.float64]:
    of = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    squares = np.bincount(of, matrix.data.astype(np.float64) ** 2, minlength=matrix.shape[0])
    return squares.astype(np.float64)  # of no names at all, the sums are integers


def _blocks(counts: Any) -> Iterable[Any]:
    for start in range(0, counts.shape[0], BLOCK):
        yield counts[start : start + BLOCK]
