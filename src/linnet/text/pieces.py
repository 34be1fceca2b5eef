"""Texts as other libraries take them: no longer than they allow, and of whole characters."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from linnet.data import Span

__all__ = ["pieces", "whole"]


def pieces(text: str, borders: Sequence[int], most: int) -> Iterator[Span]:
    """Yield the pieces of a text, of at most so many characters each; together they are the whole text.

    Args:
        text: of any length.
        borders: where sentences start, ascending; a piece ends at the last one that it reaches, else behind its last
            blank, else where it must.
        most: characters of a piece, 1 or more.

    >>> text = "No fits. Floppy baby."
    >>> [text[start:end] for start, end in pieces(text, [0, 9], 12)]
    ['No fits. ', 'Floppy baby.']
    >>> [text[start:end] for start, end in pieces(text, [], 12)]
    ['No fits. ', 'Floppy baby.']
    """
    start = 0
    while start < len(text):
        end = start + most
        if end < len(text):
            place = bisect_right(borders, end) - 1
            border = borders[place] if place >= 0 else 0
            end = border if border > start else text.rfind(" ", start, end) + 1 or end
        end = min(end, len(text))
        yield Span(start, end)
        start = end


def whole(text: str) -> str:
    r"""Return a text with "?" for halves of surrogate pairs, which a broken file may hold and which no encoding knows.

    >>> whole("short \ud800 stature")
    'short ? stature'
    """
    return text.encode("utf-8", "replace").decode("utf-8")
