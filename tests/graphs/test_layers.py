"""The layers around an encoder in NumPy beside the same in PyTorch."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from linnet.errors import FormatError
from linnet.graphs.layers import known_of_pieces, linear, mean_of_pieces, read_layers, run_lstm, write_layers
from linnet.nn import windows
from linnet.nn.windows import Pieces
from linnet.text.windows import PaddedWindows

WINDOWS, TOKENS, WORDS, SIZE = 3, 9, 5, 6


@pytest.fixture
def batch() -> PaddedWindows:
    rng = np.random.default_rng(3)
    words = np.sort(rng.integers(0, WORDS + 1, (WINDOWS, TOKENS)), axis=1)
    words[:, 0] = words[:, -1] = WORDS
    matches = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 0], [2, 4, 3]])
    shapes = rng.integers(0, 4, (WINDOWS, WORDS))
    own = np.tile([0, WORDS], (WINDOWS, 1))
    ids = rng.integers(0, 9, (WINDOWS, TOKENS))
    return PaddedWindows(ids, np.ones_like(ids), words, shapes, matches, own, np.array([WORDS, 1, 3]))


def test_what_is_known_of_pieces(batch: PaddedWindows) -> None:
    torch.manual_seed(0)
    shapes, matches, none = torch.nn.Embedding(4, SIZE), torch.nn.Embedding(4, SIZE), torch.nn.Embedding(9, SIZE)
    torch.nn.init.zeros_(none.weight)
    reader: Any = SimpleNamespace(embeddings=none)
    for table in (matches, None):
        with torch.no_grad():
            wanted = windows.embed(Pieces.from_arrays(batch), reader, shapes, table).numpy()
        given = None if table is None else table.weight.detach().numpy()
        np.testing.assert_allclose(known_of_pieces(batch, shapes.weight.detach().numpy(), given), wanted, atol=1e-6)


def test_words_are_means_of_their_pieces(batch: PaddedWindows) -> None:
    hidden = np.random.default_rng(1).normal(size=(WINDOWS, TOKENS, SIZE)).astype(np.float32)
    wanted = windows.mean_of_pieces(torch.from_numpy(hidden), Pieces.from_arrays(batch)).numpy()
    np.testing.assert_allclose(mean_of_pieces(hidden, batch), wanted, atol=1e-6)


def test_an_lstm_reads_each_window_to_its_end(batch: PaddedWindows) -> None:
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(SIZE, 4, bidirectional=True, batch_first=True)
    words = torch.randn(WINDOWS, WORDS, SIZE)
    with torch.no_grad():
        wanted = windows.run_lstm(lstm, words, torch.from_numpy(batch.counts)).numpy()
    layers = {f"lstm.{name}": weight.detach().numpy() for name, weight in lstm.named_parameters()}
    np.testing.assert_allclose(run_lstm(words.numpy(), batch.counts, layers, "lstm"), wanted, atol=1e-5)


def test_layers_are_written_and_read(tmp_path: Path) -> None:
    layers = {"head.weight": np.eye(2, 3, dtype=np.float32), "head.bias": np.ones(2, np.float32)}
    write_layers(layers, tmp_path / "layers.arrays")
    found = read_layers(tmp_path / "layers.arrays")
    assert {name: values.tolist() for name, values in found.items()} == {n: v.tolist() for n, v in layers.items()}
    assert linear(np.array([[1, 2, 3]], np.float32), found, "head").tolist() == [[2.0, 3.0]]
    (tmp_path / "layers.arrays").write_bytes(b"PK nothing")
    for path in (tmp_path / "layers.arrays", tmp_path / "none.arrays"):
        with pytest.raises(FormatError, match="is missing, damaged"):
            read_layers(path)
