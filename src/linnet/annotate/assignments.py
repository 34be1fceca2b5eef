"""Assignments: one document as one person works on it, and all that is shown of it at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from linnet.annotate.acts import Sheet, shown_predictions, standing_mentions
from linnet.annotate.blind import visible_runs
from linnet.annotate.documents import gold_of, row_of
from linnet.annotate.events import Standing
from linnet.annotate.journal import lock, standing, state_of
from linnet.annotate.marks import Mark, Predicted, State, to_json
from linnet.annotate.problems import NotFoundError
from linnet.annotate.runs import predictions_of
from linnet.annotate.tables import assignment, comment, now, run
from linnet.errors import DataError

__all__ = ["Kind", "Reading", "assign", "read"]

Kind = Literal["annotate", "adjudicate", "shared"]


def assign(
    db: sa.Connection,
    document: int,
    user: int | None,
    *,
    kind: Kind = "annotate",
    round: int | None = None,
    why: str = "",
    suggestions: bool = True,
    lease: str | None = None,
) -> int:
    """Give a document to somebody and return the assignment; who has it already keeps the one there is.

    Args:
        db: a connection that writes.
        document: its number.
        user: whose work it is; None for a ``shared`` one.
        kind: what is to be done.
        round: the round of sampling that it comes from.
        why: what the strategy says of its choice.
        suggestions: False for the share of documents that is annotated without predictions.
        lease: until when the document is kept for this user.

    Raises:
        DataError: a shared assignment with a user, or another without one.
        NotFoundError: there is no such document.
    """
    lock(db)
    row = row_of(db, document)
    if (user is None) != (kind == "shared"):
        raise DataError(f"an assignment of the kind {kind!r} has {'a' if user is None else 'no'} user")
    who = assignment.c.user.is_(None) if user is None else assignment.c.user == user
    same = sa.and_(assignment.c.document == document, assignment.c.kind == kind, who)
    there = db.scalar(sa.select(assignment.c.id).where(same))
    if there is not None:
        return int(there)
    values = {"project": row["project"], "document": document, "user": user, "kind": kind, "round": round}
    values |= {"why": why, "suggestions": suggestions, "lease": lease, "made": now(db)}
    return int(db.execute(assignment.insert().values(values).returning(assignment.c.id)).scalar_one())


@dataclass(frozen=True, slots=True)
class Reading:
    """An assignment at one moment: its row, its document's, and the layers on it."""

    row: Mapping[str, Any]
    document: Mapping[str, Any]
    gold: Mapping[str, Mark]
    held: Mapping[str, Standing]
    run: str | None
    model: str | None
    predicted: Mapping[str, Predicted]
    comments: tuple[Mapping[str, Any], ...]

    @property
    def seq(self) -> int:
        """The number of its last event: what a client sends back as ``If-Match``."""
        return int(self.row["seq"])

    @property
    def state(self) -> State:
        """What was decided, by address."""
        return state_of(self.held.items())

    def sheet(self, older: Mapping[str, Predicted] | None = None) -> Sheet:
        """Return what commands are given on."""
        return Sheet(self.document["text"], self.gold, self.predicted, older or {})

    def mentions(self) -> dict[str, Mark]:
        """Return what counts as the mentions of the document, by address."""
        return standing_mentions(self.gold, self.state)

    def to_json(self) -> dict[str, Any]:
        """Return all layers as JSON: ``gold`` and ``pred`` as they came, what is ``decided``, what is still ``open``.

        Predictions and what is open stand in the order of the text. A mention of ``gold`` or ``pred`` whose id
        ``decided`` has too is to be drawn as that says. Without ``suggestions``, predictions are hidden until the
        document is done.
        """
        predicted = sorted(self.predicted.items(), key=lambda item: (item[1].mark.parts, item[0]))
        shown = shown_predictions(self.sheet(), self.state)
        return {
            "id": self.row["id"],
            "project": self.row["project"],
            "document": self.row["document"],
            "user": self.row["user"],
            "kind": self.row["kind"],
            "state": self.row["state"],
            "seq": self.seq,
            "suggestions": self.row["suggestions"],
            "run": self.run,
            "model": self.model,
            "gold": [{"id": key, **(to_json(mark) or {})} for key, mark in self.gold.items()],
            "decided": [
                {"id": key, "seq": one.seq, **(to_json(one.value) or {})}
                for key, one in sorted(self.held.items())
                if isinstance(one.value, Mark)
            ],
            "pred": [_predicted(key, one) for key, one in predicted],
            "open": [key for key, _ in predicted if key in shown],
            "comments": [{key: row[key] for key in ("id", "mention", "text", "actor", "at")} for row in self.comments],
        }


def _predicted(key: str, one: Predicted) -> dict[str, Any]:
    more = {"pred": one.id, "p": one.p, "calibration": one.calibration, "candidates": one.candidates}
    return {"id": key, **(to_json(one.mark) or {}), **more, "signals": one.signals}


def read(db: sa.Connection, stream: int, only: Collection[str] | None = None, *, brief: bool = False) -> Reading:
    """Return an assignment with all its layers; who may see it is for `linnet.annotate.blind` to say.

    `only` are the addresses of those predictions that are wanted; `brief` leaves out their candidates, and comments.

    Raises:
        NotFoundError: there is none with this number.
    """
    found = db.execute(sa.select(assignment).where(assignment.c.id == stream)).mappings().first()
    if found is None:
        raise NotFoundError(f"there is no assignment {stream}")
    row = dict(found)
    document = row_of(db, row["document"])
    used = db.scalar(visible_runs(db, row).limit(1))
    return Reading(
        row=row,
        document=document,
        gold=gold_of(document),
        held=standing(db, stream),
        run=used,
        model=None if used is None else db.scalar(sa.select(run.c.model).where(run.c.id == used)),
        predicted={} if used is None else predictions_of(db, used, row["document"], only, brief=brief),
        comments=() if brief else _comments(db, stream),
    )


def _comments(db: sa.Connection, stream: int) -> tuple[Mapping[str, Any], ...]:
    live = sa.select(comment).where(comment.c.stream == stream, comment.c.live).order_by(comment.c.at, comment.c.id)
    return tuple(dict(one) for one in db.execute(live).mappings())
