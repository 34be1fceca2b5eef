"""Several vocabularies become one: concepts that are the same are merged, and what was done is counted.

The sources come in order, and the first to know a concept keeps its id and preferred name. A concept of a later source
is the same as an earlier one if

1. it has its id, or an id that was merged into it;
2. its id is retired there and leads to it, or an id that the later source retired in its favour does;
3. a cross-reference of one of the two is an id of the other, live or retired (`by_xref`), whichever was read first;
   the species that a gene is cross-referenced to is no such one.

Names, types, parents and cross-references are united, the first definition stays, and the merged-away id becomes a
retired one. Concepts of one source are never merged with each other by 2 or 3: where two of them lead to the same
earlier concept, or one leads to several, they are kept apart and counted as ambiguous. An id that is live anywhere
stays live. Parents follow the merging; one that would then close a circle is left out.

Memory holds ids, each with a number, and what joins them; the concepts themselves wait in a temporary file, about as
large as the sources. Those with cross-references are read from it again after each source, which they may name.
"""

from __future__ import annotations

import json
import tempfile
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, NamedTuple

import numpy as np

from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError, LinnetError
from linnet.kb.cycles import closing_edges, ends_of
from linnet.reporter import warn

__all__ = ["JoinReport", "join"]


class Spool:
    """A temporary file of concepts, found again by the place where each was put.

    >>> with tempfile.TemporaryFile() as file:
    ...     spool = Spool(file)
    ...     place = spool.put(Concept("X:1", (Name("one"),), origin="x.tsv:2"))
    ...     concept = spool.get(place)
    >>> concept.name, concept.origin
    ('one', 'x.tsv:2')
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._end = file, 0
        self._reading = False

    def put(self, concept: Concept) -> int:
        """Append a concept and return its place.

        Raises:
            LinnetError: the disk is full.
        """
        names = [(name.text, name.scope, name.language, name.source) for name in concept.names]
        rest = (concept.types, concept.definition, concept.parents, concept.xrefs, concept.replaced_by, concept.origin)
        # ASCII, so that lone surrogates survive as far as the builder
        line = json.dumps([concept.id, names, *rest]).encode() + b"\n"
        place = self._end
        try:
            if self._reading:
                self._file.seek(place)
                self._reading = False
            self._file.write(line)
        except OSError as error:
            folder = tempfile.gettempdir()
            raise LinnetError(f"cannot write a temporary file in {folder}: {error.strerror}; set TMPDIR") from error
        self._end += len(line)
        return place

    def get(self, place: int) -> Concept:
        """Return the concept that was put at `place`; concepts in the order they were put are read fastest."""
        self._reading = True
        if self._file.tell() != place:
            self._file.seek(place)
        return _concept(self._file.readline())

    def __iter__(self) -> Iterator[tuple[int, Concept]]:
        """Yield (place, concept) of all, in the order they were put."""
        place = 0
        self._reading = True
        self._file.seek(0)
        for line in self._file:
            yield place, _concept(line)
            place += len(line)


def _concept(line: bytes) -> Concept:
    id, names, types, definition, parents, xrefs, *rest = json.loads(line)
    made = tuple(Name(*name) for name in names)
    return Concept(id, made, tuple(types), definition, tuple(parents), tuple(xrefs), *rest)


SHOWN = 5  # examples of a kind
# prefixes of ids -> prefixes of cross-references that say what they belong to, not what they are
BELONGS = {"NCBIGene": ("NCBITaxon:",)}


@dataclass
class JoinReport:
    """What `join` did; complete when its concepts have all been taken.

    >>> print(JoinReport(read=[3, 2], concepts=4, by_xref=1))
    sources of 3 and 2 concepts joined to 4: 0 by id, 0 by retired id, 1 by cross-reference
    """

    read: list[int] = field(default_factory=list)  # live concepts of each source
    concepts: int = 0  # live concepts after joining
    by_id: int = 0
    by_retired: int = 0
    by_xref: int = 0
    ambiguous: int = 0  # kept apart, because two would go to one or one to several
    live_again: int = 0  # retired by one source, live in another: kept live
    retired_twice: int = 0  # retired by two sources in favour of different concepts: the first's stays
    parents_left_out: int = 0  # that would have closed a circle
    examples: dict[str, list[str]] = field(default_factory=dict)  # a counter's name -> the first cases

    def note(self, kind: str, example: str) -> None:
        """Count one case of `kind`, a counter's name; the first few are kept as examples."""
        setattr(self, kind, getattr(self, kind) + 1)
        shown = self.examples.setdefault(kind, [])
        if len(shown) < SHOWN:
            shown.append(example)

    def conflicts(self) -> list[str]:
        """Return a line for each kind of conflict that a rule had to settle, with examples."""
        kinds = {
            "ambiguous": "kept apart because it is ambiguous with which they belong",
            "live_again": "retired by one source but live in another, kept live",
            "retired_twice": "retired by two sources in favour of different concepts, the first's kept",
            "parents_left_out": "parents left out because they would close a circle",
        }
        lines = []
        for kind, what in kinds.items():
            if count := getattr(self, kind):
                more = "; …" if count > SHOWN else ""
                lines.append(f"{count:,} {what}: {'; '.join(self.examples.get(kind, ()))}{more}")
        return lines

    def __str__(self) -> str:
        sizes = " and ".join(f"{size:,}" for size in self.read)
        joined = f"{self.by_id:,} by id, {self.by_retired:,} by retired id, {self.by_xref:,} by cross-reference"
        return "\n  ".join([f"sources of {sizes} concepts joined to {self.concepts:,}: {joined}", *self.conflicts()])


