"""The vectors of all names of a knowledge base, made block by block and kept in a memory-mapped file.

They are found again by what they were made of: version, weights, options.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linnet.arrays_file import ArraysWriter, Stored, kept, open_arrays, replaced
from linnet.index.flat import Flat, Found
from linnet.kb import Mask

if TYPE_CHECKING:
    from linnet.retrieve.dense import Dense

__all__ = ["VECTORS", "NameVectors", "make", "name_vectors"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Block = tuple[Floats, Ints, Ints]  # vectors (n, d), concept rows and name rows (n,)

BLOCK = 16_384  # names encoded before they are written
MAGIC = b"linnet vectors of names 1\n"
VECTORS = "names.vectors"  # in a trained folder


class NameVectors:
    """Vectors (n, d), concept rows and name rows (n,) of a knowledge base's names, and the exact index over them."""

    def __init__(self, vectors: Floats, concepts: Ints, name_rows: Ints, about: dict[str, Any]) -> None:
        self.vectors, self.concepts, self.name_rows, self.about = vectors, concepts, name_rows, about
        self.index = Flat(vectors, concepts)

    def search(self, queries: Floats, k: int, masks: Sequence[Mask | None] | None = None) -> list[Found]:
        """Return the nearest concepts, with name rows as names."""
        return [found._replace(names=self.name_rows[found.names]) for found in self.index.search(queries, k, masks)]

    def save(self, path: Path) -> None:
        """Write them to a file, which is there in full or not at all."""
        block = (self.vectors, self.concepts, self.name_rows)
        replaced(path, lambda file: _written(file, [block], self.vectors.shape[1], self.about))

    @classmethod
    def open(cls, path: Path, about: dict[str, Any]) -> NameVectors | None:
        """Return what a file holds, memory-mapped; None if it was made of something else than `about` or is damaged."""
        stored = open_arrays(path, MAGIC, names=("vectors", "concepts", "name_rows"))
        return _mapped(stored) if stored is not None and stored.header.get("about") == about else None


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
    vectors = arrays["vectors"].reshape(-1, header["size"])
    return NameVectors(vectors, arrays["concepts"], arrays["name_rows"], header["about"])


def name_vectors(dense: Dense) -> NameVectors:
    """Return the vectors of all names of a component's knowledge base.

    Those of a trained folder stand in it, others beside the knowledge base, under the name of a hash of what they were
    made of; they are made where neither holds them for these weights, options and version.
    """
    about = _about(dense)
    if dense.folder is not None and (found := NameVectors.open(dense.folder.with_name(VECTORS), about)) is not None:
        return found
    digest = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=6).hexdigest()
    beside = dense.kb.path.with_name(f"{dense.kb.path.name}.vectors-{digest}")
    if (found := NameVectors.open(beside, about)) is not None:
        return found
    size = dense.module.entity.size
    return kept(beside, lambda file: _written(file, _blocks(dense), size, about), what="file of vectors")


def _about(dense: Dense) -> dict[str, Any]:
    return {
        "kb": dense.kb.version, "encoder": dense.module.entity.fingerprint(), "pooling": dense.name_pooling,
        "names": dense.names, "definitions": dense.definitions, "markers": dense.markers,
        "name_tokens": dense.name_tokens,
    }  # fmt: skip


def make(dense: Dense) -> NameVectors:
    """Return the vectors of all names in memory, made with the network as it is."""
    nothing = (np.zeros((0, dense.module.entity.size), np.float32), np.empty(0, np.int32), np.empty(0, np.int32))
    vectors, concepts, rows = (np.concatenate(parts) for parts in zip(nothing, *_blocks(dense), strict=True))
    return NameVectors(vectors, concepts, rows, _about(dense))


def _blocks(dense: Dense) -> Iterator[Block]:
    """Yield vectors, concept rows and name rows of names, some at a time; warn in the end of those that were cut."""
    kb, cut = dense.kb, 0
    names = (name for name in kb.names() if dense.names == "all" or name.preferred)
    while block := list(itertools.islice(names, BLOCK)):
        descriptions = [kb[name.concept].definition for name in block] if dense.definitions else None
        vectors, longer = dense.encode_cut_names([name.text for name in block], descriptions)
        cut += longer
        rows = np.array([(name.concept, name.row) for name in block], np.int32)
        yield vectors, rows[:, 0], rows[:, 1]
    dense.warn_of_cut(cut, "names", dense.name_tokens)
