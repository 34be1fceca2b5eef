"""Coefficients of agreement over documents: ratios, Cohen's and Fleiss' κ, Krippendorff's α and α_U.

Each coefficient holds counts of every document, and `of` computes it for documents drawn any number of times: once each
for the figure itself, at random for its interval (`linnet.evaluate.uncertainty.spread`). What bears on nothing is NaN:
no mentions, or no variation that agreement could be told from chance by.

>>> Cohen(np.array([[[20, 5], [10, 15]]])).of(np.ones((1, 1))).tolist()
[0.4]
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from linnet.data import Span

__all__ = ["Alpha", "Coefficient", "Cohen", "Fleiss", "Ratio", "Unitising", "Units"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SAME = 1e-12  # a share of disagreement below this is a rounding error of 0


class Coefficient(Protocol):
    """What can be computed for documents drawn with weights."""

    def of(self, weights: Floats, /) -> Floats:
        """Return the figure for each draw, float64 (draws,), from how often each document is drawn, (draws, documents).

        NaN where a draw holds nothing that it could be computed from.
        """
        ...


def _divide(above: Floats, below: Floats) -> Floats:
    found: Floats = np.divide(above, below, out=np.full(np.shape(below), np.nan), where=below > 0)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """A ratio of two sums over documents: F1, a share, a prevalence.

    Args:
        above: float64 (documents,), the numerator.
        below: float64 (documents,), the denominator, not negative.

    >>> Ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0])).of(np.array([[1.0, 1.0], [0.0, 2.0]])).tolist()
    [0.5, nan]
    """

    above: Floats
    below: Floats

    def of(self, weights: Floats, /) -> Floats:
        """Return the ratio of each draw."""
        return _divide(weights @ self.above, weights @ self.below)


@dataclass(frozen=True, slots=True, eq=False)
class Cohen:
    """Cohen's κ = (p_o - p_e)/(1 - p_e) of two annotators (Cohen 1960).

    Args:
        tables: int (documents, categories, categories): how many subjects the one annotator (rows) and the other
            (columns) put into which category.
    """

    tables: Ints

    def of(self, weights: Floats, /) -> Floats:
        """Return κ of each draw; NaN if both put everything into the same category."""
        drawn = np.tensordot(weights, self.tables, axes=1)
        subjects = drawn.sum(axis=(1, 2))
        chance = (drawn.sum(axis=1) * drawn.sum(axis=2)).sum(axis=1)  # p_e · subjects²
        same = np.trace(drawn, axis1=1, axis2=2) * subjects
        return _divide(same - chance, subjects**2 - chance)


@dataclass(frozen=True, slots=True, eq=False)
class Fleiss:
    """Fleiss' κ of any number of annotators (Fleiss 1971), also where not all have judged every subject.

    Args:
        counts: float64 (documents, 2 + categories): the sum of the shares of pairs of annotators who agree on a
            subject, the number of subjects, and the judgements in each category.
    """

    counts: Floats

    @classmethod
    def of_subjects(cls, documents: Sequence[Ints]) -> Fleiss:
        """Return κ from int (subjects, categories) of each document: how many annotators chose what, two or more.

        >>> Fleiss.of_subjects([np.array([[3, 0], [0, 3], [1, 2]])]).of(np.ones((1, 1))).round(4).tolist()
        [0.55]
        """
        rows = []
        for table in documents:
            judges = table.sum(axis=1)
            agreeing = ((table * (table - 1)).sum(axis=1) / (judges * (judges - 1))).sum()
            rows.append([agreeing, len(table), *table.sum(axis=0)])
        return cls(np.array(rows, np.float64))

    def of(self, weights: Floats, /) -> Floats:
        """Return κ of each draw; NaN if everything is in one category."""
        drawn = weights @ self.counts
        observed = _divide(drawn[:, 0], drawn[:, 1])
        shares = drawn[:, 2:] / np.maximum(drawn[:, 2:].sum(axis=1, keepdims=True), 1.0)
        chance = (shares**2).sum(axis=1)
        return _divide(observed - chance, 1 - chance)


class Units:
    """The values that annotators gave to units, before a distance between values is chosen.

    Args:
        documents: for each document its units, for each of them the values of those annotators who gave one, as
            numbers from 0. Units with fewer than two values say nothing and are left out.
        values: how many values there are.
    """

    def __init__(self, documents: Sequence[Sequence[Sequence[int]]], *, values: int) -> None:
        from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import

        units = [(at, unit) for at, doc in enumerate(documents) for unit in doc if len(unit) > 1]
        where = np.array([(at, value) for at, unit in units for value in unit], np.int64).reshape(-1, 2)
        self._counts = coo_array((np.ones(len(where)), where.T), shape=(len(documents), values)).tocsr()
        self._values = np.bincount(where[:, 0], minlength=len(documents)).astype(np.float64)
        pairs = [(at, *pair, len(unit) - 1) for at, unit in units for pair in itertools.permutations(unit, 2)]
        self._document, self._one, self._other, self._less = np.array(pairs, np.int64).reshape(-1, 4).T

    def alpha(self, similarity: Floats) -> Alpha:
        """Return Krippendorff's α with the distance 1 - `similarity`, float64 (values, values), symmetric, 1 to itself.

        >>> units = Units([[[0, 0], [1, 1], [0, 1, 0]]], values=2)
        >>> units.alpha(np.eye(2)).of(np.ones((1, 1))).round(4).tolist()
        [0.5]
        """
        apart = (1 - similarity[self._one, self._other]) / self._less
        observed = np.bincount(self._document, weights=apart, minlength=len(self._values)).astype(np.float64)
        near = np.asarray(self._counts @ similarity, np.float64)
        return Alpha(observed, self._values, np.asarray(self._counts @ near.T, np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class Alpha:
    """Krippendorff's α = 1 - D_o/D_e for any distance and missing values (Krippendorff 2011, 2018).

    With n values in units of two or more, n_c of them c, and m_u in unit u:
    D_o = (1/n) Σ_u Σ_{i≠j} δ(v_ui, v_uj)/(m_u - 1) and D_e = (1/(n(n-1))) Σ_{c≠k} n_c n_k δ(c, k).

    Args:
        apart: float64 (documents,), the inner sums of D_o.
        values: float64 (documents,), how many values.
        alike: float64 (documents, documents), the sum of 1 - δ over all pairs of a value of the one document and a
            value of the other: D_e of drawn documents needs no more, however many values there are.
    """

    apart: Floats
    values: Floats
    alike: Floats

    def of(self, weights: Floats, /) -> Floats:
        """Return α of each draw; NaN if all values are alike."""
        values = weights @ self.values
        expected = values**2 - ((weights @ self.alike) * weights).sum(axis=1)
        expected[expected <= SAME * values**2] = 0.0
        return 1 - _divide((values - 1) * (weights @ self.apart), expected)


class Unitising:
    """Krippendorff's α_U of the sections that annotators mark in texts (Krippendorff 1995; 2004, ch. 11.6).

    Two sections that share characters are apart by the squares of the differences of their starts and of their ends; a
    section where the other annotator has none, by the square of its length. Documents are continua of their own: no
    section and no gap reaches from one into the next. Where different numbers of annotators have read the documents,
    these are weighted like units with missing values: one of m annotators by 1/(m-1).

    Args:
        documents: for each document its length in characters, and the sections of each annotator, which do
            not overlap and are in the order of the text.

    >>> one, other = [Span(225, 295), Span(370, 400)], [Span(220, 300), Span(355, 375), Span(400, 420)]
    >>> moved = [[Span(start - 150, end - 150) for start, end in sections] for sections in (one, other)]
    >>> Unitising([(300, moved)]).of(np.ones((1, 1))).round(3).tolist()  # the example of Krippendorff 2004, p. 254
    [0.729]
    """

    def __init__(self, documents: Sequence[tuple[int, Sequence[Sequence[Span]]]]) -> None:
        own = [np.array([b - a for each in coders for a, b in each], np.int64) for _, coders in documents]
        sizes = np.unique(np.concatenate([*own, np.zeros(0, np.int64)]))
        self._apart = np.array([_apart(coders) for _, coders in documents])
        self._characters = np.array([length * len(coders) for length, coders in documents], np.float64)
        self._sections = np.array([len(lengths) for lengths in own], np.float64)
        self._shifts = np.array([(n * (n - 1) * (2 * n - 1) / 3).sum() for n in own])
        self._within = np.array([(n * (n - 1)).sum() for n in own], np.float64)
        self._squares = np.array([((n[:, None] == sizes) * sizes**2).sum(axis=0) for n in own], np.float64)
        # how many places the gaps of a document have for a section of each size
        gaps = [np.array([gap for each in coders for gap in _gaps(each, length)]) for length, coders in documents]
        self._places = np.array([np.maximum(0, gap[:, None] - sizes + 1).sum(axis=0) for gap in gaps], np.float64)

    def of(self, weights: Floats, /) -> Floats:
        """Return α_U of each draw; NaN without any section."""
        characters = weights @ self._characters
        onto_sections = (weights @ self._sections - 1) * (weights @ self._shifts)
        onto_gaps = ((weights @ self._squares) * (weights @ self._places)).sum(axis=1)
        pairs = characters * (characters - 1) - weights @ self._within
        expected = _divide(2 * (onto_sections + onto_gaps), pairs)
        return 1 - _divide(_divide(weights @ self._apart, characters), expected)


def _apart(coders: Sequence[Sequence[Span]]) -> float:
    """Return the observed disagreement of one document, both ways for each pair of annotators, over m - 1."""
    total = 0
    for ours, theirs in itertools.combinations(coders, 2):
        meeting = [(one, two) for one in ours for two in theirs if one.start < two.end and two.start < one.end]
        met = {(side, pair[side]) for pair in meeting for side in (0, 1)}
        total += sum((one.start - two.start) ** 2 + (one.end - two.end) ** 2 for one, two in meeting)
        sections = [*((0, span) for span in ours), *((1, span) for span in theirs)]
        total += sum((span.end - span.start) ** 2 for side, span in sections if (side, span) not in met)
    return 2 * total / (len(coders) - 1)


def _gaps(sections: Sequence[Span], length: int) -> list[int]:
    """Return the sizes of what lies before, between and after sections."""
    starts, ends = [start for start, _ in sections], [end for _, end in sections]
    return [start - end for end, start in zip([0, *ends], [*starts, length], strict=True)]
