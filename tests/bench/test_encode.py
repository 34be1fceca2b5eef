from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from linnet.bench.encode_steps import operations
from linnet.nn.encoder import Encoder
from tests.cli.conftest import Run
from tests.tiny_models import tiny_bert


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return tiny_bert(tmp_path / "tiny", window=64)


@pytest.mark.slow
def test_an_encoder_of_ones_own(run: Run, tiny: Path) -> None:
    arguments = ("bench", "encode", "--encoder", tiny, "--device", "cpu", "--size", 64, "--repeats", 1, "-q")
    done = run(*arguments, "--json")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    lengths = ["16", "32", "64", "4–64"]  # it does not read longer ones
    assert [row["tokens"] for row in rows] == lengths * 3
    assert [row["numbers"] for row in rows] == ["float32"] * 4 + ["bfloat16"] * 4 + ["int8"] * 4
    for row in rows:
        assert row["threads"] >= 1
        assert row["chosen"] in ("float32", "bfloat16")
        assert row["bfloat16 gain"] > 0
        assert row["share"] == pytest.approx(row["GFLOP/s"] / row["matmul GFLOP/s"])
        assert row["GFLOP/s"] == pytest.approx(row["texts/s"] * row["GFLOP/text"])
        assert row["ratio"] == pytest.approx(row["texts/s"] / row["plain/s"])
    shown = " ".join(run(*arguments).out.split())  # a title is as wide as the table at most
    assert "on cpu with" in shown
    assert "times as fast as in float32" in shown
    assert "bfloat16" in shown


def test_an_encoder_that_is_not_here(run: Run) -> None:
    done = run("bench", "encode", "--encoder", "/not/there")
    assert done.code == 2
    assert "'/not/there': there is no such folder" in done.err
    assert "'gpu': not there" in run("bench", "encode", "--device", "gpu").err


def test_operations_are_those_that_are_carried_out(tiny: Path) -> None:
    encoder = Encoder.load(tiny)
    encoder.backbone.set_attn_implementation("eager")  # the counter does not know the fused kernel of CPUs
    ids = torch.full((1, 40), 7)
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        encoder(ids, torch.ones_like(ids))
    assert counter.get_total_flops() == operations(encoder, 40)
