"""A measure: one number, and the counts of every document that it is computed from.

Every figure of an evaluation is a ratio of sums over documents, or the harmonic mean of two such ratios. Keeping the
counts of each document makes intervals (documents drawn anew, `linnet.evaluate.uncertainty`), comparisons of systems
and slices the same computation for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Measure"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """One metric of one comparison.

    Args:
        name: what it is called: ``accuracy@1``, ``strict.f1``.
        counts: float64 (documents, 2), a numerator and a denominator of each document; or (documents, 4), those of
            precision and then of recall; the metric is their harmonic mean.
        empty: what 0/0 counts as: 1.0 for "nothing to find and nothing found", else 0.0.

    >>> precision = Measure("strict.precision", np.array([[3.0, 4.0], [0.0, 1.0]]))
    >>> precision.value
    0.6
    >>> Measure("f1", np.array([[1.0, 2.0, 1.0, 1.0]])).value  # of P = 1/2 and R = 1/1
    0.6666666666666666
    """

    name: str
    counts: Floats
    empty: float = 0.0

    @property
    def value(self) -> float:
        """The metric over all documents."""
        return float(self.of(self.counts.sum(axis=0)))

    def of(self, sums: Floats) -> Floats:
        """Return the metric for summed counts, (…, columns) -> (…): one value for each draw of documents."""
        ratios = [_ratio(sums[..., at], sums[..., at + 1], self.empty) for at in range(0, sums.shape[-1], 2)]
        if len(ratios) == 1:
            return ratios[0]
        first, second = ratios
        return _ratio(2 * first * second, first + second, 0.0)


def _ratio(above: Floats, below: Floats, empty: float) -> Floats:
    found: Floats = np.divide(above, below, out=np.full(np.shape(below), empty), where=below != 0)
    return found
