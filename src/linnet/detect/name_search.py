"""Finding the names of a `NameTable` in texts: windows of words whose hashes add up to a name's, then a close look.

`linnet.detect.name_reading` makes texts one sequence of content words. Three readings propose windows: words that
follow each other; the same with one word in between left out; and the conjuncts of coordinations. A fourth, for the
language of notes, leaves out what ties a noun to what it is like ("ribs are slightly broad"). A window whose sum of
hashes is in the table is compared with the name word by word (`linnet.detect.name_agreement`).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.detect.name_agreement import PLAIN, SCOPES, How, Shape, agree, repeats, shape
from linnet.detect.name_reading import PHRASE, Batch, Ints, Text, Vocabulary, read_texts
from linnet.detect.name_table import MASK, U64, Kind, NameTable, in_sorted, name_codes, word_code
from linnet.kb import KbName
from linnet.text.abbreviations import without_short_forms
from linnet.text.coordination import Conjunct, Phrase, conjuncts, shared_end
from linnet.text.known_forms import KnownForms, Senses
from linnet.text.languages import Language
from linnet.text.misspelt import Misspelt
from linnet.text.tokens import Gap, words
from linnet.text.variants import BEARERS, GENERAL, stem
from linnet.text.wordlists import listed

__all__ = ["Batch", "Match", "Search", "SurfaceSearch", "Text", "View"]

STATEMENT = 0.95  # what the score of a statement is multiplied by
CONJUNCT = 0.9  # what the score of a conjunct is multiplied by
SYNONYM = 0.995  # what the score of another than the concept's first name is multiplied by: it only breaks ties
LEAST_KNOWN = 0.8  # agreement with a name of a sense: other spelling and number, but no other word
# Endings of words that describe another, as two of them do that a comma joins ("low-set, posteriorly rotated ears").
ADJECTIVE = ("al", "ar", "ary", "ed", "ic", "ive", "less", "ous", "set")
DESCRIBING = (*ADJECTIVE, "ly")
LONGEST_STATED = 4  # words of a name that may be turned round
LONGEST_HEAD, LONGEST_TAIL = 3, 2  # words before and behind what ties a noun to what it is like
_LINKS = np.unique(np.array([word_code(word)[0] for word in listed("link", "letter_words.tsv")], np.uint64))
_DOING = frozenset(listed("doing", "letter_words.tsv"))
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


class Search:
    """Finds the names of one table; remembers the words it met, so that the next batch is faster."""

    MOST_WORDS = 1 << 19  # remembered words; beyond it, it starts anew
    LONGEST_WITH_INSERTION = 5

    def __init__(
        self,
        table: NameTable,
        *,
        misspelt: Misspelt | None = None,
        senses: Sequence[Senses] = (),
        informal: bool = False,
    ) -> None:
        self.table = table
        self.language = table.language
        self.informal = informal
        self.misspelt = misspelt
        self.known = KnownForms(senses, self.write_out) if senses else None
        self.vocabulary = self._no_words()
        self.content_words = functools.lru_cache(maxsize=1 << 12)(self.language.content_words)
        self.shape = functools.lru_cache(maxsize=1 << 16)(self._shape)
        self.agreement = functools.lru_cache(maxsize=1 << 16)(self._agreement)

    def _no_words(self) -> Vocabulary:
        return Vocabulary(self.table, self.misspelt, self.known.firsts if self.known else ())

    def known_name(self, names: Iterable[str]) -> Match | None:
        """Return the best match of the first of some names that the table has, or None."""
        for text in names:
            surfaces = tuple(self.language.content_words(text))
            hashes = np.array([sum(name_codes(text, {}, self.language)) & MASK], np.uint64)
            for entry in self.table.find(hashes)[1].tolist():
                found = max(self.agreement(surfaces, entry, PLAIN), key=lambda one: one[2], default=None)
                if found is not None and found[2] >= LEAST_KNOWN:
                    return Match((), *found)
        return None

    def write_out(self, names: Sequence[str], short: str = "") -> str:
        """Return the first of the names of a sense that the table has, else one whose words all stand in some name.

        Two names, with `PHRASE` between them, where a word of the short form stands for each (*D&V*). Nothing where
        only the short form is a name.
        """
        for text in names:
            if self.known_name([text]):
                return text
            pair = text.split(" and ")
            if 1 < len(pair) == len(words(short)) and all(self.known_name([one]) for one in pair):
                return PHRASE.join(pair)
        if short and self.known_name([short]):
            return ""
        return next((text for text in names if self._knows_words(text)), "")

    def _knows_words(self, text: str) -> bool:
        return all(map(self.vocabulary.knows, self.language.content_words(text)))

    def read(self, texts: Sequence[Text]) -> Batch:
        """Return `texts` as one sequence of content words."""
        if len(self.vocabulary) > self.MOST_WORDS:
            self.vocabulary = self._no_words()
        if not self.language.english:
            texts = [text._replace(text=self._spaced(text.text)) for text in texts]
        return read_texts(texts, self.vocabulary, self.known)

    def _spaced(self, text: str) -> str:
        """Return a text without elisions, whose compounds are written as some name has them; its length stays."""
        return self.language.joined(self.language.without_elision(text), known=self.vocabulary.knows)

    def reread(self, batch: Batch) -> Batch:
        """Return what another search has read, as this one's `read` would."""
        if len(self.vocabulary) > self.MOST_WORDS:
            self.vocabulary = self._no_words()
        codes = np.fromiter(map(self.vocabulary.__getitem__, batch.surfaces), np.intp, len(batch.surfaces))
        return batch._replace(kinds=self.vocabulary.kinds[codes])

    def matches(self, batch: Batch, view: View | None = None) -> Iterator[Match]:
        """Yield every name found in `batch`, in no particular order; `view` is of the same batch, if there is one."""
        if len(batch.surfaces) and len(self.table):
            view = view or View(batch)
            yield from self._windows(batch, view)
            yield from self._coordinations(batch, view)
            if self.informal:
                yield from self._statements(view)

    # --- windows -----------------------------------------------------------------------------------------------------

    def _windows(self, batch: Batch, view: View) -> Iterator[Match]:
        soft = np.cumsum(batch.soft > Gap.JOIN)
        for starts, length, out, entries in self._proposals(batch):
            last = starts + length - 1
            columns = (batch.stops[last] > batch.stops[starts], view.goes_on[last], soft[last] - soft[starts])
            rows = zip(starts.tolist(), entries.tolist(), *(column.tolist() for column in columns), strict=True)
            for start, entry, linked, goes_on, punctuation in rows:
                words = tuple(range(start, start + length))
                if out >= 0:
                    words = (*words[:out], *words[out + 1 :])
                if length > 1 and view.silent:
                    words = tuple([at for at in words if at not in view.silent])
                stated = self.informal and 1 < length <= LONGEST_STATED and view.stands_alone(start, start + length - 1)
                how = How(linked, goes_on and view.follows(start + length), out >= 0, punctuation, stated)
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
            if 3 <= length <= self.LONGEST_WITH_INSERTION:
                for out in range(1, length - 1):
                    chosen = whole[(batch.kinds[whole + out] == Kind.KNOWN) & loud[whole + out]]
                    hits, entries = self.table.find(sums[chosen + length] - sums[chosen] - hashes[chosen + out])
                    yield chosen[hits], length, out, entries

    # --- statements --------------------------------------------------------------------------------------------------

    def _statements(self, view: View) -> Iterator[Match]:
        """Yield names whose parts are tied together: "odontoid is hypoplastic", "ribs slightly broad"."""
        proposals, sums = view.statements
        hits, entries = self.table.find(sums)
        for hit, entry in zip(hits.tolist(), entries.tolist(), strict=True):
            words = proposals[hit]
            for match in self._judge(view, words, entry, How(stated=True)):
                yield match._replace(own=words, score=match.score * STATEMENT)

    # --- coordinations -----------------------------------------------------------------------------------------------

    def _coordinations(self, batch: Batch, view: View) -> Iterator[Match]:
        proposals: list[tuple[int, Conjunct]] = []
        for at in _joints(batch):
            proposals += [(at, reading) for reading in conjuncts(view.phrases(at), unknown=view.unknown)]
        for at in _commas(batch):
            proposals += [(at, reading) for reading in shared_end(view.phrases(at)[-2:], unknown=view.unknown)]
        hits, entries = self.table.find(_sums(batch.hashes, [reading.own + reading.shared for _, reading in proposals]))
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

    def _judge(self, view: View, words: tuple[int, ...], entry: int, how: How) -> Iterator[Match]:
        surfaces = tuple([view.surfaces[at] for at in words])
        if view.expanded and not view.expanded.isdisjoint(words):  # what stands there is the long form
            surfaces = tuple([word for surface in surfaces for word in self.content_words(surface)])
            how = how._replace(linked=True, meant=True)
        sure = view.shares.keys().isdisjoint(words)
        share = 1.0 if sure else min(view.shares[at] for at in words if at in view.shares)
        for name, concept, score in self.agreement(surfaces, entry, how):
            yield Match(words, name, concept, score * share)

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
        return agree(surfaces, name, how, self.language)

    def _shape(self, row: int) -> Shape:
        return shape(without_short_forms(self.table.entry(row).text), self.language)


