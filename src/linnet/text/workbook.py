"""Workbooks of Excel (``.xlsx``): their sheets as rows of cells, and what people read in a cell; extra ``xlsx``.

They are archives that anybody can make, so what unpacks to far more than its size is refused.
"""

from __future__ import annotations

import datetime as dt
import importlib
import io
import itertools
import re
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeAlias, cast

from linnet.errors import DataError, FormatError, MissingExtraError
from linnet.reporter import warn
from linnet.text.files import BOMB_BYTES, BOMB_RATIO, open_bytes, shown

__all__ = [
    "LAST_ROW",
    "Cells",
    "cell_text",
    "check_room",
    "column_names",
    "escape",
    "import_openpyxl",
    "is_workbook",
    "sheet_rows",
    "unescape",
    "write_texts",
]

Cells: TypeAlias = "tuple[int, list[Any]]"  # the number of a row, and what is in it

LAST_ROW = 1 << 20  # that a sheet of Excel has
CELL = 32_767  # characters that a cell of Excel holds, those beyond U+FFFF counted twice; openpyxl cuts off the rest
TEXT = "@"  # the format of cells whose content is shown as it is typed
MOST_COLUMNS = 64  # that are read
MOST_FILES = 10_000  # in the archive that a workbook is
DEFLATE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # zipfile unpacks others with no limit of memory
ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
ESCAPES = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)|[\0-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


def is_workbook(path: str | Path) -> bool:
    """Return whether a file is a workbook, by its name.

    >>> is_workbook("terms.XLSX"), is_workbook("found.xlsx.gz"), is_workbook("terms.csv")
    (True, True, False)
    """
    return str(path).lower().removesuffix(".gz").endswith(".xlsx")


def import_openpyxl() -> Any:
    """Return openpyxl, with the modules that Linnet uses.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        for module in ("cell", "styles", "worksheet.datavalidation"):
            importlib.import_module(f"openpyxl.{module}")
        return importlib.import_module("openpyxl")
    except ModuleNotFoundError as error:
        raise MissingExtraError("openpyxl", extra="xlsx", wanted_by="a sheet of Excel (.xlsx)") from error


def sheet_rows(path: str | Path, titles: Collection[str] = ()) -> dict[str, list[Cells]]:
    """Return the rows of a workbook that are not empty, by the titles of their sheets.

    Args:
        path: the file, plain or gzip.
        titles: of the sheets that are wanted, as far as they are there; none is the first sheet alone, and a warning
            names the others.

    Raises:
        MissingExtraError: openpyxl is not installed.
        FormatError: no workbook, or one that unpacks to more than `BOMB_RATIO` times its size.
    """
    openpyxl = import_openpyxl()
    file = shown(path)
    with open_bytes(path) as stream:
        packed = stream.read()
    try:
        _refuse_bombs(packed, file)
        book = openpyxl.load_workbook(io.BytesIO(packed), read_only=True, data_only=True)
        wanted = [sheet for sheet in book.worksheets if sheet.title in titles] if titles else book.worksheets[:1]
        if others := [] if titles else book.worksheets[1:]:
            unread = ", ".join(repr(sheet.title) for sheet in others)
            warn(f"{file}: of its sheets the first is read, {wanted[0].title!r}, and not {unread}")
        return {sheet.title: list(_rows(sheet)) for sheet in wanted}
    except FormatError:
        raise
    except Exception as error:  # whatever openpyxl stumbles over in a damaged file
        problem = f"is no .xlsx as Excel and LibreOffice save it: {type(error).__name__}: {error}"
        raise FormatError(file, problem) from error


def _refuse_bombs(packed: bytes, file: str) -> None:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        entries = archive.infolist()
    size, limit = sum(entry.file_size for entry in entries), max(BOMB_BYTES, BOMB_RATIO * len(packed))
    if size > limit or len(entries) > MOST_FILES or any(entry.compress_type not in DEFLATE for entry in entries):
        raise FormatError(
            file, f"unpacks {len(packed):,} bytes to {size:,} in {len(entries):,} files: refused as a bomb"
        )


def _rows(sheet: Any) -> Iterator[Cells]:
    """Yield number and values of each row that is not empty."""
    sheet.reset_dimensions()  # other programs say that a sheet ends where it does not
    for number, row in enumerate(sheet.iter_rows(values_only=True, max_col=MOST_COLUMNS), 1):
        if any(value not in (None, "") for value in row):
            yield number, list(row)


def column_names(values: Sequence[Any]) -> list[str]:
    """Return what the first row of a sheet calls its columns, up to the last that has a name.

    >>> column_names(["id", None, " name ", None])
    ['id', '', 'name']
    """
    names = [str(value or "").strip() for value in values]
    while names and not names[-1]:
        names.pop()
    return names


def cell_text(value: Any, column: str, file: str, number: int) -> str:
    """Return what a person reads in a cell.

    Args:
        value: of the cell.
        column: what messages call its column.
        file: what they call the file.
        number: of its row.

    Raises:
        FormatError: a date, which a spreadsheet makes of ``MAR1``.

    >>> cell_text("0012", "id", "f", 2), cell_text(12.0, "id", "f", 2), cell_text(None, "id", "f", 2)
    ('0012', '12', '')
    """
    if isinstance(value, str):
        return unescape(value)
    if isinstance(value, (dt.date, dt.time, dt.timedelta)):
        problem = f"column {column}: a spreadsheet made a date of what was typed ({value}): format the cell as text"
        raise FormatError(file, problem, line=number)
    whole = isinstance(value, float) and value.is_integer()
    return "" if value is None else str(int(value) if whole else value)


def escape(text: str) -> str:
    r"""Return a text as Excel keeps it: characters that XML has no place for are written as numbers.

    Raises:
        DataError: it is too long for a cell.

    >>> escape("a\rb _x000D_")
    'a_x000D_b _x005F_x000D_'
    """
    kept = ESCAPES.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
    if len(kept) > CELL // 2 and (length := len(kept.encode("utf-16-le")) // 2) > CELL:
        fault = f"has {length:,} characters, more than the {CELL:,} that a cell of Excel holds: write CSV instead"
        raise DataError(f"{text[:40]!r}… {fault}")
    return kept


def unescape(cell: str) -> str:
    r"""Return the text that `escape` was given.

    >>> unescape("a_x000D_b _x005F_x000D_")
    'a\rb _x000D_'
    """
    return ESCAPED.sub(lambda found: chr(int(found[1], 16)), cell)


def check_room(row: int) -> None:
    """Refuse a row beyond the last one of a sheet.

    Raises:
        DataError: `row`, counted from one, is beyond it.
    """
    if row > LAST_ROW:
        raise DataError(f"a sheet of Excel has no more than {LAST_ROW:,} rows: write CSV or JSON Lines instead")


def write_texts(out: TextIO, title: str, columns: Mapping[str, int], rows: Iterable[Sequence[str]]) -> None:
    """Write a workbook of one sheet whose cells are all text: nothing is run, and no id becomes a number or a date.

    Args:
        out: the open file, which has a binary ``buffer``.
        title: of the sheet.
        columns: their names, and how many characters wide they are shown.
        rows: the cells of each; messages name a row by its first.

    Raises:
        MissingExtraError: openpyxl is not installed.
        DataError: more rows than a sheet has, or a text that is too long for a cell.
    """
    openpyxl = import_openpyxl()
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(title)
    for place, width in enumerate(columns.values(), 1):
        look = sheet.column_dimensions[openpyxl.utils.get_column_letter(place)]
        look.width, look.number_format = width, TEXT  # what people add stays as they type it, too
    sheet.freeze_panes = "A2"
    cells = [openpyxl.cell.WriteOnlyCell(sheet) for _ in columns]
    for cell in cells:
        cell.number_format = TEXT
    try:
        for number, row in enumerate(itertools.chain([list(columns)], rows), 1):
            check_room(number)
            sheet.append(_filled(cells, row, list(columns)))
    except BaseException:
        sheet.close()  # what will not be saved
        raise
    data = io.BytesIO()
    book.save(data)
    out.flush()
    cast("Any", out).buffer.write(data.getvalue())


def _filled(cells: Sequence[Any], row: Sequence[str], columns: Sequence[str]) -> list[Any]:
    """Return the cells with the texts of a row; those of the row before, which is written, are taken again."""
    for cell, text, column in zip(cells, row, columns, strict=True):
        try:
            cell.value = escape(text)
        except DataError as error:
            raise DataError(f"{row[0]}, {column}: {error}") from None
        cell.data_type = "s"
    return [cell if text else None for cell, text in zip(cells, row, strict=True)]
