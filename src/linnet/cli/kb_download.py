"""What ``linnet kb build --download`` adds: terminologies fetched with their progress shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from linnet.cli.common import EVERY
from linnet.errors import LinnetError
from linnet.fetch.file import Progress
from linnet.vocabularies.build import Source
from linnet.vocabularies.download import download

__all__ = ["downloaded"]


def downloaded(
    vocabularies: Sequence[str], files: Sequence[Path], *, urls: Sequence[str], sha256: Sequence[str], quiet: bool
) -> list[Source]:
    """Return the sources of ``--from NAME… --download``, fetched where they have changed.

    Raises:
        LinnetError: no name, files beside it, addresses or checksums for several names, or a download that failed.
    """
    if files:
        raise LinnetError(f"--download fetches the files itself: leave out {' '.join(map(str, files))}, or --download")
    if not vocabularies:
        raise LinnetError("say what to download: --from hpo, mesh, medic, ctd, doid or mondo")
    names = list(dict.fromkeys(vocabularies))
    if len(names) > 1 and (urls or sha256):
        raise LinnetError("--url and --sha256 go with one --from: build the others from files")
    with _shown(quiet=quiet) as begin:
        return [source for name in names for source in download(name, urls=urls, sha256=sha256, progress=begin)]


@contextmanager
def _shown(*, quiet: bool) -> Iterator[Callable[[str], Progress] | None]:
    """Give what is called with each file's name and returns what is told its bytes: a bar on a terminal, else lines."""
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
            task = bars.add_task(name, total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield begin


def _lines(name: str) -> Progress:
    """Return a function that prints a line, but not more often than `EVERY` seconds, and one at the end."""
    said = time.monotonic()

    def say(done: int, total: int | None) -> None:
        nonlocal said
        if time.monotonic() - said >= EVERY or done == total:
            said = time.monotonic()
            whole = "" if total is None else f" of {total / 1e6:,.1f}"
            print(f"linnet: {name}: {done / 1e6:,.1f}{whole} MB fetched", file=sys.stderr)

    return say
