"""Finding the names of a `NameTable` in texts: windows of words whose hashes add up to a name's, then a close look.

A batch of texts becomes one sequence of content words (stop words left out). Three readings propose windows: words that
follow each other; the same with one word in between left out; and the conjuncts of coordinations. A window whose sum
of hashes is in the table is compared with the name word by word (`linnet.detect.name_agreement`).
"""

from __future__ import annotations

import functools
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.detect.name_agreement import SCOPES, How, Shape, agree, shape
from linnet.detect.name_table import MASK, U64, Kind, NameTable, word_code
from linnet.text.coordination import Conjunct, Phrase, conjuncts
from linnet.text.tokens import Gap, Tokens, gap_kind, tokenize, words
from linnet.text.variants import BEARERS, content_words, stem

__all__ = ["Batch", "Match", "Search", "Text"]

Ints = npt.NDArray[np.intp]

CONJUNCT = 0.9  # what the score of a conjunct is multiplied by
SYNONYM = 0.995  # what the score of another than the concept's first name is multiplied by: it only breaks ties
LONGEST_WITH_INSERTION = 5
MOST_PHRASES, LONGEST_PHRASE = 8, 6


class Match(NamedTuple):
    """A name found in a text.

    ``words`` are the positions of the words that agree with it; of a conjunct, ``own`` are those that it does not
    share and ``group`` is the position of the conjunction (-1 outside coordinations).
    """

    words: tuple[int, ...]
    name: int
    concept: int
    score: float
    own: tuple[int, ...] = ()
    group: int = -1


class Text(NamedTuple):
    """A text to read: offsets where its sentences begin, and its abbreviations, short form -> long form."""

    text: str
    borders: Sequence[int] = ()
    abbreviations: Mapping[str, str] = {}


class Batch(NamedTuple):
    """Texts as one sequence of n content words.

    ``hashes`` uint64, ``kinds`` uint8 (`Kind`), ``texts`` (which text a word is of), ``starts`` and ``ends`` (where it
    stands there), ``runs`` (numbers the stretches that no sentence end, empty line or end of text interrupts), ``gaps``
    (the strongest `Gap` since the content word before) and ``stops`` (how many stop words came before) are all (n,).
    """

    surfaces: list[str]
    hashes: U64
    kinds: npt.NDArray[np.uint8]
    texts: Ints
    starts: Ints
    ends: Ints
    runs: Ints
    gaps: Ints
    stops: Ints


class Vocabulary(dict[str, int]):
    """Codes of the words met so far: surface -> row of ``hashes`` and ``kinds``, filled in as words come."""

    def __init__(self, table: NameTable) -> None:
        super().__init__()
        self.table = table
        self.hashes = np.zeros(1 << 12, np.uint64)
        self.kinds = np.zeros(1 << 12, np.uint8)
        self.size = 1  # code 0 stands for words too long to be kept
        self.lock = threading.Lock()

    def __missing__(self, surface: str) -> int:
        hash, kind = self._phrase(surface) if " " in surface else word_code(surface)
        if kind == Kind.UNKNOWN and not hash:
            return 0
        with self.lock:
            if self.size == len(self.hashes):
                self.hashes = np.concatenate([self.hashes, np.zeros_like(self.hashes)])
                self.kinds = np.concatenate([self.kinds, np.zeros_like(self.kinds)])
            code, self.size = self.size, self.size + 1
            self.hashes[code] = hash
            self.kinds[code] = Kind.KNOWN if kind == Kind.UNKNOWN and self.table.knows(hash) else kind
            self[surface] = code
            return code

    def _phrase(self, surface: str) -> tuple[int, int]:
        """Return hash and kind of several words in the place of one: the long form of an abbreviation."""
        codes = [self[word] for word in words(surface)]
        known = all(self.kinds[code] != Kind.UNKNOWN for code in codes)
        return sum(int(self.hashes[code]) for code in codes) & MASK, Kind.KNOWN if known else Kind.UNKNOWN


