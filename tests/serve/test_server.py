"""Connections of clients that begin and do not go on, or take nothing of what they asked for."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator
from contextlib import suppress

import fastapi
import pytest
from starlette.responses import Response

from tests.serve.running import running

SIZE = 30_000_000  # more than the system keeps of an answer by itself


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr("linnet.serve.server.HEAD", 0.3)
    monkeypatch.setattr("linnet.serve.server.TAKEN", 0.6)
    app = fastapi.FastAPI()

    @app.get("/large")
    def large() -> Response:
        return Response(b"x" * SIZE)

    with running(app) as found:
        yield found


def connected(port: int) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    made.settimeout(10)
    made.connect(("127.0.0.1", port))
    return made


def rest(client: socket.socket) -> int:
    """Return how many bytes still come until the connection is cut."""
    taken = 0
    with suppress(ConnectionResetError):
        while data := client.recv(1 << 20):
            taken += len(data)
    return taken


@pytest.mark.parametrize("begun", [b"", b"GET /large HTTP/1.1\r\nHost: a\r\nX-A: "])
def test_who_does_not_finish_the_headers_is_cut(port: int, begun: bytes) -> None:
    with connected(port) as client:
        client.sendall(begun)
        with suppress(BrokenPipeError, ConnectionResetError):
            while begun:
                client.sendall(b"a")  # a little is not enough
                time.sleep(0.02)
        assert rest(client) == 0


def test_who_sends_headers_without_end_is_cut(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linnet.serve.server.HEAD", 60)
    sent = 0
    with connected(port) as client, suppress(BrokenPipeError, ConnectionResetError):
        client.sendall(b"GET /none HTTP/1.1\r\nHost: a\r\n")
        while sent < 50_000_000:
            client.sendall(b"X-A: a\r\n" * 5_000)
            sent += 40_000
    assert sent < 20_000_000  # what the system keeps of it by itself
    with connected(port) as client:
        client.sendall(b"GET /none HTTP/1.1\r\nHost: a\r\nX-A: " + b"a" * 60_000 + b"\r\n\r\n")
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert answer.status == 404


def test_who_does_not_finish_a_second_request_is_cut(port: int) -> None:
    with connected(port) as client:
        client.sendall(b"GET /none HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert (answer.status, bool(answer.read())) == (404, True)
        client.sendall(b"GET /large HT")
        began = time.monotonic()
        assert rest(client) == 0
        assert time.monotonic() - began < 4  # uvicorn itself waits for 5 seconds where nothing has begun


def test_who_takes_nothing_of_an_answer_is_cut(port: int) -> None:
    with connected(port) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        end = time.monotonic() + 30
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while time.monotonic() < end:
                client.sendall(b"\r\n")  # an empty line before a request means nothing
                time.sleep(0.05)
        assert rest(client) < SIZE


@pytest.mark.slow
def test_who_takes_an_answer_slowly_gets_all_of_it(port: int) -> None:
    with connected(port) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        answer = http.client.HTTPResponse(client)
        answer.begin()
        left, pauses = SIZE, 0
        while left:
            left -= len(answer.read(3_000_000))
            time.sleep(0.1)
            pauses += 1
        assert pauses * 0.1 > 0.6  # longer than it may rest
