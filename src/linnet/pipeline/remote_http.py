"""Requests to a linking server: connections that stay open, and patience with a server that is busy or starts again."""

from __future__ import annotations

import http.client
import json
import random
import ssl
import threading
import time
import urllib.parse
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from linnet import __version__
from linnet.errors import LinnetError
from linnet.fetch.web import check_url
from linnet.reporter import warn

__all__ = ["RemoteError", "Service"]

PAUSE, LONGEST = 0.2, 20.0  # seconds between two tries: doubled each time, unless the server says
SILENT = 1.0  # seconds of waiting of which nobody is told
PASSING = (408, 429, 502, 503, 504)
CLOSED = 30.0  # seconds that a connection may have been unused: servers close what nobody uses


class RemoteError(LinnetError):
    """A server that refuses a request, or does not answer; ``status`` of HTTP, 0 where it did not answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        self.status = status
        super().__init__(message)


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Plain(http.client.HTTPConnection):
    def __del__(self) -> None:
        self.close()  # with the thread that it was of


class _Secure(http.client.HTTPSConnection):
    def __del__(self) -> None:
        self.close()


class _Held(threading.local):
    """What a thread has open."""

    connection: http.client.HTTPConnection | None = None
    used = 0.0


class Service:
    """Asks one server; threads may share it, each has a connection of its own.

    Args:
        url: where its routes begin; ``http`` or ``https``.
        key: of this client, which is sent as bearer token.
        timeout: seconds without a byte of an answer.
        patience: seconds for a request with all its tries.

    Raises:
        LinnetError: no address of a server.
    """

    def __init__(self, url: str, key: str = "", *, timeout: float = 90.0, patience: float = 180.0) -> None:
        parts = urllib.parse.urlsplit(check_url(url))
        self.url, self._key = url, key
        self._timeout, self._patience = timeout, patience
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname or "", parts.port
        self._prefix = parts.path.rstrip("/")
        self._local = _Held()
        if not key.isascii() or not key.isprintable():
            raise LinnetError("api_key: letters outside ASCII cannot be sent")

    def ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, patience: float | None = None
    ) -> Any:
        """Return the JSON that a route answers.

        A request is sent again where the server was busy, where it stopped, and where it is just starting: linking
        changes nothing, and so does linking twice. Where nobody answers, who waits is told after a
        second.

        Args:
            method: of HTTP.
            path: of the route.
            body: what is sent as JSON.
            patience: seconds for it with all its tries; at most those of this object.

        Raises:
            RemoteError: it refuses, or does not answer in the time that there is.
        """
        content = None if body is None else json.dumps(body).encode()
        begun, pause, told = time.monotonic(), PAUSE, False
        until = begun + min(self._patience, self._patience if patience is None else patience)
        while True:
            wait = pause * random.uniform(0.5, 1.0)  # noqa: S311 - so that clients do not come back together
            answer = self._try(method, path, content)
            if isinstance(answer, RemoteError):
                problem = answer
            elif answer.status not in PASSING:
                return self._read(answer, path)
            else:
                wait = max(wait, _retry_after(answer))
                problem = RemoteError(_said(answer, self.url), answer.status)
            if (now := time.monotonic()) + wait > until:
                raise problem
            if not told and not problem.status and now + wait - begun > SILENT:
                told = True
                warn(f"{problem}; asking again for up to {until - now:.0f} seconds")
            time.sleep(wait)
            pause = min(2 * pause, LONGEST)

    def _try(self, method: str, path: str, content: bytes | None) -> Answer | RemoteError:
        """Send a request, and return why there is no answer where there is none."""
        try:
            return self._send(method, path, content)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            cure = "does it speak https?" if isinstance(error, ssl.SSLError) else "is it running?"
            return RemoteError(f"{self.url} does not answer ({error or type(error).__name__}): {cure}")

    def close(self) -> None:
        """Close the connection of this thread; the next request opens one."""
        connection, self._local.connection = self._local.connection, None
        if connection is not None:
            with suppress(OSError):
                connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        made = self._local.connection
        if made is None or time.monotonic() - self._local.used > CLOSED:
            self.close()
            kind = _Secure if self._secure else _Plain
            made = self._local.connection = kind(self._host, self._port, timeout=self._timeout)
        self._local.used = time.monotonic()
        return made

    def _send(self, method: str, path: str, content: bytes | None) -> Answer:
        headers = {"Accept": "application/json", "User-Agent": f"linnet/{__version__}"}
        headers |= {"Authorization": f"Bearer {self._key}"} if self._key else {}
        headers |= {"Content-Type": "application/json"} if content is not None else {}
        connection = self._connection()
        connection.request(method, self._prefix + path, content, headers)
        answer = connection.getresponse()
        told = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, told, answer.read())

    def _read(self, answer: Answer, path: str) -> Any:
        if answer.status in (401, 403) and not self._key:
            raise RemoteError(f"{_said(answer, self.url)}: give api_key, or set LINNET_API_KEY", answer.status)
        if answer.status != 200:
            raise RemoteError(_said(answer, self.url), answer.status)
        try:
            return json.loads(answer.body)
        except ValueError as error:
            raise RemoteError(f"{self.url}{path} answers no JSON: is it a linking server?", answer.status) from error


def _retry_after(answer: Answer) -> float:
    value = answer.headers.get("retry-after", "")
    return float(value) if value.isdecimal() else 0.0


def _said(answer: Answer, url: str) -> str:
    """Return what a server says of a request that it refuses (RFC 9457)."""
    try:
        told = json.loads(answer.body)
        said = ": ".join(str(told[name]) for name in ("title", "detail") if told.get(name))
        said += "".join(f"; {one.get('pointer', '')}: {one.get('message', '')}" for one in told.get("errors", ()))
    except (ValueError, TypeError, AttributeError):
        said = ""
    return f"{url} refuses (status {answer.status}): {said or http.client.responses.get(answer.status, 'unknown')}"
