"""Drawing documents for somebody to read: the strategies of `linnet.annotate.sampling` on what the store holds.

A project begins cold: until its people have linked enough, documents are drawn by chance whatever strategy is wanted.
What counts for that is what the asker may see, so that nobody learns from it how far a peer is.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from linnet.annotate.assignments import assign
from linnet.annotate.blind import awaited, visible_streams
from linnet.annotate.cold_start import ColdStart, cold_start
from linnet.annotate.exports import export
from linnet.annotate.journal import lock
from linnet.annotate.marks import DOCUMENT, NOTE
from linnet.annotate.proposals import live_ids
from linnet.annotate.runs import learned_from, uploaded
from linnet.annotate.sampling import (
    BY_CANDIDATES,
    BY_CHANCE,
    NIL_LINKS,
    STRATIFIED,
    Batch,
    Known,
    check_strategy,
    draw,
)
from linnet.annotate.store import Store
from linnet.annotate.tables import (
    assignment,
    document,
    event,
    mention_now,
    now,
    predicted,
    prediction,
    project,
    round_,
    run,
)
from linnet.annotate.unread import Unread
from linnet.annotate.work_time import Timed, fit_work_time
from linnet.codec import from_json
from linnet.data import Document
from linnet.kb import KnowledgeBase

__all__ = ["RANDOM_NOTE", "Drawn", "draw_documents", "judged_documents", "predicted_documents"]

RANDOM_NOTE = "random"  # in ``why`` of an assignment; nobody is shown it, or reading would not be the same
MOST_SEEDS = 2**31
MOST_JUDGED = 50  # of the last documents that were drawn by chance: the calibration of today is wanted, and at once
ENOUGH = 100  # answers that say whether a project is cold: older ones are of older models, which knew less
MOST_NAMED = 500  # documents that a query names; of more it reads all


@dataclass(frozen=True, slots=True)
class Drawn:
    """Documents that somebody is to read: the round, the strategy that was used, how cold the project is."""

    round: int
    strategy: str
    cold: ColdStart
    assignments: tuple[int, ...]


def draw_documents(  # noqa: PLR0913 - each is a setting of its own
    store: Store,
    project_id: int,
    user: int,
    n: int,
    *,
    strategy: str,
    annotators: int = 1,
    lease: timedelta = timedelta(days=3),
    seed: int | None = None,
    kb: KnowledgeBase | None = None,
) -> Drawn:
    """Draw documents for a user, who has them as assignments then, kept for the time of the lease.

    Args:
        store: the store.
        project_id: the project.
        user: who is to read.
        n: how many documents.
        strategy: one of `linnet.annotate.sampling.STRATEGIES`.
        annotators: how many people read each document.
        lease: how long a document is kept for somebody who has not begun.
        seed: of what is left to chance; None takes a new one.
        kb: that of the project, where retired ids lead to their successors.

    Raises:
        DataError: an unknown strategy, or one that the project has not predictions enough for.
    """
    check_strategy(strategy)  # a cold project would draw by chance whatever is wanted
    seed = secrets.randbelow(MOST_SEEDS) if seed is None else seed
    with store.read() as db:
        ids = list(db.scalars(_free(db, project_id, user, annotators)))
        unread = list(db.scalars(_free(db, project_id, user, 1)))
        runs = _runs(db, project_id, _free(db, project_id, user, annotators))
        used = _run_in_use(db, project_id, runs)
        live = live_ids(db, project_id, kb)
        cold = _cold(db, project_id, user, live)
        wanted = strategy if cold.over or strategy in BY_CHANCE else STRATIFIED
        before = _run_before(runs, used) if wanted == "version_disagreement" else None
        asked = (wanted, n, seed)
        known = _known(db, project_id, user, live)
        batch = _batch(db, project_id, known, ids, (used, before), asked) if ids else Batch((), wanted, seed, ())
    why = {int(one.id): _why(batch, one.random, one.value) for one in batch.samples}
    bare = {int(one.id) for one in batch.samples if not one.suggestions}
    with store.write() as db:
        lock(db)
        still = set(db.scalars(_free(db, project_id, user, annotators)))  # others may have drawn meanwhile
        values = {"project": project_id, "user": user, "strategy": batch.strategy, "seed": seed, "made": now(db)}
        values |= {"pool": _ranges(unread), "run": used}
        values["model"] = None if used is None else db.scalar(sa.select(run.c.model).where(run.c.id == used))
        made = int(db.execute(round_.insert().values(values).returning(round_.c.id)).scalar_one())
        until = str(db.scalar(sa.select(now(db, lease.total_seconds()))))
        given = [
            assign(db, id, user, round=made, why=why[id], suggestions=id not in bare, lease=until)
            for id in why
            if id in still
        ]
    return Drawn(made, batch.strategy, cold, tuple(given))


def _why(batch: Batch, random: bool, value: float | None) -> str:
    return RANDOM_NOTE if random or value is None else f"{batch.strategy} {value:.4g}"


def _ranges(ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return numbers in ascending order as ranges, both ends included.

    >>> _ranges([1, 2, 3, 7])
    [(1, 3), (7, 7)]
    """
    made: list[tuple[int, int]] = []
    for id in ids:
        if made and id == made[-1][1] + 1:
            made[-1] = (made[-1][0], id)
        else:
            made.append((id, id))
    return made


