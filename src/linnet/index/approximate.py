"""Approximate search among vectors of names by Faiss: it proposes names, which are compared by their own vectors.

What Faiss holds may be compressed; scores are those of the vectors themselves, read where they are proposed, so that
only which names are proposed is approximate. From the best name of each concept come the best concepts: more names are
asked for until there are enough concepts, in the end all, one by one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from linnet.index.files import faiss, read_index, write_index
from linnet.index.flat import Flat, Found, products
from linnet.kb import Mask

__all__ = ["Approximate", "Hnsw", "Ivf"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

FEW = 20_000  # allowed names that are compared one by one: a graph with so many holes leads nowhere
MOST = 0.5  # a mask that allows more of the names than this share is applied to what is found
BLOCK = 10_000  # vectors added between two words about progress
SAMPLE = 50_000  # vectors that compression and cells are fitted to


class Approximate(ABC):
    """Base of indexes by Faiss.

    Args:
        vectors: float32 (n, d) of length 1.
        concepts: int32 (n,), the concept of each.
        built: the Faiss index of the vectors.

    Attributes:
        SUFFIX: of its files.
    """

    SUFFIX: ClassVar[str]

    def __init__(self, vectors: Floats, concepts: Ints, built: Any) -> None:
        self.vectors, self.concepts, self.built = vectors, concepts, built
        count = len(np.unique(concepts))
        self._spread = -(-len(concepts) // max(1, count))  # names a concept, rounded up
        self._masked: tuple[bytes, Flat, npt.NDArray[np.int64]] | None = None
        self._exact: Flat | None = None

    def __len__(self) -> int:
        return len(self.concepts)

    # --- building ----------------------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def empty(cls, vectors: Floats) -> Any:
        """Return a Faiss index without vectors, fitted to some of `vectors` (n, d) where it compresses."""

    @abstractmethod
    def parameters(self, count: int, selector: Any, share: float) -> Any:
        """Return the Faiss parameters of a search for `count` names among the `share` that `selector` lets through."""

    @classmethod
    def build(cls, vectors: Floats, concepts: Ints, *, progress: Callable[[int], None] | None = None) -> Self:
        """Return the index of vectors.

        Args:
            vectors: float32 (n, d) of length 1; may be memory-mapped.
            concepts: int32 (n,).
            progress: is told how many vectors are in it, now and then.
        """
        built = cls.empty(vectors)
        for start in range(0, len(vectors), BLOCK):
            built.add(np.ascontiguousarray(vectors[start : start + BLOCK]))
            if progress is not None:
                progress(built.ntotal)
        return cls(vectors, concepts, built)

    def save(self, path: Path, about: dict[str, Any]) -> None:
        """Write what Faiss holds to a file, with what it was made of; the vectors are kept by whoever has them.

        Raises:
            OSError: the folder cannot be written to.
        """
        write_index(self.built, path, self._describe(self.vectors, about))

    @classmethod
    def open(cls, path: Path, vectors: Floats, concepts: Ints, about: dict[str, Any]) -> Self:
        """Return what `save` wrote, memory-mapped.

        Raises:
            FormatError: the file is missing, cut short or damaged, or is of other vectors.
        """
        return cls(vectors, concepts, read_index(path, cls._describe(vectors, about)))

    @classmethod
    def _describe(cls, vectors: Floats, about: dict[str, Any]) -> dict[str, Any]:
        return {**about, "index": cls.SUFFIX, "vectors": len(vectors), "size": int(vectors.shape[1])}

    # --- search ------------------------------------------------------------------------------------------------------

    def search(self, queries: Floats, k: int, masks: Sequence[Mask | None] | None = None) -> list[Found]:
        """Return the nearest `k` concepts of each query, as `linnet.index.flat.Flat.search`."""
        found: list[Found | None] = [None] * len(queries)
        groups: dict[int, list[int]] = {}
        given = masks if masks is not None else [None] * len(queries)
        for place, mask in enumerate(given):
            groups.setdefault(id(mask), []).append(place)
        for places in groups.values():
            for place, one in zip(places, self._search(queries[places], k, given[places[0]]), strict=True):
                found[place] = one
        return [one for one in found if one is not None]

    def _search(self, queries: Floats, k: int, mask: Mask | None) -> list[Found]:
        if not len(self):
            return Flat(self.vectors, self.concepts).search(queries, k)
        if mask is None:
            return self._propose(queries, k, None, len(self))
        allowed = mask.array[self.concepts]
        count = int(allowed.sum())
        if count <= FEW:
            return self._one_by_one(queries, k, allowed)
        return self._propose(queries, k, allowed, count)

    def _one_by_one(self, queries: Floats, k: int, allowed: Bools) -> list[Found]:
        key = np.packbits(allowed).tobytes()
        if self._masked is None or self._masked[0] != key:
            places = np.flatnonzero(allowed)
            self._masked = key, Flat(np.asarray(self.vectors[places]), self.concepts[places]), places
        _, flat, places = self._masked
        return [found._replace(names=places[found.names].astype(np.int32)) for found in flat.search(queries, k)]

    def _propose(self, queries: Floats, k: int, allowed: Bools | None, count: int) -> list[Found]:
        """Search for ever more names, of which `count` are allowed, until each query has `k` concepts."""
        bits = None if allowed is None or count > MOST * len(self) else np.packbits(allowed, bitorder="little")
        selector = None if bits is None else faiss().IDSelectorBitmap(bits)
        share = 1 if allowed is None or bits is not None else count / len(self)
        depth, waiting = int(k * self._spread / share) + 1, np.arange(len(queries))
        done: dict[int, Found] = {}
        while len(waiting) and depth < count:
            parameters = self.parameters(depth, selector, count / len(self))
            _, names = self.built.search(queries[waiting], depth, params=parameters)
            for place, some in zip(waiting.tolist(), names, strict=True):
                kept = some[some >= 0] if allowed is None else some[(some >= 0) & allowed[some]]
                found = self._best(queries[place], kept, k)
                if len(found.rows) == k:
                    done[place] = found
            waiting = np.array([place for place in waiting.tolist() if place not in done], np.intp)
            depth *= 4
        done.update(zip(waiting.tolist(), self._all(queries[waiting], k, allowed), strict=True))
        return [done[place] for place in range(len(queries))]

    def _all(self, queries: Floats, k: int, allowed: Bools | None) -> list[Found]:
        if not len(queries):
            return []
        if self._exact is None:
            self._exact = Flat(self.vectors, self.concepts)
        mask = None
        if allowed is not None:
            rows = np.zeros(int(self.concepts.max()) + 1, np.bool_)
            rows[self.concepts[allowed]] = True
            mask = Mask(rows, "")
        return self._exact.search(queries, k, [mask] * len(queries))

    def _best(self, query: Floats, names: npt.NDArray[np.int64], k: int) -> Found:
        """Return the best concepts of proposed names, by the names' own vectors."""
        names = np.sort(names)  # of a concept's equally good names the first
        scores = products(self.vectors[names], query)
        rows = self.concepts[names]
        order = np.lexsort((names, -scores))
        _, firsts = np.unique(rows[order], return_index=True)
        chosen = order[firsts]
        chosen = chosen[np.lexsort((rows[chosen], -scores[chosen]))][:k]
        return Found(rows[chosen], scores[chosen], names[chosen].astype(np.int32))


