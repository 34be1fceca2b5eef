"""``linnet bench recognition``: what finds mentions, varied one thing at a time, with intervals."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from linnet.cli.common import AsJson, Corpora, Docs, Quiet, Verbose, check_docs, listen, table
from linnet.evaluate.rows import NOTHING, PageTable

__all__ = ["TABLE", "Changes", "Vary", "recognition"]

logger = logging.getLogger(__name__)

Vary: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="Measure this change too; join several with blanks.")
]
Changes: TypeAlias = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe in all rows.")
]

TABLE = PageTable(
    by="linnet bench recognition",
    columns=("recipe", "with", "precision", "recall", "F1", "typed F1", "points", "p (Holm)", "documents/s"),
    texts=2,
    key=2,
)


def recognition(
    source: Annotated[str, typer.Argument(metavar="RECIPE", help="Name or file of a recipe that finds mentions.")],
    vary: Vary = None,
    changes: Changes = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="Also run the networks of the recipe by ONNX Runtime with a byte a number.")
    ] = False,
    folder: Annotated[Path, typer.Option(help="Folder for trained models; later runs reuse it.")] = Path("recognition"),
    data: Corpora = None,
    docs: Docs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train what finds mentions in a recipe, as it is and with changes, and compare what it finds in the dev split.

    The parts up to the first that asks for mentions and gives candidates are trained and asked. Figures are exact
    spans, with 95 % intervals by bootstrap over documents; p is of the paired bootstrap against the recipe as it is,
    adjusted by Holm's procedure. Networks keep the weights that are best on these documents, in all rows alike.
    With --int8 the recipe's networks are also run by ONNX Runtime, both taking turns.
    """
    from linnet.bench.recognition_steps import measure_all  # noqa: PLC0415 - imports PyTorch

    listen(quiet=quiet, verbose=verbose)
    check_docs(docs)
    rows = measure_all(source, vary or [], changes=changes or [], folder=folder, data=data, int8=int8)
    if as_json:
        for row in rows:
            print(json.dumps(row.to_record()))
        return
    cells = []
    for row in rows:
        low, high = row.interval
        against = [NOTHING, NOTHING] if row.p is None else [f"{100 * (row.f1 - rows[0].f1):+.2f}", f"{row.p:.3f}"]
        figures = [f"{row.precision:.3f}", f"{row.recall:.3f}", f"{row.f1:.3f} [{low:.3f}, {high:.3f}]"]
        cells.append([source, row.varied or NOTHING, *figures, f"{row.typed:.3f}", *against, f"{row.speed:.0f}"])
    if docs is not None:
        TABLE.write(docs, cells)
    table("", TABLE.columns, cells, right=range(TABLE.texts, len(TABLE.columns)))
