"""A CSV of mentions for spreadsheets: one row a mention, written, and read back with the texts they belong to.

The columns are those of `linnet.corpora.mention_table`. A further column, document_text, may hold the whole text in the
first row of each document: such a file can be read alone, and has a row without offsets for a document without
mentions. A file (not standard output) begins with a byte order mark, without which Excel shows ``MÃ¼ller``.

A text that a spreadsheet would run as a formula has an apostrophe in front (`linnet.text.cells`). Probabilities have
four decimals.

What people corrected is read as `linnet.corpora.mention_rows` says, also in Windows-1252. Columns of others are kept
in a mention's ``meta["columns"]``, names (of concepts) and context are not read. A mention whose cell of concepts is
empty has none (``()``), in a file without that column nobody said (None).
"""

from __future__ import annotations

import codecs
import csv
import itertools
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from linnet.corpora.faults import STOP, Faults
from linnet.corpora.mention_rows import Table
from linnet.corpora.mention_table import COLUMNS, Cell, Row, carried, tabled
from linnet.corpora.names import namer
from linnet.data import Document, Rows
from linnet.errors import FormatError
from linnet.text.cells import (
    check_columns,
    column_places,
    csv_rows,
    csv_writer,
    delimiter_of,
    quote_formula,
    unquote_formula,
)
from linnet.text.files import CHUNK, STDIO, open_bytes, open_text, shown

__all__ = ["COLUMNS", "DOCUMENT_TEXT", "carried", "lacks_texts", "read", "read_mentions", "write"]

logger = logging.getLogger(__name__)

DOCUMENT_TEXT = "document_text"
REQUIRED = ("document", "start", "end")
BOM = "\ufeff"
UTF8 = "utf-8"

# --- writing ---------------------------------------------------------------------------------------------------------


def write(docs: Iterable[Document], out: TextIO, *, rows: Rows | None = None, texts: bool = False) -> int:
    """Write the mentions of documents as CSV with a header and return how many documents there were.

    Args:
        docs: the documents.
        out: the open file.
        rows: a knowledge base for the preferred names; without one, or for ids it does not hold, they stay empty.
        texts: add the column document_text, so that `read` can read the file alone.

    Raises:
        DataError: NUL characters.
    """
    if out is not sys.stdout:
        out.write(BOM)
    table = csv_writer(out)
    table.writerow((*COLUMNS, DOCUMENT_TEXT) if texts else COLUMNS)
    name = namer(rows)
    count = 0
    for doc in docs:
        cells = [[_safe(cell) for cell in row] for row in tabled(doc, name)]
        if texts:
            cells = cells or [[quote_formula(doc.id), *[""] * (len(COLUMNS) - 1)]]
            cells = [[*row, "" if place else quote_formula(doc.text)] for place, row in enumerate(cells)]
        table.writerows(cells)
        count += 1
    return count


def _safe(cell: Cell) -> str:
    return quote_formula(cell) if isinstance(cell, str) else str(cell)


# --- reading ---------------------------------------------------------------------------------------------------------


def read(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    header: Sequence[str] = (),
    rows: Rows | None = None,  # noqa: ARG001 - as in every format
    faults: Faults = STOP,
) -> Iterator[Document]:
    """Yield the documents of a CSV that has their texts in a column document_text; rows of a document stand together.

    Args:
        path: the file, plain or gzip, with commas, semicolons or tabs between cells.
        columns: our column -> the file's, where they differ: ``{"document": "pmid", "document_text": "abstract"}``.
        header: the names of the columns, of a file whose first row does not name them.
        rows: not used; readers and writers of a format have the same keywords.
        faults: what is done about mentions that cannot be read.

    Raises:
        LinnetError: `columns` names a column of ours that there is not.
        FormatError: no such column, a document whose first row has no text, or as `read_mentions`.
    """
    check_columns(columns or {}, (*COLUMNS, DOCUMENT_TEXT))
    found = _rows(path, columns or {}, (*REQUIRED, DOCUMENT_TEXT), header)
    return _read(shown(path), found, faults)


def _read(path: str, rows: Iterator[Row], faults: Faults) -> Iterator[Document]:
    seen: set[str] = set()
    for id, group in itertools.groupby(rows, lambda row: row.cells["document"]):
        first = next(group)
        if id in seen:
            raise FormatError(path, f"rows of document {id!r} stand further up: put them together", line=first.line)
        seen.add(id)
        text = first.cells[DOCUMENT_TEXT]
        marked = []
        for row in itertools.chain([first], group):
            if row.cells[DOCUMENT_TEXT] not in ("", text):
                problem = f"has another {DOCUMENT_TEXT} for document {id!r} than line {first.line}"
                raise FormatError(path, problem, line=row.line)
            marked.append(row)
        yield Document(id, text, mentions=Table(path, faults).mentions(marked, Document(id, text)))


