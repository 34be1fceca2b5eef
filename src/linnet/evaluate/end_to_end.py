"""End to end: which spans were found, and which concepts at them, counted in every way that is in use.

`docs/measures.md` has the formulas, their sources and worked examples. Common to all: the same unit said twice counts
once; of several answers that gold accepts the first that was wholly predicted counts, or else the first; a mention
that was not linked (`concepts` is None) takes part in recognition alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.data import Document
from linnet.evaluate.measures import Measure
from linnet.evaluate.overlaps import Overlaps, one_to_one
from linnet.evaluate.tags import token_accuracy
from linnet.evaluate.units import NIL, AnswerRows, Corpus, Ints, Side, Spans, Units
from linnet.frozen import FrozenDict

__all__ = ["NELEVAL", "end_to_end", "recognition_by_type"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

NELEVAL: Mapping[str, str] = FrozenDict(
    {
        "strong_link_match": "strict",
        "strong_all_match": "strict-nil",
        "strong_nil_match": "nil",
        "strong_mention_match": "recognition.strict",
        "strong_typed_mention_match": "recognition.typed",
        "entity_match": "document",
        "overlap-maxmax::span+kbid": "overlap-maxmax",
    }
)
"""What neleval calls measures, and what they are called here."""


def end_to_end(pairs: Sequence[tuple[Document, Document]], *, live: Callable[[str], str]) -> list[Measure]:
    """Return all measures of detection and linking together, and of detection alone.

    Args:
        pairs: gold and predicted documents with the same text.
        live: maps an id to the id to compare: itself, or its successor in a release.

    Returns:
        Measures over the documents in their order: ``.precision``, ``.recall``, ``.f1`` summed over documents
        (micro) and ``.macro-precision``, ``.macro-recall``, ``.macro-f1`` (mean over the documents that hold anything)
        of every way of counting, and accuracies.

    >>> from linnet.data import Mention
    >>> gold = Document("a", "Short stature", mentions=(Mention(0, 13, concepts=("HP:0004322",)),))
    >>> near = Document("a", "Short stature", mentions=(Mention(6, 13, concepts=("HP:0004322",)),))
    >>> found = {measure.name: measure.value for measure in end_to_end([(gold, near)], live=str)}
    >>> found["strict.f1"], found["partial.f1"], found["document.f1"], found["overlap-maxmax.recall"]
    (0.0, 1.0, 1.0, 0.5384615384615384)
    """
    corpus = Corpus.of(pairs, live=live)
    hulls = Spans.of(corpus, parts=False)
    broken = len(corpus.numbers.shapes) > 1
    exact = Spans.of(corpus, parts=True) if broken else hulls
    by_hull = _Comparison.of(corpus, hulls)
    by_parts = _Comparison.of(corpus, exact) if broken else by_hull
    strict = by_hull.sets(links=True)
    return [
        *_prf("strict", strict),
        *_prf("strict-parts", by_parts.sets(links=True)),
        *_prf("strict-nil", by_hull.sets(links=True, nil=True)),
        *_prf("nil", by_hull.sets(nil=True)),
        *_prf("partial", by_parts.partial()),
        *_prf("overlap-maxmax", by_hull.proportional()),
        *_prf("a2w-weak", by_hull.weak()),
        *_prf("hunflair2", by_hull.tolerant()),
        *_prf("mention", strict),
        *_prf("document", by_hull.documents()),
        *_recognition(corpus, hulls, exact),
        *token_accuracy(pairs, corpus),
    ]


def recognition_by_type(pairs: Sequence[tuple[Document, Document]]) -> dict[str, list[Measure]]:
    """Return ``recognition.strict`` of every type that either side names, by type; ``""`` is a mention without any.

    >>> from linnet.data import Mention
    >>> doc = Document("a", "a cold", mentions=(Mention(2, 6, types=("Disease",)),))
    >>> [(type, measures[2].name, measures[2].value) for type, measures in recognition_by_type([(doc, doc)]).items()]
    [('Disease', 'recognition.strict.f1', 1.0)]
    """
    corpus = Corpus.of(pairs, live=str)
    spans = Spans.of(corpus, parts=False)
    gold, predicted = _list_typed(corpus.gold, spans.gold), _list_typed(corpus.predicted, spans.predicted)
    found = {}
    for type in sorted(corpus.numbers.types, key=lambda name: name or ""):
        label = corpus.numbers.types[type]
        one, other = (_mark(spans, units.span[units.label == label]) for units in (gold, predicted))
        if one.any() or other.any():
            found[type or ""] = _prf("recognition.strict", _count_both(corpus, spans, one, other))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Counts:
    """Of each document, float64 (documents,): what precision divides, and what recall divides."""

    found: Floats
    predicted: Floats
    hit: Floats
    gold: Floats


def _prf(name: str, counts: _Counts) -> list[Measure]:
    """Return micro and macro precision, recall and F1."""
    columns = (counts.found, counts.predicted, counts.hit, counts.gold)
    # 0/0 is 1 where nothing was there to find and nothing was found, and 0 where one side is silent
    empty = 0.0 if counts.predicted.any() or counts.gold.any() else 1.0
    held = ((counts.predicted > 0) | (counts.gold > 0)).astype(np.float64)
    precision, recall = _divide(*columns[:2]), _divide(*columns[2:])
    macro = {"precision": precision, "recall": recall, "f1": _divide(2 * precision * recall, precision + recall)}
    return [
        Measure(f"{name}.precision", np.stack(columns[:2], axis=1), empty),
        Measure(f"{name}.recall", np.stack(columns[2:], axis=1), empty),
        Measure(f"{name}.f1", np.stack(columns, axis=1), empty),
        *(Measure(f"{name}.macro-{of}", np.stack((figure, held), axis=1), empty) for of, figure in macro.items()),
    ]


def _divide(above: Floats, below: Floats) -> Floats:
    quotient: Floats = np.divide(above, below, out=np.zeros(len(below)), where=below != 0)
    return quotient


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    """Concepts at spans, gold and predicted, and the pairs of them that share characters."""

    corpus: Corpus
    spans: Spans
    gold: Units
    predicted: Units
    answers: AnswerRows
    unit: Ints  # (rows of answers,): the gold unit that a row is
    overlaps: Overlaps

    @classmethod
    def of(cls, corpus: Corpus, spans: Spans) -> _Comparison:
        answers, other = corpus.gold.answers, corpus.predicted.answers
        gold, unit = Units.of(spans.gold[answers.owner[answers.answer]], answers.label)
        predicted, _ = Units.of(spans.predicted[other.owner[other.answer]], other.label)
        return cls(corpus, spans, gold, predicted, answers, unit, Overlaps.of(corpus, spans, gold, predicted))

    def paired(self, pairs: Bools) -> Bools:
        """Return the gold units in some of the `pairs`, bool (pairs,) -> bool (gold units,)."""
        met = np.zeros(len(self.gold), np.bool_)
        met[self.overlaps.gold[pairs]] = True
        return met

    def wanted(self, met: Bools) -> Bools:
        """Return the gold units that count, bool (gold units,): those of one accepted answer of each mention.

        Args:
            met: bool (gold units,), which units were predicted.
        """
        count = len(self.answers.owner)
        size, right = (
            np.bincount(rows, minlength=count) for rows in (self.answers.answer, self.answers.answer[met[self.unit]])
        )
        kept = np.zeros(len(self.gold), np.bool_)
        kept[self.unit[self.answers.pick(size == right)[self.answers.answer]]] = True
        return kept

    def sets(self, *, links: bool = False, nil: bool = False) -> _Counts:
        """Count the units with the same span and label: concepts (`links`), the answer that none fits (`nil`)."""
        one, other = (
            ((units.label != NIL) & links) | ((units.label == NIL) & nil) for units in (self.gold, self.predicted)
        )
        kept = self.wanted(self.paired(self.overlaps.exact)) & one
        right = self.overlaps.exact & kept[self.overlaps.gold]
        tp = self.by_document(self.gold.span[self.overlaps.gold[right]])
        return _Counts(tp, self.by_document(self.predicted.span[other]), tp, self.by_document(self.gold.span[kept]))

    def overlapping(self, *, nil: bool = False) -> tuple[Bools, Bools]:
        """Return the gold units that count, and the pairs they are in: what shares characters is right."""
        everything = np.ones(len(self.overlaps.gold), np.bool_)
        kept = self.wanted(self.paired(everything)) & ((self.gold.label != NIL) | nil)
        return kept, kept[self.overlaps.gold]

    def partial(self) -> _Counts:
        """Count pairs, one to one, with the same concept and a common character."""
        kept, fit = self.overlapping()
        sizes = len(self.gold), len(self.predicted)
        matched = one_to_one(self.overlaps.gold[fit], self.overlaps.predicted[fit], sizes=sizes)
        tp = self.by_document(self.gold.span[matched])
        predicted = self.by_document(self.predicted.span[self.predicted.label != NIL])
        return _Counts(tp, predicted, tp, self.by_document(self.gold.span[kept]))

    def proportional(self) -> _Counts:
        """Give every unit the share of its characters that the best unit of the other side covers, NIL included."""
        kept, fit = self.overlapping(nil=True)
        best, other_best = np.zeros(len(self.gold)), np.zeros(len(self.predicted))
        np.maximum.at(best, self.overlaps.gold[fit], self.overlaps.shared[fit])
        np.maximum.at(other_best, self.overlaps.predicted[fit], self.overlaps.shared[fit])
        length = self.spans.end - self.spans.start
        gold, predicted = self.gold.span, self.predicted.span
        return _Counts(
            self.by_document(predicted, other_best / length[predicted]),
            self.by_document(predicted),
            self.by_document(gold[kept], (best / length[gold])[kept]),
            self.by_document(gold[kept]),
        )

    def weak(self) -> _Counts:
        """Count the predicted units that some gold unit makes right, and the gold units that none makes right."""
        kept, fit = self.overlapping()
        right, missed = np.zeros(len(self.predicted), np.bool_), kept.copy()
        right[self.overlaps.predicted[fit]] = True
        missed[self.overlaps.gold[fit]] = False
        tp = self.by_document(self.predicted.span[right])
        predicted = self.by_document(self.predicted.span[self.predicted.label != NIL])
        return _Counts(tp, predicted, tp, tp + self.by_document(self.gold.span[missed]))

    def tolerant(self) -> _Counts:
        """Count spans with any concept in common, start or end off by one character at most."""
        fit = (self.gold.label[self.overlaps.gold] != NIL) & (self.overlaps.apart <= 1)
        gold, predicted = (_mark(self.spans, units.span[units.label != NIL]) for units in (self.gold, self.predicted))
        missed = gold & ~_mark(self.spans, self.gold.span[self.overlaps.gold[fit]])
        right = _mark(self.spans, self.predicted.span[self.overlaps.predicted[fit]])
        tp = self.by_document(right)
        return _Counts(tp, self.by_document(predicted), tp, tp + self.by_document(missed))

    def documents(self) -> _Counts:
        """Count the concepts of each document, wherever they are in it."""
        doc, other_doc = self.spans.doc[self.gold.span], self.spans.doc[self.predicted.span]
        labels = int(max(self.gold.label.max(initial=0), self.predicted.label.max(initial=0))) + 1
        met = np.isin(doc * labels + self.gold.label, other_doc * labels + self.predicted.label)
        # a concept is a document's, but that none fits is said of a span
        met = np.where(self.gold.label == NIL, self.paired(self.overlaps.exact), met)
        kept, said = self.wanted(met) & (self.gold.label != NIL), self.predicted.label != NIL
        gold, _ = Units.of(doc[kept], self.gold.label[kept])
        predicted, _ = Units.of(other_doc[said], self.predicted.label[said])
        tp, have, want = (
            np.bincount(documents, minlength=self.corpus.documents).astype(np.float64)
            for documents in (_intersect(gold, predicted).span, predicted.span, gold.span)
        )
        return _Counts(tp, have, tp, want)

    def by_document(self, spans: Ints | Bools, weights: Floats | None = None) -> Floats:
        return _by_document(self.corpus, self.spans, spans, weights)


def _by_document(corpus: Corpus, spans: Spans, which: Ints | Bools, weights: Floats | None = None) -> Floats:
    """Return how many of the spans lie in each document, float64 (documents,), or the sum of their weights."""
    counts = np.bincount(spans.doc[which], weights, minlength=corpus.documents)
    return counts.astype(np.float64)


def _mark(spans: Spans, numbers: Ints) -> Bools:
    """Return which spans are in a list, bool (spans,)."""
    marked = np.zeros(len(spans.doc), np.bool_)
    marked[numbers] = True
    return marked


def _count_both(corpus: Corpus, spans: Spans, gold: Bools, predicted: Bools) -> _Counts:
    """Count the spans of either side and those of both."""
    tp = _by_document(corpus, spans, gold & predicted)
    return _Counts(tp, _by_document(corpus, spans, predicted), tp, _by_document(corpus, spans, gold))


def _intersect(gold: Units, predicted: Units) -> Units:
    """Return the units of both sides."""
    labels = int(max(gold.label.max(initial=0), predicted.label.max(initial=0))) + 1
    one, other = (units.span * labels + units.label for units in (gold, predicted))
    keys = np.intersect1d(one, other, assume_unique=True)
    return Units(keys // labels, keys % labels)


def _list_typed(side: Side, span: Ints) -> Units:
    return Units.of(span[side.typed], side.type)[0]


def _recognition(corpus: Corpus, hulls: Spans, exact: Spans) -> list[Measure]:
    """Return the measures of spans without concepts, and of their types."""
    gold, predicted = _mark(hulls, hulls.gold), _mark(hulls, hulls.predicted)
    one, other = _list_typed(corpus.gold, hulls.gold), _list_typed(corpus.predicted, hulls.predicted)
    both = _intersect(one, other).span
    tp = _by_document(corpus, hulls, both)
    typed = _Counts(tp, _by_document(corpus, hulls, other.span), tp, _by_document(corpus, hulls, one.span))
    # types agree where common, gold and predicted types are equally many
    sizes = [np.bincount(span, minlength=len(hulls.doc)) for span in (one.span, other.span, both)]
    found = gold & predicted
    right = found & (sizes[0] == sizes[2]) & (sizes[1] == sizes[2])
    accuracy = np.stack([_by_document(corpus, hulls, which) for which in (right, found)], axis=1)
    return [
        *_prf("recognition.strict", _count_both(corpus, hulls, gold, predicted)),
        *_prf("recognition.partial", _partial_recognition(corpus, exact)),
        *_prf("recognition.typed", typed),
        Measure("typing.accuracy", accuracy, 0.0 if gold.any() or predicted.any() else 1.0),
    ]


def _partial_recognition(corpus: Corpus, spans: Spans) -> _Counts:
    gold, predicted = (Units.of(span, np.zeros_like(span))[0] for span in (spans.gold, spans.predicted))
    overlaps = Overlaps.of(corpus, spans, gold, predicted)
    matched = one_to_one(overlaps.gold, overlaps.predicted, sizes=(len(gold), len(predicted)))
    tp = _by_document(corpus, spans, gold.span[matched])
    return _Counts(tp, _by_document(corpus, spans, predicted.span), tp, _by_document(corpus, spans, gold.span))
