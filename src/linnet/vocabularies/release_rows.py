"""Rows of large delimited release files (UMLS RRF, SNOMED RF2, NCBI dumps): streamed, checked, faults counted.

A malformed row is left out, counted and named in one warning; more than `TOLERATED` of them and more than `SHARE` of
the rows so far are refused, since then it is another kind of file. The first row must be right, and a last row that
is not means that the file is truncated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from linnet.errors import FormatError
from linnet.reporter import warn
from linnet.text.files import open_text, shown

__all__ = ["Layout", "Numbers", "ReleaseRows", "whole"]

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
    """How a file writes its rows: columns in order, what separates the cells and what ends the last one."""

    columns: Sequence[str]
    separator: str
    ending: str = ""


class ReleaseRows:
    """The rows of one file, and what was wrong in it."""

    def __init__(self, path: Path, layout: Layout, *, header: bool = False) -> None:
        self.path, self.layout = path, layout
        self.name = shown(path)
        self.count = 0  # data rows so far, malformed ones included
        self._header = header
        self._problems: list[str] = []
        self._malformed = self._last = 0

    def __iter__(self) -> Iterator[Row]:
        return self.only(())

    def only(self, markers: Sequence[str]) -> Iterator[Row]:
        """Yield (line, cells) of the rows that hold one of `markers`, or of all rows; others are checked all the same.

        Raises:
            FormatError: the file cannot be read, is truncated, or has too many malformed rows.
        """
        separator, ending = self.layout.separator, self.layout.ending
        width = len(self.layout.columns)
        number = 0
        for number, line in enumerate(open_text(self.path), 1):
            if number == 1 and self._header:
                continue
            self.count += 1
            whole = line.endswith(ending)
            if markers and whole and not any(marker in line for marker in markers):
                # counting is several times cheaper than splitting
                if line.count(separator) != width - (ending != separator):
                    self.malformed(number, f"has {line.count(separator)} separators")
                continue
            cells = (line[: -len(ending)] if ending and whole else line).split(separator)
            if len(cells) == width and whole:
                yield number, cells
            else:
                self.malformed(number, f"has {len(cells)} columns, expected {width}: {', '.join(self.layout.columns)}")
        self._end(number)

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
