"""A small client of HTTP, so that many simulated annotators fit into one process: a connection each, kept open."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from linnet.errors import LinnetError

__all__ = ["Answer", "Client"]

PREFIX = "/api/v1"
HOST = "127.0.0.1"


class Answer(NamedTuple):
    """What came back, and how long it took until it was there as a whole."""

    status: int
    headers: Mapping[str, str]
    body: Any
    seconds: float


class Client:
    """One connection of somebody with a token; ``prefix`` is where the routes begin."""

    def __init__(self, port: int, token: str, prefix: str = PREFIX) -> None:
        self.port, self.token, self.prefix = port, token, prefix
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(
        self, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request, its body as JSON unless it is that already, and return the answer.

        Raises:
            OSError: the server is gone.
        """
        started = time.perf_counter()
        again = self._reader is not None  # the server closes a connection on which nobody has asked for seconds
        try:
            reader = await self._send(method, path, body, headers or {})
            status, told = await _head(reader)
        except OSError:
            await self.close()
            if not again:
                raise
            return await self.ask(method, path, body, headers=headers)
        content = await reader.readexactly(int(told.get("content-length", "0")))
        seconds = time.perf_counter() - started
        if told.get("connection") == "close":
            await self.close()
        return Answer(status, told, json.loads(content) if content else None, seconds)

    async def lines(self, path: str) -> AsyncIterator[bytes]:
        """Yield what a stream of events tells, line by line, until the server ends it."""
        reader = await self._send("GET", path, None, {})
        status, _ = await _head(reader)
        if status != 200:
            raise LinnetError(f"the stream answered {status}")
        while line := await reader.readline():
            yield line

    async def close(self) -> None:
        """Close the connection; the next request opens one."""
        writer, self._reader, self._writer = self._writer, None, None
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _send(self, method: str, path: str, body: Any, more: Mapping[str, str]) -> asyncio.StreamReader:
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [
            f"{method} {self.prefix}{path} HTTP/1.1",
            f"Host: {HOST}:{self.port}",
            f"Authorization: Bearer {self.token}",
        ]
        lines += [f"{name}: {value}" for name, value in more.items()]
        lines += [] if body is None else ["Content-Type: application/json", f"Content-Length: {len(content)}"]
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(HOST, self.port)
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + content)
        await self._writer.drain()
        return self._reader


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Return the status and the headers of an answer."""
    first = await reader.readline()
    if not first:
        raise ConnectionResetError("the server has closed the connection")
    headers: dict[str, str] = {}
    while (line := (await reader.readline()).decode("latin-1").strip()) != "":
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return int(first.split()[1]), headers
