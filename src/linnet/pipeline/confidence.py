"""How often an answer like this one is right, learned from answers that were judged.

A logistic regression over the score and its log odds, whether it is a full match, the margin to the second candidate,
the lead over the next five, the number of ties, the detector's signal and its log odds, the length of the mention, how
often answers of its semantic types are right, and the signals that components before it declare (`Stage.SIGNALS`); and,
where there are mentions enough, a rising curve from that to frequencies (isotonic regression, Zadrozny & Elkan 2002).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linnet.data import Mention
from linnet.errors import DataError
from linnet.frozen import EMPTY
from linnet.reporter import warn

__all__ = ["FEATURES", "FEW", "TIE", "Confidence", "best_threshold", "features", "why_none"]

ODDS = ("score_odds", "detect_odds")
FEATURES = ("score", "full", "margin", "lead", "ties", "detect", "length", "types", "bias", *ODDS)
PLAIN = len(FEATURES)
TIE = 1e-6  # scores closer than this are the same score
NEXT = 5  # candidates after the first that it is compared with
FEW = 50  # mentions; fewer teach no frequencies
ENOUGH = 1000  # mentions; with fewer, isotonic regression does worse than none (Niculescu-Mizil & Caruana 2005)
FOLDS = 5  # parts of the documents; the curve is fitted to logits of models that did not see the part
EDGE = 1e-4  # added to a share and to what is left of it, so that its log odds are finite
PRIOR = 10.0  # mentions of all types that are added to those of each when its share of right answers is taken

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def features(mention: Mention, signals: Iterable[str] = ()) -> Floats:
    """Return the columns `FEATURES` of a mention with candidates, and those of further `signals`.

    ``types`` is left 0, and a signal that the mention lacks NaN, for `Confidence` to fill.

    >>> from linnet.data import Candidates
    >>> features(Mention(0, 1, candidates=Candidates([7, 8], [1.0, 0.75]))).round(1).tolist()
    [1.0, 1.0, 0.2, 0.2, 0.0, 1.0, 0.0, 0.0, 1.0, 9.2, 9.2]
    """
    candidates = mention.candidates
    assert candidates is not None  # noqa: S101 - callers looked
    scores = candidates.scores.astype(np.float64)
    full = float(scores[0] >= 1.0 - TIE)
    others = scores[1 : 1 + NEXT] if len(scores) > 1 else np.zeros(1)
    margin, lead = scores[0] - others[0], scores[0] - others.mean()
    ties = np.log((scores >= scores[0] - TIE).sum())
    detect = mention.signals.get("detect", 1.0)
    length = np.log(mention.end - mention.start)
    further = [mention.signals.get(name, np.nan) for name in signals]
    odds = _odds_of(scores[0]), _odds_of(detect)
    return np.array([scores[0], full, margin, lead, ties, detect, length, 0.0, 1.0, *odds, *further])


def _odds_of(share: float) -> float:
    """Return the log odds of a number that is a share, or cut to one: networks end at 0.99 and at 0.99999."""
    share = min(max(share, 0.0), 1.0)
    return math.log((share + EDGE) / (1.0 - share + EDGE))


@dataclass(frozen=True, eq=False)
class Confidence:
    """From features to the frequency of right answers.

    Args:
        weights: float64 (features,), of the logistic regression, in the order of `FEATURES` and then of the signals.
        types: by how much the log odds of answers of some semantic types differ from those of all answers.
        curve: float64 (2, points), rising logits and the frequencies that belong to them; None = the logistic function.
        signals: name → the value that a mention without that signal gets: the mean of those that it was fitted on.
    """

    weights: Floats
    types: Mapping[str, float] = EMPTY
    curve: Floats | None = None
    signals: Mapping[str, float] = EMPTY

    def __call__(self, columns: Floats, kinds: Sequence[str]) -> Floats:
        """Return the probability, (mentions,), that each answer is right.

        Args:
            columns: float64 (mentions, features), from `features` with the names of its signals.
            kinds: the semantic types of each answer, as one text; types that were never seen are as good as any.
        """
        logits = self.logits(columns, kinds)
        if self.curve is None:
            return np.asarray(np.exp(-np.logaddexp(0.0, -logits)))  # never overflows
        return np.interp(logits, *self.curve)

    @property
    def parameters(self) -> int:
        """How many numbers were learned."""
        return self.weights.size + len(self.types) + (0 if self.curve is None else self.curve.size)

    def logits(self, columns: Floats, kinds: Sequence[str]) -> Floats:
        """Return the log odds, (mentions,), that the logistic regression gives; arguments as of a call."""
        return np.asarray(_fill(columns, kinds, self.types, [*self.signals.values()]) @ self.weights)

    @classmethod
    def fit(
        cls,
        columns: Floats,
        kinds: Sequence[str],
        right: Bools,
        *,
        documents: Sequence[str],
        signals: Sequence[str] = (),
    ) -> Self:
        """Learn from judged answers, `FEW` or more; where all are right, one probability holds for all.

        Args:
            columns: float64 (mentions, features), from `features`.
            kinds: (mentions,), the semantic types of each answer, as one text.
            right: bool (mentions,).
            documents: (mentions,), the id of the document of each; what is learned from one is not tried on it.
            signals: what the columns behind those of `FEATURES` are called.
        """
        neutral = [float(some.mean()) if len(some) else 0.0 for some in (c[np.isfinite(c)] for c in columns.T[PLAIN:])]
        named = dict(zip(signals, neutral, strict=True))
        if right.all():
            warn(f"decide was calibrated on {len(right)} answers, all right: they all get one probability")
            return cls(_always(len(right), columns.shape[1]), signals=named)
        columns = _fill(columns, kinds, EMPTY, neutral)
        weights, types = _fit(columns, kinds, right)
        curve = _curve(columns, np.array(kinds), right, documents)
        return cls(weights, types, curve, named)

    def to_json(self) -> dict[str, Any]:
        """Return what was learned as values for JSON."""
        return {
            "weights": dict(zip(FEATURES, self.weights[:PLAIN].tolist(), strict=True)),
            "signals": {
                name: {"weight": weight, "neutral": self.signals[name]}
                for name, weight in zip(self.signals, self.weights[PLAIN:].tolist(), strict=True)
            },
            "types": dict(self.types),
            "curve": None if self.curve is None else self.curve.tolist(),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return what `to_json` gave.

        Raises:
            AttributeError, KeyError, TypeError, ValueError: values that it cannot have given.
        """
        further = values.get("signals", {})  # calibrations of earlier versions have none
        named = {**dict.fromkeys(ODDS, 0.0), **values["weights"]}  # calibrations of earlier versions lack these
        weights = [named[name] for name in FEATURES] + [float(item["weight"]) for item in further.values()]
        neutral = _numbers([float(item["neutral"]) for item in further.values()]).tolist()
        types = dict(zip(values["types"], _numbers(list(values["types"].values())).tolist(), strict=True))
        curve = None if values["curve"] is None else _rising(_numbers(values["curve"]))
        return cls(_numbers(weights), types, curve, dict(zip(further, neutral, strict=True)))


