"""Offsets as others count them: UTF-16 units, as Java and JavaScript do, and code points, as Python and we do."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

from linnet.corpora.faults import STOP, Faults
from linnet.data import Span
from linnet.errors import FormatError

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
    they take care, and some of them began to take care from one version to the next. Where `stated` says what stands
    in all places of a text, the one way that fits all of them goes before: the same word may stand where the other
    way of counting points to.

    Args:
        text: the text.
        stated: starts, ends and what the file says stands there (None: nothing), as in `span`.
        faults: what `place` does about offsets that fit in no way.

    >>> offsets = Offsets("\U0001f600 fits")
    >>> offsets.span(2, 6, "fits"), offsets.span(3, 7, "fits"), offsets.span(4, 8, "fits")
    (Span(start=2, end=6), Span(start=2, end=6), None)
    >>> Offsets("\U0001f600 no no", [(3, 5, "no"), (6, 8, "no")]).span(3, 5, "no")
    Span(start=2, end=4)
    """

    def __init__(self, text: str, stated: Iterable[tuple[int, int, str | None]] = (), faults: Faults = STOP) -> None:
        self.text, self._faults = text, faults
        self._units = code_points(text)
        self._ways: tuple[Callable[[int, int], Span | None], ...] = (self.points, self.units)
        if not self.same:
            places = list(stated)
            fitting = (
                way for way in self._ways if all(self._fits(way(start, end), said) for start, end, said in places)
            )
            self._ways = (next(fitting, self.points), *self._ways)

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
        r"""Return the span at which the text is `surface`: in the way that fits all, else code points, else units.

        Without a surface (None) the first that lies in the text. Runs of blanks count as one blank, and ``\n`` that
        was spelled out as a line break.
        """
        spans = (way(start, end) for way in self._ways)
        return next((span for span in spans if self._fits(span, surface)), None)

    def place(self, start: int, end: int, surface: str | None, fault: Callable[[str], FormatError]) -> Span:
        """Return `span`, or where the surface stands nearby; raise the `fault` of offsets that say something else."""
        if (span := self.span(start, end, surface)) is None:
            problem = f"the offsets {start}-{end} say {self.text[start:end]!r:.80}, the text {surface!r:.80}"
            error = fault(f"{problem}; offsets count code points of the text")
            [span] = self._faults.move(error, self.text, surface or "", [Span(start, end)])
        return span

    def _fits(self, span: Span | None, surface: str | None) -> bool:
        if span is None:
            return False
        return surface is None or _blanks(self.text[span.start : span.end]) == _blanks(surface)


def _blanks(text: str) -> str:
    return " ".join(text.replace("\\n", "\n").split())
