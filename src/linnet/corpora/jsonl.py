"""JSON Lines: Linnet's own format, one document a line, nothing lost (`linnet.codec`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from linnet.codec import dumps, loads
from linnet.corpora.names import Remembering
from linnet.corpora.sources import sniff
from linnet.data import Document, Rows
from linnet.errors import DataError, FormatError
from linnet.text.files import open_text, shown
from linnet.text.json_files import spelled

__all__ = ["line", "read", "write"]

BEGIN = 1 << 16  # characters of a line that tell its format


def read(path: str | Path, *, rows: Rows | None = None) -> Iterator[Document]:
    """Yield the documents of a JSON Lines file; blank lines are skipped, a file without lines holds no documents.

    Args:
        path: the file, plain or gzip.
        rows: turns the ids of stored candidates into rows; without it they stay ids.

    Raises:
        FormatError: a line that is no document, with its number.
        UnknownConceptError: a candidate that `rows` does not hold.
    """
    for number, text in enumerate(open_text(path, may_be_empty=True), 1):
        if text and not text.isspace():
            try:
                yield loads(text, rows)
            except DataError as error:
                raise FormatError(shown(path), f"{error}{_other(text)}", line=number) from error


def _other(text: str) -> str:
    """Return the way out where a line looks like a document of another tool."""
    format = sniff(text[:BEGIN].encode(errors="replace"))
    return "" if format in (None, "jsonl") else f"; it looks like {format}: say so (--from, or format=)"


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
