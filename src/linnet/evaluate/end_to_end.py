"""End to end: which spans were found, and which concepts at them, counted in every way that is in use.

`docs/measures.md` has the formulas, their sources and worked examples. Common to all: the same unit said twice counts
once; of several answers that gold accepts the first that was wholly predicted counts, or else the first; a mention
that was not linked (`concepts` is None) takes part in recognition alone.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from linnet.data import Document, Mention, Span
from linnet.evaluate.measures import Measure
from linnet.evaluate.tags import token_accuracy

__all__ = ["Pairs", "count_anywhere", "end_to_end", "matching_size", "meeting", "prf", "recognition_by_type"]

Floats = npt.NDArray[np.float64]
Unit = tuple[tuple[Span, ...], str | None]  # where it is, and its label: a concept, `NIL`, or nothing (recognition)
Row = tuple[float, float, float, float]  # of one document: what precision divides, and what recall divides
Pairs = Sequence[tuple[Document, Document]]

NIL = None  # the label of "no concept fits"
LINKED = (
    "strict", "strict-parts", "strict-nil", "nil", "partial", "overlap-maxmax", "a2w-weak", "hunflair2", "mention",
    "document",
)  # fmt: skip
RECOGNISED = ("recognition.strict", "recognition.partial", "recognition.typed")


def end_to_end(pairs: Pairs, *, live: Callable[[str], str]) -> list[Measure]:
    """Return all measures of detection and linking together, and of detection alone.

    Args:
        pairs: gold and predicted documents with the same text.
        live: maps an id to the id to compare: itself, or its successor in a release.

    Returns:
        Measures over the documents in their order: ``.precision``, ``.recall``, ``.f1`` summed over documents
        (micro) and ``.macro-precision``, ``.macro-recall``, ``.macro-f1`` (mean over the documents that hold anything)
        of every way of counting, and accuracies.

    >>> gold = Document("a", "Short stature", mentions=(Mention(0, 13, concepts=("HP:0004322",)),))
    >>> near = Document("a", "Short stature", mentions=(Mention(6, 13, concepts=("HP:0004322",)),))
    >>> found = {measure.name: measure.value for measure in end_to_end([(gold, near)], live=str)}
    >>> found["strict.f1"], found["partial.f1"], found["document.f1"], found["overlap-maxmax.recall"]
    (0.0, 1.0, 1.0, 0.5384615384615384)
    """
    rows = [_count_linked(gold, predicted, live) | _count_recognised(gold, predicted) for gold, predicted in pairs]
    measures = [one for name in (*LINKED, *RECOGNISED) for one in prf(name, [row[name] for row in rows])]
    typed = np.array([_compare_types(*pair) for pair in pairs], np.float64).reshape(-1, 2)
    anything = any(doc.mentions for pair in pairs for doc in pair)
    typing = Measure("typing.accuracy", typed, 0.0 if anything else 1.0)
    return [*measures, typing, *token_accuracy(pairs)]


def recognition_by_type(pairs: Pairs) -> dict[str, list[Measure]]:
    """Return ``recognition.strict`` of every type that either side names, by type; ``""`` is a mention without any.

    >>> doc = Document("a", "a cold", mentions=(Mention(2, 6, types=("Disease",)),))
    >>> [(type, measures[2].name, measures[2].value) for type, measures in recognition_by_type([(doc, doc)]).items()]
    [('Disease', 'recognition.strict.f1', 1.0)]
    """
    sides = [tuple(map(_spans_by_type, pair)) for pair in pairs]
    nothing: set[Span] = set()
    return {
        type: prf("recognition.strict", [_both(one.get(type, nothing), two.get(type, nothing)) for one, two in sides])
        for type in sorted({type for pair in sides for side in pair for type in side})
    }


def prf(name: str, rows: Sequence[Row]) -> list[Measure]:
    """Return micro and macro precision, recall and F1 of a way of counting, one row for each document.

    >>> [(one.name, one.value) for one in prf("strict", [(1, 2, 1, 1)])][:2]
    [('strict.precision', 0.5), ('strict.recall', 1.0)]
    """
    counts = np.array(rows, np.float64).reshape(-1, 4)
    found, predicted, hit, gold = counts.T
    # 0/0 is 1 where nothing was there to find and nothing was found, and 0 where one side is silent
    empty = 0.0 if predicted.any() or gold.any() else 1.0
    held = ((predicted > 0) | (gold > 0)).astype(np.float64)
    precision, recall = _divide(found, predicted), _divide(hit, gold)
    macro = {"precision": precision, "recall": recall, "f1": _divide(2 * precision * recall, precision + recall)}
    return [
        Measure(f"{name}.precision", counts[:, :2], empty),
        Measure(f"{name}.recall", counts[:, 2:], empty),
        Measure(f"{name}.f1", counts, empty),
        *(Measure(f"{name}.macro-{of}", np.stack((figure, held), axis=1), empty) for of, figure in macro.items()),
    ]


def _divide(above: Floats, below: Floats) -> Floats:
    quotient: Floats = np.divide(above, below, out=np.zeros(len(below)), where=below != 0)
    return quotient


def _both(wanted: Collection[object], predicted: Collection[object]) -> Row:
    """Count what was predicted, what was wanted, and what is both."""
    right = len(set(wanted).intersection(predicted))
    return right, len(predicted), right, len(wanted)


def count_anywhere(gold: Document, predicted: Document, live: Callable[[str], str]) -> Row:
    """Count the concepts of a document, wherever they are in it (the measure ``document``).

    >>> doc = Document("a", "Fits.", mentions=(Mention(0, 4, concepts=("HP:1",)),))
    >>> count_anywhere(doc, Document("a", "Fits.", mentions=()), str)
    (0, 0, 0, 1)
    """
    return _Units(gold, predicted, live, parts=False).anywhere()


# --- concepts at spans -----------------------------------------------------------------------------------------------


def _count_linked(gold: Document, predicted: Document, live: Callable[[str], str]) -> dict[str, Row]:
    hulls = _Units(gold, predicted, live, parts=False)
    broken = any(mention.parts for doc in (gold, predicted) for mention in doc.mentions or ())
    exact = _Units(gold, predicted, live, parts=True) if broken else hulls
    wanted = hulls.wanted(hulls.predicted)
    strict = _both(_linked(wanted), _linked(hulls.predicted))
    return {
        "strict": strict,
        "strict-parts": _both(_linked(exact.wanted(exact.predicted)), _linked(exact.predicted)),
        "strict-nil": _both(wanted, hulls.predicted),
        "nil": _both(wanted - _linked(wanted), hulls.predicted - _linked(hulls.predicted)),
        "partial": exact.partial(),
        "overlap-maxmax": hulls.proportional(),
        "a2w-weak": hulls.weak(),
        "hunflair2": hulls.tolerant(),
        "mention": strict,
        "document": hulls.anywhere(),
    }


def _linked(units: Iterable[Unit]) -> set[Unit]:
    return {unit for unit in units if unit[1] is not NIL}


def _units(mention: Mention, answer: Sequence[str], *, live: Callable[[str], str], parts: bool) -> list[Unit]:
    """Return the spans of a mention with each concept of an answer, or with NIL."""
    spans = mention.spans if parts else (mention.span,)
    return [(spans, label) for label in (map(live, answer) if answer else (NIL,))]


class _Units:
    """The units of one document: those predicted, those of gold's answers, and the pairs of both that share characters.

    A mention with two concepts makes two units.

    Args:
        gold: the document with gold mentions.
        predicted: the same with predicted ones.
        live: maps ids to those that are compared.
        parts: a discontinuous mention is its parts, not its hull.
    """

    def __init__(self, gold: Document, predicted: Document, live: Callable[[str], str], *, parts: bool) -> None:
        units = functools.partial(_units, live=live, parts=parts)
        # accepted answers of each mention, the first of them first; not linked is not the answer that nothing fits
        self.answers = [
            [units(mention, answer) for answer in (mention.concepts, *mention.alternatives) if answer is not None]
            for mention in gold.mentions or ()
        ]
        self.gold = {unit for answers in self.answers for answer in answers for unit in answer}
        said = ((mention, mention.concepts) for mention in predicted.mentions or () if mention.concepts is not None)
        self.predicted = {unit for mention, answer in said for unit in units(mention, answer)}
        pairs = meeting(self.gold, self.predicted)
        self.shared = {pair: size for pair in pairs if (size := _count_shared(*pair))}  # characters of both

    def wanted(self, met: set[Unit]) -> set[Unit]:
        """Return the gold units that count: of each mention the first answer all of which is `met`, or the first."""
        found: set[Unit] = set()
        for answers in filter(None, self.answers):
            found.update(next((answer for answer in answers if met.issuperset(answer)), answers[0]))
        return found

    @functools.cached_property
    def touched(self) -> tuple[set[Unit], dict[tuple[Unit, Unit], int]]:
        """The gold units that count where what shares characters is right, and the pairs they are in."""
        wanted = self.wanted({one for one, _ in self.shared})
        return wanted, {pair: size for pair, size in self.shared.items() if pair[0] in wanted}

    def partial(self) -> Row:
        """Count pairs, one to one, with the same concept and a common character."""
        wanted, shared = self.touched
        right = matching_size([pair for pair in shared if pair[0][1] is not NIL])
        return right, len(_linked(self.predicted)), right, len(_linked(wanted))

    def proportional(self) -> Row:
        """Give every unit the share of its characters that the best unit of the other side covers, NIL included."""
        wanted, shared = self.touched
        best: dict[tuple[int, Unit], float] = {}
        for pair, size in shared.items():
            for side, unit in enumerate(pair):
                best[side, unit] = max(best.get((side, unit), 0.0), size / (unit[0][-1].end - unit[0][0].start))
        hit, found = (math.fsum(share for (of, _), share in best.items() if of == side) for side in (0, 1))
        return found, len(self.predicted), hit, len(wanted)

    def weak(self) -> Row:
        """Count the predicted units that some gold unit makes right, and the gold units that none makes right."""
        wanted, shared = self.touched
        right = len(_linked(other for _, other in shared))
        missed = len(_linked(wanted) - {one for one, _ in shared})
        return right, len(_linked(self.predicted)), right, right + missed

    def tolerant(self) -> Row:
        """Count spans with any concept in common, start or end off by one character at most."""
        near = [pair for pair in self.shared if pair[0][1] is not NIL and _apart(*pair) <= 1]
        wanted = {spans for spans, _ in _linked(self.gold)}
        right = len({spans for _, (spans, _) in near})
        missed = len(wanted - {spans for (spans, _), _ in near})
        return right, len({spans for spans, _ in _linked(self.predicted)}), right, right + missed

    def anywhere(self) -> Row:
        """Count the concepts of the document, wherever they are in it; that none fits is said of a span."""
        labels = {label for _, label in _linked(self.predicted)}
        met = {unit for unit in self.gold if unit[1] in labels or unit in self.predicted}
        return _both({label for _, label in _linked(self.wanted(met))}, labels)


def _apart(one: Unit, other: Unit) -> int:
    """Return by how many characters starts and ends differ, together."""
    return abs(one[0][0].start - other[0][0].start) + abs(one[0][-1].end - other[0][-1].end)


def _count_shared(one: Unit, other: Unit) -> int:
    return sum(max(0, min(b, d) - max(a, c)) for a, b in one[0] for c, d in other[0])


def meeting(units: Collection[Unit], others: Collection[Unit]) -> Iterator[tuple[Unit, Unit]]:
    """Yield the pairs, a unit of each side, with the same label and hulls that share a character, each pair once.

    Takes O(n log n) and what the pairs need, however deep units are nested.

    >>> one, other = ((Span(0, 5),), "x"), ((Span(4, 9),), "x")
    >>> list(meeting([one], [other, ((Span(4, 9),), "y")])) == [(one, other)]
    True
    """
    ordered = [(unit[0][0].start, side, unit) for side, some in enumerate((units, others)) for unit in some]
    opened: defaultdict[tuple[int, str | None], list[Unit]] = defaultdict(list)
    for start, side, unit in sorted(ordered, key=lambda item: item[:2]):
        key = 1 - side, unit[1]
        if reaching := opened.get(key):
            opened[key] = reaching = [other for other in reaching if other[0][-1].end > start]
            yield from ((other, unit) if side else (unit, other) for other in reaching)
        opened[side, unit[1]].append(unit)


def matching_size(pairs: Sequence[tuple[Unit, Unit]]) -> int:
    """Return how many of some pairs can be chosen such that no unit is in two of them.

    >>> one, other = ((Span(0, 5),), "x"), ((Span(6, 9),), "x")
    >>> matching_size([(one, one), (one, other), (other, other)]), matching_size([(one, one), (other, one)])
    (2, 1)
    """
    first, second = (
        {unit: place for place, unit in enumerate(dict.fromkeys(pair[side] for pair in pairs))} for side in (0, 1)
    )
    if len(first) == len(second) == len(pairs):
        return len(pairs)
    from scipy.sparse import csgraph, csr_array  # noqa: PLC0415 - slow to import, and needed here alone

    places = [first[one] for one, _ in pairs], [second[other] for _, other in pairs]
    graph = csr_array((np.ones(len(pairs), np.int8), places), shape=(len(first), len(second)))
    return int((csgraph.maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


# --- spans without concepts ------------------------------------------------------------------------------------------


def _count_recognised(gold: Document, predicted: Document) -> dict[str, Row]:
    hulls, typed, units = [], [], []
    for doc in (gold, predicted):
        mentions = doc.mentions or ()
        hulls.append({mention.span for mention in mentions})
        typed.append({(mention.span, type) for mention in mentions for type in mention.types or ("",)})
        units.append({(mention.spans, NIL) for mention in mentions})
    right = matching_size([pair for pair in meeting(*units) if _count_shared(*pair)])
    return {
        "recognition.strict": _both(*hulls),
        "recognition.partial": (right, len(units[1]), right, len(units[0])),
        "recognition.typed": _both(*typed),
    }


def _spans_by_type(doc: Document) -> dict[str, set[Span]]:
    found: dict[str, set[Span]] = {}
    for mention in doc.mentions or ():
        for type in mention.types or ("",):
            found.setdefault(type, set()).add(mention.span)
    return found


def _compare_types(gold: Document, predicted: Document) -> tuple[int, int]:
    """Return of how many spans both sides give the same types, and how many spans both have."""
    sides: list[dict[Span, set[str]]] = [{}, {}]
    for doc, found in zip((gold, predicted), sides, strict=True):
        for mention in doc.mentions or ():
            found.setdefault(mention.span, set()).update(mention.types or ("",))
    common = sides[0].keys() & sides[1].keys()
    return sum(sides[0][span] == sides[1][span] for span in common), len(common)
