"""Finding the names of a `NameTable` in texts: windows of words whose hashes add up to a name's, then a close look.

A batch of texts becomes one sequence of content words (stop words left out). Where a document defines an abbreviation,
its occurrences become one word that stands for the long form. The bracket that defines it is *silent*: it counts on its
own, and as nothing inside a longer name, so that "diabetes mellitus (DM) type 2" holds the name "diabetes mellitus type
2".

Three readings propose windows: words that follow each other; the same with one word in between left out; and the
conjuncts of coordinations. A window whose sum of hashes is in the table is compared with the name word by word
(`linnet.detect.name_agreement`).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.detect.name_agreement import SCOPES, How, Shape, agree, repeats, shape
from linnet.detect.name_table import MASK, U64, Kind, NameTable, word_code
from linnet.text.abbreviations import without_short_forms
from linnet.text.coordination import Conjunct, Phrase, conjuncts, shared_end
from linnet.text.short_forms import Occurrence, ShortForms
from linnet.text.tokens import HYPHENS, Gap, Tokens, gap_kind, tokenize, words
from linnet.text.variants import BEARERS, CONJUNCTIONS, PREFIXES, content_words, stem
from linnet.text.wordlists import listed

__all__ = ["Batch", "Match", "Search", "SurfaceSearch", "Text"]

Ints = npt.NDArray[np.intp]

PHRASE = "\0"  # begins what stands for several words in the place of one; no word of a text holds it
STOP = "of"  # any stop word
SUSPENDED = tuple(hyphen + " " for hyphen in HYPHENS)  # "hypo- and hyperthyroidism"
LEAST_STEM = 4  # letters of what a suspended prefix is put before
CONJUNCT = 0.9  # what the score of a conjunct is multiplied by
SYNONYM = 0.995  # what the score of another than the concept's first name is multiplied by: it only breaks ties
LONGEST_WITH_INSERTION = 5
# Endings of words that describe another, as two of them do that a comma joins ("low-set, posteriorly rotated ears").
ADJECTIVE = ("al", "ar", "ary", "ed", "ic", "ive", "less", "ous", "set")
DESCRIBING = (*ADJECTIVE, "ly")
MOST_PHRASES, LONGEST_PHRASE = 8, 6
TITLES = frozenset(map(str.capitalize, listed("title")))


# --- texts as words --------------------------------------------------------------------------------------------------


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
    ``silent`` those of them that stand where they are defined.
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
        hash, kind = self._phrase(surface) if surface[0] == PHRASE else word_code(surface)
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


class _Read(NamedTuple):
    """One text: its words, where its sentences begin, and the places of its short forms and of its silent words."""

    tokens: Tokens
    borders: Sequence[int]
    expanded: list[int]
    silent: list[tuple[int, int]]  # the first word, and the one behind the last


def read_texts(texts: Sequence[Text], vocabulary: Vocabulary) -> Batch:
    """Return `texts` as one sequence of content words."""
    read = [_read(text) for text in texts]
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
    )


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


def _read(text: Text) -> _Read:
    """Return the words of a text, its short forms replaced by their long forms."""
    tokens = tokenize(text.text)
    if any(map(text.text.__contains__, SUSPENDED)):
        _complete(tokens)
    expanded: list[int] = []
    silent: list[tuple[int, int]] = []
    if not text.abbreviations:
        return _Read(tokens, text.borders, expanded, silent)
    tokens = tokens._replace(ends=tokens.ends.copy())
    for short in list(text.abbreviations.occurrences(text.text, tokens, borders=text.borders, offset=text.offset)):
        # Its other words become stop words, so that the short form counts as one.
        rest = [STOP] * (short.last - short.first - 1)
        tokens.surfaces[short.first : short.last] = [PHRASE + short.long, *rest]
        tokens.ends[short.first] = short.end
        expanded.append(short.first)
        if _in_bracket(tokens, short):
            silent.append((short.first, short.last))
    return _Read(tokens, text.borders, expanded, silent)


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


# --- names among words -----------------------------------------------------------------------------------------------


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
        return read_texts(texts, self.vocabulary)

    def reread(self, batch: Batch) -> Batch:
        """Return what another search has read, as this one's `read` would."""
        if len(self.vocabulary) > self.MOST_WORDS:
            self.vocabulary = Vocabulary(self.table)
        codes = np.fromiter(map(self.vocabulary.__getitem__, batch.surfaces), np.intp, len(batch.surfaces))
        return batch._replace(kinds=self.vocabulary.kinds[codes])

    def matches(self, batch: Batch) -> Iterator[Match]:
        """Yield every name found in `batch`, in no particular order."""
        if len(batch.surfaces) and len(self.table):
            view = _View(batch)
            yield from self._windows(batch, view)
            yield from self._coordinations(batch, view)

    # --- windows -----------------------------------------------------------------------------------------------------

    def _windows(self, batch: Batch, view: _View) -> Iterator[Match]:
        soft = np.cumsum(batch.soft > Gap.JOIN)
        for starts, length, out, entries in self._proposals(batch):
            last = starts + length - 1
            columns = (batch.stops[last] > batch.stops[starts], view.goes_on[last], soft[last] - soft[starts])
            rows = zip(starts.tolist(), entries.tolist(), *(column.tolist() for column in columns), strict=True)
            for start, entry, linked, goes_on, punctuation in rows:
                words = tuple([at for at in range(start, start + length) if at != start + out or out < 0])
                if length > 1 and view.silent:
                    words = tuple([at for at in words if at not in view.silent])
                how = How(linked, goes_on and view.follows(start + length), out >= 0, punctuation)
                yield from self._judge(view, words, entry, how)

    def _proposals(self, batch: Batch) -> Iterator[tuple[Ints, int, int, Ints]]:
        """Yield windows whose sum is in the table: starts, length, the place left out or -1, entries."""
        reach = _reach(batch)
        starts = np.flatnonzero(reach)
        hits, entries = self.table.find(batch.hashes[starts])
        yield starts[hits], 1, -1, entries
        hashes, loud = batch.hashes.copy(), np.ones(len(reach), np.bool_)
        hashes[list(batch.silent)], loud[list(batch.silent)] = 0, False
        starts = starts[loud[starts]]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes)])
        for length in range(2, self.table.longest + 1 + bool(batch.silent)):
            starts = starts[reach[starts] >= length]
            if not len(starts):
                break
            whole = starts[loud[starts + length - 1]]
            hits, entries = self.table.find(sums[whole + length] - sums[whole])
            yield whole[hits], length, -1, entries
            if 3 <= length <= LONGEST_WITH_INSERTION:
                for out in range(1, length - 1):
                    chosen = whole[(batch.kinds[whole + out] == Kind.KNOWN) & loud[whole + out]]
                    hits, entries = self.table.find(sums[chosen + length] - sums[chosen] - hashes[chosen + out])
                    yield chosen[hits], length, out, entries

    # --- coordinations -----------------------------------------------------------------------------------------------

    def _coordinations(self, batch: Batch, view: _View) -> Iterator[Match]:
        proposals: list[tuple[int, Conjunct]] = []
        for at in _joints(batch):
            proposals += [(at, reading) for reading in conjuncts(view.phrases(at), unknown=view.unknown)]
        for at in _commas(batch):
            proposals += [(at, reading) for reading in shared_end(view.phrases(at)[-2:], unknown=view.unknown)]
        hash_of = view.hashes.__getitem__
        sums = (sum(map(hash_of, reading.own), sum(map(hash_of, reading.shared))) & MASK for _, reading in proposals)
        hits, entries = self.table.find(np.fromiter(sums, np.uint64, len(proposals)))
        together: dict[tuple[int, tuple[int, ...]], dict[tuple[int, ...], list[Match]]] = {}
        for hit, entry in zip(hits.tolist(), entries.tolist(), strict=True):
            at, reading = proposals[hit]
            words = reading.words
            how = How(linked=reading.turned, goes_on=2 * int(view.goes_on[words[-1]]))
            matches = [
                match._replace(own=reading.own, group=at, score=match.score * CONJUNCT)
                for match in self._judge(view, words, entry, how)
            ]
            if reading.of > 1 and matches:
                found = together.setdefault((at, reading.shared), {})
                found[reading.own] = matches
                matches = [match for some in found.values() for match in some] if len(found) == reading.of else []
            yield from matches

    # --- the close look ----------------------------------------------------------------------------------------------

    def _judge(self, view: _View, words: tuple[int, ...], entry: int, how: How) -> Iterator[Match]:
        if len(words) == 1 and words[0] in view.people:
            return
        surfaces = tuple([view.surfaces[at] for at in words])
        if view.expanded and not view.expanded.isdisjoint(words):  # what stands there is the long form
            surfaces = tuple([word for surface in surfaces for word in _content_words(surface)])
            how = how._replace(linked=True)
        for name, concept, score in self.agreement(surfaces, entry, how):
            yield Match(words, name, concept, score)

    def _agreement(self, surfaces: tuple[str, ...], first: int, how: How) -> tuple[tuple[int, int, float], ...]:
        """Return which of the names that share the sum of entry `first` agree: name, concept, score."""
        table, found = self.table, []
        for row in range(first, table.after(first)):
            score = self._score(surfaces, self.shape(row), how)
            if score:
                entry = table.entry(row)
                score *= SCOPES[entry.scope] * (1.0 if entry.preferred else SYNONYM)
                found.append((entry.name, entry.concept, score))
        return tuple(found)

    def _score(self, surfaces: tuple[str, ...], name: Shape, how: How) -> float:
        return agree(surfaces, name, how)

    def _shape(self, row: int) -> Shape:
        return shape(without_short_forms(self.table.entry(row).text))


