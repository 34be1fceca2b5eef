"""``linnet serve``: the annotation workbench as a server, and below it what is done to one as a whole."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from linnet.cli.common import App, Group, Quiet, Verbose, listen
from linnet.cli.serve_backup import backup, restore
from linnet.cli.terminal import say
from linnet.errors import LinnetError

__all__ = ["app"]

app = App(cls=Group, subcommand_metavar="[backup | restore]", add_completion=False)
app.command("backup")(backup)
app.command("restore")(restore)


@app.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the workbench: its database, models and exports. Must be given.")
    ] = None,
    database: Annotated[
        str | None, typer.Option(help="PostgreSQL instead of the database in the folder: postgresql://user@host/name.")
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
    if context.invoked_subcommand is not None:
        if data is not None or database is not None:
            raise LinnetError(f"options stand behind the command: linnet serve {context.invoked_subcommand} --data ...")
        return
    if data is None:
        raise LinnetError("name the folder of the workbench: linnet serve --data FOLDER")
    listen(quiet=quiet, verbose=verbose)
    from linnet.annotate.api.app import make_app  # noqa: PLC0415 - all other commands do without the extra `serve`
    from linnet.annotate.api.server import Server  # noqa: PLC0415 - as above
    from linnet.annotate.api.workbench import Settings  # noqa: PLC0415 - as above
    from linnet.annotate.signing import first_link  # noqa: PLC0415 - as above
    from linnet.annotate.store import open_store  # noqa: PLC0415 - as above
    from linnet.annotate.worker import Worker  # noqa: PLC0415 - as above

    data.mkdir(parents=True, exist_ok=True, mode=0o700)  # what is inside may be about patients
    store = open_store(database or data)
    hands = Worker(store, data)
    try:
        with store.write() as db:
            link = first_link(db)
        server = Server(make_app(store, Settings(data)), host, port, partial(_greet, host, link), chatty=verbose)
        if worker:
            hands.start()
        server.run()
        if not server.started:
            raise typer.Exit(1)
    finally:
        hands.stop()
        store.close()


def _greet(host: str, link: str | None, port: int) -> None:
    """Print where the workbench is and, until an administrator has a password, the link that sets it."""
    shown = f"[{host}]" if ":" in host else "localhost" if host in ("127.0.0.1", "0.0.0.0") else host  # noqa: S104
    if link is not None:
        say(f"set the first password, once and within a day: http://{shown}:{port}/#link={link}")
    say(f"Linnet listens at http://{shown}:{port}")
