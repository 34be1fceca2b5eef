"""Bytes that people hand in: standard input, files that change while they are read, bytes that are no text.

Standard input can be read only once: its beginning is looked at and kept for whoever reads it. One read of a pipe gives
what the other program has written so far, a line perhaps; formats are told by more than that.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast
from weakref import WeakKeyDictionary

from linnet.errors import FormatError

__all__ = ["StandardInput", "decode", "look_ahead", "refuse_binary", "refuse_no_text", "refuse_returns", "unchanged"]

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


BINARY = (
    (b"\xff\xfe\x00\x00", "is UTF-32 text, not UTF-8; convert it with: iconv -f UTF-32 -t UTF-8"),
    (b"\x00\x00\xfe\xff", "is UTF-32 text, not UTF-8; convert it with: iconv -f UTF-32 -t UTF-8"),
    (b"\xff\xfe", "is UTF-16 text, not UTF-8; convert it with: iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "is UTF-16 text, not UTF-8; convert it with: iconv -f UTF-16 -t UTF-8"),
    (b"\x1f\x8b", "is packed with gzip twice; unpack it once"),
    (
        b"PK\x03\x04",
        "is a ZIP archive, or a .docx, .odt or .xlsx; unpack it, or save it as plain text (.txt) or CSV, in UTF-8",
    ),
    (b"\xd0\xcf\x11\xe0", "is a file of Word or Excel, not text; save it as plain text (.txt) or CSV, in UTF-8"),
    (b"{\\rtf", "is RTF, not plain text; save it as plain text (.txt, in UTF-8)"),
    (b"%PDF-", "is a PDF, not text; extract its text first, for example with pdftotext"),
    (b"BZh", "is packed with bzip2; unpack it first, or pack it with gzip"),
    (b"\xfd7zXZ\x00", "is packed with xz; unpack it first, or pack it with gzip"),
    (b"\x28\xb5\x2f\xfd", "is packed with zstd; unpack it first, or pack it with gzip"),
    (b"SQLite format 3\x00", "is an SQLite database, not text; `linnet kb export` writes out a knowledge base"),
)


def refuse_binary(head: bytes, path: str) -> None:
    """Refuse a file whose first bytes are those of another encoding or packing.

    Raises:
        FormatError: for `path`, with the way out.

    >>> refuse_binary(b"{", "7.json")
    """
    for magic, problem in BINARY:
        if head.startswith(magic):
            raise FormatError(path, problem)


def decode(data: bytes, path: str, encoding: str, *, offset: int, line: int) -> str:
    """Return the text of `data`, which begins at byte `offset` and in `line` of the file.

    Raises:
        FormatError: NUL bytes or bytes of another encoding, with their offset and line.

    >>> decode("naïve".encode(), "7.txt", "utf-8", offset=0, line=1)
    'naïve'
    """
    nul = data.find(b"\x00")
    if nul >= 0:
        problem = f"holds a NUL byte at offset {offset + nul:,}: it is binary, or UTF-16 without its mark"
        raise FormatError(path, problem, line=line + data.count(b"\n", 0, nul))
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        where = f"byte 0x{data[error.start]:02x} at offset {offset + error.start:,}"
        cure = (
            "convert it with: iconv -f CP1252 -t UTF-8 (as Windows saves it, or whatever encoding it has), or save it "
            "as UTF-8 in an editor"
        )
        name = encoding.upper()
        problem = f"not {name}: {where}; {cure}"
        raise FormatError(path, problem, line=line + data.count(b"\n", 0, error.start)) from error


def refuse_returns(data: bytes, path: str) -> None:
    r"""Refuse lines that end in lone carriage returns, which would be one line.

    Args:
        data: the beginning of a file, or its first line.
        path: what messages call the file.

    Raises:
        FormatError: there is no other line break.

    >>> refuse_returns(b"7\r\nFits.", "7.gsc")
    """
    if b"\n" not in data and b"\r" in data.rstrip(b"\r"):
        cure = "convert it with: tr '\\r' '\\n'"
        raise FormatError(path, f"its lines end in lone carriage returns (CR), expected line breaks (LF); {cure}")


def refuse_no_text(head: bytes, path: str) -> None:
    """Refuse a file whose first bytes show that it is no text.

    Raises:
        FormatError: nothing at all, another encoding or packing, NUL bytes, or other line breaks.

    >>> refuse_no_text(b"{", "7.json")
    """
    if not head:
        raise FormatError(path, "is empty")
    refuse_binary(head, path)
    if b"\x00" in head:
        decode(head, path, "utf-8", offset=0, line=1)
    refuse_returns(head, path)
