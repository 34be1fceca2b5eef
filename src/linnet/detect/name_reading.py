"""Texts as the words that names are looked for among: stop words left out, short forms and typing errors read as meant.

A batch of texts becomes one sequence of content words. Where a document defines an abbreviation, its occurrences become
one word that stands for the long form; so do short forms that a table explains (`linnet.text.known_forms`), and a word
that is taken for a misspelt one (`linnet.text.misspelt`) becomes the right one. The bracket that defines a short form
is *silent*: it counts on its own, and as nothing inside a longer name, so that "diabetes mellitus (DM) type 2" holds
the name "diabetes mellitus type 2".
"""

from __future__ import annotations

import functools
import itertools
import re
import threading
from bisect import bisect_right
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from linnet.detect.name_table import MASK, U64, Kind, NameTable, word_code
from linnet.text.known_forms import KnownForms
from linnet.text.languages import english_lead, is_german
from linnet.text.misspelt import Misspelt
from linnet.text.short_forms import Occurrence, ShortForms
from linnet.text.token_lots import Lot, tokenize_lot
from linnet.text.tokens import HYPHENS, Gap, Tokens
from linnet.text.variants import CONJUNCTIONS, PREFIXES

__all__ = ["PHRASE", "Batch", "Ints", "Text", "Vocabulary", "read_texts"]

Ints = npt.NDArray[np.intp]
Value = TypeVar("Value")

PHRASE = "\0"  # begins what stands for several words in the place of one; no word of a text holds it
STOP = "-"  # no word, which counts as a stop word in every language
SUSPENDED = re.compile(rf"[{HYPHENS}] ")  # "hypo- and hyperthyroidism"
LEAST_STEM = 4  # letters of what a suspended prefix is put before
MISSPELT = 0.85  # probability of a word that is taken for a typing error


class Text(NamedTuple):
    """A text to read, or a piece of one: where its sentences begin, the document's short forms, where it begins."""

    text: str
    borders: Sequence[int] = ()
    abbreviations: ShortForms | None = None
    offset: int = 0


class Batch(NamedTuple):
    """Texts as one sequence of n content words.

    ``hashes`` uint64, ``kinds`` uint8 (`Kind`), ``texts`` (which text a word is of), ``starts`` and ``ends`` (where it
    stands there), ``runs`` (numbers the stretches that no sentence end, empty line or end of text interrupts), ``gaps``
    (the strongest `Gap` since the content word before), ``soft`` (the same, brackets around silent words left out) and
    ``stops`` (how many stop words came before) are all (n,); ``expanded`` are the positions of short forms, and
    ``silent`` those of them that stand where they are defined; ``shares`` are the probabilities of words that are read
    as others (undefined short forms, typing errors), and ``written`` short forms that a table explains as they stand in
    the text, both by position.
    """

    surfaces: list[str]
    hashes: U64
    kinds: npt.NDArray[np.uint8]
    texts: Ints
    starts: Ints
    ends: Ints
    runs: Ints
    gaps: Ints
    soft: Ints
    stops: Ints
    expanded: frozenset[int]
    silent: frozenset[int]
    shares: Mapping[int, float]
    written: Mapping[int, str]


