"""What stands in other documents: the words of a mention, so that it can be spread, and the mentions of a concept."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Self

import sqlalchemy as sa

from linnet.annotate.acts import Command, changes, mark_at
from linnet.annotate.assignments import read
from linnet.annotate.blind import countable_streams, taken_streams
from linnet.annotate.marks import Mark, Parts, canonical
from linnet.annotate.tables import assignment, document, event, mention_now
from linnet.errors import DataError

__all__ = ["Place", "find_elsewhere", "find_linked"]

MOST = 200  # documents
AROUND = 40  # characters on each side


@dataclass(frozen=True, slots=True)
class Place:
    """Where words stand: the assignment and name of the document, the words, and the text around them."""

    assignment: int
    ext_id: str
    before: str
    words: str
    after: str

    @classmethod
    def of(cls, stream: int, ext_id: str, text: str, parts: Parts) -> Self:
        """Return the place of some parts of a text."""
        (start, _), (_, end) = parts[0], parts[-1]
        words = " … ".join(text[slice(*part)] for part in parts)
        return cls(stream, ext_id, text[max(0, start - AROUND) : start], words, text[end : end + AROUND])


def find_linked(
    db: sa.Connection, project: int, user: int, concepts: Collection[str], *, most: int
) -> tuple[int, list[Place]]:
    """Return how many mentions were linked to one of some ids, as far as a user may know, and the last of them first.

    The ids are those of one concept: its own, and those that lead to it.
    """
    now, it, doc = mention_now.c, assignment.c, document.c
    there = sa.and_(
        now.stream.in_(countable_streams(db, project, user)),
        now.state == "live",
        sa.or_(*(_holds(db, sa.cast(now.concepts, sa.Text), canonical(one)) for one in concepts)),
    )
    count = db.scalar(sa.select(sa.func.count()).select_from(mention_now).where(there)) or 0
    query = (
        sa.select(it.id, doc.ext_id, doc.text, now.parts)
        .select_from(mention_now)
        .join(assignment, it.id == now.stream)
        .join(document, doc.id == it.document)
        .join(event, sa.and_(event.c.stream == now.stream, event.c.seq == now.seq))
        .where(there, sa.not_(doc.redacted))
        .order_by(event.c.n.desc())
        .limit(most)
    )
    return int(count), [Place.of(*row) for row in db.execute(query)]


def _holds(db: sa.Connection, text: sa.ColumnElement[str], words: str) -> sa.ColumnElement[bool]:
    """Return whether a text has some words in it, in the same case; patterns of LIKE cannot be as long as a mention."""
    place = sa.func.instr if db.dialect.name == "sqlite" else sa.func.strpos
    return place(text, words) > 0


def find_elsewhere(db: sa.Connection, stream: int, user: int, mention: str) -> list[tuple[Place, int]]:
    """Return the other open assignments of a user, and the shared ones, that the words of a mention stand in.

    Each with its first place and the number of mentions that the command ``spread`` would make there, 200 at most: once
    it is done in these, the others are found.

    Raises:
        DataError: there is no such mention, it has several parts, it was ruled out, or it is not linked.
        NotFoundError: there is no such assignment.
    """
    here = read(db, stream, {mention}, brief=True)
    mark = mark_at(here.sheet(), here.state, mention)
    if len(mark.parts) != 1 or not mark.live or mark.concepts is None:
        raise DataError(f"mention {mention!r} needs one part and a concept (or NIL) to be looked for elsewhere")
    words = here.document["text"][slice(*mark.hull)]
    it, doc = assignment.c, document.c
    query = (
        sa.select(it.id)
        .join(document, doc.id == it.document)
        .where(it.project == here.row["project"], it.id != stream, it.document != here.row["document"])
        .where(it.state != "done", it.kind != "adjudicate", sa.or_(it.user == user, it.user.is_(None)))
        .where(it.id.not_in(taken_streams(db, here.row["project"], user)))
        .where(_holds(db, doc.text, words), sa.not_(doc.redacted))
        .order_by(it.id)
        .limit(MOST)
    )
    command = _spread_of(mark, words)
    found = (_look(db, other, command) for other in db.scalars(query).all())
    return [one for one in found if one is not None]


def _spread_of(mark: Mark, words: str) -> Command:
    """Return the command that puts what a mention of another document means wherever its words stand."""
    told: dict[str, Any] = {
        "concepts": mark.concepts,
        "types": mark.types,
        "alternatives": mark.alternatives,
        "nil": mark.nil,
    }
    # GOLD may say what no command may
    return Command.model_construct(id="spread", op="spread", surface=words, **told)


def _look(db: sa.Connection, stream: int, command: Command) -> tuple[Place, int] | None:
    """Return where a command would change an assignment first, and how much; None where it changes nothing."""
    there = read(db, stream, (), brief=True)
    made = [one.after for one in changes(command, there.sheet(), there.state) if isinstance(one.after, Mark)]
    if not made:
        return None
    return Place.of(stream, there.document["ext_id"], there.document["text"], made[0].parts), len(made)
