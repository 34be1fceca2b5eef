"""Where annotations stand in a text that their offsets may have missed.

Standoff annotations of published corpora were made on other copies of the texts, and some of their offsets are wrong.
A mention is put where its text stands nearby; one whose text stands nowhere near is left out. Both are counted, and
told in one warning each.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from linnet.data import Span
from linnet.vocabularies.malformed import Oddities

__all__ = ["LOST", "MISPLACED", "NEARBY", "Places", "find_near", "nearby"]

QUOTES = str.maketrans(dict.fromkeys("\"'`´‘’“”„«»\t\r\n\xa0", " "))  # what some copies of texts have blanks for
NEARBY = 100  # code points around its offset in which a misplaced mention is looked for
PART = 10  # code points that a part of a word counts as farther away
LONG = 5  # code points of a text that is looked for within words even where their case differs
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


def find_near(said: str, spans: Sequence[Span], text: str) -> list[Span] | None:
    """Return where the parts of an annotation, which say `said` with a blank between, stand near its spans, or None.

    >>> find_near("left arm", [Span(2, 6), Span(9, 12)], "left or right arm")
    [Span(start=0, end=4), Span(start=14, end=17)]
    """
    sizes = [end - start for start, end in spans] if len(spans) > 1 else [len(said)]
    ends = list(itertools.accumulate(size + 1 for size in sizes))
    pieces = (said[end - size - 1 : end - 1] for size, end in zip(sizes, ends, strict=True))
    found = [nearby(piece, start, text) for piece, (start, _) in zip(pieces, spans, strict=True)]
    moved = [span for span in found if span]
    apart = all(one.end <= other.start for one, other in itertools.pairwise(sorted(moved)))
    return moved if len(said) == ends[-1] - 1 and len(moved) == len(spans) and apart else None


def nearby(surface: str, start: int, text: str) -> Span | None:
    """Return where `surface` stands: at `start` but for case and blanks around it, else nearest to it, or None.

    A part of a longer word counts as farther away, and none at all where a short text has another case: MI is not
    looked for in *family*. Where it stands nowhere, blanks in the text may be what quotes and tabs of it became.
    """
    wanted = surface.strip()
    if not wanted or start > len(text) + NEARBY:
        return None
    begin = max(0, start) + surface.index(wanted[0])
    if _lower(text[begin : begin + len(wanted)]) == _lower(wanted):
        return Span(begin, begin + len(wanted))
    low, high = max(0, start - NEARBY), max(0, start) + NEARBY + len(wanted)
    window = text[low:high]
    for alike in (str, _lower, _without_quotes):
        sought = alike(wanted).strip()
        found = [low + place for place in _all(sought, alike(window))] if sought else []
        away = {place: abs(place - start) for place in found if _is_whole(text, place, place + len(sought))}
        if alike is str or len(sought) >= LONG:
            away |= {place: abs(place - start) + PART for place in found if place not in away}
        if away:
            nearest = min(away, key=away.__getitem__)
            return Span(nearest, nearest + len(sought))
    return None


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return whether no word begins before a span and goes on in it, and none goes on behind it."""
    return not any(0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum() for at in (start, end))


def _without_quotes(text: str) -> str:
    """Return a text of the same length in lower case, with blanks for quotes."""
    return _lower(text).translate(QUOTES)


def _lower(text: str) -> str:
    """Return a text of the same length in lower case; a letter that would become two stays."""
    return text.lower() if text.isascii() else "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _all(sought: str, text: str) -> Iterator[int]:
    """Yield where `sought` begins in `text`, where places overlap too."""
    place = text.find(sought)
    while place >= 0:
        yield place
        place = text.find(sought, place + 1)
