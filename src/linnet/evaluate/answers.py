"""Accepted answers, predicted answers, and the ranks of accepted answers among candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from linnet.data import Mention
from linnet.errors import DataError
from linnet.evaluate.places import places
from linnet.kb import KnowledgeBase
from linnet.kb.successors import row_of, successor

__all__ = ["RULES", "Answer", "Answers", "Rule", "ranks"]

Rule = Literal["all-of", "any-of"]
RULES: Sequence[Rule] = get_args(Rule)
Answer = frozenset[str]  # live ids that hold together; none = NIL
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
ABSENT = np.iinfo(np.int64).max  # a place behind all others


class Answers:
    """Answers as sets of live ids, under one rule of what makes an answer of several ids right.

    Args:
        kb: maps retired ids and says what it holds; None = ids stay as they are and everything is held.
        rule: ``all-of`` or ``any-of``, see `linnet.evaluate.linked.Linked.of`.

    >>> gold = Mention(0, 4, concepts=("HP:1", "HP:2"), alternatives=(("HP:3",),))
    >>> ours = [Mention(0, 4, concepts=concepts) for concepts in (("HP:2", "HP:1"), ("HP:3",), ("HP:2",))]
    >>> [Answers(None, "all-of").right(gold, mention) for mention in ours]
    [True, True, False]
    """

    def __init__(self, kb: KnowledgeBase | None, rule: Rule) -> None:
        if rule not in RULES:
            raise DataError(f"rule {rule!r} is none of {', '.join(RULES)}")
        self.kb, self.rule = kb, rule
        self.live = successor(kb)
        self._sets: dict[tuple[str, ...], Answer] = {}
        self._held: dict[str, bool] = {}

    def of(self, concepts: tuple[str, ...]) -> Answer:
        """Return one answer as a set."""
        found = self._sets.get(concepts)
        if found is None:
            found = self._sets[concepts] = frozenset(map(self.live, concepts))
        return found

    def accepted(self, gold: Mention) -> list[Answer]:
        """Return the answers that gold accepts."""
        first = self.of(gold.concepts or ())
        return [first, *map(self.of, gold.alternatives)] if gold.alternatives else [first]

    def right(self, gold: Mention, predicted: Mention) -> bool:
        """Return whether a prediction answers a gold mention."""
        if predicted.concepts is None:
            return False
        if predicted.concepts == gold.concepts:  # most answers, and no id is looked up for them
            return True
        said, accepted = self.of(predicted.concepts), self.accepted(gold)
        return said in accepted or (self.rule == "any-of" and any(said & answer for answer in accepted))

    def held(self, answer: Answer) -> bool:
        """Return whether the knowledge base holds all concepts of an answer that is not NIL."""
        return bool(answer) and all(map(self._holds, answer))

    def _holds(self, id: str) -> bool:
        found = self._held.get(id)
        if found is None:
            found = self._held[id] = self.kb is None or row_of(self.kb)(id) is not None
        return found

    def sought(self, gold: Mention) -> Iterator[tuple[str | None, ...]]:
        """Yield what must be among the candidates, each time all of it; None = NIL."""
        for answer in set(self.accepted(gold)):
            ids: list[str | None] = [*sorted(answer)] or [None]
            if self.rule == "any-of":
                yield from ((id,) for id in ids)
            else:
                yield tuple(ids)


def ranks(
    gold: Sequence[Mention], predicted: Sequence[Mention | None], answers: Answers, *, where: Sequence[str]
) -> tuple[Ints, Floats]:
    """Return the place at which each gold mention is found and its average precision, int64 and float64 (mentions,).

    Args:
        gold: gold mentions.
        predicted: the mention predicted for each, None where there is none.
        answers: what is accepted.
        where: the id of the document of each mention, for messages.

    Raises:
        MismatchError: candidates that `linnet.evaluate.places.places` refuses.
    """
    sought = [(row, ids) for row, mention in enumerate(gold) for ids in answers.sought(mention)]
    row = np.array([row for row, _ in sought], np.int64)
    size = np.array([len(ids) for _, ids in sought], np.int64)
    lists = [None if mention is None else mention.candidates for mention in predicted]
    wanted = [id for _, ids in sought for id in ids]
    last, precision = _combine(places(lists, np.repeat(row, size), wanted, kb=answers.kb, where=where), size)
    rank, best = np.full(len(gold), ABSENT), np.zeros(len(gold))
    np.minimum.at(rank, row, last)
    np.maximum.at(best, row, precision)
    return np.where(rank < ABSENT, rank, 0), best


def _combine(place: Ints, size: Ints) -> tuple[Ints, Floats]:
    """Return of each answer the place of its last id (`ABSENT` if not all are there) and its average precision.

    Args:
        place: int64 (ids,), the places of the ids of all answers, 0 = absent.
        size: int64 (answers,), of how many ids each answer is.
    """
    if not len(size):
        return np.zeros(0, np.int64), np.zeros(0)
    answer, begins = np.repeat(np.arange(len(size)), size), np.cumsum(size) - size
    far = np.where(place > 0, place, ABSENT)
    far = far[np.lexsort((far, answer))]
    nth = np.arange(len(far)) - begins[answer] + 1
    precision = np.add.reduceat(np.where(far < ABSENT, nth / far, 0.0), begins) / size
    return np.maximum.reduceat(far, begins), precision
