"""Agreement between annotators: spans, words and links, by pair and by type, each figure with its interval.

Only documents count that two or more have finished. All figures are micro: sums over documents, and over pairs of
annotators where there are several. The figures are called:

* ``span.exact.raw``, ``span.exact.trimmed``, ``span.overlap.raw``, ``span.overlap.trimmed``: F1 = 2·|A∩B|/(|A|+|B|) of
  the places that two annotators mark. Exact counts equal places, overlap the weight of the best matching
  (`linnet.annotate.span_groups.shared`); trimmed leaves out blanks and punctuation at the edges. A place marked twice
  counts once, whatever its types.
* ``fleiss.TYPE``, ``cohen.TYPE`` (of two annotators), ``prevalence.TYPE``: κ on words, "inside a mention of this type"
  or not, and which share of the judgements is "inside". Mentions nest, so there is one κ for every type.
* ``unitising.TYPE.LEVEL``: α_U of a type and nesting level (`linnet.annotate.span_groups.nest`), 0 for what lies in
  nothing else of this type. Each part of a discontinuous mention is a section of its own. γ (Mathet et al. 2015), which
  needs no levels, is not computed.
* ``link.DISTANCE``: α on the links of span groups (`linnet.annotate.span_groups.group`); unsure is a missing value.
* ``end-to-end.DISTANCE``: the same, where a mention that an annotator lacks has the value `MISSING`: disagreement about
  what is a mention cannot hide here.
* ``matched``: the share of the span groups that two or more have marked; α on links is about these alone.

Distances are ``nominal`` and, with a knowledge base, ``steps`` and ``information`` (`linnet.annotate.distances`). These
are read beside α nominal: where they are far above it, people choose the same thing in different grains.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from linnet.annotate.coefficients import Coefficient, Cohen, Fleiss, Ratio, Unitising, Units
from linnet.annotate.distances import KINDS, MISSING, Hierarchy, Kind, Value, similarities
from linnet.annotate.readings import Reading, by_annotators, by_type, read, types_of
from linnet.annotate.span_groups import Mark, group, nest, shared
from linnet.data import Document, FrozenDict
from linnet.evaluate.uncertainty import spread
from linnet.kb import KnowledgeBase
from linnet.kb.successors import successor

__all__ = ["Agreement", "Confusion", "Figure", "Slice", "compare_annotators"]

Groups = Sequence[Sequence[Mapping[str, Mark]]]  # of each document


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its bootstrap interval over documents; None where nothing bears on it.

    That is where there is nothing to count, and for κ and α also where all say the same of everything: agreement and
    chance cannot be told apart then.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """Agreement within a part of the work.

    Args:
        annotators: who is compared, in alphabetical order.
        documents: how many documents two or more of them have finished.
        units: span groups in these.
        matched: those of them that two or more have marked.
        figures: by name; empty without documents.
    """

    annotators: tuple[str, ...]
    documents: int
    units: int
    matched: int
    figures: Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class Confusion:
    """Two values that annotators gave to the same thing.

    Args:
        one: answers, each a tuple of concepts, () for NIL; the value that comes first in the alphabet.
        other: the other one.
        count: how often: pairs of annotators, summed over units.
        distances: between the two, by name of the distance.
        documents: ids of the documents where that happened.
    """

    one: Value
    other: Value
    count: int
    distances: Mapping[str, float]
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """What `compare_annotators` found.

    Args:
        annotators: everybody who shares a finished document with somebody, in alphabetical order.
        kb: version of the knowledge base of the distances; "" = none was given.
        samples: bootstrap draws of the documents.
        seed: of these draws.
        level: share of the draws that an interval holds.
        overall: all annotators, all types.
        pairs: every two annotators who share finished documents, all types.
        types: all annotators, the mentions of one type alone; ``""`` are those without one.
        suggestions: all annotators and types in documents read ``with`` and ``without`` suggestions, if that is known.
        confusions: the most frequent ones, of equally frequent ones the farthest first.
    """

    annotators: tuple[str, ...]
    kb: str
    samples: int
    seed: int
    level: float
    overall: Slice
    pairs: tuple[Slice, ...]
    types: Mapping[str, Slice]
    suggestions: Mapping[str, Slice]
    confusions: tuple[Confusion, ...]

    def matrix(self, name: str) -> list[list[float | None]]:
        """Return a figure for every two annotators, rows and columns in their order; None where there is none."""
        place = {who: at for at, who in enumerate(self.annotators)}
        found: list[list[float | None]] = [[None] * len(place) for _ in place]
        for pair in self.pairs:
            one, other = (place[who] for who in pair.annotators)
            if name in pair.figures:
                found[one][other] = found[other][one] = pair.figures[name].value
        return found

    def to_record(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return asdict(self)


def compare_annotators(
    work: Mapping[str, Mapping[str, Document]],
    *,
    kb: KnowledgeBase | None = None,
    live: Callable[[str], str] | None = None,
    suggested: Collection[str] | None = None,
    samples: int = 1000,
    seed: int = 13,
    level: float = 0.95,
    most: int = 20,
) -> Agreement:
    """Return how far annotators agree; no order of annotators, documents or mentions has any influence.

    Args:
        work: annotator -> id -> document with the annotator's own mentions (not those that were only suggested). It
            holds finished documents; those whose mentions are None do not count.
        kb: where retired ids lead to successors and distances between concepts come from.
        live: maps an id to the one to compare; None takes the successors of `kb`.
        suggested: ids of the documents that were read with suggestions. People who accept these agree by construction,
            so the figures without them are the ones to believe. None = not known.
        samples: bootstrap draws.
        seed: of the draws.
        level: share of the draws that an interval holds.
        most: how many confusions at most.

    Raises:
        MismatchError: different texts under one id, or an id that is not its document's.
        DataError: fewer than one sample, or a level outside 0 … 1.

    >>> from linnet.data import Mention
    >>> text, ours, theirs = "fits, cough", Mention(0, 4, concepts=("HP:1",)), Mention(6, 11, concepts=("HP:2",))
    >>> alice, bob = Document("a", text, mentions=(ours, theirs)), Document("a", text, mentions=(ours,))
    >>> found = compare_annotators({"Alice": {"a": alice}, "Bob": {"a": bob}}).overall
    >>> {name: round(found.figures[name].value, 4) for name in ("span.exact.raw", "matched", "end-to-end.nominal")}
    {'span.exact.raw': 0.6667, 'matched': 0.5, 'end-to-end.nominal': 0.4}
    """
    readings = read(work, live=live or successor(kb))
    annotators = sorted({who for one in readings for who in one.raw})
    measure = _Measure(_Links(readings, kb), samples, seed, level)
    parts = {pair: by_annotators(readings, pair) for pair in itertools.combinations(annotators, 2)}
    sides = () if suggested is None else (("with", True), ("without", False))
    return Agreement(
        annotators=tuple(annotators),
        kb="" if kb is None else kb.version,
        samples=samples,
        seed=seed,
        level=level,
        overall=measure.slice(readings),
        pairs=tuple(measure.slice(part) for part in parts.values() if part),
        types=FrozenDict({type: measure.slice(by_type(readings, type)) for type in _types(readings)}),
        suggestions=FrozenDict(
            {
                name: measure.slice([one for one in readings if (one.id in (suggested or ())) == side])
                for name, side in sides
            }
        ),
        confusions=tuple(measure.links.confusions(readings))[:most],
    )


def _types(readings: Sequence[Reading]) -> list[str]:
    return sorted({type for one in readings for own in one.trimmed.values() for mark in own for type in types_of(mark)})


class _Links:
    """The values of all links, numbered, and their similarities."""

    def __init__(self, readings: Sequence[Reading], kb: KnowledgeBase | None) -> None:
        given = {mark.value for one in readings for own in one.trimmed.values() for mark in own if mark.value}
        values = sorted({*given, MISSING})
        hierarchy = None if kb is None else Hierarchy(kb)
        kinds: tuple[Kind, ...] = ("nominal",) if kb is None else KINDS
        self.number = {value: at for at, value in enumerate(values)}
        self.similar = {kind: similarities(values, kind=kind, hierarchy=hierarchy) for kind in kinds}

    def coefficients(self, readings: Sequence[Reading], groups: Groups) -> Iterator[tuple[str, Coefficient]]:
        """Yield α by every distance, of what is matched and of everything."""
        there = [[[self.number[mark.value] for mark in unit.values() if mark.value] for unit in own] for own in groups]
        missing = self.number[MISSING]
        filled = [
            [values + [missing] * (len(one.trimmed) - len(unit)) for values, unit in zip(found, own, strict=True)]
            for one, found, own in zip(readings, there, groups, strict=True)
        ]
        for name, documents in (("link", there), ("end-to-end", filled)):
            units = Units(documents, values=len(self.number))
            for kind, similar in self.similar.items():
                yield f"{name}.{kind}", units.alpha(similar)

    def confusions(self, readings: Sequence[Reading]) -> list[Confusion]:
        """Return which values were given to the same thing, the most frequent pairs first."""
        found: dict[tuple[Value, Value], list[str]] = defaultdict(list)
        for one in readings:
            for unit in group(one.trimmed):
                values = sorted(mark.value for mark in unit.values() if mark.value)
                for pair in itertools.combinations(values, 2):
                    if pair[0] != pair[1]:
                        found[pair].append(one.id)
        return sorted(
            (
                Confusion(*pair, len(ids), self._distances(*pair), tuple(sorted(set(ids))))
                for pair, ids in found.items()
            ),
            key=lambda one: (-one.count, [-far for far in one.distances.values()], one.one, one.other),
        )

    def _distances(self, one: Value, other: Value) -> FrozenDict[float]:
        place = self.number[one], self.number[other]
        return FrozenDict({kind: 1 - float(similar[place]) for kind, similar in self.similar.items()})


@dataclass(frozen=True, slots=True)
class _Measure:
    """How figures are computed: the same for every part of the work."""

    links: _Links
    samples: int
    seed: int
    level: float

    def slice(self, readings: Sequence[Reading]) -> Slice:
        """Return the agreement in some documents, of all who have marks in them."""
        names = tuple(sorted({who for one in readings for who in one.raw}))
        groups = [group(one.trimmed) for one in readings]
        sizes = [len(unit) for own in groups for unit in own]
        figures = {name: self._figure(one, len(readings)) for name, one in self._coefficients(readings, groups)}
        matched = sum(size > 1 for size in sizes)
        return Slice(names, len(readings), len(sizes), matched, FrozenDict(figures))

    def _figure(self, coefficient: Coefficient, documents: int) -> Figure:
        value = float(coefficient.of(np.ones((1, documents)))[0])
        if math.isnan(value):
            return Figure(None)
        ends = spread(coefficient.of, documents, samples=self.samples, seed=self.seed, level=self.level)
        return Figure(value, *(ends or ()))

    def _coefficients(self, readings: Sequence[Reading], groups: Groups) -> Iterator[tuple[str, Coefficient]]:
        if not readings:
            return
        for edges in ("raw", "trimmed"):
            yield f"span.exact.{edges}", _f1(readings, trimmed=edges == "trimmed", exact=True)
            yield f"span.overlap.{edges}", _f1(readings, trimmed=edges == "trimmed", exact=False)
        for type in _types(readings):
            yield from _words(readings, type)
            yield from _sections(readings, type)
        yield from self.links.coefficients(readings, groups)
        several, units = ([sum(len(unit) > least for unit in own) for own in groups] for least in (1, 0))
        yield "matched", Ratio(np.array(several, np.float64), np.array(units, np.float64))


def _f1(readings: Sequence[Reading], *, trimmed: bool, exact: bool) -> Ratio:
    """Return F1 of places over all pairs of annotators."""
    above, below = np.zeros(len(readings)), np.zeros(len(readings))
    for at, one in enumerate(readings):
        for ours, theirs in itertools.combinations(one.places(trimmed=trimmed), 2):
            above[at] += 2 * (len(ours & theirs) if exact else shared(ours, theirs))
            below[at] += len(ours) + len(theirs)
    return Ratio(above, below)


def _words(readings: Sequence[Reading], type: str) -> Iterator[tuple[str, Coefficient]]:
    """Yield κ and prevalence of words inside mentions of one type."""
    judged = [one.inside(type) for one in readings]
    counts = [np.stack((len(words) - words.sum(axis=0), words.sum(axis=0)), axis=1) for words in judged]
    yield f"fleiss.{type}", Fleiss.of_subjects(counts)
    if len({who for one in readings for who in one.raw}) == 2:
        tables = [np.bincount(2 * ours + theirs, minlength=4).reshape(2, 2) for ours, theirs in judged]
        yield f"cohen.{type}", Cohen(np.array(tables))
    above, below = ([float(size(words)) for words in judged] for size in (np.sum, np.size))
    yield f"prevalence.{type}", Ratio(np.array(above), np.array(below))


def _sections(readings: Sequence[Reading], type: str) -> Iterator[tuple[str, Coefficient]]:
    """Yield α_U of every nesting level of one type."""
    nested = [[nest(spans) for spans in one.spans(type)] for one in readings]
    depth = max(len(levels) for own in nested for levels in own)
    for level in range(depth):
        documents = [
            (one.length, [levels[level] if level < len(levels) else [] for levels in own])
            for one, own in zip(readings, nested, strict=True)
        ]
        yield f"unitising.{type}.{level}", Unitising(documents)
