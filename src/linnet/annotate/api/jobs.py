"""Long work, done by workers: asked for here, looked at, cancelled; and the models that come of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field, JsonValue
from starlette.responses import FileResponse

from linnet.annotate.api.guard import Asked, Asker, Bench, make_router
from linnet.annotate.api.projects import openable_kb
from linnet.annotate.api.session import Body
from linnet.annotate.api.workbench import Workbench
from linnet.annotate.comparing import compare_models
from linnet.annotate.jobs import Job, ask_to_cancel, enqueue, find, jobs_of
from linnet.annotate.models import model_row, models_of, project_row, recipes_for, use
from linnet.annotate.orders import check_order
from linnet.annotate.proposals import live_ids
from linnet.annotate.scoring import as_told
from linnet.serve.problems import not_found

__all__ = ["router"]

router = make_router()
HIDDEN = ("project", "worker", "checkpoint", "lease_until", "not_before")  # how it is done is nobody's business
COUNTS = ("documents", "mentions", "versions", "held_out")  # in cards and metrics: what a model has learned from
MODEL = ("id", "parent", "card", "metrics", "data_to_event", "made")


class Order(Body):
    """What is to be done; ``args`` are those of the kind of job, see `linnet.annotate.jobs`."""

    kind: Literal["train", "predict", "export"]
    args: dict[str, JsonValue] = Field(default={}, max_length=20)


@router.get("/recipes")
def list_recipes(bench: Bench) -> dict[str, str]:
    """List the recipes that suit documents of any kind, and those of this workbench: name and what it is."""
    return recipes_for(bench.settings.data)


def _tells_all(bench: Workbench, asker: Asker) -> bool:
    """Return whether somebody may hear how much was learned from: in a blind project it tells how far peers are."""
    with bench.store.read() as db:
        return asker.leads or not project_row(db, asker.project)["blind"]


def _job(job: Job, asker: Asker, *, all: bool) -> dict[str, Any]:
    shown = {key: value for key, value in job.to_json().items() if key not in HIDDEN}
    if not all:
        shown["log_tail"] = ""
        shown["args"] = {key: value for key, value in shown["args"].items() if key != "to"}
    if not _may_have(job, asker):
        shown["result"] = None
    return shown


def _may_have(job: Job, asker: Asker) -> bool:
    """Return whether somebody may have what came of a job: an export holds what who asked for it may see."""
    return job.kind != "export" or job.user == asker.user


@router.get("/projects/{project}/jobs")
def list_jobs(bench: Bench, asker: Asked, project: int) -> list[dict[str, Any]]:
    """List the last jobs, the newest first."""
    all = _tells_all(bench, asker)
    with bench.store.read() as db:
        return [_job(job, asker, all=all) for job in jobs_of(db, project)]


@router.post("/projects/{project}/jobs", status_code=202)
def order(bench: Bench, asker: Asked, project: int, body: Order) -> dict[str, Any]:
    """Ask for a training, predictions or an export; a worker does it, of what is decided up to now."""
    with bench.store.write() as db:
        job = find(db, enqueue(db, project, body.kind, body.args, user=asker.user))
        check_order(db, job, bench.settings.data)
    return _job(job, asker, all=True)


@router.get("/jobs/{job}")
def read_job(bench: Bench, asker: Asked, job: int) -> dict[str, Any]:
    """Return a job: how far it is, or what came of it."""
    all = _tells_all(bench, asker)
    with bench.store.read() as db:
        return _job(find(db, job), asker, all=all)


@router.post("/jobs/{job}/cancel", status_code=202)
def cancel(bench: Bench, asker: Asked, job: int) -> dict[str, Any]:
    """Cancel a job; one that is over stays as it is."""
    with bench.store.write() as db:
        return _job(ask_to_cancel(db, job), asker, all=True)


@router.get("/jobs/{job}/file", response_class=FileResponse)
def file(bench: Bench, asker: Asked, job: int) -> FileResponse:
    """Return the file of an export that I have asked for."""
    with bench.store.read() as db:
        found = find(db, job)
    if found.kind != "export" or found.state != "succeeded" or not _may_have(found, asker):
        raise not_found("file")
    path = bench.settings.data / found.result["file"]
    if not path.is_file():
        raise not_found("file any more")
    return FileResponse(path, filename=path.name)


@router.get("/projects/{project}/models")
def list_models(bench: Bench, asker: Asked, project: int) -> dict[str, Any]:
    """List the models of a project, the newest first, and the one in use."""
    all = _tells_all(bench, asker)
    with bench.store.read() as db:
        shown = [_model(row, all=all) for row in models_of(db, project)]
        return {"models": shown, "in_use": project_row(db, project)["model"]}


@router.get("/models/{model}")
def read_model(bench: Bench, asker: Asked, model: str) -> dict[str, Any]:
    """Return a model with its card and metrics."""
    all = _tells_all(bench, asker)
    with bench.store.read() as db:
        return _model(model_row(db, asker.project, model), all=all)


@router.post("/models/{model}/use", status_code=202)
def use_model(bench: Bench, asker: Asked, model: str) -> dict[str, Any]:
    """Take a model into use, a new one or an older one again, and ask for its predictions; no decision changes."""
    with bench.store.write() as db:
        return _job(find(db, use(db, asker.project, model, asker.user)), asker, all=True)


@router.post("/projects/{project}/untrained", status_code=202)
def use_none(bench: Bench, asker: Asked, project: int) -> dict[str, Any]:
    """Use no model any more: suggestions are those of the untrained recipe again; no decision changes."""
    with bench.store.write() as db:
        return _job(find(db, use(db, project, None, asker.user)), asker, all=True)


@router.get("/projects/{project}/compare")
def compare(bench: Bench, asker: Asked, project: int, a: str, b: str) -> dict[str, Any]:
    """Compare two models on the documents that people are done with and neither has learned from.

    ``fixed`` counts what only `b` has right, ``broke`` what only `a` has right; examples are of these two kinds.
    """
    kb = openable_kb(bench, project)
    with bench.store.read() as db:
        return asdict(compare_models(db, project, asker.user, a, b, live=live_ids(db, project, kb)))


def _model(row: dict[str, Any], *, all: bool) -> dict[str, Any]:
    shown = {key: row[key] for key in MODEL}
    shown["metrics"] = as_told(row["metrics"])
    if in_use := row["metrics"].get("in_use"):
        shown["metrics"] = {**shown["metrics"], "in_use": as_told(in_use)}
    if not all:
        del shown["data_to_event"]
        for part in ("card", "metrics"):
            shown[part] = {key: value for key, value in shown[part].items() if key not in COUNTS}
        if in_use := shown["metrics"].get("in_use"):
            shown["metrics"]["in_use"] = {key: value for key, value in in_use.items() if key not in COUNTS}
    return shown
