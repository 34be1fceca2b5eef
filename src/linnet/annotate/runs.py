"""Runs of a pipeline over documents, and what they predict. Nobody's decision is ever changed by one."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable
from typing import Any

import sqlalchemy as sa

from linnet.annotate.journal import lock
from linnet.annotate.marks import Mark, Predicted, address
from linnet.annotate.problems import NotFoundError
from linnet.annotate.tables import document, model, model_source, now, predicted, prediction, run
from linnet.codec import to_json
from linnet.corpora.names import namer
from linnet.data import Document, Mention, Rows, Span, mention_id
from linnet.errors import DataError

__all__ = [
    "add_model",
    "add_predictions",
    "assertions_of",
    "end_run",
    "learned_from",
    "new_id",
    "predictions_of",
    "start_run",
    "uploaded",
]


def new_id(letter: str) -> str:
    """Return an id that nothing else has: events name it, also in databases that they are imported into."""
    return letter + secrets.token_hex(6)


def add_model(  # noqa: PLR0913 - each is a column of its row
    db: sa.Connection,
    project: int,
    path: str,
    data_to_event: int,
    sources: set[tuple[int, int]],
    *,
    parent: str | None = None,
    card: Any = None,
    metrics: Any = None,
    id: str | None = None,
) -> str:
    """Add a trained model and return its id.

    Args:
        db: a connection that writes.
        project: its project.
        path: where it is saved.
        data_to_event: the number of the last event that it has learned from.
        sources: (document, user) for each stream that it has learned from (`linnet.annotate.exports.sources`).
        parent: the model it began from; what that one has seen, this one has seen too.
        card: what there is to know of it, as JSON.
        metrics: its scores, as JSON.
        id: one that `new_id` has made, where the model had to have a name before it was trained.
    """
    id = id or new_id("m")
    values = {
        "id": id,
        "project": project,
        "parent": parent,
        "card": card or {},
        "metrics": metrics or {},
        "path": path,
    }
    db.execute(model.insert().values(**values, data_to_event=data_to_event, made=now(db)))
    if parent is not None:
        seen = sa.select(model_source.c.document, model_source.c.user).where(model_source.c.model == parent)
        sources = sources | {(row.document, row.user) for row in db.execute(seen)}
    if sources:
        db.execute(model_source.insert(), [{"model": id, "document": d, "user": u} for d, u in sorted(sources)])
    return id


def learned_from(id: sa.ColumnElement[str], document_id: sa.ColumnElement[int] | int) -> sa.ColumnElement[bool]:
    """Return whether a model may have learned from a document: somebody had begun it, or it came with GOLD mentions.

    `linnet.annotate.exports.training_set` takes both; those kept apart in training are among them.
    """
    source, made, doc = model_source.alias(), model.alias(), document.alias()
    named = sa.exists().where(source.c.model == id, source.c.document == document_id)
    there = sa.and_(made.c.id == id, doc.c.id == document_id, doc.c.project == made.c.project)
    return sa.or_(named, sa.exists().where(there, doc.c.gold.is_not(None), doc.c.added <= made.c.data_to_event))


def start_run(db: sa.Connection, project: int, *, model: str | None = None, kb: str = "") -> str:
    """Add a run and return its id; `model` is None for a pipeline that has learned from nobody here."""
    lock(db)
    number = (db.scalar(sa.select(sa.func.max(run.c.number)).where(run.c.project == project)) or 0) + 1
    id = new_id("r")
    db.execute(run.insert().values(id=id, project=project, number=number, model=model, kb=kb, made=now(db)))
    return id


def uploaded() -> sa.ColumnElement[bool]:
    """Return whether a run came with an upload, or is of a pipeline without a model and a knowledge base."""
    return sa.and_(run.c.model.is_(None), run.c.kb == "")


def end_run(db: sa.Connection, id: str, state: str = "done") -> None:
    """Say that a run is over, and how."""
    db.execute(run.update().where(run.c.id == id).values(state=state))


def add_predictions(db: sa.Connection, run: str, document_id: int, doc: Document, rows: Rows | None = None) -> bool:
    """Store what a run predicts for one document; return False, and store nothing, if it has done so before.

    `doc` holds the mentions, `rows` turns their candidates into ids. A document without mentions counts as predicted.
    Candidates that were found by a name that the knowledge base lacks, such as a learned one, have the preferred name.

    Raises:
        DataError: the text is not that of the document, or candidates with rows and no `rows`.
        NotFoundError: there is no such document.
    """
    lock(db)
    through = sa.select(predicted.c.run).where(predicted.c.run == run, predicted.c.document == document_id)
    if db.execute(through).first() is not None:
        return False
    text = db.scalar(sa.select(document.c.text).where(document.c.id == document_id))
    if text is None:
        raise NotFoundError(f"there is no document {document_id}")
    if text != doc.text:
        raise DataError(f"document {doc.id!r}: predictions are for another text than that of document {document_id}")
    db.execute(predicted.insert().values(run=run, document=document_id))
    rows_of_table: dict[str, dict[str, Any]] = {}
    name = namer(rows)
    for mention, found in zip(doc.mentions or (), to_json(doc, rows).get("mentions", ()), strict=True):
        id = mention.id or mention_id(doc.id, mention.spans, mention.types)
        while id in rows_of_table:
            id += "'"
        rows_of_table[id] = {"run": run, "document": document_id, "id": id, **_columns(mention, found, name)}
    if rows_of_table:
        db.execute(prediction.insert(), list(rows_of_table.values()))
    return True


def _columns(mention: Mention, found: dict[str, Any], name: Callable[[str], str]) -> dict[str, Any]:
    return {
        "address": address(mention.spans, mention.concepts),
        "parts": mention.spans,
        "types": mention.types,
        "concepts": mention.concepts,
        "alternatives": mention.alternatives,
        "candidates": _named(found.get("candidates"), name),
        "p": mention.probability,
        "calibration": mention.calibration,
        "signals": found.get("signals", {}),
        "assertion": mention.assertion,
    }


def _named(candidates: dict[str, Any] | None, name: Callable[[str], str]) -> dict[str, Any] | None:
    if not candidates or "names" not in candidates:
        return candidates
    pairs = zip(candidates["ids"], candidates["names"], strict=True)
    return {**candidates, "names": [text or (name(id) or None if id else None) for id, text in pairs]}


def assertions_of(db: sa.Connection, document_id: int, marks: Iterable[Mark]) -> dict[str, str]:
    """Return the assertions of those predictions of a document that marks were made from and say the same, by origin.

    They are of the span and the concepts that were suggested: a mark that was moved or linked otherwise has none.
    """
    addresses = {mark.origin: address(mark.parts, mark.concepts) for mark in marks if "/" in mark.origin}
    runs = {origin.partition("/")[0] for origin in addresses}
    said = sa.and_(prediction.c.run.in_(runs), prediction.c.document == document_id, prediction.c.assertion != "")
    query = sa.select(prediction.c.run, prediction.c.id, prediction.c.address, prediction.c.assertion).where(said)
    rows = db.execute(query).all() if runs else []
    return {origin: row.assertion for row in rows if addresses.get(origin := _origin(row.run, row.id)) == row.address}


def predictions_of(
    db: sa.Connection, run: str, document_id: int, only: Collection[str] | None = None, *, brief: bool = False
) -> dict[str, Predicted]:
    """Return what a run predicts for a document, by address: of two that say the same, the likelier one.

    `only` are the addresses that are wanted; `brief` leaves out candidates and signals, which take longest to read.
    """
    columns = [column for column in prediction.c if not (brief and column.name in ("candidates", "signals"))]
    query = sa.select(*columns).where(prediction.c.run == run, prediction.c.document == document_id)
    if only is not None:
        query = query.where(prediction.c.address.in_(only))
    found: dict[str, Predicted] = {}
    for row in sorted(db.execute(query).mappings(), key=lambda row: (-(row["p"] or 0), row["id"])):
        if row["address"] not in found:
            more = (None, None) if brief else (row["candidates"], row["signals"])
            found[row["address"]] = Predicted(row["id"], _mark(row, run), row["p"], row["calibration"], *more)
    return found


def _mark(row: sa.RowMapping, run: str) -> Mark:
    return Mark(
        parts=tuple(Span(*part) for part in row["parts"]),
        types=tuple(row["types"]),
        concepts=None if row["concepts"] is None else tuple(row["concepts"]),
        alternatives=tuple(tuple(one) for one in row["alternatives"]),
        source="pred",
        origin=_origin(run, row["id"]),
    )


def _origin(run: str, prediction_id: str) -> str:
    return f"{run}/{prediction_id}"