class SurfaceSearch(Search):
    """Finds surfaces that people marked: as they are written also where a rule forbids it to names ("CT", "tumors")."""

    def _score(self, surfaces: tuple[str, ...], name: Shape, how: How) -> float:
        return agree(surfaces, name, how) or float(repeats(surfaces, name, how))


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
        self.unknown = frozenset(np.flatnonzero(batch.kinds == Kind.UNKNOWN).tolist())
        self.expanded, self.silent = batch.expanded, batch.silent
        self.people = _people(self.surfaces, self.runs)

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


@functools.lru_cache(maxsize=1 << 12)
def _content_words(surface: str) -> list[str]:
    return content_words(surface)


def _people(surfaces: Sequence[str], runs: Sequence[int]) -> frozenset[int]:
    """Return which words are names of people: with a capital, behind a title and initials ("Dr. A. Neck").

    >>> sorted(_people(["Dr", "T", "Falls", "saw", "Mr", "Bone"], [0] * 6))
    [2, 5]
    """
    found = []
    for title in [at for at, surface in enumerate(surfaces) if surface in TITLES]:
        at = title + 1
        while at < len(surfaces) and len(surfaces[at]) == 1 and surfaces[at].isupper():
            at += 1
        if at < len(surfaces) and runs[at] == runs[title] and surfaces[at][0].isupper():
            found.append(at)
    return frozenset(found)


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


def _commas(batch: Batch) -> list[int]:
    """Return the words behind a comma between what is written like two adjectives of one noun."""
    known = batch.kinds == Kind.KNOWN
    fit = (batch.gaps[1:-1] == Gap.COMMA) & known[:-2] & known[1:-1] & known[2:] & (batch.gaps[2:] == Gap.JOIN)
    fit &= (batch.runs[:-2] == batch.runs[2:]) & (batch.stops[:-2] == batch.stops[1:-1])
    places: list[int] = (np.flatnonzero(fit) + 1).tolist()
    return [
        at for at in places if batch.surfaces[at - 1].endswith(ADJECTIVE) and batch.surfaces[at].endswith(DESCRIBING)
    ]


def _reach(batch: Batch) -> Ints:
    """Return for each word how many words from it on, itself included, some name could hold and one run has."""
    size = len(batch.kinds)
    ends = np.full(size, size)
    unknown = batch.kinds == Kind.UNKNOWN
    unknown[list(batch.silent)] = False
    unknown = np.flatnonzero(unknown)
    change = np.flatnonzero(np.diff(batch.runs))
    ends[change] = change + 1
    ends[unknown] = unknown
    return np.asarray(np.minimum.accumulate(ends[::-1])[::-1] - np.arange(size))
