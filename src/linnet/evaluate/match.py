"""Exact matching, micro-averaged over documents.

``mention``: a predicted (span, concept) pair is right if gold holds the same pair; the span of a discontinuous mention
is its hull. ``document``: a predicted concept of a document is right if gold names it anywhere in that document. Both
compare sets, so that saying the same thing twice counts once; NIL answers make no pairs. Where gold accepts
alternatives, the one that was predicted counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linnet.data import Document
from linnet.errors import MismatchError
from linnet.kb import KnowledgeBase

__all__ = ["Counts", "Report", "evaluate"]


@dataclass(frozen=True)
class Counts:
    """True positives, predicted and gold items, and what follows from them; 0/0 counts as 0, nothing at all as 1.

    >>> counts = Counts(right=6, predicted=8, gold=12)
    >>> counts.precision, counts.recall, counts.f1
    (0.75, 0.5, 0.6)
    """

    right: int
    predicted: int
    gold: int

    def _ratio(self, whole: int) -> float:
        if whole:
            return self.right / whole
        return 1.0 if self.predicted == self.gold == 0 else 0.0

    @property
    def precision(self) -> float:
        """Share of the predicted items that are right."""
        return self._ratio(self.predicted)

    @property
    def recall(self) -> float:
        """Share of the gold items that were predicted."""
        return self._ratio(self.gold)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        if self.predicted + self.gold == 0:
            return 1.0
        return 2 * self.right / (self.predicted + self.gold)


@dataclass(frozen=True)
class Report:
    """The measures of one comparison, by name, over `documents` documents."""

    documents: int
    measures: dict[str, Counts]

    def __getitem__(self, name: str) -> Counts:
        return self.measures[name]


Pair = tuple[int, int, str]


def evaluate(gold: Sequence[Document], predicted: Sequence[Document], *, kb: KnowledgeBase | None = None) -> Report:
    """Compare predicted with gold documents, matched by id.

    Args:
        gold: documents with gold mentions.
        predicted: the same documents, in any order, with predicted mentions.
        kb: maps retired ids of both sides to their successors, so that releases can be compared.

    Raises:
        MismatchError: documents are missing on one side, stand twice, or differ in their text, or the predicted ones
            hold gold mentions, which would count as right.
    """
    ours = _by_id(predicted, "predicted")
    theirs = _by_id(gold, "gold")
    _same_documents(theirs, ours)
    _no_gold(predicted)
    live = _successor(kb)
    mention = [0, 0, 0]
    document = [0, 0, 0]
    for id, doc in theirs.items():
        have = _pairs(ours[id], live)
        want = _wanted(doc, live, have)
        _add(mention, want, have)
        _add(document, {id for _, _, id in want}, {id for _, _, id in have})
    measures = {"mention": Counts(*mention), "document": Counts(*document)}
    return Report(documents=len(theirs), measures=measures)


def _successor(kb: KnowledgeBase | None) -> Callable[[str], str]:
    known: dict[str, str] = {}

    def live(id: str) -> str:
        if kb is None:
            return id
        if id not in known:
            known[id] = kb.id(kb.row(id)) if id in kb else id
        return known[id]

    return live


def _wanted(doc: Document, live: Callable[[str], str], have: set[Pair]) -> set[Pair]:
    """Return the gold pairs; of the alternative answers of a mention those that were predicted, else the first."""
    want: set[Pair] = set()
    for mention in doc.mentions or ():
        answers = [mention.concepts or (), *mention.alternatives]
        pairs = [{(mention.start, mention.end, live(id)) for id in answer} for answer in answers]
        want |= next((answer for answer in pairs if answer and answer <= have), pairs[0])
    return want


def _pairs(doc: Document, live: Callable[[str], str]) -> set[Pair]:
    return {(m.start, m.end, live(id)) for m in doc.mentions or () for id in m.concepts or ()}


def _add(counts: list[int], want: set[Pair] | set[str], have: set[Pair] | set[str]) -> None:
    counts[0] += len(want & have)
    counts[1] += len(have)
    counts[2] += len(want)


def _by_id(docs: Sequence[Document], what: str) -> dict[str, Document]:
    found: dict[str, Document] = {}
    for doc in docs:
        if doc.id in found:
            raise MismatchError(f"{what} document {doc.id!r} stands twice; ids must be unique")
        found[doc.id] = doc
    return found


def _same_documents(gold: dict[str, Document], predicted: dict[str, Document]) -> None:
    for what, one, other in (("predicted", gold, predicted), ("gold", predicted, gold)):
        if missing := [id for id in one if id not in other]:
            raise MismatchError(f"{len(missing)} documents are not among the {what} ones: {_some(missing)}")
    if changed := [id for id, doc in gold.items() if doc.text != predicted[id].text]:
        raise MismatchError(f"{len(changed)} documents have another text on the other side: {_some(changed)}")


def _no_gold(predicted: Sequence[Document]) -> None:
    if holding := [doc.id for doc in predicted if any(mention.source == "gold" for mention in doc.mentions or ())]:
        raise MismatchError(
            f"{len(holding)} predicted documents hold gold mentions, which are no predictions: {_some(holding)}; "
            "hide them from the pipeline (doc.bare(), doc.spans_only())"
        )


def _some(ids: Sequence[str]) -> str:
    return ", ".join(map(repr, ids[:5])) + (", …" if len(ids) > 5 else "")
