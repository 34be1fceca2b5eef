"""The stream of what happens in a project, as server-sent events: what somebody may see, as soon as it is there."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import sqlalchemy as sa
from fastapi import Header
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from linnet.annotate import tables
from linnet.annotate.api.assignments import shown_event
from linnet.annotate.api.guard import Asked, Asker, Bench, make_router
from linnet.annotate.api.workbench import Workbench
from linnet.annotate.blind import visible_streams
from linnet.annotate.journal import last_number
from linnet.annotate.marks import DOCUMENT, NOTE
from linnet.annotate.people import role_of
from linnet.annotate.signing import by_session
from linnet.annotate.tables import event

__all__ = ["Feed", "router"]

router = make_router()
RETRY = "retry: 2000\n\n"  # milliseconds until a browser asks again
PING = ": ping\n\n"
FARTHEST = 5_000  # events that are sent after an interruption; after more, all is to be read again
JOBS = 50  # the last ones
JOB = ("kind", "state", "step", "of", "loss", "score", "attempt")


class Message(NamedTuple):
    """An event for a browser; ``id`` is what it resumes from."""

    kind: str
    data: Any
    id: int | None = None

    def text(self) -> str:
        """Return it in the format of server-sent events."""
        number = "" if self.id is None else f"id: {self.id}\n"
        return f"{number}event: {self.kind}\ndata: {json.dumps(self.data)}\n\n"


@dataclass(slots=True)
class Feed:
    """What one listener was told. All it tells was asked of `linnet.annotate.blind` at that very moment."""

    project: int
    user: int
    last: int | None = None  # the number of the last event; None = begin with what comes next
    resumed: bool = False
    known: dict[str, dict[Any, Any]] = field(default_factory=dict)
    streams: set[int] | None = None

    def poll(self, db: sa.Connection) -> list[Message] | None:
        """Return what is new, None for who may no longer listen."""
        role = role_of(db, self.project, self.user)
        if role is None:
            return None
        newest = last_number(db)
        if self.last is None or self.last > newest:  # of another database
            reset, self.last = self.last is not None, newest
            return self._watched(db) + ([Message("reset", {}, newest)] if reset else [])
        if newest - self.last > FARTHEST:
            self.last = newest
            return [*self._watched(db), Message("reset", {}, newest)]
        return self._uncovered(db) + self._events(db) + self._watched(db)

    def _events(self, db: sa.Connection) -> list[Message]:
        """Return the events since the last one."""
        seen = sa.or_(event.c.stream.is_(None), event.c.stream.in_(visible_streams(db, self.project, self.user)))
        new = sa.and_(event.c.project == self.project, event.c.n > self.last, seen)
        rows = db.execute(sa.select(event).where(new).order_by(event.c.n)).mappings().all()
        made = [Message(_kind(row), shown_event(row), row["n"]) for row in rows]
        if made and self.resumed and any(row["mention"] == DOCUMENT and row["stream"] for row in rows):
            made.insert(0, Message("reset", {}))  # somebody was done: more may be seen than what is new
        self.resumed = False
        self.last = rows[-1]["n"] if rows else self.last
        return made

    def _uncovered(self, db: sa.Connection) -> list[Message]:
        """Return what to do about assignments that are seen now and were not, or the other way round."""
        now = set(db.scalars(visible_streams(db, self.project, self.user)))
        before, self.streams = self.streams, now
        if before is None or before == now:
            return []
        it = tables.assignment.c
        own = sa.or_(it.user == self.user, it.user.is_(None))
        mine = set(db.scalars(sa.select(it.id).where(it.project == self.project, own)))
        told = [Message("assignment", {"assignment": id}) for id in sorted((now - before) & mine)]
        return told if now - mine == before - mine else [*told, Message("reset", {})]

    def _watched(self, db: sa.Connection) -> list[Message]:
        """Return what has changed of what has no numbered events."""
        told: list[Message] = []
        for kind, found in (
            ("job", _jobs(db, self.project)),
            ("prediction", _runs(db, self.project)),
            ("model", _settings(db, self.project)),
            ("member", _members(db, self.project)),
        ):
            before = self.known.get(kind)
            self.known[kind] = found
            if before is not None:
                told += [Message(kind, value) for key, value in found.items() if before.get(key) != value]
                told += [Message(kind, {**before[key], "gone": True}) for key in before if key not in found]
        return told


def _kind(row: Any) -> str:
    if row["stream"] is None:
        return "document"
    if row["mention"] == DOCUMENT:
        return "assignment"
    return "comment" if row["mention"].startswith(NOTE) else "mention"


def _jobs(db: sa.Connection, project: int) -> dict[Any, Any]:
    it = tables.job
    rows = db.execute(sa.select(it).where(it.c.project == project).order_by(it.c.id.desc()).limit(JOBS)).mappings()
    return {row["id"]: {"job": row["id"], **{key: row[key] for key in JOB}} for row in rows}


def _runs(db: sa.Connection, project: int) -> dict[Any, Any]:
    it = tables.run.c
    rows = db.execute(sa.select(it.id, it.model, it.state).where(it.project == project))
    return {row.id: {"run": row.id, "model": row.model, "state": row.state} for row in rows}


def _settings(db: sa.Connection, project: int) -> dict[Any, Any]:
    it = tables.project.c
    row = db.execute(sa.select(it.seq, it.model).where(it.id == project)).one()
    return {project: {"model": row.model, "settings": row.seq}}


def _members(db: sa.Connection, project: int) -> dict[Any, Any]:
    it = tables.member.c
    rows = db.execute(sa.select(it.user, it.role).where(it.project == project))
    return {row.user: {"user": row.user, "role": row.role} for row in rows}


async def _texts(bench: Workbench, asker: Asker, feed: Feed) -> AsyncIterator[str]:
    """Yield what is new until the listener goes, may no longer listen, or the server stops.

    The database is asked when something was written to it, and before each ping: sessions end without a word.
    """
    yield RETRY
    spoken, known = time.monotonic(), ""
    while not bench.stopping.is_set():
        # looked at before the database is asked: what is written in between is found the next time
        state = await run_in_threadpool(bench.watch.look) if bench.watch.due else bench.watch.last
        silent = time.monotonic() - spoken >= bench.settings.ping
        if state != known or silent:
            messages = await run_in_threadpool(_poll, bench, asker, feed)
            if messages is None:
                return
            for message in messages:
                yield message.text()
            if silent and not messages:
                yield PING
            if messages or silent:
                spoken = time.monotonic()
            known = state
        await asyncio.sleep(bench.settings.poll)


def _poll(bench: Workbench, asker: Asker, feed: Feed) -> list[Message] | None:
    with bench.store.read() as db:
        if asker.secret and by_session(db, asker.secret) is None:  # signed out
            return None
        return feed.poll(db)


@router.get("/projects/{project}/stream", response_class=StreamingResponse)
async def listen(
    bench: Bench,
    asker: Asked,
    project: int,
    last_event_id: Annotated[str | None, Header(description="The last event that was received.")] = None,
) -> StreamingResponse:
    """Tell what happens: mention, assignment, comment, document, prediction, job, model, member, reset, and a ping.

    ``reset`` asks to read everything again: the gap was too long, or more is to be seen, or less.
    """
    given = last_event_id or ""
    last = int(given) if given.isascii() and given.isdecimal() and len(given) < 16 else None
    feed = Feed(project, asker.user, last, resumed=last is not None)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_texts(bench, asker, feed), media_type="text/event-stream", headers=headers)
