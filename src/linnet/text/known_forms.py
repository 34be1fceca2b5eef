"""Short forms that a document uses but does not define: what they may mean, and which sense the document speaks for.

Senses come from a table of Linnet (``short_forms.tsv``) and from files of the user. Each counts as much as it is usual,
times e to the number of words around that speak for it: words of its fields of medicine (``clinical_fields.tsv``),
words listed with it, and words of its own names. Words of the same sentence count one, others less.
Beside the listed senses there may always be others, the more likely the shorter the form is; files of the user are
taken at their word. The share of a sense is its probability; one that wins by too little leaves the form undecided.
"""

from __future__ import annotations

import functools
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from linnet.errors import FormatError
from linnet.text.files import read_text
from linnet.text.short_forms import Occurrence, is_apart, is_shouted
from linnet.text.tokens import Tokens, form, words
from linnet.text.variants import GENERAL, content_words, stem
from linnet.text.wordlists import rows

__all__ = ["CLINICAL", "KnownForms", "Sense", "Senses", "clinical", "read_senses"]

CLINICAL: Final = "clinical"  # the table that comes with Linnet
LEAST: Final = 0.6  # probability from which on a sense is taken
# What a meaning that no table lists counts, by the length of the short form; nothing but the others' evidence is
# against it. A form of two letters must have something that speaks for it, unless it is a usual one.
UNLISTED: Final = {1: 2.0, 2: 1.5, 3: 0.25}
UNLISTED_LONG: Final = 0.1
# What turns the form into the name of something else behind it, and before it: "the VHL gene", "Group PS", "BN 52021".
_BEHIND: Final = re.compile(
    r"\(| ?(?:±|\+/-)|[ -](?:genes?|loc(?:us|i)|alleles?|"
    r"mutations?|mutants?|proteins?|kinases?|activity|mRNA|cDNA|exons?|inhibitors?|receptors?|antibod(?:y|ies)|groups?|cells?|mice|rats?)\b"
)
_NUMBERED: Final = re.compile(r"[: ]*\(?(?!(?:19|20)\d\d\b)\d{3}(?!\d* ?(?:mg|g|mcg|µg|μg|ml|IE|IU|units?)\b)")
# A rate makes a form a vital sign (HF: Herzfrequenz, AF: Atemfrequenz), unless it is a rhythm that beats so.
_RATE: Final = re.compile(r"[:= ]*\(?(?:\d{1,3} ?[-–] ?)?(\d{1,3}) ?(?:[bx]?/ ?min|bpm)\b", re.IGNORECASE)
_FAST: Final = re.compile("fibrillation|flutter|tachycardia")
_ANY_RATE: Final = re.compile("bradycardia|block|contraction|complex|ectop|systole")
# A pressure behind it is that of a form which means a high or a low one.
_PRESSURE: Final = re.compile(r"[:= ]*\(?\d{2,3} ?/ ?\d{2,3}\b")
_OF_PRESSURE: Final = re.compile("^(?:arterial )?(?:hypertension|hypotension)$")
_BREATHS: Final = 40  # a minute; beats of fast rhythms are more
_BEFORE: Final = re.compile(r"(?:\b[Gg]roups?|±|\+/-) ?$|[a-z]-$")
NEAR, FAR = 1.0, 0.2  # what a word of the same sentence counts, and one of the rest of the document
MOST_NEAR, MOST_FAR = 5, 8  # words that count
WINDOW: Final = 12  # words of a sentence on either side
LONGEST: Final = 24  # characters of a short form
ROWS: Final = "rows of a short form and its meaning, by tabs or commas"
HEADINGS: Final = frozenset(("short", "short form", "abbreviation", "abkürzung"))
# Words of names that say nothing of a field.
_VAGUE: Final = GENERAL | frozenset(
    ("left", "right", "acute", "chronic", "primary", "secondary", "upper", "lower", "type", "1", "2", "mild", "single")
)


class Sense(NamedTuple):
    """One meaning: its names, the usual one first; fields and stems that speak for it; how usual it is.

    ``unlisted`` is what meanings count that the table does not list.
    """

    names: tuple[str, ...]
    cues: frozenset[str]
    weight: float = 1.0
    unlisted: float = 0.0

    @property
    def alone(self) -> float:
        """The probability of the sense where no other is listed and nothing speaks for it."""
        return self.weight / (self.weight + self.unlisted)


Senses = Mapping[str, Sequence[Sense]]


# --- tables ----------------------------------------------------------------------------------------------------------


@functools.cache
def _fields() -> Mapping[str, frozenset[str]]:
    """Return the stem of each word that speaks for fields -> these fields."""
    found: dict[str, set[str]] = {}
    for field, listed in rows("linnet.text", "clinical_fields.tsv"):
        for word in listed.split():
            found.setdefault(stem(word), set()).add(field)
    return {word: frozenset(fields) for word, fields in found.items()}


