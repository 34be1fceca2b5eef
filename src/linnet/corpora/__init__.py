"""Corpora: files to documents and back, one module for each format.

`read` takes files, folders, patterns and standard input and finds out the format; `write` writes beside the target
and renames, so that a file is there in full or not at all. The modules load only when asked for: who links a text has
no use for those that find files, read them and count what a format loses.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.corpora.formats import FORMATS, GIVEN, READABLE, WRITABLE, Format, resolve, suffix
from linnet.data import Document, Rows
from linnet.errors import FormatError, LinnetError, did_you_mean
from linnet.frozen import EMPTY
from linnet.kb import KnowledgeBase
from linnet.text.files import STDIO, replacing, shown

if TYPE_CHECKING:
    from linnet.corpora.faults import Faults, OnError
    from linnet.vocabularies.options import Option

__all__ = [
    "FORMATS",
    "WRITABLE",
    "Format",
    "check_place",
    "fitting",
    "format_of",
    "growing",
    "options_of",
    "read",
    "write",
    "write_beside",
    "writer_options_of",
]

WRITERS_GIVEN = ("rows", "aside", "name")


def read(
    source: str | Path | Iterable[str | Path | Document],
    *,
    format: str | None = None,
    kb: KnowledgeBase | None = None,
    on_error: OnError | Faults = "stop",
    options: Mapping[str, Any] = EMPTY,
) -> Iterator[Document]:
    """Yield the documents of a file, a folder, a pattern such as ``notes/**/*.txt``, or standard input (``-``).

    Addresses are read too: of files in object stores (``s3://bucket/notes/``) and of databases (``postgresql://…``).

    Args:
        source: one of these or several; documents among several are passed on. Folders are read recursively in sorted
            order: files with a suffix of `format`, or of any format; links are followed; hidden files are not read, nor
            those of Word beside what is open (``~$letter.docx``).
        format: one of `FORMATS`; None finds it out, for each file, from suffix and content.
        kb: the knowledge base that stored candidates are of; without one they keep their ids alone.
        on_error: what is done about annotations that cannot be read: "stop", "skip" them with a warning, or "repair"
            those whose text stands nearby; `linnet.corpora.faults.Faults` can say more.
        options: other keywords of the reader of `format`, which must be given then (`options_of`).

    Raises:
        LinnetError: an unknown format, or one that is only written; options without a format, or that it has not.
        FormatError: no such file, nothing found, a pipe or device, a format that cannot be told, damage.

    >>> [doc.id for doc in read([Document.of("Seizures.", id="note")])]
    ['note']
    """
    if format is not None:
        _check(format, READABLE, "read")
    if options and format is None:
        raise LinnetError(f"options {', '.join(options)}: whose? Say the format (--from, or format=)")
    given = {"rows": kb, "faults": on_error, **options}
    return _read([source] if isinstance(source, (str, Path)) else source, format, given)


def options_of(format: str) -> dict[str, Option]:
    """Return what the reader of a format can be told beside what all are, by name."""
    _check(format, READABLE, "read")
    from linnet.vocabularies.options import reader_options  # noqa: PLC0415 - needed where options are asked for

    found = reader_options(resolve(FORMATS[format].read))
    return {name: option for name, option in found.items() if name not in GIVEN}


def _read(
    sources: Iterable[str | Path | Document], format: str | None, options: Mapping[str, Any]
) -> Iterator[Document]:
    given = list(sources)
    docs = [source for source in given if isinstance(source, Document)]
    if len(docs) == len(given):
        yield from docs
        return
    from linnet.corpora.reading import read_sources  # noqa: PLC0415 - needed where there is a file to read

    yield from read_sources(given, format, options)


def writer_options_of(format: str) -> dict[str, Option]:
    """Return what the writer of a format can be told beside what all are, by name.

    >>> list(writer_options_of("csv"))
    ['texts']
    """
    _check(format, WRITABLE, "written")
    from linnet.vocabularies.options import reader_options  # noqa: PLC0415 - needed where options are asked for

    known = FORMATS[format]
    found = reader_options(resolve(known.write or known.write_folder))
    return {name: option for name, option in found.items() if name not in WRITERS_GIVEN}


def write(
    docs: Document | Iterable[Document],
    path: str | Path,
    *,
    format: str | None = None,
    kb: Rows | None = None,
    options: Mapping[str, Any] = EMPTY,
) -> int:
    """Write documents to `path` and return how many; ``-`` is standard output.

    Args:
        docs: the documents, consumed one by one; or one.
        path: the file; replaced only when all is written. ``.gz`` at the end packs it.
        format: one of `FORMATS`; None takes it from the suffix, and JSON Lines for standard output.
        kb: the knowledge base that candidates and names belong to; it need not be given for what a pipeline returned.
        options: other keywords of the writer of the format (`writer_options_of`).

    Raises:
        LinnetError: an unknown format or option, or a format that is only read.
        FormatError: a suffix of no format, or a place that cannot be written to.
        DataError: a document that the format cannot hold, or what is none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write([Document.of("Seizures.")], f"{folder}/notes.jsonl"), next(read(folder)).text
    (1, 'Seizures.')
    """
    return write_beside(docs, path, format=format, kb=kb, options=options)


def write_beside(
    docs: Document | Iterable[Document],
    path: str | Path,
    *,
    format: str | None = None,
    kb: Rows | None = None,
    aside: Path | None = None,
    options: Mapping[str, Any] = EMPTY,
) -> int:
    """Write documents as `write` does, to a file or folder `aside`, on the same disk, until all is there."""
    from linnet.corpora.names import documents, known  # noqa: PLC0415 - needed where documents are written

    if not isinstance(path, (str, PathLike)):
        raise LinnetError(f"expected the name of a file, found {type(path).__name__}: linnet.write(docs, path)")
    kb = known(docs, kb)
    docs = documents(docs)
    format = format_of(path) if format is None else format
    check_place(path, format)
    _check_options(format, options)
    given = {"rows": kb, **options} if "rows" in FORMATS[format].options else options
    if place := FORMATS[format].write_folder:
        written: int = resolve(place)(docs, Path(path), aside=aside, **given)
        return written
    with _writable(path, docs) as named, replacing(path, aside=aside) as out:
        count: int = resolve(FORMATS[format].write)(named, out, **given)
    return count


def _check_options(format: str, options: Mapping[str, Any]) -> None:
    known = writer_options_of(format) if options else {}
    for name in options:
        if name not in known:
            there = f"its options are {', '.join(known)}" if known else "it has none"
            raise LinnetError(f"the writer of {format} has no option {name!r}; {there}{did_you_mean(name, known)}")


@contextmanager
def _writable(path: str | Path, docs: Iterable[Document]) -> Iterator[Iterator[Document]]:
    """Give documents to write; say what cannot be written: what is no character, or more than the disk has room for."""
    last = ""

    def named() -> Iterator[Document]:
        nonlocal last
        for doc in docs:
            last = doc.id
            yield doc

    try:
        yield named()
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename != str(path):  # of a file that is read meanwhile
            raise
        raise FormatError(shown(path), f"cannot be written: {error.strerror}") from error
    except UnicodeEncodeError as error:
        problem = f"cannot be written as {error.encoding}: {error.object[error.start : error.end]!r} is no character"
        raise FormatError(shown(path), f"document {last!r} {problem}") from error


def fitting(
    docs: Iterable[Document], format: str, dropped: Counter[str], options: Mapping[str, Any] = EMPTY
) -> Iterator[Document]:
    """Yield documents as a format can hold them, for its writer, told `options`; count in `dropped` what it cannot."""
    from linnet.corpora.conversion_losses import fitted  # noqa: PLC0415 - needed where documents are written

    known = FORMATS.get(format)
    carry = resolve(known.carry) if known and known.carry else None
    if carry and known and known.read is None:  # only written: what there is a place for depends on its options
        carry = partial(carry, **options)
    holds = known.holds.union(kind for name, kind in known.gains if options.get(name)) if known else frozenset()
    for doc in docs:
        whole, gone = fitted(doc, holds, carry=carry)
        dropped.update(gone)
        yield whole


def growing(path: str | Path, *, format: str, rows: Rows | None = None) -> Callable[[Sequence[Document]], bytes]:
    """Return a function from documents to what is to be written of them behind others.

    What it returns of no documents at all is the head of the file.

    Args:
        path: the file, for messages.
        format: one of `FORMATS` that grows.
        rows: the knowledge base that candidates and names belong to.

    >>> rows = growing("out.csv", format="csv")
    >>> rows([])[3:17], rows([Document.of("Seizures.")])
    (b'document,start', b'')
    """
    from linnet.corpora.names import Remembering  # noqa: PLC0415 - needed where documents are written

    writer = resolve(FORMATS[format].write)
    options = {"rows": Remembering.of(rows)} if "rows" in FORMATS[format].options else {}

    def written(docs: Sequence[Document]) -> bytes:
        data = io.BytesIO()
        with _writable(path, docs) as named, io.TextIOWrapper(data, encoding="utf-8", newline="") as text:
            writer(named, text, **options)
            text.flush()
            return data.getvalue()

    head = len(written([]))
    return lambda docs: written(docs)[head if docs else 0 :]


def check_place(path: str | Path, format: str) -> None:
    """Refuse a format that is not written, and a place that it cannot be written to, before any work is done.

    Raises:
        LinnetError: an unknown format, one that is only read, or a folder of files on standard output.
        FormatError: a folder that holds something already, or one where a file is expected.
        MissingExtraError: the format needs a package that is not installed.
    """
    _check(format, WRITABLE, "written")
    if needs := FORMATS[format].needs:
        resolve(needs)()
    if not FORMATS[format].write_folder:
        if Path(path).is_dir() or str(path).endswith("/"):
            raise FormatError(path, "is a folder, expected the name of a file to write")
    elif str(path) == STDIO:
        raise LinnetError(f"{format} is a folder of files and cannot go to standard output: name a folder")
    elif Path(path).is_dir() and (used := next(Path(path).iterdir(), None)):
        raise FormatError(path, f"holds {used.name!r} already: choose a new folder")


def _check(format: str, known: tuple[str, ...], done: str) -> None:
    if format not in FORMATS:
        expected = f"expected one of {', '.join(known)}"
        raise LinnetError(f"unknown corpus format {format!r}, {expected}{did_you_mean(format, known)}")
    if format not in known:
        raise LinnetError(f"the corpus format {format!r} cannot be {done}; {', '.join(known)} can")


def format_of(path: str | Path) -> str:
    """Return the format that is written to a path with this suffix, the first of a format's own."""
    if str(path) == STDIO:
        return "jsonl"
    ending = suffix(path)
    for name in WRITABLE:
        if ending in FORMATS[name].suffixes[:1]:
            return name
    if ending == ".parquet":
        raise FormatError(shown(path), "Parquet is written by linnet link into a folder: -o FOLDER/ --to parquet")
    near = did_you_mean(ending, [FORMATS[name].suffixes[0] for name in WRITABLE])
    problem = f"no format is written with the suffix {ending!r}{near}"
    raise FormatError(shown(path), f"{problem}; say which you want (--to, or format=): {', '.join(WRITABLE)}")
