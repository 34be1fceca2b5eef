r"""Cells of tables that people open as spreadsheets, which run what begins as a formula does.

Such a text gets an apostrophe in front; reading takes it off again. Numbers and a lone ``-`` are no formulas.

>>> [quote_formula(text) for text in ("=1+1", "-1+1", "-1", "-", "+", "fits")]
["'=1+1", "'-1+1", '-1', '-', "'+", 'fits']
"""

from __future__ import annotations

import re

__all__ = ["quote_formula", "unquote_formula"]

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
NUMBER = re.compile(r"-(?:[0-9]+(?:\.[0-9]+)?)?")
MARKS = "'\""  # a spreadsheet takes the quotation marks off a cell before it looks at what begins there


def quote_formula(text: str) -> str:
    """Return a text as a cell that is never run.

    What has apostrophes before such a sign already gets one more, so that reading knows which to take off.
    """
    return f"'{text}" if text.lstrip(MARKS).startswith(FORMULA) and not NUMBER.fullmatch(text) else text


def unquote_formula(cell: str) -> str:
    """Return what `quote_formula` was given."""
    return cell[1:] if cell.startswith("'") and cell.lstrip(MARKS).startswith(FORMULA) else cell
