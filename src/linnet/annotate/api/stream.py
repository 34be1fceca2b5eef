"""The stream of what happens in a project, as server-sent events: what somebody may see, as soon as it is there."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import sqlalchemy as sa
from fastapi import Header
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from linnet.annotate import tables
from linnet.annotate.api.assignments import shown_event
from linnet.annotate.api.guard import Asked, Asker, Bench, make_router
from linnet.annotate.api.watch import FARTHEST, Look
from linnet.annotate.api.workbench import Workbench
from linnet.annotate.blind import seen_streams
from linnet.annotate.marks import DOCUMENT, NOTE
from linnet.annotate.signing import by_session, by_token, has_secret
from linnet.annotate.store import Store
from linnet.annotate.tables import event
from linnet.frozen import EMPTY

__all__ = ["Feed", "router"]

router = make_router()
RETRY = "retry: 2000\n\n"  # milliseconds until a browser asks again
PING = ": ping\n\n"


class Message(NamedTuple):
    """An event for a browser; ``id`` is what it resumes from."""

    kind: str
    data: Any
    id: str | None = None

    def text(self) -> str:
        """Return it in the format of server-sent events."""
        number = "" if self.id is None else f"id: {self.id}\n"
        return f"{number}event: {self.kind}\ndata: {json.dumps(self.data)}\n\n"


@dataclass(slots=True)
class Feed:
    """What one listener was told. What they may see was asked of `linnet.annotate.blind` since it last changed.

    Who resumes names the last event and a mark of what was to be seen then, ``saw``: another mark, or none, is a reset.
    """

    project: int
    user: int
    last: int | None = None  # the number of the last event; None = begin with what comes next
    saw: str | None = None  # None = does not resume
    known: Mapping[str, Mapping[Any, Any]] = EMPTY
    streams: set[int] | None = None
    sight: tuple[Any, ...] = ()
    mark: str = ""

    def poll(self, store: Store, look: Look) -> list[Message] | None:
        """Return what is new, None for who may no longer listen."""
        if self.user not in look.roles:
            return None
        newest = look.newest
        reset = self.last is not None and not 0 <= newest - self.last <= FARTHEST  # too far, or of another database
        if reset or self.last is None:
            self.last = newest
        uncovered = self._uncovered(store, look)
        if reset:
            return [*self._watched(look), Message("reset", {}, self._id(newest))]
        return uncovered + self._events(store, look) + self._watched(look)

    def _id(self, number: int | None) -> str:
        """Return what to resume from behind the event with a number."""
        return f"{number or 0}-{self.mark}"

    def asks(self, look: Look) -> bool:
        """Return whether `poll` has to ask the database."""
        return not self._sees_as_before(look) or (self.last or 0) < look.since

    def _sight(self, look: Look) -> tuple[Any, ...]:
        return (*look.sight, look.roles.get(self.user))

    def _sees_as_before(self, look: Look) -> bool:
        return self.streams is not None and self._sight(look) == self.sight

    def _events(self, store: Store, look: Look) -> list[Message]:
        """Return the events since the last one."""
        last, seen = self.last or 0, self.streams or set()
        found = look.events if last >= look.since else self._older(store, last, look.newest)
        new = bisect_right(found, last, key=lambda row: row["n"])
        rows = [row for row in found[new:] if row["stream"] is None or row["stream"] in seen]
        made = [Message(_kind(row), shown_event(row), self._id(row["n"])) for row in rows]
        self.last = look.newest  # what is seen only later is told by `_uncovered`
        return made

    def _older(self, store: Store, last: int, newest: int) -> Sequence[sa.RowMapping]:
        """Return events that are no longer looked at for all."""
        new = sa.and_(event.c.project == self.project, event.c.n > last, event.c.n <= newest)
        with store.read() as db:
            return db.execute(sa.select(event).where(new).order_by(event.c.n)).mappings().all()

    def _uncovered(self, store: Store, look: Look) -> list[Message]:
        """Return what to do about assignments that are seen now and were not, or the other way round."""
        if self._sees_as_before(look):
            return []
        sight = self._sight(look)
        it = tables.assignment.c
        own = sa.or_(it.user == self.user, it.user.is_(None))
        with store.read() as db:
            now = seen_streams(db, self.project, self.user)
            mine = set(db.scalars(sa.select(it.id).where(it.project == self.project, own)))
        before, self.streams, self.sight, self.mark = self.streams, now, sight, _mark(now)
        if before is None:
            told = [] if self.saw in (None, self.mark) else [Message("reset", {})]
        else:
            told = [Message("assignment", {"assignment": id}) for id in sorted((now - before) & mine)]
            told += [] if now - mine == before - mine else [Message("reset", {})]
        if told:
            told[-1] = told[-1]._replace(id=self._id(self.last))
        return told

    def _watched(self, look: Look) -> list[Message]:
        """Return what has changed of what has no numbered events."""
        told: list[Message] = []
        for kind, found in look.watched.items():
            before = self.known.get(kind)
            if before is not None and before is not found:
                told += [Message(kind, value) for key, value in found.items() if before.get(key) != value]
                told += [Message(kind, {**before[key], "gone": True}) for key in before if key not in found]
        self.known = look.watched
        return told


def _mark(streams: set[int]) -> str:
    """Return a short mark of what somebody may see."""
    return hashlib.sha256(",".join(map(str, sorted(streams))).encode()).hexdigest()[:12]


def _kind(row: Any) -> str:
    if row["stream"] is None:
        return "document"
    if row["mention"] == DOCUMENT:
        return "assignment"
    return "comment" if row["mention"].startswith(NOTE) else "mention"


async def _is_signed_in(bench: Workbench, secret: str, look: Look) -> bool:
    return has_secret(look.secrets, secret) or await run_in_threadpool(_has_signed_in, bench.store, secret)


def _has_signed_in(store: Store, secret: str) -> bool:
    """Return whether a session or token that a look does not know is newer than the look."""
    with store.read() as db:
        return (by_session(db, secret) or by_token(db, secret)) is not None


async def _texts(bench: Workbench, asker: Asker, feed: Feed) -> AsyncIterator[str]:
    """Yield what is new until the listener goes, may no longer listen, or the server stops."""
    yield RETRY
    spoken = time.monotonic()
    while not bench.stopping.is_set():
        # most looks are those of another listener and need no thread, which would wait for one that is computing
        look = bench.held_look(feed.project)
        if look is None:
            look = await run_in_threadpool(bench.look, feed.project)
        if not await _is_signed_in(bench, asker.secret, look):
            return
        asks = feed.asks(look)
        messages = await run_in_threadpool(feed.poll, bench.store, look) if asks else feed.poll(bench.store, look)
        if messages is None:
            return
        for message in messages:
            yield message.text()
        if messages:
            spoken = time.monotonic()
        elif time.monotonic() - spoken >= bench.settings.ping:
            yield PING
            spoken = time.monotonic()
        await asyncio.sleep(bench.settings.poll)


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
    given, _, saw = (last_event_id or "").partition("-")
    last = int(given) if given.isascii() and given.isdecimal() and len(given) < 16 else None
    feed = Feed(project, asker.user, last, None if last is None else saw)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_texts(bench, asker, feed), media_type="text/event-stream", headers=headers)
