"""Times of steps as CSV (``--metrics``), and parts of a pipeline that take their own."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from linnet.data import Document
from linnet.pipeline import Allow, Component, Pipeline
from linnet.pipeline.several import Several
from linnet.recipes.config import name_of
from linnet.text.cells import quote_formula
from linnet.text.files import replacing

__all__ = ["Time", "Times", "write_times"]


class Time(NamedTuple):
    """One row: what was done, by or to which part, with how many documents, in how many seconds."""

    step: str
    part: str
    documents: int
    seconds: float


def write_times(path: Path, times: Iterable[Time]) -> None:
    """Write rows with the columns ``step,part,documents,seconds``."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(Time._fields)
    rows.writerows((one.step, quote_formula(one.part), one.documents, f"{one.seconds:.3f}") for one in times)
    with replacing(path) as out:
        out.write(text.getvalue())


@dataclass
class _Timed:
    """A component that counts its documents and seconds."""

    part: Component
    name: str
    documents: int = 0
    seconds: float = 0.0

    @property
    def needs(self) -> frozenset[str]:
        return self.part.needs

    @property
    def gives(self) -> frozenset[str]:
        return self.part.gives

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        start = time.perf_counter()
        out = self.part(docs, allow=allow)
        self.seconds += time.perf_counter() - start
        self.documents += len(docs)
        return out


def _called(part: Component) -> str:
    return "several" if isinstance(part, Several) else name_of(part)  # which no recipe names


@dataclass
class Times:
    """Collects times of steps and of the parts of a pipeline."""

    done: list[Time] = field(default_factory=list)
    _parts: list[_Timed] = field(default_factory=list)

    @contextmanager
    def step(self, step: str, part: str = "") -> Iterator[list[Document]]:
        """Time a step; documents put into the list are counted."""
        docs: list[Document] = []
        start = time.perf_counter()
        yield docs
        self.done.append(Time(step, part, len(docs), time.perf_counter() - start))

    def of_parts(self, pipeline: Pipeline) -> Pipeline:
        """Return the same pipeline of parts that are timed."""
        self._parts = [_Timed(part, _called(part)) for part in (*pipeline.front, *pipeline.parts)]
        return pipeline.with_parts(self._parts)

    def write(self, path: Path | None) -> None:
        """Write all of it, if there is a file to write to."""
        if path is not None:
            parts = (Time("link", part.name, part.documents, part.seconds) for part in self._parts)
            write_times(path, [*self.done, *parts])
