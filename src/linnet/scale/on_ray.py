"""Workers as actors of a Ray cluster, on one machine or on many that share a folder.

Ray starts the actors, brings tasks to them and says which died; what they do is what processes of one machine do.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from linnet import __version__
from linnet.errors import LinnetError, MissingExtraError
from linnet.scale.crew import Crew, Loaded, Lost, News, news_of, where_of
from linnet.scale.shards import Done, Load, Settings, Task, Worker
from linnet.scale.units import reason_of

__all__ = ["Actors", "connect"]

HERE = "local"


def connect(address: str) -> tuple[Callable[[int, Load, Settings], Crew], int]:
    """Connect to a cluster; return what brings its workers together, and how many cores it has.

    Args:
        address: of the cluster, as Ray takes it; ``local`` starts one on this machine.

    Raises:
        MissingExtraError: Ray is not installed.
        LinnetError: there is no cluster at that address.
    """
    ray = _ray()
    if not ray.is_initialized():
        options = {"include_dashboard": False} if address == HERE else {"address": address}
        try:
            ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            raise LinnetError(f"--ray {address}: there is no cluster: {error}") from error
    return Actors, max(int(ray.cluster_resources().get("CPU", 1)), 1)


def _ray() -> Any:
    try:
        import ray  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("ray", extra="ray", wanted_by="--ray") from error
    return ray


class _Actor:
    """A worker on some machine; what is wrong comes back as a text."""

    def __init__(self, load: Load, settings: Settings) -> None:
        self._load, self._settings = load, settings
        self._worker: Worker | None = None

    def load(self, version: str) -> Loaded | str:
        if version != __version__:
            return f"a node has Linnet {__version__}, the leader {version}: install the same on all nodes"
        started = time.perf_counter()
        try:
            self._worker = Worker(self._load, self._settings)
        except Exception as error:
            return reason_of(error)
        return Loaded(time.perf_counter() - started)

    def link(self, task: Task) -> Done | str:
        try:
            return self._worker(task) if self._worker is not None else "this worker has not loaded"
        except Exception as error:
            return reason_of(error)


class Actors:
    """Workers that are actors of the cluster this process is connected to, one core each.

    Args:
        size: how many.
        load: gives each its pipeline; it is pickled.
        settings: of the job; its folders are the same on all machines.
    """

    def __init__(self, size: int, load: Load, settings: Settings) -> None:
        self._ray = _ray()
        # Ray lets an actor compute with as many threads as it has cores
        options = {"num_cpus": 1, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        self._made = self._ray.remote(**options)(_Actor)
        self._load, self._settings = self._ray.put(load), settings
        self._actors: dict[int, Any] = {}
        self._tasks: dict[int, Task | None] = {}
        self._waiting: dict[Any, int] = {}  # what is not there yet -> worker
        for worker in range(size):
            self._start(worker)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self._actors)

    def give(self, worker: int, task: Task) -> None:
        """Let a worker link a part."""
        self._tasks[worker] = task
        self._waiting[self._actors[worker].link.remote(task)] = worker

    def news(self, seconds: float) -> Sequence[News]:
        """Return what workers have to say."""
        ready, _ = self._ray.wait(list(self._waiting), num_returns=1, timeout=seconds)
        if ready:
            ready, _ = self._ray.wait(list(self._waiting), num_returns=len(self._waiting), timeout=0)
        return [self._hear(one) for one in ready]

    def close(self) -> None:
        """End all workers."""
        for actor in self._actors.values():
            with suppress(Exception):  # it may be gone, and the cluster with it
                self._ray.kill(actor)

    def _start(self, worker: int) -> None:
        self._actors[worker], self._tasks[worker] = self._made.remote(self._load, self._settings), None
        self._waiting[self._actors[worker].load.remote(__version__)] = worker

    def _hear(self, one: Any) -> News:
        worker = self._waiting.pop(one)
        try:
            said = self._ray.get(one)
        except self._ray.exceptions.RayError:
            lost = Lost(where_of(self._settings, self._tasks[worker]))
            with suppress(Exception):  # it is mostly gone
                self._ray.kill(self._actors[worker])
            self._start(worker)
            return News(worker, lost)
        self._tasks[worker] = None
        return news_of(worker, said)
