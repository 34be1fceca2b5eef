"""``linnet worker``: trainings, predictions and exports of the annotation workbench, in a process of their own."""

from __future__ import annotations

import logging
import signal
from pathlib import Path
from typing import Annotated

import typer

from linnet.annotate.store import open_store
from linnet.annotate.worker import KINDS, Worker
from linnet.cli.common import Quiet, Verbose, listen
from linnet.errors import LinnetError

__all__ = ["worker"]

logger = logging.getLogger(__name__)


def worker(
    data: Annotated[Path, typer.Option(help="Folder of the workbench: its database, models and exports.")],
    database: Annotated[
        str | None, typer.Option(help="PostgreSQL instead of the database in the folder: postgresql://user@host/name.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help=f"Kinds of jobs to do: {', '.join(KINDS)}. Default: all.")
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Do the jobs of the annotation workbench until stopped; several workers share them."""
    listen(quiet=quiet, verbose=verbose)
    kinds = tuple(only or KINDS)
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise LinnetError(f"--only {unknown[0]}: there is no such kind of job; there are {', '.join(KINDS)}")
    made = Worker(open_store(data if database is None else database), data, kinds=kinds)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: _stop(made, number))
    logger.info("worker %s: waiting for %s", made.name, ", ".join(kinds))
    made.run()


def _stop(made: Worker, number: int) -> None:
    """Leave at the next step; a second signal ends the process at once, and another worker goes on."""
    signal.signal(number, signal.SIG_DFL)
    logger.info("stopping at the next step; a job that is not done is queued again")
    made.stop()
