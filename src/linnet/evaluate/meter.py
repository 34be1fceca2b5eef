"""Time and memory of a block of code, measured the same way for every benchmark.

Memory is that of the whole process: anonymous pages are what the process itself holds (``RssAnon`` of Linux), pages of
mapped files can be given up at any time and are counted apart (``RssFile``). Where the system does not tell them apart
only the peak of resident memory is known, which is both together and since the process began.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

__all__ = ["Memory", "Meter", "available_memory", "memory", "mib", "peak_resident"]

STATUS, MACHINE = Path("/proc/self/status"), Path("/proc/meminfo")
EVERY = 0.01  # seconds between two looks at the memory: what lives shorter is missed


class Memory(NamedTuple):
    """What a process has in memory, in bytes: pages of its own, and pages of mapped files."""

    anonymous: int
    mapped: int


def memory(process: int | None = None) -> Memory | None:
    """Return what this process, or another one, has in memory now; None where the system does not tell the kinds apart.

    A process that is gone has none, either.
    """
    path = STATUS if process is None else Path(f"/proc/{process}/status")
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    sizes = {key: value.split()[0] for key, _, value in (line.partition(":") for line in lines) if value.split()}
    if "RssAnon" not in sizes or "RssFile" not in sizes:
        return None
    return Memory(int(sizes["RssAnon"]) * 1024, int(sizes["RssFile"]) * 1024)


def available_memory() -> int | None:
    """Return how many bytes processes can take before the system runs short of memory; None where it does not tell."""
    try:
        lines = MACHINE.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def peak_resident() -> int:
    """Return the most resident memory that this process has had so far, in bytes."""
    import resource  # noqa: PLC0415 - Unix alone has it

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # bytes there, KiB elsewhere


def mib(size: int | None) -> str:
    """Return a number of bytes for people, None being one that the system does not tell.

    >>> mib(3 << 29), mib(None)
    ('1,536 MiB', 'not known here')
    """
    return "not known here" if size is None else f"{size / 2**20:,.0f} MiB"


class Meter:
    """A context manager that measures its block.

    After the block ``seconds`` is known, ``processor`` (seconds of all its threads, whatever else the machine does),
    ``anonymous`` and ``mapped`` (bytes, peaks of looks every 10 ms; None where the system does not tell).

    >>> with Meter() as meter:
    ...     _ = bytearray(1 << 20)
    >>> meter.seconds > 0.0
    True
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.processor = 0.0
        self.anonymous: int | None = None
        self.mapped: int | None = None
        self._done = threading.Event()
        self._watch = threading.Thread(target=self._sample, daemon=True)
        self._started = (0.0, 0.0)

    def __enter__(self) -> Self:
        self._look()
        self._watch.start()
        self._started = (time.perf_counter(), time.process_time())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.seconds = time.perf_counter() - self._started[0]
        self.processor = time.process_time() - self._started[1]
        self._look()
        self._done.set()
        self._watch.join()

    def _sample(self) -> None:
        while not self._done.wait(EVERY):
            self._look()

    def _look(self) -> None:
        found = memory()
        if found is not None:
            self.anonymous = max(found.anonymous, self.anonymous or 0)
            self.mapped = max(found.mapped, self.mapped or 0)
