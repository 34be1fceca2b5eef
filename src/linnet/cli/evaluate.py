"""``linnet evaluate``: gold against predicted documents."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from linnet.cli.common import Quiet, Verbose, listen, table
from linnet.config import open_kb
from linnet.corpora import read
from linnet.evaluate import evaluate as compare

__all__ = ["evaluate"]


def evaluate(
    gold: Annotated[str, typer.Argument(help="Documents with gold mentions.")],
    predicted: Annotated[str, typer.Argument(help="The same documents with predicted mentions.")],
    kb: Annotated[str | None, typer.Option(help="Knowledge base that maps retired ids to their successors.")] = None,
    source: Annotated[str | None, typer.Option("--from", help="Format of GOLD; guessed by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare predicted with gold documents: exact span + concept, and concepts of each document."""
    listen(quiet=quiet, verbose=verbose)
    base = None if kb is None else open_kb(kb)
    report = compare(list(read(gold, format=source)), list(read(predicted)), kb=base)
    values = {
        name: {
            "precision": counts.precision,
            "recall": counts.recall,
            "f1": counts.f1,
            "right": counts.right,
            "predicted": counts.predicted,
            "gold": counts.gold,
        }
        for name, counts in report.measures.items()
    }
    if as_json:
        print(json.dumps({"documents": report.documents, **values}))
        return
    labels = {"mention": "exact span + concept", "document": "concepts of each document"}
    rows = [
        [labels[name], *(f"{item[key]:.3f}" for key in list(item)[:3]), *(item[key] for key in list(item)[3:])]
        for name, item in values.items()
    ]
    columns = ("micro", "precision", "recall", "F1", "right", "predicted", "gold")
    table(f"{report.documents} documents", columns, rows, right=range(1, 7))
