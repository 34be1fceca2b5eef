"""How well a joint component finds and links on dev: the best cutoff, and probabilities of mentions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from linnet.joint.reading import NEUTRAL

__all__ = ["Found", "Judged", "Judgement", "best_cutoff", "calibrate", "judge"]

logger = logging.getLogger(__name__)

FEW = 50  # mentions that nothing can be calibrated on


class Found(NamedTuple):
    """A mention that was found: its first and last word, and the log odds that it is one."""

    first: int
    last: int
    odds: float


class Judged(Protocol):
    """A document with the mentions that should be found in it."""

    @property
    def answers(self) -> dict[tuple[int, int], frozenset[int]]:
        """The right concepts of each mention, by its first and last word; none of one without a concept."""
        ...

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which words somebody has looked at, bool (words,)."""
        ...


class Judgement(NamedTuple):
    """Found mentions where somebody has looked: their log odds, whether each is right, and how many there should be."""

    odds: npt.NDArray[np.float64]
    right: npt.NDArray[np.bool_]
    wanted: int


def judge(docs: Sequence[Judged], answers: Sequence[Sequence[tuple[Found, int | None]]]) -> Judgement:
    """Return whether what was found is right: the span, and its first concept, whose row comes with it.

    Args:
        docs: what should be found.
        answers: what was, each with the row of its first concept, -1 for none; None = the span alone counts.
    """
    odds, right, wanted = [], [], 0
    for doc, found in zip(docs, answers, strict=True):
        wanted += len(doc.answers)
        for one, row in found:
            if doc.known[one.first : one.last + 1].all():
                rows = doc.answers.get((one.first, one.last))
                odds.append(one.odds)
                right.append(rows is not None and (row is None or row in rows or not rows))
    return Judgement(np.array(odds), np.array(right, np.bool_), wanted)


def best_cutoff(judgement: Judgement) -> tuple[float, float]:
    """Return the best F1, and the log odds from which on mentions are to be kept for it.

    >>> best_cutoff(Judgement(np.array([2.0, 1.0, -1.0]), np.array([True, True, False]), 2))
    (1.0, 0.0)
    """
    odds, right, wanted = judgement
    if not len(odds):
        return 0.0, 0.0
    order = np.argsort(-odds, kind="stable")
    f1 = 2 * np.cumsum(right[order]) / (np.arange(1, len(odds) + 1) + wanted)
    best = int(np.argmax(f1))
    kept = odds[order]
    behind = kept[best + 1] if best + 1 < len(kept) else kept[best] - 1
    return float(f1[best]), float((kept[best] + behind) / 2)


def calibrate(judgement: Judgement, what: str) -> tuple[float, float]:
    """Return slope and shift such that log odds tell how often mentions are right (Platt 1999).

    Args:
        judgement: of spans.
        what: the component, for the message where there are too few.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - slow to import, needed for training alone

    odds, right, _ = judgement
    if len(right) < FEW or len(set(right.tolist())) < 2:
        logger.warning("%s: nothing to calibrate on in %d mentions, few or all alike", what, len(right))
        return NEUTRAL
    model = LogisticRegression(C=1e3).fit(odds[:, None], right)
    return float(model.coef_[0, 0]), float(model.intercept_[0])
