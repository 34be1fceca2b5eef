"""Serving the application: it says where it listens, and stops in good order although streams are open."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from signal import SIGINT

import fastapi

from linnet.errors import MissingExtraError

try:
    import uvicorn
except ModuleNotFoundError as error:
    raise MissingExtraError("uvicorn", extra="serve", wanted_by="linnet serve") from error

__all__ = ["GRACE", "Server"]

SWITCH = 0.001  # seconds that a thread may compute before another one has a turn: answers are short
GRACE = 10  # seconds that requests under way have when the server is to stop


class Server(uvicorn.Server):
    """Serves an application until a signal comes; ``started`` says whether it ever did.

    Args:
        app: from `linnet.annotate.api.app.make_app`.
        host: the address to listen at.
        port: the port; 0 takes a free one.
        greet: is called with the port as soon as it listens.
        chatty: log every request.
    """

    def __init__(
        self, app: fastapi.FastAPI, host: str, port: int, greet: Callable[[int], object], *, chatty: bool = False
    ) -> None:
        level = "info" if chatty else "warning"
        super().__init__(uvicorn.Config(app, host=host, port=port, log_level=level, timeout_graceful_shutdown=GRACE))
        self._greet, self._stopping = greet, app.state.workbench.stopping

    def handle_exit(self, sig: int, frame: object) -> None:  # noqa: ARG002 - uvicorn's signature
        """Stop; uvicorn's own way would raise the signal again when all is done, as if it had not been."""
        self._stopping.set()  # streams of events would go on for ever
        self.force_exit = self.should_exit and sig == SIGINT
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        sys.setswitchinterval(SWITCH)
        await super().startup(sockets)
        if self.started:
            self._greet(self.servers[0].sockets[0].getsockname()[1])
