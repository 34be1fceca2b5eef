"""Whether a project has labels enough for strategies that ask the model, and how far it is from that.

Until then documents are drawn by chance, stratified by source and length (strategy ``stratified``), because the
probabilities of a model that saw next to nothing say next to nothing. A calibration error above the limit holds a
project back only as far as the answers show it: a hundred of them have one of 0.07 by chance if the calibration is
perfect, and what is predicted in one document is right or wrong together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
import numpy.typing as npt

from linnet.data import Document
from linnet.evaluate.calibration import Calibration
from linnet.evaluate.uncertainty import spread

__all__ = ["ColdStart", "calibration_bins", "cold_start"]

LINKS, DOCUMENTS, ECE = 50, 10, 0.10
A_BIN, BINS = 25, 15  # answers a bin at least: with fewer, a perfect calibration looks worse than ECE
LEVEL, SAMPLES = 0.9, 200  # of the bootstrap by document: what lies below its interval does so in one case of twenty


@dataclass(frozen=True)
class ColdStart:
    """How far a project is, beside what it needs.

    Args:
        links: mentions that people linked, or said of that no concept fits.
        documents: documents that hold such mentions.
        ece: expected calibration error on random documents, 0 … 1; None = there are no answers to see it on.
        ece_least: what it is at least, 95 % sure, 0 … 1; None as before.
    """

    links: int
    documents: int
    ece: float | None
    ece_least: float | None = None

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
        """By how much the calibration error exceeds 0.10 at least; None = not known yet."""
        return None if self.ece_least is None else max(0.0, self.ece_least - ECE)

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
    answers = [found for pair in random if len(found := Calibration.of_pairs([pair], live=live))]
    ece, least = _error(answers) if answers else (None, None)
    return ColdStart(sum(counts), sum(count > 0 for count in counts), ece, least)


def calibration_bins(answers: Calibration) -> int:
    """Return how many bins so many answers are enough for, 1 … 15.

    >>> calibration_bins(Calibration([0.5] * 60, [True] * 60))
    2
    """
    return min(BINS, max(1, len(answers) // A_BIN))


def _error(answers: Sequence[Calibration]) -> tuple[float, float]:
    """Return the calibration error of the answers of all documents, and what it is at least.

    An error is never negative, so draws of a bootstrap exceed it as it exceeds the true one: the interval is the basic
    one, 2 ece less the quantile (Davison & Hinkley 1997, ch. 5), which takes both off.
    """

    def error(times: Sequence[float]) -> float:
        drawn = chain.from_iterable(repeat(one, round(n)) for one, n in zip(answers, times, strict=True))
        together = Calibration.of_all([*drawn])
        return together.ece(bins=calibration_bins(together))

    def figure(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.array([error(times) for times in weights.tolist()])

    found = error([1.0] * len(answers))
    interval = spread(figure, len(answers), samples=SAMPLES, level=LEVEL)
    return found, max(0.0, 2 * found - interval[1]) if interval else 0.0
