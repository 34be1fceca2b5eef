"""Judging a network in the middle of its training by the concepts it finds for mentions: the names nearest to each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates, Document
from linnet.index.name_vectors import NameVectors, NameVectorsFile, SearchedNames
from linnet.kb import KnowledgeBase
from linnet.pipeline import Component, Step
from linnet.pipeline.component import align, blind
from linnet.pipeline.pipeline import prepared
from linnet.text.contexts import InContext
from linnet.train.args import TrainArgs
from linnet.train.loop import train
from linnet.train.model import Trainable

__all__ = [
    "CurrentVectors",
    "FindsByVectors",
    "Judge",
    "Linked",
    "ReadsMentions",
    "accuracy",
    "judged",
    "linked_mentions",
]


class Linked(NamedTuple):
    """A mention of a training document, with the concepts that are right for it."""

    context: InContext
    rows: frozenset[int]
    candidates: Candidates | None


class ReadsMentions(Component, Protocol):
    """A component on a knowledge base that reads mentions in their contexts."""

    @property
    def kb(self) -> KnowledgeBase:
        """The knowledge base."""
        ...

    def contexts(self, doc: Document) -> list[InContext]:
        """Return the mentions of a document as they are read."""
        ...


def linked_mentions(part: ReadsMentions, docs: Sequence[Document], before: Component | None = None) -> list[Linked]:
    """Return the mentions of documents that have a concept of the knowledge base, with candidates of `before`.

    Mentions that `before` does not answer as they are, such as composites that it takes apart, come without.
    """
    seen = prepared(docs, part)
    answered = before(blind(docs, before)) if before is not None else []
    linked = []
    for number, doc in enumerate(seen):
        pairs = align(doc, answered[number]) if before is not None else []
        for place, (mention, context) in enumerate(zip(doc.mentions or (), part.contexts(doc), strict=True)):
            answers = [mention.concepts or (), *mention.alternatives]
            ids = [answer[0] for answer in answers if len(answer) == 1 and answer[0] in part.kb]
            if ids:
                partner = pairs[place][1] if pairs else None
                found = partner.candidates if partner is not None else None
                linked.append(Linked(context, frozenset(part.kb.row(id) for id in ids), found))
    return linked


class FindsByVectors(Protocol):
    """A component that compares vectors of mentions with those of names that it is shown."""

    def encode_mentions(self, mentions: Sequence[InContext]) -> npt.NDArray[np.float32]:
        """Return the vectors of mentions in their contexts, float32 (mentions, d) of length 1."""
        ...

    def search(self, vectors: npt.NDArray[np.float32], k: int) -> list[Candidates]:
        """Return the nearest concepts of vectors of mentions."""
        ...

    def show(self, vectors: SearchedNames) -> None:
        """Take these vectors for those of all names."""
        ...

    def hide(self) -> None:
        """Forget the vectors of names."""
        ...


class CurrentVectors:
    """The vectors of all names by the weights as they are, in the middle of a training.

    Args:
        names: gives their file.
    """

    def __init__(self, names: Callable[[], NameVectorsFile]) -> None:
        self.names = names
        self._begun = names().about
        self._made: tuple[dict[str, Any], NameVectors] | None = None

    def vectors(self) -> NameVectors:
        """Return the vectors; made once for the dev score and for mining.

        Those by the weights that training begins with are kept beside the knowledge base for the next one.
        """
        names = self.names()
        if self._made is None or self._made[0] != names.about:
            kept = names.searched("flat") if names.about == self._begun else None
            self._made = (names.about, kept if isinstance(kept, NameVectors) else names.in_memory())
        return self._made[1]


class Judge(CurrentVectors):
    """Judges a component's network as it is, in the middle of its training.

    Args:
        part: the component.
        names: gives the file of the vectors of all names by the weights as they are.
    """

    def __init__(self, part: FindsByVectors, names: Callable[[], NameVectorsFile]) -> None:
        super().__init__(names)
        self.part = part

    def accuracy(self, linked: Sequence[Linked]) -> float:
        """Return the share of mentions whose nearest concept is right, by names and aliases."""
        self.part.show(self.vectors())
        return accuracy(self.part, linked)

    def score(self, linked: Sequence[Linked]) -> Callable[[Sequence[Document]], float] | None:
        """Return what gives the gradient loop its dev score; None without a mention to judge by."""
        return (lambda _: self.accuracy(linked)) if linked else None


def accuracy(part: FindsByVectors, linked: Sequence[Linked]) -> float:
    """Return the share of mentions whose nearest concept is right, among the vectors that a component shows."""
    found = part.search(part.encode_mentions([one.context for one in linked]), 1)
    right = (len(c.rows) > 0 and int(c.rows[0]) in one.rows for one, c in zip(linked, found, strict=True))
    return sum(right) / len(linked)


def judged(
    training: Trainable,
    judge: Judge,
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    linked: Sequence[Linked],
    args: TrainArgs,
    folder: Path | None,
    key: str,
) -> Iterator[Step]:
    """Run the gradient loop with the dev score of a component, and show the vectors that its names have in the end.

    Its dev score is that of the mentions `linked`, of the documents `dev`.
    """
    try:
        yield from train(training, docs, dev, score=judge.score(linked), args=args, folder=folder, key=key)
    finally:  # also where the caller stops: what was shown for a score is of other weights than those it ends with
        judge.part.hide()
    judge.part.show(judge.vectors())
