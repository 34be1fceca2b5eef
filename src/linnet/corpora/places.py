"""Where annotations stand in a text that their offsets may have missed.

Standoff annotations of published corpora were made on other copies of the texts, and some of their offsets are wrong.
A mention is put where its text stands nearby; one whose text stands nowhere near is left out. Both are counted, and
told in one warning each.
"""

from __future__ import annotations

from collections.abc import Iterator

from linnet.data import Span
from linnet.vocabularies.oddities import Oddities

__all__ = ["LOST", "MISPLACED", "NEARBY", "Places", "nearby"]

NEARBY = 100  # code points around its offset in which a misplaced mention is looked for
MISPLACED = "mentions that stand elsewhere than their offsets say, put where their text is"
LOST = "mentions whose text stands nowhere near their offsets, left out"


class Places:
    """Places mentions of one file, or of several that `file` names in turn; remembers which were moved or left out.

    >>> places = Places("tags.tsv")
    >>> places.span("Mice and men.", 0, 4, "Mice"), places.span("Mice and men.", 8, 11, "men")
    (Span(start=0, end=4), Span(start=9, end=12))
    """

    def __init__(self, name: str) -> None:
        self.odd = Oddities(name)
        self.file = ""

    def tell(self, kind: str, line: int, what: str) -> None:
        """Note one case of `kind` in a line of the file."""
        self.odd.add(kind, line, f"of {self.file}: {what}" if self.file else what)

    def span(self, text: str, start: int, end: int, surface: str, *, line: int = 0) -> Span | None:
        """Return where `surface` stands in `text`, None if it stands nowhere near `start`."""
        if 0 <= start < end <= len(text) and text[start:end] == surface:
            return Span(start, end)
        found = nearby(surface, start, text)
        self.tell(LOST if found is None else MISPLACED, line, repr(surface[:60]))
        return found


def nearby(surface: str, start: int, text: str) -> Span | None:
    """Return where `surface` stands: at `start` but for case and blanks around it, else nearest to it, or None."""
    wanted = surface.strip()
    if not wanted or start > len(text) + NEARBY:
        return None
    begin = max(0, start) + surface.index(wanted[0])
    if _lower(text[begin : begin + len(wanted)]) == _lower(wanted):
        return Span(begin, begin + len(wanted))
    low, high = max(0, start - NEARBY), max(0, start) + NEARBY + len(wanted)
    window = text[low:high]
    for within, sought in ((window, wanted), (_lower(window), _lower(wanted))):
        found = [low + place for place in _all(sought, within)]
        if found:
            nearest = min(found, key=lambda place: abs(place - start))
            return Span(nearest, nearest + len(wanted))
    return None


def _lower(text: str) -> str:
    """Return a text of the same length in lower case; a letter that would become two stays."""
    return text.lower() if text.isascii() else "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _all(sought: str, text: str) -> Iterator[int]:
    """Yield where `sought` begins in `text`, where places overlap too."""
    place = text.find(sought)
    while place >= 0:
        yield place
        place = text.find(sought, place + 1)
