"""Jobs of the kind ``predict``: a model, or a recipe as it is, says what it finds in documents it has not seen yet.

Each document is stored by itself: what was predicted before a kill stays, and is not predicted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from linnet.annotate.documents import document_of, row_of
from linnet.annotate.held import CancelledError, Held
from linnet.annotate.jobs import Predict, end
from linnet.annotate.models import kb_of, load_model, model_row, project_row, untrained
from linnet.annotate.runs import add_predictions, end_run, start_run
from linnet.annotate.tables import document, predicted, run
from linnet.data import Document
from linnet.pipeline import Pipeline
from linnet.pipeline.component import batches, blind

__all__ = ["predict"]

SOME = 8  # documents that are predicted together, at most: more are faster, and later to be seen


def predict(held: Held, data: Path) -> None:
    """Predict, store each document by itself, and end the job.

    Raises:
        CancelledError: somebody cancelled it; what is predicted stays.
        LinnetError: a model or recipe that there is not, or any error of its pipeline.
    """
    order = Predict.model_validate(held.job.args)
    with held.store.read() as db:
        project = project_row(db, held.job.project)
        id = order.model or (None if order.recipe else project["model"])
        row = model_row(db, project["id"], id) if id else None
    pipeline = _pipeline(order, project, row, data)
    version = "" if pipeline.kb is None else pipeline.kb.version
    with held.writing() as db:
        key = held.job.checkpoint or _earlier_run(db, project["id"], id, version)
        key = key or start_run(db, project["id"], model=id, kb=version)
        held.keep(db, key)
        end_run(db, key, "running")
    try:
        done, skipped = _all(held, pipeline, key, order)
    except CancelledError:
        with held.store.write() as db:
            end_run(db, key, "cancelled")
        raise
    with held.writing() as db:
        end_run(db, key)
        result = {"run": key, "model": id, "documents": done, "skipped": skipped}
        end(db, held.job, "succeeded", {**held.news(db), "result": result})


def _pipeline(order: Predict, project: dict[str, Any], row: dict[str, Any] | None, data: Path) -> Pipeline:
    return load_model(row, data, kb_of(project)) if row else untrained(project, data, order.recipe)


def _earlier_run(db: sa.Connection, project: int, model: str | None, version: str) -> str | None:
    """Return the last run of the same model on the same knowledge base, which new documents are added to.

    What came with uploads names no version, and the same recipe may not be what it was: only models go on.
    """
    if model is None:
        return None
    same = sa.and_(run.c.project == project, run.c.model == model, run.c.kb == version)
    found: str | None = db.scalar(sa.select(run.c.id).where(same).order_by(run.c.number.desc()).limit(1))
    return found


def _all(held: Held, pipeline: Pipeline, key: str, order: Predict) -> tuple[int, int]:
    """Predict what is missing, and return how many documents that were and how many have no mentions to link."""
    ids, docs, skipped = [], [], 0
    with held.store.read() as db:
        for id in _missing(db, held.job.project, key, order.documents):
            doc = document_of(row_of(db, id))
            if "mentions" in pipeline.needs and doc.mentions is None:
                skipped += 1
            else:
                ids.append(id)
                docs.append(doc)
    done = 0
    held.tell(step=0, of=len(docs))
    for some in _predicted(held, pipeline, docs):
        for doc in some:
            _store(held, pipeline, key, ids[done], doc)
            done += 1
            held.tell(step=done)
    return done, skipped


def _missing(db: sa.Connection, project: int, key: str, wanted: Sequence[int] | None) -> list[int]:
    through = sa.select(predicted.c.document).where(predicted.c.run == key)
    there = sa.and_(document.c.project == project, ~document.c.redacted, document.c.id.not_in(through))
    ids = db.scalars(sa.select(document.c.id).where(there).order_by(document.c.id)).all()
    return list(ids) if wanted is None else sorted(set(wanted) & set(ids))


def _predicted(held: Held, pipeline: Pipeline, docs: Sequence[Document]) -> Iterator[list[Document]]:
    """Yield documents as a pipeline has them that must not see what people said of them."""
    for some in batches(blind(docs, pipeline), SOME):
        held.check()
        yield pipeline(some)


def _store(held: Held, pipeline: Pipeline, key: str, id: int, doc: Document) -> None:
    with held.writing() as db:
        if not row_of(db, id)["redacted"]:  # meanwhile
            add_predictions(db, key, id, doc, pipeline.kb)
