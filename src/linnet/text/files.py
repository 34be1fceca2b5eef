"""Opening and writing files that people hand in: plain or gzip, UTF-8, of any size, possibly hostile.

Reading streams: nothing is held in memory but one chunk and one line (and `read_text`'s one text), and every fault
becomes a `FormatError` that names the file, the line where there is one, and the way out. Writing goes to a file
beside the target that takes its name only when it is complete.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import os
import secrets
import shutil
import stat
import sys
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from linnet.errors import NO_FILE, FormatError
from linnet.home import check_output, permit, real_path, rename, sweep_folders
from linnet.text.raw_input import StandardInput, decode, look_ahead, refuse_binary, refuse_returns, unchanged
from linnet.text.remote import is_url, open_remote

__all__ = [
    "BOMB_BYTES",
    "BOMB_RATIO",
    "CHUNK",
    "MAX_LINE",
    "MAX_TEXT",
    "STDIO",
    "absolute",
    "head",
    "open_bytes",
    "open_text",
    "read_text",
    "replacing",
    "replacing_folder",
    "shown",
]

STDIO = "-"  # the path that stands for standard input or output
BOMB_BYTES = 1 << 26  # a gzip file may grow to this size whatever its ratio: 64 MiB
BOMB_RATIO = 200  # beyond it, to this many times its packed size (text packs 3 to 20 times, zeros 1,000 times)
MAX_LINE = 256 << 20  # bytes of one line
MAX_TEXT = 256 << 20  # bytes of a file that is read as one text
CHUNK = 1 << 20  # bytes read at once

UTF8_BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"


def absolute(path: str | Path) -> str | Path:
    """Return a path whatever folder one stands in, links as they are, or an address as it is.

    >>> absolute("s3://bucket/a.txt")
    's3://bucket/a.txt'
    """
    return path if isinstance(path, str) and is_url(path) else Path(os.path.abspath(path))  # noqa: PTH100 - links stay


def shown(path: str | Path) -> str:
    """Return how messages name `path`.

    >>> shown("-"), shown("notes.txt")
    ('standard input', 'notes.txt')
    """
    return "standard input" if str(path) == STDIO else str(path)


# --- bytes -----------------------------------------------------------------------------------------------------------


class _Unpacked(io.RawIOBase):
    """The content of a gzip file as a raw stream that refuses damage and bombs with a FormatError."""

    def __init__(self, packed: BinaryIO, path: str) -> None:
        self._packed, self._path = packed, path
        self._taken = self._given = 0
        self._gzip = gzip.GzipFile(mode="rb", fileobj=_Counting(packed, self))

    def count(self, size: int) -> None:
        self._taken += size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        try:
            size: int = self._gzip.readinto(view)
        except EOFError as error:
            raise FormatError(self._path, "the gzip file is truncated: fetch or copy it again") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(self._path, f"the gzip file is damaged ({error}): fetch or copy it again") from error
        self._given += size
        if self._given > max(BOMB_BYTES, BOMB_RATIO * self._taken):
            problem = f"unpacks {self._taken:,} bytes to more than {self._given:,}: refused as a gzip bomb"
            raise FormatError(self._path, f"{problem}; if it is genuine, unpack it yourself and pass the plain file")
        return size

    def close(self) -> None:
        self._gzip.close()
        super().close()


class _Counting:
    """What GzipFile reads from: the packed stream, with the bytes taken so far counted."""

    def __init__(self, packed: BinaryIO, owner: _Unpacked) -> None:
        self._packed, self._owner = packed, owner

    def read(self, size: int = -1, /) -> bytes:
        data = self._packed.read(size)
        self._owner.count(len(data))
        return data

    def seek(self, offset: int, /) -> int:
        raise io.UnsupportedOperation(f"seek to {offset}")


def _open_raw(path: str | Path) -> BinaryIO:
    """Open a regular file, one in a store, or standard input for ``-``; others could block for ever or never end."""
    if str(path) == STDIO:
        look_ahead(len(GZIP))  # one read could end within the mark
        return cast("BinaryIO", io.BufferedReader(StandardInput(), CHUNK))
    if is_url(path):
        return open_remote(str(path))
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            raise FormatError(path, "is a folder, expected a file")
        if not stat.S_ISREG(mode):
            raise FormatError(path, "is a pipe or a device, expected a file; only '-' reads a stream")
        return Path(path).open("rb", buffering=CHUNK)
    except FileNotFoundError as error:
        raise FormatError(path, NO_FILE) from error
    except (OSError, ValueError) as error:
        raise FormatError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


@contextlib.contextmanager
def open_bytes(path: str | Path) -> Generator[BinaryIO, None, None]:
    """Open `path` (``-`` is standard input) for reading bytes, unpacked if its content is gzip, whatever its name.

    An address such as ``s3://bucket/a.txt`` is read from its store (`linnet.text.remote`).

    Yields:
        A buffered binary stream; reading from it raises FormatError where the gzip data are truncated, damaged or a
        bomb (more than `BOMB_BYTES` and more than `BOMB_RATIO` times the packed size).

    Raises:
        FormatError: no such file, a folder, a pipe or device, no permission; at the end, where the file was changed
            meanwhile.
    """
    elsewhere = str(path) == STDIO or is_url(path)
    with _open_raw(path) as raw, contextlib.nullcontext() if elsewhere else unchanged(raw, path):
        if cast("io.BufferedReader", raw).peek(2)[:2] != GZIP:
            yield raw
        else:
            with _Unpacked(raw, shown(path)) as unpacked, io.BufferedReader(unpacked, CHUNK) as stream:
                yield cast("BinaryIO", stream)


def head(path: str | Path, size: int = 1 << 16) -> bytes:
    """Return up to `size` bytes from the start of `path`, unpacked; of standard input without consuming them.

    Raises:
        FormatError: as `open_bytes`.
    """
    if str(path) != STDIO:
        with open_bytes(path) as stream:
            return stream.read(size)
    data = look_ahead(size)
    if not data.startswith(GZIP):
        return data
    with contextlib.suppress(zlib.error):  # reading will name the damage
        data = zlib.decompressobj(wbits=31).decompress(data, size)
    return data


# --- text ------------------------------------------------------------------------------------------------------------


def _line_blocks(stream: BinaryIO, path: str) -> Iterator[bytes]:
    """Yield the stream in blocks that end at the end of a line."""
    parts: list[bytes] = []
    pending = 0
    while chunk := stream.read(CHUNK):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield b"".join([*parts, chunk[:cut]])
            parts, pending = [], 0
        parts.append(chunk[cut:])
        pending += len(chunk) - cut
        if pending > MAX_LINE:
            raise FormatError(path, f"has a line of more than {MAX_LINE:,} bytes: is it a text file with line breaks?")
    if pending:
        yield b"".join(parts)


def open_text(
    path: str | Path,
    *,
    encoding: str = "utf-8",
    keep_ends: bool = False,
    may_be_empty: bool = False,
    by_line: bool = False,
) -> Iterator[str]:
    r"""Yield the lines of a plain or gzip text file (``-`` is standard input), split at ``\n`` only.

    Args:
        path: the file.
        encoding: of the file; a superset of ASCII. A UTF-8 byte order mark at the start is dropped.
        keep_ends: leave the line break on the line (for the csv module); otherwise ``\n`` and ``\r\n`` are cut off.
        may_be_empty: accept a file without a single byte.
        by_line: every line means something: refuse a file of one line with carriage returns in it.

    Raises:
        FormatError: the file cannot be opened or unpacked, is empty, holds NUL bytes or bytes of another encoding
            (with their offset and line), or has a line longer than `MAX_LINE`.
    """
    name = shown(path)
    offset, line = 0, 1
    with open_bytes(path) as stream:
        for block in _line_blocks(stream, name):
            data = block
            if offset == 0:
                refuse_binary(data, name)
                data = data.removeprefix(UTF8_BOM)
                if by_line:
                    refuse_returns(data, name)
            text = decode(data, name, encoding, offset=offset + len(block) - len(data), line=line)
            yield from _split(text, keep_ends)
            offset += len(block)
            line += data.count(b"\n")
    if offset == 0 and not may_be_empty:
        raise FormatError(name, "is empty")


def _split(text: str, keep_ends: bool) -> Iterator[str]:
    lines = text.split("\n")
    last = lines.pop()
    if keep_ends:
        yield from (line + "\n" for line in lines)
    elif "\r" in text:
        yield from (line.removesuffix("\r") for line in lines)
    else:
        yield from lines
    if last:
        yield last


def read_text(path: str | Path, *, encoding: str = "utf-8") -> str:
    r"""Return a whole file as one text, exactly as it is, line breaks included, less a byte order mark.

    Raises:
        FormatError: as `open_text`; an empty file is an empty text; more than `MAX_TEXT` bytes are refused.
    """
    name = shown(path)
    with open_bytes(path) as stream:
        # chunk by chunk: a single read would ask for room for all that it may return
        data = b"".join(itertools.islice(iter(lambda: stream.read(CHUNK), b""), MAX_TEXT // CHUNK + 1))
    if len(data) > MAX_TEXT:
        raise FormatError(name, f"is larger than {MAX_TEXT:,} bytes, too large for one text: split it into documents")
    refuse_binary(data, name)
    bare = data.removeprefix(UTF8_BOM)
    return decode(bare, name, encoding, offset=len(data) - len(bare), line=1)


# --- writing ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def replacing(path: str | Path, *, aside: Path | None = None, kind: str = "") -> Generator[TextIO, None, None]:
    r"""Open `path` for writing UTF-8 text so that it is there in full or not at all; ``-`` is standard output.

    The text goes to a hidden file in the same folder, or to `aside` on the same disk, packed if the name ends in
    ``.gz``, which replaces `path` when the block ends and has its permissions from the start; if the block raises
    (Ctrl-C too), it is removed and an older `path` stays as it was. A symbolic link keeps pointing where it points.
    Pipes and devices are written to directly. Line breaks are ``\n``.

    Raises:
        FormatError: the folder is missing or may not be written to, `path` must stay, as `check_output` says of its
            `kind`, or standard output is closed.
    """
    if str(path) == STDIO:
        if sys.stdout is None:  # as `>&-` closes it
            raise FormatError("standard output", "is closed: name a file to write to")
        yield sys.stdout
        sys.stdout.flush()
        return
    target = check_output(path, kind=kind)
    if target.exists() and not target.is_file():
        with _created(target, path, target) as out:
            yield out
        return
    part = aside or _beside(target)
    try:
        with _created(part, path, target) as out:
            yield out
        rename(part, target)
    finally:
        with contextlib.suppress(OSError):  # the fault that brought us here is the one to report
            part.unlink(missing_ok=True)


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")


@contextlib.contextmanager
def replacing_folder(path: str | Path, *, aside: Path | None = None) -> Generator[Path, None, None]:
    """Give an empty folder to fill that becomes `path`, new or empty, when the block ends.

    It is a hidden one beside `path`, or `aside` on the same disk; if the block raises, it is removed. Those that
    processes left which died are removed once they are a day old.

    Raises:
        FormatError: `path` is no empty folder, cannot be made, or was made or filled by another process meanwhile.
    """
    target = real_path(path)
    part = aside or _beside(target)
    try:
        if target.exists() and (used := next(target.iterdir(), None)):
            raise FormatError(path, f"holds {used.name!r} already: choose a new folder")
        sweep_folders(target)
        part.mkdir(parents=True)
        permit(part, target)
    except OSError as error:
        raise FormatError(path, f"cannot be written to: {error.strerror}") from error
    try:
        yield part
        _put(part, target, path)
    except OSError as error:
        if not Path(error.filename or "/").is_relative_to(part):  # of a file that is read meanwhile
            raise
        raise FormatError(path, f"cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _put(part: Path, target: Path, path: str | Path) -> None:
    """Give a folder that is complete its name."""
    try:
        if target.exists():  # it may be the root of a disk, which takes no other's name
            for inside in sorted(part.iterdir()):
                inside.rename(target / inside.name)
        else:
            part.rename(target)
    except OSError as error:
        problem = f"cannot be put in its place ({error.strerror}); did another process write there meanwhile?"
        raise FormatError(path, problem) from error


class _Output(io.FileIO):
    """A file to write to, whose faults bear the name that people gave."""

    def __init__(self, part: Path, path: str | Path, *, private: bool) -> None:
        self._path = str(path)
        mode = 0o600 if private else 0o666
        super().__init__(part, "w", opener=lambda name, flags: os.open(name, flags, mode))

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self._path
            raise


@contextlib.contextmanager
def _created(part: Path, path: str | Path, target: Path) -> Generator[TextIO, None, None]:
    """Open the file `part`, which is `target` or will replace it, for writing text."""
    try:
        raw = io.BufferedWriter(_Output(part, path, private=target.exists()))
        permit(part, target)
    except FileNotFoundError as error:
        raise FormatError(path, f"cannot be written: there is no folder {part.parent}; make it first") from error
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror}") from error
    with raw, contextlib.ExitStack() as stack:
        binary = cast("BinaryIO", raw)
        if str(path).lower().endswith(".gz"):
            # no name and no time inside, so that the same documents give the same bytes
            binary = cast("BinaryIO", stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0)))
        yield stack.enter_context(io.TextIOWrapper(binary, encoding="utf-8", newline="\n"))
