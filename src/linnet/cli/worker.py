"""``linnet worker``: trainings, predictions and exports of the annotation workbench, in a process of their own."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from linnet.cli.common import Database, DataFolder, Quiet, Verbose, listen
from linnet.errors import LinnetError

if TYPE_CHECKING:
    from linnet.annotate.worker import Worker

__all__ = ["worker"]

logger = logging.getLogger(__name__)

NICE = 10  # how much others come first


def worker(
    data: DataFolder,
    database: Database = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Kinds of jobs to do: train, predict, export. Default: all.")
    ] = None,
    beside: Annotated[
        bool,
        typer.Option("--beside", hidden=True, help="Stop when standard input ends, and let the server come first."),
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Do the jobs of the annotation workbench until stopped; several workers share them."""
    from linnet.annotate.store import check_there, open_store  # noqa: PLC0415 - all others do without the extra
    from linnet.annotate.worker import KINDS, Worker  # noqa: PLC0415 - as above

    listen(quiet=quiet, verbose=verbose)
    kinds = tuple(only or KINDS)
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise LinnetError(f"--only {unknown[0]}: there is no such kind of job; there are {', '.join(KINDS)}")
    if database is None:
        check_there(data)
    made = Worker(open_store(data if database is None else database), data, kinds=kinds)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: _stop(made, number))
    if beside:
        _stay_beside(made)
    logger.info("worker %s: waiting for %s", made.name, ", ".join(kinds))
    made.run()


def _stay_beside(made: Worker) -> None:
    """Stop when the server beside it is gone, and take no processor time that it needs."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1):  # not by sys.stdin, whose lock would be held when Python ends
            pass
        made.stop()

    threading.Thread(target=wait, name="server", daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(NICE)


def _stop(made: Worker, number: int) -> None:
    """Leave at the next step; a second signal ends the process at once, and another worker goes on."""
    signal.signal(number, signal.SIG_DFL)
    logger.info("stopping at the next step; a job that is not done is queued again")
    made.stop()
