"""A server of chat completions on this machine, which answers as a test tells it and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Says: TypeAlias = Callable[[dict[str, Any]], "str | tuple[int, str]"]


class Chat(ThreadingHTTPServer):
    """Answers each request with the text that `says` makes of it, or with a status and a body."""

    daemon_threads = True

    def __init__(self, says: Says) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.says = says
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.location = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Chat
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), request))
        said = self.server.says(request)
        status, body = said if isinstance(said, tuple) else (200, completion(said))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body.encode())))
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def completion(text: str, tokens: int = 50) -> str:
    message = {"role": "assistant", "content": text}
    return json.dumps({"choices": [{"index": 0, "message": message}], "usage": {"total_tokens": tokens}})


@contextmanager
def chatting(says: Says) -> Iterator[Chat]:
    with Chat(says) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
