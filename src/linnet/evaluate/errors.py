"""The kinds of error of each wrong mention, with its context, and the concepts that are confused.

Every error has one kind, the first of `KINDS` that holds; the others that hold are its tags. Relations are between a
concept that gold names and was not answered, and one that was answered and gold accepts nowhere.

==============  ========================================================================================
missed          nothing was predicted at the span, nor anything left over that overlaps it
boundary        a prediction overlaps the span that no gold mention has (each explains one mention)
spurious        a prediction with a concept that no gold mention has, and that explains no other error
nil             NIL was answered where gold has a concept, or a concept where gold says NIL
homonym         the text is a name of both concepts
parent          the answer is an ancestor of gold's concept: too general
child           the answer is a descendant of gold's concept: too specific
sibling         both have a parent in common
type            the two share no semantic type
misranked       gold's concept is among the candidates, but not first
not retrieved   gold's concept is not among the candidates
other           a wrong concept, and there are no candidates to look at
==============  ========================================================================================
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from linnet.data import Document, Mention, Span
from linnet.evaluate.linked import Linked
from linnet.evaluate.relations import Relations
from linnet.evaluate.report import Confusion, Wrong
from linnet.frozen import EMPTY
from linnet.kb import KnowledgeBase
from linnet.kb.successors import successor
from linnet.pipeline.component import is_reviewed

__all__ = ["KINDS", "NOT_IN_KB", "confusions", "errors"]

KINDS = (
    "missed", "boundary", "spurious", "nil", "homonym", "parent", "child", "sibling", "type", "misranked",
    "not retrieved", "other",
)  # fmt: skip
NOT_IN_KB = "not in kb"  # a tag: the knowledge base does not hold gold's concept, so that no answer could be right
CONTEXT = 60  # characters of text on either side

Masks = Mapping[str, npt.NDArray[np.bool_]]


def errors(
    pairs: Sequence[tuple[Document, Document]],
    linked: Linked,
    *,
    kb: KnowledgeBase | None = None,
    slices: Masks = EMPTY,
) -> list[Wrong]:
    """Return every wrong mention, by document and place in the text.

    Gold mentions without a concept that were not found are no errors: there is nothing to link. Predictions without a
    concept are none where gold has no mention, nor are those outside the spans that a person went through.

    Args:
        pairs: gold and predicted versions of each document.
        linked: the table of the same pairs.
        kb: knows successors, names, types and the hierarchy; without it there are no relations and no names.
        slices: masks over the rows of the table, by name: an error is in those of its gold mention.

    >>> gold = Document("a", "Cold.", mentions=(Mention(0, 4, concepts=("X:1",)),))
    >>> bare = Document("a", "Cold.", mentions=())
    >>> [found] = errors([(gold, bare)], Linked.of([(gold, bare)], kb=None))
    >>> found.kind, found.surface, found.after, found.gold
    ('missed', 'Cold', '.', ('X:1',))
    """
    finder = _Finder(linked, kb, slices)
    rows: list[list[int]] = [[] for _ in linked.documents]
    for row, number in enumerate(linked.doc.tolist()):
        rows[number].append(row)
    return [error for pair, mine in zip(pairs, rows, strict=True) for error in finder.document(*pair, mine)]


def confusions(found: Sequence[Wrong]) -> list[Confusion]:
    """Return which answers were given for which, the most frequent first, then by ids.

    Mentions that were found at another span count too; missed and spurious ones and NIL confuse no concepts.

    >>> error = Wrong(kind="other", document="a", start=0, end=4, surface="Cold", gold=("X:1",), predicted=("X:2",),
    ...               gold_names=("Cold",), predicted_names=("Common cold",))
    >>> [(one.gold, one.predicted, one.count) for one in confusions([error, error])]
    [(('X:1',), ('X:2',), 2)]
    """
    counts: Counter[tuple[tuple[str, ...], tuple[str, ...]]] = Counter()
    names: dict[tuple[str, ...], tuple[str, ...]] = {}
    for error in found:
        gold, predicted = tuple(sorted(error.gold)), tuple(sorted(error.predicted))
        if gold and predicted and gold != predicted:
            counts[gold, predicted] += 1
            for ids, texts in ((error.gold, error.gold_names), (error.predicted, error.predicted_names)):
                names[tuple(sorted(ids))] = tuple(text for _, text in sorted(zip(ids, texts, strict=True)))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [
        Confusion(gold=gold, predicted=said, gold_names=names[gold], predicted_names=names[said], count=count)
        for (gold, said), count in ordered
    ]


class _Finder:
    """Looks for errors document by document; remembers what it asked the knowledge base."""

    def __init__(self, linked: Linked, kb: KnowledgeBase | None, slices: Masks) -> None:
        self._linked, self._slices = linked, slices
        self._live = successor(kb)
        self._relations = Relations(kb)
        self._labels = {label for mention in linked.gold for label in mention.types}

    def document(self, gold: Document, predicted: Document, rows: Sequence[int]) -> Iterator[Wrong]:
        """Yield the errors of one document; `rows` are the rows of its gold mentions in the table."""
        left = self._left_over(gold, predicted, rows)
        missed = [row for row in rows if self._linked.predicted[row] is None and not self._linked.nil[row]]
        explained = self._boundaries(missed, left)
        found = [error for row in rows if (error := self._row(gold, row, left, explained))]
        free = (mention for place, mention in enumerate(left) if place not in explained.values())
        found += [self._error("spurious", gold, None, mention) for mention in free]
        yield from sorted(found, key=lambda error: (error.start, -error.end, KINDS.index(error.kind), error.predicted))

    def _row(self, doc: Document, row: int, left: Sequence[Mention], explained: dict[int, int]) -> Wrong | None:
        mention, answer = self._linked.gold[row], self._linked.predicted[row]
        if self._linked.right[row] or (self._linked.nil[row] and not (answer and answer.concepts)):
            return None
        if answer is None:
            kinds = ["boundary" if row in explained else "missed"]
            answer = left[explained[row]] if row in explained else None
        else:
            kinds = self._kinds(doc, row, mention, answer)
        tags: tuple[str, ...] = tuple(kinds[1:])
        if not self._linked.nil[row] and not self._linked.in_kb[row]:
            tags += (NOT_IN_KB,)
        return self._error(kinds[0], doc, mention, answer, row=row, tags=tags)

    def _types_differ(self, gold: Mention, answer: Mention) -> bool:
        ours = set(answer.types) & self._labels  # labels of another vocabulary say nothing
        return bool(ours and gold.types) and not ours & set(gold.types)

    def _kinds(self, doc: Document, row: int, gold: Mention, answer: Mention) -> list[str]:
        """Return the kinds of a wrong answer at the right span, in the order of `KINDS`."""
        wanted, said = gold.concepts or (), [self._live(id) for id in answer.concepts or ()]
        accepted = set(map(self._live, itertools.chain(wanted, *gold.alternatives)))
        wrong = [id for id in said if id not in accepted]
        missing = [id for id in map(self._live, wanted) if id not in said]
        holds: set[str] = set()
        for one, other in itertools.product(missing, wrong):
            holds |= self._relations.between(one, other, surface=doc.surface(gold))
        if wrong and self._types_differ(gold, answer):
            holds.add("type")
        if not said or self._linked.nil[row]:
            holds.add("nil")
        if not self._linked.nil[row]:
            looked = answer.candidates is not None
            holds.add("misranked" if self._linked.rank[row] else "not retrieved" if looked else "other")
        return [kind for kind in KINDS if kind in holds]

    def _left_over(self, gold: Document, predicted: Document, rows: Sequence[int]) -> list[Mention]:
        """Return the predictions with a concept that no gold mention has, each once, by place in the text."""
        partners = [mention for row in rows if (mention := self._linked.predicted[row])]
        taken = {(mention.span, mention.concepts) for mention in partners}
        unknown = {mention.span for mention in gold.mentions or () if mention.concepts is None}
        left: dict[tuple[Span, tuple[str, ...]], Mention] = {}
        for mention in sorted(predicted.mentions or (), key=lambda m: (m.id, m.probability or 0.0)):
            known = mention.span not in unknown and is_reviewed(gold, mention)
            if mention.concepts and known and (mention.span, mention.concepts) not in taken:
                left.setdefault((mention.span, mention.concepts), mention)
        return sorted(left.values(), key=lambda m: (m.start, -m.end, m.parts, m.concepts))

    def _boundaries(self, missed: Sequence[int], left: Sequence[Mention]) -> dict[int, int]:
        """Return which prediction left over explains which missed row: equal concepts first, then most characters."""
        if not missed:
            return {}
        found: list[tuple[bool, int, int, int]] = []
        places: dict[int, list[int]] = {}  # character -> predictions; far fewer than pairs of mentions in long texts
        for place, mention in enumerate(left):
            for start, end in mention.spans:
                for at in range(start, end):
                    places.setdefault(at, []).append(place)
        for row in missed:
            gold = self._linked.gold[row]
            shared = Counter(place for a, b in gold.spans for at in range(a, b) for place in places.get(at, ()))
            for place, characters in shared.items():
                found.append((not self._same(gold, left[place]), -characters, row, place))
        explained: dict[int, int] = {}
        used: set[int] = set()
        for _, _, row, place in sorted(found):
            if row not in explained and place not in used:
                explained[row] = place
                used.add(place)
        return explained

    def _same(self, gold: Mention, answer: Mention) -> bool:
        said = {self._live(id) for id in answer.concepts or ()}
        return any({self._live(id) for id in ids} == said for ids in (gold.concepts or (), *gold.alternatives))

    def _error(
        self,
        kind: str,
        doc: Document,
        gold: Mention | None,
        answer: Mention | None,
        *,
        row: int = -1,
        tags: tuple[str, ...] = (),
    ) -> Wrong:
        where = gold or answer
        assert where is not None  # noqa: S101 - an error has a mention
        wanted = (gold.concepts or ()) if gold else ()
        said = (answer.concepts or ()) if answer else ()
        return Wrong(
            kind=kind,
            document=doc.id,
            start=where.start,
            end=where.end,
            surface=doc.surface(where),
            before=doc.text[max(0, where.start - CONTEXT) : where.start],
            after=doc.text[where.end : where.end + CONTEXT],
            gold=wanted,
            predicted=said,
            gold_names=tuple(map(self._relations.name, wanted)),
            predicted_names=tuple(map(self._relations.name, said)),
            rank=int(self._linked.rank[row]) if gold else 0,
            probability=answer.probability if answer else None,
            tags=tags,
            found=answer.span if answer else None,
            slices=tuple(name for name, mask in self._slices.items() if mask[row]) if gold else (),
        )