def best_threshold(probabilities: Floats, right: Bools, wanted: int) -> float:
    """Return the least probability of the answers to keep for the best F1: halfway to the best that is not kept, or 0.

    Args:
        probabilities: (answers,), of every answer.
        right: (answers,), whether each is right.
        wanted: how many mentions with concepts people marked, found or not.

    >>> best_threshold(np.array([0.9, 0.8, 0.2]), np.array([True, True, False]), 3)
    0.5
    """
    order = np.argsort(-probabilities, kind="stable")
    ordered = probabilities[order]
    ends = np.flatnonzero(np.append(ordered[1:] < ordered[:-1], True)) if len(ordered) else np.array([], np.int64)
    if not len(ends) or not right.any():
        return 0.0
    last = ends[np.argmax(2.0 * np.cumsum(right[order])[ends] / (ends + 1 + wanted))]
    return 0.0 if last == len(ordered) - 1 else float(ordered[last] + ordered[last + 1]) / 2


def why_none(right: Bools, *, own: bool) -> str:
    """Return why no frequencies can be learned from judged answers, "" if it can.

    Args:
        right: (answers,), whether each is right.
        own: the documents were given for this, and are not those that all parts learn from.

    Raises:
        DataError: they were, and no answer is right.
    """
    if len(right) < FEW:
        return f"{len(right)} mentions to calibrate on are too few for frequencies, {FEW} are enough"
    if right.any():
        return ""
    problem = f"no answer of {len(right)} mentions is right: has what stands before learned enough?"
    if own:
        raise DataError(f"decide: cannot calibrate: {problem}")
    return problem