def read_mentions(
    path: str | Path,
    texts: Iterable[Document],
    *,
    columns: Mapping[str, str] | None = None,
    corrected: bool = False,
    kb: Rows | None = None,
    faults: Faults = STOP,
) -> Iterator[Document]:
    """Yield the documents `texts` with the mentions that a CSV has for them, after those they have already.

    The mentions of the whole file are held in memory; texts stream. Rows are in any order; a document without rows
    has no mentions (``()``).

    Args:
        path: the file, plain or gzip, with commas, semicolons or tabs between cells.
        texts: the documents; their ids are what the column document says.
        columns: our column -> the file's, where they differ: ``{"document": "pmid", "concepts": "MeSH"}``.
        corrected: people went through the file: its mentions are gold, and take the place of those there are.
        kb: a knowledge base for names of concepts in place of ids, and to know ids.
        faults: what is done about mentions that cannot be read.

    Raises:
        LinnetError: `columns` names a column of ours that there is not.
        FormatError: a missing column, a row of another length, offsets that are outside the text or say another one,
            what is no number or source, rows of a document that `texts` does not hold; with the line.
        DataError: two of the texts have the same id.
    """
    check_columns(columns or {}, (*COLUMNS, DOCUMENT_TEXT))
    encoding = _encoding(path) if corrected else UTF8
    rows = _rows(path, columns or {}, REQUIRED, encoding=encoding)
    return Table(shown(path), faults, corrected, kb).attach(rows, texts)


def lacks_texts(path: str | Path) -> bool:
    """Return whether a file is a CSV of mentions whose texts are elsewhere, as `write` makes it by default."""
    first = next(open_text(path), "")
    header = set(map(str.strip, next(csv.reader([first], delimiter=_delimiter(first, {})), [])))
    return header.issuperset(REQUIRED) and DOCUMENT_TEXT not in header


def _delimiter(first: str, columns: Mapping[str, str], header: Sequence[str] = ()) -> str:
    names = () if header else (columns.get(ours, ours) for ours in (*COLUMNS, DOCUMENT_TEXT))
    return delimiter_of(first, names, columns=len(header)) or ","


def _encoding(path: str | Path) -> str:
    """Return the encoding of a table that a spreadsheet saved: of Excel's plain *CSV*, it is Windows-1252."""
    if str(path) == STDIO:
        return UTF8
    decoder = codecs.getincrementaldecoder(UTF8)()
    with open_bytes(path) as stream:
        try:
            for chunk in iter(lambda: stream.read(CHUNK), b""):
                decoder.decode(chunk)
        except UnicodeDecodeError:
            logger.warning("%s: not UTF-8: read as Windows-1252, as Excel saves it", shown(path))
            return "cp1252"
    return UTF8


def _rows(
    path: str | Path,
    columns: Mapping[str, str],
    required: Sequence[str],
    header: Sequence[str] = (),
    encoding: str = UTF8,
) -> Iterator[Row]:
    name = shown(path)
    lines = open_text(path, keep_ends=True, encoding=encoding)
    first = next(lines)
    table = csv_rows(itertools.chain([first], lines), name, _delimiter(first, columns, header))
    header = header or [cell.strip() for cell in next(table, (1, [""]))[1]]
    places = column_places(
        header, name, columns, known=(*COLUMNS, DOCUMENT_TEXT), cures={ours: _cure(ours) for ours in required}
    )
    for line, row in table:
        if len(row) != len(header):
            problem = f"has {len(row)} columns, the header has {len(header)}: {', '.join(header)}"
            raise FormatError(name, problem, line=line)
        found = Row.of(line, row, header, places)
        yield found._replace(cells={column: unquote_formula(cell) for column, cell in found.cells.items()})


def _cure(ours: str) -> str:
    """Return what to do about a column that is missing."""
    cure = f" (if it is there by another name: columns={{{ours!r}: ...}})"
    if ours == REQUIRED[0]:
        return f"{cure}; a table of notes, not of mentions, is read with --from table"
    if ours != DOCUMENT_TEXT:
        return cure
    where = "linnet corpus convert --texts FOLDER, in Python read_mentions(path, texts)"
    return f"; a CSV of mentions holds no texts: say where they are: {where}{cure}"
