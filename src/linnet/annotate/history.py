"""The history of a project as JSON Lines, one document a line with all its streams, and its way into another project.

What comes out of it is the same: the same events with the same hashes, and so the same mentions. Numbers of the
database (documents, assignments, ``n``) are new ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Annotated, Any, get_type_hints

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, create_model

from linnet.annotate.assignments import Kind, assign
from linnet.annotate.documents import add_documents, document_of
from linnet.annotate.events import Event, fold, past, steps_of
from linnet.annotate.journal import append, events_of, lock
from linnet.annotate.marks import NOTE, Mark, Note, Parts, canonical, text_hash, value_of
from linnet.annotate.people import add_user, storable
from linnet.annotate.proposals import bring, written
from linnet.annotate.tables import assignment, comment, document, event, user
from linnet.codec import dumps, from_json
from linnet.errors import DataError, wrong_field
from linnet.strict_json import parse

__all__ = ["history", "import_history"]

VERSION = 1
SHOWN = 20  # names in a message
LONGEST = 300  # characters of what is wrong with a value
AT_ONCE = 500  # commands that one query asks for
Word = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]
# as `linnet.annotate.tables.now` writes it
Time = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z$")]
Number = Annotated[int, Field(ge=0, lt=1 << 53)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


class _Work(_Strict):
    """A stream of a line."""

    user: Word | None
    kind: Kind
    why: Word
    suggestions: bool
    lease: Time | None = None  # older histories do not say
    events: list[dict[str, Any]]
    comments: dict[str, str]


class _New(_Strict):
    """A concept that the project of the history had beyond its knowledge base."""

    id: Annotated[str, StringConstraints(pattern=r"^NEW:[1-9][0-9]{0,8}$")]
    now: Word
    kb: Word
    name: Word
    types: list[Word]
    parent: Word
    note: Word


class _Line(_Strict):
    """A document with its streams: what the columns of the database hold, whatever its kind."""

    document: dict[str, Any]
    format: Word
    streams: list[_Work]
    new_concepts: list[_New] = []


# what the columns of events hold, by the types of the fields
HELD: dict[Any, Any] = {str: Word, int: Number, Mapping[str, Any]: dict[str, Any]}
HELD |= {held | None: checked | None for held, checked in HELD.items()}
_TYPES = get_type_hints(Event)
_FIELDS: dict[str, Any] = {
    one.name: (HELD[_TYPES[one.name]], ... if one.default is MISSING else one.default) for one in fields(Event)
}
_Written = create_model("_Written", __config__=ConfigDict(strict=True, extra="forbid"), **_FIELDS)


def history(
    db: sa.Connection, project: int, streams: sa.Select[Any] | None = None, *, to: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield each document with its streams, as JSON; documents whose text was erased are left out.

    Args:
        db: a connection that reads.
        project: its number.
        streams: those that the asker may see (`linnet.annotate.blind`).
        to: the number of the last event that counts. Documents that came later, and streams that had no event yet, are
            left out, so that only erasing a text changes what comes out.
    """
    concepts = written(db, project, to)
    there = sa.and_(document.c.project == project, ~document.c.redacted)
    if to is not None:
        there = sa.and_(there, document.c.added <= to)
    for row in db.execute(sa.select(document).where(there).order_by(document.c.id)).mappings().all():
        works = sa.select(assignment, user.c.name).outerjoin(user).where(assignment.c.document == row["id"])
        if streams is not None:
            works = works.where(assignment.c.id.in_(streams))
        found = [_stream(db, dict(one), to) for one in db.execute(works.order_by(assignment.c.id)).mappings().all()]
        line = {
            "version": VERSION,
            "document": parse(dumps(document_of(dict(row)))),
            "format": row["format"],
            "streams": [one for one in found if to is None or one["events"]],
        }
        said = canonical(line) if concepts else ""
        # ids of new concepts are those of one project: elsewhere the same may be another concept
        named = [one for one in concepts if canonical(one["id"]) in said]
        yield line | ({"new_concepts": named} if named else {})


def _stream(db: sa.Connection, row: Mapping[str, Any], to: int | None) -> dict[str, Any]:
    events = events_of(db, row["id"], to=to)
    written = {one.mention for one in events}
    notes = sa.select(comment).where(comment.c.stream == row["id"]).order_by(comment.c.at, comment.c.id)
    return {
        "user": row["name"],
        "kind": row["kind"],
        "why": row["why"],
        "suggestions": row["suggestions"],
        "lease": row["lease"],
        "events": [one.to_json() for one in events],
        "comments": {one["id"]: one["text"] for one in db.execute(notes).mappings() if one["id"] in written},
    }


