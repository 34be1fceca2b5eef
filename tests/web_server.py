"""A web server on this machine that does what a test tells it, good and bad."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

Answer: TypeAlias = "Callable[[Handler], None]"


class Server(ThreadingHTTPServer):
    """Answers each path with the first of its answers that is left; the last one stays."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[tuple[str, Message]] = []
        self.lock = threading.Lock()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def say(self, path: str, *answers: Answer) -> str:
        self.answers[path] = list(answers)
        return self.url(path)

    def heads(self, name: str) -> list[str | None]:
        """What the requests so far said in the header `name`."""
        return [head.get(name) for _, head in self.asked]


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.close_connection = True
        with self.server.lock:
            self.server.asked.append((self.path, self.headers))
            answers = self.server.answers.get(self.path, [status(404)])
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
        answer(self)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def begin(self, code: int, length: int | None, **headers: str) -> None:
        self.send_response(code)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Connection", "close")
        self.end_headers()


def status(code: int, body: bytes = b"", **headers: str) -> Answer:
    def answer(handler: Handler) -> None:
        handler.begin(code, len(body), **headers)
        handler.wfile.write(body)

    return answer


def file(body: bytes, *, etag: str = '"one"', modified: str = "", ranges: bool = True, cut: int = 0) -> Answer:
    """A file as good servers give it; with `cut`, the connection ends that many bytes after the beginning."""

    def answer(handler: Handler) -> None:
        asked = handler.headers
        state = {key: value for key, value in (("ETag", etag), ("Last_Modified", modified)) if value}
        unchanged = etag and asked.get("If-None-Match") == etag
        if unchanged or (not etag and modified and asked.get("If-Modified-Since") == modified):
            handler.begin(304, None, **state)
            return
        start = 0
        if ranges and asked.get("Range") and asked.get("If-Range") in (etag, modified):
            start = int(asked["Range"].removeprefix("bytes=").removesuffix("-"))
        if start >= len(body) > 0:
            handler.begin(416, 0, Content_Range=f"bytes */{len(body)}")
            return
        rest = body[start:]
        where = {"Content_Range": f"bytes {start}-{len(body) - 1}/{len(body)}"} if start else {}
        handler.begin(206 if start else 200, len(rest), **where, **state)
        handler.wfile.write(rest[:cut] if cut else rest)

    return answer


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
