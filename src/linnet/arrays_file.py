"""Named arrays in one memory-mapped file, such as those that stand beside a knowledge base (`linnet.kb.side_files`).

A file begins with a line that says what it is and a line with the place of its header; then come the arrays, each at a
multiple of 64 bytes, then the header, JSON: ``arrays`` (name → place, length, NumPy's name of the type) and whatever
else the writer tells, and at the end a checksum of all before it. It is written aside and renamed, so that it is there
in full or not at all. The checksum is compared whenever the file is opened; what is cut short, damaged or something
else is as good as none: whoever asks for it builds it again.
"""

from __future__ import annotations

import json
import logging
import mmap
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from linnet.checksums import SEAL, is_sealed, seal
from linnet.errors import KnowledgeBaseError
from linnet.home import permit, sweep
from linnet.reporter import warn

__all__ = ["ArraysWriter", "Stored", "kept", "open_arrays", "read_header", "replaced"]

logger = logging.getLogger(__name__)

T = TypeVar("T")
ALIGN = 64
DIGITS = 20  # of the place of the header
OURS = b"linnet "  # how every first line begins


class Stored(NamedTuple):
    """What a file holds: arrays by name, read-only and memory-mapped, and everything in its header."""

    arrays: dict[str, npt.NDArray[Any]]
    header: dict[str, Any]


def open_arrays(path: Path, magic: bytes, *, names: Iterable[str]) -> Stored | None:
    """Return what the file `path` holds, None if there is none, or it is cut short, damaged or something else.

    Of one that is cut short or damaged the log tells.

    Args:
        path: the file.
        magic: the line it begins with, line break included.
        names: arrays that it must hold.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(magic)) != magic:
                return None
            if not is_sealed(file):
                logger.warning("%s: damaged, cut short or of an earlier format: it is built again", path)
                return None
            file.seek(len(magic))
            file.seek(int(file.read(DIGITS)))
            stored = _map(file, json.loads(file.read()[:-SEAL]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return stored if stored.arrays.keys() >= set(names) else None


def read_header(path: Path) -> dict[str, Any] | None:
    """Return what the header of a file tells, whatever arrays it holds; None of one that has none.

    Nothing else of it is read: it may be damaged all the same.
    """
    try:
        with path.open("rb") as file:
            if not file.readline(ALIGN).startswith(OURS):
                return None
            file.seek(int(file.read(DIGITS)))
            header = json.loads(file.read()[:-SEAL])
    except (OSError, ValueError, RecursionError):
        return None
    return header if isinstance(header, dict) else None


def _map(file: IO[bytes], header: dict[str, Any]) -> Stored:
    buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    places = header["arrays"].items()
    return Stored(
        {name: np.frombuffer(buffer, np.dtype(kind), count, place) for name, (place, count, kind) in places}, header
    )


class ArraysWriter:
    r"""Writes arrays to an empty file that is open for reading and writing, and opens them there.

    Args:
        file: as `kept` and `replaced` give it.
        magic: the line it shall begin with, line break included.

    >>> with tempfile.TemporaryFile() as file:
    ...     writer = ArraysWriter(file, b"numbers\n")
    ...     writer.put("squares", np.arange(4) ** 2)
    ...     stored = writer.finish({"tag": "v1"})
    >>> stored.arrays["squares"].tolist(), stored.header["tag"]
    ([0, 1, 4, 9], 'v1')
    """

    def __init__(self, file: IO[bytes], magic: bytes) -> None:
        self.file, self._magic = file, magic
        self._arrays: dict[str, tuple[int, int, str]] = {}
        self._end = file.write(magic + b" " * DIGITS + b"\n")
        self._align()

    def put(self, name: str, values: npt.NDArray[Any]) -> None:
        """Write an array of one dimension."""
        self.file.write(np.ascontiguousarray(values).view(np.uint8).data)
        self.claim(name, values.dtype)

    def claim(self, name: str, kind: npt.DTypeLike) -> None:
        """Make an array of what was written to ``file`` since the last one."""
        kind = np.dtype(kind)
        self._arrays[name] = (self._end, (self.file.tell() - self._end) // kind.itemsize, kind.str)
        self._align()

    def _align(self) -> None:
        self.file.write(b"\0" * (-self.file.tell() % ALIGN))
        self._end = self.file.tell()

    def finish(self, header: dict[str, Any]) -> Stored:
        """Write the header with the places of the arrays, and open the file."""
        header = {**header, "arrays": self._arrays}
        self.file.write(json.dumps(header).encode())
        self.file.seek(len(self._magic))
        self.file.write(b"%*d" % (DIGITS, self._end))
        seal(self.file)
        self.file.flush()
        return _map(self.file, header)


# --- where files are -------------------------------------------------------------------------------------------------


def kept(path: Path, write: Callable[[IO[bytes]], T], *, what: str) -> T:
    """Return what `write` makes of the file `path`, which it replaces.

    Where the folder cannot be written to, it is made of a temporary file instead, with a warning.

    Args:
        path: the file.
        write: given an empty file open for reading and writing; may be called twice.
        what: what it is, for messages.

    Raises:
        KnowledgeBaseError: it cannot be written anywhere.
    """
    try:
        return replaced(path, write)
    except OSError as error:
        warn(f"{path.parent} cannot be written to ({error.strerror}): the {what} is built again each time")
    try:
        with tempfile.TemporaryFile() as file:
            return write(file)
    except OSError as error:
        raise KnowledgeBaseError(f"the {what} {path} cannot be written, nor a temporary file: {error}") from error


def replaced(path: Path, write: Callable[[IO[bytes]], T]) -> T:
    """Return what `write` makes of a new file that takes the name `path` when it is complete.

    What builds that died have left beside it for a day is removed.

    Raises:
        OSError: the folder cannot be written to.
    """
    sweep(path)
    # a file of its own for every build: two processes may build at once, the last rename wins with equal content
    handle, part = tempfile.mkstemp(prefix=path.name, suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            made = write(file)
        if not permit(Path(part), path):
            Path(part).chmod(0o644)
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
    return made
