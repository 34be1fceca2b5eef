"""Weights that cannot be read or are no numbers are refused, with the name of their file."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from linnet.errors import FormatError
from linnet.nn.weights import read_weights, write_weights

WEIGHTS = {"scores": torch.arange(6.0).reshape(2, 3).T, "none": torch.zeros(0), "counts": torch.tensor([3, 1])}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    assert read_weights(tmp_path / "w") == {}
    write_weights(WEIGHTS, tmp_path / "w")
    found = read_weights(tmp_path / "w")
    assert {name: values.tolist() for name, values in found.items()} == {
        name: values.tolist() for name, values in WEIGHTS.items()
    }


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16])
def test_what_is_no_number_is_refused(tmp_path: Path, number: float, kind: torch.dtype) -> None:
    write_weights({**WEIGHTS, "bias": torch.tensor([[1.0, number], [2.0, 3.0]], dtype=kind)}, tmp_path / "w")
    with pytest.raises(FormatError, match=r"w: a weight of 'bias' is no finite number"):
        read_weights(tmp_path / "w")


def test_every_cut_is_refused(tmp_path: Path) -> None:
    write_weights(WEIGHTS, tmp_path / "w")
    data = (tmp_path / "w").read_bytes()
    for length in range(len(data)):
        (tmp_path / "w").write_bytes(data[:length])
        with pytest.raises(FormatError, match="w: cannot be read"):
            read_weights(tmp_path / "w")
