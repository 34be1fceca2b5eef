"""``linnet train``: every part of a recipe that learns, in order, into a folder that links."""

from __future__ import annotations

import csv
import io
import logging
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from linnet.cli.common import Quiet, Verbose, clean, listen
from linnet.config import load, read_recipe
from linnet.corpora.catalog import CORPORA, read_corpus
from linnet.data import Document
from linnet.errors import RecipeError
from linnet.fitting import Done, Progress, tasks
from linnet.fitting import train as train_all
from linnet.text.files import replacing

__all__ = ["train"]

logger = logging.getLogger(__name__)

EVERY = 10.0  # seconds between lines of progress

Data = Annotated[
    Path | None, typer.Option(envvar="LINNET_DATA", help="Folder of the known corpora.", show_default=False)
]


def train(
    recipe: Annotated[str, typer.Argument(help="Recipe: the name of one that comes with Linnet, or a file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="New folder for the trained pipeline.")],
    kb: Annotated[str | None, typer.Option(help="Knowledge base instead of the recipe's: a name or a file.")] = None,
    data: Data = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="Change a recipe's key=value.")] = None,
    metrics: Annotated[Path | None, typer.Option(help="Also write the seconds of each part as CSV.")] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train the parts of a recipe that learn, on the train split of its corpus, and write the pipeline to a folder."""
    listen(quiet=quiet, verbose=verbose)
    read = read_recipe(recipe, changes=changes or ())
    if not read.learns_from:
        raise RecipeError(recipe, ["corpus: missing; name the corpus to train on"])
    pipeline = load(recipe, kb=kb, changes=changes or ())
    todo = tasks(pipeline, read.train, source=recipe)
    if not todo:
        raise RecipeError(recipe, ["pipeline: no part of it learns, so there is nothing to train"])
    docs = list(read_corpus(read.learns_from, split="train", data=data))
    dev = list(_dev(read.learns_from, data))
    about = (f"recipe: {recipe}", f"corpus: {read.learns_from}, split train", f"seed: {read.seed}")
    times: list[Done] = []
    start = said = time.monotonic()
    for news in train_all(pipeline, todo, docs, dev, output=output, about=about):
        if isinstance(news, Done):
            times.append(news)
            logger.info("%s: %s in %.1f s", news.part, "kept, trained" if news.kept else "trained", news.seconds)
        elif sys.stderr.isatty() or time.monotonic() - said >= EVERY:
            said = time.monotonic()
            logger.info("%s", _line(news, said - start))
    if metrics is not None:
        _write(metrics, times, len(docs))
    logger.info("%s: trained on %s documents of %s", clean(str(output)), f"{len(docs):,}", read.learns_from)


def _dev(corpus: str, data: Path | None) -> Iterator[Document]:
    """Yield the dev documents of a corpus that has a dev split."""
    if "dev" in CORPORA[corpus].splits:
        yield from read_corpus(corpus, split="dev", data=data)


def _line(news: Progress, seconds: float) -> str:
    step = news.step
    total = "" if step.total is None else f"/{step.total:,}"
    losses = "".join(f", {name} {value:.4f}" for name, value in step.losses.items())
    score = "" if step.score is None else f", score {step.score:.4f}"
    return f"{news.part}: step {step.step:,}{total}{losses}{score}, {seconds:.0f} s"


def _write(path: Path, times: list[Done], documents: int) -> None:
    """Write one row for each part: what was done, how many documents, seconds."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("step", "part", "documents", "seconds"))
    rows.writerows(("train", done.part, documents, f"{done.seconds:.3f}") for done in times)
    with replacing(path) as out:
        out.write(text.getvalue())
