"""``linnet serve``: the annotation workbench as a server."""

from __future__ import annotations

import logging
from pathlib import Path
from signal import SIGINT
from socket import socket
from typing import Annotated

import typer

from linnet.cli.common import Quiet, Verbose, listen
from linnet.cli.terminal import say
from linnet.errors import MissingExtraError

__all__ = ["serve"]

logger = logging.getLogger(__name__)
GRACE = 10  # seconds that requests under way have when the server is to stop


def serve(
    data: Annotated[Path, typer.Option("--data", help="Folder of the workbench: its database and its models.")],
    database: Annotated[
        str | None, typer.Option(help="URL of a PostgreSQL database instead, as postgresql://user@host/name.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for all of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at.")] = 8421,
    worker: Annotated[
        bool, typer.Option("--worker/--no-worker", help="Train, predict and export in this process too.")
    ] = True,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Serve the annotation workbench; the first start prints a link that sets the first password.

    Behind a proxy that ends TLS, let it send X-Forwarded-Proto, so that cookies are kept to TLS.
    """
    listen(quiet=quiet, verbose=verbose)
    try:
        import uvicorn  # noqa: PLC0415 - of the extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("uvicorn", extra="serve", wanted_by="linnet serve") from error
    from linnet.annotate.api.app import make_app  # noqa: PLC0415 - of the extra
    from linnet.annotate.api.workbench import Settings  # noqa: PLC0415
    from linnet.annotate.signing import first_link  # noqa: PLC0415
    from linnet.annotate.store import open_store  # noqa: PLC0415
    from linnet.annotate.worker import Worker  # noqa: PLC0415

    data.mkdir(parents=True, exist_ok=True, mode=0o700)  # what is inside may be about patients
    store = open_store(database or data)
    try:
        app = make_app(store, Settings(data))
        bench = app.state.workbench
        with store.write() as db:
            link = first_link(db)

        class Server(uvicorn.Server):
            def handle_exit(self, sig: int, frame: object) -> None:  # noqa: ARG002
                # uvicorn would raise the signal again when all is done, as if it had not been
                bench.stopping.set()  # streams of events would go on for ever
                self.force_exit = self.should_exit and sig == SIGINT
                self.should_exit = True

            async def startup(self, sockets: list[socket] | None = None) -> None:
                await super().startup(sockets)
                if self.started:
                    _greet(self, host, link)

        level = "info" if verbose else "warning"
        config = uvicorn.Config(app, host=host, port=port, log_level=level, timeout_graceful_shutdown=GRACE)
        server = Server(config)
        hands = Worker(store, data)
        if worker:
            hands.start()
        try:
            server.run()
        finally:
            hands.stop()
        if not server.started:
            raise typer.Exit(1)
    finally:
        store.close()


def _greet(server: object, host: str, link: str | None) -> None:
    """Print where the workbench is and, until an administrator has a password, the link that sets it."""
    sockets = [one for listening in getattr(server, "servers", ()) for one in listening.sockets]
    port = sockets[0].getsockname()[1] if sockets else 0
    shown = f"[{host}]" if ":" in host else "localhost" if host in ("127.0.0.1", "0.0.0.0") else host  # noqa: S104
    if link is not None:
        say(f"set the first password, once and within a day: http://{shown}:{port}/#link={link}")
    say(f"Linnet listens at http://{shown}:{port}")
