"""``linnet bench rerankers``: trained cross-encoders side by side, in accuracy, in training and in linking."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnet.cli.common import AsJson, Corpora, Docs, Quiet, Verbose, check_docs, listen, table
from linnet.evaluate.rows import NOTHING, PageTable

if TYPE_CHECKING:
    from linnet.bench.rerankers_steps import Row

__all__ = ["TABLE", "rerankers"]

logger = logging.getLogger(__name__)

TABLE = PageTable(
    by="linnet bench rerankers",
    columns=(
        "recipe", "applied with", "system", "@1 in-kb", "better than", "p to the first stage", "trained in (s)",
        "annotations/s", "linked in (s)", "mentions/s",
    ),
    texts=2,
    key=2,
)  # fmt: skip
SMALL = 0.0001  # below it a p-value says no more: it takes mentions for independent


def rerankers(
    sources: Annotated[
        list[str], typer.Argument(metavar="RECIPE", help="Recipes of one corpus, each with a cross-encoder.")
    ],
    folder: Annotated[Path, typer.Option(help="Folder for trained models; later runs reuse it.")] = Path("rerankers"),
    data: Corpora = None,
    apply: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Also apply each with this keyword of cross_encoder, such as top_k=10; repeatable.",
        ),
    ] = None,
    max_accuracy_loss: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Also apply each while skipping mentions whose first candidate is sure enough."
        ),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="Number of documents to measure speed on.")] = 50,
    repeats: Annotated[int, typer.Option(min=1, help="Number of rounds; reports the median.")] = 3,
    docs: Docs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train the cross-encoders of recipes behind one first stage, and link the dev split with each.

    What the recipes have before the cross-encoder is trained and asked once, so it must be the same in all of them.
    A system is better than those whose letters it is given: exact McNemar test on accuracy@1 of mentions whose concept
    the knowledge base holds, p < 0.05 after Bonferroni's correction for all pairs. With --max-accuracy-loss the
    threshold is fitted on one half of the dev documents and used on the other. Speed is that of the cross-encoder
    alone, on documents that it has read before; systems take turns. Letters hold for the rows of one run: give all
    recipes of a corpus at once.
    """
    from linnet.bench.rerankers_steps import Bench, add_letters  # noqa: PLC0415 - imports PyTorch

    listen(quiet=quiet, verbose=verbose)
    check_docs(docs)
    bench = Bench.of(sources, folder, data, sample=sample, repeats=repeats)
    systems = []
    for name in bench.recipes:
        for one in bench.systems(name, apply or [], max_accuracy_loss):
            logger.info("%s %s: @1 %.4f", name, one.row.applied, one.row.accuracy)
            systems.append(one)
    rows = add_letters([bench.first_stage(), *bench.time_systems(systems)])
    if as_json:
        for row in rows:
            print(json.dumps(row.to_record()))
        return
    cells = [_cells(row) for row in rows]
    if docs is not None:
        TABLE.write(docs, cells)
    table("", TABLE.columns, cells, right=range(TABLE.texts, len(TABLE.columns)))


def _cells(row: Row) -> list[str]:
    p = NOTHING if row.p is None else f"< {SMALL}" if row.p < SMALL else f"{row.p:.4f}"
    numbers = (
        NOTHING if value is None else f"{value:,.0f}"
        for value in (row.trained_seconds, row.annotations, row.seconds, row.speed)
    )
    return [row.recipe, row.applied or NOTHING, row.letter, f"{row.accuracy:.4f}", row.better or NOTHING, p, *numbers]