class Vocabulary(dict[str, int]):
    """Codes of the words met so far: surface -> row of ``hashes`` and ``kinds``, filled in as words come.

    ``corrected`` are the codes of words that are taken for misspelt ones, with what they are taken for; ``opens`` says
    which words are among `firsts`.
    """

    def __init__(self, table: NameTable, misspelt: Misspelt | None = None, firsts: Container[str] = ()) -> None:
        super().__init__()
        self.table = table
        self.misspelt = misspelt
        self.firsts = firsts
        self.corrected: dict[int, str] = {}
        self.odd = np.zeros(1 << 12, np.bool_)  # which codes are among them
        self.opens = np.zeros(1 << 12, np.bool_)
        self.hashes = np.zeros(1 << 12, np.uint64)
        self.kinds = np.zeros(1 << 12, np.uint8)
        self.size = 1  # code 0 stands for words too long to be kept
        self.lock = threading.Lock()

    def __missing__(self, surface: str) -> int:
        hash, kind = self._phrase(surface) if surface[0] == PHRASE else word_code(surface, self.table.language)
        if kind == Kind.UNKNOWN and not hash:
            return 0
        word = self.misspelt(surface) if self.misspelt and kind == Kind.UNKNOWN and not self.table.knows(hash) else ""
        if word:
            hash, kind = word_code(word, self.table.language)
        with self.lock:
            if self.size == len(self.hashes):
                self.hashes = np.concatenate([self.hashes, np.zeros_like(self.hashes)])
                self.kinds = np.concatenate([self.kinds, np.zeros_like(self.kinds)])
                self.odd = np.concatenate([self.odd, np.zeros_like(self.odd)])
                self.opens = np.concatenate([self.opens, np.zeros_like(self.opens)])
            code, self.size = self.size, self.size + 1
            self.hashes[code] = hash
            self.kinds[code] = Kind.KNOWN if kind == Kind.UNKNOWN and self.table.knows(hash) else kind
            self.opens[code] = surface in self.firsts
            self[surface] = code
            if word:
                self.corrected[code], self.odd[code] = word, True
            return code

    def knows(self, surface: str) -> bool:
        """Whether a word stands in some name."""
        code = self[surface]  # first: a new word may put longer arrays in the place of these
        return bool(self.kinds[code] == Kind.KNOWN)

    def _phrase(self, surface: str) -> tuple[int, int]:
        """Return hash and kind of several words in the place of one: the long form of an abbreviation."""
        codes = [self[word] for word in self.table.language.words(surface)]
        known = all(self.kinds[code] != Kind.UNKNOWN for code in codes)
        return sum(int(self.hashes[code]) for code in codes) & MASK, Kind.KNOWN if known else Kind.UNKNOWN


class _Forms(NamedTuple):
    """The short forms of some texts: places, those of silent ones, what those that are read count, how they look."""

    expanded: list[int]
    silent: list[tuple[int, int]]  # the first word, and the one behind the last
    shares: dict[int, float]
    written: dict[int, str]


def read_texts(texts: Sequence[Text], vocabulary: Vocabulary, known: KnownForms | None = None) -> Batch:
    """Return `texts` as one sequence of content words."""
    lot = tokenize_lot([text.text for text in texts])
    _complete(lot)
    surfaces, gaps = lot.surfaces, lot.gaps
    codes = np.fromiter(map(vocabulary.__getitem__, surfaces), np.intp, len(surfaces))
    forms = _write_out(texts, lot, codes, vocabulary, known)
    breaks = _breaks(texts, lot)
    kinds = vocabulary.kinds[codes]
    kept = np.flatnonzero(kinds != Kind.STOP)
    shares = forms.shares
    if vocabulary.corrected:
        kinds = kinds.copy()
        shares |= _correct(texts, lot, codes, kinds, breaks | (gaps >= Gap.BREAK), vocabulary)
    numbers = np.repeat(np.arange(len(texts)), np.diff(lot.firsts))[kept]
    return Batch(
        surfaces=[surfaces[at] for at in kept.tolist()],
        hashes=vocabulary.hashes[codes[kept]],
        kinds=kinds[kept],
        texts=numbers,
        starts=lot.starts[kept] - lot.offsets[numbers],
        ends=lot.ends[kept] - lot.offsets[numbers],
        runs=np.cumsum(breaks, dtype=np.intp)[kept],
        gaps=_strongest(gaps, kept),
        soft=_strongest(_without_brackets(lot, forms.silent), kept),
        stops=np.cumsum(kinds == Kind.STOP)[kept],
        expanded=_places(forms.expanded, kept),
        silent=_places([first for first, _ in forms.silent], kept),
        shares=_by_place(shares, kept),
        written=_by_place(forms.written, kept),
    )


