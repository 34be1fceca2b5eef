"""Concepts that somebody misses in the knowledge base: proposed by who annotates, accepted or not by a curator.

The knowledge base itself is not changed. An accepted proposal has an id of its own, ``NEW:1``, by which mentions are
linked to it, until a curator says which concept of a later knowledge base it has become. Proposals tell what somebody
has read: in a blind project annotators see their own and the accepted ones, of which they do not learn whose they were.
Ids are given in the order of acceptance, so that they do not tell how much others have proposed; those that uploaded
mentions name are passed over.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa

from linnet.annotate.journal import append_to_project, lock
from linnet.annotate.people import name_of, role_of, storable
from linnet.annotate.problems import NotFoundError
from linnet.annotate.runs import new_id
from linnet.annotate.tables import document, event, now, project, proposal, user
from linnet.data import Concept, Name
from linnet.errors import DataError
from linnet.kb import KnowledgeBase
from linnet.kb.successors import successor
from linnet.text.normalise import basic

__all__ = [
    "Decision",
    "bring",
    "concept_of",
    "decide",
    "id_of",
    "live_ids",
    "new_concepts",
    "proposals_seen",
    "propose",
    "written",
]

Decision: TypeAlias = Literal["accepted", "declined", "mapped"]

PREFIX = "NEW:"
WRITTEN_ID = re.compile(rf'"{PREFIX}([0-9]+)"')  # in JSON
EVENT = "concept"  # the kind of event that a new concept, or what it has become, is
OPEN_TO_ALL = ("id", "kb", "name", "types", "parent", "note", "state", "concept")
WRITTEN = ("kb", "name", "types", "parent", "note")  # in a history
EARLIER = {"accepted": ("open",), "declined": ("open",), "mapped": ("open", "accepted")}  # what it may have been


def id_of(row: Mapping[str, Any]) -> str:
    """Return the id of the concept that a proposal has become, "" if it has become none."""
    return "" if row["number"] is None else f"{PREFIX}{row['number']}"


def concept_of(row: Mapping[str, Any]) -> Concept:
    """Return a proposal as a concept; one that is now a concept of the knowledge base is retired in its favour."""
    parents = (row["parent"],) if row["parent"] else ()
    successor = row["concept"] or None
    return Concept(
        id_of(row), (Name(row["name"]),), tuple(row["types"]), row["note"], parents=parents, replaced_by=successor
    )


def propose(
    db: sa.Connection,
    project_id: int,
    user_id: int,
    name: str,
    *,
    kb: str,
    types: Sequence[str] = (),
    parent: str = "",
    note: str = "",
) -> dict[str, Any]:
    """Propose a concept and return the row; who has proposed the same and waits gets that one.

    Args:
        db: a connection that writes.
        project_id: the project that misses it.
        user_id: who proposes it.
        name: what it is called.
        kb: the version of the knowledge base that it was looked for in.
        types: its semantic types.
        parent: the id of the concept that it would be below.
        note: why it is needed, or what it means.

    Raises:
        DataError: the name has no letter and no digit, or a text cannot be stored.
    """
    lock(db)
    if not basic(name):
        raise DataError("a concept has a name with letters or digits")
    mine = sa.and_(proposal.c.project == project_id, proposal.c.user == user_id, proposal.c.state == "open")
    for row in db.execute(sa.select(proposal).where(mine)).mappings():
        if basic(row["name"]) == basic(name):
            return dict(row)
    values = {"id": new_id("c"), "project": project_id, "user": user_id, "kb": kb, "types": list(types)}
    values |= {"name": storable(name.strip(), "the name"), "note": storable(note, "the note"), "parent": parent}
    db.execute(proposal.insert().values(**values, made=now(db)))
    return _row(db, project_id, str(values["id"]))


def _row(db: sa.Connection, project_id: int, id: str) -> dict[str, Any]:
    it = sa.and_(proposal.c.project == project_id, proposal.c.id == id)
    row = db.execute(sa.select(proposal).where(it)).mappings().first()
    if row is None:
        raise NotFoundError("there is no such proposal")
    return dict(row)


def decide(
    db: sa.Connection, project_id: int, id: str, user_id: int, state: Decision, *, concept: str = "", why: str = ""
) -> dict[str, Any]:
    """Accept a proposal, decline it, or say which `concept` of the knowledge base it is; return its row.

    Only what is open is accepted or declined; what was accepted can still be said to be a concept that there is now.

    Raises:
        DataError: it has been decided already, or `mapped` names no concept.
        NotFoundError: the project has no such proposal.
    """
    lock(db)
    row = _row(db, project_id, id)
    if row["state"] not in EARLIER[state]:
        raise DataError(f"the proposal is {row['state']} already")
    if bool(concept) != (state == "mapped"):
        raise DataError("name the concept of the knowledge base that it is, and for nothing but that")
    values: dict[str, Any] = {"state": state, "concept": concept, "why": storable(why, "the reason")}
    values |= {"curator": user_id, "decided": now(db)}
    if state == "accepted":
        values["number"] = _free_number(db, project_id)
    db.execute(proposal.update().where(proposal.c.id == id).values(values))
    row = _row(db, project_id, id)
    if known := id_of(row):  # what nobody can link to is nobody's business
        append_to_project(db, project_id, name_of(db, user_id), EVENT, {"concept": known, "now": concept})
    return row


def _free_number(db: sa.Connection, project_id: int) -> int:
    """Return the next number that no GOLD mention names: those came with files, and mean concepts of other projects."""
    last = sa.select(sa.func.coalesce(sa.func.max(proposal.c.number), 0)).where(proposal.c.project == project_id)
    gold = sa.cast(document.c.gold, sa.Text)
    named = sa.select(gold).where(document.c.project == project_id, gold.contains(f'"{PREFIX}', autoescape=True))
    taken = {found[1] for text in db.scalars(named) for found in WRITTEN_ID.finditer(text)}
    return next(n for n in itertools.count(int(db.scalar(last) or 0) + 1) if str(n) not in taken)


def proposals_seen(db: sa.Connection, project_id: int, user_id: int) -> list[dict[str, Any]]:
    """Return the proposals of a project that a user may see, as JSON, the newest first."""
    named = sa.select(proposal, user.c.name.label("by")).join(user, user.c.id == proposal.c.user)
    rows = db.execute(named.where(proposal.c.project == project_id).order_by(proposal.c.made.desc(), proposal.c.id))
    blind = db.scalar(sa.select(project.c.blind).where(project.c.id == project_id))
    all_seen = not blind or role_of(db, project_id, user_id) in ("admin", "curator")
    shown = []
    for row in map(dict, rows.mappings()):
        entry = {key: row[key] for key in OPEN_TO_ALL} | {"new": id_of(row)}
        if all_seen or row["user"] == user_id:
            shown.append(entry | {key: row[key] for key in ("by", "made", "why", "decided")})
        elif row["number"] is not None:
            shown.append(entry)
    return shown


def new_concepts(db: sa.Connection, project_id: int) -> list[Concept]:
    """Return the concepts that a project has beyond its knowledge base, those retired in favour of one among them."""
    there = sa.and_(proposal.c.project == project_id, proposal.c.number.is_not(None))
    rows = db.execute(sa.select(proposal).where(there).order_by(proposal.c.number)).mappings()
    return [concept_of(dict(row)) for row in rows]


def written(db: sa.Connection, project_id: int, to: int | None) -> list[dict[str, Any]]:
    """Return the new concepts that a project had after event number `to`, as a history holds them.

    ``now`` is the concept of the knowledge base that one had become.
    """
    told = sa.select(event.c.after).where(event.c.project == project_id, event.c.kind == EVENT).order_by(event.c.n)
    became = {one["concept"]: one["now"] for one in db.scalars(told if to is None else told.where(event.c.n <= to))}
    there = sa.and_(proposal.c.project == project_id, proposal.c.number.is_not(None))
    rows = db.execute(sa.select(proposal).where(there).order_by(proposal.c.number)).mappings()
    numbered = ((id_of(row), row) for row in map(dict, rows))
    return [{"id": id, "now": became[id], **{key: row[key] for key in WRITTEN}} for id, row in numbered if id in became]


def bring(db: sa.Connection, project_id: int, user_id: int, found: Mapping[str, Any]) -> None:
    """Add a concept that a history of another project names (`written`), unless it is there; the caller holds the lock.

    Raises:
        DataError: its id is that of another concept here.
    """
    number = int(found["id"].removeprefix(PREFIX))
    same = sa.and_(proposal.c.project == project_id, proposal.c.number == number)
    name = db.scalar(sa.select(proposal.c.name).where(same))
    if name is not None and basic(name) != basic(found["name"]):
        way = "bring the history into a project that has accepted no proposals of its own"
        raise DataError(f"{found['id']} is {found['name']!r} in the history, and {name!r} here: {way}")
    if name is not None:
        return
    values = {key: found[key] for key in WRITTEN} | {"id": new_id("c"), "project": project_id, "number": number}
    values |= {"user": user_id, "curator": user_id, "made": now(db), "decided": now(db)}
    values |= {"concept": found["now"], "state": "mapped" if found["now"] else "accepted"}
    db.execute(proposal.insert().values(values))
    append_to_project(db, project_id, name_of(db, user_id), EVENT, {"concept": found["id"], "now": found["now"]})


def live_ids(db: sa.Connection, project_id: int, kb: KnowledgeBase | None) -> Callable[[str], str]:
    """Return what maps an id to the one to compare: itself, or what it has become.

    Retired ids lead to their successors, those of proposals to the concepts that curators say they are. While a
    knowledge base cannot be opened (None), retired ids stay.
    """
    mapped = {one.id: one.replaced_by for one in new_concepts(db, project_id) if one.replaced_by is not None}
    live = successor(kb)
    return lambda asked: live(mapped.get(asked, asked))
