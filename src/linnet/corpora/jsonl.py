"""JSON Lines: Linnet's own format, one document a line, nothing lost (`linnet.codec`).

Prefixes of concepts are read in the spelling that all readers give them (`linnet.kb.curies`).
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, TextIO

from linnet.codec import dumps, loads
from linnet.corpora.faults import STOP, Faults
from linnet.corpora.names import Remembering
from linnet.corpora.sources import sniff
from linnet.data import Document, Mention, Rows
from linnet.errors import DataError, FormatError
from linnet.kb.curies import curie
from linnet.reporter import warn
from linnet.text.files import CHUNK, MAX_LINE, open_bytes, open_text, shown
from linnet.text.json_files import spelled
from linnet.text.raw_input import decode, refuse_binary

__all__ = ["cut", "line", "read", "read_span", "write"]

BOM = b"\xef\xbb\xbf"
MARKED = re.compile(r'"mentions"\s*:')  # has what a table has no place for
BEGIN = 1 << 16  # characters of a line that tell its format


def read(path: str | Path, *, rows: Rows | None = None, faults: Faults = STOP) -> Iterator[Document]:
    """Yield the documents of a JSON Lines file; blank lines are skipped, a file without lines holds no documents.

    Raises:
        FormatError: a line that is no document, with its number.
        UnknownConceptError: a candidate that `rows` does not hold.
    """
    number = 0
    if faults.whole:  # one line at a time, so that one of another encoding costs itself alone
        with open_bytes(path) as stream:
            number = yield from _read_lines(stream, shown(path), (0, None), 1, rows, faults)
    else:
        for number, text in enumerate(open_text(path, may_be_empty=True), 1):
            yield from _read_line(text, shown(path), number, rows, faults)
    if not number:
        warn(f"{shown(path)}: is empty, it gives no documents")


def read_span(
    path: str | Path, span: tuple[int, int], line: int, *, rows: Rows | None = None, faults: Faults = STOP
) -> Iterator[Document]:
    """Yield the documents of some lines of a plain file, as `read` does.

    Args:
        path: the file, which is not packed.
        span: where they begin and end, in bytes; both are at the beginning of a line, or the end of the file.
        line: the number of the first of them.
        rows: as for `read`.
        faults: as for `read`.
    """
    with open_bytes(path) as stream:
        stream.seek(span[0])
        yield from _read_lines(stream, shown(path), span, line, rows, faults)


def _read_lines(
    stream: BinaryIO, path: str, span: tuple[int, int | None], line: int, rows: Rows | None, faults: Faults
) -> Generator[Document, None, int]:
    """Yield the documents of a stream from where it is, up to the end of a span or its own; return where that is."""
    start, end = span
    while (end is None or start < end) and (data := stream.readline(MAX_LINE)):
        if line == 1:
            refuse_binary(data, path)
        try:
            _refuse_longer(data, path, line)
            text = decode(data.removeprefix(BOM) if line == 1 else data, path, "utf-8", offset=start, line=line)
        except FormatError as error:
            faults.leave_out(error, whole=True)
        else:
            yield from _read_line(text, path, line, rows, faults)
        start += len(data)
        while not data.endswith(b"\n") and (data := stream.readline(MAX_LINE)):  # the rest of one that is too long
            start += len(data)
        line += 1
    return start


def cut(path: str | Path, lines: int) -> Iterator[tuple[int, int, int]]:
    """Yield spans of a plain file of so many lines each: where they begin and end, and the number of the first line.

    No line is read as JSON, so that it takes no longer than reading the bytes.
    """
    start = position = count = 0
    first = 1
    with open_bytes(path) as stream:
        while chunk := stream.read(CHUNK):
            here = 0
            while count + (found := chunk.count(b"\n", here)) >= lines:
                for _ in range(lines - count):
                    here = chunk.index(b"\n", here) + 1
                yield start, position + here, first
                start, first, count = position + here, first + lines, 0
            count += found
            position += len(chunk)
    if position > start:
        yield start, position, first


def _refuse_longer(data: bytes, path: str, line: int) -> None:
    if len(data) == MAX_LINE and not data.endswith(b"\n"):
        raise FormatError(path, f"has a line of more than {MAX_LINE:,} bytes", line=line)


def _read_line(text: str, path: str, number: int, rows: Rows | None, faults: Faults) -> Iterator[Document]:
    if text and not text.isspace():
        try:
            yield _spelled_alike(loads(text, rows))
        except DataError as error:
            faults.leave_out(FormatError(path, f"{error}{_other(text, str(error))}", line=number), whole=True)


def _spelled_alike(doc: Document) -> Document:
    """Return a document with the preferred spelling of all concepts: people write some of these files by hand."""
    mentions = [_mention(mention) for mention in doc.mentions or ()]
    if all(one is other for one, other in zip(mentions, doc.mentions or (), strict=True)):
        return doc
    return replace(doc, mentions=tuple(mentions))


def _mention(mention: Mention) -> Mention:
    concepts = mention.concepts and tuple(map(curie, mention.concepts))
    alternatives = tuple(tuple(map(curie, ids)) for ids in mention.alternatives)
    if (concepts, alternatives) == (mention.concepts, mention.alternatives):
        return mention
    return replace(mention, concepts=concepts, alternatives=alternatives)


def _other(text: str, problem: str) -> str:
    """Return the way out where a line looks like a document of another tool, or has fields of somebody's own."""
    format = sniff(text[:BEGIN].encode(errors="replace"))
    if format not in (None, "jsonl"):
        return f"; it looks like {format}: say so (--from, or format=)"
    own = problem.startswith("document: ") and not MARKED.search(text)
    way = "--from table, or format='table' (docs/inputs.md)"
    return f"; with fields of your own, or ids that are numbers or missing: {way}" if own else ""


def write(docs: Iterable[Document], out: TextIO, *, rows: Rows | None = None) -> int:
    """Write documents as JSON Lines and return how many.

    Raises:
        DataError: candidates of another knowledge base than `rows`, or rows without one.
    """
    count = 0
    known = Remembering.of(rows)
    for doc in docs:
        out.write(line(doc, known))
        count += 1
    return count


def line(doc: Document, rows: Rows | None = None) -> str:
    """Return a document as one line of a file, with its end.

    Raises:
        DataError: as `write`.
    """
    return spelled(dumps(doc, rows)) + "\n"
