"""Users, projects and who may do what in them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

import sqlalchemy as sa

from linnet.annotate.journal import lock
from linnet.annotate.problems import NotFoundError
from linnet.annotate.tables import guideline, member, now, project, user
from linnet.errors import DataError

__all__ = [
    "ROLES",
    "Role",
    "add_guideline",
    "add_project",
    "add_user",
    "change_settings",
    "free_name",
    "name_of",
    "role_of",
    "set_role",
    "storable",
]

Role: TypeAlias = Literal["admin", "curator", "annotator", "viewer"]
ROLES: tuple[Role, ...] = get_args(Role)
LONGEST_NAME = 500


def storable(text: str, what: str) -> str:
    """Return a text that both databases can hold.

    Raises:
        DataError: it has NUL characters or halves of surrogate pairs.
    """
    if "\0" in text:
        raise DataError(f"{what} has a NUL character at {text.index(chr(0))}: remove it")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{what} has half a surrogate pair at {error.start}: it was cut in the middle") from error
    return text


def _name(name: str, what: str) -> str:
    if not name.strip() or len(name) > LONGEST_NAME:
        raise DataError(f"the name of a {what} has 1 to {LONGEST_NAME} characters, this has {len(name)}")
    return storable(name, f"the name of the {what}")


def add_user(
    db: sa.Connection, name: str, hash: str | None = None, *, admin: bool = False, digits: bool = False
) -> int:
    """Add somebody and return their number; without the `hash` of a password they cannot sign in.

    A name stays for ever, since events name their authors. It may consist of digits only where `digits` says so: else
    it would look like the number of somebody else.

    Raises:
        DataError: the name is taken, empty, too long or a number.
    """
    lock(db)
    if name.strip().isdecimal() and not digits:
        raise DataError(f"the name of a user is no number, as {name[:50]!r} is: users are named by numbers, too")
    if db.scalar(sa.select(user.c.id).where(user.c.name == _name(name, "user"))) is not None:
        raise DataError(f"there is a user {name!r} already")
    values = {"name": name, "hash": hash, "admin": admin, "made": now(db)}
    return int(db.execute(user.insert().values(values).returning(user.c.id)).scalar_one())


def free_name(db: sa.Connection, wanted: str) -> str:
    """Return a name that nobody has: this one, or with a number behind it."""
    names = itertools.chain([wanted], (f"{wanted} ({number})" for number in itertools.count(2)))
    return next(name for name in names if db.scalar(sa.select(user.c.id).where(user.c.name == name)) is None)


def name_of(db: sa.Connection, id: int) -> str:
    """Return the name of a user.

    Raises:
        NotFoundError: there is none with this number.
    """
    name = db.scalar(sa.select(user.c.name).where(user.c.id == id))
    if name is None:
        raise NotFoundError(f"there is no user {id}")
    return str(name)


def add_project(
    db: sa.Connection,
    name: str,
    owner: int,
    *,
    kb: str = "",
    blind: bool = True,
    settings: Mapping[str, Any] | None = None,
) -> int:
    """Add a project with its first admin and return its number; `blind`: annotators do not see each other's open work.

    Raises:
        DataError: the name is taken, empty or too long.
    """
    lock(db)
    if db.scalar(sa.select(project.c.id).where(project.c.name == _name(name, "project"))) is not None:
        raise DataError(f"there is a project {name!r} already")
    values = {"name": name, "kb": kb, "blind": blind, "settings": dict(settings or {}), "made": now(db)}
    id = int(db.execute(project.insert().values(values).returning(project.c.id)).scalar_one())
    set_role(db, id, owner, "admin")
    return id


def change_settings(db: sa.Connection, id: int, seq: int, values: Mapping[str, Any]) -> bool:
    """Change columns of a project (``name kb blind settings model archived``); return False if `seq` is not its last.

    Raises:
        DataError: a column that there is not, or that changes by itself.
    """
    if unknown := set(values) - {"name", "kb", "blind", "settings", "model", "archived"}:
        raise DataError(f"a project has no setting {', '.join(sorted(unknown))}")
    held = sa.and_(project.c.id == id, project.c.seq == seq)
    return db.execute(project.update().where(held).values({**values, "seq": seq + 1})).rowcount == 1


def set_role(db: sa.Connection, project_id: int, user_id: int, role: Role | None) -> None:
    """Make somebody a member with a role, change it, or end the membership with None."""
    lock(db)
    who = sa.and_(member.c.project == project_id, member.c.user == user_id)
    db.execute(member.delete().where(who))
    if role is not None:
        if role not in ROLES:
            raise DataError(f"{role!r} is no role; there are {', '.join(ROLES)}")
        db.execute(member.insert().values(project=project_id, user=user_id, role=role))


def role_of(db: sa.Connection, project_id: int, user_id: int) -> Role | None:
    """Return the role of a member, None for who is none or has been disabled."""
    found = (
        sa.select(member.c.role)
        .join(user, user.c.id == member.c.user)
        .where(member.c.project == project_id, member.c.user == user_id, ~user.c.disabled)
    )
    role: Role | None = db.scalar(found)
    return role


def add_guideline(db: sa.Connection, project_id: int, user_id: int, md: str) -> int:
    """Add the next version of the guidelines and return its number."""
    lock(db)
    last = db.scalar(sa.select(sa.func.max(guideline.c.v)).where(guideline.c.project == project_id)) or 0
    values = {"project": project_id, "v": last + 1, "md": storable(md, "the guideline"), "user": user_id}
    db.execute(guideline.insert().values(**values, made=now(db)))
    return int(last + 1)
