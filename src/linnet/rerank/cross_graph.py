"""A trained network of a cross-encoder without PyTorch: its encoder as a graph, the layers above it in NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from linnet.graphs.encoder import GraphEncoder
from linnet.graphs.layers import linear, read_layers, write_layers
from linnet.text.packing import Packed, padded_tokens

__all__ = ["GraphCross"]

Floats = npt.NDArray[np.float32]

ENCODER, LAYERS = "encoder.onnx", "layers.arrays"


class GraphCross:
    """What judges pairs of mention and candidate, as `linnet.rerank.cross_network.CrossNetwork` does.

    Args:
        encoder: reads the sequences.
        layers: ``head``, and the weights ``none``, ``heard`` and ``voice`` of the network and of the stage before it.
    """

    def __init__(self, encoder: GraphEncoder, layers: Mapping[str, Floats]) -> None:
        self.encoder, self._layers = encoder, layers
        self.budget = encoder.budget
        self.none_logit = float(layers["none"][0])

    def as_graph(self) -> Self:
        """Return itself."""
        return self

    @property
    def parameters(self) -> int:
        """The weights of the encoder and the layers above it."""
        return self.encoder.parameters + sum(each.size for each in self._layers.values())

    def speak_alone(self) -> None:
        """Leave the stage before unheard from now on."""
        heard, voice = np.zeros_like(self._layers["heard"]), np.ones_like(self._layers["voice"])
        self._layers = {**self._layers, "heard": heard, "voice": voice}

    def margins(self, packed: Sequence[Packed], features: Floats, *, isolated: bool = False) -> Floats:  # noqa: ARG002
        """Return by how much the right candidate's logit is the higher one, float32 (slots,).

        Args:
            packed: sequences that are read together.
            features: what the stage before says of their slots, float32 (slots, n).
            isolated: never: graphs cannot keep candidates apart, which `CrossEncoder` refuses.
        """
        ids, filled, at = padded_tokens(packed, padding=self.encoder.special.padding)
        masks = self.encoder(ids, filled.astype(np.int64))[at[:, 0], at[:, 1]]
        logits = linear(masks, self._layers, "head")
        found: Floats = logits[:, 1] - logits[:, 0]
        if features.shape[1]:
            found = found * self._layers["voice"] + features @ self._layers["heard"]
        return found

    def save(self, folder: Path) -> None:
        """Write the encoder and the layers above it.

        Raises:
            OSError: they cannot be written.
        """
        self.encoder.save(folder / ENCODER)
        write_layers(self._layers, folder / LAYERS)

    @classmethod
    def load(cls, folder: Path, *, features: int) -> GraphCross:
        """Return what `save` wrote, for so many features of the stage before.

        Raises:
            FormatError: it is no such network.
        """
        encoder = GraphEncoder(folder / ENCODER)
        wanted = {"heard": (features,), "voice": (min(1, features),), "none": (1,), "head.weight": (2, encoder.size)}
        return cls(encoder, read_layers(folder / LAYERS, wanted))
