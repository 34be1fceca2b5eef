"""``linnet serve``: the annotation workbench as a server."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from linnet.cli.common import Quiet, Verbose, listen
from linnet.cli.terminal import say

__all__ = ["serve"]

logger = logging.getLogger(__name__)

PATIENCE = 5  # seconds that a worker may take to come to its next step when the server ends
AGAIN = 1.0  # seconds until a worker that died is replaced


def serve(
    data: Annotated[Path, typer.Option("--data", help="Folder of the workbench: its database, models and exports.")],
    database: Annotated[
        str | None, typer.Option(help="PostgreSQL instead of the database in the folder: postgresql://user@host/name.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for all of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at.")] = 8421,
    worker: Annotated[
        bool, typer.Option("--worker/--no-worker", help="Train, predict and export too, in a process beside it.")
    ] = True,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Serve the annotation workbench; the first start prints a link that sets the first password.

    Behind a proxy that ends TLS, let it send X-Forwarded-Proto, so that cookies are kept to TLS.
    """
    listen(quiet=quiet, verbose=verbose)
    from linnet.annotate.api.app import make_app  # noqa: PLC0415 - all other commands do without the extra `serve`
    from linnet.annotate.api.server import Server  # noqa: PLC0415 - as above
    from linnet.annotate.api.workbench import Settings  # noqa: PLC0415 - as above
    from linnet.annotate.signing import first_link  # noqa: PLC0415 - as above
    from linnet.annotate.store import open_store  # noqa: PLC0415 - as above

    data.mkdir(parents=True, exist_ok=True, mode=0o700)  # what is inside may be about patients
    store = open_store(database or data)
    said = ["--quiet"] * quiet + ["--verbose"] * verbose + ([] if database is None else ["--database", database])
    try:
        with store.write() as db:
            link = first_link(db)
        server = Server(make_app(store, Settings(data)), host, port, partial(_greet, host, link), chatty=verbose)
        with _worker(["--data", str(data), *said]) if worker else nullcontext():
            server.run()
        if not server.started:
            raise typer.Exit(1)
    finally:
        store.close()


@contextmanager
def _worker(options: Sequence[str]) -> Iterator[None]:
    """Keep a worker beside the server: in the same process, a training would hold up every request.

    Its standard input ends with this process, however that ends, and it stops then.
    """
    stopping, running = threading.Event(), list[subprocess.Popen[bytes]]()
    starting = threading.Lock()

    def keep() -> None:
        while not stopping.is_set():
            with starting:
                if stopping.is_set():
                    return
                command = [sys.executable, "-m", "linnet", "worker", "--beside", *options]
                running[:] = [subprocess.Popen(command, stdin=subprocess.PIPE)]  # noqa: S603 - ourselves
            code = running[0].wait()
            if not stopping.wait(AGAIN):
                logger.warning("the worker has ended with exit code %d: starting another one", code)

    thread = threading.Thread(target=keep, name="worker", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        with starting:
            for process in running:
                _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:  # another worker goes on with its job
        process.kill()
        process.wait()


def _greet(host: str, link: str | None, port: int) -> None:
    """Print where the workbench is and, until an administrator has a password, the link that sets it."""
    shown = f"[{host}]" if ":" in host else "localhost" if host in ("127.0.0.1", "0.0.0.0") else host  # noqa: S104
    if link is not None:
        say(f"set the first password, once and within a day: http://{shown}:{port}/#link={link}")
    say(f"Linnet listens at http://{shown}:{port}")
