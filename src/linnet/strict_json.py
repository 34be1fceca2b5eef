"""JSON without what other programs cannot read: NaN, infinities, numbers beyond all numbers, endless nesting."""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["DECODER", "bounded", "parse", "said"]

MAX_LISTS = 5_000_000  # lists and objects of one text: each takes a hundred bytes, however few of the text


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits:.40} is larger than numbers can be")
    return number


DECODER = json.JSONDecoder(parse_constant=_refused, parse_float=_finite)


def parse(text: str) -> Any:
    """Return the value of one JSON text.

    Raises:
        ValueError: no JSON, numbers that JSON lacks, nesting beyond what can be read, or as `bounded`.

    >>> parse('{"score": 1e999}')
    Traceback (most recent call last):
    ...
    ValueError: 1e999 is larger than numbers can be
    """
    bounded(text)
    try:
        return DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ValueError as error:
        raise ValueError(said(error)) from error


def said(error: ValueError) -> str:
    """Return what a decoder's error says, without advice that is for programmers."""
    return "an integer with too many digits" if "set_int_max_str_digits" in str(error) else str(error)


def bounded(text: str) -> None:
    """Refuse a text that is small itself and would not be as a value.

    Raises:
        ValueError: it has more than `MAX_LISTS` lists and objects.
    """
    if text.count("[") + text.count("{") > MAX_LISTS:  # at most: brackets within strings count as well
        raise ValueError(f"more than {MAX_LISTS:,} lists and objects in one JSON text")
