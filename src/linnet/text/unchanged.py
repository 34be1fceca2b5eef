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
        FormatError: its size or one of its times is another in the end; what was wrong with its content then is said as
            well.
    """
    before = os.fstat(raw.fileno())
    try:
        yield
    except FormatError as error:
        if _differ(before, os.fstat(raw.fileno())):
            raise FormatError(path, f"{CHANGED}; before that: {error.problem}", line=error.line) from error
        raise
    if _differ(before, os.fstat(raw.fileno())):
        raise FormatError(path, CHANGED)


def _differ(before: os.stat_result, after: os.stat_result) -> bool:
    """Say whether a file was written to. The time of its last change of any kind cannot be set back as the other can.

    It changes too when another file takes this one's name, which leaves what is being read as it is: one name less.
    """
    written = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
    return written or (before.st_ctime_ns != after.st_ctime_ns and before.st_nlink == after.st_nlink)
