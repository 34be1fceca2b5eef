"""Tables that corpora are published as: rows by column, with their lines, and faults in our own words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from linnet.errors import FormatError
from linnet.text.cells import column_places, csv_rows
from linnet.text.files import open_text, shown

__all__ = ["Row", "number", "rows", "table"]

DIGITS = 12  # more make no offset that any file could have


class Row(NamedTuple):
    """One row and the line it ends in."""

    line: int
    cells: Sequence[str]


def rows(path: str | Path, *, columns: int, head: bool = False, encoding: str = "utf-8") -> Iterator[Row]:
    """Yield the rows of a file whose columns are separated by tabs, without any quoting; blank lines are left out.

    Args:
        path: the file, plain or gzip.
        columns: how many there must be at least.
        head: whether the first line names the columns, and is left out.
        encoding: of the file.

    Raises:
        FormatError: a row with fewer columns, with its line, or as `open_text`.
    """
    for line, text in enumerate(open_text(path, encoding=encoding), 1):
        if not text.strip() or (head and line == 1):
            continue
        cells = text.split("\t")
        if len(cells) < columns:
            problem = f"has {len(cells)} columns, expected {columns} with tabs between; found {text[:60]!r}"
            raise FormatError(shown(path), problem, line=line)
        yield Row(line, cells)


def table(path: str | Path, *, wanted: Sequence[str], separator: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield line and cells by column of a file with a header, quoted as CSV is.

    Args:
        path: the file, plain or gzip.
        wanted: the columns that must be there, in upper or lower case; there may be others.
        separator: between columns.

    Raises:
        FormatError: no header, a column that is missing, a row of another length, quotes that do not close; with the
            line.
    """
    name = shown(path)
    rows = csv_rows(open_text(path, keep_ends=True), name, separator)
    _, head = next(rows, (1, []))
    places = column_places(head, name, {}, known=wanted, cures=dict.fromkeys(wanted, ""))
    for line, cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(head):
            raise FormatError(name, f"has {len(cells)} columns, its header {len(head)}", line=line)
        yield line, dict(zip(head, cells, strict=True)) | {column: cells[place] for column, place in places.items()}


def number(text: str, path: str | Path, line: int) -> int:
    """Return the offset that `text` is.

    Raises:
        FormatError: it is no number that is not negative.
    """
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) <= DIGITS:
        return int(text)
    raise FormatError(
        shown(path), f"expected a number that is not negative as an offset, found {text[:60]!r}", line=line
    )
