"""Relations between two concepts of a knowledge base, cached: the same few are confused again and again."""

from __future__ import annotations

import functools
from typing import Literal

from linnet.kb import KnowledgeBase
from linnet.kb.successors import row_of
from linnet.text.normalise import basic

__all__ = ["Relation", "Relations"]

Relation = Literal["homonym", "parent", "child", "sibling", "type"]


class Relations:
    """Relations between concepts of `kb`; without a knowledge base, or for unknown ids, there are none.

    >>> Relations(None).between("X:1", "X:2", surface="cold"), Relations(None).name("X:1")
    (set(), '')
    """

    def __init__(self, kb: KnowledgeBase | None) -> None:
        self._kb = kb
        self._row_of = None if kb is None else row_of(kb)
        self._about: dict[int, _Concept] = {}
        self._named: dict[str, frozenset[int]] = {}
        self._between: dict[tuple[int, int], frozenset[Relation]] = {}

    def name(self, id: str) -> str:
        """Return the preferred name of a concept, "" if it is not known."""
        row = self._row(id)
        return "" if row < 0 else self._concept(row).name

    def between(self, gold: str, answer: str, *, surface: str) -> set[Relation]:
        """Return how the concept that was answered is related to gold's.

        Args:
            gold: an id.
            answer: an id.
            surface: the text that was linked; if it is a name of both, normalised, they are homonyms here.
        """
        one, other = self._row(gold), self._row(answer)
        if one < 0 or other < 0:
            return set()
        found: set[Relation] = set(self._relations(one, other))
        if {one, other} <= self._names(surface):
            found.add("homonym")
        return found

    def _relations(self, gold: int, answer: int) -> frozenset[Relation]:
        found = self._between.get((gold, answer))
        if found is None:
            one, other = self._concept(gold), self._concept(answer)
            holds: dict[Relation, bool] = {
                "parent": answer in one.ancestors,
                "child": gold in other.ancestors,
                "sibling": bool(one.parents & other.parents),
                "type": bool(one.types and other.types) and not one.types & other.types,
            }
            found = self._between[gold, answer] = frozenset(kind for kind, held in holds.items() if held)
        return found

    def _row(self, id: str) -> int:
        row = None if self._row_of is None else self._row_of(id)
        return -1 if row is None else row

    def _names(self, surface: str) -> frozenset[int]:
        norm = basic(surface)
        if norm not in self._named:
            found = () if self._kb is None or not norm else self._kb.find(norm)
            self._named[norm] = frozenset(name.concept for name in found)
        return self._named[norm]

    def _concept(self, row: int) -> _Concept:
        if row not in self._about:
            assert self._kb is not None  # noqa: S101 - rows are those of the knowledge base
            self._about[row] = _Concept(self._kb, row)
        return self._about[row]


class _Concept:
    """What relations need to know of a concept."""

    def __init__(self, kb: KnowledgeBase, row: int) -> None:
        self._kb, self._row = kb, row

    @functools.cached_property
    def name(self) -> str:
        """The preferred name; most concepts are only asked for this."""
        return next((name.text for name in self._kb.names([self._row]) if name.preferred), self._kb.id(self._row))

    @functools.cached_property
    def types(self) -> frozenset[str]:
        """The semantic types."""
        return frozenset(self._kb.types_of(self._row))

    @functools.cached_property
    def parents(self) -> frozenset[int]:
        """The rows of the concepts directly above."""
        return frozenset(self._kb.parents(self._row).tolist())

    @functools.cached_property
    def ancestors(self) -> frozenset[int]:
        """The rows of all concepts above."""
        return frozenset(self._kb.ancestors(self._row).tolist())
