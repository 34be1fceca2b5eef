"""Retrieval by character n-grams: TF-IDF cosine between a mention and every name (Sanz-Cruzado & Lever 2025, stage 1).

The score of a concept is that of its best name. Names and mentions are compared in the form of
`linnet.text.normalise.basic`, with a blank at either end so that n-grams know where words begin and end.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from linnet.data import Candidates, Document
from linnet.errors import RecipeError
from linnet.kb import KnowledgeBase, Mask
from linnet.pipeline import Allow, Retriever
from linnet.retrieve.queries import query_texts
from linnet.text.normalise import basic

__all__ = ["Ngram"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]


@dataclass(kw_only=True)
class Ngram(Retriever):
    """Candidates are the concepts with the names most similar in character n-grams.

    Args:
        kb: the knowledge base.
        k: how many candidates at most; concepts that share no n-gram with the mention are never returned.
        ngram_range: shortest and longest n-gram, in characters.
        min_df: n-grams in fewer names than this are ignored.
    """

    kb: KnowledgeBase
    k: int = 64
    ngram_range: tuple[int, int] = (2, 4)
    min_df: int = 1

    NEEDS = frozenset({"mentions", "abbreviations"})

    def __post_init__(self) -> None:
        self.ngram_range = (self.ngram_range[0], self.ngram_range[1])
        low, high = self.ngram_range
        problems = [] if 1 <= low <= high else [f"ngram_range: {[low, high]} must be 1 <= shortest <= longest"]
        problems += [] if self.k >= 1 else [f"k: {self.k} must be at least 1"]
        if problems:
            raise RecipeError("ngram", problems)

    @functools.cached_property
    def index(self) -> _Index:
        """The TF-IDF matrix of all names, made at first use."""
        return _Index.build(self.kb, self.ngram_range, self.min_df)

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
        rows, scores, names = self.index.search(text, self.k, mask)
        return Candidates(rows, scores, names=names, kb=self.kb.version)


@dataclass(frozen=True)
class _Index:
    """Names as columns of a TF-IDF matrix.

    ``matrix`` is (n-grams, names), float32, columns of length 1, stored by row so that a query reads only the rows of
    its own n-grams; ``concepts`` and ``name_rows`` (names) say whose name and which name a column is.
    """

    vocabulary: dict[str, int]
    idf: Floats
    matrix: Any
    concepts: Ints
    name_rows: Ints
    ngram_range: tuple[int, int]

    @classmethod
    def build(cls, kb: KnowledgeBase, ngram_range: tuple[int, int], min_df: int) -> _Index:
        vocabulary: dict[str, int] = {}
        columns: list[int] = []
        counts: list[int] = []
        lengths: list[int] = []
        names = list(kb.names())
        for name in names:
            grams = Counter(_ngrams(name.text, ngram_range))
            columns += [vocabulary.setdefault(gram, len(vocabulary)) for gram in grams]
            counts += grams.values()
            lengths.append(len(grams))
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        shape = (len(names), len(vocabulary))
        matrix = sparse.csr_array((np.array(counts, np.float32), np.array(columns, np.int32), starts), shape=shape)
        frequency = np.bincount(matrix.indices, minlength=len(vocabulary))
        # smoothed as if one more name held every n-gram; rare n-grams below min_df weigh nothing
        idf = (np.log((1 + len(names)) / (1 + frequency)) + 1).astype(np.float32) * (frequency >= min_df)
        matrix.data *= idf[matrix.indices]
        norms = np.sqrt(np.bincount(np.repeat(np.arange(len(names)), lengths), matrix.data**2, minlength=len(names)))
        matrix.data /= np.repeat(np.maximum(norms, 1e-12), lengths).astype(np.float32)
        return cls(
            vocabulary=vocabulary,
            idf=idf.astype(np.float32),
            matrix=sparse.csr_array(matrix.T),
            concepts=np.array([name.concept for name in names], np.int32),
            name_rows=np.array([name.row for name in names], np.int32),
            ngram_range=ngram_range,
        )

    def search(self, text: str, k: int, mask: Mask | None) -> tuple[Ints, Floats, Ints]:
        """Return rows, scores and name rows of the best `k` concepts, best first, ties by row."""
        similar = self._similarities(text)
        if mask is not None:
            similar[~mask.array[self.concepts]] = 0.0
        found = np.flatnonzero(similar > 0)
        # of each concept its best name, of equally good names the first
        order = found[np.lexsort((self.name_rows[found], -similar[found], self.concepts[found]))]
        first = np.ones(len(order), np.bool_)
        first[1:] = self.concepts[order][1:] != self.concepts[order][:-1]
        best = order[first]
        best = best[np.lexsort((self.concepts[best], -similar[best]))][:k]
        return self.concepts[best], similar[best], self.name_rows[best]

    def _similarities(self, text: str) -> Floats:
        grams = Counter(gram for gram in _ngrams(text, self.ngram_range) if gram in self.vocabulary)
        rows = np.array([self.vocabulary[gram] for gram in grams], np.int64)
        weights = np.array(list(grams.values()), np.float32) * self.idf[rows]
        norm = float(np.sqrt((weights**2).sum()))
        similar = np.zeros(len(self.concepts), np.float32)
        if norm == 0:
            return similar
        for row, weight in zip(rows, weights / norm, strict=True):
            columns = slice(self.matrix.indptr[row], self.matrix.indptr[row + 1])
            similar[self.matrix.indices[columns]] += weight * self.matrix.data[columns]
        return np.minimum(similar, np.float32(1.0))


def _ngrams(text: str, ngram_range: tuple[int, int]) -> Iterable[str]:
    norm = basic(text)
    if not norm:
        return  # or all texts without letters would be the same
    padded = f" {norm} "
    low, high = ngram_range
    for size in range(low, high + 1):
        for start in range(len(padded) - size + 1):
            yield padded[start : start + size]
