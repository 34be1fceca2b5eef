"""The vectors of all names of a knowledge base, made block by block and kept as memory-mapped arrays.

They are found again by what they were made of: version, weights, options.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linnet.errors import FormatError, LinnetWarning
from linnet.home import read_json
from linnet.index.flat import Flat, Found
from linnet.kb import KnowledgeBase, Mask

if TYPE_CHECKING:
    from linnet.retrieve.dense import Dense

__all__ = ["NameVectors", "make", "name_vectors"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

BLOCK = 16_384  # names tokenized at once
ABOUT = "vectors.json"
VECTORS, CONCEPTS, ROWS = "vectors.npy", "concepts.npy", "name_rows.npy"


class NameVectors:
    """Vectors (n, d), concept rows and name rows (n,) of a knowledge base's names, and the exact index over them."""

    def __init__(self, vectors: Floats, concepts: Ints, name_rows: Ints, about: dict[str, Any]) -> None:
        self.vectors, self.concepts, self.name_rows, self.about = vectors, concepts, name_rows, about
        self.index = Flat(vectors, concepts)

    def search(self, queries: Floats, k: int, masks: Sequence[Mask | None] | None = None) -> list[Found]:
        """Return the nearest concepts, with name rows as names."""
        return [found._replace(names=self.name_rows[found.names]) for found in self.index.search(queries, k, masks)]

    def save(self, folder: Path) -> None:
        """Write the arrays, and what they were made of, last."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, values in ((VECTORS, self.vectors), (CONCEPTS, self.concepts), (ROWS, self.name_rows)):
            np.lib.format.open_memmap(folder / name, "w+", values.dtype, values.shape)[:] = values
        (folder / ABOUT).write_text(json.dumps(self.about, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> NameVectors:
        """Return what `save` wrote, memory-mapped.

        Raises:
            FormatError: a file is missing, cut short or of another shape.
        """
        about = read_json(folder / ABOUT)
        try:
            # pickled objects are refused: there is no such thing as a memory-mapped array of them
            arrays = [np.lib.format.open_memmap(folder / name, mode="r") for name in (VECTORS, CONCEPTS, ROWS)]
        except (OSError, ValueError) as error:
            raise FormatError(folder, f"vectors that cannot be read ({error}); train again") from error
        vectors, concepts, rows = arrays
        if vectors.ndim != 2 or not len(vectors) == len(concepts) == len(rows) == about.get("count"):
            raise FormatError(folder / VECTORS, "not as many vectors as names; train again")
        return cls(vectors, np.asarray(concepts), np.asarray(rows), about)


def name_vectors(dense: Dense) -> NameVectors:
    """Return the vectors of all names of a component's knowledge base.

    Those of a trained folder stand in it, others beside the knowledge base, under the name of a hash of what they were
    made of; they are made where neither holds them for these weights, options and version.
    """
    about = _about(dense)
    if dense.folder is not None and (found := _opened(dense.folder.parent, about)) is not None:
        return found
    digest = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=6).hexdigest()
    beside = dense.kb.path.with_name(f"{dense.kb.path.name}.vectors-{digest}")
    if (found := _opened(beside, about)) is not None:
        return found
    return _kept(make(dense), beside)


def _about(dense: Dense) -> dict[str, Any]:
    return {
        "kb": dense.kb.version, "encoder": dense.model.entity.fingerprint(), "pooling": dense.name_pooling,
        "names": dense.names, "definitions": dense.definitions, "markers": dense.markers,
        "name_tokens": dense.name_tokens,
    }  # fmt: skip


def _opened(folder: Path, about: dict[str, Any]) -> NameVectors | None:
    """Return the vectors in a folder if they were made of this."""
    if not (folder / ABOUT).is_file():
        return None
    try:
        found = NameVectors.open(folder)
    except FormatError as error:
        warnings.warn(f"{error}: vectors are made again", LinnetWarning, stacklevel=3)
        return None
    return found if {key: found.about.get(key) for key in about} == about else None


def make(dense: Dense) -> NameVectors:
    """Return the vectors of all names, made with the network as it is."""
    blocks, concepts, rows = [], [], []
    for texts, descriptions, of, name_rows in _blocks(dense.kb, dense):
        blocks.append(dense.encode_names(texts, descriptions))
        concepts += of
        rows += name_rows
    vectors = np.concatenate(blocks) if blocks else np.zeros((0, dense.model.entity.size), np.float32)
    about = {**_about(dense), "count": len(vectors)}
    return NameVectors(vectors, np.array(concepts, np.int32), np.array(rows, np.int32), about)


def _blocks(kb: KnowledgeBase, dense: Dense) -> Iterator[tuple[list[str], list[str] | None, list[int], list[int]]]:
    """Yield texts, descriptions, concept rows and name rows of names, some at a time."""
    names = (name for name in kb.names() if dense.names == "all" or name.preferred)
    while block := list(itertools.islice(names, BLOCK)):
        descriptions = [kb[name.concept].definition for name in block] if dense.definitions else None
        yield (
            [name.text for name in block], descriptions, [name.concept for name in block], [name.row for name in block]
        )  # fmt: skip


def _kept(made: NameVectors, folder: Path) -> NameVectors:
    """Write vectors aside and rename the folder; where nothing can be written they stay in memory, with a warning."""
    part = None
    try:
        part = Path(tempfile.mkdtemp(prefix=folder.name, suffix=".part", dir=folder.parent))
        made.save(part)
        part.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(part, folder)  # noqa: PTH105 - a folder
    except OSError as error:
        if part is not None:
            shutil.rmtree(part, ignore_errors=True)
        message = f"{folder.parent} cannot be written to ({error.strerror}): vectors of names are made again each time"
        warnings.warn(message, LinnetWarning, stacklevel=3)
        return made
    return NameVectors.open(folder)
