"""``linnet bench rerank``: the packings of a cross-encoder, in tokens and in time, beside one pair at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from linnet.cli.common import AsJson, Quiet, Verbose, listen, table

__all__ = ["rerank"]

COLUMNS = (
    "packing", "sequences", "tokens", "longest", "token ratio", "tokens a batch", "mentions/s", "time ratio", "reached",
    "tokens/s", "encoder tokens/s", "share", "annotations/s",
)  # fmt: skip


def rerank(
    kb: Annotated[str, typer.Option(help="Knowledge base of the corpus: a name or a file.")],
    corpus: Annotated[str, typer.Option(help="Corpus or folder; reads its development documents.")] = "bc5cdr",
    data: Annotated[
        Path | None, typer.Option(envvar="LINNET_DATA", help="Folder of the known corpora.", show_default=False)
    ] = None,
    documents: Annotated[int, typer.Option(min=1, help="Number of documents, from the start.")] = 40,
    top_k: Annotated[int, typer.Option(min=1, help="Candidates per mention, by n-grams.")] = 5,
    encoder: Annotated[str, typer.Option(help="A packaged encoder, a folder, or a Hugging Face name.")] = "minilm",
    repeats: Annotated[int, typer.Option(min=1, help="Number of rounds; reports the median.")] = 3,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Rerank the given mentions of real documents in every packing, each in batches of its own best size.

    All packings use one untrained network, since answers do not change speed. Ratios compare with the packing ``base``:
    ``reached`` is the ratio of times divided by the ratio of tokens (1: fewer tokens save as much time as they can).
    ``share`` is the part of the time that the encoder alone needs for texts of the same lengths. ``annotations/s`` are
    mentions learned from, forward and backward, in batches of 16 of the first 8 documents.
    """
    from linnet.bench.rerank_steps import measure, prepare  # noqa: PLC0415 - imports PyTorch

    listen(quiet=quiet, verbose=verbose)
    cross, reads = prepare(kb, corpus, data, documents=documents, top_k=top_k, encoder=encoder)
    rows = list(measure(cross, reads, repeats=repeats))
    if as_json:
        for row in rows:
            print(json.dumps(row))
        return
    cells = [[_cell(row[column]) for column in COLUMNS] for row in rows]
    mentions = sum(len(read.asked) for read in reads)
    title = f"{mentions:,} mentions of {len(reads)} documents of {corpus}, {top_k} candidates each, {encoder}"
    table(title, COLUMNS, cells, right=range(1, len(COLUMNS)))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if value < 20 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
