"""Transfer of what a trained folder has learned to a pipeline with other options or another knowledge base.

A bi-encoder that was trained once is measured so with several indexes, and over a part of its knowledge base.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from linnet.errors import LinnetError
from linnet.fit.plan import learner_at, learners, part_at, with_part
from linnet.pipeline import Fuse, Pipeline, Stage
from linnet.recipes import config
from linnet.recipes.recipe import nested_tables

__all__ = ["transfer"]


def transfer(pipeline: Pipeline, folder: Path) -> Pipeline:
    """Return a pipeline whose parts have learned what the parts of the same name in a trained folder have.

    Their options stay as they are. Aliases of concepts that the knowledge base lacks are left out. Where a name stands
    several times, the first takes from the first. Weights of a fusion are taken where it has parts of the same names;
    ``decide`` is not: its probabilities are those of another pipeline.

    Raises:
        LinnetError: no part that learns has one of its name in the folder.
        RecipeError: `folder` is not a trained folder, or the options do not fit what was learned.
    """
    tables = config.read_recipe(folder / "pipeline.toml").pipeline
    saved, found = list(_saved(tables, folder)), False
    for task in learners(pipeline):
        part = part_at(pipeline, task.place)
        place = next((place for name, place in saved if name == task.name), None)
        if isinstance(part, Fuse):
            pipeline = with_part(pipeline, task.place, replace(part, weights=_weights(part, tables)))
        if place is None or learner_at(pipeline, task.place).LEARNS_FROM == "dev":
            continue
        saved.remove((task.name, place))
        learned = type(cast("Stage", part)).load(place, kb=pipeline.kb, partly=True)
        pipeline = with_part(pipeline, task.place, learned.with_options_of(cast("Stage", part)))
        found = True
    if not found:
        raise LinnetError(f"{folder} has no trained part that the pipeline {pipeline!r} could use")
    return pipeline


def _saved(tables: Any, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield names and folders of the parts of a trained folder, those inside fusions too."""
    for index, table in enumerate(tables):
        if "of" in table:
            yield from _saved(table["of"], folder / f"{index}-{table['use']}")
        else:
            yield table["use"], folder / f"{index}-{table['use']}"


def _weights(fusion: Fuse, tables: Any) -> tuple[float, ...] | None:
    """Return the weights of the fusion of the same parts, its own if there is none."""
    names = [config.name_of(part) for part in fusion.of]
    for table in (table for table in nested_tables(tables) if "of" in table):
        if [part["use"] for part in table["of"]] == names and table.get("weights") and fusion.weights is None:
            return tuple(table["weights"])
    return fusion.weights
