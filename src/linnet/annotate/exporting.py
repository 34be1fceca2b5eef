"""Jobs of the kind ``export``: what people decided, as a file in any format that Linnet writes, with a manifest."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from linnet import __version__
from linnet.annotate.blind import visible_streams
from linnet.annotate.documents import unique
from linnet.annotate.exports import export_project
from linnet.annotate.held import Held
from linnet.annotate.history import history
from linnet.annotate.jobs import Export, end
from linnet.annotate.journal import last_number
from linnet.annotate.models import kb_of, project_row
from linnet.annotate.proposals import live_ids, new_concepts
from linnet.annotate.tables import event, job
from linnet.corpora import FORMATS, check_place, fitting, write
from linnet.data import Concept, Document
from linnet.errors import KnowledgeBaseError, LinnetError
from linnet.kb import KnowledgeBase
from linnet.text.files import replacing

__all__ = ["EXPORTS", "erase", "export", "told_apart"]

EXPORTS = "exports"  # the folder of the data that files lie in, each in the folder of its job
HISTORY = "history"  # the name, beside those of formats, for all events
BLOCK = 1 << 20


def export(held: Held, data: Path) -> None:
    """Write the file and its manifest, and end the job.

    A format of many files is packed into one. The user who asked gets what this user may see.

    Raises:
        LinnetError: a format that is not written, or a document that it cannot hold.
        OSError: the disk is full.
    """
    order = Export.model_validate(held.job.args)
    folder = data / EXPORTS / str(held.job.id)
    shutil.rmtree(folder, ignore_errors=True)  # of an attempt that was killed
    folder.mkdir(parents=True)
    with held.store.read() as db:
        project, snapshot = project_row(db, held.job.project), last_number(db)
        seen = None if held.job.user is None else visible_streams(db, project["id"], held.job.user)
        if order.format == HISTORY:
            path, about = _history(held, db, order, seen, folder)
        else:
            path, about = _documents(held, db, order, seen, folder)
        new = [_new(concept) for concept in new_concepts(db, project["id"])]
    manifest = {
        "file": path.name,
        "sha256": _sha256(path),
        "bytes": path.stat().st_size,
        "project": project["name"],
        "kb": project["kb"],
        "linnet": __version__,
        **order.model_dump(mode="json"),
        **about,
        "new_concepts": new,
    }
    with replacing(folder / "manifest.json") as out:
        json.dump(manifest, out, indent=1)
        out.write("\n")
    result = {**manifest, "file": f"{EXPORTS}/{held.job.id}/{path.name}"}
    with held.writing() as db:
        if _erased_since(db, project["id"], snapshot):
            shutil.rmtree(folder, ignore_errors=True)
            raise LinnetError("a text was erased while the file was written: ask for the file again")
        end(db, held.job, "succeeded", {**held.news(db), "result": result})


def erase(db: sa.Connection, project: int, data: Path) -> None:
    """Remove all files that were made for a project: one of them may hold a text that is to be erased."""
    made = sa.select(job.c.id).where(job.c.project == project, job.c.kind == "export")
    for id in db.scalars(made.where(job.c.state != "running")):  # which looks itself whether a text was erased
        shutil.rmtree(data / EXPORTS / str(id), ignore_errors=True)


def _erased_since(db: sa.Connection, project: int, number: int) -> bool:
    erased = sa.and_(event.c.project == project, event.c.n > number, event.c.kind == "redact")
    return db.execute(sa.select(event.c.n).where(erased).limit(1)).first() is not None


def _new(concept: Concept) -> dict[str, Any]:
    """Return a concept that mentions may be linked to and the knowledge base lacks, as JSON."""
    kept = {"id": concept.id, "name": concept.name, "types": list(concept.types), "parents": list(concept.parents)}
    return {**kept, "definition": concept.definition, "replaced_by": concept.replaced_by}


def _documents(
    held: Held, db: sa.Connection, order: Export, seen: sa.Select[Any] | None, folder: Path
) -> tuple[Path, dict[str, Any]]:
    """Write documents in a format, and return the file and how many there are and what the format cannot hold."""
    project = project_row(db, held.job.project)
    kb = _names(held, project)
    docs = export_project(db, project["id"], to=order.to, streams=seen, live=live_ids(db, project["id"], kb))
    dropped: Counter[str] = Counter()
    docs = told_apart(docs, dropped)
    known = FORMATS.get(order.format)
    many = bool(known and known.write_folder)
    path = folder / ("documents" if many or known is None else f"documents{known.suffixes[0]}")
    check_place(path, order.format)
    fitted = fitting(_counted(held, docs), order.format, dropped)
    count = write(fitted, path, format=order.format, kb=kb)
    return _packed(path) if many else path, {"documents": count, "dropped": dict(dropped)}


def _names(held: Held, project: dict[str, Any]) -> KnowledgeBase | None:
    """Return what knows the names of concepts: decisions can be taken home without it, too."""
    try:
        return kb_of(project)
    except KnowledgeBaseError as error:
        held.say(f"without the names of concepts: {error}")
        return None


def told_apart(docs: Sequence[Document], dropped: Counter[str]) -> list[Document]:
    """Return documents with ids of their own, and count those that got another: many formats know them by their ids."""
    made = unique(docs)
    if changed := sum(one.id != doc.id for one, doc in zip(made, docs, strict=True)):
        dropped["document ids changed"] += changed
    return made


def _counted(held: Held, docs: list[Document]) -> Iterator[Document]:
    for number, doc in enumerate(docs, 1):
        held.tell(step=number, of=len(docs))
        yield doc


def _history(
    held: Held, db: sa.Connection, order: Export, seen: sa.Select[Any] | None, folder: Path
) -> tuple[Path, dict[str, Any]]:
    """Write all events as JSON Lines."""
    path, count = folder / "history.jsonl", 0
    with replacing(path) as out:
        for line in history(db, held.job.project, seen, to=order.to):
            count += 1
            held.tell(step=count)
            out.write(json.dumps(line) + "\n")
    return path, {"documents": count}


def _packed(folder: Path) -> Path:
    """Return one file with all of a folder, which is removed."""
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as out:
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            entry = zipfile.ZipInfo(file.relative_to(folder).as_posix())  # without a time: the same bytes each time
            out.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
    shutil.rmtree(folder)
    return path


def _sha256(path: Path) -> str:
    total = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            total.update(block)
    return total.hexdigest()
