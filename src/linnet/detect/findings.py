"""What the dictionary makes of the names that it found: which of them stay, and where they stand in the text.

Everyday words of English are names of concepts too, mostly brands: drug vocabularies and the supplementary records of
MeSH call things *Art*, *Drive*, *Ice* and *Rest*. Written as words they are hardly ever meant; in capitals they are
acronyms (ART), but for a heading ("PLAN" over the end of a letter).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from linnet.data import Span
from linnet.detect.name_search import Batch, Match, Text
from linnet.text.normalise import basic
from linnet.text.tokens import form
from linnet.text.variants import stem
from linnet.text.wordlists import listed

__all__ = [
    "MEANS",
    "Choice",
    "Finding",
    "Placed",
    "gather",
    "longest",
    "nested",
    "place",
    "text_of",
    "without_everyday",
]

NO_CONCEPT = -1  # what a surface means that was linked to nothing
DISTANT = 0.89  # of the score of a conjunct alone: what a name in which it is inflected or of a family stays below
EVERYDAY = frozenset(map(stem, listed("everyday")))
CAPITAL = EVERYDAY | frozenset(listed("capital"))
MEANS = "="  # between a short form and what a table says that it means: no text in normal form holds it
BRACKETS = {")": "(", "]": "["}

Choice = tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...]]  # rows, names, scores, best first


class Finding(NamedTuple):
    """The names found for one set of words of a document; ``precision``: how often such is marked, if that is known."""

    words: tuple[int, ...]
    own: tuple[int, ...]
    group: int
    choice: Choice
    precision: float | None = None


class Placed(NamedTuple):
    """A finding, the number of its text, where it stands in the document, and the coordination that it belongs to."""

    text: int
    found: Finding
    parts: tuple[Span, ...]
    group: str


def gather(matches: Iterable[Match]) -> list[Finding]:
    """Return matches put together by the words they hold; of several names of a concept the best one speaks for it."""
    spans: dict[tuple[tuple[int, ...], tuple[int, ...], int], dict[int, tuple[float, int]]] = {}
    for match in matches:
        concepts = spans.setdefault((match.words, match.own, match.group), {})
        known = concepts.get(match.concept)
        if known is None or (-known[0], known[1]) > (-match.score, match.name):
            concepts[match.concept] = (match.score, match.name)
    findings = [Finding(*span, _choice(concepts)) for span, concepts in spans.items()]
    # "fever and focal seizures" is no febrile seizure; "impaired pain and temperature sensation" does name that of pain
    alone = {found.words: found.choice[2][0] for found in findings if not found.own}
    return [found for found in findings if found.choice[2][0] > DISTANT * alone.get(found.own, 0.0)]


def _choice(concepts: dict[int, tuple[float, int]]) -> Choice:
    if len(concepts) > 1:
        concepts.pop(NO_CONCEPT, None)  # sometimes it was linked to nothing
    rows = sorted(concepts, key=lambda row: (-concepts[row][0], row)) if len(concepts) > 1 else list(concepts)
    return tuple(rows), tuple([concepts[row][1] for row in rows]), tuple([concepts[row][0] for row in rows])


def longest(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, best first, that claim no word which a better one claims; conjuncts may share theirs."""
    taken: set[int] = set()
    kept = []
    for found in findings:
        claimed = found.own or range(found.words[0], found.words[-1] + 1)
        if taken.isdisjoint(claimed):
            taken.update(claimed)
            kept.append(found)
    return kept


