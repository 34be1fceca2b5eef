"""Print a message to the terminal, or print it and exit."""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ["clean", "duration", "say", "stop"]


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


def duration(seconds: float) -> str:
    """Return a duration for people.

    >>> duration(42), duration(150), duration(7_400), duration(400_000)
    ('42 s', '2.5 min', '2.1 h', '4.6 days')
    """
    for unit, name in ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:,.0f} s"
