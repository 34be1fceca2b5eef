"""Names in cells around centres, of which the nearest are searched (inverted file), compressed to a byte a number."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from linnet.index.approximate import Approximate, sample
from linnet.index.files import faiss

__all__ = ["Ivf"]

Floats = npt.NDArray[np.float32]

PER_CELL = 64  # fewest names a cell on average
SEARCHED = 1 / 32  # of all cells
FEWEST = 16  # cells that are searched


class Ivf(Approximate):
    """Names are sorted into cells; a search looks into the nearest ones. Built much faster than a graph.

    >>> index = Ivf.build(np.eye(4, dtype=np.float32), np.array([7, 8, 7, 9], np.int32))
    >>> [found] = index.search(np.array([[0.0, 0.6, 0.8, 0.0]], np.float32), 2)
    >>> found.rows.tolist(), found.names.tolist()
    ([7, 8], [2, 1])
    """

    SUFFIX: ClassVar[str] = "ivf"

    @classmethod
    def empty(cls, vectors: Floats) -> Any:
        """Return cells without names, as many as the square root of the names, fourfold."""
        package = faiss()
        size, count = int(vectors.shape[1]), len(vectors)
        cells = max(1, min(int(4 * math.sqrt(count)), count // PER_CELL))
        centres = package.IndexFlatIP(size)
        code = package.ScalarQuantizer.QT_8bit
        built = package.IndexIVFScalarQuantizer(centres, size, cells, code, package.METRIC_INNER_PRODUCT)
        built.cp.spherical = True  # centres of cosines have length 1 as well
        if count:
            built.train(sample(vectors))
        return built

    def parameters(self, count: int, selector: Any) -> Any:  # noqa: ARG002 - a cell holds enough names of any count
        """Return the parameters of a search."""
        probes = max(FEWEST, int(self.built.nlist * SEARCHED))
        return faiss().SearchParametersIVF(nprobe=min(probes, self.built.nlist), sel=selector)
