"""Options, messages and progress bars that the commands share."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from linnet import __version__
from linnet.cli.terminal import clean
from linnet.errors import LinnetError
from linnet.reporter import Reporter

__all__ = [
    "TERMINAL",
    "App",
    "AsJson",
    "Corpora",
    "DataFolder",
    "Database",
    "Docs",
    "Group",
    "Metrics",
    "Quiet",
    "Verbose",
    "check_docs",
    "counter",
    "file_size",
    "how_far",
    "listen",
    "progress",
    "say_lost",
    "show_progress",
    "show_version",
    "table",
]

logger = logging.getLogger(__name__)

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])
EVERY = 10.0  # seconds between lines of progress

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")]
Metrics = Annotated[Path | None, typer.Option(help="Also write the seconds of each step and part as CSV.")]
DataFolder = Annotated[Path, typer.Option("--data", help="Folder of the workbench: its database, models and exports.")]
Database = Annotated[
    str | None, typer.Option(help="PostgreSQL instead of the database in the folder: postgresql://user@host/name.")
]
Corpora = Annotated[
    Path | None,
    typer.Option("--data", envvar="LINNET_DATA", help="Folder of corpora and terminologies.", show_default=False),
]
Docs = Annotated[Path | None, typer.Option(help="Markdown file: writes the rows into its generated table.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON Lines instead of a table.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show more messages.")]


def check_docs(docs: Path | None) -> None:
    """Refuse a page that is not there before anything is measured for it.

    Raises:
        LinnetError: there is no such file.
    """
    if docs is not None and not docs.is_file():
        raise LinnetError(f"--docs {docs}: no such file; give an existing Markdown file")


class App(typer.Typer):
    """Commands that refuse an option given twice which takes one value: the last one would be taken silently."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Command], Command]:
        """Register a command, as `typer.Typer.command` does."""
        return super().command(name, cls=_Once, **settings)


class _Once(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _refuse_twice(self, ctx, args)
        return super().parse_args(ctx, args)


class Group(TyperGroup):
    """The same for a command that does something itself and has others below it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the name of a command below."""
        _refuse_twice(self, ctx, args)
        return super().parse_args(ctx, args)


def _refuse_twice(command: Any, ctx: Any, args: list[str]) -> None:
    values, _rest, order = command.make_parser(ctx).parse_args(list(args))
    for option, count in Counter(order).items():
        if count > 1 and isinstance(option, TyperOption) and not (option.multiple or option.is_flag):
            many = f"was given {count}, the last {values[option.name]!r}"
            raise LinnetError(f"{option.opts[0]} takes one value but {many}: give it once")


def show_version(value: bool) -> None:
    """Print the version and leave, when asked."""
    if value:
        print(f"linnet {__version__}")
        raise typer.Exit


def listen(*, quiet: bool, verbose: bool) -> None:
    """Send the messages and warnings of Linnet to stderr, at the chosen level."""
    level = logging.ERROR if quiet else logging.DEBUG if verbose else logging.INFO
    logger = logging.getLogger("linnet")
    logger.handlers = [logging.StreamHandler(sys.stderr)]
    logger.handlers[0].setFormatter(_Clean("linnet: %(message)s"))
    logger.setLevel(level)


class _Clean(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return clean(super().format(record))


_shown: list[Callable[[str, int, int], None]] = []  # what is on the terminal just now, and says how far long steps are


def _send_progress(*news: Any) -> None:
    for show in tuple(_shown):
        show(*news)


TERMINAL = Reporter(_send_progress, lambda message: logging.getLogger("linnet").warning("warning: %s", message))


@contextmanager
def show_progress(show: Callable[[str, int, int], None]) -> Iterator[None]:
    """Let what is on the terminal hear of progress; not in the context, which a generator would leave behind."""
    _shown.append(show)
    try:
        yield
    finally:
        _shown.remove(show)


@contextmanager
def counter(
    what: str, *, total: int | None = None, before: int = 0, quiet: bool = False
) -> Iterator[Callable[[int], None]]:
    """Give a function to call with the number done; stderr shows a bar on a terminal, lines elsewhere.

    So many were done `before`: they count, but not in the rate.
    """
    if quiet:
        yield lambda _count: None
    elif sys.stderr.isatty():
        with _bar(what, total, before) as count:
            yield count
    else:
        lines = _Lines(what, before)
        with show_progress(lines.within):
            yield lines


def progress(
    items: Iterable[T], *, what: str, total: int | None = None, before: int = 0, quiet: bool = False
) -> Iterator[T]:
    """Yield `items` while stderr shows how many are done, with those of `before`."""
    with counter(what, total=total, before=before, quiet=quiet) as count:
        for number, item in enumerate(items, before + 1):
            yield item
            count(number)


@contextmanager
def _bar(what: str, total: int | None, before: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console  # noqa: PLC0415 - imported by those who see it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    rate, within = TextColumn("{task.fields[rate]}"), TextColumn("{task.fields[within]}")
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn(), within)
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=total, completed=before, rate="", within="")
    start = time.monotonic()

    def show(**fields: Any) -> None:
        bar.start()  # not before there is news: what comes first may be typed at this terminal
        bar.update(task, **fields)

    try:
        with show_progress(lambda *told: show(within=how_far(*told))):
            yield lambda count: show(completed=count, rate=_rate(count - before, start))
    finally:
        bar.stop()


class _Lines:
    """Prints a line on what is done, but not more often than `EVERY` seconds."""

    def __init__(self, what: str, before: int) -> None:
        self.what, self.before, self.count = what, before, before
        self.start = self.said = time.monotonic()

    def __call__(self, count: int) -> None:
        self.count = count
        self._say(_rate(count - self.before, self.start))

    def within(self, what: str, done: int, total: int) -> None:
        """Say how far the next ones are, which take long."""
        self._say(how_far(what, done, total))

    def _say(self, more: str) -> None:
        now = time.monotonic()
        if now - self.said >= EVERY:
            self.said = now
            print(", ".join(filter(None, (f"linnet: {self.what}: {self.count:,} done", more))), file=sys.stderr)


def _rate(count: int, start: float) -> str:
    rate = count / max(time.monotonic() - start, 1e-9)
    return f"{rate:,.0f}/s" if rate >= 10 or not count else f"{rate:.2g}/s"


def how_far(what: str, done: int, total: int) -> str:
    """Say how far a long step is; nothing once it is done."""
    return "" if done == total else f"{done:,} of {total:,} {what}"


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]], *, right: Iterable[int] = ()) -> None:
    """Print a table to stdout; the columns `right` are numbers. Cells are shown as they are, never as markup."""
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    numbers = set(right)
    made = Table(title=Text(clean(title)) if title else None, title_justify="left", header_style="bold")
    for index, column in enumerate(columns):
        made.add_column(Text(clean(column)), justify="right" if index in numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(clean(str(cell))) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 120)
    console.print(made)


def say_lost(dropped: Mapping[str, int], format: str) -> None:
    """Warn of what a format could not hold, with counts by kind."""
    if dropped:
        named = ", ".join(f"{kind} ({count:,})" for kind, count in sorted(dropped.items()))
        logger.warning("%s cannot hold, and was not given: %s", format, named)


def file_size(path: Path) -> str:
    """Return the size of a file for people."""
    return f"{path.stat().st_size / 1e6:,.1f} MB"
