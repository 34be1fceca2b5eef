"""Documents: their text, which never changes, a page of them at a time, and erasing one."""

from __future__ import annotations

from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Header, Query, Response

from linnet.annotate import tables
from linnet.annotate.api.guard import LARGEST, Asked, Asker, Bench, Row, make_router
from linnet.annotate.documents import redact
from linnet.annotate.exporting import erase as remove_exports
from linnet.annotate.tables import document
from linnet.serve.problems import not_found

__all__ = ["After", "AfterRow", "Limit", "document_in", "router"]

router = make_router()
BEFORE = "The last one of the page before."
After = Annotated[int, Query(ge=0, le=2**53, description=BEFORE)]  # of events, which may be more than rows can
AfterRow = Annotated[int, Query(ge=0, le=LARGEST, description=BEFORE)]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
AGAIN = "private, no-cache"  # a text can be erased: whoever has it asks whether it is still there


def document_in(db: sa.Connection, asker: Asker, id: int) -> dict[str, Any]:
    """Return the row of a document of the asker's project; one of another project is not there either.

    Raises:
        Problem: 404.
    """
    row = db.execute(sa.select(document).where(document.c.id == id)).mappings().first()
    if row is None or row["project"] != asker.project:
        raise not_found("document")
    return dict(row)


@router.get("/projects/{project}/documents")
def list_documents(bench: Bench, asker: Asked, project: int, after: AfterRow = 0, limit: Limit = 100) -> dict[str, Any]:
    """List documents in the order in which they came, a page at a time; ``mine`` is my work on each."""
    it = document.c
    mine = sa.and_(tables.assignment.c.document == it.id, tables.assignment.c.user == asker.user)
    columns = (it.id, it.ext_id, it.length, it.sha256, it.format, it.redacted)
    query = sa.select(*columns, tables.assignment.c.id.label("assignment"), tables.assignment.c.state)
    own_work = sa.and_(mine, tables.assignment.c.kind == "annotate")
    page = query.outerjoin(tables.assignment, own_work).where(it.project == project, it.id > after)
    with bench.store.read() as db:
        rows = db.execute(page.order_by(it.id).limit(limit)).mappings().all()
    shown = [
        {
            "document": row["id"],
            **{key: row[key] for key in ("ext_id", "length", "sha256", "format", "redacted")},
            "mine": None if row["assignment"] is None else {"assignment": row["assignment"], "state": row["state"]},
        }
        for row in rows
    ]
    return {"documents": shown, "next": rows[-1]["id"] if len(rows) == limit else None}


@router.get("/projects/{project}/documents/{document}", response_model=None)
def read_document(
    bench: Bench,
    asker: Asked,
    project: int,  # noqa: ARG001 - the description has to name it
    document: Row,
    response: Response,
    if_none_match: Annotated[str | None, Header()] = None,
) -> dict[str, Any] | Response:
    """Return the text of a document with its passages; offsets count code points."""
    with bench.store.read() as db:
        row = document_in(db, asker, document)
    tag = f'"{row["sha256"][:32]}{"-erased" if row["redacted"] else ""}"'
    headers = {"ETag": tag, "Cache-Control": AGAIN}
    if if_none_match is not None and tag in if_none_match:
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    keys = ("ext_id", "text", "length", "sha256", "passages", "sentences", "meta", "format", "redacted")
    return {"document": row["id"], **{key: row[key] for key in keys}}


@router.delete("/projects/{project}/documents/{document}", status_code=204)
def erase(bench: Bench, asker: Asked, project: int, document: Row) -> None:  # noqa: ARG001 - the description has to name it
    """Erase the text of a document and the comments on it; decisions, which hold none of it, stay.

    Files that were exported from the project are removed: they can be asked for again, without this text.
    """
    with bench.store.write() as db:
        document_in(db, asker, document)
        redact(db, document, asker.user)
        remove_exports(db, asker.project, bench.settings.data)
    bench.store.forget()
