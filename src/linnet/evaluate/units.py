"""What is compared end to end, as columns: the distinct (span, label) units of gold and of predicted documents.

A unit is a span with one label: a concept, a type, or nothing at all (recognition). A mention with two concepts makes
two units; the same unit said twice is one. Offsets become places in one long line of text, document after document,
so that documents never touch and a whole corpus is compared at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.data import Document, Mention, Span

__all__ = ["NIL", "AnswerRows", "Corpus", "Ints", "Labels", "Numbers", "Side", "Spans", "Units"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NIL = 0  # the label of "no concept fits", and of a mention without types
NOTHING = (None,)


class Labels(dict[str | None, int]):
    """Numbers for texts in the order of their first use, from 1 on; `NIL` for None.

    Texts that `same` maps to the same text share their number.

    >>> labels = Labels(str.upper)
    >>> [labels[text] for text in ("B", "A", "b", None)], labels.size
    ([1, 2, 1, 0], 3)
    """

    def __init__(self, same: Callable[[str], str] = str) -> None:
        super().__init__({None: NIL})
        self._same = same
        self._numbers: dict[str, int] = {}

    def __missing__(self, text: str) -> int:
        self[text] = number = self._numbers.setdefault(self._same(text), len(self._numbers) + 1)
        return number

    @property
    def size(self) -> int:
        """How many numbers there are, that of None included."""
        return len(self._numbers) + 1


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRows:
    """Accepted answers of mentions: which labels each is made of.

    ``owner`` int64 (answers,) is the mention, in order, its answers standing together and the first of them first;
    ``answer`` and ``label`` int64 (rows,) say what each answer holds: one row a concept, one row `NIL` for none.
    """

    owner: Ints
    answer: Ints
    label: Ints

    def pick(self, whole: Bools) -> Bools:
        """Return one answer of each mention, bool (answers,): the first that is `whole`, or else the first."""
        picked = np.zeros(len(self.owner), np.bool_)
        if len(self.owner):
            first = np.flatnonzero(np.diff(self.owner, prepend=-1))
            number = np.where(whole, np.arange(len(self.owner)), len(self.owner))
            best = np.minimum.reduceat(number, first)
            picked[np.where(best < len(self.owner), best, first)] = True
        return picked


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The meaning of the numbers on both sides: concepts, types, and parts of mentions relative to their document."""

    concepts: Labels
    types: Labels
    shapes: dict[tuple[Span, ...], int]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The mentions of one side, gold or predicted, in the order of the documents.

    ``doc``, ``start``, ``end`` (places in the long line) and ``shape`` (0 = continuous, else a number in
    `Numbers.shapes`) are int64 (mentions,); ``typed`` and ``type`` are int64 (rows,): a mention and one of its types.
    """

    doc: Ints
    start: Ints
    end: Ints
    shape: Ints
    answers: AnswerRows
    typed: Ints
    type: Ints

    @classmethod
    def of(cls, documents: Sequence[Document], base: Ints, numbers: Numbers, *, alternatives: bool) -> Side:
        """Read the mentions of documents that begin at `base` in the long line, with or without `alternatives`."""
        counts = [len(document.mentions or ()) for document in documents]
        mentions = [mention for document in documents for mention in document.mentions or ()]
        doc = np.repeat(np.arange(len(documents)), counts)
        start, end, shape, sizes = (
            np.fromiter(column, np.int64, len(mentions))
            for column in (
                (mention.start for mention in mentions),
                (mention.end for mention in mentions),
                (numbers.shapes.setdefault(mention.parts, len(numbers.shapes)) for mention in mentions),
                (len(mention.types) or 1 for mention in mentions),
            )
        )
        types = numbers.types
        type = np.array([types[type] for mention in mentions for type in mention.types or NOTHING], np.int64)
        typed = np.repeat(np.arange(len(mentions)), sizes)
        answers = _answers(mentions, numbers.concepts, alternatives=alternatives)
        return cls(doc, start + base[doc], end + base[doc], shape, answers, typed, type)


def _answers(mentions: Sequence[Mention], concepts: Labels, *, alternatives: bool) -> AnswerRows:
    owner: list[int] = []
    accepted: list[tuple[str, ...]] = []
    for row, mention in enumerate(mentions):
        if mention.concepts is not None:  # not linked is not the answer that nothing fits
            accepted.append(mention.concepts)
            owner.append(row)
        if alternatives and mention.alternatives:
            accepted += mention.alternatives
            owner += [row] * len(mention.alternatives)
    sizes = np.array([len(ids) or 1 for ids in accepted], np.int64)
    label = [concepts[id] for ids in accepted for id in ids or NOTHING]
    answer = np.repeat(np.arange(len(accepted)), sizes)
    return AnswerRows(np.array(owner, np.int64), answer, np.array(label, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Both sides of a comparison as columns.

    ``documents`` counts them, ``base`` int64 (documents,) is where each begins in the long line, ``length`` that of
    the line.
    """

    documents: int
    base: Ints
    length: int
    numbers: Numbers
    gold: Side
    predicted: Side

    @classmethod
    def of(cls, pairs: Sequence[tuple[Document, Document]], *, live: Callable[[str], str]) -> Corpus:
        """Read the mentions of gold and predicted documents; ids go through `live`."""
        lengths = [max(len(gold.text), len(predicted.text)) + 1 for gold, predicted in pairs]
        ends = np.cumsum(np.array(lengths, np.int64))
        base = ends - np.array(lengths, np.int64)
        numbers = Numbers(Labels(live), Labels(), {(): 0})
        gold = Side.of([gold for gold, _ in pairs], base, numbers, alternatives=True)
        predicted = Side.of([predicted for _, predicted in pairs], base, numbers, alternatives=False)
        return cls(len(pairs), base, sum(lengths), numbers, gold, predicted)


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """The distinct spans of both sides: their hulls, or their parts where ``shape`` tells them apart.

    ``doc``, ``start``, ``end`` and ``shape`` are int64 (spans,); ``gold`` and ``predicted`` int64 (mentions,) say
    which span a mention has.
    """

    doc: Ints
    start: Ints
    end: Ints
    shape: Ints
    gold: Ints
    predicted: Ints

    @classmethod
    def of(cls, corpus: Corpus, *, parts: bool) -> Spans:
        """Return the spans of a corpus: by their `parts`, or by their hulls."""
        one, other = corpus.gold, corpus.predicted
        doc, start, end, shape = (
            np.concatenate(columns)
            for columns in (
                (one.doc, other.doc),
                (one.start, other.start),
                (one.end, other.end),
                (one.shape, other.shape) if parts else (np.zeros_like(one.shape), np.zeros_like(other.shape)),
            )
        )
        width = int((end - start).max(initial=0)) + 1
        _, number = np.unique(start * width + (end - start), return_inverse=True)
        _, first, number = np.unique(
            number * (shape.max(initial=0) + 1) + shape, return_index=True, return_inverse=True
        )
        count = len(one.doc)
        return cls(doc[first], start[first], end[first], shape[first], number[:count], number[count:])


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Distinct (span, label) units of one side, ``span`` and ``label`` int64 (units,), in the order of the spans."""

    span: Ints
    label: Ints

    @classmethod
    def of(cls, span: Ints, label: Ints) -> tuple[Units, Ints]:
        """Return the units of rows (span, label), and the unit of every row, int64 (rows,)."""
        labels = int(label.max(initial=0)) + 1
        keys, unit = np.unique(span * labels + label, return_inverse=True)
        return cls(keys // labels, keys % labels), unit

    def __len__(self) -> int:
        return len(self.span)
