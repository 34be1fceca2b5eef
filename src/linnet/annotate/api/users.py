"""Users, whom administrators invite by link, and the tokens of their programs."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from fastapi import Response
from pydantic import Field

from linnet.annotate import tables
from linnet.annotate.api.guard import Asked, Bench, Row, make_router
from linnet.annotate.api.session import Body
from linnet.annotate.journal import lock
from linnet.annotate.people import add_user, name_of, set_role
from linnet.annotate.signing import LINK, any_administrator, disable, make_link, make_token
from linnet.serve.problems import Problem, not_found

__all__ = ["router"]

router = make_router()


class NewUser(Body):
    """Somebody who is to be invited."""

    name: str = Field(max_length=500)
    admin: bool = False


class UserChange(Body):
    """What becomes of a user; ``link`` asks for a new link that sets a password."""

    disabled: bool | None = None
    admin: bool | None = None
    link: bool = False


class NewToken(Body):
    """A token that is to be made."""

    name: str = Field(min_length=1, max_length=200)
    scopes: list[str] = Field(max_length=10)
    days: float | None = Field(default=None, gt=0, le=3650)


@router.get("/users")
def list_users(bench: Bench) -> list[dict[str, Any]]:
    """List all users."""
    columns = (
        tables.user.c.id,
        tables.user.c.name,
        tables.user.c.admin,
        tables.user.c.disabled,
        tables.user.c.made,
        tables.user.c.hash.is_not(None),
    )
    with bench.store.read() as db:
        rows = db.execute(sa.select(*columns).order_by(tables.user.c.id)).all()
    keys = ("user", "name", "admin", "disabled", "made", "has_password")
    return [dict(zip(keys, (*row[:5], bool(row[5])), strict=True)) for row in rows]


@router.post("/users", status_code=201)
def invite(bench: Bench, body: NewUser) -> dict[str, Any]:
    """Add a user; ``link`` is what they set their password with, once and within a day."""
    with bench.store.write() as db:
        id = add_user(db, body.name, admin=body.admin)
        return {"user": id, "name": body.name, "link": make_link(db, id)}


@router.patch("/users/{user}")
def change_user(bench: Bench, asker: Asked, user: Row, body: UserChange) -> dict[str, Any]:
    """Disable a user, make one an administrator, or give a new link to one who has forgotten the password.

    Who disables the last admin of projects becomes their admin, which ``projects`` lists: nobody else could make one.
    """
    if user == asker.user and (body.disabled or body.admin is False):
        raise Problem(409, "own-account", detail="somebody else has to do this: else nobody might be left who can")
    with bench.store.write() as db:
        lock(db)  # two administrators who disable each other: one of them
        answer: dict[str, Any] = {"user": user, "name": name_of(db, user)}
        if body.disabled is not None:
            disable(db, user, body.disabled)
            answer["projects"] = _take_over(db, user, asker.user) if body.disabled else []
        if body.admin is not None:
            db.execute(tables.user.update().where(tables.user.c.id == user).values(admin=body.admin))
        if not any_administrator(db):
            raise Problem(
                409, "last-admin", detail="the workbench keeps an administrator: make somebody else one first"
            )
        return answer | ({"link": make_link(db, user)} if body.link else {})


def _take_over(db: sa.Connection, user: int, heir: int) -> list[int]:
    """Make somebody the admin of the projects that a disabled user has left without one who can act."""
    it, other = tables.member.alias(), tables.member.alias()
    able = sa.select(tables.user.c.id).where(~tables.user.c.disabled)
    led = sa.exists().where(other.c.project == it.c.project, other.c.role == "admin", other.c.user.in_(able))
    query = sa.select(it.c.project).where(it.c.user == user, it.c.role == "admin", ~led).order_by(it.c.project)
    left = list(db.scalars(query))
    for id in left:
        set_role(db, id, heir, "admin")
    return left


@router.get("/tokens")
def list_tokens(bench: Bench, asker: Asked) -> list[dict[str, Any]]:
    """List my tokens; ``token`` is what to name one by, no secret."""
    with bench.store.read() as db:
        rows = db.execute(
            sa.select(tables.token).where(tables.token.c.user == asker.user).order_by(tables.token.c.made)
        ).mappings()
        return [
            {"token": row["hash"][:16], **{key: row[key] for key in ("name", "scopes", "made", "expires")}}
            for row in rows
            if LINK not in row["scopes"]
        ]


@router.post("/tokens", status_code=201)
def add_token(bench: Bench, asker: Asked, body: NewToken) -> dict[str, Any]:
    """Make a token; its ``secret`` is told now and never again. Tokens make none: theirs could do and last more."""
    if not asker.csrf:
        raise Problem(403, "session", "A token does not allow this", "sign in, and send the cookie of the session")
    with bench.store.write() as db:
        return {"name": body.name, "secret": make_token(db, asker.user, body.name, body.scopes, body.days)}


@router.delete("/tokens/{token}", status_code=204)
def end_token(bench: Bench, asker: Asked, token: str) -> Response:
    """End one of my tokens."""
    if len(token) != 16 or not token.isalnum():
        raise not_found("token")
    with bench.store.write() as db:
        mine = sa.and_(tables.token.c.user == asker.user, tables.token.c.hash.startswith(token))
        if not db.execute(tables.token.delete().where(mine)).rowcount:
            raise not_found("token")
    return Response(status_code=204)