@functools.cache
def clinical() -> Senses:
    """Return the senses that come with Linnet.

    >>> [sense.names[0] for sense in clinical()["ASD"]]
    ['atrial septal defect', 'autism spectrum disorder']
    """
    found: dict[str, list[Sense]] = {}
    for short, *cells in rows("linnet.text", "short_forms.tsv"):
        unlisted = UNLISTED.get(len(short), UNLISTED_LONG)
        found.setdefault(short, []).append(_sense(*cells)._replace(unlisted=unlisted))
    return found


def _sense(names: str, cues: str = "", weight: str = "") -> Sense:
    every = tuple(name for name in map(str.strip, names.split("|")) if name)
    own = {stem(form(word)) for name in every for word in content_words(name)} - _VAGUE
    spoken = {stem(form(word)) for word in cues.split()}
    return Sense(every, frozenset({*cues.split(), *spoken, *own}), float(weight or 1))


def read_senses(path: str | Path) -> Senses:
    """Return the senses in a file of the user: TSV or CSV with short form, meaning, words that speak for it, weight.

    The last two may be missing, and so may a row of headings. A meaning is one or more names between ``|``, or the id
    of a concept; several rows of one short form are its senses.

    Raises:
        FormatError: the file cannot be read, or a row is not as described.
    """
    from linnet.text.cells import DELIMITERS, csv_rows  # noqa: PLC0415 - most people have no file of their own

    path = str(path)
    lines = read_text(path).lstrip("\ufeff").splitlines(keepends=True)
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    delimiter = max(DELIMITERS, key=first.count)
    found: dict[str, list[Sense]] = {}
    for number, cells in csv_rows(iter(lines), path, delimiter):
        short, *rest = (cell.strip() for cell in cells)
        if short.startswith("#") or (not found and short.lower() in HEADINGS):
            continue
        problem = _problem(short, rest)
        if problem:
            raise FormatError(path, problem, line=number)
        found.setdefault(short, []).append(_sense(*rest[:3]))
    if not found:
        raise FormatError(path, f"holds no short forms; expected {ROWS}")
    return found


def _problem(short: str, rest: Sequence[str]) -> str:
    """Return what is wrong with a row, or nothing."""
    if not rest or not rest[0].strip("| "):
        return f"{short!r} has no meaning; expected {ROWS}"
    if not words(short) or len(short) > LONGEST:
        return f"{short[:60]!r} is no short form; expected letters or digits, at most {LONGEST} characters"
    if not words(rest[0]):
        return f"the meaning {rest[0][:60]!r} of {short!r} has no letters; expected a name or the id of a concept"
    try:
        weight = float(rest[2]) if len(rest) > 2 and rest[2] else 1.0
    except ValueError:
        weight = math.nan
    return "" if 0 < weight < math.inf else f"the weight {rest[2]!r} of {short!r} is not a number above 0"


# --- short forms in a text -------------------------------------------------------------------------------------------


class KnownForms:
    """Short forms with the senses that a terminology can be asked for.

    Args:
        senses: tables, the first one first; a later one replaces what an earlier one says of a short form.
        write_out: the names of a sense and its short form -> what is to be read in its place, "" for the form itself.

    >>> from linnet.text.tokens import tokenize
    >>> forms = KnownForms([clinical()], lambda names, short: names[0])
    >>> def read(text):
    ...     return [(found.long, round(found.share, 2)) for found in forms.occurrences(text, tokenize(text))]
    >>> read("ASD on echo, closed with a device. No AF."), read("School asks whether ASD explains this."), read("ASD?")
    ([('atrial septal defect', 0.98), ('atrial fibrillation', 0.87)], [('autism spectrum disorder', 0.69)], [])
    """

    def __init__(self, senses: Iterable[Senses], write_out: Callable[[tuple[str, ...], str], str]) -> None:
        self._senses: dict[str, Sequence[Sense]] = {}
        for table in senses:
            self._senses.update(table)
        self._write_out = functools.cache(write_out)
        self._spelled: dict[str, str] = {}
        for short in self._senses:
            for spelling in _spellings(short):
                if spelling == short or spelling not in self._senses:
                    self._spelled[spelling] = short
        self.firsts: dict[str, list[str]] = {}
        for spelling in self._spelled:
            self.firsts.setdefault(words(spelling)[0], []).append(spelling)
        for spellings in self.firsts.values():
            spellings.sort(key=len, reverse=True)

    def __len__(self) -> int:
        return len(self._senses)

    def occurrences(
        self, text: str, tokens: Tokens, *, borders: Sequence[int] = (), at: Iterable[int] | None = None
    ) -> Iterator[Occurrence]:
        """Yield the short forms in `text` whose sense is decided, in order; ``share`` is the probability of the sense.

        Args:
            text: the text of a document, or a piece of it.
            tokens: its words.
            borders: where its sentences begin, ascending.
            at: the words that may begin one; None = all, those that do are among `firsts`.
        """
        firsts, surfaces, done = self.firsts, tokens.surfaces, 0
        around = None
        for first in [one for one in (range(len(surfaces)) if at is None else at) if surfaces[one] in firsts]:
            spelling = self._spelling(text, tokens, first) if first >= done else None
            if spelling is None:
                continue
            start = int(tokens.starts[first])
            end = start + len(spelling)
            if not is_apart(text, start, end, self._spelled) or is_shouted(text, start, end, borders):
                continue
            short = self._spelled[spelling]
            senses = self._senses[short]
            if _names_something_else(text, start, end, senses):
                continue
            done = int(tokens.ends.searchsorted(end, side="right"))
            long, share = self._write_out(senses[0].names, short), senses[0].alone
            if len(senses) > 1 or share < LEAST:
                around = around or _Words(tokens, borders)
                best, share = self._decide(senses, around, first, done)
                long = self._write_out(best.names, short) if share >= LEAST else ""
            if long:
                yield Occurrence(first, done, end, long, own=False, share=share, listed=True)

    def _spelling(self, text: str, tokens: Tokens, first: int) -> str | None:
        start = int(tokens.starts[first])
        for spelling in self.firsts[tokens.surfaces[first]]:
            end = start + len(spelling)
            if text.startswith(spelling, start) and not text[end : end + 1].isalnum():
                return spelling
        return None

    def _decide(self, senses: Sequence[Sense], around: _Words, first: int, last: int) -> tuple[Sense, float]:
        """Return the most probable sense of the words `first` to `last`, and its probability."""
        evidence = around.evidence(first, last)
        weights = [sense.weight * math.exp(evidence(sense.cues)) for sense in senses]
        best = max(range(len(senses)), key=weights.__getitem__)
        share = weights[best] / (sum(weights) + max(sense.unlisted for sense in senses))
        return senses[best], share