def _free(db: sa.Connection, project_id: int, user: int, annotators: int) -> sa.Select[Any]:
    """Return the documents that a user can be given: not had before, and not read by others enough."""
    work = assignment.alias()
    of_document = sa.and_(work.c.document == document.c.id, work.c.kind == "annotate")
    counts = awaited(work, now(db))
    readers = sa.select(sa.func.count()).where(of_document, work.c.user != user, counts).scalar_subquery()
    had = sa.exists().where(of_document, work.c.user == user)
    open_ones = sa.and_(document.c.project == project_id, ~document.c.redacted, ~had, readers < annotators)
    return sa.select(document.c.id).where(open_ones).order_by(document.c.id)


class _Run(NamedTuple):
    """A run, and how many of some documents it has predicted."""

    id: str
    model: str | None
    done: bool
    covers: int


def _runs(db: sa.Connection, project_id: int, free: sa.Select[Any]) -> list[_Run]:
    """Return the runs of a project, the last one first; those that came with uploads only where there are no others."""
    there = sa.and_(predicted.c.run == run.c.id, predicted.c.document.in_(free))
    covers = sa.select(sa.func.count()).select_from(predicted).where(there).scalar_subquery()
    query = sa.select(run.c.id, run.c.model, run.c.state == "done", covers, uploaded()).where(
        run.c.project == project_id
    )
    rows = db.execute(query.order_by(run.c.number.desc())).all()
    own = [row for row in rows if not row[-1]] or rows
    return [_Run(id, model, bool(done), covered) for id, model, done, covered, _ in own]


def _fullest(runs: Sequence[_Run]) -> str | None:
    """Return the first run that is done with half as many documents as any other, or has as many as the fullest one.

    One of a few documents alone would say of all others that there is nothing in them.
    """
    most = max((one.covers for one in runs), default=0)
    return next((one.id for one in runs if one.covers == most or (one.done and 2 * one.covers >= most)), None)


def _run_in_use(db: sa.Connection, project_id: int, runs: Sequence[_Run]) -> str | None:
    """Return the last run of the model in use, or else the last one of all, if it has predicted enough."""
    used = db.scalar(sa.select(project.c.model).where(project.c.id == project_id))
    return _fullest(sorted(runs, key=lambda one: (one.model or "") != (used or "")))


def _batch(
    db: sa.Connection,
    project_id: int,
    known: Known,
    ids: list[int],
    runs: tuple[str | None, str | None],
    asked: tuple[str, int, int],
) -> Batch:
    (used, before), (strategy, n, seed) = runs, asked
    columns = (document.c.id, document.c.text, document.c.meta)
    rows = db.execute(sa.select(*columns).where(document.c.project == project_id)).mappings()
    free = set(ids)
    texts = {row["id"]: dict(row) for row in rows if row["id"] in free}
    brief = strategy not in BY_CANDIDATES  # reading candidates takes longer than all else
    now_said = predicted_documents(db, used, texts, brief=brief) if used and strategy not in BY_CHANCE else {}
    earlier = predicted_documents(db, before, texts) if before else {}
    pool = [
        Unread(now_said.get(id) or _document(row, ()), earlier=earlier.get(id)) for id, row in sorted(texts.items())
    ]
    return draw(pool, n, strategy=strategy, seed=seed, known=known)


def _known(db: sa.Connection, project_id: int, user: int, live: Callable[[str], str]) -> Known:
    seen = visible_streams(db, project_id, user)
    return Known(time=fit_work_time(_log(db, seen)), links=_links(db, seen, live), live=live)


def _run_before(runs: Sequence[_Run], used: str | None) -> str | None:
    """Return the last run of another model than that of a run, if it has predicted enough."""
    model = next((one.model for one in runs if one.id == used), None)
    return _fullest([one for one in runs if one.model != model])


def predicted_documents(
    db: sa.Connection, used: str | None, texts: Mapping[int, Any], *, brief: bool = False
) -> dict[int, Document]:
    """Return what a run says of documents, each with its number as id; `brief` says only that there are candidates."""
    which = (lambda column: column.in_(list(texts))) if len(texts) <= MOST_NAMED else lambda _: sa.true()
    there = sa.and_(predicted.c.run == used, which(predicted.c.document))
    through = set(db.scalars(sa.select(predicted.c.document).where(there)))
    columns = [column for column in prediction.c if not (brief and column.name == "candidates")]
    looked_up = prediction.c.candidates.is_not(None).label("looked_up")
    found: defaultdict[int, list[Any]] = defaultdict(list)
    query = sa.select(*columns, looked_up).where(prediction.c.run == used, which(prediction.c.document))
    for row in db.execute(query).mappings():
        found[row["document"]].append(row)
    return {id: _document(texts[id], found[id]) for id in through & texts.keys()}