class SurfaceSearch(Search):
    """Finds surfaces that people marked: as they are written also where a rule forbids it to names ("CT", "tumors")."""

    @classmethod
    def of(cls, surfaces: Iterable[tuple[str, int]], language: Language) -> SurfaceSearch:
        """Return what finds surfaces with the row of their concept; the name of a match is the place of its surface."""
        names = (
            KbName(place, row, text, "exact", "", "", preferred=True) for place, (text, row) in enumerate(surfaces)
        )
        return cls(NameTable.of_names(names, language))

    def beside(self, batch: Batch, names: Sequence[Match]) -> Iterator[Match]:
        """Yield every surface found in `batch`, in which another search has found `names`.

        A surface that holds a short form is found as it is written, too, whatever a table reads there; but where the
        table reads one of the concepts that people meant by it, the table decides which.
        """
        batch = self.reread(batch)
        yield from self.matches(batch)
        if batch.written:
            short = [
                one for one in self.matches(self._as_written(batch)) if not batch.written.keys().isdisjoint(one.words)
            ]
            read = {(one.words, one.concept) for one in names}
            decided = {one.words for one in short if (one.words, one.concept) in read}
            yield from (one for one in short if one.words not in decided)

    def _as_written(self, batch: Batch) -> Batch:
        """Return what was read with short forms as they stand in the text, for those that a table explains."""
        surfaces, hashes, kinds = batch.surfaces.copy(), batch.hashes.copy(), batch.kinds.copy()
        for at, written in batch.written.items():
            surfaces[at] = PHRASE + written if " " in written else written
            code = self.vocabulary[surfaces[at]]
            hashes[at], kinds[at] = self.vocabulary.hashes[code], self.vocabulary.kinds[code]
        expanded = batch.expanded.difference(at for at, written in batch.written.items() if " " not in written)
        shares = {at: share for at, share in batch.shares.items() if at not in batch.written}
        return batch._replace(surfaces=surfaces, hashes=hashes, kinds=kinds, expanded=expanded, shares=shares)

    def _score(self, surfaces: tuple[str, ...], name: Shape, how: How) -> float:
        return super()._score(surfaces, name, how) or float(repeats(surfaces, name, how))


