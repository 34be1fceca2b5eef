"""JSON Lines: Linnet's own format, one document a line, nothing lost (`linnet.codec`).

Prefixes of concepts are read in the spelling that all readers give them (`linnet.vocabularies.curies`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from linnet.codec import dumps, loads
from linnet.corpora.faults import STOP, Faults
from linnet.corpora.names import Remembering
from linnet.corpora.sources import sniff
from linnet.data import Document, Mention, Rows
from linnet.errors import DataError, FormatError
from linnet.reporter import warn
from linnet.text.files import open_text, shown
from linnet.text.json_files import spelled
from linnet.vocabularies.curies import curie

__all__ = ["line", "read", "write"]

BEGIN = 1 << 16  # characters of a line that tell its format


def read(path: str | Path, *, rows: Rows | None = None, faults: Faults = STOP) -> Iterator[Document]:
    """Yield the documents of a JSON Lines file; blank lines are skipped, a file without lines holds no documents.

    Raises:
        FormatError: a line that is no document, with its number.
        UnknownConceptError: a candidate that `rows` does not hold.
    """
    number = 0
    for number, text in enumerate(open_text(path, may_be_empty=True), 1):
        if text and not text.isspace():
            try:
                yield _spelled_alike(loads(text, rows))
            except DataError as error:
                faults.leave_out(FormatError(shown(path), f"{error}{_other(text)}", line=number), whole=True)
    if not number:
        warn(f"{shown(path)}: is empty, it gives no documents")


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
