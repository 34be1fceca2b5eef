"""Texts as the words that names are looked for among: stop words left out, short forms and typing errors read as meant.

A batch of texts becomes one sequence of content words. Where a document defines an abbreviation, its occurrences become
one word that stands for the long form; so do short forms that a table explains (`linnet.text.known_forms`), and a word
that is taken for a misspelt one (`linnet.text.misspelt`) becomes the right one. The bracket that defines a short form
is *silent*: it counts on its own, and as nothing inside a longer name, so that "diabetes mellitus (DM) type 2" holds
the name "diabetes mellitus type 2".
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.detect.name_table import MASK, U64, Kind, NameTable, word_code
from linnet.text.known_forms import KnownForms
from linnet.text.misspelt import Misspelt
from linnet.text.short_forms import Occurrence, ShortForms
from linnet.text.tokens import HYPHENS, Gap, Tokens, gap_kind, tokenize
from linnet.text.variants import CONJUNCTIONS, PREFIXES

__all__ = ["Batch", "Ints", "Text", "Vocabulary", "read_texts"]

Ints = npt.NDArray[np.intp]

PHRASE = "\0"  # begins what stands for several words in the place of one; no word of a text holds it
STOP = "-"  # no word, which counts as a stop word in every language
SUSPENDED = tuple(hyphen + " " for hyphen in HYPHENS)  # "hypo- and hyperthyroidism"
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
    as others (undefined short forms, typing errors), by position.
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


class Vocabulary(dict[str, int]):
    """Codes of the words met so far: surface -> row of ``hashes`` and ``kinds``, filled in as words come.

    ``corrected`` are the codes of words that are taken for misspelt ones, with what they are taken for.
    """

    def __init__(self, table: NameTable, misspelt: Misspelt | None = None) -> None:
        super().__init__()
        self.table = table
        self.misspelt = misspelt
        self.corrected: dict[int, str] = {}
        self.odd = np.zeros(1 << 12, np.bool_)  # which codes are among them
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
            code, self.size = self.size, self.size + 1
            self.hashes[code] = hash
            self.kinds[code] = Kind.KNOWN if kind == Kind.UNKNOWN and self.table.knows(hash) else kind
            self[surface] = code
            if word:
                self.corrected[code], self.odd[code] = word, True
            return code

    def _phrase(self, surface: str) -> tuple[int, int]:
        """Return hash and kind of several words in the place of one: the long form of an abbreviation."""
        codes = [self[word] for word in self.table.language.words(surface)]
        known = all(self.kinds[code] != Kind.UNKNOWN for code in codes)
        return sum(int(self.hashes[code]) for code in codes) & MASK, Kind.KNOWN if known else Kind.UNKNOWN


class _Read(NamedTuple):
    """One text: its words, where its sentences begin, and the places of its short forms and of its silent words."""

    tokens: Tokens
    borders: Sequence[int]
    expanded: list[int]
    silent: list[tuple[int, int]]  # the first word, and the one behind the last
    shares: dict[int, float]


def read_texts(texts: Sequence[Text], vocabulary: Vocabulary, known: KnownForms | None = None) -> Batch:
    """Return `texts` as one sequence of content words."""
    read = [_read(text, known) for text in texts]
    sizes = np.fromiter((len(one.tokens.surfaces) for one in read), np.intp, len(read))
    before = (np.cumsum(sizes) - sizes).tolist()
    surfaces = [surface for one in read for surface in one.tokens.surfaces]
    codes = np.fromiter(map(vocabulary.__getitem__, surfaces), np.intp, len(surfaces))
    gap_texts = [gap for one in read for gap in one.tokens.gaps[:-1]]
    gaps = np.fromiter(map(_GAPS.__getitem__, gap_texts), np.intp, len(surfaces))
    number = np.repeat(np.arange(len(read)), sizes)
    starts = _joined([one.tokens.starts for one in read])
    sentence = _joined([np.searchsorted(one.borders, one.tokens.starts, side="right") for one in read])
    breaks = gaps == Gap.PARAGRAPH
    breaks[1:] |= (number[1:] != number[:-1]) | (sentence[1:] != sentence[:-1])
    kinds = vocabulary.kinds[codes]
    kept = np.flatnonzero(kinds != Kind.STOP)
    silent = [(first + at, last + at) for one, at in zip(read, before, strict=True) for first, last in one.silent]
    shares = {first + at: share for one, at in zip(read, before, strict=True) for first, share in one.shares.items()}
    if vocabulary.corrected:
        kinds = kinds.copy()
        shares |= _correct(surfaces, codes, kinds, breaks | (gaps >= Gap.BREAK), vocabulary)
    return Batch(
        surfaces=[surfaces[at] for at in kept.tolist()],
        hashes=vocabulary.hashes[codes[kept]],
        kinds=kinds[kept],
        texts=number[kept],
        starts=starts[kept],
        ends=_joined([one.tokens.ends for one in read])[kept],
        runs=np.cumsum(breaks)[kept],
        gaps=_strongest(gaps, kept),
        soft=_strongest(_without_brackets(gaps, gap_texts, silent), kept),
        stops=np.cumsum(kinds == Kind.STOP)[kept],
        expanded=_places([at + place for one, at in zip(read, before, strict=True) for place in one.expanded], kept),
        silent=_places([first for first, _ in silent], kept),
        shares=dict(zip(np.searchsorted(kept, list(shares)).tolist(), shares.values(), strict=True)) if shares else {},
    )


def _correct(
    surfaces: list[str],
    codes: Ints,
    kinds: npt.NDArray[np.uint8],
    begins: npt.NDArray[np.bool_],
    vocabulary: Vocabulary,
) -> dict[int, float]:
    """Put right words in the place of misspelt ones; return what each counts.

    A word that begins with a capital where no sentence or item begins is a name, and stays unknown.
    """
    shares = {}
    for at in np.flatnonzero(vocabulary.odd[codes]).tolist():
        if surfaces[at][0].islower() or not at or begins[at]:
            surfaces[at] = vocabulary.corrected[int(codes[at])]
            shares[at] = MISSPELT
        else:
            kinds[at] = Kind.UNKNOWN
    return shares


def _strongest(gaps: Ints, kept: Ints) -> Ints:
    """Return for each of the `kept` words the strongest gap since the one before it."""
    if not len(kept):
        return gaps[:0]
    return np.maximum.reduceat(gaps[: kept[-1] + 1], np.concatenate([[0], kept[:-1] + 1]))


def _places(words: list[int], kept: Ints) -> frozenset[int]:
    """Return the positions among the `kept` words of some of them."""
    return frozenset(np.searchsorted(kept, words).tolist()) if words else frozenset()


def _without_brackets(gaps: Ints, texts: Sequence[str], silent: Sequence[tuple[int, int]]) -> Ints:
    """Return the kinds of gaps with nothing where there is but the bracket around a silent word."""
    if not silent:
        return gaps
    gaps = gaps.copy()
    for first, last in silent:
        for at in (first, last):
            if at < len(texts) and texts[at].strip() in "()[]":
                gaps[at] = Gap.JOIN
    return gaps


def _joined(arrays: list[Ints]) -> Ints:
    return np.concatenate(arrays) if arrays else np.empty(0, np.intp)


class _Gaps(dict[str, int]):
    """Kinds of the gaps met so far; a dictionary because that is asked in half the time of a cache."""

    MOST = 1 << 12

    def __missing__(self, gap: str) -> int:
        kind = gap_kind(gap)
        if len(self) < self.MOST and len(gap) < 8:
            self[gap] = kind
        return kind


_GAPS = _Gaps()


def _read(text: Text, known: KnownForms | None) -> _Read:
    """Return the words of a text, its short forms replaced by their long forms."""
    tokens = tokenize(text.text)
    if any(map(text.text.__contains__, SUSPENDED)):
        _complete(tokens)
    expanded: list[int] = []
    silent: list[tuple[int, int]] = []
    shares: dict[int, float] = {}
    found = _short_forms(text, tokens, known)
    if not found:
        return _Read(tokens, text.borders, expanded, silent, shares)
    tokens = tokens._replace(ends=tokens.ends.copy())
    for short in found:
        # Its other words become stop words, so that the short form counts as one.
        rest = [STOP] * (short.last - short.first - 1)
        tokens.surfaces[short.first : short.last] = [PHRASE + short.long, *rest]
        tokens.ends[short.first] = short.end
        expanded.append(short.first)
        if short.share < 1:
            shares[short.first] = short.share
        if _in_bracket(tokens, short):
            silent.append((short.first, short.last))
    return _Read(tokens, text.borders, expanded, silent, shares)


def _short_forms(text: Text, tokens: Tokens, known: KnownForms | None) -> list[Occurrence]:
    """Return the short forms that the document defines, and of the others those that are known."""
    own = text.abbreviations
    found = list(own.occurrences(text.text, tokens, borders=text.borders, offset=text.offset)) if own else []
    if known is None:
        return found
    taken = {at for short in found for at in range(short.first, short.last)}
    others = known.occurrences(text.text, tokens, borders=text.borders)
    if own:
        others = (short for short in others if not own.defines(tokens.surfaces[short.first]))
    return sorted([*found, *(short for short in others if taken.isdisjoint(range(short.first, short.last)))])


def _in_bracket(tokens: Tokens, short: Occurrence) -> bool:
    """Whether this is a bracket that holds the definition of a short form and nothing else."""
    before, after = tokens.gaps[short.first], tokens.gaps[short.last]
    return short.own and before.endswith(("(", "[")) and after.startswith((")", "]"))


def _complete(tokens: Tokens) -> None:
    """Give suspended prefixes what they share with the word behind the conjunction: "hypo- and hyperthyroidism"."""
    surfaces, gaps = tokens.surfaces, tokens.gaps
    for at in [at for at, gap in enumerate(gaps) if gap in SUSPENDED]:
        if 0 < at < len(surfaces) - 1 and surfaces[at].lower() in CONJUNCTIONS:
            surfaces[at - 1] += _behind_prefix(surfaces[at + 1])
            gaps[at] = " "


def _behind_prefix(word: str) -> str:
    """Return what follows the prefix of a word, ``""`` if it begins with none.

    >>> _behind_prefix("hyperthyroidism"), _behind_prefix("post-natal"), _behind_prefix("left")
    ('thyroidism', 'natal', '')
    """
    folded = word.lower()
    prefix = max((prefix for prefix in PREFIXES if folded.startswith(prefix)), key=len, default="")
    rest = word[len(prefix) :].lstrip(HYPHENS) if prefix else ""
    return rest if len(rest) >= LEAST_STEM else ""