class View:
    """What the close look asks of a batch word by word, as lists: faster than arrays for single items."""

    def __init__(self, batch: Batch) -> None:
        self.surfaces = batch.surfaces
        self.kinds: list[int] = batch.kinds.tolist()
        self.runs: list[int] = batch.runs.tolist()
        self.gaps: list[int] = batch.gaps.tolist()
        self.stops: list[int] = batch.stops.tolist()
        self.goes_on = _goes_on(batch)
        self.unknown = frozenset(np.flatnonzero(batch.kinds == Kind.UNKNOWN).tolist())
        self.expanded, self.silent, self.shares = batch.expanded, batch.silent, batch.shares
        self._batch = batch

    def stands_alone(self, first: int, last: int) -> bool:
        """Say whether punctuation, a line or a sentence ends behind some words, and nothing before them goes on."""
        behind = last + 1 == len(self.runs) or self.runs[last + 1] != self.runs[last] or self.gaps[last + 1] > Gap.SLASH
        return behind and not (first and self.goes_on[first - 1])

    @functools.cached_property
    def statements(self) -> tuple[list[tuple[int, ...]], U64]:
        """Words that a verb or a degree may tie together, and the sums of their hashes."""
        proposals = [words for first, last in _links(self._batch, self.goes_on) for words in self._around(first, last)]
        return proposals, _sums(self._batch.hashes, proposals)

    def _around(self, first: int, last: int) -> Iterator[tuple[int, ...]]:
        """Yield the words that link words `first` to `last` may tie together: some before them, some behind."""
        before = range(max(first - LONGEST_HEAD, 0), first)
        if not first or stem(self.surfaces[first - 1].lower()) in GENERAL:
            return
        known = [at for at in before if all(kind == Kind.KNOWN for kind in self.kinds[at:first])]
        befores = [at for at in known if self._is_one(at, first)]
        behinds = range(last + 2, min(last + 2 + LONGEST_TAIL, len(self.kinds) + 1))
        for end in behinds:
            if not self._is_one(last, end - 1) or self.kinds[end - 1] != Kind.KNOWN:
                return
            if not self.goes_on[end - 1]:
                for start in befores:
                    yield (*range(start, first), *range(last + 1, end))

    def _is_one(self, first: int, last: int) -> bool:
        """Say whether no punctuation stands between two words."""
        between = self.gaps[first + 1 : last + 1]
        return self.runs[first] == self.runs[last] and all(gap == Gap.JOIN for gap in between)

    def follows(self, at: int) -> int:
        """Return how a phrase that goes on with the word `at` does so: 1 with a bearer of findings, else 2.

        A number, an hour of the day and what somebody does ("breathless climbing stairs") describe a bearer, too.
        """
        word = self.surfaces[at].lower()
        return 1 if stem(word) in BEARERS or word[0].isdigit() or word in _DOING else 2

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
        """Return the words from `at` on that no punctuation interrupts, up to the last known one, or who bears them."""
        found: list[int] = []
        while at < len(self.kinds) and self.kinds[at] <= Kind.KNOWN and len(found) < LONGEST_PHRASE:
            if found and (self.gaps[at] != Gap.JOIN or self.runs[at] != self.runs[found[0]]):
                break
            if found and not self.goes_on[at] and self.goes_on[at - 1] and self.follows(at) == 1:
                break  # "cleft lip and palate children"
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


