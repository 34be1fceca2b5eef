"""A job of shards: many documents, linked by several workers and written as shards, exactly once.

Whoever leads the job hands out parts of the input, and writes down what is done; it sees no document itself. The job
may be interrupted anywhere, by anything: when it is run again, parts that are done stay, and the result is that of an
unbroken run, byte for byte.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linnet.errors import LinnetError
from linnet.scale.crew import Crew, Loaded, Lost, Processes, processors
from linnet.scale.ledger import Ledger, opened
from linnet.scale.schedule import Schedule
from linnet.scale.shard_files import check_format
from linnet.scale.shards import Done, Load, Settings
from linnet.scale.units import MOST, Inputs, Unit, digests_of, of_database, place_of, units_of

__all__ = ["Job", "Told", "run"]

MEGABYTE = 1 << 20  # of input: a worker has loaded its pipeline by the time in which another links as much
LOOK = 1.0  # seconds between two looks at the clock while nothing happens
Gather = Callable[[int, Load, Settings], Crew]


@dataclass(frozen=True)
class Job:
    """What is to be done.

    Args:
        inputs: what is read.
        folder: what is written to.
        load: gives a worker its pipeline: a function of a module, or an object of its class, that can be pickled.
        made_of: what the result depends on beside the documents (`linnet.scale.job_key.made_of`).
        workers: how many there are; None for one on each processor, but no more than the input has megabytes, and one
            for a database.
        format: of the shards: ``jsonl`` or ``parquet``.
        size: how many documents a shard has.
        keep_gold: let the pipeline see the gold mentions of the input.
        fresh: forget what earlier runs have done.
        gather: brings the workers together; by default they are processes.
        most: no more workers than this where `workers` does not say how many.
    """

    inputs: Inputs
    folder: Path
    load: Load
    made_of: Mapping[str, Any]
    workers: int | None = None
    format: str = "jsonl"
    size: int = 1_000
    keep_gold: bool = False
    fresh: bool = False
    gather: Gather = Processes
    most: int | None = None

    def crew(self, units: Sequence[Unit]) -> int:
        """Return how many workers there are for these units; all that are useful where none are asked for."""
        if self.workers is not None:
            return self.workers
        if any(of_database(file, self.inputs.format) for unit in units for file in unit.files):
            return 1  # each other one would ask it again, and take parts of other rows
        size = sum(unit.size or MOST for unit in units)
        return max(1, min(processors(), size // MEGABYTE, self.most or processors()))

    def settings(self, aside: Path) -> Settings:
        """Return what workers know of it."""
        folder = self.folder.absolute()
        source = (self.inputs.format, self.inputs.options)
        return Settings(str(folder), str(aside.absolute()), self.format, self.size, source, self.keep_gold)


@dataclass
class Told:
    """How far a job is; whoever watches it is given it again and again.

    Args:
        counts: of all parts that are done: documents, mentions, errors and some more by name.
        before: documents that earlier runs have linked.
        left: seconds that the rest will take; None where that cannot be told.
        seconds: since the workers were called.
        linking: since the first of them was ready.
        lost: how many workers died.
        spent: seconds of all workers by what they did: loading, reading, linking, writing.
        processor: seconds of the processor that parts took.
        said: warnings of workers, each once.
        memory: the most that a worker had: bytes of its own, and of mapped files.
    """

    counts: Counter[str] = field(default_factory=Counter)
    before: int = 0
    left: float | None = None
    seconds: float = 0.0
    linking: float = 0.0
    lost: int = 0
    spent: dict[str, float] = field(default_factory=dict)
    processor: float = 0.0
    said: dict[str, None] = field(default_factory=dict)
    memory: tuple[int, int] = (0, 0)

    @property
    def rate(self) -> float:
        """Documents a second, of this run."""
        return (self.counts["documents"] - self.before) / max(self.linking, 1e-9)


def run(
    job: Job, *, tell: Callable[[Told], None] = lambda _: None, checking: Callable[[int], None] = lambda _: None
) -> Told:
    """Do a job, or what earlier runs of it have left; return how it went.

    Args:
        job: what is to be done.
        tell: called now and then.
        checking: called with the number of finished shards whose checksums are right.

    Raises:
        FormatError: input that is not there, or a folder that cannot be written to.
        LinnetError: the folder is of another job, another process leads one there, workers cannot work, or nothing
            could be read.
    """
    check_format(job.format)
    if job.size < 1 or (job.workers is not None and job.workers < 1):
        raise LinnetError(f"a job has at least 1 worker and 1 document a shard, not {job.workers} and {job.size}")
    units = list(units_of(job.inputs, job.size))
    digest, of_units = digests_of(job.inputs, units)
    made_of = {
        **job.made_of,
        "input": digest,
        "format": job.format,
        "number of documents a shard": job.size,
    }
    finished = False
    with opened(job.folder, made_of, place=place_of(job.inputs), units=of_units, fresh=job.fresh) as ledger:
        ledger.load(checking)
        try:
            told = _lead(job, units, ledger, tell)
            if (reason := ledger.nothing_but_errors) is not None:
                raise LinnetError(f"no document could be read or linked: {reason}")
            finished = True
        finally:
            ledger.close(finished=finished)
        told.counts = ledger.total
        return told


def _lead(job: Job, units: list[Unit], ledger: Ledger, tell: Callable[[Told], None]) -> Told:
    schedule = Schedule(units, ledger.done)
    told = Told(ledger.total, before=ledger.total["documents"])
    if not schedule:
        return told
    tell(told)
    leading = _Leading(units, ledger, schedule, told)
    crew = job.gather(job.crew(units), job.load, job.settings(ledger.aside))
    try:
        while schedule:
            leading.listen(crew)
            tell(told)
    finally:
        crew.close()
    return told


class _Leading:
    """Hands out parts and writes down what is done."""

    def __init__(self, units: list[Unit], ledger: Ledger, schedule: Schedule, told: Told) -> None:
        self._units, self._ledger, self._schedule, self._told = units, ledger, schedule, told
        self._idle: set[int] = set()
        self._started = time.monotonic()
        self._ready = 0.0
        self._weight = sum(unit.size for unit in units)
        self._before = schedule.bytes_done()

    def listen(self, crew: Crew) -> None:
        """Hear what workers have to say, give them more, and only then write down what they did."""
        done = []
        for worker, what in crew.news(LOOK):
            if isinstance(what, Lost):
                self._idle.discard(worker)
                self._told.lost += 1
                self._schedule.lose(worker, what.where)
                continue
            if isinstance(what, Loaded):
                self._ready = self._ready or time.monotonic()
                self._spend({"loading": what.seconds})
            else:
                self._schedule.finish(worker, what)
                self._take(what)
                done += [what] if what.reached else []
            self._idle.add(worker)
        for worker in sorted(self._idle):
            if (task := self._schedule.next(worker)) is not None:
                self._idle.discard(worker)
                crew.give(worker, task)
        self._ledger.note(done)
        now = time.monotonic()
        self._told.seconds, self._told.linking = now - self._started, now - self._ready if self._ready else 0.0
        self._told.left = self._left()

    def _take(self, done: Done) -> None:
        told = self._told
        self._spend(done.seconds)
        told.processor += done.processor
        told.said.update(dict.fromkeys(done.said))
        if done.memory is not None:
            told.memory = max(told.memory[0], done.memory.anonymous), max(told.memory[1], done.memory.mapped)

    def _spend(self, seconds: Mapping[str, float]) -> None:
        spent = self._told.spent
        spent.update({what: spent.get(what, 0.0) + some for what, some in seconds.items()})

    def _left(self) -> float | None:
        """Return how many seconds the rest will take, as far as that can be told from the bytes that are done."""
        done = self._schedule.bytes_done()
        if done <= self._before:
            return None
        return self._told.linking * (self._weight - done) / (done - self._before)
