"""Which concepts may be answered: conditions on a knowledge base, put together and checked."""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from linnet.errors import PipelineError, did_you_mean
from linnet.kb import KnowledgeBase, Mask
from linnet.kb.search import hint

if TYPE_CHECKING:
    from linnet.kb.terminologies import Terminologies

__all__ = ["Allow", "combined"]

SHOWN = 5  # ids that a message names


@dataclass(frozen=True)
class Allow:
    """Which concepts may be answered: conditions on a knowledge base, all of which hold; None = no condition.

    ``by_type`` holds further conditions for mentions of a type, as pairs (mention type, conditions) or a mapping; a
    mention of several such types needs to satisfy those of one. ``also`` are other conditions, all of which hold too.
    """

    types: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None
    under: tuple[str, ...] | None = None
    by_type: tuple[tuple[str, Allow], ...] = ()
    also: tuple[Allow, ...] = ()

    def __post_init__(self) -> None:
        for name in ("types", "ids", "under"):
            value = getattr(self, name)
            if value is not None:  # lists are what people write, tuples are what can be remembered
                several = (value,) if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
                if wrong := [one for one in several if not isinstance(one, str)]:
                    raise PipelineError(f"{name} of Allow are texts, and {wrong[0]!r} is none")
                object.__setattr__(self, name, several)
        pairs = self.by_type.items() if isinstance(self.by_type, Mapping) else self.by_type
        object.__setattr__(self, "by_type", tuple(map(tuple, pairs)))
        object.__setattr__(self, "also", (self.also,) if isinstance(self.also, Allow) else tuple(self.also))
        if wrong := [one for one in self._further if not isinstance(one, Allow)]:
            raise PipelineError(f"by_type and also of Allow hold conditions, and {wrong[0]!r} is none")

    @property
    def _further(self) -> tuple[Allow, ...]:
        return *self.also, *(allow for _, allow in self.by_type)

    def mask(self, kb: KnowledgeBase, mention_types: Sequence[str] = ()) -> Mask:
        """Return the rows that are allowed for a mention of these types."""
        mask = _mask(kb, self.types, self.ids, self.under)
        mask = functools.reduce(Mask.__and__, [other.mask(kb, mention_types) for other in self.also], mask)
        special = [allow.mask(kb) for kind, allow in self.by_type if kind in mention_types]
        return mask & functools.reduce(Mask.__or__, special) if special else mask

    def problems(self, kb: KnowledgeBase | Terminologies) -> Iterator[str]:
        """Yield what the conditions name that a knowledge base lacks, a line for each kind: ``types: …``."""
        known = kb.types() if self.types else {}
        for name in (name for name in self.types or () if name not in known):
            there = did_you_mean(name, known) or f"; it has {', '.join(known) or 'none'}"
            yield f"types: {kb.path.name} has no semantic type {name!r}{there}"
        for field, ids in (("ids", self.ids), ("under", self.under)):
            if lacking := [id for id in ids or () if id not in kb]:
                more = f" and {len(lacking) - SHOWN:,} more" if len(lacking) > SHOWN else ""
                few = f"{', '.join(map(repr, lacking[:SHOWN]))}{more}"
                yield f"{field}: {kb.path.name} has no concept {few}{hint(kb, lacking[0])}"
        for other in self._further:
            yield from other.problems(kb)

    def known_to(self, kb: KnowledgeBase) -> Allow:
        """Return what these conditions mean for one of several terminologies.

        A type or id that it lacks is none of its business, and a condition that names nothing it has is none; one that
        is empty allows nothing here, either.
        """
        types = kb.types() if self.types else {}
        return replace(
            self,
            types=_known(self.types, types),
            ids=_known(self.ids, kb),
            under=_known(self.under, kb),
            by_type=tuple((kind, allow.known_to(kb)) for kind, allow in self.by_type),
            also=tuple(other.known_to(kb) for other in self.also),
        )


def _known(names: tuple[str, ...] | None, held: KnowledgeBase | Mapping[str, int]) -> tuple[str, ...] | None:
    return tuple(name for name in names if name in held) or None if names else names


@functools.lru_cache(maxsize=32)
def _mask(kb: KnowledgeBase, types: Any, ids: Any, under: Any) -> Mask:
    return kb.mask(types=types, ids=ids, under=under)


def combined(*conditions: Allow | None) -> Allow | None:
    """Return conditions that allow what all of some allow, None for none.

    >>> combined(None, Allow(types="Disease"), None)
    Allow(types=('Disease',), ids=None, under=None, by_type=(), also=())
    >>> combined(Allow(types="Disease"), Allow(under="MESH:1")).also
    (Allow(types=None, ids=None, under=('MESH:1',), by_type=(), also=()),)

    Raises:
        PipelineError: something else is among them.
    """
    wrong: list[object] = [some for some in conditions if not isinstance(some, Allow | None)]
    if wrong:
        shape = "linnet.Allow(types=[…], ids=[…], under=[…])"
        raise PipelineError(f"allow is {reprlib.repr(wrong[0])}, expected {shape} with what concepts must satisfy")
    given = [some for some in dict.fromkeys(conditions) if some is not None and some != Allow()]
    if not given:
        return None
    first, *rest = given
    others = [one for some in rest for one in (replace(some, also=()), *some.also)]
    return replace(first, also=(*first.also, *others)) if others else first
