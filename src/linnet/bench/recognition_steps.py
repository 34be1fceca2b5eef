"""The steps of ``linnet bench recognition``: detectors trained with one change at a time, and what they find."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linnet.bench.measured import open_kb
from linnet.corpora.splits import split_documents, training_texts
from linnet.data import Document
from linnet.errors import RecipeError
from linnet.evaluate.end_to_end import end_to_end
from linnet.evaluate.evaluation import fingerprint
from linnet.evaluate.measures import Measure
from linnet.evaluate.uncertainty import adjust, interval, paired_bootstrap
from linnet.fit.experiment import code_version
from linnet.fit.plan import learners, tasks
from linnet.fit.training import train_in_place
from linnet.pipeline import Pipeline
from linnet.pipeline.component import Component, blind
from linnet.recipes import config, saving
from linnet.recipes.config import load, read_recipe
from linnet.recipes.recipe import Recipe
from linnet.train.network import NetworkComponent

__all__ = ["Row", "front_of", "link_dev", "measure_all", "train_front"]

logger = logging.getLogger(__name__)

INT8 = "int8 by ONNX Runtime"
TURNS = 3
STRICT, TYPED = "recognition.strict", "recognition.typed"


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a recipe finds, with a change.

    Args:
        varied: the change, "" for the recipe as it is.
        precision: of exact spans.
        recall: of exact spans.
        f1: of exact spans.
        interval: of F1, 95 %, by bootstrap over documents.
        typed: F1 of exact spans with their types.
        speed: documents a second.
        p: of the paired bootstrap against the recipe as it is, adjusted.
    """

    varied: str
    precision: float
    recall: float
    f1: float
    interval: tuple[float, float]
    typed: float
    speed: float
    p: float | None = None

    def to_record(self) -> dict[str, Any]:
        """Return the row as JSON has it."""
        return dataclasses.asdict(self)


def measure_all(
    source: str, vary: Sequence[str], *, changes: Sequence[str], folder: Path, data: Path | None, int8: bool = False
) -> list[Row]:
    """Return a row of the recipe as it is, then one of each change.

    With `int8` the last row is of the networks of the recipe as it is, run by ONNX Runtime with a byte a number; the
    speeds of both are then of the better of three turns, one after the other.

    Raises:
        RecipeError: the recipe finds no mentions, or names no corpus or knowledge base.
    """
    recipes = {varied: read_recipe(source, changes=[*changes, *varied.split()]) for varied in ("", *vary)}
    recipe = recipes[""]
    kb = open_kb(recipe, source, data=data)
    pipelines = {
        varied: front_of(load(source, kb=kb, changes=[*changes, *varied.split()]), source) for varied in recipes
    }
    train, dev = (list(split_documents(recipe.corpus, split=split, data=data)) for split in ("train", "dev"))
    train += training_texts(recipe.train_texts, train, data=data)
    trained = {
        varied: train_front(pipeline, recipes[varied], (train, dev), folder) for varied, pipeline in pipelines.items()
    }
    if int8:
        trained[INT8] = _by_graphs(trained[""], source)
    rows = _compared(trained, dev)
    if int8:
        turns = [[link_dev(trained[which], dev)[1] for which in ("", INT8)] for _ in range(TURNS)]
        whole, small = (len(dev) / min(seconds) for seconds in zip(*turns, strict=True))
        rows = [replace(rows[0], speed=whole), *rows[1:-1], replace(rows[-1], speed=small)]
    return rows


def _compared(pipelines: Mapping[str, Pipeline], dev: Sequence[Document]) -> list[Row]:
    """Return a row of each pipeline, all but the first with p against it."""
    rows, measures = [], []
    for varied, pipeline in pipelines.items():
        found, seconds = link_dev(pipeline, dev)
        figures = {one.name: one for one in end_to_end(list(zip(dev, found, strict=True)), live=str)}
        measures.append(figures[f"{STRICT}.f1"])
        rows.append(_row(varied, figures, len(dev) / seconds))
        logger.info("%s: F1 %.4f", varied or "as it is", rows[-1].f1)
    chances = adjust([paired_bootstrap(one, measures[0]) for one in measures[1:]], method="holm") if rows[1:] else []
    return rows[:1] + [replace(row, p=p) for row, p in zip(rows[1:], chances, strict=True)]


