"""Documents of a project: uploaded once, never changed, and their text erased where a patient or a court wants it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from linnet.annotate.journal import append_to_project, last_number, lock
from linnet.annotate.marks import NILS, Mark, canonical, text_hash
from linnet.annotate.people import LONGEST_NAME, name_of, storable
from linnet.annotate.problems import NotFoundError
from linnet.annotate.runs import add_predictions, end_run, start_run
from linnet.annotate.tables import assignment, comment, document, idem, job, prediction, upload
from linnet.codec import dumps, from_json, to_json
from linnet.data import Document, Rows, Span
from linnet.errors import DataError

__all__ = [
    "Added",
    "add_documents",
    "check_storable",
    "document_of",
    "gold_of",
    "named_alike",
    "redact",
    "row_of",
    "unique",
]

ERASED = "erased with a text that it may have quoted"
LISTS = ("passages", "sentences", "abbreviations", "reviewed")


@dataclass(slots=True)
class Added:
    """The numbers of documents that an upload brought, that were there, are there with other annotations, or erased."""

    new: list[int] = field(default_factory=list)
    same: list[int] = field(default_factory=list)
    other: list[int] = field(default_factory=list)
    erased: list[int] = field(default_factory=list)


def add_documents(
    db: sa.Connection, project: int, user: int, docs: Iterable[Document], *, format: str = "", rows: Rows | None = None
) -> Added:
    """Add documents to a project; one with the same text and id is not added again.

    Mentions made by people become its GOLD layer, predicted ones a run of their own. `rows` turns candidates into ids.

    Raises:
        DataError: a text or id that cannot be stored, or candidates with rows and no `rows`.
    """
    lock(db)
    added = Added()
    n = last_number(db) + 1
    guessed: list[tuple[int, Document]] = []
    for doc in docs:
        values = _values(doc, rows)
        same = sa.and_(document.c.project == project, document.c.sha256 == values["sha256"])
        there = db.execute(sa.select(document).where(same, document.c.ext_id == doc.id)).mappings().first()
        if there is None:
            made = document.insert().values(project=project, format=format, added=n, **values).returning(document.c.id)
            added.new.append(db.execute(made).scalar_one())
            guessed += [(added.new[-1], doc)] if any(m.source == "pred" for m in doc.mentions or ()) else []
        elif there["redacted"]:
            added.erased.append(there["id"])
        else:
            (added.same if canonical(there["gold"]) == canonical(values["gold"]) else added.other).append(there["id"])
    if guessed:
        run = start_run(db, project)
        for id, doc in guessed:
            add_predictions(db, run, id, replace(doc, mentions=_by(doc, people=False)), rows)
        end_run(db, run)
    if added.new:
        append_to_project(db, project, name_of(db, user), "upload", {"documents": added.new})
    return added


def named_alike(db: sa.Connection, project: int, ids: Sequence[int]) -> list[int]:
    """Return which of some documents have the id of another one of the project, as corrected texts may have."""
    same = sa.and_(document.c.project == project, ~document.c.redacted)
    shared = sa.select(document.c.ext_id).where(same).group_by(document.c.ext_id).having(sa.func.count() > 1)
    wanted = set(ids)
    found = db.scalars(sa.select(document.c.id).where(same, document.c.ext_id.in_(shared)).order_by(document.c.id))
    return [id for id in found if id in wanted]


def unique(docs: Sequence[Document]) -> list[Document]:
    """Return documents with ids of their own: others of the same id are numbered.

    >>> [doc.id for doc in unique([Document("a", "Fits."), Document("a", "Fever.")])]
    ['a', 'a#2']
    """
    taken = {doc.id for doc in docs}
    seen: set[str] = set()
    made = []
    for doc in docs:
        id, number = doc.id, 2
        while id in seen or (id != doc.id and id in taken):
            id, number = f"{doc.id}#{number}", number + 1
        seen.add(id)
        made.append(doc if id == doc.id else replace(doc, id=id))
    return made


def _by(doc: Document, *, people: bool) -> tuple[Any, ...]:
    return tuple(mention for mention in doc.mentions or () if (mention.source != "pred") == people)


def check_storable(doc: Document, rows: Rows | None = None) -> None:
    """Refuse a document that could be stored, and not be read again.

    Raises:
        DataError: its id or text has NUL characters, or any of it halves of surrogate pairs.
    """
    storable(doc.id, f"the id of document {doc.id!r}")
    storable(doc.text, f"document {doc.id!r}")
    try:
        dumps(doc, rows).encode()
    except UnicodeEncodeError as error:
        place = error.object[max(0, error.start - 20) : error.end]
        raise DataError(
            f"document {doc.id!r} has half a surrogate pair in its annotations or meta, behind {place!r}"
        ) from error


def _values(doc: Document, rows: Rows | None) -> dict[str, Any]:
    if not 0 < len(doc.id) <= LONGEST_NAME:
        raise DataError(f"document {doc.id[:60]!r}: an id has 1 to {LONGEST_NAME} characters, this has {len(doc.id)}")
    check_storable(doc, rows)
    people = _by(doc, people=True)
    judged = people or (doc.mentions is not None and not _by(doc, people=False))
    found = to_json(replace(doc, mentions=people if judged else None), rows)
    gold = found.get("mentions")
    if gold is not None:  # the text of a mention is that of the document, and goes when it goes
        gold = [{key: value for key, value in mention.items() if key != "text"} for mention in gold]
    kept = {"passages": found.get("passages", []), "meta": found.get("meta", {})}
    kept |= {key: found.get(key) for key in ("sentences", "abbreviations", "reviewed")}
    size = {"text": doc.text, "length": len(doc.text), "sha256": text_hash(doc.text)}
    return {"ext_id": doc.id, "gold": gold, **kept, **size}


def row_of(db: sa.Connection, id: int) -> dict[str, Any]:
    """Return the row of a document.

    Raises:
        NotFoundError: there is none with this number.
    """
    row = db.execute(sa.select(document).where(document.c.id == id)).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no document {id}")
    return dict(row)


def document_of(row: Mapping[str, Any]) -> Document:
    """Return a document as it was uploaded, with its GOLD mentions.

    Raises:
        DataError: its text was erased.
    """
    if row["redacted"]:
        raise DataError(f"the text of document {row['ext_id']!r} was erased")
    found = {"id": row["ext_id"], "text": row["text"], "meta": row["meta"]}
    found |= {key: row[key] for key in LISTS if row[key] is not None}
    return from_json(found if row["gold"] is None else {**found, "mentions": row["gold"]})


def gold_of(row: Mapping[str, Any]) -> dict[str, Mark]:
    """Return the GOLD layer of a document by address: ``g1`` is its first mention. It outlives the text."""
    return {f"g{number}": _gold(found, f"g{number}") for number, found in enumerate(row["gold"] or (), 1)}


def _gold(found: Mapping[str, Any], key: str) -> Mark:
    # from what `_values` has stored: to make mentions of them first takes longer than all else that a command does
    concepts, meta = found.get("concepts"), found.get("meta", {})
    nil = str(meta.get("nil", ""))
    return Mark(
        parts=tuple(Span(*part) for part in found.get("parts", [(found["start"], found["end"])])),
        types=tuple(found.get("types", ())),
        concepts=None if concepts is None else tuple(concepts),
        alternatives=tuple(tuple(one) for one in found.get("alternatives", ())),
        nil=nil if nil in NILS else "other",
        unsure=meta.get("unsure") is True,
        source="gold",
        origin=key,
    )


def redact(db: sa.Connection, id: int, user: int) -> None:
    """Erase the text of a document, what formats and models noted beside it, and the comments on it.

    What uploads and jobs of the project have said may quote it, and goes too. Events stay as they are, and so does
    their chain: they hold spans and concepts, no text. The document's id and the hash of its text stay as well. Files
    of exports are for `linnet.annotate.exporting.erase`, the database's log for `linnet.annotate.store.Store.forget`.
    """
    lock(db)
    row = row_of(db, id)
    if row["redacted"]:
        return
    kept = [{key: value for key, value in one.items() if key != "meta"} for one in row["passages"]]
    gold = row["gold"] and [
        {key: value for key, value in one.items() if key not in ("meta", "group", "candidates")} for one in row["gold"]
    ]
    erased: dict[str, Any] = {"text": "", "passages": kept, "gold": gold, "meta": {}, "redacted": True}
    db.execute(document.update().where(document.c.id == id).values(erased))
    streams = sa.select(assignment.c.id).where(assignment.c.document == id)
    db.execute(comment.update().where(comment.c.stream.in_(streams)).values(text=""))
    # the names of candidates may be aliases that were learned from the text
    db.execute(prediction.update().where(prediction.c.document == id).values(candidates=None))
    db.execute(job.update().where(job.c.project == row["project"]).values(log_tail=""))
    _forget_errors(db, row["project"])
    append_to_project(db, row["project"], name_of(db, user), "redact", {"document": id})


def _forget_errors(db: sa.Connection, project: int) -> None:
    """Leave of what was wrong with uploads only where it was, also in answers that are kept for whoever asks again."""
    for id, errors in db.execute(sa.select(upload.c.id, upload.c.errors).where(upload.c.project == project)).all():
        if errors:
            db.execute(upload.update().where(upload.c.id == id).values(errors=_without_words(errors)))
    for row in db.execute(sa.select(idem).where(idem.c.key.startswith("post:"))).mappings().all():
        body = json.loads(row["answer"].get("body") or "{}")
        if isinstance(body, dict) and body.get("errors"):
            answer = {**row["answer"], "body": json.dumps({**body, "errors": _without_words(body["errors"])})}
            ours = sa.and_(idem.c.key == row["key"], idem.c.user == row["user"])
            db.execute(idem.update().where(ours).values(answer=answer))


def _without_words(errors: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**one, "message": ERASED} for one in errors]
