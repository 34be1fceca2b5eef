"""What the curves of ``linnet bench active`` say: labels for most of the full score, and whether a strategy pays."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.annotate.sampling import DEFAULT, RANDOM
from linnet.evaluate.curves import Bands, Points, draw

__all__ = [
    "FULL",
    "SHARE",
    "Anchoring",
    "Curves",
    "Point",
    "Row",
    "Seconds",
    "Stop",
    "Truths",
    "area",
    "count_found",
    "count_truths",
    "labels_for",
    "lines",
    "mean_seconds",
    "picture",
    "read_points",
    "stops",
    "summarize",
]

Floats = npt.NDArray[np.float64]
FULL = "full"  # the strategy that reads all there is at once


@dataclass(frozen=True)
class Point:
    """Where a curve is after a round.

    Args:
        documents: read so far.
        labels: mentions decided on so far.
        minutes: of work so far, by the reader's habits.
        score: of the model in use on the test documents.
        measure: which score that is.
        model: whether there is a model; else the untrained recipe was measured.
        errors: that are left in documents nobody has read, of the model that they were drawn from: truth, estimate and
            the ends of its interval; None where nothing is estimated.
        signals: value of each stopping signal, and whether it was reached.
        seconds: of drawing, reading, training, predicting and measuring.
        anchoring: mentions that were right and those that were found, in documents without and with suggestions.
        drawn: the strategy that drew the round: ``stratified`` while the project is cold.
    """

    documents: int
    labels: int
    minutes: float
    score: float
    measure: str
    model: bool
    errors: tuple[float, float, float, float] | None
    signals: Mapping[str, tuple[float | None, bool]]
    seconds: Mapping[str, float]
    anchoring: tuple[int, int, int, int]
    drawn: str = ""


def read_points(path: Path) -> list[Point]:
    """Return the points of a curve by number of documents, none of a file that there is not."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return sorted((Point(**json.loads(line)) for line in lines), key=lambda point: point.documents)


Curves = Mapping[str, Mapping[int, Sequence[Point]]]  # strategy -> seed -> points

SHARE = 0.95  # of the full score
GRID = 64  # places that curves are averaged at
LEVEL = 0.95


@dataclass(frozen=True)
class Row:
    """A strategy.

    Args:
        strategy: its name.
        seeds: how many curves.
        labels: for `SHARE` of the full score, the mean over seeds and the ends of its interval (Student's t); None
            where a curve does not come so far.
        share: of all labels that there are.
        minutes: of work for it.
        area: mean score over the logarithm of labels.
        gain: of the area over that of random drawing, and p of the paired t-test over seeds.
        p: see `gain`.
    """

    strategy: str
    seeds: int
    labels: tuple[float, float, float] | None
    share: float | None
    minutes: float | None
    area: float
    gain: float | None
    p: float | None


class Truths(NamedTuple):
    """How often the true number of errors left lies in its interval: of projects at their last round, and of rounds."""

    projects: int
    in_projects: int
    rounds: int
    in_rounds: int


class Stop(NamedTuple):
    """Where a stopping signal was reached first: of how many curves, with what labels and share of the full score."""

    signal: str
    curves: int
    reached: int
    labels: float | None
    score: float | None


class Anchoring(NamedTuple):
    """The share of right mentions that readers found in documents without suggestions and with them."""

    without: float | None
    with_them: float | None


class Seconds(NamedTuple):
    """How long a round took in the mean, after which so many documents had been read: all of it, and each step."""

    documents: int
    rounds: int
    total: float
    steps: Mapping[str, float]


def labels_for(points: Sequence[Point], score: float, *, minutes: bool = False) -> float | None:
    """Return how many labels (or minutes) a curve needs for a score, between its points; None if it does not reach it.

    >>> def point(labels, score):
    ...     return Point(1, labels, labels / 2, score, "f1", True, None, {}, {}, (0, 0, 0, 0))
    >>> labels_for([point(10, 0.4), point(30, 0.6)], 0.5), labels_for([point(10, 0.4)], 0.5)
    (20.0, None)
    """
    before: tuple[float, float] | None = None
    for point in points:
        here = point.minutes if minutes else float(point.labels)
        if point.score >= score:
            if before is None or point.score == before[1]:
                return here
            return before[0] + (here - before[0]) * (score - before[1]) / (point.score - before[1])
        before = here, point.score
    return None


def area(points: Sequence[Point], low: float, high: float) -> float:
    """Return the mean score between two numbers of labels, on a logarithmic scale."""
    at = np.linspace(math.log(low), math.log(high), GRID)
    some = [point for point in points if point.labels]
    return float(np.interp(at, np.log([point.labels for point in some]), [point.score for point in some]).mean())


def summarize(curves: Curves) -> list[Row]:
    """Return a row for each strategy, compared with random drawing on the same seeds."""
    full = _full(curves)
    drawn = {name: by_seed for name, by_seed in curves.items() if name != FULL}
    every = [points for by_seed in drawn.values() for points in by_seed.values()]
    if not every:
        return []
    low = max(next(point.labels for point in points if point.labels) for points in every)
    high = min(points[-1].labels for points in every)
    areas = {
        name: {seed: area(points, low, max(high, low + 1)) for seed, points in by_seed.items()}
        for name, by_seed in drawn.items()
    }
    return [_row(name, by_seed, full, areas) for name, by_seed in sorted(drawn.items())]


def _full(curves: Curves) -> Point | None:
    """Return where all documents have been read; which are drawn first makes no difference then, so one seed does."""
    return next((points[-1] for points in curves.get(FULL, {}).values()), None)


