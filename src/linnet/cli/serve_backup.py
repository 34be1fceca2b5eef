"""``linnet serve backup`` and ``linnet serve restore``: the whole workbench in one file, and back."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated

import typer

from linnet.cli.common import Database, DataFolder, Quiet, Verbose, file_size, listen
from linnet.cli.terminal import say

__all__ = ["backup", "restore"]


def backup(
    archive: Annotated[Path, typer.Argument(metavar="FILE", help="Zip file to make; it must not exist yet.")],
    data: DataFolder,
    database: Database = None,
    with_kb: Annotated[
        bool, typer.Option("--with-kb", help="Take the projects' knowledge bases too, not only names and versions.")
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write the whole workbench into one file, while people work: all that was saved before this began is in it.

    The file holds texts, names and hashes of passwords: keep it as you keep those. PostgreSQL needs pg_dump.
    """
    listen(quiet=quiet, verbose=verbose)
    importlib.import_module("linnet.annotate.store")  # says which extra is missing
    from linnet.annotate.backup import back_up  # noqa: PLC0415 - all other commands do without the extra `serve`

    made = back_up(archive, data, database, kbs=with_kb)
    if not quiet:
        say(f"{archive}: {file_size(archive)}, files: {len(made.files):,}, up to event {made.events:,} of {made.made}")


def restore(
    archive: Annotated[Path, typer.Argument(metavar="FILE", help="What `linnet serve backup` has made.")],
    data: Annotated[Path, typer.Option(help="Folder to make, new or empty.")],
    database: Annotated[
        str | None, typer.Option(help="Empty PostgreSQL database, for a backup of one: postgresql://user@host/name.")
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Make a workbench from a backup: checksums and chains of events are checked, older tables brought up to date.

    All browsers have to sign in again. What was erased, disabled or taken back after the backup is there again: do so
    once more. Restore only files that you trust as you trust the one who runs the server. PostgreSQL needs pg_restore.
    """
    listen(quiet=quiet, verbose=verbose)
    importlib.import_module("linnet.annotate.store")  # says which extra is missing
    from linnet.annotate.restore import restore as make  # noqa: PLC0415 - as above

    made = make(archive, data, database)
    if not quiet:
        say(f"{data}: the workbench of {made.made}, up to event {made.events:,}; start it with linnet serve")
