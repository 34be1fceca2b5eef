"""Addresses: files in object stores (``s3://bucket/notes.jsonl``), read as a stream through fsspec; web pages are not.

Only known kinds of stores are opened: fsspec would follow ``zip://…::https://…`` anywhere. Each needs its driver, such
as s3fs; credentials are found as the driver finds them.
"""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Callable
from fnmatch import translate
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

from linnet.errors import FormatError, LinnetError, MissingExtraError, UnreachableError

__all__ = ["STORES", "Listed", "is_database", "is_store", "is_url", "list_files", "open_remote"]

T = TypeVar("T")
URL = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
WILD = re.compile(r"[*?\[]")
STORES = {
    "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs",
    "hdfs": "pyarrow", "webhdfs": "requests", "sftp": "paramiko", "ssh": "paramiko", "smb": "smbprotocol",
    "oss": "ossfs", "oci": "ocifs", "memory": "fsspec", "file": "fsspec",
}  # fmt: skip
DATABASES = {
    "sqlite", "postgresql", "mysql", "mariadb", "oracle", "mssql", "duckdb", "snowflake", "bigquery", "databricks",
    "redshift", "cockroachdb", "trino", "db2", "hana",
}  # fmt: skip
CHANGED = ("ETag", "etag", "md5Hash", "LastModified", "last_modified", "updated", "mtime", "modified", "created")
CHUNK = 1 << 20


class Listed(NamedTuple):
    """A file in a store: its address, its path below what was asked for, its bytes, and a text that changes with it."""

    url: str
    relative: str
    size: int
    changed: str = ""


def is_url(text: object) -> bool:
    """Return whether a text begins as an address does.

    >>> is_url("s3://bucket/a.txt"), is_url("sqlite:///notes.db"), is_url("HP:0001250"), is_url("see s3://a")
    (True, True, False, False)
    """
    return isinstance(text, str) and URL.match(text) is not None


def is_store(text: object) -> bool:
    """Return whether a text is the address of something in a store that can be read.

    >>> is_store("gs://bucket/notes"), is_store("https://example.org/a.txt"), is_store("zip://a::https://example.org")
    (True, False, False)
    """
    return isinstance(text, str) and _kind(text) in STORES and "::" not in text


def is_database(text: object) -> bool:
    """Return whether a text is the address of a database.

    >>> is_database("postgresql+psycopg://ann@host/notes"), is_database("s3://bucket")
    (True, False)
    """
    return isinstance(text, str) and _kind(text).partition("+")[0] in DATABASES


def _kind(url: str) -> str:
    found = URL.match(url)
    return found[1].lower() if found else ""


def list_files(url: str) -> list[Listed]:
    """Return the file at an address, those below a folder, or those that match a pattern, sorted by path.

    Hidden ones, and those in hidden folders, are left out, as they are on disk.

    Raises:
        FormatError: there is none, or the store cannot be read.
        LinnetError: no store, or its driver is not installed.
    """
    store, place = _store(url)
    if WILD.search(place):
        base = place[: cast("re.Match[str]", WILD.search(place)).start()].rpartition("/")[0]
        found = _asked(url, lambda: store.find(base, detail=True))
        wanted = re.compile(translate(place))
        found = {path: about for path, about in found.items() if wanted.fullmatch(path)}
        base = ""
    elif _asked(url, lambda: store.isfile(place)):
        about = _asked(url, lambda: store.info(place))
        return [Listed(url, place.rpartition("/")[2], int(about.get("size") or 0), _changed(about))]
    else:
        base = place.rstrip("/")
        found = _asked(url, lambda: store.find(place, detail=True))
    listed = [_listed(store, path, about, base) for path, about in found.items()]
    listed = [one for one in listed if not any(part.startswith(".") for part in one.relative.split("/"))]
    if not listed:
        raise FormatError(url, "no file matches this pattern" if WILD.search(place) else "there is no such file")
    return sorted(listed, key=lambda one: one.relative.split("/"))


def _listed(store: Any, path: str, about: Any, base: str) -> Listed:
    relative = path[len(base) :] if path.startswith(base) else path
    return Listed(str(store.unstrip_protocol(path)), relative.lstrip("/"), int(about.get("size") or 0), _changed(about))


def _changed(about: Any) -> str:
    """Return what a store tells of the state of a file: a checksum, or when it was changed."""
    return next((str(about[name]) for name in CHANGED if about.get(name)), "")


def open_remote(url: str) -> BinaryIO:
    """Open a file in a store for reading bytes, buffered; it can be sought in.

    Raises:
        FormatError: it is not there, or cannot be read, now or later.
        LinnetError: no store, or its driver is not installed.
    """
    store, place = _store(url)
    if _asked(url, lambda: store.isdir(place)):
        raise FormatError(url, "is a folder, expected a file")
    stream = _asked(url, lambda: store.open(place, "rb"))
    return cast("BinaryIO", io.BufferedReader(_Raw(stream, url), CHUNK))


class _Raw(io.RawIOBase):
    """A stream of fsspec whose faults, of whatever library, are FormatErrors."""

    def __init__(self, stream: Any, url: str) -> None:
        self._stream, self._url = stream, url

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return int(_asked(self._url, lambda: self._stream.seek(offset, whence)))

    def tell(self) -> int:
        return int(self._stream.tell())

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = _asked(self._url, lambda: self._stream.read(len(view)))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def _store(url: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    kind = _kind(url)
    if not is_store(url):
        known = ", ".join((*STORES, *sorted(DATABASES)))
        cure = "download it first" if kind in ("http", "https", "ftp") else f"known are {known}"
        raise LinnetError(f"{url}: files at {kind}:// are not read: {cure}")
    try:
        fsspec = importlib.import_module("fsspec")
    except ModuleNotFoundError as error:
        raise MissingExtraError("fsspec", extra="remote", wanted_by=f"reading {kind}://") from error
    try:
        store, place = fsspec.core.url_to_fs(url)
    except ImportError as error:
        driver = STORES[kind]
        raise LinnetError(f"{url}: {kind}:// needs {driver}, which is not installed: pip install {driver}") from error
    except Exception as error:  # as below
        raise FormatError(url, f"cannot be read: {error}") from error
    return store, str(place)


def _asked(url: str, ask: Callable[[], T]) -> T:
    """Return what a store answers; drivers raise whatever their libraries raise."""
    try:
        return ask()
    except FileNotFoundError as error:
        raise FormatError(url, "there is no such file") from error
    except FormatError:
        raise
    except (PermissionError, IsADirectoryError) as error:  # of this file alone
        raise FormatError(url, f"cannot be read: {error}") from error
    except Exception as error:
        said = str(error) or type(error).__name__
        raise UnreachableError(url, f"cannot be read: {said}") from error
