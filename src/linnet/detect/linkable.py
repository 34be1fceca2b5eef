"""Mentions that can be linked: what a detector finds is kept where a concept is like it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linnet.data import Document, Mention
from linnet.errors import PipelineError, RecipeError
from linnet.frozen import changed
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Detector, Pipeline, Stage
from linnet.pipeline.component import check_parts
from linnet.pipeline.learner import made_once

__all__ = ["Linkable"]


@dataclass
class Linkable(Detector):
    """Finds the mentions of a detector that the parts behind it link well: with a candidate that scores enough.

    A detector that learned from no gold, or from that of another terminology, marks what the knowledge base does not
    hold. Here such mentions are left out, and a `Union` takes what another detector finds in their place. So are those
    whose best candidate is of another semantic type than they are, where the knowledge base knows theirs.

    Args:
        of: a detector, and what links behind it, in order.
        min_score: a mention whose best candidate scores less is left out.

    >>> import tempfile
    >>> from linnet import Concept, Dictionary, Name, Ngram
    >>> from linnet.kb.build import build
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     known = build([Concept("X:1", (Name("Gastric cancer"),))], f"{folder}/known.kb")
    ...     other = build([Concept("Y:1", (Name("Gastric cancers"), Name("Gout")))], f"{folder}/other.kb")
    ...     doc = Document.of("Gout, then gastric cancer.")
    ...     [found] = Linkable([Dictionary(kb=other), Ngram(kb=known)], min_score=0.8).detect([doc])
    >>> [doc.surface(mention) for mention in found]
    ['gastric cancer']
    """

    of: Sequence[Stage]
    min_score: float = 0.85

    GIVES = frozenset({"mentions", "candidates"})
    CHAIN = True

    def __post_init__(self) -> None:
        check_parts(self, self.of, Stage)
        if not isinstance(self.of[0], Detector):
            raise PipelineError(f"linkable: {type(self.of[0]).__name__} finds no mentions; put a detector first")
        if "candidates" not in self._whole.gives:
            raise PipelineError("linkable: no part gives candidates; put a retriever behind the detector")
        if not self.min_score >= 0:
            raise RecipeError("linkable", [f"min_score: {self.min_score} must be 0 or more"])

    @property
    def _whole(self) -> Pipeline:
        return Pipeline(*self.of)

    @made_once
    def _types(self) -> frozenset[str]:
        """The semantic types of the knowledge base."""
        kb = self._whole.kb
        return frozenset(kb.types() if kb is not None else ())

    @property
    def needs(self) -> frozenset[str]:
        """What its parts need and do not get from each other."""
        return self._whole.needs

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:
        """Return the mentions of each document that are linked well, with candidates."""
        whole = self._whole
        linked = whole([changed(doc, mentions=None) for doc in docs], allow=allow)
        return [[mention for mention in doc.mentions or () if self._is_like(mention, whole.kb)] for doc in linked]

    def _is_like(self, mention: Mention, kb: KnowledgeBase | None) -> bool:
        found, types = mention.candidates, self._types.intersection(mention.types)
        if found is None or not len(found) or float(found.scores[0]) < self.min_score:
            return False
        return kb is None or not types or not types.isdisjoint(kb.types_of(int(found.rows[0])))
