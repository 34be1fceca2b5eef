"""``linnet bench few``: what recipes learn from 5, 20, … annotated documents."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np
import typer

from linnet.cli.common import AsJson, Corpora, Docs, Quiet, Verbose, check_docs, listen, table
from linnet.corpora.splits import split_documents
from linnet.data import Document
from linnet.errors import LinnetError, RecipeError
from linnet.evaluate.rows import NOTHING, PageTable
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.recipes.config import load, read_recipe

__all__ = ["Outcome", "few", "learn"]

logger = logging.getLogger(__name__)

SIZES = "5,20,50,100,500"
DEV = 0.2  # of the documents are kept apart to choose and calibrate on, as in the workbench
TABLE = PageTable(
    by="linnet bench few",
    columns=("corpus", "recipe", "documents", "seeds", "strict F1", "from", "to", "seconds"),
    texts=2,
    key=2,
)


@dataclass(frozen=True)
class Outcome:
    """What a recipe learned from so many documents.

    Args:
        recipe: its name and changes.
        documents: annotated ones, dev documents among them; 0 = nothing was learned.
        scores: strict F1 (or accuracy@1 of given mentions) on the dev split, of each seed.
        seconds: of a training, in the mean.
    """

    recipe: str
    documents: int
    scores: Sequence[float]
    seconds: float


def few(
    source: Annotated[
        str,
        typer.Argument(metavar="RECIPE", help="Recipe whose corpus and knowledge base are used; it is not trained."),
    ],
    trained: Annotated[
        list[str],
        typer.Option(
            "--trained",
            metavar="RECIPE",
            help="Recipe to train and measure, with changes behind blanks: 'own train.tagger.epochs=2'; repeatable.",
        ),
    ],
    documents: Annotated[str, typer.Option(help="Numbers of documents, with commas between.")] = SIZES,
    seeds: Annotated[int, typer.Option(min=1, help="Number of random orders of the documents.")] = 3,
    data: Corpora = None,
    docs: Docs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train recipes on the first 5, 20, … documents of a corpus, in several orders, and measure them on its dev split.

    A fifth of the documents is kept apart to choose and calibrate on, by the rule of the workbench. A recipe without
    trainings is measured once, as it is. A change such as train.tagger.max_minutes=5 limits a network.
    """
    listen(quiet=quiet, verbose=verbose)
    check_docs(docs)
    recipe = read_recipe(source)
    kb = recipe.open_kb(data=data)
    if not recipe.corpus or kb is None:
        raise RecipeError(source, ["corpus and kb: one is missing; name a recipe that has both"])
    train, dev = (list(split_documents(recipe.corpus, split=name, data=data)) for name in ("train", "dev"))
    cells: list[list[str]] = []
    for name in trained:
        mine = []
        for one in learn(name, kb, train, dev, sizes=_numbers(documents), seeds=seeds):
            mine.append([recipe.corpus, name, *_figures(one)])
            if as_json:
                print(json.dumps({"corpus": recipe.corpus, **asdict(one)}))
        if docs is not None:  # after each recipe, for the next may take an hour
            TABLE.write(docs, mine)
        cells += mine
    if not as_json:
        table("", TABLE.columns, cells, right=range(TABLE.texts, len(TABLE.columns)))


def learn(
    name: str,
    kb: KnowledgeBase,
    train: Sequence[Document],
    dev: Sequence[Document],
    *,
    sizes: Sequence[int],
    seeds: int,
) -> Iterator[Outcome]:
    """Yield what a recipe learns from the first documents of some orders; one that learns nothing is measured once.

    Args:
        name: of the recipe, or its file, with changes behind blanks.
        kb: the knowledge base.
        train: the documents to take from; sizes beyond them are cut to all of them.
        dev: the documents to measure on.
        sizes: numbers of documents.
        seeds: how many orders, from seed 1 on.
    """
    source, *changes = name.split()
    if not read_recipe(source, changes=changes).train:
        yield Outcome(name, 0, [_measure(load(source, kb=kb, changes=changes), kb, dev)], 0.0)
        return
    for size in sorted({min(size, len(train)) for size in sizes}):
        scores, seconds = [], 0.0
        for seed in range(1, seeds + 1):
            order = np.random.default_rng(seed).permutation(len(train))[:size]
            score, took = _train(source, changes, kb, [train[at] for at in order], dev)
            logger.info("%s, %d documents, seed %d: %.4f after %.0f s", name, size, seed, score, took)
            scores.append(score)
            seconds += took / seeds
        yield Outcome(name, size, scores, seconds)


def _train(
    source: str, changes: Sequence[str], kb: KnowledgeBase, some: Sequence[Document], dev: Sequence[Document]
) -> tuple[float, float]:
    """Return the score after a training on some documents, and the seconds that it took."""
    from linnet.annotate.scoring import divide  # noqa: PLC0415 - imports what learns, as below
    from linnet.fit.training import train  # noqa: PLC0415

    began = time.perf_counter()
    learned, apart = divide(some, DEV)
    pipeline = train(source, learned, apart, kb=kb, changes=changes)
    took = time.perf_counter() - began
    return _measure(pipeline, kb, dev), took


def _measure(pipeline: Pipeline, kb: KnowledgeBase, dev: Sequence[Document]) -> float:
    from linnet.evaluate import Options, evaluate  # noqa: PLC0415 - slow to import
    from linnet.pipeline.component import blind  # noqa: PLC0415

    found = list(pipeline.stream(blind(dev, pipeline)))
    report = evaluate(dev, found, kb=kb, options=Options(samples=0, classify=False))
    return float(report["all.accuracy@1" if "mentions" in pipeline.needs else "strict.f1"].value or 0.0)


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 1 for part in parts):
        raise LinnetError(f"--documents {text}: whole numbers above 1 with commas between, such as {SIZES}")
    return [int(part) for part in parts]


def _figures(one: Outcome) -> list[str]:
    mean, low, high = (f"{value:.3f}" for value in (np.mean(one.scores), min(one.scores), max(one.scores)))
    ends = [low, high] if len(one.scores) > 1 else [NOTHING, NOTHING]
    return [f"{one.documents:,}", str(len(one.scores)), mean, *ends, f"{one.seconds:.0f}"]
