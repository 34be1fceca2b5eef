"""Long work, done by workers: asked for here, looked at, cancelled; and the models that come of it."""

from __future__ import annotations

from typing import Any, Literal

import sqlalchemy as sa
from pydantic import Field, JsonValue

from linnet.annotate import tables
from linnet.annotate.api.guard import Asked, Bench, make_router, own
from linnet.annotate.api.problems import not_found
from linnet.annotate.api.session import Body
from linnet.annotate.journal import append_to_project, last_number, lock
from linnet.annotate.tables import now

__all__ = ["router"]

router = make_router()
LISTED = 100
# how a worker does it is nobody's business
SHOWN = (
    "id", "kind", "args", "state", "priority", "attempt", "step", "of", "loss", "score", "cancel", "log_tail",
    "data_to_event", "result", "made", "ended",
)  # fmt: skip
MODEL = ("id", "parent", "card", "metrics", "data_to_event", "made")


class Order(Body):
    """What is to be done; ``args`` are those of the kind of job."""

    kind: Literal["train", "predict", "export"]
    args: dict[str, JsonValue] = Field(default={}, max_length=20)


def _job(row: Any) -> dict[str, Any]:
    return {key: row[key] for key in SHOWN}


@router.get("/projects/{project}/jobs")
def list_jobs(bench: Bench, project: int) -> list[dict[str, Any]]:
    """List the last jobs, the newest first."""
    it = tables.job
    query = sa.select(it).where(it.c.project == project).order_by(it.c.id.desc()).limit(LISTED)
    with bench.store.read() as db:
        return [_job(row) for row in db.execute(query).mappings()]


@router.post("/projects/{project}/jobs", status_code=202)
def order(bench: Bench, asker: Asked, project: int, body: Order) -> dict[str, Any]:
    """Ask for a training, predictions or an export; a worker does it, of what is decided up to now."""
    values = {"project": project, "user": asker.user, "kind": body.kind, "args": body.args}
    with bench.store.write() as db:
        values |= {"data_to_event": last_number(db), "made": now(db)}
        made = tables.job.insert().values(values).returning(tables.job)
        return _job(db.execute(made).mappings().one())


@router.get("/jobs/{job}")
def read_job(bench: Bench, job: int) -> dict[str, Any]:
    """Return a job: how far it is, or what came of it."""
    with bench.store.read() as db:
        return _job(db.execute(sa.select(tables.job).where(tables.job.c.id == job)).mappings().one())


@router.post("/jobs/{job}/cancel", status_code=202)
def cancel(bench: Bench, job: int) -> dict[str, Any]:
    """Cancel a job; one that is over stays as it is."""
    it = tables.job
    with bench.store.write() as db:
        db.execute(it.update().where(it.c.id == job, it.c.state == "running").values(cancel=True))
        waiting = it.update().where(it.c.id == job, it.c.state == "queued")
        db.execute(waiting.values(state="cancelled", cancel=True, ended=now(db)))
    return read_job(bench, job)


@router.get("/projects/{project}/models")
def list_models(bench: Bench, project: int) -> dict[str, Any]:
    """List the models of a project, the newest first, and the one in use."""
    it = tables.model
    query = sa.select(it).where(it.c.project == project).order_by(it.c.made.desc(), it.c.id)
    with bench.store.read() as db:
        models = [_model(row) for row in db.execute(query).mappings()]
        used = db.scalar(sa.select(tables.project.c.model).where(tables.project.c.id == project))
    return {"models": models, "in_use": used}


@router.get("/models/{model}")
def read_model(bench: Bench, asker: Asked, model: str) -> dict[str, Any]:
    """Return a model with its card and metrics."""
    with bench.store.read() as db:
        row = db.execute(sa.select(tables.model).where(tables.model.c.id == model)).mappings().first()
        return _model(own(row, asker, "model"))


@router.post("/models/{model}/use", status_code=202)
def use(bench: Bench, asker: Asked, model: str) -> dict[str, Any]:
    """Take a model into use, a new one or an older one again, and ask for its predictions; no decision changes."""
    project = tables.project
    with bench.store.write() as db:
        lock(db)
        before = db.scalar(sa.select(project.c.model).where(project.c.id == asker.project))
        if before != model:
            changed = project.update().where(project.c.id == asker.project)
            db.execute(changed.values(model=model, seq=project.c.seq + 1))
            append_to_project(db, asker.project, asker.name, "use", {"model": model, "before": before})
        values = {"project": asker.project, "user": asker.user, "kind": "predict", "args": {"model": model}}
        made = tables.job.insert().values(**values, made=now(db)).returning(tables.job)
        return _job(db.execute(made).mappings().one())


def _model(row: Any) -> dict[str, Any]:
    if row is None:
        raise not_found("model")
    return {key: row[key] for key in MODEL}