def join(
    sources: Sequence[Iterable[Concept]], *, by_xref: bool = True, report: JoinReport | None = None
) -> Iterator[Concept]:
    """Yield the concepts of all sources as those of one vocabulary: live ones by source, then the retired.

    Args:
        sources: streams of concepts, the one whose ids and preferred names should win first; each read once.
        by_xref: also merge by cross-reference.
        report: gets the counts; without one, conflicts are told in one LinnetWarning.

    Raises:
        KnowledgeBaseError: an id that one source holds twice.
        LinnetError: the temporary file cannot be written.

    >>> mesh = [Concept("MESH:D004827", (Name("Epilepsy"),))]
    >>> doid = [Concept("DOID:1826", (Name("epilepsy syndrome"),), xrefs=("MESH:D004827",))]
    >>> for concept in join([mesh, doid]):
    ...     print(concept.id, [name.text for name in concept.names], concept.replaced_by)
    MESH:D004827 ['Epilepsy', 'epilepsy syndrome'] None
    DOID:1826 ['epilepsy syndrome'] MESH:D004827
    """
    told = JoinReport() if report is None else report
    with tempfile.TemporaryFile() as file:
        joined = _Joined(Spool(file), told)
        for source in sources:
            joined.add(source, by_xref=by_xref)
        yield from joined.live()
        yield from joined.retired()
    if report is None and told.conflicts():
        warn("; ".join(told.conflicts()))


class _Live(NamedTuple):
    """A live concept of the source being read; `targets` are the earlier concepts its cross-references name."""

    id: str
    place: int
    targets: tuple[int, ...]


class _Old(NamedTuple):
    """A retired id: where its concept is in the spool, and the id it leads to."""

    place: int
    successor: str


