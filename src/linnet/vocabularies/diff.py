"""What changed between two knowledge bases of one terminology, and what of a corpus' gold survives the change.

Concepts are compared by id, whatever their rows. Both files are gone through in step, in the order of ids, so memory
holds one concept of each, however many there are.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from linnet.data import Concept, Name
from linnet.errors import UnknownConceptError
from linnet.kb import KnowledgeBase
from linnet.vocabularies.stored import Retired, concepts_by_id, retired_by_id

__all__ = ["KINDS", "Change", "Pair", "Survival", "diff", "pairs", "survival"]

KINDS: Mapping[str, str] = {
    "added": "live only in the new one",
    "retired": "live in the old one; the new one knows it as retired",
    "removed": "live in the old one; the new one does not know it",
    "redirected": "retired in both; leads to another concept, or to none any more",
    "moved": "other parents",
    "renamed": "another preferred name",
    "names added": "names that are new to the concept",
    "names removed": "names that the concept no longer has",
    "definition": "another definition",
    "types": "other semantic types",
    "xrefs": "other cross-references",
}


class Change(NamedTuple):
    """One change of one concept; ``kind`` is one of `KINDS`.

    ``name`` is its preferred name, the new one where there is one. ``before`` and ``after`` hold only what differs:
    parents that went and came, names removed or added. ``after`` of a retired concept is its live successor, if any,
    and so is ``before`` of a redirected one.
    """

    kind: str
    id: str
    name: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class Pair(NamedTuple):
    """The live concept of an id in the old and in the new one, and what they know of it if it is retired there."""

    id: str
    was: Concept | None
    now: Concept | None
    retired: Retired | None  # in the new one
    before: Retired | None  # in the old one


def diff(old: KnowledgeBase, new: KnowledgeBase) -> Iterator[Change]:
    """Yield the changes from `old` to `new`, concept by concept in the order of ids.

    Raises:
        KnowledgeBaseError: a file is damaged, or was replaced since it was opened.

    >>> import tempfile
    >>> from linnet.kb.build import build
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     old = build([Concept("X:1", (Name("one"),))], f"{folder}/old.kb")
    ...     new = build([Concept("X:1", (Name("uno"), Name("one")))], f"{folder}/new.kb")
    ...     [change.kind for change in diff(old, new)]
    ['renamed', 'names added']
    """
    for id, was, now, retired, before in pairs(old, new):
        if was is not None and now is not None:
            yield from _changes(was, now)
        elif now is not None:
            yield Change("added", id, now.name)
        elif was is not None and not retired:
            yield Change("removed", id, was.name)
        elif was is not None:
            yield Change("retired", id, was.name, after=_some(_leads_to(new, id)))
        elif retired and before and retired.successor != before.successor:
            led, leads = _leads_to(old, id), _leads_to(new, id)
            if led != leads:
                yield Change("redirected", id, retired.name or before.name, _some(led), _some(leads))


def pairs(old: KnowledgeBase, new: KnowledgeBase) -> Iterator[Pair]:
    """Yield what two knowledge bases say of each id, live or retired, in the order of ids.

    Raises:
        KnowledgeBaseError: a file is damaged, or was replaced since it was opened.
    """
    # what the two say of one id comes together: live in the old, live in the new, retired in the new, and in the old
    told_of = (concepts_by_id(old), concepts_by_id(new), retired_by_id(new), retired_by_id(old))
    sides = (_marked(side, items) for side, items in enumerate(told_of))
    for id, told in itertools.groupby(heapq.merge(*sides, key=itemgetter(0)), key=itemgetter(0)):
        found = {side: item for _, side, item in told}
        yield Pair(id, *map(found.get, range(len(told_of))))


def _marked(side: int, items: Iterable[Any]) -> Iterator[tuple[str, int, Any]]:
    return ((item.id, side, item) for item in items)


def _leads_to(kb: KnowledgeBase, id: str) -> str:
    """Return the live concept that `id` leads to, ``""`` if there is none."""
    try:
        return kb.id(kb.row(id))
    except UnknownConceptError:
        return ""


def _some(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _changes(was: Concept, now: Concept) -> Iterator[Change]:
    if gone_or_come := _different(was.parents, now.parents):
        yield Change("moved", now.id, now.name, *gone_or_come)
    if was.name != now.name:
        yield Change("renamed", now.id, now.name, (was.name,), (now.name,))
    removed, added = _different(_names(was), _names(now)) or ((), ())
    if added:
        yield Change("names added", now.id, now.name, after=added)
    if removed:
        yield Change("names removed", now.id, now.name, before=removed)
    if was.definition != now.definition:
        yield Change("definition", now.id, now.name, _some(was.definition), _some(now.definition))
    if gone_or_come := _different(was.types, now.types):
        yield Change("types", now.id, now.name, *gone_or_come)
    if gone_or_come := _different(was.xrefs, now.xrefs):
        yield Change("xrefs", now.id, now.name, *gone_or_come)


def _different(was: tuple[str, ...], now: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return what is only in `was` and what is only in `now`, None if they hold the same in whatever order."""
    if was == now or set(was) == set(now):
        return None
    there, here = set(was), set(now)
    return tuple(text for text in was if text not in here), tuple(text for text in now if text not in there)


def _names(concept: Concept) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_shown(name) for name in concept.names))


def _shown(name: Name) -> str:
    marks = [mark for mark, usual in ((name.scope, "exact"), (name.language, "en")) if mark != usual]
    return f"{name.text} ({', '.join(marks)})" if marks else name.text


@dataclass
class Survival:
    """What becomes of a corpus' annotations: for each fate the ids, and how often each was annotated.

    ``kept`` are live in the new knowledge base, ``successor`` lead to another concept there, ``lost`` were in the old
    one and lead nowhere in the new one, ``unknown`` are in neither. ``successors`` says where those lead.

    >>> Survival(kept=Counter({"X:1": 3}), lost=Counter({"X:2": 1})).share()
    0.75
    """

    kept: Counter[str] = field(default_factory=Counter)
    successor: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    successors: dict[str, str] = field(default_factory=dict)

    def fates(self) -> dict[str, Counter[str]]:
        """Return the ids of each fate."""
        return {"kept": self.kept, "successor": self.successor, "lost": self.lost, "unknown": self.unknown}

    def share(self) -> float:
        """Return the share of annotations that lead to a concept of the new knowledge base; 0 without annotations."""
        total = sum(ids.total() for ids in self.fates().values())
        return (self.kept.total() + self.successor.total()) / total if total else 0.0


def survival(gold: Mapping[str, int], old: KnowledgeBase, new: KnowledgeBase) -> Survival:
    """Return what becomes of annotations when `new` takes the place of `old`.

    Args:
        gold: ids and how often each was annotated.
        old: resolves ids that the new one does not know: an id that it had merged counts as what it was merged into.
        new: where the annotations should lead.
    """
    found = Survival()
    for id, count in gold.items():
        resolved = _leads_to(old, id)
        successor = _leads_to(new, id) or (resolved and _leads_to(new, resolved))
        if successor == id:
            found.kept[id] = count
        elif successor:
            found.successor[id] = count
            found.successors[id] = successor
        else:
            (found.lost if resolved else found.unknown)[id] = count
    return found
