"""A linking server for tests: in a thread, at a free port of this machine; or as a process, as anybody starts it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import fastapi

from linnet.serve.server import Server, bind


@contextmanager
def running(app: fastapi.FastAPI, port: int = 0) -> Iterator[int]:
    """Serve an application in a thread, and yield its port."""
    started, found = threading.Event(), list[int]()

    def greet(port: int) -> None:
        found.append(port)
        started.set()

    with bind("127.0.0.1", port) as sockets:
        server = Server(app, greet, stop=lambda: None)
        thread = threading.Thread(target=server.run, args=(sockets,))
        thread.start()
        try:
            assert started.wait(30)
            yield found[0]
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


@contextmanager
def serving(*options: object) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run the command, and yield the process and its port."""
    command = [sys.executable, "-m", "linnet", "serve", "--link", *map(str, options), "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        yield process, int(process.stdout.readline().rpartition(":")[2])
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
