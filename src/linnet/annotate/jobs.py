"""The queue of long work, in the database: what there is to do, who does it, how far it is.

``queued → running → succeeded | failed | cancelled``. A worker claims a job for a while, its lease, and has to extend
it; of a worker that died the lease ends, and another one claims the job. Clocks are the database's, so that workers on
several machines agree. The number of the attempt and the name of the worker are a fencing token: what a worker writes
that has lost its job changes nothing and raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from linnet.annotate.journal import last_number
from linnet.annotate.problems import NotFoundError
from linnet.annotate.store import Store
from linnet.annotate.tables import job, now
from linnet.errors import DataError, LinnetError, wrong_field

__all__ = [
    "ENDED",
    "ORDERS",
    "Export",
    "Job",
    "Kind",
    "LostError",
    "Predict",
    "Timing",
    "Train",
    "ask_to_cancel",
    "beat",
    "claim",
    "end",
    "enqueue",
    "fail",
    "find",
    "give_back",
    "jobs_of",
    "note",
]

Kind: TypeAlias = Literal["train", "predict", "export"]
State: TypeAlias = Literal["queued", "running", "succeeded", "failed", "cancelled"]
ENDED: tuple[State, ...] = ("succeeded", "failed", "cancelled")
DIED = "linnet: the worker stopped without a word, {attempts} times: was it killed, perhaps for want of memory?"


class LostError(LinnetError):
    """A job that is no longer this worker's: its lease ended and another one has it, or it is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long things take, in seconds.

    Args:
        lease: how long a claim lasts if it is not extended.
        beat: between two extensions.
        look: between two looks whether the job is to be cancelled.
        grace: how long a job that is to be cancelled may take to say so itself.
        told: between two reports of progress, at least.
        idle: between two looks for work.
        backoff: after the first failure; it is three times as long after each further one.
        attempts: how often a job is begun at most.
        tidy: between two looks for what nobody needs any more.
    """

    lease: float = 30.0
    beat: float = 10.0
    look: float = 0.5
    grace: float = 1.0
    told: float = 0.5
    idle: float = 1.0
    backoff: float = 5.0
    attempts: int = 3
    tidy: float = 3600.0


# --- what is asked for -----------------------------------------------------------------------------------------------


class _Order(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Train(_Order):
    """A training.

    Args:
        parts: which parts learn: those that find mentions, those that link them, or both.
        recipe: one that comes with Linnet, or the name of a file in the folder ``recipes`` of the data; None takes that
            of the model begun from or in use, or of the project's settings.
        base: the model that the other parts are taken from; None is the one in use where ``parts`` are not both, and
            otherwise, as ``""``, none: all begins as the recipe says.
        to: the number of the last event to learn from; None is the last there is when the job is asked for.
        dev: the share of documents that nothing is trained on.
        seed: of networks; None takes the recipe's.
        use: whether the model is used when it is done and not worse than the one in use.
        minutes: after which each network ends its training, whatever the recipe says; None leaves it to the recipe.
    """

    parts: Literal["ner", "linker", "both"] = "both"
    recipe: str | None = None
    base: str | None = None
    to: int | None = Field(None, ge=0)
    dev: float = Field(0.2, gt=0, lt=1)
    seed: int | None = Field(None, ge=0)
    use: bool = True
    minutes: float | None = Field(None, gt=0, le=100_000)


class Predict(_Order):
    """Predictions for documents that have none of this model yet.

    Args:
        model: the model; None the one in use.
        recipe: a recipe that is used as it is, untrained, where there is no model.
        documents: which ones; None all of the project.
    """

    model: str | None = None
    recipe: str | None = None
    documents: tuple[int, ...] | None = None


class Export(_Order):
    """A file of what people decided.

    Args:
        format: one of `linnet.corpora.FORMATS` that is written, or ``history``: all events, as JSON Lines.
        to: the number of the last event that counts; None is the last there is when the job is asked for.
    """

    format: str = "jsonl"
    to: int | None = Field(None, ge=0)


ORDERS: dict[str, type[_Order]] = {"train": Train, "predict": Predict, "export": Export}


@dataclass(frozen=True, slots=True)
class Job:
    """A row of the queue.

    ``step`` of ``of`` counts within what ``result`` names; ``result`` says of a running job what it is at and how many
    seconds are left, of one that has succeeded what came of it. ``checkpoint`` is what a later attempt goes on with.
    """

    id: int
    project: int
    user: int | None
    kind: str
    args: Mapping[str, Any]
    state: State
    priority: int
    attempt: int
    lease_until: str | None
    not_before: str | None
    worker: str | None
    step: int
    of: int
    loss: float | None
    score: float | None
    checkpoint: str | None
    cancel: bool
    log_tail: str
    data_to_event: int | None
    result: Any
    made: str
    ended: str | None

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


def _job(row: sa.RowMapping) -> Job:
    return Job(**{item.name: row[item.name] for item in fields(Job)})


# --- asking ----------------------------------------------------------------------------------------------------------


def enqueue(
    db: sa.Connection,
    project: int,
    kind: str,
    args: Mapping[str, Any] | None = None,
    *,
    user: int | None = None,
    priority: int = 0,
) -> int:
    """Add a job to the queue and return its number.

    Args:
        db: a connection that writes.
        project: whose job it is.
        kind: ``train``, ``predict`` or ``export``.
        args: fields of `Train`, `Predict` or `Export`.
        user: who asks for it; exports hold what this user may see.
        priority: jobs with a higher one come first.

    Raises:
        DataError: a kind that there is not, wrong fields, all of them named, or an event that is still to come.
    """
    if kind not in ORDERS:
        raise DataError(f"{kind!r} is no kind of job; there are {', '.join(ORDERS)}")
    try:
        order = ORDERS[kind].model_validate(dict(args or {}))
    except ValidationError as error:
        known = ORDERS[kind].model_fields
        said = (wrong_field(one, known, ".".join(map(str, one["loc"]))) for one in error.errors())
        raise DataError(f"{kind}: {'; '.join(said)}") from error
    if isinstance(order, Train | Export):
        last = last_number(db)
        if order.to is not None and order.to > last:  # what it learned from would depend on when it is done
            raise DataError(f"{kind}: to: event {order.to} is still to come, the last one is {last}")
        order = order.model_copy(update={"to": last if order.to is None else order.to})
    values: dict[str, Any] = {"project": project, "user": user, "kind": kind, "priority": priority, "made": now(db)}
    values |= {"args": order.model_dump(mode="json"), "data_to_event": getattr(order, "to", None)}
    return int(db.execute(job.insert().values(values).returning(job.c.id)).scalar_one())


def find(db: sa.Connection, id: int) -> Job:
    """Return a job.

    Raises:
        NotFoundError: there is none with this number.
    """
    row = db.execute(sa.select(job).where(job.c.id == id)).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no job {id}")
    return _job(row)


def jobs_of(db: sa.Connection, project: int, *, limit: int = 100) -> list[Job]:
    """Return the jobs of a project, the newest first."""
    query = sa.select(job).where(job.c.project == project).order_by(job.c.id.desc()).limit(limit)
    return [_job(row) for row in db.execute(query).mappings()]


def ask_to_cancel(db: sa.Connection, id: int) -> Job:
    """Cancel a job and return it; one that runs is over within two seconds, one that is over stays as it is.

    Raises:
        NotFoundError: there is none with this number.
    """
    it = job.c.id == id
    db.execute(job.update().where(it, job.c.state == "running").values(cancel=True))
    waiting = job.update().where(it, job.c.state == "queued")
    db.execute(waiting.values(state="cancelled", cancel=True, ended=now(db)))
    return find(db, id)


# --- working ---------------------------------------------------------------------------------------------------------


def claim(store: Store, worker: str, timing: Timing, kinds: Sequence[str] = tuple(ORDERS)) -> Job | None:
    """Give the oldest job of the highest priority to a worker and return it, None if there is nothing to do.

    Jobs whose lease has ended count as waiting, unless they were to be cancelled or were begun often enough: these are
    over. No two workers are given the same one.

    Args:
        store: the database.
        worker: a name that no other worker has.
        timing: the lease, and how often a job is begun.
        kinds: which jobs this worker does.
    """
    with store.read() as db:  # looking for work disturbs no writer
        if db.scalar(sa.select(job.c.id).where(sa.or_(_waits(db), _abandoned(db))).limit(1)) is None:
            return None
    with store.write() as db:
        _end_abandoned(db, timing)
        ready = sa.and_(job.c.kind.in_(kinds), sa.or_(_waits(db), _abandoned(db)))
        first = sa.select(job.c.id).where(ready).order_by(job.c.priority.desc(), job.c.id).limit(1)
        first = first.with_for_update(skip_locked=True)  # which SQLite leaves out: it has one writer
        taken = {"state": "running", "worker": worker, "attempt": job.c.attempt + 1, "not_before": None}
        given = job.update().where(job.c.id == first.scalar_subquery())
        given = given.values(**taken, lease_until=now(db, timing.lease)).returning(job)
        row = db.execute(given).mappings().first()
    return None if row is None else _job(row)


def _waits(db: sa.Connection) -> sa.ColumnElement[bool]:
    return sa.and_(job.c.state == "queued", sa.func.coalesce(job.c.not_before, "") <= now(db))


def _abandoned(db: sa.Connection) -> sa.ColumnElement[bool]:
    return sa.and_(job.c.state == "running", job.c.lease_until < now(db))


def _end_abandoned(db: sa.Connection, timing: Timing) -> None:
    """Say of jobs that nobody works on any more, and nobody will, that they are over."""
    over = job.update().where(_abandoned(db))
    db.execute(over.where(job.c.cancel).values(state="cancelled", ended=now(db)))
    said = job.c.log_tail + ("\n" + DIED.format(attempts=timing.attempts))
    db.execute(over.where(job.c.attempt >= timing.attempts).values(state="failed", ended=now(db), log_tail=said))


def note(db: sa.Connection, held: Job, values: Mapping[str, Any]) -> None:
    """Change columns of a job that a worker has.

    Raises:
        LostError: it no longer has it; nothing is changed.
    """
    ours = (job.c.attempt == held.attempt, job.c.worker == held.worker, job.c.state == "running")
    if db.execute(job.update().where(job.c.id == held.id, *ours).values(dict(values))).rowcount != 1:
        raise LostError(f"job {held.id} is no longer that of {held.worker}, attempt {held.attempt}")


def beat(db: sa.Connection, held: Job, timing: Timing) -> None:
    """Extend the lease of a job.

    Raises:
        LostError: another worker has it, or it is over.
    """
    note(db, held, {"lease_until": now(db, timing.lease)})


def end(db: sa.Connection, held: Job, state: State, values: Mapping[str, Any]) -> None:
    """Say how a job has ended, together with other columns.

    Raises:
        LostError: the worker no longer has it.
    """
    note(db, held, {**values, "state": state, "ended": now(db), "lease_until": None})


def fail(db: sa.Connection, held: Job, values: Mapping[str, Any], *, again: bool, timing: Timing) -> None:
    """Say that a job has failed; where trying `again` may help, and it was not tried often enough, it is queued.

    One that was cancelled meanwhile is over.

    Raises:
        LostError: the worker no longer has it.
    """
    if not again or held.attempt >= timing.attempts:
        end(db, held, "failed", values)
        return
    wait = timing.backoff * 3.0 ** (held.attempt - 1)
    _queue(db, held, {**values, "not_before": now(db, wait)})


def give_back(db: sa.Connection, held: Job) -> None:
    """Queue a job that the worker was told to leave, as if it had not been begun: this attempt does not count.

    One that was cancelled meanwhile is over.

    Raises:
        LostError: the worker no longer has it.
    """
    # the name of the worker still tells this attempt from the next one with its number
    _queue(db, held, {"attempt": held.attempt - 1})


def _queue(db: sa.Connection, held: Job, values: Mapping[str, Any]) -> None:
    state, ended = sa.case((job.c.cancel, "cancelled"), else_="queued"), sa.case((job.c.cancel, now(db)))
    note(db, held, {**values, "state": state, "ended": ended, "lease_until": None})
