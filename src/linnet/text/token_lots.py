"""The words of many texts at once: what `linnet.text.tokens.tokenize` gives of each, in a quarter of the time.

The texts become one array of characters, whose kinds a table knows; words begin and end where the kind changes. Only
where something rare stands between two words (an apostrophe, a hyphen, a soft hyphen) is the text itself looked at.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.text.normalise import APOSTROPHES, INVISIBLE
from linnet.text.tokens import GLUED, HYPHENS, INNER, INSIDE, MEASURE, Tokens, belongs, gap_kind

__all__ = ["Lot", "tokenize_lot"]

Ints = npt.NDArray[np.intp]

BORDER: Final = "\0"  # between two texts: no word holds it, and nothing joins words across it
_OTHER, _INNER, _HYPHEN, _SLASH, _BLANK, _WORD, _N = range(7)  # kinds of characters; letters and digits come last
_LETTERS: Final = 3  # of "non" and "and", which what follows may belong to
_INSIDE: Final = re.compile(rf"[{INSIDE}]*")
_TYING: Final = re.compile(rf"[{INSIDE}{APOSTROPHES}]+")
_INNER_SIGNS: Final = [*map(chr, range(0x300, 0x370)), *INVISIBLE, *APOSTROPHES]


class Lot(NamedTuple):
    """The words of several texts, one after the other; offsets are code points of `text`, half-open.

    ``text`` holds all texts, ``offsets`` (texts,) where each begins and ``firsts`` (texts + 1,) which word is its first
    one; ``surfaces`` has n words, ``starts`` and ``ends`` are (n,); ``before`` (n,) says where the gap before a word
    begins, and ``gaps`` (n,) of which `Gap` kind it is.
    """

    text: str
    offsets: Ints
    firsts: Ints
    surfaces: list[str]
    starts: Ints
    ends: Ints
    before: Ints
    gaps: Ints

    def gap(self, at: int) -> str:
        """Return what stands before a word."""
        return self.text[self.before[at] : self.starts[at]]

    def words(self, number: int) -> Tokens:
        """Return the words of one text as `tokenize` does, without what stands between them."""
        some, offset = slice(self.firsts[number], self.firsts[number + 1]), self.offsets[number]
        return Tokens(self.surfaces[some], self.starts[some] - offset, self.ends[some] - offset, [])


def tokenize_lot(texts: Sequence[str]) -> Lot:
    """Return the words of `texts`.

    >>> lot = tokenize_lot(["Alzheimer's disease, early-onset", "Pre-auricular pits"])
    >>> lot.surfaces, lot.firsts.tolist(), lot.gaps.tolist()
    (["Alzheimer's", 'disease', 'early', 'onset', 'Pre-auricular', 'pits'], [0, 4, 6], [0, 0, 2, 0, 0, 0])
    """
    text = BORDER.join(texts)
    sizes = np.fromiter(map(len, texts), np.intp, len(texts))
    offsets = np.cumsum(sizes + 1) - sizes - 1
    signs = np.frombuffer(f"{BORDER}{text}{BORDER}".encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = _kinds(max(int(signs.max()), 127).bit_length())[signs]
    word = kinds >= _WORD
    edges = np.flatnonzero(word[1:] != word[:-1])
    starts, ends = _tied(text, kinds[1:], edges[::2], edges[1::2].copy())
    starts, ends = _measured(text, signs[1:], starts, ends)
    starts, ends = _prefixed(text, kinds[1:], starts, ends)
    firsts = np.searchsorted(starts, np.append(offsets, len(text)))
    before = np.concatenate([np.zeros(min(len(ends), 1), np.intp), ends[:-1]])
    filled = np.flatnonzero(firsts[1:] > firsts[:-1])
    before[firsts[filled]] = offsets[filled]
    surfaces = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return Lot(text, offsets, firsts, surfaces, starts, ends, before, _gaps(text, kinds[1:], before, starts))


@functools.cache
def _kinds(bits: int) -> npt.NDArray[np.uint8]:
    """Return the kinds of the characters whose numbers have at most so many bits: 7 for ASCII, 17 for emoji."""
    signs = list(map(chr, range(min(1 << bits, sys.maxunicode + 1))))
    kinds = np.full(len(signs), _OTHER, np.uint8)
    for kind, some in ((_INNER, _INNER_SIGNS), (_HYPHEN, HYPHENS), (_SLASH, "/"), (_BLANK, " ")):
        kinds[[ord(sign) for sign in some if ord(sign) < len(signs)]] = kind
    kinds[np.fromiter(map(str.isalnum, signs), np.bool_, len(signs))] = _WORD
    kinds[[ord("N"), ord("n")]] = _N
    return kinds


def _tied(text: str, kinds: npt.NDArray[np.uint8], starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return words with the apostrophes, accents and invisible signs that belong to them."""
    kept = np.ones(len(starts), np.bool_)
    for at in np.flatnonzero(kinds[ends] == _INNER).tolist():
        end, following = int(ends[at]), int(starts[at + 1]) if at + 1 < len(starts) else len(text)
        if at + 1 < len(starts) and _TYING.fullmatch(text, end, following):
            kept[at + 1] = False
        elif inside := _INSIDE.match(text, end):
            ends[at] = inside.end()
    return _joined(kept, starts, ends)


