"""The vectors of all names of a knowledge base: made block by block, kept in a memory-mapped file, and searched.

They are found again by what they were made of: version, weights, options. After an edit of the knowledge base only the
names of the concepts that changed are encoded; they are kept and searched beside the others, until a tenth of all
concepts has changed.
"""

from __future__ import annotations

import glob
import hashlib
import itertools
import json
import logging
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from linnet.arrays_file import ArraysWriter, Stored, kept, open_arrays, replaced
from linnet.errors import FormatError, KnowledgeBaseError, LinnetWarning
from linnet.index.approximate import Approximate
from linnet.index.flat import Flat, Found
from linnet.index.hnsw import Hnsw
from linnet.index.ivf import Ivf
from linnet.kb import Mask

if TYPE_CHECKING:
    from linnet.retrieve.dense import Dense

__all__ = [
    "INDEXES",
    "VECTORS",
    "EditedVectors",
    "NameVectors",
    "SearchedNames",
    "files_beside",
    "make",
    "name_vectors",
]

logger = logging.getLogger(__name__)

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Block = tuple[Floats, Ints, Ints]  # vectors (n, d), concept rows and name rows (n,)
Kind = Literal["auto", "flat", "hnsw", "ivf"]

INDEXES: dict[str, type[Approximate]] = {"hnsw": Hnsw, "ivf": Ivf}
FLAT, GRAPH = 500_000, 5_000_000  # names up to which all are compared, and up to which a graph is built
EDITED = 0.1  # share of the concepts that may change before everything is made anew
BLOCK = 16_384  # names encoded before they are written
TELL = 10.0  # seconds between two words about progress
MAGIC = b"linnet vectors of names 1\n"
VECTORS = "names.vectors"  # in a trained folder


class SearchedNames(Protocol):
    """Vectors of names that can be searched and written."""

    def search(self, queries: Floats, k: int, masks: Sequence[Mask | None] | None = None) -> list[Found]:
        """Return the nearest concepts, with name rows as names."""
        ...

    def save(self, path: Path) -> None:
        """Write them to a file, which is there in full or not at all."""
        ...


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
        replaced(path, lambda file: _written(file, [block], self.vectors.shape[1], self.about))

    def only(self, chosen: npt.NDArray[np.bool_]) -> Block:
        """Return the vectors, concept rows and name rows of some of the names."""
        return self.vectors[chosen], self.concepts[chosen], self.name_rows[chosen]

    @classmethod
    def open(cls, path: Path, options: dict[str, Any]) -> NameVectors | None:
        """Return what a file holds, memory-mapped; None if it was made with other options or is damaged."""
        stored = open_arrays(path, MAGIC, names=("vectors", "concepts", "name_rows"))
        about = stored.header.get("about") if stored is not None else None
        if stored is None or not isinstance(about, dict) or {key: about.get(key) for key in options} != options:
            return None
        try:
            found = _mapped(stored)
        except (KeyError, TypeError, ValueError):
            return None
        return found if len(found.vectors) == len(found.concepts) == len(found.name_rows) and "kb" in about else None

    def indexed(self, kind: Kind, path: Path) -> NameVectors:
        """Return these with an index of a kind, which is kept beside the file `path` of the vectors."""
        if (chosen := _chosen(kind, len(self.vectors))) == "flat":
            return self
        return NameVectors(self.vectors, self.concepts, self.name_rows, self.about, self._index(INDEXES[chosen], path))

    def _index(self, kind: type[Approximate], beside: Path) -> Approximate:
        path = beside.with_name(f"{beside.name}.{kind.SUFFIX}")
        if path.exists():
            try:
                return kind.open(path, self.vectors, self.concepts, self.about)
            except FormatError as error:
                logger.warning("%s: it is built again", error)
        progress = _Progress(f"index of names ({kind.SUFFIX})", len(self.vectors))
        built = kind.build(self.vectors, self.concepts, progress=progress)
        try:
            built.save(path, self.about)
        except OSError as error:
            message = f"{path.parent} cannot be written to ({error.strerror}): the index of names is built each time"
            warnings.warn(message, LinnetWarning, stacklevel=4)
            return built
        return kind.open(path, self.vectors, self.concepts, self.about)


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
        replaced(path, lambda file: _written(file, blocks, size, {k: v for k, v in about.items() if k != "since"}))


def _best(one: Found, other: Found, k: int) -> Found:
    """Return the best of what was found among different concepts."""
    rows, scores, names = (np.concatenate(pair) for pair in zip(one, other, strict=True))
    order = np.lexsort((rows, -scores))[:k]
    return Found(rows[order], scores[order], names[order])