def link_dev(pipeline: Pipeline, dev: Sequence[Document]) -> tuple[list[Document], float]:
    """Return what a pipeline finds, and how many seconds that took."""
    seen = blind(dev, pipeline)
    pipeline(seen[:1])  # reads the networks
    began = time.perf_counter()
    found = list(pipeline.stream(seen))
    return found, time.perf_counter() - began


def _by_graphs(pipeline: Pipeline, source: str) -> Pipeline:
    """Return a trained pipeline whose networks ONNX Runtime runs.

    Raises:
        RecipeError: it has none.
    """
    parts: list[Component] = []
    for part in pipeline.parts:
        made: Any = part
        if isinstance(part, NetworkComponent) and "backend" in part.keywords:
            made = copy.copy(part)
            made.backend = "onnx"
            network = part.network
            made.network = [one.as_graph() for one in network] if isinstance(network, list) else network.as_graph()
        parts.append(made)
    if all(one is other for one, other in zip(parts, pipeline.parts, strict=True)):
        raise RecipeError(source, ["pipeline: has no network that ONNX Runtime could run, for --int8"])
    return Pipeline(*parts, kb=pipeline.kb, allow=pipeline.allow)


def _row(varied: str, figures: dict[str, Measure], speed: float) -> Row:
    return Row(
        varied=varied,
        precision=figures[f"{STRICT}.precision"].value,
        recall=figures[f"{STRICT}.recall"].value,
        f1=figures[f"{STRICT}.f1"].value,
        interval=interval(figures[f"{STRICT}.f1"]),
        typed=figures[f"{TYPED}.f1"].value,
        speed=speed,
    )


def front_of(pipeline: Pipeline, source: str) -> Pipeline:
    """Return the parts of a pipeline that find mentions: those before the first that only links what it is given.

    Raises:
        RecipeError: there is none, or mentions are given.
    """
    front: list[Component] = []
    for part in pipeline.parts:
        if part.gives & {"candidates", "concepts"} and "mentions" in part.needs:
            break
        front.append(part)
    found = Pipeline(*front, kb=pipeline.kb, allow=pipeline.allow)
    if "mentions" not in found.gives or "mentions" in found.needs:
        raise RecipeError(source, ["pipeline: has no part that finds mentions, which is what is measured"])
    return found


def train_front(
    pipeline: Pipeline, recipe: Recipe, splits: tuple[list[Document], list[Document]], folder: Path
) -> Pipeline:
    """Return a pipeline whose parts have learned what the recipe says; from `folder` if they have already."""
    train, dev = splits
    names = {task.name for task in learners(pipeline)}
    tables = [table for table in recipe.train if table.get("part") in names]
    todo = tasks(pipeline, tables, source="", seed=recipe.seed) if tables or not recipe.train else []
    if not todo:
        return pipeline
    last = max(task.place[0] for task in todo) + 1
    told = [[_describe(part) for part in pipeline.parts[:last]], [(task.place, dict(task.args)) for task in todo]]
    told += [code_version(), fingerprint(train), fingerprint(dev), pipeline.kb.version if pipeline.kb else ""]
    place = folder / hashlib.sha256(json.dumps(told, sort_keys=True, default=repr).encode()).hexdigest()[:12]
    if (place / "card.md").exists():  # which is written last
        saved = load(place, kb=pipeline.kb)
        return Pipeline(*saved.parts[:last], *pipeline.parts[last:], kb=pipeline.kb, allow=pipeline.allow)
    logger.info("training %s", ", ".join(task.label for task in todo))
    train_in_place(pipeline, todo, train, dev)
    saving.save(pipeline, place)
    return pipeline


def _describe(part: Any) -> list[Any]:
    return [config.name_of(part), part.config(), [_describe(inner) for inner in part.inner]]
