"""Which part a worker links next, and what is done when one dies.

A worker goes on in the unit that it reads, then takes one that nobody has begun; when there are no more, it helps with
a unit of which another has not seen the end, where it reads past the parts of others.

A part whose worker died is given to another one. If workers die twice at the same batch, its documents are linked one
at a time, and one at which they die twice again is left out.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from linnet.errors import LinnetError
from linnet.scale.shards import READING, Done, Task
from linnet.scale.units import Unit
from linnet.text.files import shown

__all__ = ["Schedule"]

TWICE = 2  # deaths at the same batch or document that are no accident
OFTEN = 6  # deaths while the same documents are read: they cannot be told apart
LOADING = 4  # deaths of workers that load, one after the other
IN_A_ROW = 60  # deaths without any part that gets done between them


class Schedule:
    """The parts of a job that are left.

    Args:
        units: all of them, each at the place of its number.
        done: the parts that are done, and how many parts their units have, where that is known.
    """

    def __init__(self, units: Sequence[Unit], done: Mapping[tuple[int, int], int | None]) -> None:
        self._units = units
        self._done: dict[int, set[int]] = {}
        self._parts: dict[int, int] = {}  # of units whose end is known
        for (unit, part), parts in done.items():
            self._done.setdefault(unit, set()).add(part)
            if parts is not None:
                self._parts[unit] = parts
        self._next: dict[int, int] = {}  # the first part of each open unit that nobody was given
        self._fresh: deque[int] = deque(unit.number for unit in units if not self._is_done(unit.number))
        self._again: deque[Task] = deque()
        self._running: dict[int, Task] = {}  # worker -> what it links
        self._reads: dict[int, int] = {}  # worker -> unit that it has open
        self._deaths: Counter[tuple[tuple[int, int], str]] = Counter()
        self._in_a_row = 0
        self._weights: dict[int, float] = {}
        self._counts = Counter({unit: len(parts) for unit, parts in self._done.items()})
        for unit in self._parts:
            self._weigh(unit)

    def __bool__(self) -> bool:
        """Whether anything is left, or running."""
        return bool(self._running or self._again or self._fresh or self._next)

    @property
    def running(self) -> int:
        """How many workers link."""
        return len(self._running)

    def bytes_done(self) -> float:
        """Return how many bytes of the input are done, as far as the ends of their units are known."""
        return sum(self._weights.values())

    def next(self, worker: int) -> Task | None:
        """Return what a worker links next; None if nothing is left that can be given now."""
        task = self._again.popleft() if self._again else self._take(worker)
        if task is not None:
            self._running[worker] = task
            self._reads[worker] = task.unit.number
        return task

    def finish(self, worker: int, done: Done) -> None:
        """Take note of what a worker did."""
        del self._running[worker]
        self._in_a_row = 0
        if done.parts is not None:
            self._parts[done.unit] = done.parts
            if self._next.get(done.unit, 0) >= done.parts:
                self._next.pop(done.unit, None)
        self._counts[done.unit] += done.reached
        self._weigh(done.unit)

    def lose(self, worker: int, where: str) -> None:
        """Take note of a death.

        Args:
            worker: who died.
            where: what it had noted: reading, batch or document, and a number; "" where that is not known.

        Raises:
            LinnetError: workers die again and again, and no document can be told to be the reason.
        """
        self._reads.pop(worker, None)
        self._in_a_row += 1
        task = self._running.pop(worker, None)
        if task is None:  # it was loading
            if self._in_a_row >= LOADING:
                raise LinnetError("workers die while they load the pipeline: is there memory for so many?")
            return
        what, _, number = where.partition(" ")
        self._deaths[task.key, where] += 1
        deaths = self._deaths[task.key, where]
        if (what in ("", READING) and deaths >= OFTEN) or self._in_a_row >= IN_A_ROW:
            source = next((shown(file.path) for file in task.unit.files), task.unit.split)
            problem = f"workers die at part {task.part} of {source}, {deaths} times while they read: "
            raise LinnetError(f"{problem}leave that out, or use fewer workers if memory is short")
        if what == "batch" and deaths >= TWICE:
            task = replace(task, alone=task.alone | {int(number)})
        elif what == "document" and deaths >= TWICE:
            task = replace(task, deadly=task.deadly | {int(number)})
        self._again.append(task)

    def _take(self, worker: int) -> Task | None:
        for unit in self._choices(worker):
            if (part := self._free(unit)) is not None:
                return Task(self._units[unit], part)
        return None

    def _choices(self, worker: int) -> Iterator[int]:
        """Yield units that a worker may read, the best one first."""
        own = self._reads.get(worker)
        if own is not None and own in self._next:
            yield own
        if self._fresh:
            unit = self._fresh.popleft()
            self._next[unit] = 0
            yield unit
        yield from [unit for unit in self._next if unit != own]

    def _free(self, unit: int) -> int | None:
        """Return the first part of a unit that nobody was given; None if there is none, and the unit is closed."""
        done, end = self._done.get(unit, set()), self._parts.get(unit)
        part = self._next[unit]
        while part in done:
            part += 1
        if end is not None and part >= end:
            del self._next[unit]
            return None
        self._next[unit] = part + 1
        return part

    def _weigh(self, unit: int) -> None:
        if unit in self._parts:
            self._weights[unit] = self._units[unit].size * self._counts[unit] / max(self._parts[unit], 1)

    def _is_done(self, unit: int) -> bool:
        end = self._parts.get(unit)
        return end is not None and all(part in self._done[unit] for part in range(end))