class Search:
    """Finds the names of one table; remembers the words it met, so that the next batch is faster."""

    MOST_WORDS = 1 << 19  # remembered words; beyond it, it starts anew

    def __init__(self, table: NameTable) -> None:
        self.table = table
        self.vocabulary = Vocabulary(table)
        self.shape = functools.lru_cache(maxsize=1 << 16)(self._shape)
        self.agreement = functools.lru_cache(maxsize=1 << 16)(self._agreement)

    def read(self, texts: Sequence[Text]) -> Batch:
        """Return `texts` as one sequence of content words."""
        if len(self.vocabulary) > self.MOST_WORDS:
            self.vocabulary = Vocabulary(self.table)
        vocabulary = self.vocabulary
        read = [_tokenize(text) for text in texts]
        surfaces = [surface for tokens in read for surface in tokens.surfaces]
        codes = np.fromiter(map(vocabulary.__getitem__, surfaces), np.intp, len(surfaces))
        kinds = vocabulary.kinds[codes]
        gaps = np.fromiter(map(_gap, (gap for tokens in read for gap in tokens.gaps[:-1])), np.intp, len(surfaces))
        number = np.repeat(np.arange(len(read)), [len(tokens.surfaces) for tokens in read])
        sentence = _joined(
            [np.searchsorted(x.borders, t.starts, side="right") for x, t in zip(texts, read, strict=True)]
        )
        breaks = gaps == Gap.PARAGRAPH
        breaks[1:] |= (number[1:] != number[:-1]) | (sentence[1:] != sentence[:-1])
        kept = np.flatnonzero(kinds != Kind.STOP)
        return Batch(
            surfaces=[surfaces[at] for at in kept.tolist()],
            hashes=vocabulary.hashes[codes[kept]],
            kinds=kinds[kept],
            texts=number[kept],
            starts=_joined([tokens.starts for tokens in read])[kept],
            ends=_joined([tokens.ends for tokens in read])[kept],
            runs=np.cumsum(breaks)[kept],
            gaps=np.maximum.reduceat(gaps, np.concatenate([[0], kept[:-1] + 1])) if len(kept) else gaps[:0],
            stops=np.cumsum(kinds == Kind.STOP)[kept],
        )

    def matches(self, batch: Batch) -> Iterator[Match]:
        """Yield every name found in `batch`, in no particular order."""
        if len(batch.surfaces) and len(self.table):
            view = _View(batch)
            yield from self._windows(batch, view)
            yield from self._coordinations(batch, view)

    # --- windows -----------------------------------------------------------------------------------------------------

    def _windows(self, batch: Batch, view: _View) -> Iterator[Match]:
        soft = np.cumsum(batch.gaps > Gap.JOIN)
        for starts, length, out, entries in self._proposals(batch):
            last = starts + length - 1
            columns = (batch.stops[last] > batch.stops[starts], view.goes_on[last], soft[last] - soft[starts])
            rows = zip(starts.tolist(), entries.tolist(), *(column.tolist() for column in columns), strict=True)
            for start, entry, linked, goes_on, punctuation in rows:
                words = tuple([at for at in range(start, start + length) if at != start + out or out < 0])
                how = How(linked, goes_on and view.follows(start + length), out >= 0, punctuation)
                yield from self._judge(view, words, entry, how)

    def _proposals(self, batch: Batch) -> Iterator[tuple[Ints, int, int, Ints]]:
        """Yield windows whose sum is in the table: starts, length, the place left out or -1, entries."""
        reach = _reach(batch)
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(batch.hashes)])
        starts = np.flatnonzero(reach)
        for length in range(1, self.table.longest + 1):
            starts = starts[reach[starts] >= length]
            if not len(starts):
                break
            hits, entries = self.table.find(sums[starts + length] - sums[starts])
            yield starts[hits], length, -1, entries
            if 3 <= length <= LONGEST_WITH_INSERTION:
                for out in range(1, length - 1):
                    chosen = starts[batch.kinds[starts + out] == Kind.KNOWN]
                    hits, entries = self.table.find(sums[chosen + length] - sums[chosen] - batch.hashes[chosen + out])
                    yield chosen[hits], length, out, entries

    # --- coordinations -----------------------------------------------------------------------------------------------

    def _coordinations(self, batch: Batch, view: _View) -> Iterator[Match]:
        proposals: list[tuple[int, Conjunct]] = []
        for at in _joints(batch):
            proposals += [(at, reading) for reading in conjuncts(view.phrases(at))]
        hash_of = view.hashes.__getitem__
        sums = (sum(map(hash_of, reading.own), sum(map(hash_of, reading.shared))) & MASK for _, reading in proposals)
        hits, entries = self.table.find(np.fromiter(sums, np.uint64, len(proposals)))
        for hit, entry in zip(hits.tolist(), entries.tolist(), strict=True):
            at, reading = proposals[hit]
            words = reading.words
            how = How(linked=reading.turned, goes_on=2 * int(view.goes_on[words[-1]]))
            for match in self._judge(view, words, entry, how):
                yield match._replace(own=reading.own, group=at, score=match.score * CONJUNCT)

    # --- the close look ----------------------------------------------------------------------------------------------

    def _judge(self, view: _View, words: tuple[int, ...], entry: int, how: How) -> Iterator[Match]:
        surfaces = tuple([view.surfaces[at] for at in words])
        if view.expanded and not view.expanded.isdisjoint(words):
            surfaces = tuple([word for surface in surfaces for word in _content_words(surface)])
            how = how._replace(linked=True)
        for name, concept, score in self.agreement(surfaces, entry, how):
            yield Match(words, name, concept, score)

    def _agreement(self, surfaces: tuple[str, ...], first: int, how: How) -> tuple[tuple[int, int, float], ...]:
        """Return which of the names that share the sum of entry `first` agree: name, concept, score."""
        table, found = self.table, []
        for row in range(first, table.after(first)):
            score = agree(surfaces, self.shape(row), how)
            if score:
                entry = table.entry(row)
                score *= SCOPES[entry.scope] * (1.0 if entry.preferred else SYNONYM)
                found.append((entry.name, entry.concept, score))
        return tuple(found)

    def _shape(self, row: int) -> Shape:
        return shape(self.table.entry(row).text)


