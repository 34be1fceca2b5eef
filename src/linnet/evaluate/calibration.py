"""Calibration of probabilities: calibration error, Brier score, risk against coverage, and NIL.

Answers of equal probability cannot be told apart, so each counts as right by the share of them that are: no figure
here depends on the order of the mentions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Literal, NamedTuple, Self, get_args

import numpy as np
import numpy.typing as npt

from linnet.data import Document
from linnet.errors import DataError
from linnet.evaluate.answers import Answer, Rule
from linnet.evaluate.linked import Linked, Protocol
from linnet.evaluate.measures import Measure
from linnet.evaluate.report import Bin
from linnet.pipeline.component import is_reviewed

__all__ = ["Binning", "Calibration", "RiskCoverage", "nil"]

Binning = Literal["mass", "width"]
Floats = npt.NDArray[np.float64]


class RiskCoverage(NamedTuple):
    """What follows from giving only the answers of at least ``threshold``: three arrays, one value for each threshold.

    ``coverage`` is the share of the answers that are given and ``risk`` the share of those that are wrong;
    thresholds are the probabilities that occur, falling, so that coverage rises to 1.
    """

    threshold: Floats
    coverage: Floats
    risk: Floats


@dataclass(frozen=True, eq=False)
class Calibration:
    """Answers with a probability, and which of them are right.

    Args:
        probability: (answers,), each between 0 and 1.
        right: (answers,), bool, or between 0 and 1 where only the share of equal ones is known.

    Raises:
        DataError: arrays of different lengths, a probability that is none, or a share that is none.

    >>> found = Calibration([0.9, 0.9, 0.6, 0.2], [True, True, False, False])
    >>> round(found.brier, 4), round(found.ece(bins=2), 4)
    (0.105, 0.25)
    """

    probability: InitVar[npt.ArrayLike]
    right: InitVar[npt.ArrayLike]
    _answers: _Answers = field(init=False, repr=False)

    def __post_init__(self, probability: npt.ArrayLike, right: npt.ArrayLike) -> None:
        probability, right = np.asarray(probability, np.float64), np.asarray(right, np.float64)
        if probability.shape != right.shape or probability.ndim != 1:
            raise DataError(
                f"calibration: {probability.shape} probabilities of {right.shape} answers: give one of each"
            )
        if wrong := probability[~((probability >= 0) & (probability <= 1))][:1].tolist():
            raise DataError(f"calibration: {wrong[0]} is not between 0 and 1; leave answers without probability out")
        if wrong := right[~((right >= 0) & (right <= 1))][:1].tolist():
            raise DataError(f"calibration: {wrong[0]} right; expected true, false, or a share between 0 and 1")
        object.__setattr__(self, "_answers", _Answers.of(probability, right))

    @classmethod
    def of_linked(cls, linked: Linked, *, protocol: Protocol | None = None) -> Self:
        """Return the calibration at the spans of gold mentions: of P(concept right | span).

        Mentions count that are answered by a concept with a probability, and that the protocol counts; None = also
        those where gold says that no concept fits, and any is wrong. What NIL answers are worth says `nil`.
        """
        answered = np.fromiter((bool(m and m.concepts) for m in linked.predicted), np.bool_, len(linked))
        kept = answered & ~np.isnan(linked.probability)
        if protocol is not None:
            kept &= linked.mask(protocol)
        return cls(linked.probability[kept], linked.right[kept])

    @classmethod
    def of_pairs(
        cls, pairs: Sequence[tuple[Document, Document]], *, live: Callable[[str], str] = str, rule: Rule = "all-of"
    ) -> Self:
        """Return the calibration of all that was predicted: of P(span and concept right).

        Every predicted mention counts that is answered by a concept with a probability. It is right if a gold mention
        of the same span accepts the answer. Mentions outside the spans that a person went through do not count, nor
        those at spans whose concept nobody annotated.

        Args:
            pairs: gold and predicted versions of each document.
            live: leads retired ids to their successors.
            rule: what makes an answer of several ids right, see `linnet.evaluate.linked.Linked.of`.
        """
        probability: list[float] = []
        right: list[bool] = []
        for gold, predicted in pairs:
            accepted: dict[object, set[frozenset[str]]] = {}
            for mention in gold.mentions or ():
                answers = () if mention.concepts is None else (mention.concepts, *mention.alternatives)
                accepted.setdefault(mention.span, set()).update(frozenset(map(live, answer)) for answer in answers)
            for mention in predicted.mentions or ():
                theirs = accepted.get(mention.span)
                known = is_reviewed(gold, mention) if theirs is None else bool(theirs)
                if mention.concepts and mention.probability is not None and known:
                    said = frozenset(map(live, mention.concepts))
                    probability.append(mention.probability)
                    right.append(_fits(said, theirs or (), rule))
        return cls(probability, right)

    @classmethod
    def of_all(cls, parts: Sequence[Calibration]) -> Self:
        """Return the calibration of the answers of several.

        >>> len(Calibration.of_all([Calibration([0.9], [True]), Calibration([0.2], [False])]))
        2
        """
        return cls(*(np.concatenate([part._answers[at] for part in parts]) if parts else () for at in (0, 1)))

    def __len__(self) -> int:
        return len(self._answers.probability)

    def bins(self, *, bins: int = 15, by: Binning = "mass") -> list[Bin]:
        """Return the reliability diagram: bins of rising probability, empty ones left out.

        Args:
            bins: how many at most.
            by: ``mass`` gives every bin as many answers (Nguyen & O'Connor 2015), give or take one; ``width`` cuts
                0 … 1 into equal ranges, open below and closed above (Guo et al. 2017).

        Raises:
            DataError: fewer than one bin, or another way of cutting.
        """
        if bins < 1:
            raise DataError(f"bins: {bins} must be at least 1; 15 are usual")
        if by not in get_args(Binning):
            raise DataError(f"by: {by!r} is none of {', '.join(get_args(Binning))}")
        probability, right = self._answers
        if by == "mass":
            edges = np.arange(bins + 1) * len(probability) // bins
        else:
            edges = np.concatenate([[0], np.searchsorted(probability, np.arange(1, bins + 1) / bins, side="right")])
        kept = [(start, end) for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True) if start < end]
        return [
            Bin(confidence=float(probability[a:b].mean()), accuracy=float(right[a:b].mean()), count=b - a)
            for a, b in kept
        ]

    def ece(self, *, bins: int = 15, by: Binning = "mass") -> float:
        """Return the expected calibration error: the mean distance of confidence from accuracy, weighted by size.

        The arguments are those of `bins`; without answers it is 0.
        """
        found = self.bins(bins=bins, by=by)
        return sum(abs(one.confidence - one.accuracy) * one.count for one in found) / max(1, len(self))

    @functools.cached_property
    def brier(self) -> float:
        """The Brier score: mean square of probability minus right (1 or 0); without answers it is 0."""
        probability, right = self._answers
        # (p - 1)² for the share of each that is right, p² for the rest
        squares = right * (1 - probability) ** 2 + (1 - right) * probability**2
        return float(squares.mean()) if len(squares) else 0.0

    def risk_coverage(self) -> RiskCoverage:
        """Return the risk-coverage curve, one point for each probability that occurs.

        >>> Calibration([0.9, 0.9, 0.4], [True, False, False]).risk_coverage().coverage.round(2).tolist()
        [0.67, 1.0]
        """
        probability, risk = self._answers.probability[::-1], self._risks()
        last = np.flatnonzero(np.diff(probability, append=-1.0))
        return RiskCoverage(probability[last], (last + 1) / max(1, len(self)), risk[last])

    @functools.cached_property
    def aurc(self) -> float:
        """The area under the risk-coverage curve: mean risk of the surest 1, 2, … answers (Geifman et al. 2019).

        0 is best and the error rate what a probability without meaning gets; without answers it is 0.
        """
        return float(self._risks().mean()) if len(self) else 0.0

    def _risks(self) -> Floats:
        """Return the share of wrong ones among the surest 1, 2, … answers."""
        wrong = 1.0 - self._answers.right[::-1]
        risks: Floats = np.cumsum(wrong) / np.arange(1, len(wrong) + 1)
        return risks


class _Answers(NamedTuple):
    """Probabilities, rising, and for each answer the share of those of its probability that are right."""

    probability: Floats
    right: Floats

    @classmethod
    def of(cls, probability: Floats, right: Floats) -> Self:
        values, place, counts = np.unique(probability, return_inverse=True, return_counts=True)
        shares = np.bincount(place, right, minlength=len(values)) / counts
        return cls(np.repeat(values, counts), np.repeat(shares, counts))


def _fits(said: Answer, accepted: Iterable[Answer], rule: Rule) -> bool:
    return said in accepted or (rule == "any-of" and any(said & answer for answer in accepted))


def nil(linked: Linked) -> list[Measure]:
    """Return ``given-span.nil.precision``, ``.recall`` and ``.f1``: is it known when no concept fits?

    Precision is the share of the mentions answered by NIL (``()``) for which gold says NIL, recall the share of gold's
    NIL mentions that were answered so. Mentions that were not found are not answered; spans that are no gold mention
    do not count: they do in ``nil.*`` of `linnet.evaluate.end_to_end`. 0/0 is 1 where neither side names a NIL at all.
    """
    answered = np.fromiter((bool(m and m.concepts == ()) for m in linked.predicted), np.bool_, len(linked))
    right, said, there = (
        np.bincount(linked.doc[kept], minlength=len(linked.documents)).astype(np.float64)
        for kept in (linked.nil & answered, answered, linked.nil)
    )
    columns = {"precision": [right, said], "recall": [right, there], "f1": [right, said, right, there]}
    empty = 0.0 if said.any() or there.any() else 1.0
    return [Measure(f"given-span.nil.{name}", np.column_stack(counts), empty) for name, counts in columns.items()]
