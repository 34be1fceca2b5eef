"""What a job is asked for, looked at before it waits: one that names what there is not would fail much later."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from linnet.annotate.exporting import HISTORY
from linnet.annotate.jobs import Job
from linnet.annotate.models import model_row, recipe_named
from linnet.annotate.problems import NotFoundError
from linnet.annotate.tables import document
from linnet.corpora import WRITABLE
from linnet.errors import DataError

__all__ = ["check_order"]


def check_order(db: sa.Connection, job: Job, data: Path) -> None:
    """Refuse a job that names a recipe, model, format or document that there is not.

    Raises:
        DataError: there is no such recipe, or no such format is written.
        NotFoundError: the project has no such model or document.
    """
    if job.args.get("recipe"):
        recipe_named(job.args["recipe"], data)
    for model in filter(None, (job.args.get("model"), job.args.get("base"))):
        model_row(db, job.project, model)
    formats = (*WRITABLE, HISTORY)
    if job.kind == "export" and job.args["format"] not in formats:
        raise DataError(f"no files of format {job.args['format']!r} are written; there are {', '.join(formats)}")
    if wanted := set(job.args.get("documents") or ()):
        there = db.scalars(sa.select(document.c.id).where(document.c.project == job.project))
        if unknown := wanted.difference(there):
            raise NotFoundError(f"project {job.project} has no document {min(unknown)}")
