"""``linnet bench ablation``: what each ingredient of a recipe is worth, as a table."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnet.bench.recognition import Changes
from linnet.cli.common import AsJson, Corpora, Docs, Quiet, Verbose, check_docs, listen, table
from linnet.corpora.catalog import read_corpus
from linnet.corpora.splits import dev_documents, training_texts
from linnet.data import Document
from linnet.errors import LinnetError, RecipeError
from linnet.evaluate.rows import NOTHING, PageTable
from linnet.recipes.config import read_recipe, recipes

if TYPE_CHECKING:
    from linnet.bench.ablation import Ablation, Outcome, Row

__all__ = ["CHANGES", "TABLE", "ablation"]

logger = logging.getLogger(__name__)

TABLE = PageTable(
    by="linnet bench ablation",
    columns=(
        "recipe", "pipeline", "without", "@1 in-kb", "points", "p (Holm)", "@20 in-kb", "@64 in-kb", "mentions",
    ),
    texts=3,
    key=1,
)  # fmt: skip
CHANGES = PageTable(
    by="linnet bench ablation --vary",
    columns=("recipe", "changed", "@1 in-kb", "points", "p (Holm)", "@20 in-kb", "@64 in-kb", "mentions", "minutes"),
    texts=2,
    key=2,
)
SPLIT = "dev"
SMALL = 0.0001  # below it a p-value says no more: it takes mentions for independent


def ablation(
    sources: Annotated[list[str], typer.Argument(metavar="RECIPE", help="Names or files of recipes.")],
    data: Corpora = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Measure this change of the recipe instead; join several with blanks."),
    ] = None,
    changes: Changes = None,
    docs: Docs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train recipes without one ingredient at a time and link the dev split: what each is worth, and how surely.

    Ingredients are the kinds of columns of the lexical reranker (with the penalty of all of them), the habits of the
    n-gram retriever, and parts as a whole; the retriever is also measured without a reranker. Figures are of gold
    mentions whose concept the knowledge base holds. p is of McNemar's exact test on accuracy@1 against the same
    pipeline with everything, adjusted by Holm's procedure for all comparisons of the recipe. With --vary other changes
    are compared in the same way, such as --vary train.dense.mined=0.
    """
    from linnet.bench.ablation import compare  # noqa: PLC0415 - imports what learns, which no other command waits for

    listen(quiet=quiet, verbose=verbose)
    check_docs(docs)
    plain = [source if source in recipes() else Path(source).stem for source in sources]
    names = [" ".join([name, *(changes or ())]) for name in plain]
    if twice := [name for name in names if names.count(name) > 1]:
        raise LinnetError(f"the recipe {twice[0]} is named twice: name it once")
    varied = [tuple(group.split()) for group in vary or ()]
    shown, cells_of = (CHANGES, _changed_cells) if varied else (TABLE, _cells)
    todo = [_prepare(source, data, varied, tuple(changes or ())) for source in sources]
    cells: list[list[str]] = []
    for name, task in zip(names, todo, strict=True):
        outcomes = list(_log_outcomes(name, task))
        rows = compare(outcomes)
        if as_json:
            for row in rows:
                print(json.dumps({"recipe": name, "corpus": f"{task.recipe.corpus}:{SPLIT}", **asdict(row)}))
        made = [cells_of(name, row, one) for row, one in zip(rows, outcomes, strict=True)]
        if docs is not None:  # after each recipe, for the next may take an hour
            shown.write(docs, made)
        cells += made
    if not as_json:
        table("", shown.columns, cells, right=range(shown.texts, len(shown.columns)))


def _prepare(source: str, data: Path | None, varied: Sequence[tuple[str, ...]], changes: tuple[str, ...]) -> Ablation:
    """Return what is to be done for a recipe, refused before any of it is done if it cannot be."""
    from linnet.bench.ablation import Ablation  # noqa: PLC0415 - as above

    recipe = read_recipe(source, changes=changes)
    if not recipe.corpus:
        raise RecipeError(source, ["corpus: missing; name the corpus whose dev split is linked"])
    kb = recipe.open_kb(data=data)
    if kb is None:
        raise RecipeError(source, ["kb: missing; name a knowledge base, or the sources to build it from"])
    dev = list(read_corpus(recipe.corpus, split=SPLIT, data=data))
    train: list[Document] = []
    chosen_on: list[Document] = []
    if recipe.train:
        train += read_corpus(recipe.learns_from, split="train", data=data)
        train += training_texts(recipe.train_texts, train, data=data)
        if recipe.learns_from != recipe.corpus:  # what is linked is nothing to choose on
            chosen_on += dev_documents(recipe.learns_from, data=data)
    task = Ablation(source=source, kb=kb, train=train, chosen_on=chosen_on, dev=dev, varied=varied, changes=changes)
    task.variants()
    return task


def _log_outcomes(name: str, task: Ablation) -> Iterator[Outcome]:
    """Yield outcomes, and say each."""
    from linnet.bench.ablation import ablate  # noqa: PLC0415 - as above

    for one in ablate(task):
        variant = one.variant
        word = "with" if task.varied else "without"
        without = f"{word} {variant.without}" if variant.without else "with everything"
        accuracy = float(one.right.mean())
        logger.info("%s, %s, %s: @1 %.4f, %.0f s", name, variant.pipeline, without, accuracy, one.seconds)
        yield one


def _cells(name: str, row: Row, _: Outcome) -> list[str]:
    return [name, row.pipeline, row.without or "nothing", *_figures(row)]


def _changed_cells(name: str, row: Row, outcome: Outcome) -> list[str]:
    return [name, row.without or "nothing", *_figures(row), f"{outcome.seconds / 60:.1f}"]


def _figures(row: Row) -> list[str]:
    recall = [f"{row.recall[k]:.3f}" if k in row.recall else NOTHING for k in (20, 64)]
    points = "" if row.difference is None else f"{100 * row.difference:+.2f}"
    p = "" if row.adjusted is None else f"{row.adjusted:.2g}" if row.adjusted >= SMALL else f"< {SMALL:.4f}"
    return [f"{row.accuracy:.3f}", points, p, *recall, f"{row.mentions:,}"]
