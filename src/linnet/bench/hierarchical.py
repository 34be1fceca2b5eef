"""``linnet bench hierarchical``: documents a second of networks that find and link, beside a bare tagger."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from linnet.cli.common import AsJson, Corpora, Quiet, Verbose, listen, table

__all__ = ["hierarchical"]


def hierarchical(
    recipe: Annotated[
        str, typer.Argument(help="Recipe that names a corpus, whose dev split is read, and a knowledge base.")
    ] = "bc5cdr/dense",
    encoder: Annotated[str, typer.Option(help="Encoder of all networks.")] = "minilm",
    most: Annotated[int, typer.Option(min=1, help="Documents at most.")] = 100,
    data: Corpora = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare the speed of classifying words or mentions with that of a tagger and of the collective dual encoder.

    Networks are untrained, which does not change their speed: each looks for mentions, and links as many as people
    marked.
    """
    from linnet.bench.hierarchical_steps import measure_all  # noqa: PLC0415 - imports PyTorch

    listen(quiet=quiet, verbose=verbose)
    rows = measure_all(recipe, encoder=encoder, most=most, data=data)
    if as_json:
        for row in rows:
            print(json.dumps(row.to_record()))
        return
    cells = [[row.what, row.documents, f"{row.speed:.1f}", f"{row.times:.2f}", f"{row.memory:,.0f}"] for row in rows]
    table(
        "", ("network", "documents", "documents/s", "times as long as the tagger", "peak MiB"), cells, right=range(1, 5)
    )