def _chosen(kind: Kind, count: int) -> str:
    """Return the kind of index for so many names.

    >>> [_chosen("auto", count) for count in (1000, 1_000_000, 9_000_000)]
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


def _written(file: IO[bytes], blocks: Iterable[Block], size: int, about: dict[str, Any]) -> NameVectors:
    writer = ArraysWriter(file, MAGIC)
    concepts, name_rows = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for vectors, of, rows in blocks:
        writer.file.write(np.ascontiguousarray(vectors).data)
        concepts.append(of)
        name_rows.append(rows)
    writer.claim("vectors", np.float32)
    writer.put("concepts", np.concatenate(concepts))
    writer.put("name_rows", np.concatenate(name_rows))
    return _mapped(writer.finish({"about": about, "size": size}))


def _mapped(stored: Stored) -> NameVectors:
    arrays, header = stored
    vectors = arrays["vectors"].reshape(len(arrays["concepts"]), header["size"])
    return NameVectors(vectors, arrays["concepts"], arrays["name_rows"], header["about"])


# --- where they are --------------------------------------------------------------------------------------------------


def name_vectors(dense: Dense, *, index: Kind | None = None) -> SearchedNames:
    """Return the vectors of all names of a component's knowledge base, with its index or one of another kind.

    Those of a trained folder stand in it, others beside the knowledge base, under the name of a hash of the options
    they were made with; they are made where neither holds them for these weights, options and version.
    """
    options, kind = _options(dense), index or dense.index
    beside = _beside(dense, options)
    for path in ([dense.folder.with_name(VECTORS)] if dense.folder is not None else []) + [beside]:
        if (base := NameVectors.open(path, options)) is not None and (
            found := _current(dense, base, path, kind)
        ) is not None:
            return found
    about, size = {**options, "kb": dense.kb.version}, dense.module.entity.size
    made = kept(beside, lambda file: _written(file, _blocks(dense), size, about), what="file of vectors")
    return made.indexed(kind, beside)


def files_beside(dense: Dense) -> list[Path]:
    """Return the files beside the knowledge base that vectors of a component are read from, with their indexes."""
    beside = _beside(dense, _options(dense))
    return sorted(beside.parent.glob(f"{glob.escape(beside.name)}*"))


def _beside(dense: Dense, options: dict[str, Any]) -> Path:
    digest = hashlib.blake2b(json.dumps(options, sort_keys=True).encode(), digest_size=6).hexdigest()
    return dense.kb.path.with_name(f"{dense.kb.path.name}.vectors-{digest}")


def _options(dense: Dense) -> dict[str, Any]:
    return {
        "encoder": dense.module.entity.fingerprint(), "pooling": dense.name_pooling, "names": dense.names,
        "definitions": dense.definitions, "markers": dense.markers, "name_tokens": dense.name_tokens,
    }  # fmt: skip


def _current(dense: Dense, base: NameVectors, path: Path, kind: Kind) -> SearchedNames | None:
    """Return vectors brought up to the version of the knowledge base; None if they are of another, or much changed."""
    kb, was = dense.kb, base.about["kb"]
    if was == kb.version:
        return base.indexed(kind, path)
    try:
        changed = kb.changed_since(was)
    except KnowledgeBaseError:
        return None
    if len(changed) > EDITED * len(kb):
        return None
    live = kb.mask().array.copy()
    live[changed] = False
    added = _added(dense, base, changed, path.with_name(f"{path.name}.edits"))
    return EditedVectors(base.indexed(kind, path), added, Mask(live, kb.version))


def _added(dense: Dense, base: NameVectors, changed: npt.NDArray[np.int64], path: Path) -> NameVectors:
    """Return the vectors of the names that changed concepts have now; those made after an earlier edit are kept."""
    kb, options, since = dense.kb, _options(dense), base.about["kb"]
    about = {**options, "kb": kb.version, "since": since}
    before, fresh = NameVectors.open(path, {**options, "since": since}), changed
    if before is not None and before.about["kb"] == kb.version:
        return before
    still: list[Block] = []
    if before is not None and before.about["kb"] in {entry["version"] for entry in kb.history}:
        # of concepts that are again what they were when the base was made, the base holds the names
        fresh = np.intersect1d(kb.changed_since(before.about["kb"]), changed)
        still = [before.only(np.isin(before.concepts, changed) & ~np.isin(before.concepts, fresh))]
    blocks = [*still, *_blocks(dense, fresh.tolist())]
    return kept(path, lambda file: _written(file, blocks, base.vectors.shape[1], about), what="file of vectors")


# --- making them -----------------------------------------------------------------------------------------------------


def make(dense: Dense) -> NameVectors:
    """Return the vectors of all names in memory, made with the network as it is."""
    nothing = (np.zeros((0, dense.module.entity.size), np.float32), np.empty(0, np.int32), np.empty(0, np.int32))
    vectors, concepts, rows = (np.concatenate(parts) for parts in zip(nothing, *_blocks(dense), strict=True))
    return NameVectors(vectors, concepts, rows, {**_options(dense), "kb": dense.kb.version})


def _blocks(dense: Dense, concepts: Sequence[int] | None = None) -> Iterator[Block]:
    """Yield vectors, concept rows and name rows of names, some at a time; warn in the end of those that were cut."""
    kb, cut, done = dense.kb, 0, 0
    counts = kb.history[-1]
    progress = _Progress("vectors of names", counts["names" if dense.names == "all" else "concepts"])
    names = (name for name in kb.names(concepts) if dense.names == "all" or name.preferred)
    while block := list(itertools.islice(names, BLOCK)):
        descriptions = [kb[name.concept].definition for name in block] if dense.definitions else None
        vectors, longer = dense.encode_cut_names([name.text for name in block], descriptions)
        cut, done = cut + longer, done + len(block)
        progress(done)
        rows = np.array([(name.concept, name.row) for name in block], np.int32)
        yield vectors, rows[:, 0], rows[:, 1]
    dense.warn_of_cut(cut, "names", dense.name_tokens)
