"""Where the words of a mention stand in the other open documents of somebody, so that it can be spread over a queue."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from linnet.annotate.acts import Command, changes, mark_at
from linnet.annotate.assignments import read
from linnet.annotate.marks import Mark
from linnet.annotate.tables import assignment, document
from linnet.errors import DataError

__all__ = ["Elsewhere", "find_elsewhere"]

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
