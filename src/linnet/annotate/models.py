"""Models of a project: which one is in use, where they lie, and what they are made from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from linnet.annotate.jobs import enqueue
from linnet.annotate.journal import append_to_project, lock
from linnet.annotate.people import name_of
from linnet.annotate.problems import NotFoundError
from linnet.annotate.tables import model, project
from linnet.errors import DataError, KnowledgeBaseError, LinnetError, did_you_mean
from linnet.home import kb_path
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.recipes.config import load, open_kb, read_recipe, recipes

__all__ = [
    "MODELS",
    "RECIPES",
    "kb_called",
    "kb_of",
    "load_model",
    "model_row",
    "models_of",
    "project_row",
    "recipe_named",
    "recipes_for",
    "untrained",
    "use",
]

MODELS = "models"  # the folder of the data that trained pipelines lie in
UNTRAINED = "dictionary"  # of projects that name no recipe for the time before there is a model
RECIPES = "recipes"  # the folder of the data for recipes of one's own
ITSELF = "linnet"  # the actor of what nobody asked for


def project_row(db: sa.Connection, id: int) -> dict[str, Any]:
    """Return the row of a project.

    Raises:
        NotFoundError: there is none with this number.
    """
    row = db.execute(sa.select(project).where(project.c.id == id)).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no project {id}")
    return dict(row)


def model_row(db: sa.Connection, project_id: int, id: str) -> dict[str, Any]:
    """Return the row of a model.

    Raises:
        NotFoundError: the project has no such model.
    """
    mine = sa.and_(model.c.id == id, model.c.project == project_id)
    row = db.execute(sa.select(model).where(mine)).mappings().first()
    if row is None:
        raise NotFoundError(f"project {project_id} has no model {id}")
    return dict(row)


def models_of(db: sa.Connection, project_id: int) -> list[dict[str, Any]]:
    """Return the models of a project, the newest first."""
    mine = sa.select(model).where(model.c.project == project_id)
    return [dict(row) for row in db.execute(mine.order_by(model.c.made.desc(), model.c.id)).mappings()]


def use(db: sa.Connection, project_id: int, id: str | None, user: int | None = None) -> int:
    """Take a model into use, a new one or an older one, and return the job that has it predict what it has not yet.

    What it predicted earlier is shown again at once. None is the recipe as it is, untrained.

    Raises:
        NotFoundError: the project has no such model.
    """
    lock(db)
    before = project_row(db, project_id)["model"]
    if id is not None:
        model_row(db, project_id, id)
    if before != id:
        changed = project.update().where(project.c.id == project_id)
        db.execute(changed.values(model=id, seq=project.c.seq + 1))
        actor = ITSELF if user is None else name_of(db, user)
        append_to_project(db, project_id, actor, "use", {"model": id, "before": before})
    return enqueue(db, project_id, "predict", {"model": id}, user=user)


def load_model(row: Mapping[str, Any], data: Path, kb: KnowledgeBase | None) -> Pipeline:
    """Return the pipeline of a model.

    Raises:
        LinnetError: its folder is gone or damaged, or the knowledge base is another one.
    """
    folder = data / row["path"]
    if not folder.is_dir():
        raise NotFoundError(f"the folder {row['path']} of model {row['id']} is gone: restore it, or train again")
    return load(folder, kb=kb)


def untrained(row: Mapping[str, Any], data: Path, recipe: str | None = None) -> Pipeline:
    """Return what predicts in a project while it uses no model: a recipe as it is, or the project's own if None.

    Raises:
        LinnetError: there is no such recipe, or it cannot be made.
    """
    return load(recipe_named(recipe or row["settings"].get("untrained") or UNTRAINED, data), kb=kb_of(row))


def kb_of(row: Mapping[str, Any]) -> KnowledgeBase | None:
    """Return the knowledge base of a project, None if the recipe is to name it.

    Raises:
        KnowledgeBaseError: there is none of this name.
    """
    return kb_called(row["kb"]) if row["kb"] else None


def kb_called(name: str) -> KnowledgeBase:
    """Open the knowledge base with a name; who is told that it cannot be opened reads the name, and no path of ours.

    Raises:
        KnowledgeBaseError: there is none of this name, or its file is damaged.
    """
    try:
        return open_kb(name)
    except KnowledgeBaseError as error:
        path = kb_path(name)
        said = str(error).replace(str(path.absolute()), name).replace(str(path), name)
        raise KnowledgeBaseError(said) from error


def recipe_named(name: str, data: Path) -> str:
    """Return what `linnet.load` takes for a recipe that comes with Linnet or lies in the folder ``recipes`` of `data`.

    Names of other files are refused: whoever may train must not read all that the server may.

    Raises:
        DataError: there is none of this name.
    """
    if name in recipes():
        return name
    found = _own_recipes(data)
    if name not in found:
        where = f"in the folder {RECIPES} of the workbench"
        hint = did_you_mean(name, [*recipes(), *found])
        raise DataError(f"there is no recipe {name!r}: it neither comes with Linnet nor is it a file {where}{hint}")
    return str(found[name])


def _own_recipes(data: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted((data / RECIPES).glob("*.toml"))}


def recipes_for(data: Path) -> dict[str, str]:
    """Return recipes for documents of any kind, those in the folder ``recipes`` of `data` too: name and description.

    Those for one corpus are left out, though they can be named. Of one that cannot be read it is said why.
    """
    general = {name: path for name, path in recipes().items() if "/" not in name}
    found: dict[str, str] = {}
    for name, path in (general | _own_recipes(data)).items():
        try:
            found[name] = read_recipe(path).description
        except LinnetError as error:
            found[name] = str(error).replace(str(path), path.name)
    return found
