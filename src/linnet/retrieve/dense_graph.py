"""A trained bi-encoder without PyTorch: its encoders as graphs, what makes one vector of tokens in NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from linnet.errors import FormatError
from linnet.graphs.encoder import GraphEncoder, read_encoders, save_encoders
from linnet.graphs.layers import read_layers, write_layers
from linnet.graphs.vectors import GraphPool, encode
from linnet.text.token_batches import TokenText

__all__ = ["GraphBiEncoder"]

Floats = npt.NDArray[np.float32]

LAYERS = "layers.arrays"
ENDS = ("both.weight", "both.bias")


class GraphBiEncoder:
    """What makes vectors of mentions and names, as `linnet.retrieve.dense_network.BiEncoder` does.

    Args:
        mention: the encoder of mentions.
        entity: the encoder of names; the same object if it is shared.
        pool: of mentions.
        name_pool: of names.
    """

    is_graph = True  # PyTorch does not run it

    def __init__(self, mention: GraphEncoder, entity: GraphEncoder, *, pool: GraphPool, name_pool: GraphPool) -> None:
        self.mention, self.entity = mention, entity
        self.pool, self.name_pool = pool, name_pool

    def as_graph(self) -> Self:
        """Return itself."""
        return self

    @property
    def parameters(self) -> int:
        """The weights of the encoders and of the pooling."""
        pooled = sum(each.size for pool in (self.pool, self.name_pool) for each in pool.layers.values())
        return pooled + sum(each.parameters for each in {id(e): e for e in (self.mention, self.entity)}.values())

    def encode_mentions(self, texts: Sequence[TokenText]) -> Floats:
        """Return vectors of mentions, float32 (mentions, d) of length 1."""
        return encode(self.mention, self.pool, texts)

    def encode_names(self, texts: Sequence[TokenText]) -> Floats:
        """Return vectors of names, float32 (names, d) of length 1."""
        return encode(self.entity, self.name_pool, texts)

    def save(self, folder: Path) -> None:
        """Write the encoders, and the pooling's own weights.

        Raises:
            OSError: they cannot be written.
        """
        save_encoders(self.mention, self.entity, folder)
        sides = {"mention": self.pool, "entity": self.name_pool}
        layers = {f"{side}.{name}": each for side, pool in sides.items() for name, each in pool.layers.items()}
        write_layers(layers, folder / LAYERS)

    @classmethod
    def load(cls, folder: Path, *, pooling: str, name_pooling: str) -> GraphBiEncoder:
        """Return what `save` wrote.

        Raises:
            FormatError: it is no such network, or one of another pooling.
        """
        mention, entity = read_encoders(folder)
        layers = read_layers(folder / LAYERS)
        return cls(
            mention,
            entity,
            pool=GraphPool(pooling, _own(layers, "mention", pooling, folder)),
            name_pool=GraphPool(name_pooling, _own(layers, "entity", name_pooling, folder)),
        )


def _own(layers: Mapping[str, Floats], side: str, how: str, folder: Path) -> dict[str, Floats]:
    """Return the weights of the pooling of one side."""
    wanted = ENDS if how == "ends" else ()
    own = {name.removeprefix(f"{side}."): each for name, each in layers.items() if name.startswith(f"{side}.")}
    if own.keys() != set(wanted):
        raise FormatError(folder / LAYERS, f"holds no weights for the pooling {how!r}: leave it as it was trained")
    return own
