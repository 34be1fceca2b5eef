"""Parquet and Arrow tables (Feather, Arrow IPC), CSV, Excel, JSON: one document a row, its other columns as its meta.

Rows are read in batches, so that memory holds one batch and what its row group needs. Times are kept to microseconds.
What is called ``.csv`` or ``.tsv``, plain or gzip, is read as CSV, without PyArrow; its values are texts. Of a workbook
of Excel (``.xlsx``) the first sheet is read, all of it at once. What is called ``.jsonl``, ``.ndjson`` or ``.json``
holds an object a row, one a line or in one list.
"""

from __future__ import annotations

import datetime as dt
import importlib
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from linnet.corpora.rows import IDS, TEXTS, Columns, choose_columns, object_documents, row_documents
from linnet.corpora.sources import stem
from linnet.data import Document
from linnet.errors import FormatError, MissingExtraError
from linnet.frozen import EMPTY
from linnet.text.cells import csv_rows, delimiter_of
from linnet.text.files import open_bytes, open_text, shown
from linnet.text.json_files import nodes
from linnet.text.workbook import column_names, is_workbook, sheet_rows, unescape

__all__ = ["read"]

BATCH = 1_000  # rows that are turned into Python's values at once
MENTIONS = {"document", "start", "end", "text", "concepts"}  # columns of `linnet.arrow`
PARQUET, ARROW = b"PAR1", b"ARROW1"
SEPARATED = re.compile(r"\.[ct]sv(?:\.gz)?$", re.IGNORECASE)
JSON = re.compile(r"\.(?:jsonl|ndjson|json)(?:\.gz)?$", re.IGNORECASE)
MOST_STRING, MOST_PARTS = 100 << 20, 1 << 20  # of the description of a Parquet file


def read(path: str | Path, *, name: str = "", columns: Mapping[str, str] = EMPTY) -> Iterator[Document]:
    """Yield a document for each row of a Parquet, Arrow, CSV, Excel or JSON file; how many have no text is told.

    Args:
        path: the file.
        name: rows without an id are called so, with their number.
        columns: which columns are text, id, patient and date: ``id=ID,text=NOTE``; by default those that are called so,
            or note, abstract, pmid and the like.

    Raises:
        FormatError: no such table, damage, or a column that is not there.
        MissingExtraError: PyArrow is not installed, or openpyxl for a workbook.
    """
    where = shown(path)
    if SEPARATED.search(str(path)):
        given = columns.values() if isinstance(columns, Mapping) else ()
        names, lines = _separated(path, where, [*TEXTS, *IDS, *given])
        chosen = choose_columns(names, columns, where)
        yield from row_documents(_cells(lines, chosen, where), chosen, name=name or stem(path), where=where)
        return
    if is_workbook(path):
        names, cells = _sheet(path)
        chosen = choose_columns(names, columns, where)
        yield from row_documents(cells, chosen, name=name or stem(path), where=where)
        return
    if JSON.search(str(path)):
        yield from object_documents(_objects(path, where), columns, name=name or stem(path), where=where)
        return
    pyarrow = _library(where)
    with open_bytes(path) as stream:
        if not stream.seekable():
            raise FormatError(where, "tables are read from files, not from gzip or a pipe: unpack or save it first")
        try:
            names, batches = _opened(stream, where)
            if set(names) >= MENTIONS and not columns:
                told = "is a table of mentions, which are no texts: the documents-… beside it hold those"
                raise FormatError(where, f"{told}, or name columns: --columns id=document,text=text")
            chosen = choose_columns(names, columns, where)
            rows = chain.from_iterable(map(_rows, batches))
            yield from row_documents(rows, chosen, name=name or stem(path), where=where)
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            said = str(error).partition("\n")[0]
            raise FormatError(where, f"is no Parquet or Arrow table, or a damaged one: {said}") from error


