"""A ranker: puts first what shares most words with the mention, as far as that has helped in training."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linnet import Candidates, Document, KnowledgeBase, Mention, Reranker, Step, align, blind


@dataclass(kw_only=True)
class Overlap(Reranker):
    """Adds a weighted share of common words to the scores of candidates; learns the weight."""

    kb: KnowledgeBase
    weight: float = field(default=0.0, init=False)

    USES_DEV = False

    def rerank(self, docs: Sequence[Document], /) -> list[list[Candidates]]:
        return [[self._scored(doc, mention, self.weight) for mention in doc.mentions or ()] for doc in docs]

    def _scored(self, doc: Document, mention: Mention, weight: float) -> Candidates:
        found, words = mention.candidates or Candidates.none(self.kb.version), set(doc.surface(mention).lower().split())
        names = [self.kb[row].name.lower().split() if row >= 0 else [] for row in found.rows.tolist()]
        shared = np.array([len(words & set(name)) / len(words | {*name, ""}) for name in names], np.float32)
        return replace(found, scores=((found.scores + weight * shared) / (1 + weight)).astype(np.float32)).sorted()

    def fit(
        self, train: Sequence[Document], dev: Any, /, *, before: Any, kb: KnowledgeBase, args: Any
    ) -> Iterator[Step]:
        seen = before(blind(train, before))  # what stands before answers as if it had not learned from these documents
        pairs = [(b, *pair) for a, b in zip(train, seen, strict=True) for pair in align(a, b)]
        asked = [(doc, gold.concepts, ours) for doc, gold, ours in pairs if gold and ours and gold.concepts]
        right = dict.fromkeys((0.0, 0.1, 0.3, 1.0), 0)
        for step, weight in enumerate(right, 1):
            firsts = [(ids, self._scored(doc, mention, weight).rows[:1].tolist()) for doc, ids, mention in asked]
            right[weight] = sum(kb.id(row) in ids for ids, rows in firsts for row in rows if row >= 0)
            yield Step(step, len(right))
        self.weight = max(right, key=lambda weight: right[weight])

    def learned_values(self) -> dict[str, Any]:
        return {"weight": self.weight}

    def restore_values(self, values: Any) -> None:
        self.weight = float(values["weight"])
