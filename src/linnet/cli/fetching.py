"""Progress of files on their way from the web: a bar on a terminal, else lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from linnet.cli.common import EVERY
from linnet.cli.terminal import clean, say
from linnet.fetch.file import Progress

__all__ = ["fetching"]


@contextmanager
def fetching(*, quiet: bool) -> Iterator[Callable[[str], Progress] | None]:
    """Give a function from a file's name to its progress function: a bar on a terminal, else lines."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bars() as begin:
            yield begin
    else:
        yield _lines


@contextmanager
def _bars() -> Iterator[Callable[[str], Progress]]:
    from rich.console import Console  # noqa: PLC0415 - imported by those who see it
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn  # noqa: PLC0415
    from rich.progress import Progress as Bars  # noqa: PLC0415

    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:

        def begin(name: str) -> Progress:
            task = bars.add_task(clean(name), total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield begin


def _lines(name: str) -> Progress:
    """Return a function that prints a line, but not more often than `EVERY` seconds, and one at the end."""
    said = time.monotonic()

    def tell(done: int, total: int | None) -> None:
        nonlocal said
        if time.monotonic() - said >= EVERY or done == total:
            said = time.monotonic()
            whole = "" if total is None else f" of {total / 1e6:,.1f}"
            say(f"linnet: {name}: {done / 1e6:,.1f}{whole} MB fetched", error=True)

    return tell