def _always(seen: int, columns: int) -> Floats:
    """Return the weights of one probability for all, after `seen` answers without a wrong one (Laplace)."""
    weights = np.zeros(columns)
    weights[FEATURES.index("bias")] = np.log(seen + 1)
    return weights


def _fit(columns: Floats, kinds: Sequence[str], right: Bools) -> tuple[Floats, dict[str, float]]:
    """Return the weights of the logistic regression, and the log odds of the types it was fitted with."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - slow to import, needed for training alone

    types = _log_odds(kinds, right)
    # the bias is a feature; a weak penalty keeps separable data finite
    model = LogisticRegression(C=10.0, fit_intercept=False, max_iter=1000)
    model.fit(_fill(columns, kinds, types, ()), right)
    return np.asarray(model.coef_[0], np.float64), types


def _log_odds(kinds: Sequence[str], right: Bools) -> dict[str, float]:
    """Return by how much the log odds of answers of each kind differ from those of all; few answers differ little."""
    names, place, counts = np.unique(np.asarray(kinds), return_inverse=True, return_counts=True)
    overall = (right.sum() + 1) / (len(right) + 2)
    shares = (np.bincount(place, right) + PRIOR * overall) / (counts + PRIOR)
    odds = np.log(shares / (1 - shares)) - np.log(overall / (1 - overall))
    return dict(zip(names.tolist(), odds.tolist(), strict=True))


def _fill(columns: Floats, kinds: Sequence[str], types: Mapping[str, float], neutral: Sequence[float]) -> Floats:
    """Return columns with what is known of the types, and with neutral values of signals that are no numbers."""
    filled = columns.copy()
    for place, value in enumerate(neutral, PLAIN):
        filled[~np.isfinite(filled[:, place]), place] = value
    filled[:, FEATURES.index("types")] = [types.get(kind, 0.0) for kind in kinds]
    return filled


def _curve(columns: Floats, kinds: npt.NDArray[np.str_], right: Bools, documents: Sequence[str]) -> Floats | None:
    """Return the curve from logits to frequencies, or None where there is too little to draw one."""
    names, place = np.unique(documents, return_inverse=True)
    if len(right) < ENOUGH or len(names) < FOLDS:
        return None
    logits = np.empty(len(right))
    for fold in range(FOLDS):
        held = place % FOLDS == fold
        if len(set(right[~held].tolist())) < 2:
            return None
        model = Confidence(*_fit(columns[~held], kinds[~held].tolist(), right[~held]))
        logits[held] = model.logits(columns[held], kinds[held].tolist())
    from sklearn.isotonic import IsotonicRegression  # noqa: PLC0415 - slow to import, needed for training alone

    lowest = 1 / (len(right) + 2)  # nothing that was seen so often is certain
    curve = IsotonicRegression(y_min=lowest, y_max=1 - lowest).fit(logits, right)
    return np.array([curve.X_thresholds_, curve.y_thresholds_])


def _numbers(values: Any) -> Floats:
    numbers = np.array(values, np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("a number is not finite")
    return numbers


def _rising(curve: Floats) -> Floats:
    if curve.ndim != 2 or len(curve) != 2 or not curve.shape[1]:
        raise ValueError("the curve is not two lists of equal length")
    logits, shares = curve
    if (np.diff(logits) <= 0).any() or (np.diff(shares) < 0).any() or shares[0] < 0 or shares[-1] > 1:
        raise ValueError("the curve does not rise between 0 and 1")
    return curve
