"""Standard input, which can be read only once: its beginning is looked at and kept for whoever reads it.

One read of a pipe gives what the other program has written so far, a line perhaps; formats are told by more than that.
"""

from __future__ import annotations

import io
import logging
import sys
from dataclasses import dataclass
from typing import BinaryIO, cast
from weakref import WeakKeyDictionary

from linnet.errors import FormatError

__all__ = ["StandardInput", "look_ahead"]

logger = logging.getLogger(__name__)


@dataclass
class _Ahead:
    """What was looked at and not read yet."""

    data: bytes = b""
    ended: bool = False  # a terminal is not asked again: its end is typed once


_ahead: WeakKeyDictionary[BinaryIO, _Ahead] = WeakKeyDictionary()


def look_ahead(size: int) -> bytes:
    """Return the first `size` bytes of standard input, fewer only where it ends, however slowly they come."""
    stream = _open_stream()
    if stream not in _ahead and stream.isatty():
        logger.info("reading a text that is typed: end it with Ctrl-D at the beginning of a line")
    seen = _ahead.setdefault(stream, _Ahead())
    while len(seen.data) < size and not seen.ended:
        more = cast("io.BufferedReader", stream).read1(size - len(seen.data))
        seen.data += more
        seen.ended = not more
    return seen.data[:size]


def _open_stream() -> BinaryIO:
    if sys.stdin is None:  # as `<&-` closes it
        raise FormatError("standard input", "is closed: pipe a text to it, or name a file to read")
    return sys.stdin.buffer


class StandardInput(io.RawIOBase):
    """Standard input from its beginning, as a raw stream that leaves it open when closed."""

    def __init__(self) -> None:
        self._stream = cast("io.BufferedReader", _open_stream())
        self._seen = _ahead.pop(self._stream, _Ahead())

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill `buffer` with what is there already, and return how many bytes; none at the end."""
        view = memoryview(buffer)  # type: ignore[arg-type]
        seen = self._seen
        if seen.data or seen.ended:
            data, seen.data = seen.data[: len(view)], seen.data[len(view) :]
        else:
            data = self._stream.read1(len(view))
        view[: len(data)] = data
        return len(data)
