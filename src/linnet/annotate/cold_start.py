"""Whether a project has labels enough for strategies that ask the model, and how far it is from that.

Until then documents are drawn by chance, stratified by source and length (strategy ``stratified``), because the
probabilities of a model that saw next to nothing say next to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linnet.data import Document
from linnet.evaluate.calibration import Calibration

__all__ = ["ColdStart", "cold_start"]

LINKS, DOCUMENTS, ECE = 50, 10, 0.10
A_BIN, BINS = 25, 15  # answers a bin at least: with fewer, a perfect calibration looks worse than ECE


@dataclass(frozen=True)
class ColdStart:
    """How far a project is, beside what it needs.

    Args:
        links: mentions that people linked, or said of that no concept fits.
        documents: documents that hold such mentions.
        ece: expected calibration error on random documents, 0 … 1, without what chance alone makes of it; None = there
            are no answers to see it on.
    """

    links: int
    documents: int
    ece: float | None

    @property
    def links_left(self) -> int:
        """How many links are lacking to 50."""
        return max(0, LINKS - self.links)

    @property
    def documents_left(self) -> int:
        """How many documents with links are lacking to 10."""
        return max(0, DOCUMENTS - self.documents)

    @property
    def ece_left(self) -> float | None:
        """By how much the calibration error exceeds 0.10; None = not known yet."""
        return None if self.ece is None else max(0.0, self.ece - ECE)

    @property
    def over(self) -> bool:
        """Whether the cold start is over."""
        return self.links_left == 0 and self.documents_left == 0 and self.ece_left == 0.0


def cold_start(
    read: Sequence[Document],
    random: Sequence[tuple[Document, Document]],
    *,
    live: Callable[[str], str] = str,
) -> ColdStart:
    """Return how far a project is from the end of its cold start.

    Args:
        read: all documents that people finished, each once.
        random: those of them that were drawn by chance, as read and as predicted before, by a model that had not seen
            them and whose calibration was not fitted on them.
        live: leads retired ids to their successors.

    >>> from linnet.data import Mention
    >>> found = cold_start([Document("d", "Gout.", mentions=(Mention(0, 4, source="user", concepts=("X:1",)),))], [])
    >>> found.over, found.links_left, found.documents_left, found.ece_left
    (False, 49, 9, None)
    """
    counts = [sum(m.source != "pred" and m.concepts is not None for m in doc.mentions or ()) for doc in read]
    answers = Calibration.of_pairs(random, live=live)
    ece = _error(answers) if len(answers) else None
    return ColdStart(links=sum(counts), documents=sum(count > 0 for count in counts), ece=ece)


def _error(answers: Calibration) -> float:
    """Return the calibration error less what a perfect calibration shows on so few answers.

    A bin of n answers of probability p is off by √(2 p (1 - p) / (π n)) on the mean, if nothing but chance is at work:
    a hundred answers show an error of about 0.07.
    """
    bins = min(BINS, max(1, len(answers) // A_BIN))
    expected = sum(
        one.count * math.sqrt(2 * one.confidence * (1 - one.confidence) / (math.pi * one.count))
        for one in answers.bins(bins=bins)
    )
    return math.sqrt(max(0.0, answers.ece(bins=bins) ** 2 - (expected / len(answers)) ** 2))
