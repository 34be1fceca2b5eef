"""Projects, their settings, members and guidelines."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Header, Response
from pydantic import Field

from linnet.annotate import tables
from linnet.annotate.api.guard import Asked, Bench, make_router, number_of
from linnet.annotate.api.session import Body
from linnet.annotate.api.workbench import Workbench
from linnet.annotate.journal import lock
from linnet.annotate.models import project_row, recipe_named
from linnet.annotate.people import Role, add_guideline, add_project, change_settings, name_of, role_of, set_role
from linnet.annotate.sampling import STRATEGIES
from linnet.errors import DataError, KnowledgeBaseError
from linnet.kb import KnowledgeBase
from linnet.serve.problems import Problem

__all__ = ["IfMatch", "etag", "kb_of_project", "openable_kb", "project_of", "router", "sequence"]

router = make_router()
IfMatch = Annotated[str | None, Header(alias="If-Match", description="The number of the last event, in quotes.")]
Name = Annotated[str, Field(max_length=500)]


class Choices(Body):
    """What a project sets: how its text is predicted and sampled.

    ``untrained`` is the recipe that predicts until there is a model, ``recipe`` the one that models are trained by. So
    many ``annotators`` read each document; for ``lease_hours`` it is kept for who has drawn it and not begun.
    """

    untrained: str = Field(default="dictionary", max_length=200)
    recipe: str = Field(default="own_lexical", max_length=200)
    strategy: str = Field(default="expected_error", max_length=100)
    annotators: int = Field(default=1, ge=1, le=20)
    lease_hours: float = Field(default=72, gt=0, le=24 * 365)


class NewProject(Body):
    """A project that is to be made; ``kb`` names a knowledge base under LINNET_HOME."""

    name: Name
    kb: str = Field(default="", max_length=200)
    blind: bool = True
    settings: Choices = Choices()


class ProjectChange(Body):
    """What is to change of a project."""

    name: Name | None = None
    kb: str | None = Field(default=None, max_length=200)
    blind: bool | None = None
    settings: Choices | None = None
    archived: bool | None = None


class Membership(Body):
    """A role in a project."""

    role: Role


class Guideline(Body):
    """Guidelines, as Markdown."""

    md: str = Field(max_length=1_000_000)


def etag(seq: int) -> str:
    """Return the ETag of something with a version."""
    return f'"{seq}"'


def sequence(given: str | None) -> int:
    """Return the version that a request is based on.

    Raises:
        Problem: 428 without one, 400 for what is none.
    """
    if given is None:
        raise Problem(428, detail="say which version you have read: send its ETag in the header If-Match")
    bare = given.strip().removeprefix("W/").strip('"')
    if not (bare.isascii() and bare.isdecimal() and len(bare) < 18):
        raise Problem(400, "if-match", detail=f"If-Match is a number in quotes, not {given[:50]!r}")
    return int(bare)


def _check(bench: Workbench, kb: str | None, choices: Choices | None) -> None:
    """Refuse settings that could not be worked with."""
    if kb:
        bench.kb_named(kb)
    if choices is None:
        return
    for recipe in (choices.untrained, choices.recipe):
        recipe_named(recipe, bench.settings.data)
    if choices.strategy not in STRATEGIES:
        raise DataError(f"there is no strategy {choices.strategy!r}; there are {', '.join(STRATEGIES)}")


def _shown(bench: Workbench, row: Any, role: str) -> dict[str, Any]:
    keys = ("name", "kb", "blind", "settings", "model", "archived", "seq", "made")
    version, problem = "", ""
    try:
        version = bench.kb_named(row["kb"]).version if row["kb"] else ""
    except KnowledgeBaseError as error:  # which another name in the settings mends
        problem = str(error)
    shown = {key: row[key] for key in keys}
    return {"project": row["id"], "role": role, **shown, "kb_version": version, "kb_problem": problem}


def project_of(bench: Workbench, id: int) -> dict[str, Any]:
    """Return the row of a project, its settings with their defaults."""
    with bench.store.read() as db:
        row = project_row(db, id)
    return {**row, "settings": Choices.model_validate(row["settings"]).model_dump()}


def kb_of_project(bench: Workbench, id: int) -> KnowledgeBase | None:
    """Return the knowledge base of a project, None if it has none."""
    with bench.store.read() as db:
        name = project_row(db, id)["kb"]
    return bench.kb_named(name) if name else None


def openable_kb(bench: Workbench, id: int) -> KnowledgeBase | None:
    """Return the same, and None while its file is away: what people decide is kept and shown without it, too."""
    with contextlib.suppress(KnowledgeBaseError):
        return kb_of_project(bench, id)
    return None


@router.get("/projects")
def list_projects(bench: Bench, asker: Asked) -> list[dict[str, Any]]:
    """List the projects that I am a member of."""
    mine = sa.and_(tables.member.c.project == tables.project.c.id, tables.member.c.user == asker.user)
    query = sa.select(tables.project, tables.member.c.role).join(tables.member, mine).order_by(tables.project.c.id)
    with bench.store.read() as db:
        rows = db.execute(query).mappings().all()
    return [
        {"project": row["id"], **{key: row[key] for key in ("name", "role", "kb", "archived", "seq")}} for row in rows
    ]


@router.post("/projects", status_code=201)
def make_project(bench: Bench, asker: Asked, body: NewProject, response: Response) -> dict[str, Any]:
    """Make a project, whose first admin I am."""
    _check(bench, body.kb, body.settings)
    with bench.store.write() as db:
        chosen = body.settings.model_dump()
        id = add_project(db, body.name, asker.user, kb=body.kb, blind=body.blind, settings=chosen)
    response.headers["ETag"] = etag(0)
    return _shown(bench, project_of(bench, id), "admin")


@router.get("/projects/{project}")
def read_project(bench: Bench, asker: Asked, project: int, response: Response) -> dict[str, Any]:
    """Return a project with its settings; the ETag is their version."""
    row = project_of(bench, project)
    response.headers["ETag"] = etag(row["seq"])
    return _shown(bench, row, asker.role)


@router.patch("/projects/{project}")
def change_project(
    bench: Bench, asker: Asked, project: int, body: ProjectChange, response: Response, if_match: IfMatch = None
) -> dict[str, Any]:
    """Change what is named, settings one by one, or archive it; 412 if somebody has changed it since you read it."""
    seq = sequence(if_match)
    _check(bench, body.kb, body.settings)
    values = {key: value for key, value in body.model_dump(exclude_unset=True).items() if value is not None}
    with bench.store.write() as db:
        if "settings" in values:  # those that are not named stay
            values["settings"] = project_row(db, project)["settings"] | values["settings"]
        if "name" in values:
            _check_name(db, project, values["name"])
        if not change_settings(db, project, seq, values):
            raise Problem(412, detail="somebody has changed the settings since you read them: read them again")
    return read_project(bench, asker, project, response)


def _check_name(db: sa.Connection, id: int, name: str) -> None:
    lock(db)  # two projects that are given one name at once: one of them
    if not name.strip() or "\0" in name:
        raise DataError("a project has a name")
    there = db.scalar(sa.select(tables.project.c.id).where(tables.project.c.name == name))
    if there not in (None, id):
        raise DataError(f"there is a project {name!r} already")


@router.get("/projects/{project}/members")
def list_members(bench: Bench, project: int) -> list[dict[str, Any]]:
    """List the members of a project with their roles."""
    query = sa.select(tables.user.c.id, tables.user.c.name, tables.member.c.role, tables.user.c.disabled)
    with bench.store.read() as db:
        rows = db.execute(query.join(tables.member).where(tables.member.c.project == project).order_by("name")).all()
    return [dict(zip(("user", "name", "role", "disabled"), row, strict=True)) for row in rows]


@router.put("/projects/{project}/members/{user}")
def set_member(bench: Bench, project: int, user: str, body: Membership) -> dict[str, Any]:
    """Make somebody, named by number or name, a member with a role, or change the role."""
    with bench.store.write() as db:
        id = _user(db, user)
        _keep_an_admin(db, project, id, body.role)
        set_role(db, project, id, body.role)
        return {"user": id, "name": name_of(db, id), "role": body.role}


@router.delete("/projects/{project}/members/{user}", status_code=204)
def end_membership(bench: Bench, project: int, user: str) -> None:
    """End a membership; what this member did stays."""
    with bench.store.write() as db:
        id = _user(db, user)
        _keep_an_admin(db, project, id, None)
        set_role(db, project, id, None)


def _user(db: sa.Connection, named: str) -> int:
    """Return the number of a user; digits are always a number, even where somebody has them as a name."""
    it = tables.user.c
    digits = named.isascii() and named.isdecimal()
    found = db.scalar(sa.select(it.id).where(it.id == (number_of(named) or 0) if digits else it.name == named))
    if found is None:
        raise Problem(404, detail=f"there is no user {named[:100]!r}")
    return int(found)


def _keep_an_admin(db: sa.Connection, project: int, user: int, role: Literal["admin"] | str | None) -> None:
    lock(db)  # two admins who leave at once: one of them
    others = sa.and_(tables.member.c.role == "admin", tables.member.c.project == project, tables.member.c.user != user)
    able = (
        sa.select(sa.func.count()).select_from(tables.member).join(tables.user).where(others, ~tables.user.c.disabled)
    )
    left = db.scalar(able)
    if role != "admin" and not left and role_of(db, project, user) == "admin":
        raise Problem(409, "last-admin", detail="a project keeps an admin: make somebody else one first")


@router.get("/projects/{project}/guidelines")
def read_guidelines(bench: Bench, project: int) -> list[dict[str, Any]]:
    """Return all versions of the guidelines, the newest first."""
    it = tables.guideline.c
    query = sa.select(it.v, it.md, it.made, tables.user.c.name).join(tables.user)
    with bench.store.read() as db:
        rows = db.execute(query.where(it.project == project).order_by(it.v.desc())).all()
    return [dict(zip(("v", "md", "made", "by"), row, strict=True)) for row in rows]


@router.post("/projects/{project}/guidelines", status_code=201)
def write_guidelines(bench: Bench, asker: Asked, project: int, body: Guideline) -> dict[str, Any]:
    """Add a version of the guidelines; decisions name the version that they were made by."""
    with bench.store.write() as db:
        return {"v": add_guideline(db, project, asker.user, body.md)}
