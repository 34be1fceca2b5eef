"""Who may see whose work: in a blind project nobody sees a peer's before both are done, nor what a model made of it.

Every answer, event, count, hint and export of the workbench asks here. The answer is a query of stream numbers, to be
put into others: ``event.c.stream.in_(visible_streams(db, project, user))``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, TypeAlias

import sqlalchemy as sa

from linnet.annotate.people import Role, role_of
from linnet.annotate.tables import assignment, clock, member, model_source, now, predicted, project, run, user

__all__ = [
    "awaited",
    "begun",
    "countable_streams",
    "may_ask",
    "may_hint",
    "may_see",
    "may_write",
    "seen_streams",
    "taken_streams",
    "visible_runs",
    "visible_streams",
]

Streams = sa.Select[Any]
Number: TypeAlias = "int | sa.BindParameter[int]"
Time: TypeAlias = "sa.ColumnElement[str]"


def _blind(db: sa.Connection, project_id: int) -> bool:
    return bool(db.scalar(sa.select(project.c.blind).where(project.c.id == project_id)))


def _readers(db: sa.Connection, project_id: int) -> int:
    """Return how many people are to read each document."""
    settings = db.scalar(sa.select(project.c.settings).where(project.c.id == project_id)) or {}
    return int(settings.get("annotators", 1))


def begun(work: sa.FromClause, at: Time) -> sa.ColumnElement[bool]:
    """Return whether an assignment counts at a time: somebody has begun it, or it is still kept for them."""
    return sa.or_(work.c.seq > 0, work.c.state != "open", work.c.lease.is_(None), work.c.lease > at)


def awaited(work: sa.FromClause, at: Time) -> sa.ColumnElement[bool]:
    """Return whether an assignment counts at a time and is done, or can be: whoever has it may still work on it.

    Who has left the project, only views it, or was disabled holds up nobody. If they come back they go on.
    """
    their, who = member.alias(), user.alias()
    able = sa.and_(their.c.project == work.c.project, their.c.user == work.c.user, their.c.role != "viewer")
    there = sa.exists().where(able, who.c.id == their.c.user, ~who.c.disabled)
    return sa.and_(begun(work, at), sa.or_(work.c.state == "done", work.c.user.is_(None), there))


def _done(of: sa.FromClause, user_id: Number) -> sa.Exists:
    """Return whether a user has annotated the document of assignment `of`."""
    own = assignment.alias()
    same = sa.and_(own.c.document == of.c.document, own.c.kind == "annotate", own.c.state == "done")
    return sa.exists().where(same, own.c.user == user_id)


def _open(of: sa.FromClause, at: Time, user_id: Number | None = None) -> sa.Exists:
    """Return whether somebody, or a user, has the document of assignment `of` to annotate, and is not done with it."""
    other = assignment.alias()
    same = sa.and_(other.c.document == of.c.document, other.c.kind == "annotate", other.c.state != "done")
    # a user who only views the project for a while is to come back as blind as before
    whose = awaited(other, at) if user_id is None else sa.and_(begun(other, at), other.c.user == user_id)
    return sa.exists().where(same, whose)


def _settled(of: sa.FromClause, readers: int) -> sa.ColumnElement[bool]:
    """Return whether as many have done the document of assignment `of` as are to read each: it is drawn no more."""
    other = assignment.alias()
    done = sa.and_(other.c.document == of.c.document, other.c.kind == "annotate", other.c.state == "done")
    return sa.select(sa.func.count()).select_from(other).where(done).scalar_subquery() >= readers


def visible_streams(db: sa.Connection, project_id: int, user_id: int) -> Streams:
    """Return the streams of a project that a user may see.

    Everybody sees the own and the shared ones, and all of them where the project is not blind. Otherwise a curator or
    admin sees all but those of documents that they have still to do themselves; an annotator those that are done, of
    documents that they are done with; everybody else those of documents that all are done with, an annotator only once
    these are as many as are to read each: the document may be theirs next. Who is no member sees nothing. Nobody has to
    do what they drew, did not begin, and is kept for them no more: see `taken_streams`.
    """
    rules = role_of(db, project_id, user_id), _blind(db, project_id), _readers(db, project_id)
    return _visible(*rules, now(db), project_id, user_id)


def seen_streams(db: sa.Connection, project_id: int, user_id: int) -> set[int]:
    """Return the same as numbers: what listeners ask often, so that the query is made once."""
    rules = role_of(db, project_id, user_id), _blind(db, project_id), _readers(db, project_id)
    query = _prepared(*rules, db.dialect.name)
    return set(db.scalars(query, {"project_id": project_id, "user_id": user_id}))


@functools.cache
def _prepared(role: Role | None, blind: bool, readers: int, dialect: str) -> Streams:
    given = (sa.bindparam(name, type_=sa.Integer()) for name in ("project_id", "user_id"))
    return _visible(role, blind, readers, clock(dialect), *given)


def _visible(role: Role | None, blind: bool, readers: int, at: Time, project_id: Number, user_id: Number) -> Streams:
    it = assignment.alias()
    within = sa.select(it.c.id).where(it.c.project == project_id)
    if role is None:
        return within.where(sa.false())
    if not blind:
        return within
    own = sa.or_(it.c.user == user_id, it.c.kind == "shared")
    mine_open = _open(it, at, user_id)
    if role in ("admin", "curator"):
        return within.where(sa.or_(own, ~mine_open))
    over = ~_open(it, at)
    if role == "annotator":
        over = sa.and_(over, _settled(it, readers))
    over = sa.or_(_done(it, user_id), over)
    return within.where(sa.or_(own, sa.and_(it.c.state == "done", ~mine_open, over)))


def taken_streams(db: sa.Connection, project_id: int, user_id: int) -> Streams:
    """Return the assignments of a user that can be begun no more: it would no longer be blind.

    They were drawn, their lease has ended, and others have made of their documents what this user may see.
    """
    it, other = assignment.alias(), assignment.alias()
    mine = sa.and_(it.c.project == project_id, it.c.user == user_id, it.c.kind == "annotate")
    if not _blind(db, project_id):
        return sa.select(it.c.id).where(sa.false())
    theirs = sa.and_(other.c.document == it.c.document, other.c.id != it.c.id, other.c.kind != "shared")
    seen = other.c.id.in_(visible_streams(db, project_id, user_id))
    return sa.select(it.c.id).where(mine, ~begun(it, now(db)), sa.exists().where(theirs, other.c.seq > 0, seen))


def countable_streams(db: sa.Connection, project_id: int, user_id: int) -> Streams:
    """Return the streams whose concepts may be counted in hints for a user, on whatever document.

    In a blind project these are the own ones and finished adjudications: a peer's choice elsewhere would tell as much.
    """
    it = assignment.alias()
    seen = sa.select(it.c.id).where(it.c.id.in_(visible_streams(db, project_id, user_id)))
    if not _blind(db, project_id):
        return seen
    judged = sa.and_(it.c.kind == "adjudicate", it.c.state == "done")
    return seen.where(sa.or_(it.c.user == user_id, it.c.kind == "shared", judged))


def may_hint(db: sa.Connection, project_id: int, model: str, user_id: int) -> bool:
    """Return whether a model may give a user hints on whatever document: not if it has learned from blind peers."""
    others = sa.and_(model_source.c.model == model, model_source.c.user != user_id)
    return not _blind(db, project_id) or not db.scalar(sa.select(sa.exists().where(others)))


def may_see(db: sa.Connection, stream: int, user_id: int) -> bool:
    """Return whether a user may see an assignment; where not, it does not exist for them."""
    found = _stream(db, stream, user_id)
    if found is None or found.role is None:
        return False
    if found.user == user_id or found.kind == "shared":  # as `visible_streams` says, and asked most often
        return True
    seen = visible_streams(db, found.project, user_id)
    return db.scalar(sa.select(sa.literal(stream).in_(seen))) in (True, 1)


def may_write(db: sa.Connection, stream: int, user_id: int) -> bool:
    """Return whether a user may give commands to an assignment: the own one, or a shared one, and not as a viewer.

    Whoever may write it may see it.
    """
    found = _stream(db, stream, user_id)
    if found is None or found.role in (None, "viewer"):
        return False
    return bool(found.user == user_id or found.kind == "shared")


def _stream(db: sa.Connection, stream: int, user_id: int) -> sa.Row[int, int | None, str, str | None] | None:
    """Return what an assignment is, and the role of a user in its project."""
    able = sa.select(user.c.id).where(user.c.id == user_id, ~user.c.disabled)
    who = sa.and_(member.c.project == assignment.c.project, member.c.user.in_(able))
    query = sa.select(assignment.c.project, assignment.c.user, assignment.c.kind, member.c.role)
    return db.execute(query.select_from(assignment.outerjoin(member, who)).where(assignment.c.id == stream)).first()


def may_ask(db: sa.Connection, project_id: int, model: str, document: int, user_id: int) -> bool:
    """Return whether a model may answer a user about a document: not if it learned there from work hidden from them."""
    same = sa.and_(model_source.c.document == assignment.c.document, model_source.c.user == assignment.c.user)
    learned = sa.select(assignment.c.id).join(model_source, same)
    learned = learned.where(model_source.c.model == model, assignment.c.document == document)
    hidden = learned.where(assignment.c.id.not_in(visible_streams(db, project_id, user_id)))
    return db.execute(hidden.limit(1)).first() is None


def visible_runs(db: sa.Connection, stream: Mapping[str, Any]) -> Streams:
    """Return the runs whose predictions an assignment may show, the one to show first.

    That is one of the model in use, otherwise the last. Open blind work is not shown predictions of a model that has
    learned from a peer's labels of that document, nor any where it is to be done without suggestions. Shared work and
    adjudications are not shown those of a model that has learned from anybody's while somebody still reads it blindly.
    """
    done = stream["state"] == "done"
    row = db.execute(sa.select(project.c.model, project.c.blind).where(project.c.id == stream["project"])).one()
    there = sa.and_(predicted.c.run == run.c.id, predicted.c.document == stream["document"])
    query = sa.select(run.c.id).join(predicted, there).where(run.c.project == stream["project"])
    if not (stream["suggestions"] or done):
        query = query.where(sa.false())
    if row.blind and not done and (stream["kind"] == "annotate" or _is_read(db, stream["document"])):
        learned = sa.and_(model_source.c.model == run.c.model, model_source.c.document == stream["document"])
        peers = model_source.c.user != stream["user"] if stream["kind"] == "annotate" else sa.true()
        query = query.where(~sa.exists().where(learned, peers))
    in_use = sa.case((sa.func.coalesce(run.c.model, "") == (row.model or ""), 0), else_=1)
    return query.order_by(in_use, run.c.number.desc())


def _is_read(db: sa.Connection, document: int) -> bool:
    """Return whether somebody has a document to annotate and is not done with it."""
    work = sa.and_(assignment.c.document == document, assignment.c.kind == "annotate", assignment.c.state != "done")
    return db.execute(sa.select(assignment.c.id).where(work, awaited(assignment, now(db))).limit(1)).first() is not None
