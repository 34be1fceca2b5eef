"""What no file of plain text can hold, and no line of one."""

from __future__ import annotations

import re

from linnet.errors import DataError

__all__ = ["BREAKING", "BREAKS", "plain"]

BOM = "\ufeff"
BREAKING = re.compile(r"[\t\r\n]")  # what a line of columns has no place for
BREAKS = str.maketrans("\r\n", "  ")  # one for one, so that offsets hold


def plain(text: str) -> str:
    r"""Return `text`, which is to be written in front of nothing but its like.

    Raises:
        DataError: it holds NUL characters, or begins with what tells the coding at the beginning of a file.

    >>> plain("1|t|Fits.\0")
    Traceback (most recent call last):
    ...
    linnet.errors.DataError: it holds NUL characters, which no text file can
    """
    if "\0" in text:
        raise DataError("it holds NUL characters, which no text file can")
    if text.startswith(BOM):
        raise DataError("its id begins with U+FEFF, which reading takes for a byte order mark")
    return text
