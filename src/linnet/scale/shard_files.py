"""The files of a shard: written aside, to the disk, and then given their names."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from linnet.corpora.formats import WRITABLE
from linnet.corpora.frames import arrow
from linnet.corpora.jsonl import line
from linnet.corpora.names import Remembering
from linnet.data import Document, Rows
from linnet.errors import DataError, FormatError, LinnetError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMATS", "Shard", "check_format", "ids_in", "sha256", "shard_of", "sync"]

CHUNK = 1 << 20


class Where(Protocol):
    """What is known of a job here."""

    @property
    def folder(self) -> str:
        """What shards are written to."""
        ...

    @property
    def aside(self) -> str:
        """Where they are until they are complete."""
        ...

    @property
    def format(self) -> str:
        """One of `FORMATS`."""
        ...


class Shard(ABC):
    """The files of one part; `shard_of` makes one.

    Args:
        where: folders.
        key: which part it is.
        rows: the knowledge base of candidates and names.
    """

    def __init__(self, where: Where, key: tuple[int, int], rows: Any) -> None:
        self.name = f"shard-{key[0]:06}-{key[1]:06}"  # whatever the size of the job, names sort as the input
        self._folder, self._aside = Path(where.folder), Path(where.aside)
        self._rows: Rows | None = Remembering.of(rows)
        self._parts: dict[str, Path] = {}  # name -> the file aside

    @abstractmethod
    def rendered(self, docs: Sequence[Document]) -> Any:
        """Return what is to be written of documents.

        Raises:
            LinnetError: one cannot be written.
        """

    @abstractmethod
    def add(self, rendered: Any) -> None:
        """Write what was rendered."""

    @abstractmethod
    def close(self) -> None:
        """Close what is open; the files are complete."""

    def finish(self) -> list[dict[str, Any]]:
        """Give the files their names, once they are on the disk; return name, bytes and sha256 of each."""
        self.close()
        told = [
            {"file": name, "bytes": part.stat().st_size, "sha256": sha256(part)} for name, part in self._parts.items()
        ]
        for part in self._parts.values():
            with part.open("r+b") as stream:
                os.fsync(stream.fileno())
        for name, part in self._parts.items():
            part.replace(self._folder / name)
        sync(self._folder)
        return told

    def drop(self) -> None:
        """Remove what is left aside."""
        for part in self._parts.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)

    def _part(self, name: str) -> Path:
        """Return the file aside that a name will be given to; no two workers ever have the same."""
        self._parts[name] = self._aside / f"{name}.{secrets.token_hex(4)}"
        return self._parts[name]


class _Lines(Shard):
    """JSON Lines."""

    def __init__(self, where: Where, key: tuple[int, int], rows: Any) -> None:
        super().__init__(where, key, rows)
        self._out: IO[bytes] = self._part(f"{self.name}.jsonl").open("wb", buffering=CHUNK)

    def rendered(self, docs: Sequence[Document]) -> bytes:
        return "".join([line(doc, self._rows) for doc in docs]).encode()

    def add(self, rendered: bytes) -> None:
        self._out.write(rendered)

    def close(self) -> None:
        self._out.close()


class _Tables(Shard):
    """Parquet: a row for each mention, as `linnet.arrow` has it, and in another file one for each document."""

    def __init__(self, where: Where, key: tuple[int, int], rows: Any) -> None:
        super().__init__(where, key, rows)
        self._names = (f"{self.name}.parquet", f"{self.name.replace('shard', 'documents')}.parquet")
        self._tables: list[tuple[pa.Table, pa.Table]] = []

    def rendered(self, docs: Sequence[Document]) -> tuple[pa.Table, pa.Table]:
        try:
            return arrow(docs, kb=self._rows), _documents(docs)
        except UnicodeEncodeError as error:
            told = f"Parquet cannot hold half a surrogate pair ({error.object[error.start]!r}): take JSON Lines"
            raise DataError(told) from error

    def add(self, rendered: tuple[pa.Table, pa.Table]) -> None:
        self._tables.append(rendered)

    def close(self) -> None:
        if not self._tables:
            return
        import pyarrow as pa  # noqa: PLC0415 - an extra
        from pyarrow import parquet  # noqa: PLC0415 - an extra

        for name, tables in zip(self._names, zip(*self._tables, strict=True), strict=True):
            parquet.write_table(pa.concat_tables(tables), self._part(name), compression="zstd")
        self._tables = []


def _documents(docs: Sequence[Document]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    schema = pa.schema(
        [("document", pa.string()), ("text", pa.string()), ("meta", pa.string()), ("mentions", pa.int64())]
    )
    columns = {
        "document": [doc.id for doc in docs],
        "text": [doc.text for doc in docs],
        "meta": [json.dumps(doc.meta, ensure_ascii=False, default=dict) for doc in docs],
        "mentions": [len(doc.mentions or ()) for doc in docs],
    }
    return pa.table(columns, schema=schema)


FORMATS: dict[str, type[Shard]] = {"jsonl": _Lines, "parquet": _Tables}


def check_format(format: str) -> None:
    """Refuse a format in which shards are not written.

    Raises:
        LinnetError: there is none of this name.
        MissingExtraError: what it needs is not installed.
    """
    if format not in FORMATS:
        other = f"linnet corpus convert makes {format} of these" if format in WRITABLE else "see --to"
        raise LinnetError(f"a job writes shards as {' or '.join(FORMATS)}, not as {format!r}: {other}")
    if format == "parquet":
        try:
            import pyarrow as pa  # noqa: F401, PLC0415 - an extra
        except ModuleNotFoundError as error:
            raise MissingExtraError("pyarrow", extra="frames", wanted_by="--to parquet") from error


@contextmanager
def shard_of(where: Where, key: tuple[int, int], rows: Any) -> Iterator[Shard]:
    """Give the shard of a part; what it has not finished when the block ends is removed.

    Raises:
        FormatError: no room, or no permission.
    """
    try:
        shard = FORMATS[where.format](where, key, rows)
        try:
            yield shard
        finally:
            with suppress(OSError):  # the fault that brought us here is the one to report
                shard.close()
            shard.drop()
    except OSError as error:
        raise FormatError(where.folder, f"cannot be written: {error.strerror or error}") from error


def ids_in(path: Path) -> Iterator[str]:
    """Yield the ids of the documents of a shard, whose file `path` is, or the first of its files."""
    if path.suffix == ".parquet":
        from pyarrow import parquet  # noqa: PLC0415 - an extra

        documents = path.with_name(path.name.replace("shard", "documents"))
        yield from parquet.read_table(documents, columns=["document"])["document"].to_pylist()
        return
    first = json.JSONDecoder()
    with path.open(encoding="utf-8") as lines:
        for text in lines:
            yield first.raw_decode(text, len('{"id":'))[0]  # the rest of the line is not needed


def sha256(path: Path) -> str:
    """Return the checksum of a file, which ``sha256sum`` checks as well."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sync(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can."""
    with suppress(OSError):
        place = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)