def _breaks(texts: Sequence[Text], lot: Lot) -> npt.NDArray[np.bool_]:
    """Return before which words a run ends: where a paragraph, a text or a sentence begins."""
    breaks: npt.NDArray[np.bool_] = lot.gaps == Gap.PARAGRAPH
    borders = [offset + at for text, offset in zip(texts, lot.offsets.tolist(), strict=True) for at in text.borders]
    for begins in (lot.firsts, np.searchsorted(lot.starts, np.array(borders, np.intp))):
        breaks[begins[begins < len(breaks)]] = True
    return breaks


def _correct(
    texts: Sequence[Text],
    lot: Lot,
    codes: Ints,
    kinds: npt.NDArray[np.uint8],
    begins: npt.NDArray[np.bool_],
    vocabulary: Vocabulary,
) -> dict[int, float]:
    """Put right words in the place of misspelt ones; return what each counts.

    A word that begins with a capital where no sentence or item begins is a name, and stays unknown; so does what
    stands in a German text, but for its English sentences.
    """
    shares, surfaces = {}, lot.surfaces
    odd = np.flatnonzero(vocabulary.odd[codes])
    numbers = np.searchsorted(lot.firsts, odd, side="right") - 1
    german = {number: _english(texts[number]) for number in set(numbers.tolist()) if is_german(texts[number].text)}
    for at, number in zip(odd.tolist(), numbers.tolist(), strict=True):
        if number in german and not german[number](int(lot.starts[at] - lot.offsets[number])):
            kinds[at] = Kind.UNKNOWN
        elif surfaces[at][0].islower() or not at or begins[at]:
            surfaces[at] = vocabulary.corrected[int(codes[at])]
            shares[at] = MISSPELT
        else:
            kinds[at] = Kind.UNKNOWN
    return shares


def _english(text: Text) -> Callable[[int], bool]:
    """Return what says if the sentence at a place of a text is rather English, or the text where that does not tell.

    It looks at each sentence once, and once at the text: a long one has thousands of words that may be misspelt.
    """
    borders, whole = [0, *text.borders, len(text.text)], english_lead(text.text)

    @functools.cache
    def is_english(last: int) -> bool:
        return (english_lead(text.text[borders[last - 1] : borders[last]]) or whole) > 0

    return lambda at: is_english(min(bisect_right(borders, at), len(borders) - 1))


def _strongest(gaps: Ints, kept: Ints) -> Ints:
    """Return for each of the `kept` words the strongest gap since the one before it."""
    if not len(kept):
        return gaps[:0]
    return np.maximum.reduceat(gaps[: kept[-1] + 1], np.concatenate([[0], kept[:-1] + 1]))


def _places(words: list[int], kept: Ints) -> frozenset[int]:
    """Return the positions among the `kept` words of some of them."""
    return frozenset(np.searchsorted(kept, words).tolist()) if words else frozenset()


def _by_place(values: Mapping[int, Value], kept: Ints) -> dict[int, Value]:
    """Return values of words by their positions among the `kept` ones."""
    return dict(zip(np.searchsorted(kept, list(values)).tolist(), values.values(), strict=True)) if values else {}


def _without_brackets(lot: Lot, silent: Sequence[tuple[int, int]]) -> Ints:
    """Return the kinds of gaps with nothing where there is but the bracket around a silent word."""
    if not silent:
        return lot.gaps
    gaps = lot.gaps.copy()
    for first, last in silent:
        for at in (first, last):
            if at < len(gaps) and lot.gap(at).strip() in "()[]":
                gaps[at] = Gap.JOIN
    return gaps


