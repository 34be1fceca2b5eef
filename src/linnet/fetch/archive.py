"""Zip and tar archives into folders, taking nothing on trust: archives come from the web and from people.

Refused are names that lead out of the folder, links, devices, files with holes, two files of one name, encryption,
damage, and archives that unpack to more than they may (`Room`); so are zip files packed otherwise than with deflate,
because `zipfile` unpacks those with no limit of memory. Archives within archives are left out or, where they are
wanted, written as they are: nothing here opens them.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, cast

from linnet.errors import FormatError
from linnet.text.files import replacing_folder

__all__ = ["ROOM", "Room", "check_archive", "members", "unpack"]

CHUNK = 1 << 20
HEADERS = 1 << 20  # bytes of all that a tar file says of one of its files
DEFLATE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")  # a file, none at all, one part of several
PACKINGS: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
    b"": partial(open, mode="rb"),
}  # of tar files, by how they begin
UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]')  # control characters, and what Windows takes for something else


@dataclass(frozen=True)
class Room:
    """What an archive may unpack to."""

    bytes: int = 8 << 30  # in all
    ratio: int = 200  # times its packed size, once it is beyond `free`: text packs 3 to 20 times
    free: int = 64 << 20  # bytes that may come out whatever the ratio
    files: int = 200_000  # entries, folders included


ROOM = Room()


class _Entry(NamedTuple):
    """One entry of an archive."""

    name: str
    size: int  # bytes of the unpacked archive up to the end of this entry: none has more than it says
    open: Callable[[], IO[bytes] | None] | None  # None for a folder


def unpack(archive: str | Path, folder: str | Path, *, only: Sequence[str] = (), room: Room = ROOM) -> list[Path]:
    """Unpack `archive` into `folder`, which must be new or empty and is there in full or not at all.

    Args:
        archive: a zip file, or a tar file, plain or packed with gzip, bzip2 or xz.
        folder: where to.
        only: patterns of the names wanted, such as ``*/Corpus/*.xml`` (``*`` matches slashes too); none means all.
        room: what it may unpack to.

    Returns:
        The files that were written, in the archive's order, as paths below `folder`.

    Raises:
        FormatError: no archive of these kinds, damage, anything unsafe in it, no file that was wanted, or a folder
            that cannot be written to.
    """
    written: list[PurePosixPath] = []
    with replacing_folder(folder) as made, _named(archive):
        for name, content in _wanted(Path(archive), only, room):
            path = made / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as out:
                shutil.copyfileobj(content, out, CHUNK)
            written.append(name)
    return [Path(folder, name) for name in written]


def members(
    archive: str | Path, *, only: Sequence[str] = (), room: Room = ROOM
) -> Iterator[tuple[PurePosixPath, IO[bytes]]]:
    """Yield the files of `archive`, each with its content, which can be read until the next one is asked for.

    Raises:
        FormatError: as `unpack`, for all that is wrong with the archive itself.
    """
    with _named(archive):
        yield from _wanted(Path(archive), only, room)


def check_archive(archive: str | Path, *, only: Sequence[str] = (), room: Room = ROOM) -> None:
    """Unpack `archive` to nowhere.

    Raises:
        FormatError: as `unpack`, for all that is wrong with the archive itself.
    """
    with _named(archive):
        for _, content in _wanted(Path(archive), only, room):
            while content.read(CHUNK):
                pass


def _wanted(archive: Path, only: Sequence[str], room: Room) -> Iterator[tuple[PurePosixPath, IO[bytes]]]:
    """Yield the files that are wanted, each with its content."""
    packed = archive.stat().st_size
    most = min(room.bytes, max(room.free, room.ratio * packed))
    seen: set[str] = set()
    for count, entry in enumerate(_entries(archive), 1):
        if count > room.files:
            raise FormatError(archive, f"holds more than {room.files:,} entries: refused as a bomb")
        if entry.size > most:
            problem = f"unpacks {packed:,} bytes to {entry.size:,} or more: refused as a bomb"
            raise FormatError(archive, f"{problem}; if it is genuine, unpack it yourself")
        name = _safe(archive, entry.name)
        if entry.open is None or (only and not any(fnmatchcase(entry.name, pattern) for pattern in only)):
            continue
        if (folded := _folded(name)) in seen:
            raise FormatError(archive, f"holds {entry.name!r} twice: refused, one would replace the other")
        seen.add(folded)
        with cast("IO[bytes]", entry.open()) as content:
            yield name, content
    if not seen:
        wanted = f"none of the files wanted ({', '.join(only)})" if only else "no file"
        raise FormatError(archive, f"holds {wanted}")


def _folded(name: PurePosixPath) -> str:
    """Return what names of one file share on disks that know neither case nor how letters and accents are joined."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", str(name)).casefold())


@contextmanager
def _named(archive: str | Path) -> Iterator[None]:
    """Put into a sentence what is wrong with an archive."""
    try:
        yield
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError) as error:
        expected = "fetch or copy it again; expected zip, tar, tar.gz, tar.bz2 or tar.xz"
        raise FormatError(archive, f"is no archive, or a damaged one ({error}): {expected}") from error
    except (ValueError, IndexError, OverflowError) as error:  # headers with numbers that are none
        raise FormatError(archive, f"the archive is damaged ({error}): fetch or copy it again") from error
    except MemoryError as error:  # an xz file says how much unpacking it takes
        raise FormatError(archive, "wants more memory than there is: unpack it yourself") from error
    except RuntimeError as error:  # methods that zipfile lacks; a password
        raise FormatError(archive, f"cannot be unpacked ({error}): unpack it yourself") from error
    except OSError as error:
        raise FormatError(archive, f"cannot be unpacked: {error.strerror or error}") from error


def _entries(archive: Path) -> Iterator[_Entry]:
    """Yield the files and folders of an archive; everything else is refused."""
    with archive.open("rb") as raw:
        start = raw.read(6)
    if start.startswith(ZIP):  # zipfile itself finds the end of a zip in a tar that holds one, too
        yield from _zip(archive)
        return
    opener = next(opener for magic, opener in PACKINGS.items() if start.startswith(magic))
    with opener(archive) as plain:
        yield from _tar(archive, plain)


def _zip(archive: Path) -> Iterator[_Entry]:
    size = 0
    with zipfile.ZipFile(archive) as opened:
        for item in opened.infolist():
            kind = stat.S_IFMT(item.external_attr >> 16)
            if kind and not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                raise _no_file(archive, item.filename)
            if item.compress_type not in DEFLATE:
                problem = f"{item.filename!r} is packed with method {item.compress_type}, not deflate"
                raise FormatError(archive, f"{problem}: unpack it yourself")
            size += item.file_size
            yield _Entry(item.filename, size, None if item.is_dir() else partial(opened.open, item))


def _tar(archive: Path, plain: IO[bytes]) -> Iterator[_Entry]:
    rationed = _Rationed(plain, archive)
    # mode "r:" asks for headers as they come, whatever their number
    with tarfile.open(fileobj=cast("IO[bytes]", rationed), mode="r:") as opened:
        while (item := opened.next()) is not None:
            if not (item.isfile() or item.isdir()) or item.issparse():
                raise _no_file(archive, item.name)
            if item.size < 0:
                raise ValueError(f"a file of {item.size:,} bytes")
            rationed.left = item.size
            # what is not wanted has to be unpacked as well, to be passed over
            yield _Entry(item.name, opened.offset, partial(opened.extractfile, item) if item.isfile() else None)
            rationed.left = HEADERS
            opened.members = []  # type: ignore[attr-defined] # it would keep all headers
            opened.pax_headers = {}
        end = opened.offset
    plain.seek(end)
    if plain.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise FormatError(archive, "the archive is truncated: fetch or copy it again")
    while plain.read(CHUNK):  # gzip and xz check their sums at the very end
        yield _Entry(".", plain.tell(), None)


class _Rationed:
    """A stream that gives tarfile no more than it may have: it asks for whatever a header says, and keeps it."""

    def __init__(self, stream: IO[bytes], archive: Path) -> None:
        self._stream, self._archive = stream, archive
        self.left = HEADERS
        self.seek, self.tell = stream.seek, stream.tell

    def read(self, size: int = -1, /) -> bytes:
        self.left -= size
        if size < 0 or self.left < 0:
            raise FormatError(self._archive, f"has headers of more than {HEADERS:,} bytes: refused as a bomb")
        return self._stream.read(size)


def _no_file(archive: Path, name: str) -> FormatError:
    problem = f"{name!r} is a link, a device or a file with holes, which no corpus needs: refused as unsafe"
    return FormatError(archive, f"{problem}; if it is genuine, unpack it yourself")


def _safe(archive: Path, name: str) -> PurePosixPath:
    """Return the name of an entry as a path that stays below the folder it is put into."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or UNSAFE.search(name):
        problem = f"{name[:200]!r} is no name of a file below the folder: refused as unsafe"
        raise FormatError(archive, f"{problem}; if it is genuine, unpack it yourself")
    return PurePosixPath(*parts)
