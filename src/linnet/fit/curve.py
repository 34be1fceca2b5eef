"""The course of a training: every loss and dev score by step, in a file that goes on with a resumed training."""

from __future__ import annotations

import csv
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from linnet.errors import FormatError
from linnet.evaluate.curves import Points, draw
from linnet.fit.store import first_process
from linnet.pipeline import Step
from linnet.text.cells import quote_formula
from linnet.text.files import replacing

__all__ = ["CURVE", "SCORE", "SECONDS", "Curve", "CurveRow", "read_curve", "training_lines"]

CURVE = "curve.csv"  # in the folder of a trained pipeline
SCORE = "dev score"
SECONDS = "seconds"  # of a whole part, trainings for cross-fitting included
MOST = 200  # points of a line in a picture: more are averaged


class CurveRow(NamedTuple):
    """One number of one step: seconds are those that the part has been trained for."""

    part: str
    step: int
    epoch: int
    seconds: float
    metric: str
    value: float


class Curve:
    """Writes the rows of a training as they come; what a killed attempt wrote stays, repeated steps count once.

    Args:
        path: a CSV file, which may exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part, self._began = "", 0.0
        if first_process():
            _drop_torn(path)

    def follow(self, part: str, steps: Iterable[Step]) -> Iterator[Step]:
        """Yield the steps of a part; the first process writes them down."""
        for step in steps:
            if first_process():
                self.add(part, step)
            yield step

    def spent(self, part: str) -> float:
        """Return for how many seconds a part was trained so far, by this attempt or by those before it."""
        return max((row.seconds for row in read_curve(self._path) if row.part == part), default=0.0)

    def finish(self, part: str, seconds: float) -> None:
        """Append how long a whole part was trained."""
        if first_process():
            self._append([CurveRow(part, 0, 0, seconds, SECONDS, seconds)])

    def add(self, part: str, step: Step) -> None:
        """Append the losses of a step, and the dev score if there is one."""
        if part != self._part:
            self._part, self._began = part, time.monotonic() - self.spent(part)
        found = {**step.losses, **({} if step.score is None else {SCORE: step.score})}
        seconds = time.monotonic() - self._began
        self._append(
            [CurveRow(part, step.step, step.epoch or 1, seconds, name, value) for name, value in found.items()]
        )

    def _append(self, rows: Sequence[CurveRow]) -> None:
        with self._path.open("a", encoding="utf-8", newline="") as stream:
            _write(stream, rows, head=not stream.tell())

    def save(self, folder: Path) -> None:
        """Write the rows, and pictures of them, to the folder of a trained pipeline; nothing if there are none."""
        rows = read_curve(self._path)
        if rows:
            with replacing(folder / CURVE) as stream:
                _write(stream, rows, head=True)
        for title, lines in training_lines(rows).items():
            name = re.sub(r"\W+", "-", title).strip("-")
            (folder / f"curve-{name}.svg").write_text(
                draw(lines, title=title, x="step", y=title) + "\n", encoding="utf-8"
            )


def _drop_torn(path: Path) -> None:
    """Remove the row that an attempt could not write to its end, as on a full disk; rows are appended behind it."""
    if path.is_file():
        rows = path.read_bytes()
        os.truncate(path, rows.rfind(b"\n") + 1)


def _write(stream: TextIO, rows: Sequence[CurveRow], *, head: bool) -> None:
    out = csv.writer(stream, lineterminator="\n")
    if head:
        out.writerow(CurveRow._fields)
    for row in rows:
        out.writerow(
            (quote_formula(row.part), row.step, row.epoch, f"{row.seconds:.2f}", row.metric, f"{row.value:.6g}")
        )


def read_curve(path: Path) -> list[CurveRow]:
    """Return the rows of a file, of a step that was done twice the later ones; none if there is no file.

    Raises:
        FormatError: a row is not one of a curve.
    """
    if not path.is_file():
        return []
    found: dict[tuple[str, int, str], CurveRow] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        for number, cells in enumerate(csv.reader(stream), 1):
            if number == 1:
                continue
            try:
                part, step, epoch, seconds, metric, value = cells
                row = CurveRow(part, int(step), int(epoch), float(seconds), metric, float(value))
            except ValueError as error:
                raise FormatError(path, f"expected {', '.join(CurveRow._fields)}", line=number) from error
            found[part, row.step, metric] = row
    return sorted(found.values(), key=lambda row: (row.part, row.step))


def training_lines(rows: Sequence[CurveRow]) -> dict[str, dict[str, Points]]:
    """Return title -> metric -> points (step, value), of parts that take several steps; losses and scores apart."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in (row for row in rows if row.metric != SECONDS):
        title = f"{row.part}: {SCORE if row.metric == SCORE else 'losses'}"
        found.setdefault(title, {}).setdefault(row.metric, []).append((row.step, row.value))
    return {
        title: {metric: _thinned(points) for metric, points in lines.items()}
        for title, lines in found.items()
        if any(len(points) > 1 for points in lines.values())
    }


def _thinned(points: list[tuple[float, float]]) -> Points:
    """Return means of neighbours where there are more points than a picture can show."""
    size = -(-len(points) // MOST)
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    return tuple((group[-1][0], sum(value for _, value in group) / len(group)) for group in groups)
