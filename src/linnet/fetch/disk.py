"""The disk under a download: one process at a time for each file or folder, and what it refuses put into a sentence."""

from __future__ import annotations

import errno
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from linnet.errors import LinnetError
from linnet.fetch.web import Limits
from linnet.home import hold

__all__ = ["alone", "full", "on_disk"]

POLL = 0.2  # seconds between two looks whether another process is done


@contextmanager
def alone(path: Path, limits: Limits) -> Iterator[None]:
    """Hold the lock of the file or folder `path`, which need not exist, in a folder that does.

    Raises:
        LinnetError: another process holds it for longer than the limits say, or the disk takes no locks.
    """
    lock = path.with_name(f".{path.name}.lock")
    deadline = time.monotonic() + limits.queue
    with on_disk(path):
        try:
            while (held := hold(lock)) is None:
                if time.monotonic() > deadline:
                    raise LinnetError(f"{path}: another process is still fetching it; try again when it is done")
                time.sleep(POLL)  # in short sleeps, not in SQLite, so that Ctrl-C is heard
        except sqlite3.Error as error:
            raise LinnetError(f"{path}: cannot be locked ({error}); set LINNET_HOME to another disk") from error
    with closing(held):
        yield


@contextmanager
def on_disk(path: Path) -> Iterator[None]:
    """Put what the disk refuses into a sentence; faults of the network are no longer OSErrors here.

    Raises:
        LinnetError: what the disk refused, for `path`.
    """
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            raise full(path) from error
        said = getattr(error, "strerror", None) or error
        raise LinnetError(f"{path}: cannot be written ({said}); set LINNET_HOME to another folder") from error


def full(path: Path, needed: str = "") -> LinnetError:
    """Return the error of a disk that has no room for `path`; `needed` says for how much."""
    cure = "make room or set LINNET_HOME to another disk, and run it again: it goes on where it stopped"
    return LinnetError(f"{path}: no space left in {path.parent}{needed}; {cure}")
