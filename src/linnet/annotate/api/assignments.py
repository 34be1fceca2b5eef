"""Assignments: one document as one person works on it, commands to it, and what was decided when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Query, Response
from pydantic import Field

from linnet.annotate import tables
from linnet.annotate.acts import Command
from linnet.annotate.adjudication import give_to_judge
from linnet.annotate.api.documents import After, AfterRow, Limit, document_in
from linnet.annotate.api.guard import Asked, Asker, Bench, make_router
from linnet.annotate.api.projects import IfMatch, etag, openable_kb, sequence
from linnet.annotate.api.session import Body
from linnet.annotate.api.workbench import Workbench
from linnet.annotate.assignments import assign, read
from linnet.annotate.blind import may_see, may_write, taken_streams, visible_streams
from linnet.annotate.commands import apply, preview
from linnet.annotate.elsewhere import find_elsewhere
from linnet.annotate.people import role_of
from linnet.annotate.proposals import live_ids
from linnet.annotate.tables import assignment, event
from linnet.serve.problems import Problem, not_found

__all__ = ["router", "shown_event"]

router = make_router()
LARGEST = 2**31 - 1
EVENT = (
    "n", "seq", "at", "actor", "kind", "mention", "before", "after", "command", "kb", "model", "run", "guideline", "ms",
)  # fmt: skip


class Batch(Body):
    """Commands that are all done, or none."""

    commands: list[Command] = Field(min_length=1, max_length=500)


class Given(Body):
    """Documents that are to be given to people; nobody where all members share the work."""

    documents: list[Annotated[int, Field(ge=1, le=LARGEST)]] = Field(min_length=1, max_length=1000)
    users: list[Annotated[int, Field(ge=1, le=LARGEST)]] = Field(default=[], max_length=100)
    kind: Literal["annotate", "adjudicate", "shared"] = "annotate"
    suggestions: bool = True


def shown_event(row: Any) -> dict[str, Any]:
    """Return an event as JSON."""
    return {"assignment": row["stream"], **{key: row[key] for key in EVENT}, "group": row["grp"]}


@router.get("/projects/{project}/assignments")
def list_assignments(
    bench: Bench,
    asker: Asked,
    project: int,
    after: AfterRow = 0,
    limit: Limit = 100,
    mine: Annotated[bool, Query(description="Mine and the shared ones alone.")] = True,
) -> dict[str, Any]:
    """List assignments, mine or all that I may see; of mine those are left out that were erased or given to others."""
    it = assignment.c
    query = sa.select(assignment, tables.document.c.ext_id).join(tables.document, tables.document.c.id == it.document)
    if mine:
        query = query.where(sa.or_(it.user == asker.user, it.user.is_(None)))
    with bench.store.read() as db:
        seen = visible_streams(db, project, asker.user)
        if mine:
            gone = sa.or_(tables.document.c.redacted, it.id.in_(taken_streams(db, project, asker.user)))
            query = query.where(~gone)
        rows = db.execute(query.where(it.id.in_(seen), it.id > after).order_by(it.id).limit(limit)).mappings().all()
    keys = ("document", "ext_id", "user", "kind", "state", "seq", "lease")
    shown = [{"assignment": row["id"], **{key: row[key] for key in keys}} for row in rows]
    return {"assignments": shown, "next": rows[-1]["id"] if len(rows) == limit else None}


@router.post("/projects/{project}/assignments", status_code=201)
def give(bench: Bench, asker: Asked, project: int, body: Given) -> dict[str, Any]:
    """Give documents to people; who has one already keeps it.

    An adjudication is a curator's, of a document that somebody is done with; it begins with what all readers say.
    """
    users: list[int | None] = [*body.users] if body.kind != "shared" else [None]
    if not users or (body.kind == "shared" and body.users):
        raise Problem(422, "users", detail=f"an assignment of the kind {body.kind!r} is for somebody, a shared one not")
    kb = openable_kb(bench, project)
    with bench.store.write() as db:
        for id in body.documents:
            if document_in(db, asker, id)["redacted"]:
                raise Problem(422, "documents", detail=f"the text of document {id} was erased")
        for user in users:
            if user is not None and role_of(db, project, user) in (None, "viewer"):
                raise Problem(422, "users", detail=f"user {user} does not work in this project")
        live = live_ids(db, project, kb)
        made = [_assigned(db, id, user, body, asker, live) for id in body.documents for user in users]
    return {"assignments": made}


def _assigned(
    db: sa.Connection, document: int, user: int | None, body: Given, asker: Asker, live: Callable[[str], str]
) -> int:
    if body.kind == "adjudicate" and user is not None:
        return give_to_judge(db, document, user, asker.user, live=live)
    return assign(db, document, user, kind=body.kind, suggestions=body.suggestions)


@router.get("/assignments/{assignment}")
def read_assignment(bench: Bench, asker: Asked, assignment: int, response: Response) -> dict[str, Any]:
    """Return all layers of a document as its author sees it: gold, user and pred at once; the ETag is its version."""
    with bench.store.read() as db:
        if not may_see(db, assignment, asker.user):
            raise not_found("assignment")
        reading = read(db, assignment)
    response.headers["ETag"] = etag(reading.seq)
    return reading.to_json()


def _check_writer(bench: Workbench, asker: Asker, stream: int) -> None:
    with bench.store.read() as db:
        if may_write(db, stream, asker.user):
            return
        if not may_see(db, stream, asker.user):
            raise not_found("assignment")
    raise Problem(403, "not-yours", "The assignment is somebody else's", "give it to yourself first")


@router.post("/assignments/{assignment}/commands")
def command(
    bench: Bench, asker: Asked, assignment: int, body: Batch, response: Response, if_match: IfMatch = None
) -> dict[str, Any]:
    """Change mentions: the only way to. ``If-Match`` is the version that the sender has read.

    If somebody has changed other mentions since, this is done all the same (``rebased``); the same mention otherwise
    is a conflict, 409, with the three values. The same command again does nothing and gets its first answer.
    """
    seq = sequence(if_match)
    _check_writer(bench, asker, assignment)
    kb = None
    if any(one.concepts or one.op == "done" for one in body.commands):
        kb = openable_kb(bench, asker.project)
    answer = apply(bench.store, assignment, asker.user, body.commands, seq, kb=kb)
    response.headers["ETag"] = etag(answer.seq)
    return answer.to_json()


@router.post("/assignments/{assignment}/preview")
def count_changes(bench: Bench, asker: Asked, assignment: int, body: Command) -> dict[str, int]:
    """Say how many mentions a command would change, such as ``spread`` or ``accept_over``; nothing is done."""
    _check_writer(bench, asker, assignment)
    return {"changes": preview(bench.store, assignment, body)}


@router.get("/assignments/{assignment}/elsewhere")
def look_elsewhere(
    bench: Bench, asker: Asked, assignment: int, mention: Annotated[str, Query(min_length=1, max_length=100)]
) -> dict[str, Any]:
    """Return my other open documents that hold the words of a mention, with how many mentions ``spread`` would make.

    ``spread`` with the words as ``surface``, and what the mention means (``concepts``, ``types``, ``alternatives``,
    ``nil``), does it in each of them.
    """
    _check_writer(bench, asker, assignment)
    with bench.store.read() as db:
        found = find_elsewhere(db, assignment, asker.user, mention)
    return {"documents": [{**asdict(place), "changes": count} for place, count in found]}


@router.get("/assignments/{assignment}/events")
def list_events(bench: Bench, asker: Asked, assignment: int, after: After = 0, limit: Limit = 100) -> dict[str, Any]:
    """List what was decided in an assignment, after its event number ``after``."""
    with bench.store.read() as db:
        if not may_see(db, assignment, asker.user):
            raise not_found("assignment")
        query = sa.select(event).where(event.c.stream == assignment, event.c.seq > after).order_by(event.c.seq)
        rows = db.execute(query.limit(limit)).mappings().all()
    return {"events": [shown_event(row) for row in rows], "next": rows[-1]["seq"] if len(rows) == limit else None}


@router.get("/projects/{project}/events")
def list_all_events(bench: Bench, asker: Asked, project: int, after: After = 0, limit: Limit = 100) -> dict[str, Any]:
    """List what was decided and done in a project, as far as I may see it, after event ``after``."""
    with bench.store.read() as db:
        seen = sa.or_(event.c.stream.is_(None), event.c.stream.in_(visible_streams(db, project, asker.user)))
        query = sa.select(event).where(event.c.project == project, event.c.n > after, seen).order_by(event.c.n)
        rows = db.execute(query.limit(limit)).mappings().all()
    return {"events": [shown_event(row) for row in rows], "next": rows[-1]["n"] if len(rows) == limit else None}
