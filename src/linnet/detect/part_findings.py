"""What letters say of parts of the body, vital signs and results: "ankles swollen", "pain in the calf", "Hb 108 (L)".

Two tables know it: ``linnet/text/findings.tsv`` (what a quality of something is called in terminologies) and
``qualities.tsv`` (the words for a quality). Read are the words on both sides of what something may be said of: a
quality before it ("raised CRP", "swelling of both ankles"), or behind it, with numbers, units, degrees and verbs in
between ("CRP remains mildly raised", "Platelets 520 ↑"); others of the same kind may stand in between, too ("urea and
creatinine raised"). A word that says that all is well ends the search ("CRP normal, ESR raised"). A value is compared
with the range beside it ("CK 820 (30-200)", `linnet.text.result_ranges`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from linnet.detect.name_reading import PHRASE
from linnet.detect.name_search import Batch, Match, Search, Text
from linnet.detect.name_table import MASK, Kind, in_sorted, name_codes, word_code
from linnet.text.tokens import form
from linnet.text.variants import content_words, stem
from linnet.text.wordlists import rows

if TYPE_CHECKING:
    from linnet.text.result_ranges import Result

__all__ = ["PartSearch"]

SCORE: Final = 0.88  # of a finding
APART: Final = 0.97  # what the score is multiplied by where a word in between is no part of the finding
LONGEST: Final = 32  # characters between two words that are remembered
REACH: Final = 6  # words between something and its quality
BEFORE, BEHIND = 0, 1
NORMAL, SKIP, NEGATION, THING = "normal", "skip", "skip-negation", "thing"
NO_QUALITY: Final = frozenset((NORMAL, SKIP, NEGATION, THING))
AMOUNT: Final = "shed"  # the quality of units, whose number stands before them: *lost approx 5 kg*
NEEDS_PREPOSITION: Final = "~"
SIGNS: Final = {"↑": "up", "↗": "up", "↓": "down", "↘": "down", "#": "fracture", "++": "plus"}
ONE: Final = "".join(sign for sign in SIGNS if len(sign) == 1)
_SIGN: Final = re.compile(rf"[{ONE}]|\+\+")
_SIGNED: Final = re.compile(rf"{_SIGN.pattern}|\d\+")  # a text that holds a sign, or a grade
# What a text holds in which a value may stand beside a range; most are ruled out by their first signs.
_RANGED: Final = re.compile(
    r"[(\[](?![ \t]*[pP]\b)[A-Za-z.:\t ]{0,24}"
    r"(?:[<>≤≥]|(?<=bis )\d|(?<=up to )\d|\d[\d.,]*[ \t]{0,4}(?:[-\u2013]|to\b|bis\b))"
    r"|\d(?:st|nd|rd|th)[ \t]{0,4}(?:[^\w \t]|\Z|and\b|but\b|for\b)|[Pp]\.?[ \t]?\d{1,2}(?!\w|\.\d)"
    r"|[-+\u2013\u2212][ \t]?\d[\d.,]*[ \t]{0,4}SDS?\b"
)
_CENTILE: Final = ("entile", "%ile")
_GRADE: Final = re.compile(r"\+(?!\w)")  # behind a number, of a dipstick: "protein 3+"
# The sign in front of something, with what stands before the sign.
_LEADING: Final = re.compile(rf"(?P<before>[^ \t]?)(?P<apart>[ \t]*)(?P<sign>[{ONE}])[{ONE}]*(?P<blank>[ \t]?)\Z")
_TREND: Final = re.compile(r"[^\w\n]*(?:\d[\d.,]*\s*)?(?:from|von)\s+[<>~]?\d")
_VALUED: Final = re.compile(r"[\w)%]")
_TURNING: Final = re.compile(r"\b(?:of|by|for|in|from)\b")
_STOP_WORDS: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
# What may stand between something and its quality behind it: nothing, a dotted line, what opens or ends a value.
_OPEN: Final = re.compile(r"\s*(?:\.{2,}|…|[:=~<>(\[↑↗↓↘-]|\+)?[ \t]*|[.,/*^×-]|%?[ \t]*[)\]]?[ \t]*[(\[]?")
_TIED: Final = re.compile(r"\s*|-")
_AND: Final = re.compile(r"\s*(?:,|/|&|\s\+)\s*")  # the plus of K+ is no conjunction
_VALUE: Final = re.compile(r"x?\d")

Target = tuple[int, int]  # the name and the concept of a finding


class _Part(NamedTuple):
    """One form of what something may be said of: its words, whether their case counts, quality -> what is found."""

    words: tuple[str, ...]
    cased: bool
    found: dict[str, Target]


class _Said(NamedTuple):
    """A quality, the furthest word that says it, and whether what stands in between belongs to something else."""

    quality: str
    at: int
    apart: bool


@dataclass
class _Walk:
    """What was met between a part and its quality: what is no part of the finding, a value, a conjunction just now."""

    apart: bool = False
    value: bool = False
    wanted: bool = False


class PartSearch:
    """Finds the qualities of the table whose names `search` knows."""

    def __init__(self, search: Search) -> None:
        self._parts: dict[str, list[_Part]] = {}  # first word -> forms
        hashes = set()
        for forms, *cells in rows("linnet.text", "findings.tsv"):
            found = _found(search, cells)
            for text in forms.split("|") if found else ():
                codes = name_codes(text, {})
                hashes |= {codes[0], sum(codes) & MASK}
                for part in _forms(text, found):
                    self._parts.setdefault(part.words[0], []).append(part)
        self._hashes = np.array(sorted(hashes), np.uint64)
        self._qualities: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})
        for quality, *sides in rows("linnet.text", "qualities.tsv"):
            for known, words in zip(self._qualities, sides, strict=True):
                for word in words.split():
                    mark = NEEDS_PREPOSITION if word.startswith(NEEDS_PREPOSITION) else ""
                    known.setdefault(_stem(word.removeprefix(mark)), []).append(mark + quality)
        saying = {
            word for known in self._qualities for word, kinds in known.items() if not NO_QUALITY.issuperset(kinds)
        }
        self._quality_hashes = np.unique(np.array([word_code(word)[0] for word in saying], np.uint64))

    def matches(self, batch: Batch, texts: Sequence[Text]) -> Iterator[Match]:
        """Yield every finding in `batch`, in no particular order; `texts` are those it was read from."""
        if not len(self._hashes) or not len(batch.surfaces):
            return
        reader, done = _Reader(batch, texts), 0
        for at, around in self._places(reader, texts):
            parts = self._at(reader, at) if at >= done else []
            for part in parts:
                done = at + len(part.words)
                match = self._read(reader, range(at, done), part.found, around=around)
                if match:
                    yield match

    def _places(self, reader: _Reader, texts: Sequence[Text]) -> Iterator[tuple[int, bool]]:
        """Yield the words with which parts may begin: whether near a quality or a sign, else where ranges are."""
        batch = reader.batch
        places = np.flatnonzero(in_sorted(batch.hashes, self._hashes))
        before = np.concatenate([[0], np.cumsum(in_sorted(batch.hashes, self._quality_hashes))])
        last = len(batch.hashes)
        near = before[np.minimum(places + 2 * REACH, last)] > before[np.maximum(places - REACH, 0)]
        near |= np.array([_SIGNED.search(text.text) is not None for text in texts])[batch.texts[places]]
        read = near | np.array(reader.ranged)[batch.texts[places]]
        return zip(places[read].tolist(), near[read].tolist(), strict=True)

    def _at(self, reader: _Reader, at: int) -> list[_Part]:
        """Return the longest forms that stand at a word."""
        literal, stems = reader.keys(at)
        keys = (literal,) if literal == stems else (literal, stems)
        found = [part for key in keys for part in self._parts.get(key, ()) if reader.holds(at, part)]
        most = max((len(part.words) for part in found), default=0)
        return [part for part in found if len(part.words) == most]

    def _ends(self, reader: _Reader, at: int) -> bool:
        """Say whether a part ends at a word."""
        firsts = range(max(at - 2, 0), at + 1)
        return any(first + len(part.words) == at + 1 for first in firsts for part in self._at(reader, first))

    def _read(self, reader: _Reader, part: range, found: dict[str, Target], *, around: bool) -> Match | None:
        """Return what is said of a part: by the range of its value; else, if `around` it, behind or before it."""
        for walk in (self._beside, self._behind, self._before) if around else (self._beside,):
            reached = walk(reader, part, found)
            if reached is None:
                continue
            quality, at, apart = reached
            if quality == NORMAL and apart:
                continue  # that may be the next of a list: "raised LDH, urate normal"
            if quality == NORMAL:
                return None
            words = (*part, at) if at >= part.stop else (at, *part)
            whole = tuple(range(min(words), max(words) + 1))
            words = tuple(sorted(set(words))) if apart else whole
            share = min((reader.batch.shares.get(word, 1.0) for word in words), default=1.0)
            score = SCORE * share * (APART if apart else 1.0)
            if not apart:
                return Match(words, *found[quality], score)
            return Match(words, *found[quality], score, own=tuple(part), group=at)  # others may share the quality
        return None

    def _beside(self, reader: _Reader, part: range, found: dict[str, Target]) -> _Said | None:
        """Return what the value behind a part is beside its range."""
        result = reader.result(part.stop - 1)
        if result is None or result.quality not in {NORMAL, *found}:
            return None
        return _Said(result.quality, reader.last_within(part.stop - 1, result.end), apart=False)

    def _behind(self, reader: _Reader, part: range, found: dict[str, Target]) -> _Said | None:
        """Return the quality behind a part."""
        walk = _Walk()
        for at in range(part.stop, part.stop + REACH):
            gap = reader.gap(at - 1)
            line, broken, _ = gap.partition("\n")
            sign = SIGNS.get(_sign_behind(line, last=bool(broken) or not reader.together(at - 1, at)), "")
            if walk.value and _GRADE.match(gap):
                sign = "plus"
            trend = sign and reader.is_trend(at - 1)
            if trend or (sign in found and not walk.wanted):
                return None if trend else _Said(sign, part.stop - 1 if walk.apart else at - 1, apart=False)
            if not reader.goes_on(at - 1, value=walk.value):
                return None
            word = reader.keys(at)[1]
            known = self._qualities[BEHIND].get(word, ())
            if THING in known:
                return _Said(NORMAL, at, apart=False)
            joined = walk.wanted or (not walk.value and _AND.fullmatch(gap) is not None)
            told = len(word) > 1 or (walk.value and reader.is_flag(at))
            fits = [one for one in known if one in found or one == NORMAL] if told else []
            if fits and not joined:
                return None if reader.is_trend(at) else _Said(fits[0], at, walk.apart)
            if not self._passes(reader, at, known, walk, joined=joined):
                return None
        return None

    def _passes(self, reader: _Reader, at: int, known: Sequence[str], walk: _Walk, *, joined: bool) -> bool:
        """Say whether a word may stand between a part and its quality behind it."""
        if joined:
            walk.wanted, walk.apart = False, True
            return not walk.value and bool(self._at(reader, at))
        if reader.batch.kinds[at] == Kind.CONJUNCTION and SKIP not in known:
            walk.wanted = True
        elif _VALUE.match(reader.batch.surfaces[at]):
            walk.value = True
        elif SKIP in known or NEGATION in known:
            walk.apart = True
        else:
            return False
        return True

    def _before(self, reader: _Reader, part: range, found: dict[str, Target]) -> _Said | None:
        """Return the quality before a part."""
        sign = SIGNS.get(_sign_before(reader.before(part.start)), "")
        if sign in found:
            return _Said(sign, part.start, apart=False)
        walk, linked = _Walk(), False
        for at in range(part.start - 1, part.start - 1 - REACH, -1):
            gap = reader.gap(at) if reader.together(at, at + 1) else None
            joined = gap is not None and (walk.wanted or _AND.fullmatch(gap) is not None)
            if gap is None or not (joined or _TIED.fullmatch(gap)):
                return None
            linked |= reader.linked(at) and not joined
            known = self._qualities[BEFORE].get(reader.keys(at)[1], ())
            names = [
                one.removeprefix(NEEDS_PREPOSITION) for one in known if linked == one.startswith(NEEDS_PREPOSITION)
            ]
            fits = [name for name in names if name in found and not joined]
            if fits:
                return _Said(fits[0], at, walk.apart)
            if joined:
                walk.wanted, walk.apart = False, True
            elif reader.batch.kinds[at] == Kind.CONJUNCTION:
                walk.wanted = True
            skipped = SKIP in known or (AMOUNT in found and _VALUE.match(reader.batch.surfaces[at]))
            if (joined and not self._ends(reader, at)) or not (joined or walk.wanted or skipped):
                return None
        return None


class _Reader:
    """The words of a batch, and what stands between them."""

    def __init__(self, batch: Batch, texts: Sequence[Text]) -> None:
        self.batch = batch
        self._texts = texts
        self._numbers: list[int] = batch.texts.tolist()
        self._starts: list[int] = batch.starts.tolist()
        self._ends: list[int] = batch.ends.tolist()

    def keys(self, at: int) -> tuple[str, str]:
        """Return a word as it is written, and its stem; of a short form, the stems of what it means."""
        surface = self.batch.surfaces[at]
        return surface, _stems(surface) if surface[0] == PHRASE else _stem(surface)

    def holds(self, at: int, part: _Part) -> bool:
        """Say whether the words of a part stand from `at` on."""
        for place, word in enumerate(part.words, at):
            if place == len(self.batch.surfaces) or word != self.keys(place)[not part.cased]:
                return False
            if place > at and not (self.together(place - 1, place) and _TIED.fullmatch(self.gap(place - 1))):
                return False
        return True

    def is_flag(self, at: int) -> bool:
        """Say whether a letter is the H or L of a laboratory, and not that of a unit (mmol/L, 2 l)."""
        return self.batch.surfaces[at].isupper() and "/" not in self.gap(at - 1)

    def is_trend(self, at: int) -> bool:
        """Say whether what a value was before stands behind a word: *Plt 90 (↑ from 40)* are few."""
        text = self._texts[self._numbers[at]].text
        return _TREND.match(text, self._ends[at]) is not None

    @functools.cached_property
    def ranged(self) -> list[bool]:
        """In which texts a value may stand beside a range."""
        return [_may_hold_ranges(text.text) for text in self._texts]

    def result(self, at: int) -> Result | None:
        """Return what a value behind a word is beside the range that the text gives for it."""
        if not self.ranged[self._numbers[at]]:
            return None
        from linnet.text.result_ranges import read_result  # noqa: PLC0415 - few texts have ranges

        return read_result(self._texts[self._numbers[at]].text, self._ends[at])

    def last_within(self, at: int, end: int) -> int:
        """Return the last word from `at` on that ends at `end` of its text, or before."""
        while self.together(at, at + 1) and self._ends[at + 1] <= end:
            at += 1
        return at

    def together(self, first: int, second: int) -> bool:
        """Say whether two neighbouring words are of one text."""
        return first >= 0 and second < len(self._numbers) and self._numbers[first] == self._numbers[second]

    def _between(self, at: int) -> _Between:
        text = self._texts[self._numbers[at]].text
        return _between(text[self._ends[at] : self._starts[at + 1] if self.together(at, at + 1) else len(text)])

    def gap(self, at: int) -> str:
        """Return what stands behind a word but for stop words."""
        return self._between(at).gap

    def linked(self, at: int) -> bool:
        """Say whether stop words stand behind a word."""
        return self._between(at).linked

    def goes_on(self, at: int, *, value: bool) -> bool:
        """Say whether what is said of something may go on behind a word: no other sentence, line or preposition."""
        between = self._between(at) if self.together(at, at + 1) else _between(";")
        return between.valued if value else between.tied

    def before(self, at: int) -> str:
        """Return what stands right before a word."""
        start = self._starts[at]
        return self._texts[self._numbers[at]].text[max(start - 6, 0) : start]


class _Between(NamedTuple):
    """What stands behind a word: without stop words, whether there are any, whether it ties, and that to a value."""

    gap: str
    linked: bool
    tied: bool
    valued: bool


def _between(text: str) -> _Between:
    return _read_between(text) if len(text) <= LONGEST else _read_between.__wrapped__(text)


@functools.lru_cache(maxsize=1 << 14)
def _read_between(text: str) -> _Between:
    gap = _STOP_WORDS.sub("", text)
    turns, opens = _TURNING.search(text) is not None, _OPEN.fullmatch(gap) is not None
    valued = opens and not turns and "\n" not in gap
    return _Between(gap, gap != text, not turns and (opens or _AND.fullmatch(gap) is not None), valued)


def _may_hold_ranges(text: str) -> bool:
    return _RANGED.search(text) is not None or any(name in text for name in _CENTILE)


def _sign_behind(gap: str, *, last: bool) -> str:
    """Return the sign in what stands behind a word, unless it is that of the next word; the `last` one has none.

    >>> [_sign_behind(gap, last=False) for gap in ("↓ ", " ↓ ", " ↓", ", ↓ ")]
    ['↓', '↓', '', '']
    """
    found = _SIGN.search(gap)
    if found is None or not {",", ";"}.isdisjoint(gap[: found.start()]):
        return ""
    of_next = not last and found.start() > 0 and not gap[found.end() :].strip(ONE + "+") and gap[-1] in ONE + "+"
    return "" if of_next and gap[found.start() - 1] in " \t" else found[0]


def _sign_before(text: str) -> str:
    """Return the sign that ends a text in front of something, unless it is that of a value before it.

    >>> [_sign_before(text) for text in ("98↓ ", "98 ↓ ", "98 ↓", ", ↓ ", "↓ ")]
    ['', '', '↓', '↓', '↓']
    """
    found = _LEADING.search(text)
    if found is None:
        return ""
    valued = _VALUED.match(found["before"]) is not None
    return "" if valued and (found["blank"] or not found["apart"]) else found["sign"]


@functools.lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    return stem(form(word))


@functools.lru_cache(maxsize=1 << 12)
def _stems(phrase: str) -> str:
    return " ".join(map(_stem, content_words(phrase.removeprefix(PHRASE))))


def _found(search: Search, cells: Sequence[str]) -> dict[str, Target]:
    """Return the qualities of a row, with the names that the terminology has."""
    found = {}
    for quality, _, names in (cell.partition("=") for cell in cells):
        match = search.known_name(names.split("|"))
        if match is not None:
            found[quality] = (match.name, match.concept)
    return found


def _forms(text: str, found: dict[str, Target]) -> Iterator[_Part]:
    """Yield a form as words of a text, and as what a short form means: one word with its stems."""
    words = content_words(text)
    cased = any(map(str.isupper, text))
    stems = tuple(map(_stem, words))
    yield _Part(tuple(words) if cased else stems, cased, found)
    if len(words) > 1 or not cased:
        yield _Part((" ".join(stems),), False, found) if len(words) > 1 else _Part(stems, False, found)