class _View:
    """What the close look asks of a batch word by word, as lists: faster than arrays for single items."""

    def __init__(self, batch: Batch) -> None:
        self.surfaces = batch.surfaces
        self.hashes: list[int] = batch.hashes.tolist()
        self.kinds: list[int] = batch.kinds.tolist()
        self.runs: list[int] = batch.runs.tolist()
        self.gaps: list[int] = batch.gaps.tolist()
        self.stops: list[int] = batch.stops.tolist()
        self.goes_on = _goes_on(batch)
        self.expanded = {at for at, surface in enumerate(batch.surfaces) if " " in surface}

    def follows(self, at: int) -> int:
        """Return how a phrase that goes on with the word `at` does so: 1 with a bearer of findings, else 2."""
        return 1 if stem(self.surfaces[at].lower()) in BEARERS else 2

    def phrases(self, at: int) -> list[Phrase]:
        """Return the phrases that the conjunction at `at`, or the slash before it, joins, in the order of the text."""
        last = self._forwards(at + 1 if self.kinds[at] == Kind.CONJUNCTION else at)
        if not last:
            return []
        before: list[list[int]] = [[]]
        back = at - 1
        while back >= 0 and self.runs[back] == self.runs[at] and self.kinds[back] <= Kind.KNOWN:
            before[-1].append(back)
            if self.gaps[back] in (Gap.COMMA, Gap.SLASH) and len(before) < MOST_PHRASES:
                before.append([])
            elif self.gaps[back] != Gap.JOIN or len(before[-1]) == LONGEST_PHRASE:
                break
            back -= 1
        return [self._phrase(phrase[::-1]) for phrase in reversed(before) if phrase] + [self._phrase(last)]

    def _forwards(self, at: int) -> list[int]:
        """Return the words from `at` on that no punctuation interrupts, up to the last known one."""
        found: list[int] = []
        while at < len(self.kinds) and self.kinds[at] <= Kind.KNOWN and len(found) < LONGEST_PHRASE:
            if found and (self.gaps[at] != Gap.JOIN or self.runs[at] != self.runs[found[0]]):
                break
            found.append(at)
            at += 1
        while found and self.kinds[found[-1]] == Kind.UNKNOWN:
            found.pop()
        return found

    def _phrase(self, words: list[int]) -> Phrase:
        turn, before = 0, self.stops[words[0]]
        if self.stops[words[-1]] != before:
            turn = next(number for number, at in enumerate(words) if self.stops[at] != before)
        apart = words[0] > 0 and self.stops[words[0] - 1] != before
        return Phrase(tuple(words), turn, ended=not self.goes_on[words[-1]], apart=apart)


