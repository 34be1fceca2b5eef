"""``linnet serve``: the annotation workbench as a server, or linking; below it what is done to a whole workbench."""

from __future__ import annotations

import importlib
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnet.cli.common import App, Database, Quiet, Verbose, listen
from linnet.cli.serve_backup import backup, restore
from linnet.cli.serve_demo import check_sockets, demo_folder
from linnet.cli.serve_link import (
    Asked,
    Everybody,
    Kbs,
    KeysFile,
    LongestText,
    ServeGroup,
    Sources,
    Timeout,
    Workers,
    serve_link,
    shown_address,
)
from linnet.cli.terminal import say
from linnet.errors import LinnetError

if TYPE_CHECKING:
    from linnet.annotate.api.workbench import Settings
    from linnet.annotate.oidc import OidcSettings
    from linnet.pipeline import Pipeline

__all__ = ["app"]

app = App(cls=ServeGroup, subcommand_metavar="[backup | restore]", add_completion=False)
app.command("backup")(backup)
app.command("restore")(restore)

logger = logging.getLogger(__name__)

PATIENCE = 5  # seconds that a worker may take to come to its next step when the server ends
AGAIN = 1.0  # seconds until a worker that died is replaced


Data = Annotated[
    Path | None,
    typer.Option(help="Folder of the workbench: its database, models and exports. Needed without --link or --demo."),
]
Host = Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for all of this machine.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at.")]
Beside = Annotated[
    bool, typer.Option("--worker/--no-worker", help="Also start a process that trains, predicts and exports.")
]
OidcFile = Annotated[
    Path | None,
    typer.Option(
        help="TOML file of a provider that people sign in at (OpenID Connect): issuer, client_id, url of this "
        "workbench; client_secret there or in LINNET_OIDC_SECRET."
    ),
]
OidcCreate = Annotated[bool, typer.Option("--oidc-create", help="Let in who was not invited, as users without rights.")]
Demo = Annotated[
    bool,
    typer.Option(
        "--demo",
        help="A workbench to try: a project with notes and the HPO, without passwords, for this machine alone. "
        "Its folder is under LINNET_HOME unless --data names one.",
    ),
]


@app.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    data: Data = None,
    database: Database = None,
    host: Host = "127.0.0.1",
    port: Port = 8421,
    worker: Beside = True,
    oidc: OidcFile = None,
    oidc_create: OidcCreate = False,
    demo: Demo = False,
    link: Sources = None,
    kb: Kbs = None,
    api_keys: KeysFile = None,
    without_keys: Everybody = False,
    workers: Workers = 1,
    max_text: LongestText = 1_000_000,
    timeout: Timeout = 60.0,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Serve the annotation workbench, or with --link a service that links texts that programs send over HTTP.

    The first start of a workbench prints a link that sets the first password. Behind a proxy that ends TLS, let it
    send X-Forwarded-Proto, so that cookies are kept to TLS.
    """
    if context.invoked_subcommand is not None:
        if data is not None or database is not None or demo or link:
            raise LinnetError(f"options stand behind the command: linnet serve {context.invoked_subcommand} --data ...")
        return
    linking = Asked.of(link, kb, api_keys, without_keys, workers, max_text, timeout)
    data = demo_folder(data) if demo else data
    if linking is not None and data is None:
        _refuse_beside(database, oidc)
        listen(quiet=quiet, verbose=verbose)
        serve_link(linking, host, port, quiet=quiet, verbose=verbose)
        return
    if data is None:
        raise LinnetError(
            "name the folder of the workbench, linnet serve --data FOLDER, or try one: linnet serve --demo; "
            "linnet serve --link serves linking alone"
        )
    _check_provider(oidc, create=oidc_create, demo=demo)
    listen(quiet=quiet, verbose=verbose)
    for module in ("linnet.annotate.store", "linnet.annotate.api.app"):  # say which part of the extra is missing
        importlib.import_module(module)
    from linnet.annotate.api.workbench import Settings  # noqa: PLC0415 - all other commands do without the extra

    settings = Settings(data, oidc=None if oidc is None else _provider(oidc, oidc_create), demo=demo)
    said = ["--quiet"] * quiet + ["--verbose"] * verbose + ([] if database is None else ["--database", database])
    hands = _worker(["--data", str(data), *said]) if worker else nullcontext()
    _serve_workbench(settings, database, host, port, hands, linking, verbose=verbose)


def _serve_workbench(
    settings: Settings,
    database: str | None,
    host: str,
    port: int,
    hands: AbstractContextManager[None],
    linking: Asked | None,
    *,
    verbose: bool,
) -> None:
    from linnet.serve.server import bind  # noqa: PLC0415 - as above

    pipelines = linking.pipelines() if linking is not None else {}
    with bind(host, port) as sockets:  # before anything is made or started
        if settings.demo:
            check_sockets(host, sockets)
        _serve(settings, database, host, sockets, hands, pipelines, verbose=verbose)


def _refuse_beside(database: str | None, oidc: Path | None) -> None:
    if database is not None or oidc is not None:
        raise LinnetError("--database and --oidc are of the workbench: name its folder with --data, or leave them out")


def _check_provider(oidc: Path | None, *, create: bool, demo: bool) -> None:
    if create and oidc is None:
        raise LinnetError("--oidc-create says whom a provider may let in: name its file with --oidc")
    if demo and oidc is not None:
        raise LinnetError("--demo has one user, who needs no password: leave out --oidc")


def _provider(path: Path, create: bool) -> OidcSettings:
    from linnet.annotate.oidc import read_settings  # noqa: PLC0415 - as above

    return read_settings(path, create=create)


def _serve(
    settings: Settings,
    database: str | None,
    host: str,
    sockets: list[socket.socket],
    hands: AbstractContextManager[None],
    pipelines: Mapping[str, Pipeline],
    *,
    verbose: bool,
) -> None:
    """Serve until a signal comes, with a worker beside."""
    from linnet.annotate.api.app import make_app  # noqa: PLC0415 - all other commands do without the extra `serve`
    from linnet.annotate.demo import make_demo  # noqa: PLC0415 - as above
    from linnet.annotate.signing import first_link  # noqa: PLC0415 - as above
    from linnet.annotate.store import make_folder, open_store  # noqa: PLC0415 - as above
    from linnet.serve.linking import Linking  # noqa: PLC0415 - as above
    from linnet.serve.server import Server  # noqa: PLC0415 - as above

    data, issuer = settings.data, "" if settings.oidc is None else settings.oidc.issuer
    make_folder(data)
    store = open_store(database or data)
    try:
        if settings.demo:
            make_demo(store)
        with store.write() as db:
            link = None if settings.demo else first_link(db, issuer)
        app, greet = make_app(store, settings, Linking(pipelines)), partial(_greet, host, link, demo=settings.demo)
        # streams of events would go on for ever
        server = Server(app, greet, stop=app.state.workbench.stopping.set, chatty=verbose)
        with hands, closing(app.state.linking):
            server.run(sockets)
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


def _greet(host: str, link: str | None, port: int, *, demo: bool = False) -> None:
    """Print where the workbench is and, until an administrator has a password, the link that sets it."""
    where = shown_address(host, port)
    if link is not None:
        say(f"open this once, within a day, to set the first password: {where}/#link={link}")
    say(f"Linnet listens at {where}")
    if demo:
        say("open that address in a browser: the demo asks for no password; Ctrl+C ends it")
