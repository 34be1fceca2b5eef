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
from typing import IO, Any, BinaryIO, NamedTuple, cast

from linnet.errors import FormatError
from linnet.text.files import replacing_folder

__all__ = ["ROOM", "Room", "check_archive", "unpack"]

CHUNK = 1 << 20
LARGEST = 4 << 20  # bytes of one piece of a tar file
HEADERS = 1 << 20  # bytes of all that a tar file says of one of its files
COMMON = 100  # statements about all files that a tar file may make: tarfile keeps each as long as it reads
DEFLATE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")  # a file, none at all, one part of several
OTHERS = {zipfile.ZIP_BZIP2: "bzip2", zipfile.ZIP_LZMA: "LZMA"}
LONGEST = 240  # bytes of one part of a name that every file system takes
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
    """One file of an archive, with what opens it."""

    name: str
    open: Callable[[], IO[bytes]]


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
        for name, pieces in _wanted(Path(archive), only, room):
            path = made / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as out:
                out.writelines(pieces)
            written.append(name)
    return [Path(folder, name) for name in written]


def check_archive(archive: str | Path, *, only: Sequence[str] = (), room: Room = ROOM) -> None:
    """Unpack `archive` to nowhere.

    Raises:
        FormatError: as `unpack`, for all that is wrong with the archive itself.
    """
    with _named(archive):
        for _, pieces in _wanted(Path(archive), only, room):
            for _ in pieces:
                pass


def _wanted(archive: Path, only: Sequence[str], room: Room) -> Iterator[tuple[PurePosixPath, Iterator[bytes]]]:
    """Yield the files that are wanted, each with its content in pieces."""
    left = _Left(archive, room)
    seen: set[str] = set()
    for entry in _entries(archive, left):
        name = _safe(archive, entry.name)
        if only and not any(fnmatchcase(entry.name, pattern) for pattern in only):
            continue
        if (folded := _folded(name)) in seen:
            raise FormatError(archive, f"holds {entry.name!r} twice: refused, one would replace the other")
        seen.add(folded)
        yield name, _pieces(entry, left)
    if not seen:
        wanted = f"none of the files wanted ({', '.join(only)})" if only else "no file"
        raise FormatError(archive, f"holds {wanted}")


