"""``linnet bench generate``: mentions a second of writing names under a prefix tree."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from linnet.cli.common import AsJson, Corpora, Quiet, Verbose, listen, table

__all__ = ["generate"]


def generate(
    recipe: Annotated[
        str, typer.Argument(help="Recipe that names a corpus, whose dev mentions are read, and a knowledge base.")
    ] = "bc5cdr/dense",
    encoder: Annotated[str, typer.Option(help="Encoder with a decoder, or encoder to make a pair of.")] = "minilm",
    most: Annotated[int, typer.Option(min=8, help="Mentions at most.")] = 256,
    beams: Annotated[int, typer.Option(min=1, help="Beginnings of names that are followed at a time.")] = 5,
    concepts: Annotated[int, typer.Option(min=0, help="Concepts of a synthetic knowledge base; 0 = none.")] = 0,
    data: Corpora = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Measure how fast names are written, beside Transformers' own search under the same tree.

    The network is untrained, which makes it follow more beams to their end than a trained one.
    """
    from linnet.bench.generate_steps import measure_all  # noqa: PLC0415 - imports PyTorch

    listen(quiet=quiet, verbose=verbose)
    rows = measure_all(recipe, encoder=encoder, most=most, concepts=concepts, beams=beams, data=data)
    if as_json:
        for row in rows:
            print(json.dumps(row.to_record()))
        return
    cells = [
        [
            row.names, f"{row.count:,}", f"{row.size:.1f}", row.what, row.batch, f"{row.speed:.1f}",
            f"{row.share:.0%}", f"{row.memory:,.0f}",
        ]
        for row in rows
    ]  # fmt: skip
    heads = ("names of", "names", "bytes a name", "written by", "batch", "mentions/s", "in the tree", "peak MiB")
    table("", heads, cells, right=(1, 2, 4, 5, 6, 7))
