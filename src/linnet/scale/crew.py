"""Workers as processes of this machine; each loads the pipeline once, and ends when whoever started it does."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, Protocol

from linnet.errors import LinnetError
from linnet.scale.shards import Done, Load, Settings, Task, Worker, place_file
from linnet.scale.units import reason_of

__all__ = ["Crew", "Loaded", "Lost", "News", "Processes", "news_of", "processors", "where_of"]

ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
PATIENCE = 5.0  # seconds that a worker has to end by itself


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Loaded:
    """A worker is ready, after so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Lost:
    """A worker died; `where` it was when it did, as it had noted."""

    where: str = ""


class News(NamedTuple):
    """What a worker has to say."""

    worker: int
    what: Done | Loaded | Lost


class Crew(Protocol):
    """Workers by their numbers, wherever they are."""

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def give(self, worker: int, task: Task) -> None:
        """Let a worker link a part."""
        ...

    def news(self, seconds: float) -> Sequence[News]:
        """Return what workers have to say, after so many seconds at most; those who died are replaced.

        Raises:
            LinnetError: one cannot work.
        """
        ...

    def close(self) -> None:
        """End all workers."""
        ...


def news_of(worker: int, said: Done | Loaded | str) -> News:
    """Return what a worker said as news.

    Raises:
        LinnetError: a text, which says why it cannot work.
    """
    if isinstance(said, str):
        raise LinnetError(said)
    return News(worker, said)


def where_of(settings: Settings, task: Task | None) -> str:
    """Return where a worker that died was in a part, as far as it could note it."""
    if task is None:
        return ""
    with suppress(OSError):
        return place_file(settings.aside, task.key).read_bytes().decode("ascii", "replace").strip()
    return ""


class Processes:
    """Workers that are processes.

    Args:
        size: how many.
        load: gives each its pipeline; it is pickled.
        settings: of the job.
    """

    def __init__(self, size: int, load: Load, settings: Settings) -> None:
        self._load, self._settings = load, settings
        self._context = multiprocessing.get_context("spawn")  # threads and open files are not inherited
        self._tasks: dict[int, Task | None] = {}
        self._processes: dict[int, Any] = {}
        self._pipes: dict[int, Connection] = {}
        for worker in range(size):
            self._start(worker)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self._processes)

    @property
    def pids(self) -> list[int]:
        """Their process ids."""
        return [process.pid for process in self._processes.values()]

    def give(self, worker: int, task: Task) -> None:
        """Let a worker link a part."""
        self._tasks[worker] = task
        with suppress(OSError):  # it has just died, which `news` will say
            self._pipes[worker].send(task)

    def news(self, seconds: float) -> Sequence[News]:
        """Return what workers have to say."""
        ready = wait(list(self._pipes.values()), seconds)
        return [self._hear(worker) for worker, pipe in list(self._pipes.items()) if pipe in ready]

    def close(self) -> None:
        """End all workers; those that are in the middle of a part do not finish it."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.join(PATIENCE)
        for pipe in self._pipes.values():
            pipe.close()

    def _start(self, worker: int) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._load, self._settings), daemon=True)
        with _one_thread():
            process.start()
        theirs.close()
        self._tasks[worker], self._processes[worker], self._pipes[worker] = None, process, ours

    def _hear(self, worker: int) -> News:
        try:
            said = self._pipes[worker].recv()
        except (EOFError, OSError):
            lost = Lost(where_of(self._settings, self._tasks[worker]))
            self._pipes[worker].close()
            self._processes[worker].kill()
            self._processes[worker].join(PATIENCE)
            self._start(worker)
            return News(worker, lost)
        self._tasks[worker] = None
        return news_of(worker, said)


class _one_thread:  # noqa: N801 - a context manager
    """Let processes that are started in the block compute with one thread each.

    They share the cores, and what a matrix product gives depends on the number of threads.
    """

    def __enter__(self) -> None:
        self._before = {name: os.environ.get(name) for name in ONE_THREAD}
        os.environ.update(dict.fromkeys(ONE_THREAD, "1"))

    def __exit__(self, *_: object) -> None:
        for name, value in self._before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(pipe: Connection, load: Load, settings: Settings) -> None:
    """Be a worker: load, say so, and link what is given until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; whoever leads ends us
    _end_with_parent()
    logging.getLogger("linnet").setLevel(logging.ERROR)  # what it warns of at loading, whoever leads has said
    try:
        started = time.perf_counter()
        worker = Worker(load, settings)
        pipe.send(Loaded(time.perf_counter() - started))
        while True:
            pipe.send(worker(pipe.recv()))
    except (EOFError, BrokenPipeError, ConnectionError):
        return
    except Exception as error:
        with suppress(OSError):
            pipe.send(reason_of(error))


def _end_with_parent() -> None:
    """Let this process end when its parent is gone, in the middle of whatever it does."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()
