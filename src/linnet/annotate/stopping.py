"""Signals that people may have read enough.

They show numbers and say whether a limit is reached. They never stop anything: that is for people to decide.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.annotate.errors_left import ErrorsLeft
from linnet.annotate.unread import predicted
from linnet.data import Document
from linnet.errors import DataError
from linnet.frozen import EMPTY
from linnet.text.tokens import tokenize

__all__ = ["Signal", "errors_signal", "gain_signal", "kappa", "stability_signal"]

Floats = npt.NDArray[np.float64]

TARGET = 0.05  # errors left a mention
STABLE, ROUNDS = 0.99, 3
HOUR = 60.0  # minutes
FEWEST_POINTS = 4  # of a learning curve: three numbers are fitted
POWERS = np.linspace(0.05, 2.0, 40)
TINY = 1e-12


@dataclass(frozen=True)
class Signal:
    """A hint that reading on may not pay; nothing acts on it.

    Args:
        name: what it is.
        value: what was found; None = too little is known.
        limit: what it is compared with.
        reached: whether the value is on the good side of the limit.
        numbers: what the value was made from.
    """

    name: str
    value: float | None
    limit: float
    reached: bool
    numbers: Mapping[str, float] = EMPTY


def errors_signal(left: ErrorsLeft, mentions: int, *, target: float = TARGET) -> Signal:
    """Return the upper bound of the errors left a mention, reached if below `target`.

    Args:
        left: from `errors_left`.
        mentions: in all documents, read and unread, whose quality the target is about.
        target: errors a mention.

    >>> errors_signal(ErrorsLeft(30.0, 10.0, 45.0, 24), 1000).reached
    True
    """
    value = left.high / mentions if mentions > 0 and math.isfinite(left.high) else None
    numbers = {"errors": left.value, "mentions": float(mentions), "random": float(left.random)}
    return Signal("errors left", value, target, value is not None and value < target, numbers)


def kappa(before: Sequence[Document], after: Sequence[Document]) -> float:
    """Return Cohen's κ (1960) between the predictions of two models for the same documents, at most 1.

    Units are the words of all documents; the label of a word is the types and concepts of all predicted mentions that
    share characters with it. Where both models give all words one and the same label, κ is 1.

    Raises:
        DataError: the two sides are not of the same documents in the same order, or hold no word.

    >>> from linnet.data import Mention
    >>> old, new = (Document("d", "Gout and ague", mentions=(Mention(0, end, concepts=("X:1",)),)) for end in (4, 8))
    >>> kappa([old], [old]), round(kappa([old], [new]), 2)
    (1.0, 0.4)
    """
    if [(doc.id, doc.text) for doc in before] != [(doc.id, doc.text) for doc in after]:
        raise DataError("kappa: give the predictions of two models for the same documents in the same order")
    ours, theirs = ([label for doc in docs for label in _labels(doc)] for docs in (before, after))
    if not ours:
        raise DataError("kappa: the documents hold no word; take others to compare models on")
    observed = sum(one == other for one, other in zip(ours, theirs, strict=True)) / len(ours)
    counts = Counter(theirs)
    expected = sum(count * counts[label] for label, count in Counter(ours).items()) / len(ours) ** 2
    return 1.0 if expected >= 1.0 - TINY else (observed - expected) / (1.0 - expected)


def _labels(doc: Document) -> list[Hashable]:
    """Return what is predicted of each word."""
    tokens = tokenize(doc.text)
    found: list[set[Hashable]] = [set() for _ in tokens.surfaces]
    for mention in predicted(doc):
        for start, end in mention.spans:
            first, last = np.searchsorted(tokens.ends, start, side="right"), np.searchsorted(tokens.starts, end)
            for at in range(int(first), int(last)):
                found[at].add((mention.types, mention.concepts))
    return [frozenset(labels) for labels in found]


def stability_signal(kappas: Sequence[float], *, limit: float = STABLE, rounds: int = ROUNDS) -> Signal:
    """Return the lowest κ of the last rounds, reached if that is `limit` or more and there were rounds enough.

    Predictions that no longer change mean that labels no longer teach (Bloodgood & Vijay-Shanker 2009): the F1 of two
    models that agree with κ differs by 4 (1 − κ) / κ at most (Bloodgood & Grothendieck 2013), which is ``change``.

    Args:
        kappas: `kappa` of each model and the one before on a fixed set without labels, the last one last.
        limit: from which predictions count as the same.
        rounds: how many in a row.

    >>> stability_signal([0.9, 0.99, 0.995, 0.992]).value
    0.99
    """
    last = kappas[-rounds:]
    value = min(last, default=None)
    if value is None:
        return Signal("stable predictions", None, limit, reached=False)
    numbers = {"rounds": float(len(last))} | ({"change": 4 * (1 - value) / value} if value > 0 else {})
    return Signal("stable predictions", value, limit, len(last) >= rounds and value >= limit, numbers)


def gain_signal(curve: Sequence[tuple[float, float]], *, limit: float, minutes: float = HOUR) -> Signal:
    """Return what the score is expected to gain in the next hour of work, reached if that is below `limit`.

    The curve is F(t) = top − b · t^(−c) with b ≥ 0, an inverse power law (Figueroa et al. 2012): c is the best of 40
    from 0.05 to 2, top and b are fitted by least squares. Fewer than four points say nothing.

    Args:
        curve: minutes of work so far and the score after them, on the random documents.
        limit: the gain that an hour of work is worth, in the score's unit.
        minutes: of work to come.

    Raises:
        DataError: a time that is not above 0, or a number that is not finite.

    >>> found = gain_signal([(t, 0.9 - 3 / t) for t in (10, 20, 40, 60)], limit=0.01)
    >>> round(found.value, 3), found.reached, round(found.numbers["top"], 2)
    (0.025, False, 0.9)
    """
    points = np.array(curve, np.float64).reshape(-1, 2)
    if not np.isfinite(points).all() or not (points[:, 0] > 0).all():
        raise DataError("learning curve: times must be above 0 and all numbers finite")
    times, scores = points.T
    if len(np.unique(times)) < FEWEST_POINTS:
        return Signal("expected gain", None, limit, reached=False, numbers={"points": float(len(times))})
    fits = [_fit_power(times, scores, power) for power in POWERS.tolist()]
    _, top, drop, power = min(fits)
    now = float(times.max())
    gain = drop * (now**-power - (now + minutes) ** -power)
    numbers = {"points": float(len(times)), "minutes": minutes, "top": top, "b": drop, "c": power}
    return Signal("expected gain", gain, limit, gain < limit, numbers)


def _fit_power(times: Floats, scores: Floats, power: float) -> tuple[float, float, float, float]:
    """Return the squared error of top − b · t^(−power) at its best, top, b and the power."""
    falling = times**-power
    around = falling - falling.mean()
    drop = max(0.0, -float(around @ scores) / float(around @ around))
    top = float(scores.mean() + drop * falling.mean())
    return float(((top - drop * falling - scores) ** 2).sum()), top, drop, power