def _sums(hashes: U64, words: Sequence[tuple[int, ...]]) -> U64:
    """Return the sum of the hashes of each of some sets of words (positions); none is empty."""
    sizes = np.fromiter(map(len, words), np.intp, len(words))
    places = np.fromiter(itertools.chain.from_iterable(words), np.intp, sizes.sum())
    return np.add.reduceat(hashes[places], np.cumsum(sizes) - sizes)


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


def _links(batch: Batch, goes_on: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first and the last of every series of link words between words that they may tie together."""
    edges = np.diff(in_sorted(batch.hashes, _LINKS).astype(np.int8), prepend=0, append=0)
    firsts, lasts = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0) - 1
    inside = (firsts > 0) & (lasts + 1 < len(batch.hashes))
    firsts, lasts = firsts[inside], lasts[inside]
    before, behind = firsts - 1, lasts + 1
    further = np.minimum(behind + 1, len(batch.hashes) - 1)
    known = batch.kinds == Kind.KNOWN
    fit = known[before] & known[behind] & (batch.runs[before] == batch.runs[behind])
    fit &= (batch.gaps[firsts] == Gap.JOIN) & (batch.gaps[behind] == Gap.JOIN)
    fit &= ~goes_on[behind] | (known[further] & ~goes_on[further])
    return list(zip(firsts[fit].tolist(), lasts[fit].tolist(), strict=True))


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