def _document(row: Mapping[str, Any], mentions: Iterable[Mapping[str, Any]]) -> Document:
    made = sorted((_mention(one) for one in mentions), key=lambda one: (one["start"], one["end"]))
    return from_json({"id": str(row["id"]), "text": row["text"], "meta": row["meta"], "mentions": made})


def _mention(row: Mapping[str, Any]) -> dict[str, Any]:
    parts = row["parts"]
    kept = {key: row[key] for key in ("types", "concepts", "alternatives", "signals") if row[key]}
    made = {"start": parts[0][0], "end": parts[-1][1], **kept, **({"parts": parts} if len(parts) > 1 else {})}
    if row["looked_up"]:
        made["candidates"] = row.get("candidates") or {"ids": [], "scores": []}
    if row["concepts"] is not None:
        made["concepts"] = row["concepts"]
    if row["p"] is not None:
        made |= {"probability": row["p"], "calibration": row["calibration"] or "uncalibrated"}
    return made


def _log(db: sa.Connection, seen: sa.Select[Any]) -> list[Timed]:
    """Return how long finished documents took to read, as far as somebody may see them.

    Adjudications begin with what all say already, and so take less. To say that one is done is no mention, nor is a
    comment; those of a bulk act are, though one event tells its time.
    """
    taken = sa.func.sum(sa.cast(event.c.ms, sa.Double))  # whole numbers may add up to too large ones
    decided = sa.and_(event.c.mention != DOCUMENT, ~event.c.mention.startswith(NOTE))
    query = (
        sa.select(document.c.length, sa.func.count(sa.distinct(sa.case((decided, event.c.mention)))), taken)
        .select_from(event.join(assignment, assignment.c.id == event.c.stream).join(document))
        .where(assignment.c.id.in_(seen), assignment.c.state == "done", assignment.c.kind != "adjudicate")
        .group_by(assignment.c.id, document.c.length)
        .having(taken.is_not(None))
    )
    return [Timed(length, mentions, float(ms)) for length, mentions, ms in db.execute(query)]


def _links(db: sa.Connection, seen: sa.Select[Any], live: Callable[[str], str]) -> Counter[str]:
    """Return how often each concept was linked, and how often none fitted, as far as somebody may see it."""
    query = sa.select(mention_now.c.concepts).where(mention_now.c.stream.in_(seen), mention_now.c.state == "live")
    return Counter(live(id) for found in db.scalars(query) if found is not None for id in found or (NIL_LINKS,))


def _cold(db: sa.Connection, project_id: int, user: int, live: Callable[[str], str]) -> ColdStart:
    """Return how cold a project is; links are counted, from the last documents back, until there are enough."""
    seen = visible_streams(db, project_id, user)
    work = sa.select(assignment.c.id, assignment.c.document, assignment.c.why).join(document)
    over = sa.and_(assignment.c.state == "done", assignment.c.kind != "adjudicate")  # which nobody draws
    done = work.where(assignment.c.id.in_(seen), over, ~document.c.redacted)
    counted, read, answers = ColdStart(0, 0, None), set[int](), 0
    by_chance = list[tuple[Document, Document]]()
    for stream, id, why in db.execute(done.order_by(assignment.c.id.desc())).all():
        judged = why == RANDOM_NOTE and len(by_chance) < MOST_JUDGED and answers < ENOUGH and id not in read
        said = _unseen_prediction(db, id) if judged else None
        if id in read or not (said or counted.links_left or counted.documents_left):
            continue
        read.add(id)
        doc = replace(export(db, stream), id=str(id))
        one = cold_start([doc], [])
        counted = ColdStart(counted.links + one.links, counted.documents + one.documents, None)
        if said is not None:
            by_chance.append((doc, said))
            answers += len(said.mentions or ())
    found = cold_start([], by_chance, live=live)
    return replace(counted, ece=found.ece, ece_least=found.ece_least)


def judged_documents(db: sa.Connection, project_id: int, user: int) -> list[tuple[Document, Document]]:
    """Return the last documents that were drawn by chance and read, each as read and as predicted by a model before."""
    seen = visible_streams(db, project_id, user)
    work = sa.select(assignment.c.id, assignment.c.document).join(document)
    done = sa.and_(assignment.c.id.in_(seen), assignment.c.state == "done", ~document.c.redacted)
    found: dict[int, tuple[Document, Document]] = {}
    for stream, id in db.execute(work.where(done, assignment.c.why == RANDOM_NOTE).order_by(assignment.c.id.desc())):
        if id not in found and len(found) < MOST_JUDGED and (said := _unseen_prediction(db, id)) is not None:
            found[id] = (replace(export(db, stream), id=str(id)), said)
    return list(found.values())


def _unseen_prediction(db: sa.Connection, id: int) -> Document | None:
    """Return what the last model says of a document that it has not learned from, or else what came with it."""
    query = sa.select(run.c.id).join(predicted, predicted.c.run == run.c.id).where(predicted.c.document == id)
    query = query.where(~learned_from(run.c.model, id)).order_by(uploaded(), run.c.number.desc())
    used = db.scalar(query.limit(1))
    row = db.execute(sa.select(document).where(document.c.id == id)).mappings().one()
    return None if used is None else predicted_documents(db, used, {id: dict(row)}, brief=True).get(id)