def _separated(path: str | Path, where: str, wanted: list[str]) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names of the columns of a CSV, and its rows with their lines."""
    lines = open_text(path, keep_ends=True)
    first = next(lines)
    rows = csv_rows(chain([first], lines), where, delimiter_of(first, wanted) or ",")
    return [cell.strip() for cell in next(rows, (1, [""]))[1]], rows


def _cells(rows: Iterator[tuple[int, list[str]]], columns: Columns, where: str) -> Iterator[list[str | None]]:
    """Yield rows whose empty cells hold nothing; an empty text is one, for a CSV knows no null."""
    for line, row in rows:
        if len(row) != len(columns.names):
            problem = f"has {len(row)} columns, the header has {len(columns.names)}: {', '.join(columns.names)}"
            raise FormatError(where, problem, line=line)
        yield [cell if cell or place == columns.text else None for place, cell in enumerate(row)]


def _sheet(path: str | Path) -> tuple[list[str], Iterator[list[Any]]]:
    """Return the names of the columns of a workbook's first sheet, and its rows."""
    [rows] = map(iter, sheet_rows(path).values())
    names = column_names(next(rows, (1, []))[1])
    nothing = [None] * len(names)
    return names, (list(map(_cell, [*values, *nothing][: len(names)])) for _, values in rows)


def _cell(value: Any) -> Any:
    """Return what a cell of a workbook holds: text without Excel's escapes, a day where the time is midnight."""
    if isinstance(value, str):
        return unescape(value) or None
    return value.date() if isinstance(value, dt.datetime) and value.time() == dt.time() else value


def _objects(path: str | Path, where: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a file of JSON."""
    for node in nodes(path):
        for value in node.value if isinstance(node.value, list) else [node.value]:
            if not isinstance(value, Mapping):
                problem = f"expected an object with the columns of a row, found {type(value).__name__}"
                raise FormatError(where, problem, line=node.line)
            yield value


def _opened(stream: BinaryIO, where: str) -> tuple[list[str], Iterator[Any]]:
    """Return the names of the columns of a table, and its batches."""
    head = stream.read(len(ARROW))
    stream.seek(0)
    if head.startswith(PARQUET):
        parquet = importlib.import_module("pyarrow.parquet")
        limits = {"thrift_string_size_limit": MOST_STRING, "thrift_container_size_limit": MOST_PARTS}
        file = parquet.ParquetFile(stream, pre_buffer=False, **limits)
        return list(file.schema_arrow.names), file.iter_batches(batch_size=BATCH)
    ipc = importlib.import_module("pyarrow.ipc")
    if head == ARROW:
        table = ipc.open_file(stream)
        return list(table.schema.names), map(table.get_batch, range(table.num_record_batches))
    if head[:4] == b"FEA1":
        raise FormatError(where, "is Feather of version 1: write it as version 2 or Parquet")
    try:
        table = ipc.open_stream(stream)
    except StopIteration:  # nothing at all
        raise FormatError(where, "is empty") from None
    return list(table.schema.names), iter(table)


def _rows(batch: Any) -> Iterator[tuple[Any, ...]]:
    for start in range(0, batch.num_rows, BATCH):  # one batch of an Arrow file may hold all of it
        part = batch.slice(start, BATCH)
        yield from zip(*(_plain(column).to_pylist() for column in part.columns), strict=True)


def _plain(column: Any) -> Any:
    """Return a column whose times are in microseconds: of nanoseconds others are made where pandas is installed."""
    pyarrow = importlib.import_module("pyarrow")
    kind = column.type
    if getattr(kind, "unit", "") != "ns":
        return column
    if pyarrow.types.is_timestamp(kind):
        return column.cast(pyarrow.timestamp("us", kind.tz), safe=False)
    return column.cast(pyarrow.duration("us"), safe=False) if pyarrow.types.is_duration(kind) else column


def _library(where: str) -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise MissingExtraError("pyarrow", extra="tables", wanted_by=where) from error