def _write_out(
    texts: Sequence[Text], lot: Lot, codes: Ints, vocabulary: Vocabulary, known: KnownForms | None
) -> _Forms:
    """Put long forms in the place of short forms, whose other words become stop words, so that each counts as one.

    Of a short form for two names each word becomes one of them.
    """
    forms = _Forms([], [], {}, {})
    firsts, offsets = lot.firsts.tolist(), lot.offsets.tolist()
    for text, short in _short_forms(texts, lot, codes, vocabulary, known):
        first, last = firsts[text] + short.first, firsts[text] + short.last
        if short.own and _in_bracket(lot, first, last):
            forms.silent.append((first, last))
        parts = short.long.split(PHRASE)
        for at, part in enumerate(parts, first):
            if short.listed:
                forms.written[at] = " ".join(lot.surfaces[at : last if len(parts) == 1 else at + 1])
            surface = PHRASE + part
            lot.surfaces[at], codes[at] = surface, vocabulary[surface]
            forms.expanded.append(at)
            if short.share < 1:
                forms.shares[at] = short.share
        stop = first + len(parts)
        lot.ends[stop - 1] = offsets[text] + short.end
        for at in range(stop, last):
            lot.surfaces[at], codes[at] = STOP, vocabulary[STOP]
    return forms


def _short_forms(
    texts: Sequence[Text], lot: Lot, codes: Ints, vocabulary: Vocabulary, known: KnownForms | None
) -> Iterator[tuple[int, Occurrence]]:
    """Yield the short forms that a document defines, and of the others those that are known, with their text."""
    opening = {word for text in texts if text.abbreviations for word in text.abbreviations.firsts}
    opens = np.isin(codes, [vocabulary.get(word, 0) for word in opening])
    if known is not None:
        opens |= vocabulary.opens[codes]
    opens_at = np.flatnonzero(opens)
    places, borders = opens_at.tolist(), np.searchsorted(opens_at, lot.firsts).tolist()
    for number, (first, last) in enumerate(itertools.pairwise(borders)):
        if first < last:
            before = int(lot.firsts[number])
            some = [at - before for at in places[first:last]]
            for short in _of_text(texts[number], lot.words(number), some, known):
                yield number, short


def _of_text(text: Text, tokens: Tokens, places: Sequence[int], known: KnownForms | None) -> list[Occurrence]:
    """Return the short forms of one text that begin with one of the words in `places`."""
    own = text.abbreviations
    found = list(own.occurrences(text.text, tokens, borders=text.borders, offset=text.offset, at=places)) if own else []
    if known is None:
        return found
    taken = {at for short in found for at in range(short.first, short.last)}
    others = known.occurrences(text.text, tokens, borders=text.borders, at=places)
    if own:
        others = (short for short in others if not own.defines(tokens.surfaces[short.first]))
    return sorted([*found, *(short for short in others if taken.isdisjoint(range(short.first, short.last)))])


def _in_bracket(lot: Lot, first: int, last: int) -> bool:
    """Whether a bracket holds the words `first` to `last` and nothing else."""
    return lot.gap(first).endswith(("(", "[")) and lot.text.startswith((")", "]"), int(lot.ends[last - 1]))


def _complete(lot: Lot) -> None:
    """Give suspended prefixes what they share with the word behind the conjunction: "hypo- and hyperthyroidism"."""
    surfaces, found = lot.surfaces, list(SUSPENDED.finditer(lot.text))
    places = np.searchsorted(lot.starts, [sign.end() for sign in found])
    lasts = lot.firsts[np.searchsorted(lot.firsts, places, side="right").clip(max=len(lot.firsts) - 1)] - 1
    for sign, at, last in zip(found, places.tolist(), lasts.tolist(), strict=True):
        if 0 < at < last and (lot.before[at], lot.starts[at]) == sign.span() and surfaces[at].lower() in CONJUNCTIONS:
            surfaces[at - 1] += _behind_prefix(surfaces[at + 1])
            lot.gaps[at] = Gap.JOIN


def _behind_prefix(word: str) -> str:
    """Return what follows the prefix of a word, ``""`` if it begins with none.

    >>> _behind_prefix("hyperthyroidism"), _behind_prefix("post-natal"), _behind_prefix("left")
    ('thyroidism', 'natal', '')
    """
    folded = word.lower()
    prefix = max((prefix for prefix in PREFIXES if folded.startswith(prefix)), key=len, default="")
    rest = word[len(prefix) :].lstrip(HYPHENS) if prefix else ""
    return rest if len(rest) >= LEAST_STEM else ""
