"""The linking server in this process, or in several that share its port."""

from __future__ import annotations

import logging
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import fastapi
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from linnet.errors import LinnetError
from linnet.reporter import Reporter, reporting
from linnet.serve.app import make_app
from linnet.serve.keys import Keys
from linnet.serve.linking import Linking, load_pipelines
from linnet.serve.metrics import FOLDER, forget
from linnet.serve.server import Server, make_config
from linnet.serve.settings import Settings

__all__ = ["Plan", "make", "run"]

PATIENCE = 600.0  # seconds that the first process may take to load its pipelines


@dataclass(frozen=True)
class Plan:
    """What is served; small, so that each process gets it and opens knowledge bases and models itself.

    Args:
        sources, kbs: as in `linnet.serve.linking.load_pipelines`.
        keys, everybody: as in `linnet.serve.app.make_app`.
        settings: limits.
        level: of messages.
    """

    sources: tuple[str, ...]
    kbs: tuple[str, ...] = ()
    keys: Keys = field(default_factory=lambda: Keys({}))
    everybody: bool = False
    settings: Settings = field(default_factory=Settings)
    level: int = logging.INFO


def make(plan: Plan) -> fastapi.FastAPI:
    """Load the pipelines and return their application.

    Raises:
        LinnetError: one cannot be loaded.
    """
    linking = Linking(load_pipelines(plan.sources, plan.kbs), plan.settings)
    return make_app(linking, plan.keys, everybody=plan.everybody)


def run(
    plan: Plan, sockets: list[socket.socket], greet: Callable[[int], object], *, workers: int = 1, chatty: bool = False
) -> bool:
    """Serve at sockets until a signal comes, and what was accepted until it is answered; return whether it ever began.

    Args:
        plan: what is served.
        sockets: from `linnet.serve.server.bind`.
        greet: is called with the port when the first process answers.
        workers: processes; each has its own pipelines, which map the same knowledge bases and tables.
        chatty: log every request.

    Raises:
        LinnetError: a pipeline cannot be loaded.
    """
    grace = plan.settings.seconds
    if workers == 1:
        # turns as long as Python's own: each one costs, and an answer waits for its batch anyway
        server = Server(make(plan), greet, stop=lambda: None, grace=grace, switch=None, chatty=chatty)
        server.run(sockets)
        return server.started
    load_pipelines(plan.sources, plan.kbs)  # once: builds knowledge bases that lack, and says what is wrong
    with tempfile.TemporaryDirectory(prefix="linnet-metrics-") as folder:
        os.environ[FOLDER] = folder
        try:
            config = make_config(partial(_make_here, plan), grace=grace, chatty=chatty)
            config.workers = workers
            together = _Together(config, sockets, greet)
            together.run()
            return together.began
        finally:
            del os.environ[FOLDER]


class _Together(Multiprocess):
    """Processes at the same sockets; one that ends is replaced, but for one that cannot begin."""

    def __init__(self, config: object, sockets: list[socket.socket], greet: Callable[[int], object]) -> None:
        super().__init__(config, sockets)  # type: ignore[arg-type]
        self._greet, self.began = greet, False

    def init_processes(self) -> None:
        """Start all, and wait for the first one."""
        super().init_processes()
        self.began = self.processes[0].wait_until_ready(PATIENCE, self.should_exit)
        if self.began:
            self._greet(self.sockets[0].getsockname()[1])

    def keep_subprocess_alive(self) -> None:
        """Replace those that died; what waited in them waits no more."""
        before = {one.pid for one in self.processes}
        super().keep_subprocess_alive()
        for pid in before - {one.pid for one in self.processes}:
            forget(pid)


def _make_here(plan: Plan) -> fastapi.FastAPI:
    """Make the application in a process of its own, which says itself what is wrong."""
    said = logging.StreamHandler(sys.stderr)
    said.setFormatter(logging.Formatter("linnet: %(message)s"))
    logger = logging.getLogger("linnet")
    logger.handlers = [said]
    logger.setLevel(plan.level)
    try:
        with reporting(Reporter(warn=lambda message: logger.warning("warning: %s", message))):
            return make(plan)
    except LinnetError as error:
        logger.error("error: %s", error)  # noqa: TRY400 - a sentence, as in one process
        sys.exit(STARTUP_FAILURE)
