"""The gold mentions of all documents beside what was answered at them: the table that linking is measured on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from linnet.data import Document, Mention, Span
from linnet.evaluate.answers import Answers, Rule, ranks
from linnet.evaluate.pairing import partners, sort_by_place
from linnet.kb import KnowledgeBase

__all__ = ["PROTOCOLS", "Linked", "Protocol"]

Protocol = Literal["all", "in-kb", "in-kb-genbioel"]
PROTOCOLS: Sequence[Protocol] = get_args(Protocol)
Row = tuple[int, Mention, Mention | None, bool]


@dataclass(frozen=True, slots=True, eq=False)
class Linked:
    """One row for each gold mention, by document and place in the text; all columns have the shape (mentions,).

    Args:
        documents: the ids of all documents, those without mentions included, in gold's order.
        doc: int32, place of the mention's document in `documents`.
        gold: the mentions as annotated.
        predicted: the mentions predicted at the same span (or hull), None where there is none.
        right: bool, the answer (``concepts``) is one that gold accepts.
        rank: int32, the smallest k such that the first k candidates hold an accepted answer; 0 = none do.
        precision: float64, average precision of the candidates over the ids of the answer.
        in_kb: bool, the knowledge base holds every concept of an accepted answer.
        nil: bool, gold says that no concept fits.
        overlapping: bool, the mention shares a character with another gold mention.
        probability: float64, of the answer; NaN where none is given.
        texts: the gold documents themselves, for what their text says (`linnet.evaluate.slices`); () = not kept.
    """

    documents: tuple[str, ...]
    doc: npt.NDArray[np.int32]
    gold: tuple[Mention, ...]
    predicted: tuple[Mention | None, ...]
    right: npt.NDArray[np.bool_]
    rank: npt.NDArray[np.int32]
    precision: npt.NDArray[np.float64]
    in_kb: npt.NDArray[np.bool_]
    nil: npt.NDArray[np.bool_]
    overlapping: npt.NDArray[np.bool_]
    probability: npt.NDArray[np.float64]
    texts: tuple[Document, ...] = ()

    def __len__(self) -> int:
        return len(self.gold)

    @classmethod
    def of(
        cls, pairs: Sequence[tuple[Document, Document]], *, kb: KnowledgeBase | None, rule: Rule = "all-of"
    ) -> Linked:
        """Return the table of `linnet.evaluate.pairing.pair_documents` documents.

        A mention may have several accepted answers: its ``concepts`` and its ``alternatives``, each a set of ids that
        hold together. Ids of both sides are those of live concepts. Gold mentions whose concepts nobody annotated
        (None) make no row. Conjuncts of one group must have been folded (`linnet.pipeline.decide`).

        * ``all-of``: right is what equals an accepted answer as a set. An answer is found at the place of its last
          id; its average precision is 1/n · Σ j/place(j) over its n ids, those found first, j of them up to there
          (Bhowmik et al. 2021, where n = 1). The best of the accepted answers counts.
        * ``any-of``: one id in common with an accepted answer is right, and the first candidate that has one counts
          (BioSyn, SapBERT).

        NIL is found where it is a candidate. A gold mention without a prediction, or whose prediction has no answer
        (``concepts`` is None), is wrong.

        Args:
            pairs: (gold, predicted) documents.
            kb: maps retired ids to their successors and says what it holds; None = ids stay as they are, and
                everything counts as held.
            rule: what makes an answer of several ids right.

        Raises:
            DataError: no such rule.
            MismatchError: candidates are rows of a knowledge base, and `kb` is None or does not have them.

        >>> gold = Document("a", "Fits.", mentions=(Mention(0, 4, concepts=("HP:1",), source="gold"),))
        >>> ours = Document("a", "Fits.", mentions=(Mention(0, 4, concepts=("HP:1",), probability=0.9),))
        >>> linked = Linked.of([(gold, ours)], kb=None)
        >>> linked.right.tolist(), linked.rank.tolist()
        ([True], [0])
        """
        answers = Answers(kb, rule)
        rows = [row for at, pair in enumerate(pairs) for row in _rows(at, *pair, answers)]
        gold, predicted = [mention for _, mention, _, _ in rows], [mention for _, _, mention, _ in rows]
        rank, precision = ranks(gold, predicted, answers, where=[pairs[at][0].id for at, *_ in rows])
        return cls(
            documents=tuple(theirs.id for theirs, _ in pairs),
            doc=np.array([at for at, *_ in rows], np.int32),
            gold=tuple(gold),
            predicted=tuple(predicted),
            right=_column(ours is not None and answers.right(mention, ours) for _, mention, ours, _ in rows),
            rank=rank.astype(np.int32),
            precision=precision,
            in_kb=_column(any(map(answers.held, answers.accepted(mention))) for mention in gold),
            nil=_column(not any(answers.accepted(mention)) for mention in gold),
            overlapping=_column(crowded for *_, crowded in rows),
            probability=np.array([_probability(mention) for mention in predicted], np.float64),
            texts=tuple(theirs for theirs, _ in pairs),
        )

    def mask(self, protocol: Protocol) -> npt.NDArray[np.bool_]:
        """Return which mentions a protocol counts, bool (mentions,).

        ``all``: every mention with a concept; ``in-kb``: those whose concepts the knowledge base holds;
        ``in-kb-genbioel``: of these, the ones that overlap no other mention (Yuan et al. 2022).
        """
        kept = ~self.nil
        if protocol != "all":
            kept = kept & self.in_kb
        return kept & ~self.overlapping if protocol == "in-kb-genbioel" else kept


def _rows(number: int, gold: Document, predicted: Document, answers: Answers) -> list[Row]:
    """Return the document's number, gold mention, prediction, and whether it overlaps, for each annotated mention."""
    mentions = sort_by_place(gold.mentions or ())
    said = [(mention, crowded) for mention, crowded in zip(mentions, _overlapping(mentions), strict=True)]
    said = [(mention, crowded) for mention, crowded in said if mention.concepts is not None]
    ours = partners([mention for mention, _ in said], predicted.mentions or (), fits=answers.right)
    return [(number, mention, partner, crowded) for (mention, crowded), partner in zip(said, ours, strict=True)]


def _overlapping(mentions: Sequence[Mention]) -> list[bool]:
    """Return which mentions share a character with another one.

    Of the parts so far the one that reaches furthest is enough to compare with: what else reaches into a part lies in
    that one too, and has been found.
    """
    found = [False] * len(mentions)
    parts: Iterable[tuple[Span, int]] = ((span, at) for at, mention in enumerate(mentions) for span in mention.spans)
    reach, holder = 0, -1
    for (start, end), at in sorted(parts):
        if start < reach:
            found[at] = found[holder] = True
        if end > reach:
            reach, holder = end, at
    return found


def _probability(mention: Mention | None) -> float:
    return np.nan if mention is None or mention.probability is None else mention.probability


def _column(values: Iterable[bool]) -> npt.NDArray[np.bool_]:
    return np.fromiter(values, np.bool_)