def _tokenize(text: Text) -> Tokens:
    """Return the words of a text, its short forms replaced by their long forms."""
    tokens = tokenize(text.text)
    if not text.abbreviations:
        return tokens
    surfaces, ends = tokens.surfaces, tokens.ends.copy()
    starts_list, ends_list = tokens.starts.tolist(), tokens.ends.tolist()
    for short, long in text.abbreviations.items():
        for start, end in _occurrences(short, text.text):
            first, last = bisect_left(starts_list, start), bisect_right(ends_list, end)
            if first < last:
                # Its other words become stop words, so that the short form counts as one.
                surfaces[first:last] = [" ".join(words(long))] + ["of"] * (last - first - 1)
                ends[first] = ends_list[last - 1]
    return tokens._replace(ends=ends)


def _occurrences(short: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where `short`, or its plural in -s, stands in `text` as a word of its own."""
    start = text.find(short)
    while start >= 0:
        end = start + len(short)
        end += text.startswith("s", end)
        if not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
            yield start, end
        start = text.find(short, end)


def _joined(arrays: list[Ints]) -> Ints:
    return np.concatenate(arrays) if arrays else np.empty(0, np.intp)


@functools.lru_cache(maxsize=1 << 12)
def _content_words(surface: str) -> list[str]:
    return content_words(surface)


@functools.lru_cache(maxsize=1 << 12)
def _gap(gap: str) -> int:
    return gap_kind(gap)


def _goes_on(batch: Batch) -> npt.NDArray[np.bool_]:
    """Return for each word whether its phrase goes on with the next content word."""
    found = np.zeros(len(batch.kinds), np.bool_)
    found[:-1] = (
        (batch.runs[1:] == batch.runs[:-1])
        & (batch.stops[1:] == batch.stops[:-1])
        & (batch.gaps[1:] == Gap.JOIN)
        & (batch.kinds[1:] <= Kind.KNOWN)
    )
    return found


def _joints(batch: Batch) -> list[int]:
    """Return the conjunctions, and the words behind a slash, on both sides of which a coordination may stand."""
    word = batch.kinds == Kind.CONJUNCTION
    joints = np.flatnonzero(word | (batch.gaps == Gap.SLASH))
    right = joints + word[joints]
    inside = (joints > 0) & (right < len(word))
    joints, right = joints[inside], right[inside]
    left, word = joints - 1, word[joints]
    kinds = batch.kinds
    fit = (batch.runs[left] == batch.runs[right]) & (kinds[left] <= Kind.KNOWN) & (kinds[right] <= Kind.KNOWN)
    fit &= (kinds[left] == Kind.KNOWN) | (kinds[right] == Kind.KNOWN)
    fit &= ~word | ((batch.gaps[joints] <= Gap.COMMA) & (batch.gaps[right] == Gap.JOIN))
    return [int(at) for at in joints[fit]]


def _reach(batch: Batch) -> Ints:
    """Return for each word how many words from it on, itself included, some name could hold and one run has."""
    size = len(batch.kinds)
    ends = np.full(size, size)
    unknown = np.flatnonzero(batch.kinds == Kind.UNKNOWN)
    change = np.flatnonzero(np.diff(batch.runs))
    ends[change] = change + 1
    ends[unknown] = unknown
    return np.asarray(np.minimum.accumulate(ends[::-1])[::-1] - np.arange(size))
