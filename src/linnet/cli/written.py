"""What ``linnet link`` wrote: so that it replaces its own files, and none that somebody has changed since.

``LINNET_HOME/written`` has a checksum of everything that was written, one a line, without names or places. So a file
may be moved or renamed; what came from another machine is refused like what another program wrote.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from pathlib import Path

from linnet.errors import FormatError, LinnetError
from linnet.home import home, writable
from linnet.text.files import STDIO

__all__ = ["refuse_changed", "remember"]

logger = logging.getLogger(__name__)


def refuse_changed(*paths: str | Path | None, overwrite: bool = False) -> None:
    """Refuse to replace a file that does not hold what Linnet last wrote; empty ones hold nothing to lose.

    Args:
        paths: what is to be written.
        overwrite: replace it whatever it holds.

    Raises:
        FormatError: such a file.
    """
    there = [path for path in _files(paths) if path.stat().st_size]
    if overwrite or not there:
        return
    try:
        known = set(_list().read_text(encoding="ascii", errors="replace").split())
    except OSError:
        known = set()
    for path in there:
        if _checksum(path) not in known:
            problem = "is there already, and was changed since Linnet wrote it, or is another's"
            raise FormatError(path, f"{problem}: give another name, or replace it with --overwrite")


def remember(*paths: str | Path | None) -> None:
    """Note what was written to files, so that it may be replaced; what cannot be noted needs ``--overwrite`` later."""
    sums = [_checksum(path) for path in _files(paths)]
    if not sums:
        return
    try:
        writable(home())
        with _list().open("a", encoding="ascii") as out:
            # a full disk may have taken half of the last line: nothing must be written behind it
            out.write("\n".join(["", *sums, ""]))
    except (OSError, LinnetError) as error:
        logger.info("to replace what was written, --overwrite will be needed: it cannot be noted: %s", error)


def _files(paths: Iterable[str | Path | None]) -> list[Path]:
    return [Path(path) for path in paths if path and str(path) != STDIO and Path(path).is_file()]


def _list() -> Path:
    return home() / "written"


def _checksum(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror}; replace it with --overwrite") from error
