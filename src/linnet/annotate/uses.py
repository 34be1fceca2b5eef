"""Which concepts are in use in a project, and for which words: hints, which tell nobody what a blind peer does."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa

from linnet.annotate.blind import countable_streams
from linnet.annotate.documents import gold_of
from linnet.annotate.marks import Parts
from linnet.annotate.tables import assignment, document, mention_now
from linnet.data import Span
from linnet.text.normalise import basic

__all__ = ["Use", "Uses", "concepts_for"]

KEPT = 64  # pairs of project and user whose counts are kept
AT_ONCE = 200  # sources that are read in one query

STREAM, GOLD = "stream", "gold"
Source = tuple[str, int]  # one of the two above, and the number of the assignment or document
Found = tuple[Source, Parts, tuple[str, ...]]


class Use(NamedTuple):
    """A concept, and the normalised words that were linked to it; "" where they are not for this concept alone."""

    concept: str
    words: str


@dataclass(slots=True)
class _Kept:
    """What was counted so far: of each source, in which state it was, and all together."""

    states: dict[Source, tuple[int, bool]] = field(default_factory=dict)
    counts: dict[Source, Counter[Use]] = field(default_factory=dict)
    total: Counter[Use] = field(default_factory=Counter)

    def update(self, db: sa.Connection, wanted: dict[Source, tuple[int, bool]]) -> None:
        """Count what is wanted and was not in this state before, and forget what is not wanted any more."""
        same = {source for source, state in self.states.items() if wanted.get(source) == state}
        new = dict(_read(db, wanted.keys() - same))  # first: if it fails, nothing is changed
        for source in self.states.keys() - same:
            self.total.subtract(self.counts.pop(source, Counter()))
        for source, counts in new.items():
            self.counts[source] = counts
            self.total.update(counts)
        self.states, self.total = wanted, +self.total  # without what is not counted any more


class Uses:
    """Counts what a user may have counted, and keeps it, so that the next question reads only what is new.

    Counted are the GOLD layers, and decisions in the streams of `linnet.annotate.blind.countable_streams`, which is
    asked each time: what somebody may not count any more is not counted, nor are the words of a text that was erased.
    Threads may share one.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int], _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, db: sa.Connection, project: int, user: int) -> Mapping[Use, int]:
        """Return how often each concept was chosen for which words, as far as a user may know."""
        wanted = _states(db, project, user)
        with self._lock:
            kept = self._kept.pop((project, user), None) or _Kept()
            self._kept[project, user] = kept
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            kept.update(db, wanted)
            return dict(kept.total)


def concepts_for(uses: Mapping[Use, int], surface: str, *, live: Callable[[str], str] = str) -> list[tuple[str, int]]:
    """Return the concepts that a surface was linked to, the most frequent first, and how often.

    `live` leads ids to those that are chosen today (`linnet.annotate.proposals.live_ids`).

    >>> concepts_for({Use("X:1", "fits"): 1, Use("X:2", "fits"): 3, Use("X:1", "fit"): 2}, "Fits")
    [('X:2', 3), ('X:1', 1)]
    """
    words, found = basic(surface), Counter[str]()
    for use, count in uses.items():
        if words and use.words == words:
            found[live(use.concept)] += count
    return sorted(found.items(), key=lambda one: (-one[1], one[0]))


def _states(db: sa.Connection, project: int, user: int) -> dict[Source, tuple[int, bool]]:
    """Return what may be counted, each with what changes when it is to be counted anew."""
    it = assignment.c
    streams = sa.select(it.id, it.seq, document.c.redacted).join(document, document.c.id == it.document)
    streams = streams.where(it.seq > 0, it.id.in_(countable_streams(db, project, user)))
    layers = sa.select(document.c.id, document.c.redacted)
    layers = layers.where(document.c.project == project, document.c.gold.is_not(None))
    found: dict[Source, tuple[int, bool]] = {(STREAM, row.id): (row.seq, row.redacted) for row in db.execute(streams)}
    return found | {(GOLD, row.id): (0, row.redacted) for row in db.execute(layers)}


def _read(db: sa.Connection, sources: Iterable[Source]) -> Iterator[tuple[Source, Counter[Use]]]:
    """Yield the counts of each of some sources that has any."""
    of_kind: dict[str, list[int]] = {STREAM: [], GOLD: []}
    for kind, id in sources:
        of_kind[kind].append(id)
    for kind, ids in of_kind.items():
        for first in range(0, len(ids), AT_ONCE):
            some = ids[first : first + AT_ONCE]
            texts, found = _decided(db, some) if kind == STREAM else _layers(db, some)
            counts: dict[Source, Counter[Use]] = {}
            for source, parts, concepts in found:
                words = basic(" ".join(texts[source[1]][start:end] for start, end in parts))
                alone = words if len(concepts) == 1 else ""
                counts.setdefault(source, Counter()).update(Use(concept, alone) for concept in concepts)
            yield from counts.items()


def _decided(db: sa.Connection, streams: Sequence[int]) -> tuple[dict[int, str], Iterator[Found]]:
    """Return the texts of some assignments, and what was decided in them; confirmed GOLD mentions count as GOLD."""
    joined = sa.select(assignment.c.id, document.c.text).join(document, document.c.id == assignment.c.document)
    texts: dict[int, str] = {row.id: row.text for row in db.execute(joined.where(assignment.c.id.in_(streams)))}
    it = mention_now.c
    sure = sa.and_(it.state == "live", ~it.unsure, it.source == "user", it.concepts.is_not(None))
    rows = db.execute(sa.select(it.stream, it.parts, it.concepts).where(it.stream.in_(streams), sure))
    return texts, (((STREAM, row.stream), _parts(row.parts), tuple(row.concepts)) for row in rows)


def _layers(db: sa.Connection, documents: Sequence[int]) -> tuple[dict[int, str], Iterator[Found]]:
    """Return the texts of some documents, and their GOLD mentions."""
    it = document.c
    found = db.execute(sa.select(it.id, it.text, it.gold).where(it.id.in_(documents))).mappings()
    rows = [dict(row) for row in found]
    marks = ((row["id"], mark) for row in rows for mark in gold_of(row).values())
    return (
        {row["id"]: row["text"] for row in rows},
        (((GOLD, id), mark.parts, mark.concepts or ()) for id, mark in marks),
    )


def _parts(found: Any) -> Parts:
    return tuple(Span(*part) for part in found)
