"""What all who listen to a project ask in common: asked of the database once for all of them, a few times a second."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from linnet.annotate import tables
from linnet.annotate.journal import last_number
from linnet.annotate.marks import DOCUMENT
from linnet.annotate.signing import secrets_of
from linnet.annotate.store import Store
from linnet.annotate.tables import event

__all__ = ["FARTHEST", "Look", "Watch"]

FARTHEST = 5_000  # events that are sent after an interruption; after more, all is to be read again
JOBS = 50  # the last ones
JOB = ("kind", "state", "step", "of", "loss", "score", "attempt")


class Look(NamedTuple):
    """A project at one moment.

    Args:
        newest: the number of the last event of the database.
        roles: of the members who may still sign in, by their numbers.
        sight: another value whenever somebody may see more than before, or less, but for their own role.
        watched: what has no numbered events: kind of message -> key -> data.
        events: the last ones of the project, in order.
        since: all events of the project after this number are there.
        secrets: hashes of the sessions and tokens that members have.
    """

    newest: int
    roles: Mapping[int, str]
    sight: tuple[Any, ...]
    watched: Mapping[str, Mapping[Any, Any]]
    events: Sequence[sa.RowMapping]
    since: int
    secrets: frozenset[str] = frozenset()


class Watch:
    """Looks at one project for all listeners; threads share it."""

    def __init__(self, project: int) -> None:
        self.project = project
        self._events: deque[sa.RowMapping] = deque()
        self._newest: int | None = None
        self._since = self._moved = 0
        self._look: Look | None = None
        self._at = 0.0
        self._looking = threading.Lock()

    def look(self, store: Store, age: float) -> Look:
        """Return how the project is, or was at most `age` seconds ago."""
        with self._looking:
            if self._look is None or time.monotonic() - self._at > age:
                at = time.monotonic()
                with store.read() as db:
                    self._look = self._now(db)
                self._at = at
            return self._look

    def held(self, age: float) -> Look | None:
        """Return the last look if it is at most `age` seconds old; nobody is waited for."""
        return self._look if time.monotonic() - self._at <= age else None

    def _now(self, db: sa.Connection) -> Look:
        newest = last_number(db)
        self._take_events(db, newest)
        it = tables.project.c
        row = db.execute(sa.select(it.seq, it.model, it.blind).where(it.id == self.project)).one()
        work = tables.assignment.c
        count = sa.select(sa.func.count(), sa.func.max(work.id)).where(work.project == self.project)
        members = tables.member.c
        query = sa.select(members.user, members.role, tables.user.c.disabled).join(tables.user)
        known = db.execute(query.where(members.project == self.project)).all()
        watched = {
            "job": _jobs(db, self.project),
            "prediction": _runs(db, self.project),
            "model": {self.project: {"model": row.model, "settings": row.seq}},
            "member": {one.user: {"user": one.user, "role": one.role} for one in known},
        }
        roles = {one.user: one.role for one in known if not one.disabled}
        # who sees what depends on settings and roles, on who has which assignments, and on which of them are done
        sight = (row.blind, row.seq, *db.execute(count).one(), self._moved, tuple(sorted(roles.items())))
        secrets = secrets_of(db, self.project)
        return Look(newest, roles, sight, watched, list(self._events), self._since, secrets)

    def _take_events(self, db: sa.Connection, newest: int) -> None:
        """Add the events since the last look, and forget old ones."""
        if self._newest is None or not 0 <= newest - self._newest <= FARTHEST:
            self._events.clear()
            self._newest = self._since = newest
            self._moved += 1
        new = sa.and_(event.c.project == self.project, event.c.n > self._newest)
        for row in db.execute(sa.select(event).where(new).order_by(event.c.n)).mappings():
            self._events.append(row)
            if row["stream"] is not None and row["mention"] == DOCUMENT:
                self._moved += 1
        while len(self._events) > FARTHEST:
            self._since = self._events.popleft()["n"]
        self._newest = newest


def _jobs(db: sa.Connection, project: int) -> dict[Any, Any]:
    it = tables.job
    columns = (it.c.id, *(it.c[key] for key in JOB))
    rows = db.execute(sa.select(*columns).where(it.c.project == project).order_by(it.c.id.desc()).limit(JOBS))
    return {row["id"]: {"job": row["id"], **{key: row[key] for key in JOB}} for row in rows.mappings()}


def _runs(db: sa.Connection, project: int) -> dict[Any, Any]:
    it = tables.run.c
    rows = db.execute(sa.select(it.id, it.model, it.state).where(it.project == project))
    return {row.id: {"run": row.id, "model": row.model, "state": row.state} for row in rows}
