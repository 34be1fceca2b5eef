"""The steps of ``linnet bench encode``: our encoding, plain code and one matrix product, turn by turn."""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from linnet.nn.device import autocast, bf16_gain, choose_device, has_bf16
from linnet.nn.encoder import Encoder
from linnet.nn.pooling import Pool
from linnet.nn.texts import padded
from linnet.nn.vectors import encode
from linnet.text.token_batches import TokenText

__all__ = ["Task", "measure", "operations", "prepare", "setting"]

PLAIN = 32  # texts a batch of plain code
ROWS = 4096  # of the matrix product
TURNS = 9  # products in a row, before the last
NUMBERS = ("float32", "bfloat16")
LENGTHS = ((16, 16), (32, 32), (64, 64), (128, 128), (512, 512), (4, 64))


class Task(NamedTuple):
    """Texts of some length, drawn evenly from `fewest` to `most` tokens, and the numbers they are computed with."""

    fewest: int
    most: int
    numbers: str


def prepare(name: str, *, device: str, download: bool) -> tuple[Encoder, list[Task]]:
    """Return an encoder on its device, and what is measured of it: all lengths that it reads, in each precision.

    int8 by ONNX Runtime is included if that is installed and the device is a CPU.
    """
    encoder = Encoder.load(name, download=download).to(choose_device(device))
    lengths = [pair for pair in LENGTHS if pair[1] <= encoder.window]
    whole = next(encoder.parameters()).device.type == "cpu" and importlib.util.find_spec("onnxruntime") is not None
    return encoder, [Task(*pair, numbers) for numbers in (*NUMBERS, *["int8"] * whole) for pair in lengths]


def setting(encoder: Encoder) -> dict[str, Any]:
    """Return what the measurements depend on: device, CPU threads, and the numbers chosen for it."""
    device = next(encoder.parameters()).device
    chosen = "bfloat16" if has_bf16(device) else "float32"
    gain = {"bfloat16 gain": bf16_gain()} if device.type == "cpu" else {}
    return {"device": device.type, "threads": torch.get_num_threads(), "chosen": chosen, **gain}


def measure(encoder: Encoder, task: Task, *, batch: int | None, size: int, repeats: int) -> dict[str, Any]:
    """Return what was measured of one task, by the names of the columns.

    Each round runs all three ways one after the other, so that other work on the machine slows them alike.

    Args:
        encoder: on its device.
        task: texts and precision; int8 is compared with the matrix product in bfloat16.
        batch: tokens a batch; None = the default of `linnet.nn.vectors.encode`.
        size: tokens of all texts, about.
        repeats: rounds; one more warms up.
    """
    texts = _draw(encoder, task, size)
    pool, bf16 = Pool("mean", encoder.size), task.numbers == "bfloat16"
    product, product_operations = _product(encoder, bf16=task.numbers != "float32")
    used = _take_whole(encoder) if task.numbers == "int8" else encoder
    ways: list[Callable[[], object]] = [
        lambda: encode(used, pool, texts, tokens=batch, bf16=bf16),
        lambda: _run_plain(used, pool, texts, bf16=bf16),
        product,
    ]
    for way in ways:
        way()
    rounds = [[_seconds(way) for way in ways] for _ in range(repeats)]
    ours, plain, one = (statistics.median(times) for times in zip(*rounds, strict=True))
    needed = statistics.fmean(operations(encoder, len(text.ids)) for text in texts)
    peak = product_operations / one
    return {
        "tokens": str(task.most) if task.fewest == task.most else f"{task.fewest}–{task.most}",
        "numbers": task.numbers,
        "texts/s": len(texts) / ours, "plain/s": len(texts) / plain, "ratio": plain / ours,
        "GFLOP/text": needed / 1e9, "GFLOP/s": len(texts) * needed / ours / 1e9, "matmul GFLOP/s": peak / 1e9,
        "share": len(texts) * needed / ours / peak,
    }  # fmt: skip


@cache
def _take_whole(encoder: Encoder) -> Encoder:
    from linnet.nn.onnx import OnnxEncoder  # noqa: PLC0415 - needs the extra onnx

    return OnnxEncoder(encoder)


def operations(encoder: Encoder, length: int) -> float:
    """Return the floating-point operations of a text of `length` tokens: those of matrix products, nothing else.

    A weight of a linear layer multiplies and adds once a token; each layer compares all tokens with all and sums
    their values, 4 · length² · d. Layers whose tokens see only their neighbours need less than is said here.
    """
    weights = sum(part.weight.numel() for part in encoder.backbone.modules() if isinstance(part, nn.Linear))
    layers = int(encoder.backbone.config.num_hidden_layers)
    return 2.0 * length * weights + 4.0 * layers * length**2 * encoder.size


def _draw(encoder: Encoder, task: Task, size: int) -> list[TokenText]:
    """Return texts of random word pieces, the same each time."""
    chance = np.random.default_rng(13)
    special = set(encoder.tokenizer.all_special_ids)
    pieces = np.array([row for row in range(len(encoder.tokenizer)) if row not in special])
    count = max(1, 2 * size // (task.fewest + task.most))
    lengths = chance.integers(task.fewest, task.most, count, endpoint=True)
    return [TokenText(tuple(chance.choice(pieces, length).tolist()), (1, int(length) - 1)) for length in lengths]


def _run_plain(encoder: Encoder, pool: Pool, texts: Sequence[TokenText], *, bf16: bool) -> None:
    """Encode texts in the order they have, as many at a time as plain code takes."""
    device = next(encoder.parameters()).device
    for start in range(0, len(texts), PLAIN):
        some = texts[start : start + PLAIN]
        ids, mask, spans = padded(some, padding=encoder.tokenizer.pad_token_id, device=device)
        with torch.inference_mode(), autocast(device, bf16=bf16):
            pool(encoder(ids, mask), mask, spans).float().cpu()


def _product(encoder: Encoder, *, bf16: bool) -> tuple[Callable[[], object], float]:
    """Return the largest matrix product of a layer, on its own, and its operations."""
    device = next(encoder.parameters()).device
    kind = torch.bfloat16 if bf16 else torch.float32
    inner = int(getattr(encoder.backbone.config, "intermediate_size", 4 * encoder.size))
    tokens = torch.randn(ROWS, encoder.size, dtype=kind, device=device)
    weight = torch.randn(inner, encoder.size, dtype=kind, device=device)

    def run() -> object:
        with torch.inference_mode():
            for _ in range(TURNS):
                nn.functional.linear(tokens, weight)
            return nn.functional.linear(tokens, weight)[0, 0].item()  # waits for an accelerator

    return run, 2.0 * ROWS * encoder.size * inner * (TURNS + 1)


def _seconds(way: Callable[[], object]) -> float:
    started = time.perf_counter()
    way()
    return time.perf_counter() - started
