"""Adjudication: a curator settles what readers of a document say differently, beginning from what they all say."""

from __future__ import annotations

from collections.abc import Hashable

import sqlalchemy as sa

from linnet.annotate.acts import marks
from linnet.annotate.assignments import assign
from linnet.annotate.events import AGREED, Event
from linnet.annotate.journal import append, standing, state_of
from linnet.annotate.marks import Mark, answers_of, to_json
from linnet.annotate.people import name_of, role_of
from linnet.annotate.tables import assignment, guideline, now
from linnet.errors import DataError

__all__ = ["give_to_judge"]


def give_to_judge(db: sa.Connection, document: int, judge: int, giver: int) -> int:
    """Give a document that was read to a curator who settles it, and return the assignment.

    It holds from its beginning what all readers who are done with it say: mentions, and what they ruled out. Whoever
    has it already keeps the one there is, as it is.

    Args:
        db: a connection that writes.
        document: its number.
        judge: a curator or admin of its project.
        giver: who gives it: the author of its first events.

    Raises:
        DataError: nobody is done with the document, somebody is in the middle of it or the judge has it to read, which
            would be no longer blind, or the judge is no curator.
    """
    stream = assign(db, document, judge, kind="adjudicate")
    row = db.execute(sa.select(assignment.c.project, assignment.c.seq).where(assignment.c.id == stream)).one()
    if role_of(db, row.project, judge) not in ("curator", "admin"):
        raise DataError(f"user {judge} is no curator: adjudication is a curator's")
    works = [marks(state_of(standing(db, id).items())) for id in _finished(db, document, judge)]
    agreed = _agreed(works)
    if agreed and not row.seq:
        rules = db.scalar(sa.select(sa.func.max(guideline.c.v)).where(guideline.c.project == row.project))
        at, actor, group = db.scalar(sa.select(now(db))) or "", name_of(db, giver), f"{AGREED}-{stream}"
        events = [
            Event(seq, at, actor, AGREED, key, None, to_json(mark), None, group, guideline=rules)
            for seq, (key, mark) in enumerate(agreed.items(), 1)
        ]
        append(db, row.project, stream, events)
    return stream


def _finished(db: sa.Connection, document: int, judge: int) -> list[int]:
    """Return the streams of those who are done with a document, if it can be settled."""
    it = assignment.c
    query = sa.select(it.id, it.user, it.state, it.seq).where(it.document == document, it.kind != "adjudicate")
    rows = db.execute(query.order_by(it.id)).all()
    if any(row.state != "done" and (row.seq or row.user == judge) for row in rows):
        raise DataError(f"document {document} is still read: it can be settled when all who have begun are done")
    done = [row.id for row in rows if row.state == "done"]
    if not done:
        raise DataError(f"nobody is done with document {document}: there is nothing to settle yet")
    return done


def _agreed(works: list[dict[str, Mark]]) -> dict[str, Mark]:
    """Return the marks of the first reader that all others have, too, at whatever address."""
    first, *others = works
    said = [{_said(mark) for mark in own.values()} for own in others]
    return {key: mark for key, mark in first.items() if not mark.unsure and all(_said(mark) in own for own in said)}


def _said(mark: Mark) -> Hashable:
    return mark.parts, frozenset(mark.types), answers_of(mark), mark.nil, mark.unsure, mark.live
