"""Retrieval by character n-grams: TF-IDF cosine between a mention and every name (Sanz-Cruzado & Lever 2025, stage 1).

The score of a concept is that of its best name. Names are those of the knowledge base and, once it was trained, the
surfaces of training mentions (aliases). What is compared says `linnet.retrieve.ngram_text`, how it is searched
`linnet.retrieve.ngram_index`; answers are exact, those of scoring every name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from linnet.data import Candidates, Document
from linnet.errors import RecipeError
from linnet.kb import KnowledgeBase, Mask
from linnet.pipeline import Component, Step
from linnet.pipeline.aliases import Aliases
from linnet.pipeline.learner import made_once
from linnet.retrieve.ngram_build import Vocabulary, build
from linnet.retrieve.ngram_file import NgramFile
from linnet.retrieve.ngram_index import Floats, Found, NgramIndex, best_concepts
from linnet.retrieve.ngram_text import Analysis, CharSide
from linnet.retrieve.queries import TextRetriever

__all__ = ["Ngram"]

LAST = np.iinfo(np.int32).max  # the name row of an alias while names are compared
BLOCK = 32  # texts that are compared with all aliases at once
REMEMBERED = 8_192  # answers that are kept, of about a kilobyte each
NO_NAME = -1  # the name row of an alias
ALIASES = "aliases.jsonl"


@dataclass(kw_only=True)
class Ngram(TextRetriever):
    """Candidates are the concepts with the names most similar in character n-grams.

    Args:
        kb: the knowledge base.
        k: how many candidates at most; concepts that share no n-gram with the mention are never returned.
        ngram_range: shortest and longest n-gram, in characters.
        min_df: n-grams in fewer names than this are ignored.
        max_features: only so many n-grams are kept, those in the most names; None keeps all.
        char_side: which part of a name is compared: ``none`` of it in particular, i.e. all; its ``front`` or ``back``;
            both, with n-grams of the two kept apart (``separate``) or not (``together``).
        char_count: how many characters of the normalised name that part has; half of them at either end for both.
        word_boundaries: n-grams lie inside words, with a blank at either end; else anywhere in the padded name.
        sublinear_tf: an n-gram that occurs n times in a word (or name) counts 1 + ln(n).
        long_forms: abbreviations that the document defines are looked up written out.
        aliases: surfaces of training mentions are names too; they have the name row -1.
        prior: how much more an alias counts that meant nothing but this concept in training: scores are multiplied by
            (1 + prior * p(concept | alias)) / (1 + prior), which decides among names that are equally similar.

    Texts without letters and digits are like nothing: such names are never found (a warning says how many there
    are), such mentions get no candidates. N-grams that no name of the knowledge base holds weigh nothing.
    """

    kb: KnowledgeBase
    k: int = 64
    ngram_range: tuple[int, int] = (2, 4)
    min_df: int = 1
    max_features: int | None = None
    char_side: CharSide = "none"
    char_count: int = 16
    word_boundaries: bool = True
    sublinear_tf: bool = True
    long_forms: bool = True
    aliases: bool = True
    prior: float = 0.1
    learned: Aliases = field(default_factory=Aliases.none, init=False, repr=False, compare=False)

    USES_DEV = False

    def __post_init__(self) -> None:
        if len(self.ngram_range) != 2:
            raise RecipeError("ngram", [f"ngram_range: {list(self.ngram_range)} must be shortest and longest"])
        self.ngram_range = (self.ngram_range[0], self.ngram_range[1])
        problems = self.analysis.problems()
        problems += [] if self.k >= 1 else [f"k: {self.k} must be at least 1"]
        problems += [] if 0 <= self.prior <= 10 else [f"prior: {self.prior} must be between 0 and 10"]
        if problems:
            raise RecipeError("ngram", problems)
        self.forget()

    @property
    def analysis(self) -> Analysis:
        """What n-grams are taken of a text."""
        return Analysis(**{item.name: getattr(self, item.name) for item in fields(Analysis)})

    @property
    def index_files(self) -> list[Path]:
        """The index of all names."""
        return NgramFile(self.kb, self.analysis).files

    @made_once
    def index(self) -> NgramIndex:
        """The index of all names, opened or built at first use."""
        return NgramFile(self.kb, self.analysis).current()

    @made_once
    def _alias_index(self) -> NgramIndex:
        """The aliases as names, their places in ``learned`` as rows; those that are left out too."""
        names = ((place, row, text) for place, (text, row) in enumerate(self.learned.keys))
        return build(names, self.analysis, vocabulary=Vocabulary(self.index.grams, self.index.arrays["idf"]))

    @made_once
    def _answers(self) -> dict[str, Candidates]:
        """What was found lately among all concepts: documents name the same things again and again."""
        return {}

    # --- looking up --------------------------------------------------------------------------------------------------

    def candidates(self, texts: Sequence[str], mask: Mask | None) -> list[Candidates]:
        """Return the candidates of each text among the rows of `mask` (None = all)."""
        if mask is not None:
            return self._find(texts, mask)
        answers = {text: self._answers[text] for text in texts if text in self._answers}
        new = [text for text in texts if text not in answers]
        answers.update(zip(new, self._find(new, None), strict=True))
        if len(self._answers) + len(new) > REMEMBERED:
            self._answers.clear()
        self._answers.update(answers)
        return [answers[text] for text in texts]

    def _find(self, texts: Sequence[str], mask: Mask | None) -> list[Candidates]:
        found = self.index.search_all(texts, self.k, mask)
        if self.aliases and len(self.learned):
            found = list(map(self._with_aliases, found, self._alike(texts, mask)))
        return [Candidates(rows, scores, names=names, kb=self.kb.version) for rows, scores, names in found]

    def _with_aliases(self, found: Found, alike: Floats) -> Found:
        """Return the best concepts of those found by names and those found by aliases."""
        rows, scores, names = found
        scale = np.float32(1 + self.prior)
        scores, alike = scores / scale, alike / scale
        # what is below the last of `k` concepts is no answer
        places = np.flatnonzero((alike > 0) & (alike >= (scores[-1] if len(scores) == self.k else 0)))
        concepts = np.concatenate([rows, self._alias_index.concepts[places]])
        # an alias wins against an equal name where it counts more; else the name, which has a row, is kept
        order = np.concatenate([names, np.full(len(places), LAST, np.int32)])
        rows, scores, names = best_concepts(concepts, np.concatenate([scores, alike[places]]), order, self.k)
        return rows, scores, np.where(names == LAST, np.int32(NO_NAME), names)

    def _alike(self, texts: Sequence[str], mask: Mask | None) -> Iterator[Floats]:
        """Yield for each text the scores of the aliases in their index, times 1 + prior * p; 0 if not allowed."""
        index, learned = self._alias_index, self.learned
        worth = 1 + self.prior * learned.shares[index.name_rows]
        allowed = learned.totals[index.name_rows] > 0
        if mask is not None:
            allowed &= mask.array[index.concepts]
        for start in range(0, len(texts), BLOCK):
            likeness = index.similarities(texts[start : start + BLOCK])
            yield from np.where(allowed, likeness * worth, 0).astype(np.float32)

    # --- learning ----------------------------------------------------------------------------------------------------

    def fit(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],  # noqa: ARG002 - nothing is chosen
        /,
        *,
        before: Component,  # noqa: ARG002 - aliases are taken from the documents as they are
        kb: KnowledgeBase,
        args: Mapping[str, Any],  # noqa: ARG002 - the options are the component's own
    ) -> Iterator[Step]:
        """Learn the aliases of `train` instead of those learned before."""
        self.learned = Aliases.of(train, kb) if self.aliases else Aliases.none()
        self.forget("_alias_index", "_answers")
        yield Step(1, 1)

    def without(self, documents: Iterable[str]) -> Self:
        """Return the same retriever without what it learned from these documents (ids): for cross-fitting.

        It shares the indexes, so that it costs next to nothing.
        """
        fewer = replace(self)
        fewer.learned = self.learned.without(documents)
        if len(self.learned):
            fewer.share(self, "index", "_alias_index")
        return fewer

    def rebound(self, kb: KnowledgeBase) -> Self:
        """Return the same component on the edited knowledge base `kb`, with what it learned."""
        made = super().rebound(kb)
        made.learned = self.learned.rebound(kb)
        return made

    def save(self, folder: Path) -> None:
        """Write the component, and the aliases it learned as ``aliases.jsonl``."""
        super().save(folder)
        if len(self.learned):
            self.learned.save(folder / ALIASES, self.kb)

    @classmethod
    def load(cls, folder: Path, *, kb: KnowledgeBase | None = None, partly: bool = False) -> Self:
        """Return the component that `save` wrote; with `partly` without aliases of concepts that `kb` lacks."""
        loaded = super().load(folder, kb=kb, partly=partly)
        if (folder / ALIASES).exists():
            loaded.learned = Aliases.load(folder / ALIASES, loaded.kb, partly=partly)
        return loaded