def _prefixed(text: str, kinds: npt.NDArray[np.uint8], starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return words with the prefixes that a hyphen, or a blank behind "non", sets off."""
    kept, done = np.ones(len(starts), np.bool_), 0
    behind = kinds[ends[:-1]]
    apart = (behind == _HYPHEN) | ((ends - starts)[:-1] == _LETTERS) & ((behind == _SLASH) | (kinds[starts[:-1]] == _N))
    places = np.flatnonzero(apart & (starts[1:] - ends[:-1] == 1))
    columns = (starts[places], ends[places], starts[places + 1], ends[places + 1])
    for at, start, end, following, last in zip(places.tolist(), *(one.tolist() for one in columns), strict=True):
        gap = text[end]
        if at >= done and gap in INNER and belongs(text[start:end], gap, text[following:last]):
            kept[at + 1], done = False, at + 2
    return _joined(kept, starts, ends)


def _measured(text: str, signs: npt.NDArray[np.uint32], starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return words with doses set off from the names before them, and units from the numbers before them."""
    digit = (signs >= ord("0")) & (signs <= ord("9"))
    before = np.concatenate([np.zeros(1, np.intp), np.cumsum(digit)])
    glued = (before[ends] > before[starts]) & ~digit[starts]
    starts, ends = _split(GLUED, text, np.flatnonzero(glued), starts, ends)
    return _split(MEASURE, text, np.flatnonzero(digit[starts] & (signs[ends - 1] > ord("9"))), starts, ends)


def _split(pattern: re.Pattern[str], text: str, places: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return words, some of those at `places` cut behind what a pattern finds at their beginning."""
    begins = zip(places.tolist(), starts[places].tolist(), strict=True)
    borders = [(at, found.end()) for at, start in begins if (found := pattern.match(text, start))]
    if not borders:
        return starts, ends
    cut, behind = zip(*borders, strict=True)
    return np.insert(starts, np.add(cut, 1), behind), np.insert(ends, cut, behind)


def _joined(kept: npt.NDArray[np.bool_], starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return words, those that are not kept being parts of the ones before them."""
    return (starts, ends) if kept.all() else (starts[kept], ends[np.append(kept[1:], np.True_)])


def _gaps(text: str, kinds: npt.NDArray[np.uint8], before: Ints, starts: Ints) -> Ints:
    """Return the kinds of the gaps before words; most are a blank."""
    gaps = np.zeros(len(starts), np.intp)
    blank = (starts - before == 1) & (kinds[before] == _BLANK)
    others = np.flatnonzero(~blank)
    borders = zip(before[others].tolist(), starts[others].tolist(), strict=True)
    gaps[others] = [_GAPS[text[start:end]] for start, end in borders]
    return gaps


class _Gaps(dict[str, int]):
    """Kinds of the gaps met so far; a dictionary because that is asked in half the time of a cache."""

    MOST = 1 << 12

    def __missing__(self, gap: str) -> int:
        kind = gap_kind(gap)
        if len(self) < self.MOST and len(gap) < 8:
            self[gap] = kind
        return kind


_GAPS = _Gaps()
