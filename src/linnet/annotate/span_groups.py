"""Whose mentions are about the same stretch of text: trimmed spans, their overlap, and groups over all annotators.

A mark is what one annotator says at one place, without the id and history of the mention, so that the same said twice
counts once and no order of mentions can matter. Places are spans of code points, several for a discontinuous mention.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from linnet.annotate.distances import Value, value_of
from linnet.data import Document, Span

__all__ = ["Mark", "Place", "dice", "group", "marks_of", "nest", "shared", "trim"]

Place = tuple[Span, ...]


class Mark(NamedTuple):
    """What one annotator says at one place: types in alphabetical order, and the value of the link, () = none."""

    place: Place
    types: tuple[str, ...]
    value: Value


def marks_of(doc: Document, *, live: Callable[[str], str], trimmed: bool) -> tuple[Mark, ...]:
    """Return the different marks of a document, in a fixed order.

    Args:
        doc: a document with the mentions of one annotator.
        live: maps an id to the id to compare: itself, or its successor.
        trimmed: leave out blanks and punctuation at the edges of the spans.

    >>> from linnet.data import Mention
    >>> doc = Document("a", "(seizures), fits", mentions=(Mention(0, 10), Mention(1, 9, types=("Sign",))))
    >>> [(mark.place[0].start, mark.place[0].end, mark.types) for mark in marks_of(doc, live=str, trimmed=True)]
    [(1, 9, ()), (1, 9, ('Sign',))]
    """
    return tuple(
        sorted(
            {
                Mark(
                    trim(mention.spans, doc.text) if trimmed else mention.spans,
                    tuple(sorted(set(mention.types))),
                    value_of(mention, live=live),
                )
                for mention in doc.mentions or ()
            }
        )
    )


def trim(place: Place, text: str) -> Place:
    """Return a place without blanks and punctuation at the edges of its spans, or as it is if nothing else is there.

    Signs such as ``+`` and ``°`` stay: "Na+" is not "Na".

    >>> trim((Span(0, 4), Span(5, 7)), "(Na+) , ")
    (Span(start=1, end=4),)
    """
    spans = (_trim(start, end, text) for start, end in place)
    return tuple(span for span in spans if span.start < span.end) or place


def _trim(start: int, end: int, text: str) -> Span:
    while start < end and _is_margin(text[start]):
        start += 1
    while start < end and _is_margin(text[end - 1]):
        end -= 1
    return Span(start, end)


def _is_margin(character: str) -> bool:
    return character.isspace() or unicodedata.category(character)[0] in "PZ"


def dice(one: Place, other: Place) -> float:
    """Return 2·|a∩b|/(|a|+|b|) of the characters of two places (Dice 1945), 0 … 1.

    >>> dice((Span(0, 4), Span(9, 13)), (Span(0, 8),))
    0.5
    """
    common = sum(max(0, min(a.end, b.end) - max(a.start, b.start)) for a in one for b in other)
    return 2 * common / sum(span.end - span.start for span in (*one, *other))


def shared(ours: Collection[Place], theirs: Collection[Place]) -> float:
    """Return the weight of the one-to-one matching of two annotators' places with the largest sum of `dice`.

    A pair of equal places weighs 1, so that this is |A∩B| where places are equal or apart, and never less.

    Args:
        ours: different places of the one annotator.
        theirs: those of the other.

    >>> shared({(Span(0, 4),), (Span(6, 9),)}, {(Span(0, 4),), (Span(8, 9),)})
    1.5
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - slow to import

    sides = sorted([*((place, 0) for place in ours), *((place, 1) for place in theirs)])
    total = 0.0
    for first, end in _regions([place for place, _ in sides]):
        here, there = ([place for place, side in sides[first:end] if side == own] for own in (0, 1))
        if here and there:
            weights = np.array([[dice(one, other) for other in there] for one in here])
            total += float(weights[linear_sum_assignment(weights, maximize=True)].sum())
    return total


def _regions(places: Sequence[Place]) -> Iterator[tuple[int, int]]:
    """Yield the borders of runs of places, sorted by start, between which no hulls overlap: the rest is far apart."""
    first, reach = 0, 0
    for at, place in enumerate(places):
        if at > first and place[0].start >= reach:
            yield first, at
            first = at
        reach = max(reach, place[-1].end)
    if places:
        yield first, len(places)


def group(marks: Mapping[str, Sequence[Mark]]) -> list[dict[str, Mark]]:
    """Return groups of marks of one document that are about the same, at most one of each annotator, all overlapping.

    The closest come together first: by `dice`, among equally close ones those with a type in common, then those with
    the same value, then those further left. Equal spans therefore meet before anything that merely overlaps. (A
    matching with the largest sum would rather link "breast cancer" to "breast" and "cancer" to "breast cancer".)

    Args:
        marks: different marks of each annotator.

    Returns:
        Every mark in one group, alone if nobody else marked anything there; in the order of the text.

    >>> one, other = Mark((Span(0, 4),), (), ()), Mark((Span(2, 6),), (), ())
    >>> [sorted(unit) for unit in group({"Alice": [one, other], "Bob": [other]})]
    [['Alice'], ['Alice', 'Bob']]
    """
    items = sorted((mark, who) for who, own in marks.items() for mark in own)
    groups = {at: [at] for at in range(len(items))}
    for one, other in _pairs(items):
        ours, theirs = groups[one], groups[other]
        apart = {items[at][1] for at in ours}.isdisjoint(items[at][1] for at in theirs)
        if apart and all(dice(items[a][0].place, items[b][0].place) > 0 for a in ours for b in theirs):
            ours += theirs
            groups.update(dict.fromkeys(theirs, ours))
    found = {min(members): members for members in groups.values()}
    return [{items[at][1]: items[at][0] for at in sorted(found[first])} for first in sorted(found)]


def _pairs(items: Sequence[tuple[Mark, str]]) -> list[tuple[int, int]]:
    """Return the pairs of overlapping marks of two annotators, the closest first."""
    found: list[tuple[float, bool, bool, int, int]] = []
    for first, end in _regions([mark.place for mark, _ in items]):
        for a in range(first, end):
            for b in range(a + 1, end):
                (one, who), (other, whose) = items[a], items[b]
                if who != whose and (near := dice(one.place, other.place)):
                    typed = one.types == other.types or not set(one.types).isdisjoint(other.types)
                    found.append((-near, not typed, one.value != other.value, a, b))
    return [(a, b) for *_, a, b in sorted(found)]


def nest(spans: Iterable[Span]) -> list[list[Span]]:
    """Return spans by nesting level: those of one level do not overlap, and are in the order of the text.

    A span is on the first level that has room for it; longer ones that begin at the same place come first, so that
    what is nested is on a later level than what holds it. Of two that cross, the one that begins first comes first.

    >>> nest([Span(5, 9), Span(0, 9), Span(12, 14)])
    [[Span(start=0, end=9), Span(start=12, end=14)], [Span(start=5, end=9)]]
    """
    levels: list[list[Span]] = []
    for span in sorted(set(spans), key=lambda span: (span.start, -span.end)):
        free = next((level for level in levels if level[-1].end <= span.start), None)
        if free is None:
            levels.append([span])
        else:
            free.append(span)
    return levels
