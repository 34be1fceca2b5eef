"""The journal: events are appended here and nowhere else, together with the state that follows from them.

The number of an event (``n``) grows with each commit and leaves no gaps, in both databases: writers of events take one
lock. So "up to event n" is the same set whenever it is asked for. Each stream has its own chain of hashes, which does
not depend on numbers of this database: exported and imported elsewhere, it is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from linnet.annotate.events import Change, Event, Standing, chain, fold, genesis
from linnet.annotate.marks import DOCUMENT, NOTE, Mark, Note, Progress, State, to_json, value_of
from linnet.annotate.tables import assignment, comment, document, event, mention_now, now
from linnet.errors import DataError

__all__ = [
    "append",
    "append_to_project",
    "check",
    "events_of",
    "identity",
    "last_number",
    "lock",
    "standing",
    "state_of",
]

EVENT_LOCK = 0x4C4E4556
MARK = ("parts", "types", "concepts", "alternatives", "nil", "unsure", "source", "origin", "state")
FIELDS = tuple(name for name in Event.__slots__ if name != "group")  # the column is `grp`: GROUP is a word of SQL


def lock(db: sa.Connection) -> None:
    """Wait until nobody else is in a block that took this lock, and keep others out until the transaction ends.

    Whoever appends events takes it, and whoever looks whether something is there before adding it.
    """
    if db.dialect.name == "postgresql":  # SQLite has one writer anyway
        db.execute(sa.select(sa.func.pg_advisory_xact_lock(EVENT_LOCK)))


def last_number(db: sa.Connection) -> int:
    """Return the number of the last event, 0 before the first."""
    return int(db.scalar(sa.select(sa.func.coalesce(sa.func.max(event.c.n), 0))) or 0)


def identity(db: sa.Connection, stream: int) -> tuple[str, ...]:
    """Return what a stream is about in every database: the hash of its text and the kind of work."""
    of_document = document.c.id == assignment.c.document
    query = sa.select(document.c.sha256, assignment.c.kind).join(document, of_document).where(assignment.c.id == stream)
    return tuple(db.execute(query).one())


def append(db: sa.Connection, project: int, stream: int, events: Sequence[Event]) -> None:
    """Append events to a stream and bring its state up to date; the caller holds the `lock`."""
    _insert(db, project, stream, events, genesis(*identity(db, stream)))
    _keep(db, stream, [one.change for one in events], events)


def append_to_project(db: sa.Connection, project: int, actor: str, kind: str, after: Any) -> None:
    """Append what was done to the project itself (an upload, a redaction); the caller holds the `lock`."""
    query = sa.select(sa.func.max(event.c.seq)).where(event.c.project == project, event.c.stream.is_(None))
    seq = (db.scalar(query) or 0) + 1
    at = db.scalar(sa.select(now(db))) or ""
    made = Event(seq, at, actor, kind, DOCUMENT, None, after, None, f"{kind}-{seq}")
    _insert(db, project, None, [made], genesis("project"))


def _insert(db: sa.Connection, project: int, stream: int | None, events: Sequence[Event], first: str) -> None:
    ours = sa.and_(event.c.project == project, event.c.stream.is_(None) if stream is None else event.c.stream == stream)
    before = db.scalar(sa.select(event.c.hash).where(ours).order_by(event.c.seq.desc()).limit(1)) or first
    rows = []
    for n, one in enumerate(events, last_number(db) + 1):
        values = {name: getattr(one, name) for name in FIELDS}
        after = chain(before, one)
        rows.append(
            {"n": n, "project": project, "stream": stream, **values, "grp": one.group, "prev": before, "hash": after}
        )
        before = after
    db.execute(event.insert(), rows)


def _keep(db: sa.Connection, stream: int, changes: Sequence[Change], events: Sequence[Event]) -> None:
    """Store what stands after the events; the last one of each address counts."""
    last = {change.mention: (change.after, one.seq) for change, one in zip(changes, events, strict=True)}
    values: dict[str, Any] = {"seq": events[-1].seq}
    gone, rows = [], []
    for key, (after, seq) in last.items():
        if key == DOCUMENT:
            progress = after if isinstance(after, Progress) else Progress()
            values |= {"state": progress.state, "progress": to_json(after)}
        elif key.startswith(NOTE):
            it = sa.and_(comment.c.stream == stream, comment.c.id == key)
            db.execute(comment.update().where(it).values(live=after is not None))
        else:
            gone.append({"key": key})
            rows += [{"stream": stream, "mention": key, "seq": seq, **(to_json(after) or {})}] if after else []
    db.execute(assignment.update().where(assignment.c.id == stream).values(values))
    if gone:
        held = sa.and_(mention_now.c.stream == stream, mention_now.c.mention == sa.bindparam("key"))
        db.execute(mention_now.delete().where(held), gone)
    if rows:
        db.execute(mention_now.insert(), rows)


def events_of(db: sa.Connection, stream: int, after: int = 0, *, to: int | None = None) -> list[Event]:
    """Return the events of a stream behind its event `after`, up to the event with the number `to` of the database."""
    query = sa.select(event).where(event.c.stream == stream, event.c.seq > after).order_by(event.c.seq)
    return [_event(row) for row in db.execute(query if to is None else query.where(event.c.n <= to)).mappings()]


def _event(row: sa.RowMapping) -> Event:
    return Event(**{name: row[name] for name in FIELDS}, group=row["grp"])


def standing(db: sa.Connection, stream: int) -> dict[str, Standing]:
    """Return the state of a stream, as it is kept; comments and progress come without the number of their event."""
    rows = db.execute(sa.select(mention_now).where(mention_now.c.stream == stream)).mappings()
    held = {row["mention"]: Standing(_mark(row), row["seq"]) for row in rows}
    notes = sa.select(comment).where(comment.c.stream == stream, comment.c.live)
    held |= {row["id"]: Standing(Note(row["mention"], row["sha256"]), 0) for row in db.execute(notes).mappings()}
    progress = value_of(DOCUMENT, db.scalar(sa.select(assignment.c.progress).where(assignment.c.id == stream)))
    return held if progress is None else held | {DOCUMENT: Standing(progress, 0)}


def _mark(row: sa.RowMapping) -> Mark:
    mark = value_of(row["mention"], {name: row[name] for name in MARK})
    if not isinstance(mark, Mark):
        raise DataError(f"{row['mention']!r} is not the address of a mention")
    return mark


def state_of(held: Iterable[tuple[str, Standing]]) -> State:
    """Return the values alone."""
    return {key: one.value for key, one in held}


def check(db: sa.Connection, project: int) -> list[str]:
    """Return what is wrong with the journal of a project, in sentences: nothing, unless somebody tampered with it."""
    query = sa.select(assignment.c.id).where(assignment.c.project == project).order_by(assignment.c.id)
    problems = [f"assignment {stream}: {said}" for stream in db.scalars(query) for said in _wrong(db, stream)]
    if db.scalar(sa.select(sa.func.count()).select_from(event)) != last_number(db):
        problems.append("events are missing: their numbers have gaps")
    own = sa.select(event).where(event.c.project == project, event.c.stream.is_(None)).order_by(event.c.seq)
    return problems + _broken(db, own, genesis("project"))


def _wrong(db: sa.Connection, stream: int) -> list[str]:
    query = sa.select(event).where(event.c.stream == stream).order_by(event.c.seq)
    problems = _broken(db, query, genesis(*identity(db, stream)))
    try:
        folded = fold(events_of(db, stream))
    except DataError as error:
        return [*problems, str(error)]
    held = standing(db, stream)
    if state_of(folded.items()) != state_of(held.items()):
        problems.append("its mentions are not what its events say")
    if any(held[key].seq not in (0, one.seq) for key, one in folded.items() if key in held):
        problems.append("a mention names another event than the one that made it")
    if db.scalar(sa.select(assignment.c.seq).where(assignment.c.id == stream)) != len(events_of(db, stream)):
        problems.append("it does not know the number of its events")
    return problems


def _broken(db: sa.Connection, query: sa.Select[Any], first: str) -> list[str]:
    """Return where the chain of hashes is broken."""
    before = first
    for seq, row in enumerate(db.execute(query).mappings(), 1):
        if row["prev"] != before or row["hash"] != chain(before, _event(row)) or row["seq"] != seq:
            return [f"event {row['n']} is not the one that was appended"]
        before = row["hash"]
    return []
