"""Retrieval by exact names: what a mention says, normalised, is a name of the candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from linnet.data import Candidates, Document
from linnet.errors import RecipeError
from linnet.kb import KbName, KnowledgeBase, Mask
from linnet.pipeline import Allow, Retriever
from linnet.retrieve.queries import query_texts
from linnet.text.normalise import basic

__all__ = ["Exact"]

# How far a name of each scope may be trusted to mean its concept.
SCOPE_SCORES = {"exact": 1.0, "narrow": 0.9, "related": 0.8, "broad": 0.7}
OTHER_CASE = 0.98  # the same name but for case, hyphens, accents or Greek letters


@dataclass(kw_only=True)
class Exact(Retriever):
    """Candidates are the concepts with a name equal to the mention's text (or to the long form it abbreviates).

    Args:
        kb: the knowledge base.
        k: how many candidates at most.
        level: ``case`` compares character by character, ``basic`` the form of `linnet.text.normalise.basic`.

    The score is 1 for the very name, less for other case or punctuation, and less for names of weaker scope.
    """

    kb: KnowledgeBase
    k: int = 64
    level: Literal["case", "basic"] = "basic"

    NEEDS = frozenset({"mentions", "abbreviations"})

    def __post_init__(self) -> None:
        if self.k < 1:
            raise RecipeError("exact", [f"k: {self.k} must be at least 1"])

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        """Return candidates for each mention of each document."""
        return [
            [
                self._candidates(text, allow.mask(self.kb, mention.types) if allow else None)
                for text, mention in zip(query_texts(doc), doc.mentions or (), strict=True)
            ]
            for doc in docs
        ]

    def _candidates(self, text: str, mask: Mask | None) -> Candidates:
        best: dict[int, tuple[float, int]] = {}
        for name in self.kb.find(basic(text)) if basic(text) else ():
            score = self._score(name, text)
            if score and (mask is None or name.concept in mask) and score > best.get(name.concept, (0.0, 0))[0]:
                best[name.concept] = (score, name.row)
        found = Candidates(
            rows=np.array(list(best), np.int32),
            scores=np.array([score for score, _ in best.values()], np.float32),
            names=np.array([row for _, row in best.values()], np.int32),
            kb=self.kb.version,
        )
        return found.sorted().top(self.k)

    def _score(self, name: KbName, text: str) -> float:
        same = name.text == text
        if self.level == "case" and not same:
            return 0.0
        return SCOPE_SCORES[name.scope] * (1.0 if same else OTHER_CASE)
