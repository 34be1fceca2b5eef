"""Uploads: files and pasted text become documents; what is wrong is told by file and line, what is good is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Form, UploadFile
from pydantic import Field

from linnet.annotate.api.guard import Asked, Asker, Bench, make_router
from linnet.annotate.api.session import Body
from linnet.annotate.api.workbench import Workbench
from linnet.annotate.documents import Added, add_documents, named_alike, row_of
from linnet.annotate.housekeeping import UPLOADS
from linnet.annotate.people import storable
from linnet.annotate.proposals import new_concepts
from linnet.annotate.reading import KEPT, Fault, File, Read, paste_id, read_files
from linnet.annotate.tables import now, upload
from linnet.corpora.formats import READABLE
from linnet.data import Concept, Document, Mention
from linnet.serve.problems import Problem

__all__ = ["router"]

router = make_router()
MOST_FILES = 1000
LISTED = 200
ERASED = "the text was erased in this project, and no upload brings it back; to add it all the same, give it another id"


class Paste(Body):
    """Text that was pasted: a note, or a file of a format."""

    text: str = Field(min_length=1, max_length=2_000_000)
    name: str = Field(default="", max_length=200)
    format: str | None = Field(default=None, max_length=50)


@router.post("/projects/{project}/uploads", status_code=201)
def upload_files(
    bench: Bench,
    asker: Asked,
    project: int,
    files: list[UploadFile],
    format: Annotated[str | None, Form(max_length=50)] = None,
    repair: Annotated[bool, Form()] = False,
) -> dict[str, Any]:
    """Add the documents of files: any format of Linnet, plain text, zip and tar archives.

    ``errors`` say by file and line what was left out. Documents with the same id and text are there already: the same
    file twice adds nothing, and none that was erased comes back. ``same_id`` are new ones whose id another document
    has, with another text.
    """
    if len(files) > MOST_FILES:
        raise Problem(413, detail=f"{len(files)} files at once; send {MOST_FILES} at most, or an archive")
    given = [File(file.filename or "upload", file.file.read()) for file in files]
    found = read_files(given, format=format, repair=repair, room=bench.settings.room, aside=_aside(bench))
    return _keep(bench, asker, project, given, found, format)


@router.post("/projects/{project}/pastes", status_code=201)
def paste(bench: Bench, asker: Asked, project: int, body: Paste) -> dict[str, Any]:
    """Add a pasted text as one document, or the documents of a pasted file whose format is given."""
    content = body.text.encode("utf-8", "surrogatepass")
    given = [File(body.name or "paste", content)]
    if body.format is None:
        doc = Document.of(storable(body.text, "the text"), id=storable(body.name, "the name") or paste_id(body.text))
        return _keep(bench, asker, project, given, Read([doc]), "text")
    return _keep(bench, asker, project, given, read_files(given, format=body.format, aside=_aside(bench)), body.format)


def _aside(bench: Workbench) -> Path:
    """Return where files lie while they are read: not where others could find what a killed server leaves."""
    folder = bench.settings.data / UPLOADS
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _keep(
    bench: Workbench, asker: Asker, project: int, files: Sequence[File], found: Read, format: str | None
) -> dict[str, Any]:
    """Store the documents and what there is to know of the upload."""
    hash = hashlib.sha256()
    for file in files:
        hash.update(hashlib.sha256(file.content).digest())
    with bench.store.read() as db:
        told = _named_here(found.docs, new_concepts(db, project))
    errors = [asdict(fault) for fault in (*found.faults, *told)]
    name = ", ".join(file.name for file in files)[:500].encode("utf-8", "replace").decode().replace("\0", "")
    with bench.store.write() as db:
        added = add_documents(db, project, asker.user, found.docs, format=format or "")
        errors += [asdict(Fault(row_of(db, one)["ext_id"], None, ERASED)) for one in added.erased]
        values = {"project": project, "user": asker.user, "name": name, "sha256": hash.hexdigest(), "state": "done"}
        values |= {"added": len(added.new), "errors": errors, "made": now(db)}
        alike = named_alike(db, project, added.new)
        id = db.execute(upload.insert().values(values).returning(upload.c.id)).scalar_one()
    return {"upload": id, **_counted(added), "same_id": alike, "errors": errors}


def _named_here(docs: Sequence[Document], new: Sequence[Concept]) -> Iterator[Fault]:
    """Yield what the project calls by an id that GOLD mentions have: in the project of a file it may be another one."""
    naming: dict[str, list[str]] = {concept.id: [] for concept in new}
    for doc in docs if new else ():
        for id in naming.keys() & {id for one in doc.mentions or () for id in _ids(one)}:
            naming[id].append(doc.id)
    for concept in new:
        if ids := naming[concept.id]:
            more = f", and {len(ids) - 1} other documents," if len(ids) > 1 else ""
            said = f"GOLD{more} names {concept.id}, which is {concept.name!r} in this project"
            yield Fault(ids[0], None, f"{said}; link such mentions anew if they mean something else", KEPT)


def _ids(mention: Mention) -> set[str]:
    return {id for answer in (mention.concepts or (), *mention.alternatives) for id in answer}


def _counted(added: Added) -> dict[str, Any]:
    return {"added": added.new, "there": len(added.same), "there_otherwise": added.other}


@router.get("/projects/{project}/uploads")
def list_uploads(bench: Bench, project: int) -> dict[str, Any]:
    """List the last uploads, and the formats that can be read."""
    query = sa.select(upload).where(upload.c.project == project).order_by(upload.c.id.desc()).limit(LISTED)
    with bench.store.read() as db:
        rows = db.execute(query).mappings().all()
    keys = ("name", "sha256", "added", "errors", "made")
    shown = [{"upload": row["id"], **{key: row[key] for key in keys}} for row in rows]
    return {"uploads": shown, "formats": list(READABLE)}
