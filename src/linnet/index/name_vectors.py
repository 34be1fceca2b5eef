"""The vectors of all names of a knowledge base: made block by block, kept in a memory-mapped file, and searched.

They are found again by what they were made of: version, weights, options. After an edit of the knowledge base only the
names of the concepts that changed are encoded; they are kept and searched beside the others, until a tenth of all
concepts has changed.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from linnet.arrays_file import ArraysWriter, Stored, open_arrays, replaced
from linnet.errors import FormatError
from linnet.index.approximate import Approximate, Hnsw, Ivf
from linnet.index.flat import Flat, Found
from linnet.kb import KbName, KnowledgeBase, Mask
from linnet.kb.side_files import Earlier, SideFile, build_once
from linnet.reporter import warn

__all__ = ["INDEXES", "EditedVectors", "Kind", "NameVectors", "NameVectorsFile", "SearchedNames"]

logger = logging.getLogger(__name__)

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Block = tuple[Floats, Ints, Ints]  # vectors (n, d), concept rows and name rows (n,)
Kind = Literal["auto", "flat", "hnsw", "ivf"]

INDEXES: dict[str, type[Approximate]] = {"hnsw": Hnsw, "ivf": Ivf}
FLAT, GRAPH = 500_000, 5_000_000  # names up to which all are compared, and up to which a graph is built
BLOCK = 16_384  # names encoded before they are written
TELL = 10.0  # seconds between two words about progress
MAGIC = b"linnet vectors of names 1\n"
ARRAYS = ("vectors", "concepts", "name_rows")


class NameVectors:
    """Vectors (n, d), concept rows and name rows (n,) of a knowledge base's names, and an index over them.

    Args:
        vectors: float32 (n, d) of length 1; may be memory-mapped.
        concepts: int32 (n,).
        name_rows: int32 (n,).
        about: what they were made of.
        index: over `vectors` and `concepts`; exact if not given.
    """

    def __init__(
        self, vectors: Floats, concepts: Ints, name_rows: Ints, about: dict[str, Any], index: Any = None
    ) -> None:
        self.vectors, self.concepts, self.name_rows, self.about = vectors, concepts, name_rows, about
        self.index = Flat(vectors, concepts) if index is None else index

    def search(self, queries: Floats, k: int, masks: Sequence[Mask | None] | None = None) -> list[Found]:
        """Return the nearest concepts, with name rows as names."""
        return [found._replace(names=self.name_rows[found.names]) for found in self.index.search(queries, k, masks)]

    def save(self, path: Path) -> None:
        """Write them to a file, which is there in full or not at all."""
        block = (self.vectors, self.concepts, self.name_rows)
        _save(path, [block], self.vectors.shape[1], self.about)

    def only(self, chosen: npt.NDArray[np.bool_]) -> Block:
        """Return the vectors, concept rows and name rows of some of the names."""
        return self.vectors[chosen], self.concepts[chosen], self.name_rows[chosen]

    @classmethod
    def of(cls, stored: Stored) -> NameVectors:
        """Return what an open file holds; KeyError, TypeError or ValueError where it is of another shape."""
        arrays, header = stored
        if len(arrays["concepts"]) != len(arrays["name_rows"]):
            raise ValueError("not a concept for each name")
        vectors = arrays["vectors"].reshape(len(arrays["concepts"]), header["size"])
        return cls(vectors, arrays["concepts"], arrays["name_rows"], header["about"])

    @classmethod
    def open(cls, path: Path) -> NameVectors:
        """Return what a file holds, whatever it was made of, memory-mapped.

        Raises:
            FormatError: it is missing, damaged or something else.
        """
        stored = open_arrays(path, MAGIC, names=ARRAYS)
        with suppress(KeyError, TypeError, ValueError):
            if stored is not None:
                return cls.of(stored)
        raise FormatError(path, "holds no vectors of names; delete it to have them made again")

    def indexed(self, kind: Kind, path: Path) -> NameVectors:
        """Return these with an index of a kind, which is kept beside the file `path` of the vectors."""
        if (chosen := _choose(kind, len(self.vectors))) == "flat":
            return self
        return NameVectors(self.vectors, self.concepts, self.name_rows, self.about, self._index(INDEXES[chosen], path))

    def _index(self, kind: type[Approximate], beside: Path) -> Approximate:
        path = beside.with_name(f"{beside.name}.{kind.SUFFIX}")

        def find() -> Approximate | None:
            try:
                return kind.open(path, self.vectors, self.concepts, self.about) if path.exists() else None
            except FormatError as error:
                logger.warning("%s: it is built again", error)
                return None

        def make(_: Approximate | None) -> Approximate:
            progress = _Progress(f"index of names ({kind.SUFFIX})", len(self.vectors))
            built = kind.build(self.vectors, self.concepts, progress=progress)
            try:
                built.save(path, self.about)
            except OSError as error:
                problem = f"{path.parent} cannot be written to ({error.strerror})"
                warn(f"{problem}: the index of names is built each time")
                return built
            return kind.open(path, self.vectors, self.concepts, self.about)

        return build_once(path, find(), find, make)


class EditedVectors:
    """Vectors of a knowledge base's names of which some concepts have changed since they were made.

    Args:
        base: the vectors as they were.
        added: those of the names that the changed concepts have now.
        live: the concepts that have not changed.
    """

    def __init__(self, base: NameVectors, added: NameVectors, live: Mask) -> None:
        self.base, self.added, self.live = base, added, live

    def search(self, queries: Floats, k: int, masks: Sequence[Mask | None] | None = None) -> list[Found]:
        """Return the nearest concepts, with name rows as names."""
        given = masks if masks is not None else [None] * len(queries)
        allowed = {id(mask): self.live if mask is None else mask & self.live for mask in given}
        unchanged = self.base.search(queries, k, [allowed[id(mask)] for mask in given])
        changed = self.added.search(queries, k, given)
        return [_best(*both, k) for both in zip(unchanged, changed, strict=True)]

    def save(self, path: Path) -> None:
        """Write the vectors of all names as they are now."""
        blocks = [
            self.base.only(self.live.array[self.base.concepts]),
            (self.added.vectors, self.added.concepts, self.added.name_rows),
        ]
        size, about = self.base.vectors.shape[1], self.added.about
        _save(path, blocks, size, {key: value for key, value in about.items() if key != "since"})


SearchedNames: TypeAlias = NameVectors | EditedVectors


def _best(one: Found, other: Found, k: int) -> Found:
    """Return the best of what was found among different concepts."""
    rows, scores, names = (np.concatenate(pair) for pair in zip(one, other, strict=True))
    order = np.lexsort((rows, -scores))[:k]
    return Found(rows[order], scores[order], names[order])


def _choose(kind: Kind, count: int) -> str:
    """Return the kind of index for so many names.

    >>> [_choose("auto", count) for count in (1000, 1_000_000, 9_000_000)]
    ['flat', 'hnsw', 'ivf']
    """
    if kind != "auto":
        return kind
    return "flat" if count <= FLAT else "hnsw" if count <= GRAPH else "ivf"


class _Progress:
    """Says now and then how many of so many are done."""

    def __init__(self, what: str, count: int) -> None:
        self.what, self.count, self.told = what, count, time.monotonic()

    def __call__(self, done: int) -> None:
        if (now := time.monotonic()) - self.told >= TELL:
            self.told = now
            logger.info("%s: %s of %s", self.what, f"{done:,}", f"{self.count:,}")


# --- making them -----------------------------------------------------------------------------------------------------


class NameVectorsFile(SideFile[NameVectors]):
    """The vectors of all names of a knowledge base, made by a network and kept beside it.

    Args:
        kb: the knowledge base.
        key: the fingerprint of the network and every option that vectors depend on, as JSON.
        encode: from names to vectors, float32 (names, d) of length 1, and how many were longer than the window.
        size: d.
        tokens: word pieces that the window takes, for the warning about longer names.
        preferred: make vectors of preferred names alone.
    """

    WHAT = "file of vectors"
    SUFFIX = "vectors"
    MAGIC = MAGIC
    ARRAYS = ARRAYS
    ANEW = 0.1

    def __init__(
        self,
        kb: KnowledgeBase,
        key: Mapping[str, Any],
        encode: Callable[[Sequence[KbName]], tuple[Floats, int]],
        *,
        size: int,
        tokens: int,
        preferred: bool = False,
    ) -> None:
        super().__init__(kb, key)
        self.encode, self.size, self.tokens, self.preferred = encode, size, tokens, preferred

    def searched(self, index: Kind, *elsewhere: Path) -> SearchedNames:
        """Return the vectors with an index of a kind; made if neither files `elsewhere` nor that beside hold them."""
        path, base, added, live = self.layers(*elsewhere)
        found = base.indexed(index, path)
        return found if added is None or live is None else EditedVectors(found, added, live)

    def in_memory(self) -> NameVectors:
        """Return the vectors of all names, made now and kept nowhere."""
        nothing = (np.zeros((0, self.size), np.float32), np.empty(0, np.int32), np.empty(0, np.int32))
        vectors, concepts, rows = (np.concatenate(parts) for parts in zip(nothing, *self._blocks(None), strict=True))
        return NameVectors(vectors, concepts, rows, {**self.about, "kb": self.kb.version})

    def write(
        self, writer: ArraysWriter, concepts: Sequence[int] | None, earlier: Earlier[NameVectors] | None
    ) -> dict[str, Any]:
        """Write the vectors of names, encoded or taken from before, with their concepts and rows."""
        still = [] if earlier is None else [earlier.content.only(earlier.stay)]
        return _put(writer, itertools.chain(still, self._blocks(concepts)), self.size)

    def read(self, stored: Stored) -> NameVectors:
        """Return the vectors of a file."""
        return NameVectors.of(stored)

    def _blocks(self, concepts: Sequence[int] | None) -> Iterator[Block]:
        """Yield vectors, concept rows and name rows, some at a time; warn in the end of names that were cut."""
        cut, done = 0, 0
        progress = _Progress("vectors of names", self.kb.history[-1]["concepts" if self.preferred else "names"])
        names = (name for name in self.kb.names(concepts) if name.preferred or not self.preferred)
        while block := list(itertools.islice(names, BLOCK)):
            vectors, longer = self.encode(block)
            cut, done = cut + longer, done + len(block)
            progress(done)
            rows = np.array([(name.concept, name.row) for name in block], np.int32)
            yield vectors, rows[:, 0], rows[:, 1]
        if cut:
            warn(f"{cut:,} names are longer than {self.tokens} word pieces: only their ends were compared")


def _put(writer: ArraysWriter, blocks: Iterable[Block], size: int) -> dict[str, Any]:
    """Write vectors block by block, what they are of behind them, and return what the header shall tell."""
    concepts, name_rows = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for vectors, of, rows in blocks:
        writer.file.write(np.ascontiguousarray(vectors).data)
        concepts.append(of)
        name_rows.append(rows)
    writer.claim("vectors", np.float32)
    writer.put("concepts", np.concatenate(concepts))
    writer.put("name_rows", np.concatenate(name_rows))
    return {"size": size}


def _save(path: Path, blocks: Iterable[Block], size: int, about: Mapping[str, Any]) -> None:
    def write(file: IO[bytes]) -> None:
        writer = ArraysWriter(file, MAGIC)
        writer.finish({**_put(writer, blocks, size), "about": about})

    replaced(path, write)
