"""Linking of given mentions: how often the answer is right, and its rank among the candidates.

All figures are over the gold mentions that a protocol counts (`Linked.mask`); NIL mentions are in none of them. With
rank(m) for the smallest k such that the first k candidates of mention m hold an accepted answer:

=========================  =============================================================================================
``accuracy@1``             share of mentions whose answer (``concepts``) is right; P@1 of the papers
``coverage``               share of mentions whose answer the knowledge base holds: the ceiling of everything else
``recall@k``               share of mentions with rank ≤ k
``recall@all``             share of mentions with a rank: the ceiling of what reranking can reach
``mrr``                    mean of 1/rank, 0 without a rank
``map``                    mean of the average precision over the ids of the answer; for single ids the same as ``mrr``
``normalised.accuracy@1``  ``accuracy@1`` and ``map`` over the mentions with a rank alone (Bhowmik et al. 2021)
``normalised.map``
=========================  =============================================================================================

**Gold added.** Some papers put the gold concept among the candidates of every mention before these are scored, so that
recall is 1 (LATTE; the cross-encoder reference of Bhowmik et al. 2021). What score it would have got cannot be known
afterwards, but it lies between two figures that can: ``gold-added-last.*`` gives missing gold the place behind all
candidates, ``gold-added-first.*`` the place before them. Of a mention without rank among n candidates, the first counts
as right only if n = 0, and its average precision is that of the candidates or 1/(n + 1), whichever is more; the second
counts as right with average precision 1. Mentions with a rank count as they are, those that were not predicted, or
without a list of candidates, as wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from linnet.data import Mention
from linnet.errors import DataError
from linnet.evaluate.linked import PROTOCOLS, Linked, Protocol
from linnet.evaluate.measures import Measure

__all__ = ["RECALL_AT", "linking"]

RECALL_AT = (1, 2, 5, 10, 20, 64)
Bools = npt.NDArray[np.bool_]
Counted = tuple[str, npt.NDArray[np.generic], Bools]


def linking(linked: Linked, *, protocol: Protocol, among: Bools | None = None) -> list[Measure]:
    """Return the measures of linking, in the order of the table above.

    The measures of candidates are left out where mentions were predicted but none of them has any list of candidates:
    what was answered without candidates has no rank.

    Args:
        linked: gold mentions and what was answered at them.
        protocol: which mentions count.
        among: bool (mentions,), a slice: only these count; None = all of the protocol.

    Raises:
        DataError: no such protocol, or `among` is not of one value for each mention.

    >>> from linnet.data import Document
    >>> gold = Document("a", "Fits.", mentions=(Mention(0, 4, concepts=("HP:1",), source="gold"),))
    >>> ours = Document("a", "Fits.", mentions=(Mention(0, 4, concepts=("HP:1",)),))
    >>> [(measure.name, measure.value) for measure in linking(Linked.of([(gold, ours)], kb=None), protocol="all")]
    [('accuracy@1', 1.0), ('coverage', 1.0)]
    """
    if protocol not in PROTOCOLS:
        raise DataError(f"protocol {protocol!r} is none of {', '.join(PROTOCOLS)}")
    if among is not None and among.shape != (len(linked),):
        raise DataError(f"a slice of shape {among.shape} does not fit {len(linked)} mentions")
    kept = linked.mask(protocol) if among is None else linked.mask(protocol) & among
    [rows] = kept.nonzero()
    everything = np.ones(len(rows), np.bool_)
    values: list[Counted] = [
        ("accuracy@1", linked.right[rows], everything),
        ("coverage", linked.in_kb[rows], everything),
    ]
    silent = all(mention is None for mention in linked.predicted)
    if silent or any(_size(mention) >= 0 for mention in linked.predicted):  # both mostly stop at the first mention
        values += _of_candidates(linked, rows)
    doc = linked.doc[rows]
    return [
        Measure(name, _sums(doc[counted], value[counted], len(linked.documents))) for name, value, counted in values
    ]


def _of_candidates(linked: Linked, rows: npt.NDArray[np.intp]) -> Iterator[Counted]:
    """Yield the name of each measure of candidates, its values and which of the mentions it counts, all (rows,)."""
    rank, right, precision = linked.rank[rows], linked.right[rows], linked.precision[rows]
    found, everything = rank > 0, np.ones(len(rows), np.bool_)
    for k in RECALL_AT:
        yield f"recall@{k}", found & (rank <= k), everything
    yield "recall@all", found, everything
    yield "mrr", np.divide(1.0, rank, out=np.zeros(len(rows)), where=found), everything
    yield "map", precision, everything
    yield "normalised.accuracy@1", right, found
    yield "normalised.map", precision, found
    size = np.array([_size(linked.predicted[row]) for row in rows.tolist()], np.int64)
    missing, behind = ~found & (size >= 0), np.maximum(precision, 1 / np.maximum(size + 1, 1))
    yield "gold-added-last.accuracy@1", right | (missing & (size == 0)), everything
    yield "gold-added-last.map", np.where(missing, behind, precision), everything
    yield "gold-added-first.accuracy@1", right | missing, everything
    yield "gold-added-first.map", np.where(missing, 1.0, precision), everything


def _size(mention: Mention | None) -> int:
    """Return how many candidates a mention has, -1 if none were looked for."""
    return -1 if mention is None or mention.candidates is None else len(mention.candidates)


def _sums(doc: npt.NDArray[np.int32], value: npt.NDArray[np.generic], documents: int) -> npt.NDArray[np.float64]:
    """Return the sums of values and their number for each document, float64 (documents, 2)."""
    above = np.bincount(doc, weights=value.astype(np.float64), minlength=documents)
    return np.column_stack([above, np.bincount(doc, minlength=documents)]).astype(np.float64)