def import_history(db: sa.Connection, project: int, importer: int, lines: Iterable[Mapping[str, Any]]) -> int:
    """Add documents with their streams to a project and return how many events are new.

    Authors are users of the same name; an administrator of the workbench adds those that there are not, without a
    password. A stream that is there with the same events, or these and more, is left as it is.

    Raises:
        DataError: a line is no history, or contradicts itself or what is there, or authors are missing that this
            importer cannot add; the transaction must not go on.
    """
    lock(db)
    before = set(db.scalars(sa.select(user.c.name)))
    added = 0
    for number, line in enumerate(lines, 1):
        try:
            added += _import(db, project, importer, line)
        except KeyError as error:
            raise DataError(f"line {number} is not one of a history: it lacks the field {error}") from error
        except ValidationError as error:
            first = error.errors()[0]
            said = wrong_field(first, _Written.model_fields, ".".join(map(str, first["loc"])))
            raise DataError(f"line {number} is not one of a history: {said[:LONGEST]}") from error
        except (TypeError, AttributeError, ValueError) as error:
            raise DataError(f"line {number} is not one of a history: {error!r}") from error
        except DataError as error:
            raise DataError(f"line {number} of the history: {error}") from error
    new = sorted(set(db.scalars(sa.select(user.c.name))) - before)
    if new and not db.scalar(sa.select(user.c.admin).where(user.c.id == importer)):
        names = ", ".join(map(repr, new[:SHOWN])) + (f" and {len(new) - SHOWN} more" if len(new) > SHOWN else "")
        raise DataError(
            f"users are missing here: {names}; an administrator of the workbench adds them, or imports this"
        )
    return added


def _import(db: sa.Connection, project: int, importer: int, line: Mapping[str, Any]) -> int:
    if line["version"] != VERSION:
        raise DataError(f"version {line['version']!r} is not one that can be read ({VERSION})")
    _Line.model_validate(line)
    for concept in line.get("new_concepts", ()):
        bring(db, project, importer, concept)
    done = add_documents(db, project, importer, [from_json(line["document"])], format=line["format"])
    [id] = done.new + done.same + done.other + done.erased
    if done.erased:  # what was erased here, comments among it, does not come back
        return 0
    if done.other:
        raise DataError(f"document {line['document']['id']!r} is there with other GOLD mentions")
    added = 0
    for work in line["streams"]:
        events = [_event(one) for one in work["events"]]
        _check(events, line["document"]["text"])
        author = None if work["user"] is None else _author(db, work["user"])
        kept = {key: work[key] for key in ("kind", "why", "suggestions")}
        stream = assign(db, id, author, **kept, lease=work.get("lease"))
        there = events_of(db, stream)
        both = min(len(there), len(events))  # there may be more here: an older history contradicts nothing
        if events[:both] != there[:both]:
            raise DataError(f"{work['user']} has done other work on document {line['document']['id']!r} here")
        if new := events[both:]:
            _check_commands(db, project, new)
            _comments(db, stream, new, work["comments"])
            append(db, project, stream, new)
            added += len(new)
    return added


def _event(found: Mapping[str, Any]) -> Event:
    for item in fields(Event):
        if item.default is MISSING and item.name not in found:
            raise KeyError(item.name)
    _Written.model_validate(found)
    return Event(**found)


def _check(events: list[Event], text: str) -> None:
    """Refuse events that no commands could have made on a text."""
    for one in events:
        if isinstance(mark := value_of(one.mention, one.after), Mark) and not _lies_in(mark.parts, text):
            raise DataError(f"event {one.seq}: the parts of {one.mention!r} are outside the text, or in disorder")
    fold(events)
    steps = steps_of(events)
    for actor in {step.actor for step in steps}:
        past(steps, actor)


def _check_commands(db: sa.Connection, project: int, events: list[Event]) -> None:
    """Refuse commands that the project has in another stream: those of a document that is there by another name."""
    commands = [one.command for one in events if one.command is not None]
    found = [command for command, times in Counter(commands).items() if times > 1]
    for start in range(0, len(commands), AT_ONCE):
        some = event.c.command.in_(commands[start : start + AT_ONCE])
        found += db.scalars(sa.select(event.c.command).where(event.c.project == project, some))
    if found:
        raise DataError(f"command {found[0]!r} is there already, perhaps on the same document under another id")


def _lies_in(parts: Parts, text: str) -> bool:
    places = [0, *(place for part in parts for place in part), len(text)]
    whole = all(type(place) is int for place in places) and places == sorted(places)
    return whole and bool(parts) and all(start < end for start, end in parts)


def _author(db: sa.Connection, name: str) -> int:
    there = db.scalar(sa.select(user.c.id).where(user.c.name == name))
    return add_user(db, name, digits=True) if there is None else int(there)


def _comments(db: sa.Connection, stream: int, events: list[Event], texts: Mapping[str, str]) -> None:
    for one in events:
        if one.kind != "comment":
            continue
        note, text = value_of(one.mention, one.after), texts[one.mention]
        if not (one.mention.startswith(NOTE) and isinstance(note, Note) and note.sha256 == text_hash(text)):
            raise DataError(f"the text of comment {one.mention} is not the one that was written")
        row = {"stream": stream, "id": one.mention, "mention": note.on, "text": storable(text, "a comment")}
        db.execute(comment.insert().values(**row, sha256=note.sha256, actor=one.actor, at=one.at))
