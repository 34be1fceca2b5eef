"""``linnet bench collective``: mentions a second when a document is read once, and when each mention is read alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from linnet.cli.common import AsJson, Corpora, Quiet, Verbose, listen, table

__all__ = ["collective"]


def collective(
    recipe: Annotated[
        str, typer.Argument(help="Recipe that names a corpus, whose dev split is read, and a knowledge base.")
    ] = "bc5cdr/dense",
    encoder: Annotated[str, typer.Option(help="Encoder of all networks but the cross-encoder.")] = "minilm",
    most: Annotated[int, typer.Option(min=1, help="Documents at most.")] = 100,
    cross: Annotated[bool, typer.Option(help="Measure the cross-encoder too, which is slow.")] = True,
    data: Corpora = None,
    picture: Annotated[
        Path | None, typer.Option(help="SVG file: writes speed by mentions a document.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare the speed of one pass over a document with that of one pass for each mention.

    Networks are untrained, which does not change their speed. Vectors of mentions are measured without the search for
    names, which is the same for all. The cross-encoder reads 64 candidates of each mention. On a CPU with the extra
    ``onnx`` the collective networks are also measured with a byte a number, by ONNX Runtime.
    """
    from linnet.bench.collective_steps import draw, measure_all  # noqa: PLC0415 - imports PyTorch

    listen(quiet=quiet, verbose=verbose)
    rows = measure_all(recipe, encoder=encoder, most=most, cross=cross, data=data)
    if picture is not None:
        draw(picture, rows)
    if as_json:
        for row in rows:
            print(json.dumps(row.to_record()))
        return
    cells = [
        [row.what, row.documents, f"{row.mentions:,}", f"{row.speed:,.0f}", f"{row.speed / rows[0].speed:.2f}",
         f"{row.memory:,.0f}"]
        for row in rows
    ]  # fmt: skip
    columns = ("network", "documents", "mentions", "mentions/s", "times collective", "peak MiB")
    table("", columns, cells, right=range(2, len(columns)))