def _sample(vectors: Floats, size: int = SAMPLE) -> Floats:
    """Return some of the vectors, drawn with a fixed seed."""
    if len(vectors) <= size:
        return np.ascontiguousarray(vectors)
    places = np.random.default_rng(13).choice(len(vectors), size, replace=False)
    return np.ascontiguousarray(vectors[np.sort(places)])


# --- graphs -----------------------------------------------------------------------------------------------------------

NEIGHBOURS, EF_SEARCH = 16, 100  # as published (TrainX, section 3)
EF_CONSTRUCTION = 200  # twice as much as published: finds 1 to 3 % more, and takes 2.5 times as long to build
IN_SIGHT = 130  # names in sight a million in the index, for large ones to find as much


class Hnsw(Approximate):
    """A navigable graph of names (Malkov & Yashunin 2018) with TrainX's parameters: a search follows the links.

    Of each number of a vector it holds one of 256 steps between the extremes.

    >>> vectors = np.eye(4, dtype=np.float32)
    >>> index = Hnsw.build(vectors, np.array([7, 8, 7, 9], np.int32))
    >>> [found] = index.search(np.array([[0.0, 0.6, 0.8, 0.0]], np.float32), 2)
    >>> found.rows.tolist(), found.names.tolist()
    ([7, 8], [2, 1])
    """

    SUFFIX: ClassVar[str] = "hnsw"

    @classmethod
    def empty(cls, vectors: Floats) -> Any:
        """Return a graph without names."""
        package = faiss()
        code = package.ScalarQuantizer.QT_8bit
        built = package.IndexHNSWSQ(int(vectors.shape[1]), code, NEIGHBOURS, package.METRIC_INNER_PRODUCT)
        built.hnsw.efConstruction = EF_CONSTRUCTION
        if len(vectors):
            built.train(_sample(vectors))
        return built

    def parameters(self, count: int, selector: Any, share: float) -> Any:  # noqa: ARG002 - the graph leads past others
        """Return the parameters of a search."""
        # a search that may pass over names keeps more of them in sight
        wide = max(EF_SEARCH, count, IN_SIGHT * len(self) // 1_000_000) * (1 if selector is None else 2)
        return faiss().SearchParametersHNSW(efSearch=wide, sel=selector)


# --- cells ------------------------------------------------------------------------------------------------------------

PER_CELL = 64  # fewest names a cell on average
TAUGHT = 27  # names a cell that centres are fitted to: four times as many find no more, five find two points less
SEARCHED = 1 / 32  # of all cells, where all names are allowed
FEWEST = 16  # cells that are searched


class Ivf(Approximate):
    """Names in cells around centres, of which the nearest are searched (inverted file), a byte for each number.

    Built much faster than a graph.

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
        built.cp.min_points_per_centroid = TAUGHT  # Faiss writes to the terminal that it wants more
        if count:
            built.train(_sample(vectors, max(SAMPLE, TAUGHT * cells)))
        return built

    def parameters(self, count: int, selector: Any, share: float) -> Any:  # noqa: ARG002 - a cell holds enough names
        """Return the parameters of a search; where fewer names are allowed, the nearest of them lie in more cells."""
        wide = SEARCHED if selector is None else SEARCHED / share
        probes = max(FEWEST, int(self.built.nlist * wide))
        return faiss().SearchParametersIVF(nprobe=min(probes, self.built.nlist), sel=selector)
