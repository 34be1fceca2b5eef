"""The command line: ``linnet COMMAND …``. Errors a user can mend go to stderr in one sentence, with exit code 2."""

from __future__ import annotations

import io
import signal
import sys
from typing import Any, NoReturn

__all__ = ["clean", "main", "say", "stop"]

INTERRUPTED, TERMINATED = 130, 143
RESUMING = ("train", "tune", "reproduce")
MESSAGE = "linnet: interrupted: files are written whole or not at all; what went to standard output is incomplete"
GOES_ON = (
    "linnet: interrupted: the same command goes on from what is finished, and from the last checkpoint of the rest"
)


def main() -> None:
    """Run the command line; the console script's entry point."""
    signal.signal(signal.SIGTERM, _terminate)
    if sys.stderr is None:  # closed by whoever started us
        sys.stderr = io.StringIO()
    try:
        # imported here, so that Ctrl-C in the first moments is answered like any other
        from linnet.cli.main import run  # noqa: PLC0415

        run()
    except KeyboardInterrupt:
        stop(_message(), INTERRUPTED)
    except MemoryError as error:
        what = f" ({error})" if str(error) else ""
        stop(f"linnet: error: there is not enough memory{what}: give more, or shorter texts and smaller files", 2)
    except SystemExit as ended:
        if ended.code in (INTERRUPTED, TERMINATED):  # the first is what Typer makes of Ctrl-C
            stop(_message(), ended.code)
        raise


def _message() -> str:
    return GOES_ON if sys.argv[1:2] and sys.argv[1] in RESUMING else MESSAGE


def _terminate(_number: int, _frame: Any) -> NoReturn:
    """Turn SIGTERM into an ordinary exit, so that half-written files are cleared away."""
    sys.exit(TERMINATED)


def stop(message: str, code: int) -> NoReturn:
    """Print `message` to stderr and leave."""
    say(message, error=True)
    sys.exit(code)


def say(message: str, *, error: bool = False) -> None:
    """Print a message, whatever file names, ids and values it holds, to stdout or stderr."""
    print(clean(message), file=sys.stderr if error else sys.stdout)


def clean(text: str) -> str:
    r"""Return `text` without characters that could move a terminal's cursor or switch its colours.

    A line break stays only before two blanks, as in our own lists: nothing can begin a line as a message does.

    >>> clean("a\x1b[31mb\nlinnet: error"), clean("2 problems\n  one")
    ('a [31mb linnet: error', '2 problems\n  one')
    """
    parts = text.split("\n  ")
    return "\n  ".join("".join(c if c.isprintable() else " " for c in part) for part in parts)
