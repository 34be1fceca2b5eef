"""Rows of large delimited release files (UMLS RRF, SNOMED RF2, NCBI dumps): streamed, checked, faults counted.

A malformed row is left out, counted and named in one warning; more than `TOLERATED` of them and more than `SHARE` of
the rows so far are refused, since then it is another kind of file. The first row must be right, and a last row that
is not means that the file is truncated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from linnet.errors import FormatError
from linnet.reporter import warn
from linnet.text.files import open_text, shown

__all__ = ["Groups", "Layout", "Numbers", "ReleaseRows", "Row", "whole"]

SHOWN = 20  # malformed rows that a warning names
TOLERATED = 100  # malformed rows in a file of any size
SHARE = 0.001  # of the rows, beyond those
WHOLE = re.compile(r"0|[1-9][0-9]{0,9}")
GREATEST = (1 << 31) - 1  # what published ids stay below; greater ones would take memory by their size alone

Row = tuple[int, list[str]]  # line and cells


def whole(text: str) -> int | None:
    """Return the whole number that `text` writes in ASCII digits, None if it is none or greater than 2^31 - 1.

    >>> whole("9606"), whole("007"), whole("9" * 20)
    (9606, None, None)
    """
    number = int(text) if WHOLE.fullmatch(text) else None
    return number if number is not None and number <= GREATEST else None


class Layout(NamedTuple):
    """How a file writes its rows: columns in order, what separates the cells and what ends the last one.

    With ``header`` the first row names the columns, the last of which may be missing if it is the ``optional`` one.
    """

    columns: Sequence[str]
    separator: str
    ending: str = ""
    header: bool = False
    optional: str = ""


class ReleaseRows:
    """The rows of one file, and what was wrong in it; `expected` is how many it should have, if that is known."""

    def __init__(self, path: Path, layout: Layout, expected: int | None = None) -> None:
        self.path, self.layout, self.expected = path, layout, expected
        self.name = shown(path)
        self.count = 0  # data rows so far, malformed ones included
        self._problems: list[str] = []
        self._malformed = self._last = 0

    def __iter__(self) -> Iterator[Row]:
        return self.only(())

    def only(self, markers: Sequence[str]) -> Iterator[Row]:
        """Yield (line, cells) of the rows that hold one of `markers`, or of all rows; others are checked all the same.

        Raises:
            FormatError: the file cannot be read, is truncated, has other columns, too many malformed rows, or not as
                many as expected.
        """
        columns, separator, ending, header, _ = self.layout
        lines, number = open_text(self.path), 0
        if header:
            columns = self._named(next(lines, ""))
        for number, line in enumerate(lines, 2 if header else 1):
            self.count += 1
            width, whole = len(columns), line.endswith(ending)
            if markers and whole and not any(marker in line for marker in markers):
                # counting is several times cheaper than splitting
                if line.count(separator) != width - (ending != separator):
                    self.malformed(number, f"has {line.count(separator)} separators")
                continue
            cells = (line[: -len(ending)] if ending and whole else line).split(separator)
            if len(cells) == width and whole:
                yield number, cells
            else:
                self.malformed(number, f"has {len(cells)} columns, expected {width}: {', '.join(columns)}")
        self._end(number)

    def _named(self, header: str) -> list[str]:
        """Return the columns that the first row names."""
        columns, found = self.layout.columns, header.removeprefix("#").split(self.layout.separator)
        if found not in (columns, [column for column in columns if column != self.layout.optional]):
            problem = f"expected the columns {', '.join(columns)}, found {', '.join(found)[:200]}"
            raise FormatError(self.path, problem, line=1)
        return found

    def malformed(self, line: int, problem: str) -> None:
        """Count a row that cannot be used.

        Raises:
            FormatError: it is the first row, or one too many.
        """
        self._malformed += 1
        self._last = line
        if self.count == 1:
            raise FormatError(self.path, f"{problem}; is it the right file?", line=line)
        if self._malformed > max(TOLERATED, SHARE * self.count):
            refused = f"{self._malformed} of {self.count:,} rows are malformed, the last: {problem}"
            raise FormatError(self.path, f"{refused}; fetch it again", line=line)
        if len(self._problems) < SHOWN:
            self._problems.append(f"line {line} {problem}")

    def _end(self, line: int) -> None:
        if self.count and self._last == line:
            raise FormatError(self.path, "the last row is incomplete: the file is truncated; fetch it again", line=line)
        if self._malformed:
            more = f"; and {self._malformed - SHOWN:,} more" if self._malformed > SHOWN else ""
            told = f"malformed rows, left out ({self._malformed:,}): {'; '.join(self._problems)}{more}"
            warn(f"{self.name}: {told}")
        if self.expected not in (None, self.count):
            problem = f"has {self.count:,} rows, MRFILES says {self.expected:,}: it is truncated or of another release"
            raise FormatError(self.path, f"{problem}; fetch it again")


class Groups:
    """The rows of one file by what stands in their first column, by whose number they are sorted.

    Args:
        rows: of the file.
        number: from the first column to the number; ValueError makes the row a malformed one.
        cure: what messages say of rows in another order, behind the two that stand so.
        what: what the first column names, for that message.
    """

    def __init__(self, rows: ReleaseRows, number: Callable[[str], int], cure: str, what: str = "") -> None:
        self.rows, self._number, self._cure, self._what = rows, number, cure, what
        self._groups = iter(self)
        self._current: tuple[int, list[Row]] | None = (-1, [])

    def __iter__(self) -> Iterator[tuple[int, list[Row]]]:
        """Yield (number, rows), in the order of the file.

        Raises:
            FormatError: the file is not sorted, or as `ReleaseRows.only`.
        """
        before, last = -1, ""
        for id, group in groupby(self.rows, key=lambda row: row[1][0]):
            rows = list(group)
            try:
                current = self._number(id)
            except ValueError as error:
                for line, _ in rows:
                    self.rows.malformed(line, str(error))
                continue
            if current <= before:
                problem = f"{self._what}{id} stands after {last}; {self._cure}"
                raise FormatError(self.rows.path, problem, line=rows[0][0])
            before, last = current, id
            yield current, rows

    def take(self, wanted: int) -> list[Row]:
        """Return the rows of the number `wanted`; asked for in ascending order."""
        while self._current is not None and self._current[0] < wanted:
            self._current = next(self._groups, None)
        return self._current[1] if self._current is not None and self._current[0] == wanted else []

    def finish(self) -> None:
        """Read to the end, so that damage there is found."""
        for _ in self._groups:
            pass


class Numbers:
    """A set of whole numbers as bits: an eighth of the greatest one in bytes, however many there are.

    >>> seen = Numbers()
    >>> seen.add(70)
    >>> 70 in seen, 71 in seen, 700 in seen
    (True, False, False)
    """

    def __init__(self) -> None:
        self._bits = bytearray()

    def add(self, number: int) -> None:
        """Put `number`, at least 0, into the set."""
        place = number >> 3
        if place >= len(self._bits):
            self._bits.extend(bytes(place + 4096 - len(self._bits)))
        self._bits[place] |= 1 << (number & 7)

    def __contains__(self, number: int) -> bool:
        place = number >> 3
        return place < len(self._bits) and bool(self._bits[place] >> (number & 7) & 1)
