"""Who is told of warnings and of progress while a call runs: the reporter of its thread or task.

Two calls at once each have their own, so that what a server shows to one person is never of another one's texts.
Without any, warnings are Python's, with category `linnet.errors.LinnetWarning`, and progress is not told.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from linnet.errors import LinnetWarning

__all__ = ["Reporter", "reporting", "tell", "warn"]

ROOT = str(Path(__file__).parent)


def _ignore(_what: str, _done: int, _total: int) -> None:
    pass


def _warn(message: str) -> None:
    """Issue a Python warning that names the line outside of Linnet whose call it is about."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(ROOT):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, LinnetWarning, stacklevel=level)


@dataclass(frozen=True)
class Reporter:
    """What is called with news.

    Args:
        progress: what is counted, how many are done, and of how many: ``"pairs", 3, 9``. A network may read one long
            document for minutes, and whoever waits for it wants to see it move.
        warn: a sentence on something odd that was handled by a stated rule.
    """

    progress: Callable[[str, int, int], object] = _ignore
    warn: Callable[[str], object] = _warn


_current: ContextVar[Reporter] = ContextVar("reporter", default=Reporter())  # noqa: B039 - it is frozen


@contextmanager
def reporting(reporter: Reporter) -> Iterator[None]:
    """Let `reporter` hear what is told in this thread or task while the block runs.

    A stream is heard where its documents are taken: take them inside the block.

    >>> with reporting(Reporter(print, print)):
    ...     tell("pairs", 3, 9)
    ...     warn("2 names are too long")
    pairs 3 9
    2 names are too long
    """
    before = _current.set(reporter)
    try:
        yield
    finally:
        _current.reset(before)


def tell(what: str, done: int, total: int) -> None:
    """Tell the reporter that so many of the `total` things called `what` are done."""
    _current.get().progress(what, done, total)


def warn(message: str) -> None:
    """Tell the reporter of something odd that was handled by a stated rule."""
    _current.get().warn(message)
