"""Serving the application: it says where it listens, and stops in good order although streams are open."""

from __future__ import annotations

import asyncio
import errno
import math
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from signal import SIGINT
from typing import Any

import fastapi

from linnet.errors import LinnetError, MissingExtraError

try:
    import uvicorn
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ModuleNotFoundError as error:
    raise MissingExtraError("uvicorn", extra="serve", wanted_by="linnet serve") from error

__all__ = ["GRACE", "Server", "bind", "make_config"]

SWITCH = 0.001  # seconds that a thread may compute before another one has a turn: answers are short
HEAD, TAKEN = 15.0, 30.0  # seconds until the headers of a request have come, and until some of an answer is taken
MOST_HEAD = 1 << 16  # bytes of the headers of a request that have come and do not end
GRACE = 10  # seconds that requests under way have when the server is to stop
NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)  # of one address of a name, such as ::1 without IPv6


@contextmanager
def bind(host: str, port: int) -> Iterator[list[socket.socket]]:
    """Yield sockets at every address that a host has here; they are closed at the end. Port 0 takes a free one.

    Raises:
        LinnetError: there is no such address here, or the port is in use.
    """
    made, lacking = list[socket.socket](), OSError()
    with ExitStack() as opened:
        for family, address in _addresses(host, port):
            try:
                made.append(opened.enter_context(socket.create_server(address, family=family)))
                # connections inherit it; asyncio sets it only where a socket names its protocol, which these do not,
                # and without it the second part of an answer waits 40 ms for word of the first
                made[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                if error.errno not in NOT_HERE:
                    raise LinnetError(_refused(host, port, error)) from error
                lacking = error
        if not made:
            raise LinnetError(f"{host} is no address of this machine: choose another one with --host") from lacking
        yield made


def _addresses(host: str, port: int) -> list[tuple[int, Any]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:  # UnicodeError: what cannot be the name of a host
        raise LinnetError(f"there is no address {host!r}: choose another one with --host") from error
    return list(dict.fromkeys((one[0], one[4]) for one in found))


def _refused(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use: choose another one with --port"
    return f"cannot listen at port {port} of {host}: {os.strerror(error.errno or 0)}; choose another one with --port"


class _Impatient(HttpToolsProtocol):
    """A connection that is cut where a request does not begin or go on, or nobody takes the answer."""

    _head: asyncio.TimerHandle | None = None
    _answer: asyncio.TimerHandle | None = None
    _begun = 0  # bytes of headers that have not ended

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head = self.loop.call_later(HEAD, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head, self._answer = _cancelled(self._head), _cancelled(self._answer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._begun = 0 if self._head is None else self._begun + len(data)
        if self._begun > MOST_HEAD:  # each header takes many times its size, and all of them are kept until they end
            self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._head is None:
            self._head = self.loop.call_later(HEAD, self.transport.abort)

    def on_headers_complete(self) -> None:
        self._head = _cancelled(self._head)
        super().on_headers_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_taking(0)

    def resume_writing(self) -> None:
        self._answer = _cancelled(self._answer)
        super().resume_writing()

    def _wait_for_taking(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left == before:
            self.transport.abort()  # closing it would wait for what is left to be taken
        else:
            self._answer = self.loop.call_later(TAKEN, self._wait_for_taking, left)


def _cancelled(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Cancel a timer, and return that there is none."""
    if timer is not None:
        timer.cancel()
    return None


def make_config(app: fastapi.FastAPI | Callable[[], fastapi.FastAPI], *, grace: float, chatty: bool) -> uvicorn.Config:
    """Return how uvicorn serves an application, or what a function returns that makes one in its own process."""
    level = "info" if chatty else "warning"
    made = isinstance(app, fastapi.FastAPI)
    how: dict[str, Any] = {"http": _Impatient, "log_level": level, "timeout_graceful_shutdown": math.ceil(grace)}
    return uvicorn.Config(app, factory=not made, **how)


class Server(uvicorn.Server):
    """Serves an application at sockets (`bind`) until a signal comes; ``started`` says whether it ever did.

    Args:
        app: what answers.
        greet: is called with the port as soon as it listens.
        stop: is called when it is to stop, before what is under way has ended.
        grace: seconds that requests under way have then.
        switch: seconds that a thread may compute before another one has a turn; None leaves Python's own.
        chatty: log every request.
    """

    def __init__(
        self,
        app: fastapi.FastAPI,
        greet: Callable[[int], object],
        *,
        stop: Callable[[], object],
        grace: float = GRACE,
        switch: float | None = SWITCH,
        chatty: bool = False,
    ) -> None:
        super().__init__(make_config(app, grace=grace, chatty=chatty))
        self._greet, self._stop, self._switch = greet, stop, switch

    def handle_exit(self, sig: int, frame: object) -> None:  # noqa: ARG002 - uvicorn's signature
        """Stop; uvicorn's own way would raise the signal again when all is done, as if it had not been."""
        self._stop()
        self.force_exit = self.should_exit and sig == SIGINT
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        if self._switch is not None:
            sys.setswitchinterval(self._switch)
        await super().startup(sockets)
        if self.started:
            self._greet(self.servers[0].sockets[0].getsockname()[1])
