"""The vectors of names as a bi-encoder makes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from linnet.index.name_vectors import Kind, NameVectorsFile, SearchedNames
from linnet.kb import KbName

if TYPE_CHECKING:
    from linnet.retrieve.dense import Dense

__all__ = ["VECTORS", "name_vectors", "vectors_file"]

VECTORS = "names.vectors"  # in a trained folder


def vectors_file(dense: Dense) -> NameVectorsFile:
    """Return the file of the vectors of all names of a component's knowledge base, by its network as it is."""
    key = {
        "encoder": dense.module.entity.fingerprint(), "pooling": dense.name_pooling, "names": dense.names,
        "definitions": dense.definitions, "markers": dense.markers, "name_tokens": dense.name_tokens,
    }  # fmt: skip

    def encode(names: Sequence[KbName]) -> tuple[npt.NDArray[np.float32], int]:
        descriptions = [dense.kb[name.concept].definition for name in names] if dense.definitions else None
        return dense.encode_cut_names([name.text for name in names], descriptions)

    size, preferred = dense.module.entity.size, dense.names == "preferred"
    return NameVectorsFile(dense.kb, key, encode, size=size, tokens=dense.name_tokens, preferred=preferred)


def name_vectors(dense: Dense, *, index: Kind | None = None) -> SearchedNames:
    """Return the vectors of all names, with a component's index or one of another kind.

    Those of a trained folder stand in it, others beside the knowledge base; they are made where neither holds them
    for these weights, options and version.
    """
    trained = [dense.folder.with_name(VECTORS)] if dense.folder is not None else []
    return vectors_file(dense).searched(index or dense.index, *trained)
