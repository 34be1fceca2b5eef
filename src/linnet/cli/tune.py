"""``linnet tune``: search a recipe's keywords by trials, in a study that can be resumed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from linnet.cli.common import Quiet, Verbose, listen, table
from linnet.cli.inputs import refuse_overwriting
from linnet.cli.params import collect_changes
from linnet.cli.terminal import say
from linnet.cli.train import Data, OtherCorpus, Params
from linnet.corpora.splits import dev_documents, has_split, split_documents, training_texts
from linnet.errors import LinnetError, RecipeError, did_you_mean
from linnet.fit.tuning import Search, Trial, write_best
from linnet.fit.tuning import tune as search_for
from linnet.recipes.config import open_kb, read_recipe, recipes
from linnet.recipes.recipe import toml_value

__all__ = ["tune"]

logger = logging.getLogger(__name__)

SPLITS: tuple[Literal["dev", "cv"], ...] = ("dev", "cv")


def tune(
    recipe: Annotated[str, typer.Argument(help="Recipe with a tune table: the name of a shipped recipe, or a file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the study; tuned/RECIPE by default.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Total number of trials, including those of earlier runs.")] = 50,
    timeout: Annotated[float | None, typer.Option(min=0.0, help="Start no trial after this many seconds.")] = None,
    split: Annotated[
        str, typer.Option(help="Score on dev, or by 3-fold cross-validation on train (cv), three times the work.")
    ] = "dev",
    score: Annotated[str, typer.Option(help="Metric to maximise.")] = "in-kb.accuracy@1",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the search; default: the recipe's.")] = None,
    kb: Annotated[str | None, typer.Option(help="Knowledge base instead of the recipe's: a name or a file.")] = None,
    corpus: OtherCorpus = None,
    data: Data = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change a key of the recipe, decide.threshold=0.9; repeatable.")
    ] = None,
    params: Params = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Search the keywords in a recipe's tune table, and write the best values as a recipe to train."""
    listen(quiet=quiet, verbose=verbose)
    folder = output or Path("tuned") / (recipe if recipe in recipes() else Path(recipe).stem)
    refuse_overwriting([None if recipe in recipes() else recipe], [folder / "best.toml"], kind="recipe")
    made = _make_search(recipe, collect_changes(params, recipe, changes, corpus=corpus), split, score, kb, data)
    done: list[Trial] = []
    chosen = made.recipe.seed if seed is None else seed
    for trial in search_for(made, folder, trials=trials, seed=chosen, timeout=timeout):
        done.append(trial)
        logger.info("trial %s: %s", trial.number, _line(trial))
    found = write_best(made, done, folder / "best.toml", kb=kb, data=data)
    if not quiet:
        _show(made, done)
        say(f"best: trial {found.number}, {score} {found.score:.4f}; linnet train {folder / 'best.toml'} -o NEW")


def _make_search(
    recipe: str, changes: Sequence[str], split: str, score: str, kb: str | None, data: Path | None
) -> Search:
    """Return what is searched for, with its documents."""
    known = next((name for name in SPLITS if name == split), None)
    if known is None:
        raise LinnetError(f"unknown split {split!r}, expected one of {', '.join(SPLITS)}{did_you_mean(split, SPLITS)}")
    read = read_recipe(recipe, changes=changes)
    if not read.corpus:
        raise RecipeError(recipe, ["corpus: missing; name the corpus to tune on: --corpus, or corpus in the recipe"])
    train = list(split_documents(read.learns_from, split="train", data=data))
    scored = read.corpus if known == "dev" else read.learns_from
    if known == "dev" and not has_split(scored, "dev"):
        raise RecipeError(recipe, [f"corpus: {scored} has no dev split to score on; use --split cv"])
    opened = read.open_kb(data=data) if kb is None else open_kb(kb)
    if opened is None:
        raise RecipeError(recipe, ["kb: missing; name a knowledge base: --kb, or kb in the recipe"])
    dev = list(dev_documents(scored, data=data))
    texts = training_texts(read.train_texts, train, data=data)
    return Search(
        source=recipe, kb=opened, train=train, dev=dev, split=known, score=score, changes=changes, texts=texts
    )


def _line(trial: Trial) -> str:
    values = ", ".join(f"{key} {toml_value(value)}" for key, value in trial.values.items())
    if trial.score is None:
        return f"{values}: refused: {trial.problem}"
    return f"{values}: {trial.score:.4f}, {_seconds(trial)}"


def _seconds(trial: Trial) -> str:
    return f"as trial {trial.same}" if trial.same else f"{trial.seconds:.1f} s"


def _show(search: Search, trials: Sequence[Trial]) -> None:
    """Print the trials, best first."""
    keys = list(search.recipe.tune)
    ordered = sorted(trials, key=lambda trial: (trial.score is None, -(trial.score or 0.0), trial.number))
    rows = [
        (
            trial.number,
            "refused" if trial.score is None else f"{trial.score:.4f}",
            _seconds(trial),
            *(toml_value(trial.values[key]) for key in keys),
        )
        for trial in ordered
    ]
    corpus = search.recipe.corpus if search.split == "dev" else search.recipe.learns_from
    where = f"{corpus}, split {search.split}, {len(search.gold):,} documents"
    table(where, ("trial", search.score, "time", *keys), rows, right=(0, 1, 2))
