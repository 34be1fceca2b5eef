"""What a job's documents come from, divided into units that are read independently, and their documents in parts.

Nobody parses documents to divide them. A unit is some files, each with all its documents, or so many lines of a large
file of JSON Lines. Its documents are taken in parts of so many; each part becomes a shard. What a part holds depends
on the input alone, never on who reads it, or on how many do.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from linnet.corpora.catalog import read_corpus
from linnet.corpora.faults import Faults
from linnet.corpora.formats import FORMATS, suffix
from linnet.corpora.jsonl import cut, read_span
from linnet.corpora.reading import read_file
from linnet.corpora.sources import Found, Named, guess, locate, texts_of_brat
from linnet.data import Document, Rows
from linnet.errors import FormatError, LinnetError, MissingExtraError, UnreachableError
from linnet.text.files import absolute, shown
from linnet.text.remote import is_database, is_url

__all__ = [
    "MOST",
    "Inputs",
    "Reading",
    "Unit",
    "digests_of",
    "of_database",
    "place_of",
    "reason_of",
    "units_of",
]

MOST = 4 << 20  # bytes of the files of one unit, if they are more than one, and of a file of lines that is not cut
GZIP = b"\x1f\x8b"
FAULTS = (  # of disks, networks and systems, not of a file: another time it can be read; some systems lack some
    "EIO ENOMEM EMFILE ENFILE ENOSPC EDQUOT ESTALE ENODEV ENXIO EAGAIN EINTR ENOLINK EREMOTEIO ENOTCONN "
    "ENETDOWN ENETUNREACH ENETRESET EHOSTDOWN EHOSTUNREACH ETIMEDOUT"
)
PASSING = {number for number, name in errno.errorcode.items() if name in FAULTS.split()}


class Inputs(NamedTuple):
    """What a job reads.

    Args:
        sources: files, folders, patterns and addresses (``s3://…``, ``sqlite:///…``), and documents.
        splits: of known corpora: ``bc5cdr:dev``.
        format: of the files; None finds it out for each.
        options: keywords of its reader, as pairs.
    """

    sources: tuple[str | Document, ...]
    splits: tuple[str, ...] = ()
    format: str | None = None
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Unit:
    """Documents that are read one after the other.

    Args:
        number: its place among all.
        files: path or address, name, and how it is read, of each file.
        span: of the lines of the only file: where they begin and end in bytes, the number of the first.
        split: of a known corpus.
        docs: documents that are there already.
        size: bytes of what is read; 0 where they are not known.
    """

    number: int
    files: tuple[Named, ...] = ()
    span: tuple[int, int, int] | None = None
    split: str = ""
    docs: tuple[Document, ...] = ()
    size: int = 0


def units_of(inputs: Inputs, size: int) -> Iterator[Unit]:
    """Yield what the documents of `inputs` come from, in order.

    Args:
        inputs: what is read.
        size: how many documents a part has.

    Raises:
        FormatError: a file that is not there, a folder or a pattern without files.
    """
    for number, unit in enumerate(_units(inputs, size)):
        yield Unit(number, **unit)


def _units(inputs: Inputs, size: int) -> Iterator[dict[str, Any]]:
    located = locate(inputs.sources, inputs.format)
    for _, group in itertools.groupby(located, lambda item: isinstance(item, Document)):
        some = list(group)
        yield from _of_files([item for item in some if not isinstance(item, Document)], inputs.format, size)
        if docs := tuple(item for item in some if isinstance(item, Document)):
            yield {"docs": docs, "size": sum(len(doc.text) for doc in docs)}
    yield from ({"split": split} for split in inputs.splits)


def _of_files(files: Iterable[Named], format: str | None, size: int) -> Iterator[dict[str, Any]]:
    """Yield units of files: large files of lines in pieces, other large ones alone, small ones together."""
    some: list[Named] = []
    total = 0
    for file in files:
        bytes_, _ = _state(file)
        placed = file._replace(path=absolute(file.path))  # other machines stand in other folders
        spans = _spans(file, format, size) if bytes_ > MOST else None
        if spans is not None or len(some) >= size or total + bytes_ > MOST:
            yield from _grouped(some, total)
            some, total = [], 0
        if spans is not None:
            for start, end, line in spans:
                yield {"files": (placed,), "span": (start, end, line), "size": end - start}
        else:
            some.append(placed)
            total += bytes_
    yield from _grouped(some, total)


def _grouped(files: Sequence[Named], size: int) -> Iterator[dict[str, Any]]:
    if files:
        yield {"files": tuple(files), "size": size}


def _spans(file: Named, format: str | None, lines: int) -> Iterator[tuple[int, int, int]] | None:
    """Return the spans of a file whose lines are documents, None for any other."""
    if isinstance(file.path, str) or (file.format or format or guess(file.path)) != "jsonl":
        return None
    with file.path.open("rb") as stream:
        packed = stream.read(len(GZIP)) == GZIP
    return None if packed else cut(file.path, lines)


def digests_of(inputs: Inputs, units: Iterable[Unit]) -> tuple[str, list[str]]:
    """Return a digest of what is read and how, and one of each unit: the same, and what others say of how it is read.

    Of files count names, sizes and times of change, and how they are divided.
    """
    head = json.dumps([inputs.format, inputs.options]).encode()
    made, each = _digest(head), []
    for unit in units:
        states = [_state(file) for file in unit.files] + _beside(unit.files)
        docs = [(doc.id, doc.text) for doc in unit.docs]
        told = [unit.number, [file.name for file in unit.files], states, unit.span, unit.split, docs]
        text = json.dumps(told).encode("utf-8", "surrogatepass") + b"\n"
        made.update(text)
        how = json.dumps([(file.format, file.options) for file in unit.files]).encode()
        each.append(_digest(head + text + how).hexdigest())
    return made.hexdigest(), each


def place_of(inputs: Inputs) -> str:
    """Return a digest of where the input is, whatever is there."""
    given = [one for one in inputs.sources if isinstance(one, str)]
    named = [one if is_url(one) else str(Path(one).absolute()) for one in given]
    return _digest(json.dumps([named, inputs.splits]).encode("utf-8", "surrogatepass")).hexdigest()


def _digest(data: bytes) -> hashlib.blake2b:
    return hashlib.blake2b(data, digest_size=16)


def _state(file: Named) -> tuple[int, int | str]:
    """Return bytes and time of change of a file, as far as they are known of one that is elsewhere."""
    if isinstance(file.path, str):
        return file.size, file.changed
    try:
        state = file.path.stat()
    except OSError as error:
        if file.path.is_symlink():  # it leads nowhere: one bad file of many, which its reader tells
            return 0, 0
        raise FormatError(file.path, f"cannot be read: {error.strerror}") from error
    return state.st_size, state.st_mtime_ns


def _beside(files: Iterable[Named]) -> list[tuple[int, int | str]]:
    """Return the same of the texts that brat's reader reads with files."""
    there = [Found(file.path, file.name) for file in files if isinstance(file.path, Path)]
    return [_state(Named(path, "")) for path in sorted(texts_of_brat(there)) if path.exists()]


def of_database(file: Named, format: str | None) -> bool:
    """Say whether documents come from a database, which may give other rows, or in another order, when asked again."""
    if chosen := file.format or format:
        return chosen == "sql"
    return is_database(file.path) or suffix(file.path) in FORMATS["sql"].suffixes


# --- reading ---------------------------------------------------------------------------------------------------------


class _Next(NamedTuple):
    """A document, where it comes from, and what was told of the input in front of it; None at the end."""

    doc: Document | None
    source: str
    errors: tuple[dict[str, str], ...]


class Reading:
    """Reads a unit from its beginning on, part by part.

    Args:
        unit: what is read.
        size: how many documents a part has.
        format: of the files.
        options: keywords of its reader, as pairs.
        rows: the knowledge base that stored candidates are of.
    """

    def __init__(
        self,
        unit: Unit,
        *,
        size: int,
        format: str | None = None,
        options: tuple[tuple[str, Any], ...] = (),
        rows: Rows | None = None,
    ) -> None:
        self.unit, self.place = unit, 0  # of the next part
        self._size, self._format, self._options, self._rows = size, format, options, rows
        self._source, self._told = "", list[dict[str, str]]()
        self._database = False  # whether what is read now is one
        self._docs = self._read()
        self._next = self._step()

    @property
    def parts(self) -> int | None:
        """How many parts the unit has; None before its end was seen."""
        return self.place if self._next.doc is None and self.place else None

    def skip(self, place: int) -> None:
        """Go on to a part behind, as far as there are any."""
        while self.place < place and self._next.doc is not None:
            for _ in self.take([]):
                pass

    def take(self, errors: list[dict[str, str]]) -> Iterator[tuple[Document, str]]:
        """Yield the documents of the next part with their source; what cannot be read goes to `errors`."""
        count = 0
        while count < self._size and (doc := self._next.doc) is not None:
            errors += self._next.errors
            yield doc, self._next.source
            self._next = self._step()
            count += 1
        if self._next.doc is None:
            errors += self._next.errors
        self.place += 1

    def _step(self) -> _Next:
        doc = next(self._docs, None)
        told, self._told = tuple(self._told), []
        return _Next(doc, self._source, told)

    def _read(self) -> Iterator[Document]:
        for source, docs in self._sources():
            self._source = source
            try:
                yield from docs
            except Exception as error:
                self._tell(error)

    def _sources(self) -> Iterator[tuple[str, Iterable[Document]]]:
        unit = self.unit
        faults = Faults("skip", lambda error, _done: self._tell(error), whole=True)
        options = {"rows": self._rows, "faults": faults, **dict(self._options)}
        for file in unit.files:
            self._database = of_database(file, self._format)
            if unit.span is None:
                yield shown(file.path), read_file(file, self._format, options)
            else:
                yield (
                    shown(file.path),
                    read_span(file.path, unit.span[:2], unit.span[2], rows=self._rows, faults=faults),
                )
        self._database = False
        if unit.docs:
            yield "", unit.docs
        if unit.split:
            name, _, split = unit.split.rpartition(":")
            yield unit.split, read_corpus(name, split=split, faults=faults)

    def _tell(self, error: Exception) -> None:
        if _is_passing(error):
            if not isinstance(error, FormatError) and isinstance(error, LinnetError):
                raise error
            told = f"{self._source} cannot be read now: {reason_of(error)}; mend this, and run the same command"
            raise LinnetError(told) from error
        if self._database:  # no row of it is wrong, but the query, or the connection: all behind would be lost
            raise error
        self._told.append({"source": self._source, "reason": reason_of(error)})


def _is_passing(error: BaseException | None) -> bool:
    """Return whether what was read is not to blame: then nobody may take it for read, and the job stops."""
    if type(error) is LinnetError or isinstance(error, (MissingExtraError, UnreachableError)):
        return True
    while error is not None:
        if isinstance(error, (MemoryError, ConnectionError, TimeoutError)):
            return True
        if isinstance(error, OSError) and error.errno in PASSING:
            return True
        error = error.__cause__
    return False


def reason_of(error: Exception) -> str:
    """Return what an error says, with its kind if it is none of Linnet's.

    >>> reason_of(KeyError("x")), reason_of(LinnetError("no such thing"))
    ("KeyError: 'x'", 'no such thing')
    """
    return str(error) if isinstance(error, LinnetError) else f"{type(error).__name__}: {error}"
