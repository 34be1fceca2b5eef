"""``linnet bench tasks``: recognition, typing and linking of one network, varied one thing at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnet.bench.recognition import Changes, Vary
from linnet.cli.common import AsJson, Corpora, Docs, Quiet, Verbose, check_docs, listen, table
from linnet.evaluate.rows import NOTHING, PageTable

if TYPE_CHECKING:
    from linnet.bench.tasks_steps import Row

__all__ = ["TABLE", "tasks"]

TABLE = PageTable(
    by="linnet bench tasks",
    columns=("recipe", "with", "task", "seeds", "words", "precision", "recall", "F1", "points", "p (Holm)"),
    texts=3,
    key=2,
)


def tasks(
    source: Annotated[str, typer.Argument(metavar="RECIPE", help="Name or file of a recipe that finds and links.")],
    vary: Vary = None,
    changes: Changes = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of trainings of each row; mean and deviation.")] = 1,
    folder: Annotated[Path, typer.Option(help="Folder for trained models; later runs reuse it.")] = Path("tasks"),
    data: Corpora = None,
    docs: Docs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train a network that finds and links in its variants, and compare how each does recognition, typing and linking.

    The network is trained and asked without what stands behind it in the recipe; its first candidate is its answer. A
    mention counts if its span is exact and, for typing and linking, its type or its concept is right; "words" is the
    share of words with the right label: BILOU, BILOU with the type, BIO with the concept. p is of the paired bootstrap
    over documents against the recipe as it is, adjusted by Holm's procedure for all changes. Weights and cutoff are
    those that are best on the dev split, in all rows alike.
    """
    from linnet.bench.tasks_steps import measure_all  # noqa: PLC0415 - imports PyTorch

    listen(quiet=quiet, verbose=verbose)
    check_docs(docs)
    rows = measure_all(source, vary or [], changes=changes or [], seeds=seeds, folder=folder, data=data)
    if as_json:
        for row in rows:
            print(json.dumps(row.to_record()))
        return
    plain = {row.task: row for row in rows if not row.varied}
    name = " ".join([source, *(changes or ())])
    cells = [_cells(name, row, plain[row.task]) for row in rows]
    if docs is not None:
        TABLE.write(docs, cells)
    table("", TABLE.columns, cells, right=range(TABLE.texts, len(TABLE.columns)))


def _cells(name: str, row: Row, plain: Row) -> list[str]:
    """Return the cells of a row."""
    figures = [
        f"{mean:.3f}" + (f" ± {row.deviation[figure]:.3f}" if row.seeds > 1 else "")
        for figure, mean in row.mean.items()
    ]
    points = f"{100 * (row.mean['f1'] - plain.mean['f1']):+.2f}"
    against = [NOTHING, NOTHING] if row.p is None else [points, f"{row.p:.3f}"]
    return [name, row.varied or NOTHING, row.task, str(row.seeds), *figures, *against]
