"""A trained network of a tagger without PyTorch: its encoder as a graph, the layers around it in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from linnet.graphs.encoder import GraphEncoder
from linnet.graphs.layers import known_of_pieces, linear, mean_of_pieces, read_layers, run_lstm, write_layers
from linnet.text.chains import NEVER, Rules
from linnet.text.windows import PaddedWindows

__all__ = ["GraphTagger"]

Floats = npt.NDArray[np.float32]

ENCODER, LAYERS = "encoder.onnx", "layers.arrays"
RULES: Final = ("begin", "follow", "end")


class GraphTagger:
    """What scores labels of words (`linnet.text.word_scores.WordScorer`), as `TaggerNetwork` does.

    Args:
        encoder: reads word pieces, and what is known of the words they are of.
        layers: ``shapes``, ``matches`` where there is a dictionary, ``head``, ``lstm`` where there is one, and the
            rules ``begin``, ``follow`` and ``end``.
    """

    def __init__(self, encoder: GraphEncoder, layers: Mapping[str, Floats]) -> None:
        self.encoder, self._layers = encoder, layers
        self.chain = Rules(*(layers[name] for name in RULES))
        self.budget = encoder.budget

    def as_graph(self) -> Self:
        """Return itself."""
        return self

    @property
    def parameters(self) -> int:
        """The weights of the encoder and the layers around it."""
        fixed = RULES if np.isin(self.chain.follow, (0.0, NEVER)).all() else ()  # rules that nothing has learned
        return self.encoder.parameters + sum(each.size for name, each in self._layers.items() if name not in fixed)

    def score(self, batch: PaddedWindows, /) -> Floats:
        """Return the score of each label for each word, float32 (windows, words, labels)."""
        known = known_of_pieces(batch, self._layers["shapes"], self._layers.get("matches"))
        words = mean_of_pieces(self.encoder(batch.ids, batch.mask, known), batch)
        if "lstm.weight_ih_l0" in self._layers:
            words = run_lstm(words, batch.counts, self._layers, "lstm")
        return linear(words, self._layers, "head")

    def save(self, folder: Path) -> None:
        """Write the encoder and the layers around it.

        Raises:
            OSError: they cannot be written.
        """
        self.encoder.save(folder / ENCODER)
        write_layers(self._layers, folder / LAYERS)

    @classmethod
    def load(cls, folder: Path, *, labels: int, features: int) -> GraphTagger:
        """Return what `save` wrote, for so many labels and features of dictionary matches.

        Raises:
            FormatError: it is no such network.
        """
        encoder = GraphEncoder(folder / ENCODER)
        wanted = {"begin": (labels,), "follow": (labels, labels), "end": (labels,), "head.bias": (labels,)}
        wanted |= {"matches": (features, encoder.size)} if features else {}
        return cls(encoder, read_layers(folder / LAYERS, wanted))