def _folded(name: PurePosixPath) -> str:
    """Return what names of one file share on disks that know neither case nor how letters and accents are joined."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", str(name)).casefold())


def _pieces(entry: _Entry, left: _Left) -> Iterator[bytes]:
    with entry.open() as source:
        while piece := source.read(CHUNK):
            left.came(len(piece))
            yield piece


class _Left:
    """The room that is left for one archive."""

    def __init__(self, archive: str | Path, room: Room) -> None:
        self._archive, self._room = archive, room
        self._packed = Path(archive).stat().st_size
        self._announced = self._came = self._files = 0

    def one_more(self) -> None:
        """Count an entry, of any kind."""
        self._files += 1
        if self._files > self._room.files:
            raise FormatError(self._archive, f"holds more than {self._room.files:,} entries: refused as a bomb")

    def announced(self, size: int) -> None:
        """Count the bytes that an entry has by its own account, before one of them is unpacked."""
        if size < 0:
            problem = f"the archive is damaged (a file of {size:,} bytes): fetch or copy it again"
            raise FormatError(self._archive, problem)
        self._announced += size
        self._check(self._announced)

    def came(self, size: int) -> None:
        """Count bytes that were unpacked: an account may be false."""
        self._came += size
        self._check(self._came)

    def _check(self, size: int) -> None:
        most = min(self._room.bytes, max(self._room.free, self._room.ratio * self._packed))
        if size > most:
            problem = f"unpacks {self._packed:,} bytes to {size:,} or more: refused as a bomb"
            raise FormatError(self._archive, f"{problem}; if it is genuine, unpack it yourself")


@contextmanager
def _named(archive: str | Path) -> Iterator[None]:
    """Put into a sentence what is wrong with an archive."""
    try:
        yield
    except FormatError:
        raise
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError) as error:
        raise FormatError(archive, f"the archive is damaged ({error}): fetch or copy it again") from error
    except MemoryError as error:  # an xz file says how much unpacking it takes
        raise FormatError(archive, "wants more memory than there is: unpack it yourself") from error
    except (NotImplementedError, RuntimeError) as error:  # methods that zipfile lacks; a password
        raise FormatError(archive, f"cannot be unpacked ({error}): unpack it yourself") from error
    except (ValueError, IndexError, OverflowError) as error:  # headers with numbers that are none
        raise FormatError(archive, f"the archive is damaged ({error}): fetch or copy it again") from error
    except OSError as error:
        raise FormatError(archive, f"cannot be unpacked: {error.strerror or error}") from error


def _entries(archive: Path, left: _Left) -> Iterator[_Entry]:
    """Yield the files of an archive; folders are left out, everything else that is no file is refused."""
    with archive.open("rb") as raw:  # zipfile finds the end of a zip in a tar that holds one, too
        zipped = raw.read(4) in ZIP
    if zipped:
        yield from _zip(archive, left)
        return
    try:
        yield from _tar(archive, left)
    except tarfile.ReadError as error:
        expected = "expected zip, tar, tar.gz, tar.bz2 or tar.xz"
        raise FormatError(archive, f"is no archive, or a damaged one ({error}): {expected}") from error


def _zip(archive: Path, left: _Left) -> Iterator[_Entry]:
    with zipfile.ZipFile(archive) as opened:
        for item in opened.infolist():
            left.one_more()
            kind = stat.S_IFMT(item.external_attr >> 16)
            if kind and not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                raise _no_file(archive, item.filename)
            if item.flag_bits & 0x1:
                raise FormatError(archive, f"{item.filename!r} is encrypted: unpack it yourself, with its password")
            if item.compress_type not in DEFLATE:
                method = OTHERS.get(item.compress_type, f"method {item.compress_type}")
                problem = f"{item.filename!r} is packed with {method}, not deflate: unpack it yourself"
                raise FormatError(archive, problem)
            left.announced(item.file_size)
            if item.is_dir():
                _safe(archive, item.filename)
            else:
                yield _Entry(item.filename, partial(opened.open, item))


def _tar(archive: Path, left: _Left) -> Iterator[_Entry]:
    # mode "r:" asks for headers as they come, whatever their number
    with archive.open("rb") as raw, _unpacked(raw) as plain:
        guarded = _Guarded(plain, archive, left)
        with tarfile.open(fileobj=cast("IO[bytes]", guarded), mode="r:") as opened:
            while (item := guarded.header(opened)) is not None:
                left.one_more()
                if not (item.isfile() or item.isdir()) or item.issparse():
                    raise _no_file(archive, item.name)
                left.announced(item.size)  # what is not wanted has to be unpacked to be passed over
                stream = opened.extractfile(item) if item.isfile() else None
                if stream is None:
                    _safe(archive, item.name)
                else:
                    yield _Entry(item.name, partial(_same, stream))
                opened.members = []  # type: ignore[attr-defined] # it would keep all headers
            end = opened.offset
        _to_the_end(plain, end, archive, left)


def _to_the_end(plain: BinaryIO, offset: int, archive: Path, left: _Left) -> None:
    """Refuse a tar file without its end mark, which was cut off; gzip and xz check their sums at the very end."""
    plain.seek(offset)
    if plain.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise FormatError(archive, "the archive is truncated: fetch or copy it again")
    while chunk := plain.read(CHUNK):
        left.came(len(chunk))


def _same(stream: IO[bytes]) -> IO[bytes]:
    return stream


@contextmanager
def _unpacked(raw: BinaryIO) -> Iterator[BinaryIO]:
    """Give the stream of a tar file that is packed in one of the usual ways, or not at all."""
    magic = raw.read(6)
    raw.seek(0)
    packings: dict[bytes, Callable[[BinaryIO], Any]] = {
        b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),
        b"BZh": bz2.BZ2File,
        b"\xfd7zXZ\x00": lzma.LZMAFile,
    }
    for start, opener in packings.items():
        if magic.startswith(start):
            with opener(raw) as stream:
                yield stream
            return
    yield raw


class _Guarded:
    """A stream that gives tarfile no more than it may have: it asks for whatever a header says, and keeps it."""

    def __init__(self, stream: BinaryIO, archive: Path, left: _Left) -> None:
        self._stream, self._archive, self._left = stream, archive, left
        self._headers: int | None = 0  # bytes of the headers of the next file; None while a file is read
        self.seek, self.tell = stream.seek, stream.tell

    def header(self, opened: tarfile.TarFile) -> tarfile.TarInfo | None:
        """Return what the tar file says of its next file, if there is one."""
        self._headers = 0
        item = opened.next()
        self._headers = None
        common = opened.pax_headers.values()
        if len(common) > COMMON or sum(map(len, common)) > HEADERS:
            raise FormatError(self._archive, "says too much about all of its files: refused as a bomb")
        return item

    def read(self, size: int = -1, /) -> bytes:
        if not 0 <= size <= LARGEST:
            raise self._bomb(size)
        data = self._stream.read(size)
        if self._headers is not None:
            self._headers += len(data)
            self._left.came(len(data))
            if self._headers > HEADERS:
                raise self._bomb(self._headers)
        return data

    def _bomb(self, size: int) -> FormatError:
        return FormatError(self._archive, f"has a header of {size:,} bytes: refused as a bomb")


def _no_file(archive: Path, name: str) -> FormatError:
    problem = f"{name!r} is a link, a device or a file with holes, which no corpus needs: refused as unsafe"
    return FormatError(archive, f"{problem}; if it is genuine, unpack it yourself")


def _safe(archive: str | Path, name: str) -> PurePosixPath:
    """Return the name of an entry as a path that stays below the folder it is put into."""
    path = PurePosixPath(name)
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if path.is_absolute() or ".." in parts or UNSAFE.search(name):
        problem = f"{name[:200]!r} is no name of a file below the folder: refused as unsafe"
        raise FormatError(archive, f"{problem}; if it is genuine, unpack it yourself")
    if any(len(part.encode("utf-8", "surrogatepass")) > LONGEST for part in parts):
        raise FormatError(archive, f"{name[:60]!r}… is a name that is too long for a file")
    return PurePosixPath(*parts) if parts else PurePosixPath(".")
