"""Concepts and surfaces in training documents, with counts: what slices need of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from linnet.data import Document
from linnet.kb import KnowledgeBase
from linnet.kb.successors import successor
from linnet.text.normalise import basic

__all__ = ["TrainingMentions"]

POPULAR = 100  # concepts (Varma et al. 2021)


@dataclass(frozen=True, slots=True)
class TrainingMentions:
    """The mentions of training documents in sum.

    Args:
        surfaces: their surfaces, in the form of `linnet.text.normalise.basic`.
        concepts: how many mentions each concept has, by live id; a mention of several concepts counts for each.
        pairs: which surface was annotated with which concept.
    """

    surfaces: frozenset[str]
    concepts: Mapping[str, int]
    pairs: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, train: Iterable[Document], *, kb: KnowledgeBase | None = None) -> TrainingMentions:
        """Return the sum of documents with gold mentions; `kb` maps retired ids to their successors.

        >>> from linnet.data import Mention
        >>> doc = Document("a", "Fits, fits.", mentions=(Mention(0, 4, concepts=("HP:1",)), Mention(6, 10)))
        >>> seen = TrainingMentions.of([doc])
        >>> sorted(seen.surfaces), dict(seen.concepts)
        (['fits'], {'HP:1': 1})
        """
        live = successor(kb)
        surfaces: set[str] = set()
        concepts: Counter[str] = Counter()
        pairs: set[tuple[str, str]] = set()
        for doc in train:
            for mention in doc.mentions or ():
                surface = basic(doc.surface(mention))
                ids = {live(id) for id in mention.concepts or ()}
                surfaces.add(surface)
                concepts.update(ids)
                pairs.update((surface, id) for id in ids)
        return cls(frozenset(surfaces), dict(concepts), frozenset(pairs))

    def popular(self, count: int = POPULAR) -> frozenset[str]:
        """Return the `count` concepts with the most mentions; of equally frequent ones the first by id.

        >>> TrainingMentions(frozenset(), {"HP:3": 1, "HP:2": 2, "HP:1": 1}, frozenset()).popular(2) == {"HP:1", "HP:2"}
        True
        """
        ordered = sorted((-mentions, id) for id, mentions in self.concepts.items())
        return frozenset(id for _, id in ordered[:count])
