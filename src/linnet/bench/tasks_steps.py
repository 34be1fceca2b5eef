"""The steps of ``linnet bench tasks``: a network in its variants, and how it does each of its tasks."""

from __future__ import annotations

import dataclasses
import logging
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from linnet.bench.measured import open_kb
from linnet.bench.recognition_steps import front_of, link_dev, train_front
from linnet.corpora.splits import split_documents, training_texts
from linnet.data import Document
from linnet.evaluate.end_to_end import end_to_end
from linnet.evaluate.measures import Measure
from linnet.evaluate.tags import token_accuracy
from linnet.evaluate.uncertainty import adjust, paired_bootstrap
from linnet.kb.successors import successor
from linnet.pipeline import Pipeline
from linnet.pipeline.decide import Decide
from linnet.recipes.config import load, read_recipe

__all__ = ["FIGURES", "TASKS", "Row", "measure_all"]

logger = logging.getLogger(__name__)

FIGURES = ("accuracy", "precision", "recall", "f1")
TASKS = {
    "recognition": ("token.bilou.accuracy", "recognition.strict"),
    "typing": ("token.bilou-typed.accuracy", "recognition.typed"),
    "linking": ("token.bio-typed.accuracy", "strict"),  # the former of documents whose types are their concepts
}
LINKING = "linking"

Figures = Mapping[str, Measure]  # of one task, by FIGURES
Outcome = Mapping[str, Figures]  # of one training, by task


@dataclass(frozen=True, kw_only=True)
class Row:
    """How a recipe does one of its tasks, with a change.

    Args:
        varied: the change, "" for the recipe as it is.
        task: a key of `TASKS`.
        seeds: how many trainings the figures are of.
        mean: of each of `FIGURES`, over seeds.
        deviation: the same, of samples; 0 of one seed.
        p: of the paired bootstrap of F1 against the recipe as it is, adjusted.
    """

    varied: str
    task: str
    seeds: int
    mean: Mapping[str, float]
    deviation: Mapping[str, float]
    p: float | None = None

    def to_record(self) -> dict[str, Any]:
        """Return the row as JSON has it."""
        return dataclasses.asdict(self)


def measure_all(
    source: str, vary: Sequence[str], *, changes: Sequence[str], seeds: int, folder: Path, data: Path | None
) -> list[Row]:
    """Return the rows of the recipe as it is, one for each task, then those of each change.

    Typing is left out where the corpus has one type.

    Args:
        source: name or file of a recipe whose first parts find and link mentions.
        vary: changes, each with blanks between its keys.
        changes: changes of all rows.
        seeds: number of trainings of each row, with the recipe's seed and the numbers behind it.
        folder: of trained models, which later runs use again.
        data: folder of corpora.

    Raises:
        RecipeError: the recipe finds no mentions, or names no corpus or knowledge base.
    """
    told = {varied: [*changes, *varied.split()] for varied in ("", *vary)}
    recipe, *_ = [read_recipe(source, changes=every) for every in told.values()]  # a typing error is seen at once
    kb = open_kb(recipe, source, data=data)
    front_of(load(source, kb=kb, changes=changes), source)
    train, dev = (list(split_documents(recipe.corpus, split=split, data=data)) for split in ("train", "dev"))
    train += training_texts(recipe.train_texts, train, data=data)
    found: dict[str, list[Outcome]] = {}
    for varied, every in told.items():
        for seed in range(recipe.seed, recipe.seed + seeds):
            seeded = [*every, f"seed={seed}"]
            pipeline = front_of(load(source, kb=kb, changes=seeded), source)
            trained = train_front(pipeline, read_recipe(source, changes=seeded), (train, dev), folder)
            linked, _ = link_dev(Pipeline(*trained.parts, Decide(kb=kb), kb=kb, allow=trained.allow), dev)
            found.setdefault(varied, []).append(_figures(dev, linked, live=successor(kb)))
            scores = ", ".join(f"{task} {one['f1'].value:.4f}" for task, one in found[varied][-1].items())
            logger.info("%s, seed %d: F1 of %s", varied or "as it is", seed, scores)
    return _compared(found)


def _figures(gold: Sequence[Document], predicted: Sequence[Document], *, live: Callable[[str], str]) -> Outcome:
    """Return the measures of each task."""
    pairs = list(zip(gold, predicted, strict=True))
    every = {one.name: one for one in end_to_end(pairs, live=live)}
    concepts = [(_typed_by_concept(one, live), _typed_by_concept(other, live)) for one, other in pairs]
    words = {one.name: one for one in token_accuracy(concepts)}
    types = {mention.types for doc in gold for mention in doc.mentions or ()}
    return {
        task: {"accuracy": (words if task == LINKING else every)[accuracy]}
        | {figure: every[f"{found}.{figure}"] for figure in FIGURES[1:]}
        for task, (accuracy, found) in TASKS.items()
        if task != "typing" or len(types) > 1
    }


def _typed_by_concept(doc: Document, live: Callable[[str], str]) -> Document:
    """Return a document whose mentions have concepts in the place of types."""
    return replace(
        doc,
        mentions=doc.mentions
        and tuple(replace(one, types=tuple(sorted(map(live, one.concepts or ())))) for one in doc.mentions),
    )


def _compared(found: Mapping[str, Sequence[Outcome]]) -> list[Row]:
    """Return the rows; p is of the counts of all seeds, summed by document, adjusted for all changes of a task."""
    plain, *others = found
    rows = []
    for task in found[plain][0]:
        whole = {varied: _sum([one[task]["f1"] for one in outcomes]) for varied, outcomes in found.items()}
        chances = [paired_bootstrap(whole[varied], whole[plain]) for varied in others]
        adjusted = [None, *(adjust(chances, method="holm") if chances else ())]
        for (varied, outcomes), p in zip(found.items(), adjusted, strict=True):
            values = {figure: [one[task][figure].value for one in outcomes] for figure in FIGURES}
            mean = {figure: statistics.fmean(every) for figure, every in values.items()}
            spread = {figure: statistics.stdev(every) if every[1:] else 0.0 for figure, every in values.items()}
            rows.append(Row(varied=varied, task=task, seeds=len(outcomes), mean=mean, deviation=spread, p=p))
    order = list(found)
    return sorted(rows, key=lambda row: order.index(row.varied))


def _sum(measures: Sequence[Measure]) -> Measure:
    """Return one measure with the counts of several."""
    return replace(measures[0], counts=np.sum([one.counts for one in measures], axis=0))
