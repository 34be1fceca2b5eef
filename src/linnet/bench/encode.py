"""``linnet bench encode``: texts a second through an encoder, beside plain code and beside what the machine can do."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from linnet.cli.common import AsJson, Quiet, Verbose, listen, progress, table

__all__ = ["encode"]

COLUMNS = ("tokens", "numbers", "texts/s", "plain/s", "ratio", "GFLOP/text", "GFLOP/s", "matmul GFLOP/s", "share")


def encode(
    encoder: Annotated[str, typer.Option(help="A packaged encoder, a folder, or a Hugging Face name.")] = "minilm",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    batch: Annotated[int | None, typer.Option(min=1, help="Tokens per batch.", show_default="chosen")] = None,
    size: Annotated[int, typer.Option(min=1, help="Approximate number of tokens per run.")] = 16_384,
    repeats: Annotated[int, typer.Option(min=1, help="Number of runs; reports the median.")] = 5,
    download: Annotated[bool, typer.Option("--download", help="Download the encoder if it is missing.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Turn texts of 16 to 512 tokens into vectors, in float32, in bfloat16, and in int8 by ONNX Runtime.

    ``plain/s`` is what simple code reaches, which reads 32 texts at a time as they come. ``share`` compares the
    multiplications a second with those of one large matrix product of the encoder's size on this machine.
    """
    from linnet.bench.encode_steps import measure, prepare, setting  # noqa: PLC0415 - imports PyTorch

    listen(quiet=quiet, verbose=verbose)
    model, tasks = prepare(encoder, device=device, download=download)
    rows = []
    for task in progress(tasks, what="kinds of texts", total=len(tasks), quiet=quiet):
        row = {"encoder": encoder, **measure(model, task, batch=batch, size=size, repeats=repeats), **setting(model)}
        rows.append(row)
        if as_json:
            print(json.dumps(row), flush=True)
    if not as_json:
        cells = [[_cell(row[column]) for column in COLUMNS] for row in rows]
        where = f"{rows[0]['device']} with {rows[0]['threads']} threads"
        gain = rows[0].get("bfloat16 gain")
        why = "" if gain is None else f" (a layer in bfloat16 is computed {gain:.2f} times as fast as in float32)"
        where += f", {rows[0]['chosen']} by default{why}"
        table(f"{encoder} on {where}, median of {repeats}", COLUMNS, cells, right=(0, *range(2, len(COLUMNS))))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if value < 10 else f"{value:,.0f}"
    return str(value)
