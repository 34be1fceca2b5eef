"""What is said of findings: negated, uncertain, a relative's …; and which findings the patient has.

* ``assertion.accuracy``: of gold mentions with an assertion that were found at their very spans, how many have the same
  one; ``assertion.NEGATED.precision``, ``.recall`` and ``.f1`` are about one value, likewise of these mentions alone.
  A system that says nothing of any mention has none of these.
* ``patient``: the set of concepts of each document that are affirmed, wherever they stand in it; both sides count only
  mentions that are affirmed, or of which nothing is said. So a system without assertions is measured as its reader is
  left with it: all that it finds is the patient's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from linnet.data import ASSERTIONS, Document, Mention
from linnet.evaluate.end_to_end import Pairs, count_anywhere, prf
from linnet.evaluate.measures import Measure
from linnet.evaluate.pairing import partners, sort_by_place
from linnet.evaluate.report import BY_ASSERTION, PARTS

__all__ = ["assertions"]


def assertions(pairs: Pairs, *, live: Callable[[str], str]) -> list[Measure]:
    """Return the measures of assertions over the documents in their order; none where gold has no assertion.

    Args:
        pairs: gold and predicted documents with the same text.
        live: maps an id to the id to compare.

    >>> gold = Document("a", "no fits", mentions=(Mention(3, 7, concepts=("HP:1",), assertion="negated"),))
    >>> blunt = Document("a", "no fits", mentions=(Mention(3, 7, concepts=("HP:1",)),))
    >>> {one.name: one.value for one in assertions([(gold, blunt)], live=str)}["patient.f1"]
    0.0
    """
    if not any(mention.assertion for gold, _ in pairs for mention in gold.mentions or ()):
        return []
    measures = []
    if any(mention.assertion for _, predicted in pairs for mention in predicted.mentions or ()):
        matched = [list(_matched(*pair)) for pair in pairs]
        right = np.array([[sum(a == b for a, b in said), len(said)] for said in matched], np.float64)
        measures = [Measure(f"{BY_ASSERTION}accuracy", right)]
        for value in _occurring(matched):  # nothing was right or wrong about the others
            measures += prf(f"{BY_ASSERTION}{value}", [_count(said, value) for said in matched])[: len(PARTS)]
    rows = [count_anywhere(_of_patient(gold), _of_patient(predicted), live) for gold, predicted in pairs]
    return [*measures, *prf("patient", rows)]


def _occurring(matched: Sequence[Sequence[tuple[str, str]]]) -> list[str]:
    found = {value for said in matched for pair in said for value in pair}
    return [value for value in ASSERTIONS if value in found]


def _matched(gold: Document, predicted: Document) -> Iterator[tuple[str, str]]:
    """Yield the assertions of both sides for each gold mention that has one and was found at its span."""
    theirs = sort_by_place(gold.mentions or ())  # those without one have their partners, too
    ours = partners(theirs, predicted.mentions or (), fits=_agree)
    pairs = zip(theirs, ours, strict=True)
    return ((one.assertion, other.assertion) for one, other in pairs if one.assertion and other is not None)


def _agree(gold: Mention, predicted: Mention) -> bool:
    return gold.concepts == predicted.concepts


def _count(said: Sequence[tuple[str, str]], value: str) -> tuple[int, int, int, int]:
    both = sum(one == other == value for one, other in said)
    return both, sum(other == value for _, other in said), both, sum(one == value for one, _ in said)


def _of_patient(doc: Document) -> Document:
    kept = (mention for mention in doc.mentions or () if mention.assertion in ("", "affirmed"))
    return replace(doc, mentions=tuple(kept))
