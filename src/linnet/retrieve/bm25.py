"""Retrieval by words: BM25 between a mention and the names and definitions of concepts (Robertson & Zaragoza 2009).

The classic full-text search over a terminology, without a search engine. Words are those of
`linnet.text.normalise.basic`, compared by their stem (`linnet.text.variants.stem`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates
from linnet.errors import RecipeError
from linnet.kb import KnowledgeBase, Mask
from linnet.pipeline.learner import made_once
from linnet.retrieve.bm25_index import Bm25Index, build, word_counts
from linnet.retrieve.ngram_index import best_concepts
from linnet.retrieve.queries import TextRetriever

__all__ = ["Bm25"]

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

NO_NAME = np.iinfo(np.int32).max  # of equally good texts of a concept, a name comes first
LARGEST = 1000.0


@dataclass(kw_only=True)
class Bm25(TextRetriever):
    """Candidates are the concepts whose best name and whose definition share the rarest words with the mention.

    Args:
        kb: the knowledge base.
        k: how many candidates at most; concepts that share no word with the mention are never returned.
        k1: how much a word that occurs again adds; 0 = nothing.
        b: how much long texts are put behind short ones, from 0, not at all, to 1.
        definitions: search definitions too; concepts that only their definition finds have the name row -1.
        definition_weight: how much the score of the definition counts, that of the best name counting 1.
        long_forms: abbreviations that the document defines are looked up written out.

    Names and definitions have statistics of their own. The sum of a concept's two scores is divided by the highest
    sum that any concept could have for the mention, so that scores lie between 0 and 1.
    """

    kb: KnowledgeBase
    k: int = 64
    k1: float = 1.2
    b: float = 0.75
    definitions: bool = True
    definition_weight: float = 0.1
    long_forms: bool = True

    def __post_init__(self) -> None:
        problems = [] if self.k >= 1 else [f"k: {self.k} must be at least 1"]
        problems += [] if 0 <= self.b <= 1 else [f"b: {self.b} must be between 0 and 1"]
        for name in ("k1", "definition_weight"):
            value = getattr(self, name)
            problems += [] if 0 <= value <= LARGEST else [f"{name}: {value} must be between 0 and {LARGEST:g}"]
        if problems:
            raise RecipeError("bm25", problems)
        self.forget()

    @made_once
    def names(self) -> Bm25Index:
        """The index of all names, built at first use."""
        return build(((name.row, name.concept, name.text) for name in self.kb.names()), k1=self.k1, b=self.b)

    @made_once
    def texts(self) -> Bm25Index:
        """The index of all definitions, built at first use; their rows are those of concepts."""
        found = self.kb.definitions() if self.definitions and self.definition_weight else ()
        return build(((row, row, text) for row, text in found), k1=self.k1, b=self.b)

    def _candidates(self, text: str, mask: Mask | None) -> Candidates:
        words = word_counts(text)
        highest = self.names.highest(words)
        places, scores = self.names.search(words)
        concepts, names = self.names.concepts[places], self.names.names[places]
        if len(self.texts):
            highest += self.definition_weight * self.texts.highest(words)
            concepts, scores, names = self._with_definitions(words, (concepts, scores, names))
        if mask is not None:
            allowed = mask.array[concepts]
            concepts, scores, names = concepts[allowed], scores[allowed], names[allowed]
        share = (scores / (highest or math.inf)).astype(np.float32)
        rows, best, labels = best_concepts(concepts, share, names, self.k)
        return Candidates(rows, best, names=np.where(labels == NO_NAME, np.int32(-1), labels), kb=self.kb.version)

    def _with_definitions(self, words: dict[str, int], found: tuple[Ints, Floats, Ints]) -> tuple[Ints, Floats, Ints]:
        """Return the scores of names with those of definitions added, and definitions of concepts by themselves."""
        concepts, scores, names = found
        places, likeness = self.texts.search(words)
        if not len(places):
            return found
        defined, likeness = self.texts.concepts[places], self.definition_weight * likeness  # ascending rows
        at = np.minimum(np.searchsorted(defined, concepts), len(defined) - 1)
        scores = scores + np.where(defined[at] == concepts, likeness[at], 0.0)
        alone = np.full(len(defined), NO_NAME, np.int32)
        return np.concatenate([concepts, defined]), np.concatenate([scores, likeness]), np.concatenate([names, alone])
