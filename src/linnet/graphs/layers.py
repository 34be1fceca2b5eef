"""What stands around an encoder, in NumPy: what is known of words, their vectors, and an LSTM above them.

The same in PyTorch, for training, is `linnet.nn.windows`; tests compare both.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from linnet.arrays_file import ArraysWriter, open_arrays, replaced
from linnet.errors import FormatError
from linnet.frozen import EMPTY
from linnet.text.windows import PaddedWindows

__all__ = ["UNFIT", "Layers", "known_of_pieces", "linear", "mean_of_pieces", "read_layers", "run_lstm", "write_layers"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Layers = Mapping[str, Floats]

MAGIC = b"linnet layers 1\n"
UNFIT = "holds no layers that fit: leave the options as they were when trained"
DIRECTIONS = ("", "_reverse")  # of an LSTM, as PyTorch calls their weights


def write_layers(layers: Layers, path: Path) -> None:
    """Write arrays by name.

    Raises:
        OSError: they cannot be written.
    """

    def write(file: IO[bytes]) -> None:
        writer = ArraysWriter(file, MAGIC)
        for name, values in layers.items():
            writer.put(name, values.astype(np.float32).ravel())
        writer.finish({"shapes": {name: values.shape for name, values in layers.items()}})

    path.parent.mkdir(parents=True, exist_ok=True)
    replaced(path, write)


def read_layers(path: Path, wanted: Mapping[str, tuple[int, ...]] = EMPTY) -> dict[str, Floats]:
    """Return the arrays that `write_layers` wrote.

    Args:
        path: the file.
        wanted: shapes that some of them must have, by name.

    Raises:
        FormatError: there are none, or of other shapes.
    """
    stored = open_arrays(path, MAGIC, names=())
    if stored is None:
        raise FormatError(path, "is missing, damaged or of another version; copy the pipeline again, or train it again")
    layers = {name: values.reshape(stored.header["shapes"][name]) for name, values in stored.arrays.items()}
    if any(name not in layers or layers[name].shape != shape for name, shape in wanted.items()):
        raise FormatError(path, UNFIT)
    return layers


def linear(inputs: Floats, layers: Layers, name: str) -> Floats:
    """Return what a linear layer makes of vectors (…, inputs), float32 (…, outputs)."""
    found: Floats = inputs @ layers[f"{name}.weight"].T + layers[f"{name}.bias"]
    return found


def known_of_pieces(batch: PaddedWindows, shapes: Floats, matches: Floats | None) -> Floats:
    """Return what is known of the word of each piece, float32 (windows, tokens, d); 0 for what is of no word.

    Args:
        batch: the windows.
        shapes: a vector for each of `linnet.text.words.SHAPES`.
        matches: a vector for each feature of the dictionary's matches; None = there is no dictionary.
    """
    windows, count = batch.shapes.shape
    known = np.zeros((windows, count + 1, shapes.shape[1]), np.float32)  # the last stands for no word
    known[:, :count] = shapes[batch.shapes]
    if matches is not None and len(batch.matches):
        window, word, feature = batch.matches.T
        np.add.at(known, (window, word), matches[feature])
    return known[np.arange(windows)[:, None], batch.words]


def mean_of_pieces(hidden: Floats, batch: PaddedWindows) -> Floats:
    """Return the vectors of words, the means of those of their pieces, float32 (windows, words, d).

    Args:
        hidden: what the encoder says, (windows, tokens, d).
        batch: the windows.
    """
    windows, count = batch.shapes.shape
    places = (batch.words + np.arange(windows)[:, None] * (count + 1)).ravel()
    order = np.argsort(places, kind="stable")
    flat = hidden.reshape(-1, hidden.shape[2])[order]
    words, firsts, pieces = np.unique(places[order], return_index=True, return_counts=True)
    means = np.zeros((windows * (count + 1), hidden.shape[2]), np.float32)
    means[words] = np.add.reduceat(flat, firsts) / pieces[:, None].astype(np.float32)
    return means.reshape(windows, count + 1, -1)[:, :count]


def run_lstm(words: Floats, lengths: Ints, layers: Layers, name: str) -> Floats:
    """Return what a bidirectional LSTM says of words, float32 (windows, words, 2 x its size), which reads no padding.

    Args:
        words: (windows, words, d).
        lengths: words of each window, int64 (windows,).
        layers: the weights, called as those of PyTorch's module `name`.
        name: see `layers`.
    """
    count = words.shape[1]
    lengths = np.maximum(lengths, 1)
    order = np.arange(count)
    turned = np.where(order < lengths[:, None], lengths[:, None] - 1 - order, order)  # each row from its end on
    rows = np.arange(len(words))[:, None]
    said = []
    for direction in DIRECTIONS:
        weights = {
            key: layers[f"{name}.{key}_l0{direction}"] for key in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        }
        if direction:
            said.append(_run_forward(words[rows, turned], weights)[rows, turned])
        else:
            said.append(_run_forward(words, weights))
    found: Floats = np.concatenate(said, axis=2)
    found[order >= lengths[:, None]] = 0.0
    return found


def _run_forward(words: Floats, weights: Layers) -> Floats:
    """Return the outputs of an LSTM that reads from the first word to the last (Hochreiter and Schmidhuber 1997)."""
    inputs = words @ weights["weight_ih"].T + (weights["bias_ih"] + weights["bias_hh"])
    again = weights["weight_hh"].T
    windows, count, wide = inputs.shape
    out = np.empty((windows, count, wide // 4), np.float32)
    said = cell = np.zeros((windows, wide // 4), np.float32)
    for word in range(count):
        enter, keep, new, show = np.split(inputs[:, word] + said @ again, 4, axis=1)
        cell = _share(keep) * cell + _share(enter) * np.tanh(new)
        said = _share(show) * np.tanh(cell)
        out[:, word] = said
    return out


def _share(numbers: Floats) -> Floats:
    """Return numbers from 0 to 1 (the logistic function), without overflow."""
    found: Floats = 0.5 * (1 + np.tanh(0.5 * numbers))
    return found
