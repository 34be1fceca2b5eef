"""What components promise each other: the `Component` and `Fits` protocols, `Allow`, and how documents are compared.

`linnet.pipeline` holds the roles that implement them and gives all of these names on.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from linnet.data import EMPTY, Document, Mention
from linnet.kb import KnowledgeBase, Mask

__all__ = ["PROPERTIES", "Allow", "Component", "Fits", "Step", "align"]

PROPERTIES = ("sentences", "abbreviations", "mentions", "types", "candidates", "concepts")


@dataclass(frozen=True)
class Allow:
    """Which concepts may be answered: conditions on a knowledge base, all of which hold; None = no condition.

    ``by_type`` holds further conditions for mentions of a type, as pairs (mention type, conditions).
    """

    types: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None
    under: tuple[str, ...] | None = None
    by_type: tuple[tuple[str, Allow], ...] = ()

    def mask(self, kb: KnowledgeBase, mention_types: Sequence[str] = ()) -> Mask:
        """Return the rows that are allowed for a mention of these types."""
        mask = _mask(kb, self.types, self.ids, self.under)
        special = [allow.mask(kb) for kind, allow in self.by_type if kind in mention_types]
        return mask & functools.reduce(Mask.__or__, special) if special else mask


@functools.lru_cache(maxsize=32)
def _mask(kb: KnowledgeBase, types: Any, ids: Any, under: Any) -> Mask:
    return kb.mask(types=types, ids=ids, under=under)


@runtime_checkable
class Component(Protocol):
    """All that command line, server, evaluation and pipeline know of a component."""

    @property
    def needs(self) -> frozenset[str]:
        """Which of `PROPERTIES` documents must have."""
        ...

    @property
    def gives(self) -> frozenset[str]:
        """Which of `PROPERTIES` documents have afterwards."""
        ...

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return changed copies of `docs`, in order."""
        ...


@dataclass(frozen=True)
class Step:
    """One step of something that learns, for progress and logs."""

    step: int
    total: int | None = None
    losses: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    score: float | None = None


class Fits(Protocol):
    """Anything that learns from documents: calibration, TF-IDF, fusion weights, taggers, encoders."""

    def fit(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],
        /,
        *,
        before: Component,
        kb: KnowledgeBase,
        args: Mapping[str, Any],
    ) -> Iterator[Step]:
        """Learn from `train`, choose on `dev`; `before` is the pipeline up to this part."""
        ...

    def save(self, folder: Path) -> None:
        """Write what was learned."""
        ...


def align(gold: Document, predicted: Document) -> list[tuple[Mention | None, Mention | None]]:
    """Pair the mentions of two versions of a document, one to one: by id and span, else by span; None = no partner.

    Gold mentions come in their order, then the predicted ones that found no partner.
    """
    left = list(predicted.mentions or ())
    pairs: list[tuple[Mention | None, Mention | None]] = []
    for mention in gold.mentions or ():
        same = [m for m in left if m.spans == mention.spans]
        partner = next((m for m in same if m.id and m.id == mention.id), same[0] if same else None)
        if partner is not None:
            left = [m for m in left if m is not partner]
        pairs.append((mention, partner))
    return pairs + [(None, mention) for mention in left]
