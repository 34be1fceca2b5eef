"""Adjudication: a curator settles what readers of a document say differently, beginning from what they all say."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace

import sqlalchemy as sa

from linnet.annotate.acts import marks, standing_mentions
from linnet.annotate.assignments import Reading, assign
from linnet.annotate.blind import awaited
from linnet.annotate.events import AGREED, Change, Event
from linnet.annotate.journal import append, standing, state_of
from linnet.annotate.marks import Live, Mark, Parts, State, answers_of, to_json
from linnet.annotate.people import name_of, role_of
from linnet.annotate.tables import assignment, guideline, now
from linnet.errors import DataError

__all__ = ["disputed_gold", "give_to_judge", "unsettled"]


def give_to_judge(db: sa.Connection, document: int, judge: int, giver: int, *, live: Live = str) -> int:
    """Give a document that was read to a curator who settles it, and return the assignment.

    It holds from its beginning what all readers who are done with it say: mentions, and what they ruled out. Whoever
    has it already keeps the one there is, as it is.

    Args:
        db: a connection that writes.
        document: its number.
        judge: a curator or admin of its project.
        giver: who gives it: the author of its first events.
        live: leads ids to those that are compared (`linnet.annotate.proposals.live_ids`).

    Raises:
        DataError: nobody is done with the document, somebody is in the middle of it or the judge has it to read, which
            would be no longer blind, or the judge is no curator.
    """
    stream = assign(db, document, judge, kind="adjudicate")
    row = db.execute(sa.select(assignment.c.project, assignment.c.seq).where(assignment.c.id == stream)).one()
    if role_of(db, row.project, judge) not in ("curator", "admin"):
        raise DataError(f"user {judge} is no curator: adjudication is a curator's")
    works = [marks(state_of(standing(db, id).items())) for id in _finished(db, document, judge)]
    agreed = _agreed(works, live)
    if agreed and not row.seq:
        rules = db.scalar(sa.select(sa.func.max(guideline.c.v)).where(guideline.c.project == row.project))
        at, actor, group = db.scalar(sa.select(now(db))) or "", name_of(db, giver), f"{AGREED}-{stream}"
        events = [
            Event(seq, at, actor, AGREED, key, None, to_json(mark), None, group, guideline=rules)
            for seq, (key, mark) in enumerate(agreed.items(), 1)
        ]
        append(db, row.project, stream, events)
    return stream


def unsettled(db: sa.Connection, reading: Reading, state: State, *, live: Live = str) -> dict[Parts, str]:
    """Return where readers who are done differ, or are unsure, and an adjudication says nothing yet, with the words.

    Whatever was decided at a place settles it, a mention or none; so does a decision on the mention itself. What all
    say alike since it began is left, too, until it is decided on.

    Args:
        db: a connection.
        reading: the adjudication.
        state: what was decided in it.
        live: leads ids to those that are compared.
    """
    states = [state_of(standing(db, id).items()) for id in _done(db, reading.row["document"])]
    said = _agreed([marks(one) for one in states], live).values()
    own = _others(marks(state), said, live)  # what readers said settles nothing
    works = [standing_mentions(reading.gold, one) for one in states]
    alike = _agreed(works, live)
    disputed = [one for work in works for one in _others(work, alike.values(), live).items()]
    late = [one for one in alike.items() if one[0] not in reading.gold]
    left = {mark.parts for key, mark in disputed if not _is_settled(key, mark, own)}
    left |= {mark.parts for key, mark in late if not _is_settled(key, mark, marks(state))}
    text = reading.document["text"]
    return {parts: " … ".join(text[part.start : part.end] for part in parts) for parts in sorted(left)}


def disputed_gold(db: sa.Connection, reading: Reading, state: State, *, live: Live = str) -> list[Change]:
    """Return what rules out the GOLD mentions that some reader has not, and an adjudication says nothing of.

    Without it they would stand in a document that is given back, as if all readers had left them as they are.
    """
    states = [state_of(standing(db, id).items()) for id in _done(db, reading.row["document"])]
    works = [{_said(mark, live) for mark in standing_mentions(reading.gold, one).values()} for one in states]
    untouched = [one for one in standing_mentions(reading.gold, state).items() if one[0] not in state]
    disputed = [(key, mark) for key, mark in untouched if any(_said(mark, live) not in work for work in works)]
    return [Change(key, None, replace(mark, state="rejected")) for key, mark in disputed]


def _others(work: Mapping[str, Mark], known: Iterable[Mark], live: Live) -> dict[str, Mark]:
    """Return the marks of a work that say something else than all the known ones."""
    said = {_said(mark, live) for mark in known}
    return {key: mark for key, mark in work.items() if _said(mark, live) not in said}


def _is_settled(key: str, mark: Mark, decided: Mapping[str, Mark]) -> bool:
    return key in decided or any(_overlap(mark.parts, one.parts) for one in decided.values())


def _overlap(parts: Parts, others: Parts) -> bool:
    return any(one.start < other.end and other.start < one.end for one in parts for other in others)


def _done(db: sa.Connection, document: int) -> list[int]:
    """Return the streams of those who are done with reading a document."""
    it = assignment.c
    theirs = sa.and_(it.document == document, it.kind != "adjudicate", it.state == "done")
    return list(db.scalars(sa.select(it.id).where(theirs).order_by(it.id)))


def _finished(db: sa.Connection, document: int, judge: int) -> list[int]:
    """Return the streams of those who are done with a document, if it can be settled."""
    it = assignment.c
    columns = (it.id, it.user, it.state, it.seq, awaited(assignment, now(db)).label("counts"))
    query = sa.select(*columns).where(it.document == document, it.kind != "adjudicate")
    rows = db.execute(query.order_by(it.id)).all()
    if any(row.state != "done" and row.counts and (row.seq or row.user == judge) for row in rows):
        raise DataError(f"document {document} is still read: it can be settled when all who have begun are done")
    done = [row.id for row in rows if row.state == "done"]
    if not done:
        raise DataError(f"nobody is done with document {document}: there is nothing to settle yet")
    return done


def _agreed(works: list[dict[str, Mark]], live: Live) -> dict[str, Mark]:
    """Return the marks of the first reader that all others have, too, at whatever address."""
    first, *others = works or [{}]
    said = [{_said(mark, live) for mark in own.values()} for own in others]
    sure = {key: mark for key, mark in first.items() if not mark.unsure}
    return {key: mark for key, mark in sure.items() if all(_said(mark, live) in own for own in said)}


def _said(mark: Mark, live: Live) -> Hashable:
    return mark.parts, frozenset(mark.types), answers_of(mark, live), mark.nil, mark.unsure, mark.live
