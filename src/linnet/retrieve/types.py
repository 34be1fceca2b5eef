"""What the detector calls a mention decides which types of concepts it may be linked to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linnet.data import Candidates, Document, FrozenDict
from linnet.errors import PipelineError, RecipeError, did_you_mean
from linnet.frozen import EMPTY
from linnet.kb import KnowledgeBase, Mask
from linnet.pipeline import Allow, Retriever

__all__ = ["Types"]

BEFORE = "before_types"  # the feature that keeps the retriever's own scores
GAP = 0.001  # of the range of scores, between the last concept of a right type and the first of another


@dataclass(kw_only=True)
class Types(Retriever):
    """A retriever that knows which semantic types of concepts a type of mentions stands for.

    Args:
        kb: the knowledge base.
        of: the one retriever.
        allow: type of mentions → semantic types of concepts. A mention of several types may be linked to those of any;
            one of no type in the table to all concepts.
        prefer: keep concepts of other types too, behind those of the right ones.

    Raises:
        RecipeError: `allow` names semantic types that `kb` does not have.
        PipelineError: not one retriever.

    In a recipe, what a tagger calls Disease and Chemical, linked to such concepts of the knowledge base alone::

        [[pipeline]]
        use = "types"
        allow = {Disease = ["Disease"], Chemical = ["Chemical"]}
        [[pipeline.of]]
        use = "ngram"

    >>> import tempfile
    >>> from linnet.data import Concept, Mention, Name
    >>> from linnet.kb.build import build
    >>> from linnet.retrieve.exact import Exact
    >>> concepts = [Concept("X:1", (Name("Cold"),), ("Temperature",)), Concept("X:2", (Name("Cold"),), ("Disease",))]
    >>> doc = Document("d", "a cold", mentions=(Mention(2, 6, types=("DISO",)),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kb = build(concepts, f"{folder}/small.kb")
    ...     typed = Types(kb=kb, of=[Exact(kb=kb)], allow={"DISO": ("Disease",)})
    ...     [[found]] = typed.retrieve([doc])
    ...     [kb.id(row) for row in found.rows]
    ['X:2']
    """

    kb: KnowledgeBase
    of: Sequence[Retriever]
    allow: Mapping[str, Sequence[str]] = EMPTY
    prefer: bool = False

    def __post_init__(self) -> None:
        if len(self.of) != 1 or not isinstance(self.of[0], Retriever):
            found = ", ".join(type(part).__name__ for part in self.of) or "nothing"
            raise PipelineError(
                f"types holds one retriever, found {found}; put several into a fuse, and that into types"
            )
        listed = {kind: (wanted,) if isinstance(wanted, str) else tuple(wanted) for kind, wanted in self.allow.items()}
        self.allow = FrozenDict(listed)
        known = self.kb.types()
        problems = [
            f"allow.{kind}: {self.kb.path.name} has no semantic type {name!r}"
            f"{did_you_mean(name, known) or '; it has: ' + (', '.join(known) or 'none')}"
            for kind, wanted in listed.items()
            for name in wanted
            if name not in known
        ]
        if problems:
            raise RecipeError("types", problems)

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> Sequence[Sequence[Candidates]]:
        """Return candidates of the right types for each mention of each document, or such candidates first."""
        own = Allow(by_type=tuple((kind, Allow(types=tuple(wanted))) for kind, wanted in self.allow.items()))
        [part] = self.of
        if not self.prefer:
            return part.retrieve(docs, allow=own if allow is None else replace(own, also=(allow,)))
        masks: dict[tuple[str, ...], Mask] = {}
        ordered: list[list[Candidates]] = []
        for doc, lists in zip(docs, part.retrieve(docs, allow=allow), strict=True):
            kinds = [mention.types for mention in doc.mentions or ()]
            masks.update({key: own.mask(self.kb, key) for key in kinds if key not in masks})
            ordered.append([preferred(found, masks[key]) for found, key in zip(lists, kinds, strict=True)])
        return ordered

    def config(self) -> dict[str, Any]:
        """Return the keywords that make this component again, but for its parts."""
        return {"allow": {kind: list(wanted) for kind, wanted in self.allow.items()}, "prefer": self.prefer}


def preferred(found: Candidates, mask: Mask) -> Candidates:
    """Return candidates with those in `mask` first, both in the order they had; the others' scores are lowered to that.

    The scores that they had are kept as a feature.

    >>> found = Candidates([4, 2, 9], [0.9, 0.5, 0.4])
    >>> preferred(found, Mask(np.arange(10) == 2, "")).rows.tolist()
    [2, 4, 9]
    """
    right = mask.array[found.rows] & (found.rows >= 0)
    scores = found.scores.astype(np.float64)
    if right.any() and not right.all():
        excess = scores[~right].max() - scores[right].min()
        spread = max(float(np.ptp(scores)), float(np.abs(scores).max()), 1.0)
        scores[~right] -= max(excess + GAP * spread, 0.0)
    return replace(found, scores=scores.astype(np.float32), features={**found.features, BEFORE: found.scores}).sorted()
