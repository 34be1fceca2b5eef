"""Files that another process writes to while they are read: half of what is read would be old, half new."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO

from linnet.errors import FormatError

__all__ = ["unchanged"]

CHANGED = "was changed while it was read: read it again, or a copy of it"


@contextlib.contextmanager
def unchanged(raw: BinaryIO, path: str | Path) -> Generator[None, None, None]:
    """Watch an open file while it is read.

    Raises:
        FormatError: its size or time is another in the end; what was wrong with its content then is said as well.
    """
    before = _state(raw)
    try:
        yield
    except FormatError as error:
        if _state(raw) != before:
            raise FormatError(path, f"{CHANGED}; before that: {error.problem}", line=error.line) from error
        raise
    if _state(raw) != before:
        raise FormatError(path, CHANGED)


def _state(raw: BinaryIO) -> tuple[int, int]:
    found = os.fstat(raw.fileno())
    return found.st_size, found.st_mtime_ns