def _names_something_else(text: str, start: int, end: int, senses: Sequence[Sense]) -> bool:
    """Whether a short form is part of the name of a gene or the like; no number says so of one of the user's."""
    if _BEHIND.match(text, end) or _BEFORE.search(text, max(start - WINDOW, 0), start):
        return True
    ours = senses[0].unlisted > 0
    if _PRESSURE.match(text, end) and any(map(_OF_PRESSURE.match, (name for sense in senses for name in sense.names))):
        return False
    return ours and (_NUMBERED.match(text, end) is not None or _is_rate(text, end, senses))


def _is_rate(text: str, end: int, senses: Sequence[Sense]) -> bool:
    """Whether a short form with these senses that ends at `end` is a vital sign, by the rate behind it.

    >>> [_is_rate(f"AF {rate}/min", 2, clinical()["AF"]) for rate in (24, 110)]
    [True, False]
    """
    rate = _RATE.match(text, end)
    names = " ".join(name for sense in senses for name in sense.names) if rate else ""
    if rate is None or _ANY_RATE.search(names):
        return False
    return int(rate[1]) <= _BREATHS or _FAST.search(names) is None


def _spellings(short: str) -> Iterator[str]:
    yield short
    if short[-1].isupper() or short[-1].isdigit():
        yield short + "s"
    if short.islower():
        yield short[0].upper() + short[1:]


@functools.lru_cache(maxsize=1 << 16)
def _stem_of(surface: str) -> str:
    return stem(form(surface)) if len(surface) < LONGEST else ""


class _Words:
    """What the words of one text speak for."""

    def __init__(self, tokens: Tokens, borders: Sequence[int]) -> None:
        self._stems = [_stem_of(surface) for surface in tokens.surfaces]
        self._starts, self._borders = tokens.starts, borders
        self._words = frozenset(self._stems)
        self._of_fields = self._words & _fields().keys()

    def evidence(self, first: int, last: int) -> Callable[[frozenset[str]], float]:
        """Return what counts how much the text speaks for cues, at the place of the words `first` to `last`."""
        left, right = self._sentence(first)
        left, right = max(left, first - WINDOW), min(right, last + WINDOW)
        near = {*self._stems[left:first], *self._stems[last:right]}
        own, fields = set(self._stems[first:last]), _fields()

        def count(cues: frozenset[str]) -> float:
            spoken = {word for word in self._of_fields if not fields[word].isdisjoint(cues)} | (self._words & cues)
            spoken -= own
            close = len(spoken & near)
            return NEAR * min(close, MOST_NEAR) + FAR * min(len(spoken) - close, MOST_FAR)

        return count

    def _sentence(self, at: int) -> tuple[int, int]:
        """Return the first word of the sentence of a word, and the one behind its last."""
        number = bisect_right(self._borders, int(self._starts[at]))
        start = self._borders[number - 1] if number else 0
        left = int(self._starts.searchsorted(start))
        if number == len(self._borders):
            return left, len(self._stems)
        return left, int(self._starts.searchsorted(self._borders[number]))
