"""Offsets as others count them: UTF-16 units, as Java and JavaScript do, and code points, as Python and we do."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from linnet.data import Span

__all__ = ["Offsets", "code_points", "utf16_units"]


def _plain(text: str) -> bool:
    """Return whether both ways of counting are the same."""
    return text.isascii() or max(text) <= "\uffff"


def utf16_units(text: str) -> Sequence[int]:
    """Return where each code point of `text`, and its end, lies in UTF-16 units.

    >>> list(utf16_units("a\U0001f600b"))
    [0, 1, 3, 4]
    """
    if _plain(text):
        return range(len(text) + 1)
    return list(itertools.accumulate((1 + (char > "\uffff") for char in text), initial=0))


def code_points(text: str) -> Sequence[int]:
    """Return which code point of `text` begins at each UTF-16 unit, and at its end; -1 inside a surrogate pair.

    >>> list(code_points("a\U0001f600b"))
    [0, 1, -1, 2, 3]
    """
    if _plain(text):
        return range(len(text) + 1)
    pairs = ((place,) if char <= "\uffff" else (place, -1) for place, char in enumerate(text))
    return [*itertools.chain.from_iterable(pairs), len(text)]


class Offsets:
    """Turns the offsets that a file gives into spans of a text, whichever way it counts.

    What a file says an annotation's text is tells the two ways apart: programs in JavaScript count UTF-16 units unless
    they take care, and some of them began to take care from one version to the next.

    >>> offsets = Offsets("\U0001f600 fits")
    >>> offsets.span(2, 6, "fits"), offsets.span(3, 7, "fits"), offsets.span(4, 8, "fits")
    (Span(start=2, end=6), Span(start=2, end=6), None)
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._units = code_points(text)

    @property
    def same(self) -> bool:
        """Whether the text has nothing that is counted differently."""
        return len(self._units) == len(self.text) + 1

    def points(self, start: int, end: int) -> Span | None:
        """Return offsets in code points as a span, None if they are outside the text or empty."""
        return Span(start, end) if 0 <= start < end <= len(self.text) else None

    def units(self, start: int, end: int) -> Span | None:
        """Return offsets in UTF-16 units as a span, None if they are outside the text, empty or inside a pair."""
        if not 0 <= start < end < len(self._units):
            return None
        span = Span(self._units[start], self._units[end])
        return None if -1 in span else span

    def span(self, start: int, end: int, surface: str | None) -> Span | None:
        r"""Return the span in code points, else that in UTF-16 units, at which the text is `surface`.

        Without a surface (None) the first that lies in the text. Runs of blanks count as one blank, and ``\n`` that
        was spelled out as a line break.
        """
        for span in (self.points(start, end), self.units(start, end)):
            if span and (surface is None or _blanks(self.text[span.start : span.end]) == _blanks(surface)):
                return span
        return None


def _blanks(text: str) -> str:
    return " ".join(text.replace("\\n", "\n").split())
