r"""Tables: their rows and columns, and cells that spreadsheets would run, since they begin as a formula does.

Such a text gets an apostrophe in front; reading takes it off again. Numbers and a lone ``-`` are no formulas.

>>> [quote_formula(text) for text in ("=1+1", "-1+1", "-1", "-", "+", "fits")]
["'=1+1", "'-1+1", '-1', '-', "'+", 'fits']
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TextIO

from linnet.errors import DataError, FormatError, LinnetError, did_you_mean
from linnet.text.files import MAX_LINE

__all__ = [
    "DELIMITERS",
    "check_columns",
    "column_places",
    "csv_rows",
    "csv_writer",
    "delimiter_of",
    "quote_formula",
    "unquote_formula",
]

DELIMITERS = ("\t", ",", ";")

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
NUMBER = re.compile(r"-(?:[0-9]+(?:\.[0-9]+)?)?")
APART = re.compile(r"[\W_]+")
MARKS = "'\""  # a spreadsheet takes the quotation marks off a cell before it looks at what begins there


def quote_formula(text: str) -> str:
    """Return a text as a cell that is never run.

    What has apostrophes before such a sign already gets one more, so that reading knows which to take off.
    """
    return f"'{text}" if text.lstrip(MARKS).startswith(FORMULA) and not NUMBER.fullmatch(text) else text


def unquote_formula(cell: str) -> str:
    """Return what `quote_formula` was given."""
    return cell[1:] if cell.startswith("'") and cell.lstrip(MARKS).startswith(FORMULA) else cell


def delimiter_of(first: str, wanted: Iterable[str], *, columns: int = 0) -> str:
    """Return which of `DELIMITERS` stands between the cells of a table, "" if none does.

    The one that gives the first row so many `columns`, most of the names that are `wanted`, most columns; what stands
    between quotation marks does not count.

    Args:
        first: the first line.
        wanted: names of columns, in any case, with or without blanks, hyphens and underscores.
        columns: how many there are, where that is known.

    >>> delimiter_of("no;text;age,note", ["id", "text"]), delimiter_of('"a;b;c",d', []), delimiter_of("text", ["text"])
    (';', ',', '')
    """
    known = {_plain(name) for name in wanted}

    def rank(mark: str) -> tuple[bool, int, int]:
        cells = _first_row(first, mark)
        return len(cells) == columns, len(known.intersection(map(_plain, cells))), len(cells)

    best = max(DELIMITERS, key=rank)
    return best if len(_first_row(first, best)) > 1 else ""


def _first_row(first: str, delimiter: str) -> list[str]:
    csv.field_size_limit(MAX_LINE)
    try:
        return next(csv.reader([first], delimiter=delimiter), [])
    except csv.Error:  # whoever reads the rows says so
        return first.split(delimiter)


def _plain(name: str) -> str:
    return APART.sub("", name.casefold())


def csv_rows(lines: Iterator[str], path: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line where it begins, cells) of every row of CSV that is not empty; cells may hold blanks alone.

    Raises:
        FormatError: quotation marks that do not close; with the line.
    """
    csv.field_size_limit(MAX_LINE)  # of the whole process; the module's 128 KB are less than a full text
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    begin = 1
    try:
        for cells in reader:
            if any(cells):
                yield begin, cells
            begin = reader.line_num + 1
    except csv.Error as error:
        problem = f"is not valid CSV: {error}; is a quotation mark left open?"
        raise FormatError(path, problem, line=begin) from error


class Writer(Protocol):
    """What `csv.writer` returns."""

    def writerow(self, row: Iterable[Any], /) -> object:
        """Write a row."""
        ...

    def writerows(self, rows: Iterable[Iterable[Any]], /) -> None:
        """Write rows."""
        ...


def csv_writer(out: TextIO) -> Writer:
    r"""Return a writer of CSV whose rows end with ``\n`` and whose cells may hold any line break.

    That of the module quotes a lone carriage return from Python 3.13 on only, and readers end a row there.

    Raises:
        DataError: by the writer, of NUL characters.

    >>> import sys
    >>> csv_writer(sys.stdout).writerow(("a\nb", "c"))
    "a
    b",c
    """
    return csv.writer(_Terminated(out), lineterminator="\r\n")


class _Terminated:
    r"""Ends rows with ``\n`` for a csv writer that believes in ``\r\n`` and so quotes cells that hold either."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, row: str, /) -> None:
        if "\0" in row:
            raise DataError(f"the row {row[:80]!r} holds NUL characters, which no text file can")
        self._out.write(row.removesuffix("\r\n") + "\n")


def check_columns(columns: Mapping[str, str], known: Collection[str]) -> None:
    """Refuse names of columns that are none of ours.

    Raises:
        LinnetError: one that is not among those `known`.
    """
    for ours in columns:
        if ours not in known:
            problem = f"columns: unknown column {ours!r}; columns are {', '.join(known)}"
            raise LinnetError(problem + did_you_mean(ours, known))


def column_places(
    header: Sequence[str],
    path: str,
    columns: Mapping[str, str],
    *,
    known: Sequence[str],
    cures: Mapping[str, str],
) -> dict[str, int]:
    """Return our column -> its position; upper and lower case are the same.

    Args:
        header: the names of the file's columns.
        path: how messages name the file.
        columns: our column -> the file's, where they differ; these must be there.
        known: our columns.
        cures: those that must be there -> what to do if they are not.

    Raises:
        FormatError: two columns of one name, or one that is missing.
    """
    names = [name.casefold() for name in header]
    there = f"the columns are {', '.join(header)}"
    places = {}
    for ours in known:
        theirs = columns.get(ours, ours)
        count = names.count(theirs.casefold())
        if count > 1:
            raise FormatError(path, f"two columns are called {theirs!r}; {there}", line=1)
        if count:
            places[ours] = names.index(theirs.casefold())
        elif ours in columns or ours in cures:
            problem = f"there is no column {theirs!r}; {there}{did_you_mean(theirs, header)}"
            raise FormatError(path, problem + ("" if ours in columns else cures[ours]), line=1)
    return places
