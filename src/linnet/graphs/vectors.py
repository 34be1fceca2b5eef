"""Texts to vectors without PyTorch: the tokens of an encoder that ONNX Runtime runs, pooled in NumPy.

The same in PyTorch is `linnet.nn.vectors` and `linnet.nn.pooling`; tests compare both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from linnet.frozen import EMPTY
from linnet.graphs.encoder import GraphEncoder
from linnet.graphs.layers import Layers, linear
from linnet.text.token_batches import TokenText, padded_arrays, token_batches

__all__ = ["GraphPool", "encode"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

LEAST = 1e-12  # length of a vector that is divided by


@dataclass(frozen=True)
class GraphPool:
    """Pools the tokens of texts in one of the ways of `linnet.nn.pooling`.

    Args:
        how: the way.
        layers: the weights ``both.weight`` and ``both.bias`` of the way ``ends``; others have none.

    >>> hidden, spans = np.array([[[9.0], [1.0], [2.0], [9.0]]], np.float32), np.array([[1, 3]])
    >>> GraphPool("span")(hidden, np.ones((1, 4), np.int64), spans).tolist()
    [[1.5]]
    """

    how: str
    layers: Layers = field(default_factory=lambda: EMPTY)

    def __call__(self, hidden: Floats, mask: Ints, spans: Ints) -> Floats:
        """Return one vector a text, float32 (texts, size).

        Args:
            hidden: vectors of tokens, (texts, tokens, size).
            mask: 1 for tokens, 0 for padding, (texts, tokens).
            spans: ``[start, end)`` in tokens, (texts, 2).
        """
        if self.how == "cls":
            return hidden[:, 0]
        if self.how == "mean":
            return _mean(hidden, mask)
        start, end = spans.T
        if self.how == "span":
            places = np.arange(hidden.shape[1])
            return _mean(hidden, (places >= start[:, None]) & (places < end[:, None]))
        rows = np.arange(len(hidden))
        if self.how == "markers":
            between: Floats = (hidden[rows, start - 1] + hidden[rows, end]) / 2
            return between
        ends = np.concatenate([hidden[rows, start], hidden[rows, np.maximum(end - 1, start)]], axis=1)
        return linear(ends, self.layers, "both")


def _mean(hidden: Floats, chosen: npt.NDArray[np.generic]) -> Floats:
    weights = chosen.astype(np.float32)
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1)
    found: Floats = np.einsum("ntd,nt->nd", hidden, weights)
    return found


def encode(encoder: GraphEncoder, pool: GraphPool, texts: Sequence[TokenText]) -> Floats:
    """Return one vector of length 1 a text, float32 (n, d), in the order of `texts`.

    Those of like length are read together.

    Args:
        encoder: reads them.
        pool: makes one vector of those of the tokens.
        texts: token ids and spans; none longer than the encoder's window.
    """
    vectors = np.empty((len(texts), encoder.size), np.float32)
    for rows in token_batches([len(text.ids) for text in texts], tokens=encoder.budget):
        ids, mask, spans = padded_arrays([texts[row] for row in rows], padding=encoder.special.padding)
        vectors[rows] = pool(encoder(ids, mask), mask, spans)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), LEAST)
    return vectors
