"""The bi-encoder: a mention in its context and the text of a concept, each as one vector (TrainX: Oberhauser 2020).

Both sides are Hugging Face encoders, two of them as published or one for both. What one vector is made of the tokens is
an option of either side: [CLS] as published, or the mean of the mention's or the name's own tokens. The context is
centred on the mention: each side gets half of the room, and what one side leaves goes to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from linnet.errors import FormatError
from linnet.nn.encoder import Encoder
from linnet.nn.pooling import Pool, Pooling
from linnet.nn.vectors import EncodesNames, encode
from linnet.nn.weights import read_weights, write_weights
from linnet.text.templates import MARKERS
from linnet.text.token_batches import TokenText

if TYPE_CHECKING:
    from linnet.retrieve.dense_graph import GraphBiEncoder

__all__ = ["BiEncoder"]

Floats = npt.NDArray[np.float32]


class BiEncoder(nn.Module, EncodesNames):
    """Two encoders, or one that is both, and what makes one vector of each text's tokens.

    Args:
        mention: the encoder of mentions.
        entity: the encoder of names; the same object if it is shared.
        pooling: of mentions.
        name_pooling: of names.
    """

    is_graph = False  # PyTorch runs it

    def __init__(self, mention: Encoder, entity: Encoder, *, pooling: Pooling, name_pooling: Pooling) -> None:
        super().__init__()
        self.mention, self.entity = mention, entity
        self.pool, self.name_pool = Pool(pooling, mention.size), Pool(name_pooling, entity.size)

    @classmethod
    def of(
        cls, name: str | Path, *, shared: bool, pooling: Pooling, name_pooling: Pooling, download: bool = False
    ) -> BiEncoder:
        """Return an untrained bi-encoder from a pre-trained encoder by name or folder."""
        mention = Encoder.load(name, markers=MARKERS, download=download)
        entity = mention if shared else Encoder.load(name, markers=MARKERS, download=download)
        return cls(mention, entity, pooling=pooling, name_pooling=name_pooling)

    def as_graph(self) -> GraphBiEncoder:
        """Return the same for ONNX Runtime, its encoders with weights of a byte each.

        Raises:
            LinnetError: their kind cannot be written as a graph.
        """
        from linnet.graphs.vectors import GraphPool  # noqa: PLC0415 - needs the extra onnx
        from linnet.nn.onnx import as_graph  # noqa: PLC0415 - needs the extra onnx
        from linnet.retrieve.dense_graph import GraphBiEncoder  # noqa: PLC0415 - needs the extra onnx

        mention = as_graph(self.mention)
        pool, name_pool = (
            GraphPool(each.how, {name: weight.float().cpu().numpy() for name, weight in each.state_dict().items()})
            for _, each in self._pools()
        )
        entity = mention if self.shared else as_graph(self.entity)
        return GraphBiEncoder(mention, entity, pool=pool, name_pool=name_pool)

    def encode_mentions(self, texts: Sequence[TokenText]) -> Floats:
        """Return vectors of mentions, float32 (mentions, d) of length 1, without gradients."""
        return encode(self.mention, self.pool, texts, normalise=True)

    @property
    def shared(self) -> bool:
        """Whether one encoder serves both sides."""
        return self.entity is self.mention

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def embeddings(self) -> list[nn.Parameter]:
        """Return the weights below the first layer, of tokens and positions, which training freezes as published."""
        encoders = [self.mention] if self.shared else [self.mention, self.entity]
        lowest = [getattr(encoder.backbone, "embeddings", encoder.embeddings) for encoder in encoders]
        return [parameter for module in lowest for parameter in module.parameters()]

    def mentions(self, ids: Tensor, mask: Tensor, spans: Tensor) -> Tensor:
        """Return vectors of mentions, (mentions, tokens) -> (mentions, d)."""
        vectors: Tensor = self.pool(self.mention(ids, mask), mask, spans)
        return vectors

    def names(self, ids: Tensor, mask: Tensor, spans: Tensor) -> Tensor:
        """Return vectors of names, (names, tokens) -> (names, d)."""
        vectors: Tensor = self.name_pool(self.entity(ids, mask), mask, spans)
        return vectors

    def forward(self, mentions: tuple[Tensor, ...], names: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Return vectors of mentions and of names."""
        return self.mentions(*mentions), self.names(*names)

    def save(self, folder: Path) -> None:
        """Write the encoders, and the pooling's own weights if there are any."""
        self.mention.save(folder / "mention")
        if not self.shared:
            self.entity.save(folder / "entity")
        weights = {f"{side}.{key}": value for side, pool in self._pools() for key, value in pool.state_dict().items()}
        if weights:
            write_weights(weights, folder / "pooling.safetensors")

    def load_weights(self, folder: Path) -> None:
        """Read the pooling's weights that `save` wrote.

        Raises:
            FormatError: they are of another pooling.
        """
        path = folder / "pooling.safetensors"
        weights = read_weights(path)
        for side, pool in self._pools():
            own = {key.removeprefix(f"{side}."): value for key, value in weights.items() if key.startswith(f"{side}.")}
            if own.keys() != pool.state_dict().keys():
                raise FormatError(path, f"holds no weights for the pooling {pool.how!r}: leave it as it was trained")
            pool.load_state_dict(own)

    @classmethod
    def load(cls, folder: Path, *, pooling: Pooling, name_pooling: Pooling) -> BiEncoder:
        """Return what `save` wrote."""
        mention = Encoder.load(folder / "mention")
        entity = Encoder.load(folder / "entity") if (folder / "entity").is_dir() else mention
        loaded = cls(mention, entity, pooling=pooling, name_pooling=name_pooling)
        loaded.load_weights(folder)
        return loaded

    def _pools(self) -> tuple[tuple[str, Pool], tuple[str, Pool]]:
        return ("mention", self.pool), ("entity", self.name_pool)
