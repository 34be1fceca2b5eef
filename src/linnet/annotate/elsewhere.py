"""What stands in other documents: the words of a mention, so that it can be spread, and the mentions of a concept."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from linnet.annotate.acts import Command, changes, mark_at
from linnet.annotate.assignments import read
from linnet.annotate.blind import countable_streams
from linnet.annotate.marks import Mark, canonical
from linnet.annotate.tables import assignment, document, event, mention_now
from linnet.errors import DataError

__all__ = ["Elsewhere", "Linked", "find_elsewhere", "find_linked"]

MOST = 200  # documents
AROUND = 40  # characters on each side


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A document that holds the words of a mention too: how many mentions it would get, and where the first stands."""

    assignment: int
    ext_id: str
    changes: int
    before: str
    words: str
    after: str

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Linked:
    """A mention of a concept, with the text around it."""

    assignment: int
    ext_id: str
    before: str
    words: str
    after: str

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


def find_linked(db: sa.Connection, project: int, user: int, concept: str, *, most: int) -> tuple[int, list[Linked]]:
    """Return how many mentions were linked to a concept, as far as a user may know, and the last of them first."""
    now, it, doc = mention_now.c, assignment.c, document.c
    there = sa.and_(
        now.stream.in_(countable_streams(db, project, user)),
        now.state == "live",
        sa.cast(now.concepts, sa.Text).contains(canonical(concept), autoescape=True),
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
    return int(count), [_linked(*row) for row in db.execute(query)]


def _linked(stream: int, ext_id: str, text: str, parts: list[list[int]]) -> Linked:
    start, end = parts[0][0], parts[-1][1]
    words = " … ".join(text[slice(*part)] for part in parts)
    return Linked(stream, ext_id, text[max(0, start - AROUND) : start], words, text[end : end + AROUND])


def find_elsewhere(db: sa.Connection, stream: int, user: int, mention: str) -> list[Elsewhere]:
    """Return the other open assignments of a user, and the shared ones, that the words of a mention stand in.

    What is done in them by the command ``spread`` with ``surface``, ``concepts`` and ``types`` is counted, as its
    own preview would.

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
        .where(doc.text.contains(words, autoescape=True), sa.not_(doc.redacted))
        .order_by(it.id)
        .limit(MOST)
    )
    found = (_look(db, other, words, mark) for other in db.scalars(query).all())
    return [one for one in found if one is not None]


def _look(db: sa.Connection, stream: int, words: str, mark: Mark) -> Elsewhere | None:
    """Return what the words of a mention would change in an assignment; None where that is nothing."""
    there = read(db, stream, (), brief=True)
    command = Command(id="look", op="spread", surface=words, concepts=mark.concepts, types=mark.types)
    made = [one.after for one in changes(command, there.sheet(), there.state) if isinstance(one.after, Mark)]
    if not made:
        return None
    text, (start, end) = there.document["text"], made[0].hull
    around = text[max(0, start - AROUND) : start], text[start:end], text[end : end + AROUND]
    return Elsewhere(stream, there.document["ext_id"], len(made), *around)