class _Joined:
    """All sources read so far. Concepts that stay are numbered in the order they came."""

    def __init__(self, spool: Spool, report: JoinReport) -> None:
        self._spool, self._report = spool, report
        self._number: dict[str, int] = {}  # every id that leads to a concept: its own, merged, retired
        self._ids: list[str] = []  # number -> id
        self._first: list[int] = []  # number -> place of the concept whose id and preferred name stay
        self._more: dict[int, list[int]] = {}  # number -> places of what was merged into it
        self._away: dict[str, int] = {}  # id that was live and merged into another concept -> place
        self._retired: dict[str, _Old] = {}
        self._referring = array("q")  # places of live concepts with cross-references, which may name what comes later

    # --- reading a source

    def add(self, source: Iterable[Concept], *, by_xref: bool) -> None:
        referring = self._referring[:]
        live, retired = self._read(source, by_xref=by_xref)
        joins = self._joins(live, retired, self._named(referring, live, retired))
        for concept in live.values():
            number = joins.get(concept.id)
            if number is None:
                self._keep(concept)
            else:
                self._merge(concept, number)
        for id, old in retired.items():
            self._retire(id, old)
        self._report.read.append(len(live))

    def _read(self, source: Iterable[Concept], *, by_xref: bool) -> tuple[dict[str, _Live], dict[str, _Old]]:
        """Spool a source; return its live and its retired ids, these with the ends of their chains."""
        live: dict[str, _Live] = {}
        retired: dict[str, _Old] = {}
        for concept in source:
            first = live.get(concept.id) or retired.get(concept.id)
            if first is not None:
                places = [place for place in (self._spool.get(first.place).origin, concept.origin) if place]
                where = " and ".join(places) or "one source"
                raise KnowledgeBaseError(f"{where}: concept id {concept.id!r} stands twice; ids must be unique")
            place = self._spool.put(concept)
            if concept.replaced_by is not None:
                retired[concept.id] = _Old(place, concept.replaced_by)
                continue
            xrefs = _same(concept) if by_xref else ()
            if xrefs:
                self._referring.append(place)
            live[concept.id] = _Live(concept.id, place, self._numbers(xrefs))
        ends = ends_of({id: old.successor for id, old in retired.items()})
        return live, {id: _Old(old.place, ends[id]) for id, old in retired.items()}

    def _numbers(self, ids: Iterable[str]) -> tuple[int, ...]:
        return tuple({self._number[id]: None for id in ids if id in self._number})

    def _named(
        self, referring: Iterable[int], live: Collection[str], retired: Mapping[str, _Old]
    ) -> Mapping[str, Sequence[int]]:
        """Return live id -> numbers of the earlier concepts whose cross-references name it; they are at `referring`."""
        named: dict[str, list[int]] = {}
        for concept in map(self._spool.get, referring):
            for xref in _same(concept):
                id = retired[xref].successor if xref in retired else xref
                if id in live:
                    named.setdefault(id, []).append(self._number[concept.id])
        return named

    def _joins(
        self, live: Mapping[str, _Live], retired: Mapping[str, _Old], named: Mapping[str, Sequence[int]]
    ) -> dict[str, int]:
        """Return id -> number of the earlier concept it is, of those that are one; `named` as `_named` returns it."""
        joins = {id: self._number[id] for id in live if id in self._number and id not in self._retired}
        self._report.by_id += len(joins)
        others: dict[str, list[str]] = {}
        for id, old in retired.items():
            others.setdefault(old.successor, []).append(id)
        by_retired = {id: self._numbers([id, *others.get(id, ())]) for id in live if id not in joins}
        settled = self._settle(by_retired, joins, "by_retired")
        by_xref = {
            id: tuple(dict.fromkeys((*one.targets, *named.get(id, ()))))
            for id, one in live.items()
            if id not in settled
        }
        self._settle(by_xref, joins, "by_xref")
        return joins

    def _settle(self, claims: Mapping[str, tuple[int, ...]], joins: dict[str, int], kind: str) -> set[str]:
        """Add to `joins` the claims that are the only ones to a free concept; return all ids that are decided."""
        taken = set(joins.values())
        decided = set(joins)
        count = Counter(number for numbers in claims.values() for number in numbers)
        for id, numbers in claims.items():
            if not numbers:
                continue
            decided.add(id)
            if len(numbers) == 1 and count[numbers[0]] == 1 and numbers[0] not in taken:
                joins[id] = numbers[0]
                setattr(self._report, kind, getattr(self._report, kind) + 1)
            else:
                self._report.note("ambiguous", f"{id} and {', '.join(self._ids[number] for number in numbers[:3])}")
        return decided

    # --- keeping, merging, retiring

    def _keep(self, concept: _Live) -> None:
        if self._retired.pop(concept.id, None) is not None:
            self._report.note("live_again", concept.id)
        self._number[concept.id] = len(self._ids)
        self._ids.append(concept.id)
        self._first.append(concept.place)

    def _merge(self, concept: _Live, number: int) -> None:
        self._more.setdefault(number, []).append(concept.place)
        self._number[concept.id] = number
        if concept.id != self._ids[number]:
            self._retired.pop(concept.id, None)
            self._away[concept.id] = concept.place

    def _retire(self, id: str, old: _Old) -> None:
        number, end = self._number.get(id), self._end(old.successor)
        known = self._ids[number] if number is not None else self._end(id) if id in self._retired else ""
        if known:
            if end not in ("", known):
                both = f"{id} for {known} and for {end}"
                self._report.note("live_again" if known == id else "retired_twice", id if known == id else both)
            elif not end and known == id:
                self._report.note("live_again", id)
            return
        self._retired[id] = old
        if end in self._number:
            self._number[id] = self._number[end]

    def _end(self, id: str) -> str:
        """Return the id of the concept that `id` leads to; "" for none, an unknown id for one that may yet come."""
        if id not in self._number:
            seen: set[str] = set()
            while id in self._retired and id not in seen:  # a circle ends where it closes
                seen.add(id)
                id = self._retired[id].successor
        return self._ids[self._number[id]] if id in self._number else id

    # --- telling the result

    def live(self) -> Iterator[Concept]:
        closing = self._closing()
        self._report.concepts = len(self._ids)
        for number, place in enumerate(self._first):
            concept = self._spool.get(place)
            for other in self._more.get(number, ()):
                concept = _united(concept, self._spool.get(other))
            above = dict.fromkeys(self._end(parent) or parent for parent in concept.parents)
            parents = tuple(p for p in above if p != concept.id and (concept.id, p) not in closing)
            xrefs = tuple(xref for xref in concept.xrefs if xref != concept.id)
            yield replace(concept, parents=parents, xrefs=xrefs)

    def _closing(self) -> set[tuple[str, str]]:
        """Return the (child, parent) pairs that close a circle; without merging and retired parents there are none."""
        if not self._more and not self._retired:
            return set()
        flat = array("q")  # children and parents in turn: 16 bytes an edge
        for _, concept in self._spool:
            if concept.replaced_by is None:
                child = self._number[concept.id]
                for parent in concept.parents:
                    number = self._number.get(self._end(parent), child)
                    if number != child:
                        flat.extend((child, number))
        edges = np.frombuffer(flat, np.int64).reshape(-1, 2)
        closing = {(self._ids[edges[at, 0]], self._ids[edges[at, 1]]) for at in closing_edges(edges)}
        for child_id, parent_id in sorted(closing):
            self._report.note("parents_left_out", f"{child_id} under {parent_id}")
        return closing

    def retired(self) -> Iterator[Concept]:
        places = {**self._away, **{id: old.place for id, old in self._retired.items()}}
        for id, place in sorted(places.items(), key=lambda pair: pair[1]):
            concept = self._spool.get(place)
            yield Concept(id, concept.names[:1], replaced_by=self._end(id), origin=concept.origin)


def _same(concept: Concept) -> Sequence[str]:
    """Return the cross-references that may be the concept itself under another id."""
    others = BELONGS.get(concept.id.partition(":")[0])
    return concept.xrefs if others is None else [xref for xref in concept.xrefs if not xref.startswith(others)]


def _united(first: Concept, other: Concept) -> Concept:
    """Return `first` with what `other` adds; a name it has already keeps the scope it has there."""
    names: dict[tuple[str, str], Name] = {}
    for name in (*first.names, *other.names):
        names.setdefault((name.text, name.language), name)
    return replace(
        first,
        names=tuple(names.values()),
        types=tuple(dict.fromkeys((*first.types, *other.types))),
        definition=first.definition or other.definition,
        parents=tuple(dict.fromkeys((*first.parents, *other.parents))),
        xrefs=tuple(dict.fromkeys((*first.xrefs, *other.xrefs))),
    )