def nested(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, longest first, but for those inside another one of the same concept."""
    inside: dict[tuple[int, int], Finding] = {}  # concept and word -> the longest finding whose hull holds the word
    kept = []
    for found in findings:
        concept, first, last = found.choice[0][0], found.words[0], found.words[-1]
        outer = inside.get((concept, first))
        if outer is None or outer is not inside.get((concept, last)):
            kept.append(found)
            for word in range(first, last + 1):
                inside.setdefault((concept, word), found)
    return kept


def _groups(findings: Sequence[Finding]) -> dict[tuple[int, ...], int]:
    """Return the words of findings that belong to one coordination with others -> the position of its conjunction."""
    conjuncts = [found for found in findings if found.own]
    shared = [frozenset(found.words).difference(found.own) for found in conjuncts]
    holders: dict[int, list[Finding]] = {word: [] for words in shared for word in words}
    for found in findings if holders else ():
        for word in [word for word in found.words if word in holders]:
            holders[word].append(found)
    groups: dict[tuple[int, ...], int] = {}
    for conjunct, words in zip(conjuncts, shared, strict=True):
        near = holders[min(words)] if words else []
        others = [other.words for other in near if other is not conjunct and words.issubset(other.words)]
        if others:
            groups.update(dict.fromkeys([conjunct.words, *others], conjunct.group))
    return groups


def place(batch: Batch, texts: Sequence[Text], findings: Sequence[Finding]) -> Iterator[Placed]:
    """Yield findings with the places of their words, one for each."""
    groups = _groups(findings)
    offsets = np.array([text.offset for text in texts], np.int64)[batch.texts]
    starts, ends = (batch.starts + offsets).tolist(), (batch.ends + offsets).tolist()
    numbers: list[int] = batch.texts.tolist()
    seen: set[tuple[int, tuple[Span, ...]]] = set()
    for found in findings:
        number = numbers[found.words[0]]
        parts = _parts(found, starts, ends)
        if len(parts) == 1:
            parts = (_closed(texts[number], parts[0]),)
        if (number, parts) not in seen:
            seen.add((number, parts))
            group = f"coordination-{starts[groups[found.words]]}" if found.words in groups else ""
            yield Placed(number, found, parts, group)


def text_of(batch: Batch, found: Finding) -> str:
    """Return the words of a finding in normal form, as what is learned of them is kept.

    A short form that the document defines is written out. One that a table explains stands before what it means
    (``oa=osteoarthritis``), since it may mean something else: what it was taken for says nothing of the name.
    """
    shorts = [basic(batch.written[at]) for at in found.words if at in batch.written]
    return MEANS.join([*shorts, basic(" ".join([batch.surfaces[at] for at in found.words]))])


def _parts(found: Finding, starts: Sequence[int], ends: Sequence[int]) -> tuple[Span, ...]:
    """Return where the words of a finding stand: in one stretch, or in the parts of a conjunct."""
    if not found.own:
        return (Span(starts[found.words[0]], ends[found.words[-1]]),)
    parts: list[Span] = []
    previous = None
    for word in found.words:
        if previous is not None and word == previous + 1:
            parts[-1] = Span(parts[-1].start, ends[word])
        else:
            parts.append(Span(starts[word], ends[word]))
        previous = word
    return tuple(parts)


def _closed(text: Text, span: Span) -> Span:
    """Return where a finding stands, with the bracket that closes behind it what was opened in it."""
    end = span.end - text.offset
    opening = BRACKETS.get(text.text[end : end + 1])
    if opening is None:
        return span
    within = text.text[span.start - text.offset : end]
    return Span(span.start, span.end + 1) if within.count(opening) > within.count(text.text[end]) else span


@functools.lru_cache(maxsize=1 << 16)
def everyday_word(surface: str) -> bool:
    """Return whether this is an everyday word, and not written as an acronym.

    >>> [everyday_word(surface) for surface in ("Drives", "ice", "ICE", "aspirin")]
    [True, True, False, False]
    """
    return not _in_capitals(surface) and stem(form(surface)) in EVERYDAY


def without_everyday(batch: Batch, texts: Sequence[Text]) -> Callable[[Match], bool]:
    """Return whether a match found in `batch`, which is of `texts`, is more than one everyday word."""

    def meant(match: Match) -> bool:
        if len(match.words) > 1:
            return True
        [at] = match.words
        surface = batch.surfaces[at]
        if not _in_capitals(surface):
            return not everyday_word(surface)
        text = texts[batch.texts[at]].text
        return surface.lower() not in CAPITAL or not _is_heading(text, int(batch.starts[at]), int(batch.ends[at]))

    return meant


def _in_capitals(surface: str) -> bool:
    return len(surface) > 1 and surface.isupper()


def _is_heading(text: str, start: int, end: int) -> bool:
    """Return whether a word is all that stands in its line, or before a colon at its beginning."""
    before, after = text[:start].rstrip(" \t"), text[end:].lstrip(" \t")
    return (not before or before.endswith("\n")) and (not after or after[0] in "\n\r:")
