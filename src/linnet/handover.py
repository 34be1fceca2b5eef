"""What a trained folder has learned, in a pipeline with other options or another knowledge base.

A bi-encoder that was trained once is measured so with several indexes, and over a part of its knowledge base.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from linnet import config
from linnet.errors import LinnetError
from linnet.pipeline import Pipeline, Stage
from linnet.roles import Component
from linnet.todo import FROM_DEV, learners, part_at, with_part

__all__ = ["handed_over"]


def handed_over(pipeline: Pipeline, folder: Path) -> Pipeline:
    """Return a pipeline whose parts have learned what the parts of the same name in a trained folder have.

    Their options stay as they are. What was learned of concepts that the knowledge base lacks is left out. Where a
    name stands several times, the first takes from the first.

    Raises:
        LinnetError: no part that learns has one of its name in the folder.
        RecipeError: `folder` is no trained folder, or the options do not fit what was learned.
    """
    saved = list(_saved(config.read_recipe(folder / "pipeline.toml").pipeline, folder))
    found = False
    for task in learners(pipeline):
        part = part_at(pipeline, task.place)
        place = next((place for name, place in saved if name == task.name), None)
        if place is None or hasattr(part, "of"):
            continue
        saved.remove((task.name, place))
        pipeline = with_part(pipeline, task.place, _taught(cast("Stage", part), place, pipeline))
        found = found or not isinstance(part, FROM_DEV)
    if not found:
        raise LinnetError(f"{folder} has no trained part that the pipeline {pipeline!r} could take")
    return pipeline


def _saved(tables: Any, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield names and folders of the parts of a trained folder, those inside fusions too."""
    for index, table in enumerate(tables):
        if "of" in table:
            yield from _saved(table["of"], folder / f"{index}-{table['use']}")
        else:
            yield table["use"], folder / f"{index}-{table['use']}"


def _taught(part: Stage, place: Path, pipeline: Pipeline) -> Component:
    learned = type(part).load(place, kb=pipeline.kb)
    made = copy(part)
    for item in fields(cast("Any", part)):
        if not item.init:
            setattr(made, item.name, getattr(learned, item.name))
    return made
