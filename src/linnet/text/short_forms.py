"""Where the short forms of a text stand, and what each occurrence means there.

A document may define one short form several times: each occurrence means what the nearest definition before it says,
or the first one where none comes before; a bracket means what it defines. An occurrence is the short form as a word of
its own, its plural, its singular ("one CNV" of "CNVs") or its possessive ("CP's"), and no part of a longer identifier
("PD-1", "MS/MS", "MS-DOS").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from linnet.data import Abbreviation, Document
from linnet.text.tokens import HYPHENS, Tokens, words
from linnet.text.variants import ORDINARY
from linnet.text.wordlists import listed

__all__ = ["Occurrence", "ShortForms", "is_apart", "is_shouted"]

ENDINGS: Final = ("s", "'s", "’s", "")  # plural, possessive, neither
POSSESSIVE: Final = ("'s", "’s")
ONE_WORD: Final = re.compile(r"[^\W_]+(?:['’]s)?")
JOINING: Final = frozenset("/" + HYPHENS)
BEFORE: Final = re.compile(rf"(\w{{1,24}})([{HYPHENS}/])$")
AFTER: Final = re.compile(rf"([{HYPHENS}/])(\w{{1,24}})")
REACH: Final = 26  # characters looked at beside a short form; `BEFORE` needs no more
SENTENCE: Final = 200  # characters of a sentence, on either side, that say whether it is in capitals
# Words that nobody can tell from a short form where everything is in capitals ("ALL PATIENTS").
ORDINARY_IN_CAPITALS: Final = ORDINARY | frozenset(listed("capital"))


class Occurrence(NamedTuple):
    """A short form in a text: its words are numbers `first` to `last` - 1, and it stands for `long`.

    ``end`` is where it ends in the text, a possessive left out; ``own`` says that this is where it is defined;
    ``share`` is the probability that it stands for that (`linnet.text.known_forms`), 1 where the document says so;
    ``listed`` says that a table explains it, and not the document.
    """

    first: int
    last: int
    end: int
    long: str
    own: bool
    share: float = 1.0
    listed: bool = False


class _Meanings(NamedTuple):
    """The definitions of one short form: where each stands, ascending, and its long form."""

    starts: list[int]
    longs: list[str]


class ShortForms:
    """The short forms of one document.

    Args:
        text: the text of the document.
        abbreviations: what it defines; empty short forms, and those without letters and digits, are passed over.

    >>> from linnet.data import Span
    >>> text = "Multiple sclerosis (MS) is common. Mitral stenosis (MS) is not. MS."
    >>> pairs = [Abbreviation(Span(20, 22), Span(0, 18)), Abbreviation(Span(52, 54), Span(35, 50))]
    >>> forms = ShortForms(text, pairs)
    >>> forms.meaning(text, 64, 66), forms.meaning(text, 20, 22), forms.meaning(text, 0, 8)
    ('Mitral stenosis', 'Multiple sclerosis', None)
    """

    def __init__(self, text: str, abbreviations: Sequence[Abbreviation] = ()) -> None:
        self._meanings: dict[str, _Meanings] = {}
        for at, pair in sorted((pair.short.start, pair) for pair in abbreviations):
            short, long = (text[start:end] for start, end in pair)
            if any(map(str.isalnum, short)) and any(map(str.isalnum, long)):
                meanings = self._meanings.setdefault(short, _Meanings([], []))
                if at not in meanings.starts[-1:]:
                    meanings.starts.append(at)
                    meanings.longs.append(long)
        # A spelling of two short forms ("CNVs" beside "CNV") is first of all the one that is written so.
        self._spelled = {short: short for short in self._meanings}
        for short in self._meanings:
            for spelling in _spellings(short):
                self._spelled.setdefault(spelling, short)
        # First word -> spellings that begin with it, the longest first: "ASD II" comes before "ASD".
        self.firsts: dict[str, list[str]] = {}
        for spelling in self._spelled:
            first = spelling if ONE_WORD.fullmatch(spelling) else words(spelling)[0]
            self.firsts.setdefault(first, []).append(spelling)
        for spellings in self.firsts.values():
            spellings.sort(key=len, reverse=True)

    @classmethod
    def of(cls, doc: Document) -> ShortForms:
        """Return the short forms of a document; none if its abbreviations were not looked for."""
        return cls(doc.text, doc.abbreviations or ())

    def __bool__(self) -> bool:
        return bool(self._meanings)

    def meaning(self, text: str, start: int, end: int, *, borders: Sequence[int] = (), offset: int = 0) -> str | None:
        """Return the long form of what stands at `start` to `end` of `text`, None where it is no short form.

        Args:
            text: the document's text, or a piece of it.
            start: where the short form begins in `text`.
            end: where it ends.
            borders: where the sentences of `text` begin, ascending.
            offset: where `text` begins in the document.
        """
        found = self._meaning(text, start, end, borders, offset)
        return found[0] if found else None

    def occurrences(
        self,
        text: str,
        tokens: Tokens,
        *,
        borders: Sequence[int] = (),
        offset: int = 0,
        at: Iterable[int] | None = None,
    ) -> Iterator[Occurrence]:
        """Yield the short forms in `text`, in its order, the longest where several begin; they do not overlap.

        Args:
            text: the document's text, or a piece of it.
            tokens: its words.
            borders: where its sentences begin, ascending.
            offset: where it begins in the document.
            at: the words that may begin one; None = all, those that do are among `firsts`.
        """
        firsts, surfaces, done = self.firsts, tokens.surfaces, 0
        for first in [one for one in (range(len(surfaces)) if at is None else at) if surfaces[one] in firsts]:
            if first < done:
                continue
            start = int(tokens.starts[first])
            for spelling in firsts[surfaces[first]]:
                end = start + len(spelling)
                if not text.startswith(spelling, start) or text[end : end + 1].isalnum():
                    continue
                found = self._meaning(text, start, end, borders, offset)
                if found:
                    one = len(spelling) == len(surfaces[first])
                    done = first + 1 if one else int(tokens.ends.searchsorted(end, side="right"))
                    if done > first:
                        yield Occurrence(first, done, end - 2 if spelling.endswith(POSSESSIVE) else end, *found)
                    break

    def _meaning(self, text: str, start: int, end: int, borders: Sequence[int], offset: int) -> tuple[str, bool] | None:
        short = self._spelled.get(text[start:end])
        if short is None:
            return None
        starts, longs = self._meanings[short]
        nearest = max(bisect_right(starts, start + offset) - 1, 0)
        own = starts[nearest] == start + offset
        if not own and (not is_apart(text, start, end, self._spelled) or is_shouted(text, start, end, borders)):
            return None
        return longs[nearest], own

    def defines(self, short: str) -> bool:
        """Whether the document says what a short form, or its plural or singular, stands for."""
        return short in self._spelled


def is_apart(text: str, start: int, end: int, forms: Container[str]) -> bool:
    """Whether no hyphen or slash makes the short form at `start` to `end` part of an identifier.

    >>> is_apart("PD-1", 0, 2, {"PD"}), is_apart("PD/AD", 0, 2, {"PD", "AD"}), is_apart("PD-like", 0, 2, {"PD"})
    (False, True, True)
    """
    if text[start - 1 : start] not in JOINING and text[end : end + 1] not in JOINING:
        return True
    before, after = BEFORE.search(text[max(start - REACH, 0) : start]), AFTER.match(text, end)
    sides = [(before[2], before[1])] if before else []
    sides += [(after[1], after[2])] if after else []
    return not any(
        _is_identifier(word) and not (sign == "/" and word != text[start:end] and word in forms) for sign, word in sides
    )


def _spellings(short: str) -> Iterator[str]:
    """Yield the plural and possessive of a short form, and its singular if it is a plural itself."""
    for ending in ENDINGS[:-1]:
        yield short + ending
    if len(short) > 2 and short[-1] == "s" and (short[-2].isupper() or short[-2].isdigit()):
        for ending in ENDINGS:
            yield short[:-1] + ending


def _is_identifier(word: str) -> bool:
    """Whether `word` is a number, a letter or an acronym, so that a hyphen before or behind it makes one name of both.

    >>> [_is_identifier(word) for word in ("1", "L1", "DOS", "X", "related", "Related")]
    [True, True, True, True, False, False]
    """
    return any(map(str.isdigit, word)) or word[1:] != word[1:].lower() or (len(word) == 1 and word.isupper())


def is_shouted(text: str, start: int, end: int, borders: Sequence[int]) -> bool:
    """Whether this is an ordinary word in a sentence that has other words, all of them in capitals."""
    if text[start:end].lower() not in ORDINARY_IN_CAPITALS:
        return False
    number = bisect_right(borders, start)
    first = max(borders[number - 1] if number else 0, start - SENTENCE)
    last = min(borders[number] if number < len(borders) else len(text), end + SENTENCE)
    others = text[first:start] + " " + text[end:last]
    return others.isupper() and any(len(word) > 3 for word in words(others))
