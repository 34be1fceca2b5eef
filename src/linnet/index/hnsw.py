"""A navigable graph of names (Malkov & Yashunin 2018) with TrainX's parameters, its vectors in a byte a number."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from linnet.index.approximate import Approximate, sample
from linnet.index.files import faiss

__all__ = ["Hnsw"]

Floats = npt.NDArray[np.float32]

NEIGHBOURS, EF_CONSTRUCTION, EF_SEARCH = 16, 100, 100  # as published (TrainX, section 3)
# Beyond: up to so many names a graph is built with twice the care, which finds 1 to 2 % more and takes 2.5 times as
# long; larger ones are searched with more in sight.
MANY, CAREFUL = 2_000_000, 200
IN_SIGHT = 130  # names in sight a million in the index, for large ones to find as much


class Hnsw(Approximate):
    """Names are linked to their neighbours; a search follows the links.

    >>> vectors = np.eye(4, dtype=np.float32)
    >>> index = Hnsw.build(vectors, np.array([7, 8, 7, 9], np.int32))
    >>> [found] = index.search(np.array([[0.0, 0.6, 0.8, 0.0]], np.float32), 2)
    >>> found.rows.tolist(), found.names.tolist()
    ([7, 8], [2, 1])
    """

    SUFFIX: ClassVar[str] = "hnsw"

    @classmethod
    def empty(cls, vectors: Floats) -> Any:
        """Return a graph without names; of each number of a vector it holds one of 256 steps between the extremes."""
        package = faiss()
        code = package.ScalarQuantizer.QT_8bit
        built = package.IndexHNSWSQ(int(vectors.shape[1]), code, NEIGHBOURS, package.METRIC_INNER_PRODUCT)
        built.hnsw.efConstruction = CAREFUL if len(vectors) <= MANY else EF_CONSTRUCTION
        if len(vectors):
            built.train(sample(vectors))
        return built

    def parameters(self, count: int, selector: Any) -> Any:
        """Return the parameters of a search."""
        # a search that may pass over names keeps more of them in sight
        wide = max(EF_SEARCH, count, IN_SIGHT * len(self) // 1_000_000) * (1 if selector is None else 2)
        return faiss().SearchParametersHNSW(efSearch=wide, sel=selector)