def _row(
    name: str,
    curves: Mapping[int, Sequence[Point]],
    full: Point | None,
    areas: Mapping[str, Mapping[int, float]],
) -> Row:
    labels = _needed(curves, full)
    minutes = _needed(curves, full, minutes=True)
    ours, theirs = areas[name], {} if name == RANDOM else areas.get(RANDOM, {})
    differences = np.array([ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())])
    return Row(
        strategy=name,
        seeds=len(curves),
        labels=_interval(labels) if labels else None,
        share=float(np.mean(labels)) / full.labels if labels and full else None,
        minutes=float(np.mean(minutes)) if minutes else None,
        area=float(np.mean([*ours.values()])),
        gain=float(differences.mean()) if len(differences) else None,
        p=_paired(differences) if len(differences) > 1 else None,
    )


def _needed(curves: Mapping[int, Sequence[Point]], full: Point | None, *, minutes: bool = False) -> list[float]:
    """Return the labels (or minutes) of each curve for `SHARE` of the full score; none if one does not come so far."""
    found = [labels_for(points, SHARE * full.score, minutes=minutes) for points in curves.values()] if full else []
    reached = [value for value in found if value is not None]
    return reached if len(reached) == len(found) else []


def _interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean and its interval by Student's t; of one value, itself."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, mean, mean
    from scipy.stats import t  # noqa: PLC0415 - slow to import

    half = float(t.ppf((1 + LEVEL) / 2, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values)))
    return mean, mean - half, mean + half


def _paired(differences: Floats) -> float:
    """Return p of the paired t-test, 1 where all differences are 0."""
    if not np.ptp(differences):
        return 1.0 if not differences[0] else 0.0
    from scipy.stats import ttest_1samp  # noqa: PLC0415 - slow to import

    return float(ttest_1samp(differences, 0.0).pvalue)


def count_truths(curves: Curves) -> Truths:
    """Count how often the true number of errors left lies in its interval."""
    last: list[bool] = []
    every: list[bool] = []
    for by_seed in curves.values():
        for points in by_seed.values():
            inside = [low <= truth <= high for truth, _, low, high in (one.errors for one in points if one.errors)]
            every += inside
            last += inside[-1:]
    return Truths(len(last), sum(last), len(every), sum(every))


def lines(curves: Curves) -> Iterator[tuple[str, Points]]:
    """Yield the mean curve of each strategy: labels and score, by number of documents."""
    for name, by_seed in sorted(curves.items()):
        if name != FULL:
            yield name, [(_mean(s, "labels"), _mean(s, "score")) for s in _by_size(by_seed)]


def _by_size(by_seed: Mapping[int, Sequence[Point]]) -> list[list[Point]]:
    every = [point for points in by_seed.values() for point in points]
    return [[one for one in every if one.documents == size] for size in sorted({one.documents for one in every})]


def _mean(points: Sequence[Point], what: str) -> float:
    return float(np.mean([getattr(point, what) for point in points]))


def picture(curves: Curves, *, title: str) -> str:
    """Return the mean curves as a picture (SVG), with the intervals of the default and of random drawing."""
    shown: dict[str, Points] = dict(lines(curves))
    bands: Bands = {
        name: [(_mean(some, "labels"), *_interval([one.score for one in some])[1:]) for some in _by_size(curves[name])]
        for name in (RANDOM, DEFAULT)
        if name in shown
    }
    if (full := _full(curves)) and shown:
        last = max(points[-1][0] for points in shown.values())
        shown[f"{SHARE:.0%} of the score with all documents"] = [(0.0, SHARE * full.score), (last, SHARE * full.score)]
    measures = {point.measure for by_seed in curves.values() for points in by_seed.values() for point in points}
    return draw(shown, title=title, x="labels", y=", ".join(sorted(measures)), close=True, bands=bands)


def stops(curves: Curves) -> list[Stop]:
    """Return where each stopping signal was reached first, if at all."""
    full = _full(curves)
    drawn = [points for name, by_seed in curves.items() if name != FULL for points in by_seed.values()]
    names = sorted({signal for points in drawn for point in points for signal in point.signals})
    return [_stop(name, drawn, full) for name in names]


def _stop(signal: str, drawn: Sequence[Sequence[Point]], full: Point | None) -> Stop:
    first = [point for points in drawn if (point := _first_reached(signal, points)) is not None]
    labels = float(np.mean([point.labels for point in first])) if first else None
    score = float(np.mean([point.score for point in first])) / full.score if first and full and full.score else None
    return Stop(signal, len(drawn), len(first), labels, score)


def _first_reached(signal: str, points: Sequence[Point]) -> Point | None:
    return next((point for point in points if signal in point.signals and point.signals[signal][1]), None)


def count_found(curves: Curves) -> Anchoring:
    """Return what readers found without and with suggestions, from the last point of each curve."""
    counts = np.zeros(4, np.int64)
    for by_seed in curves.values():
        for points in by_seed.values():
            counts += points[-1].anchoring
    bare, bare_found, led, led_found = counts.tolist()
    return Anchoring(bare_found / bare if bare else None, led_found / led if led else None)


def mean_seconds(curves: Curves) -> list[Seconds]:
    """Return how long rounds took, by how many documents had been read then."""
    points = [one for by_seed in curves.values() for points in by_seed.values() for one in points if one.labels]
    made = []
    for size in sorted({point.documents for point in points}):
        some = [point.seconds for point in points if point.documents == size]
        steps = {step: float(np.mean([one.get(step, 0.0) for one in some])) for step in some[0]}
        made.append(Seconds(size, len(some), sum(steps.values()), steps))
    return made
