"""How far a project is, and how far its people agree: of finished work, as far as the asker may see it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, replace
from math import isfinite
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Query

from linnet.annotate import tables
from linnet.annotate.agreement import compare_annotators
from linnet.annotate.api.guard import Asked, Bench, make_router
from linnet.annotate.api.projects import openable_kb
from linnet.annotate.blind import taken_streams, visible_streams
from linnet.annotate.cold_start import calibration_bins
from linnet.annotate.drawing import judged_documents
from linnet.annotate.exports import export, without_common_gold
from linnet.annotate.outlook import outlook
from linnet.annotate.proposals import live_ids
from linnet.annotate.tables import assignment, document
from linnet.data import Document
from linnet.evaluate.calibration import Calibration

__all__ = ["router"]

router = make_router()


@router.get("/projects/{project}/progress")
def progress(bench: Bench, asker: Asked, project: int) -> dict[str, Any]:
    """Count documents, and readings by state: mine, and all that I may see. Adjudications and erased ones are none."""
    by_state = sa.select(assignment.c.state, sa.func.count()).join(document).group_by(assignment.c.state)
    by_state = by_state.where(assignment.c.kind != "adjudicate", ~document.c.redacted)
    with bench.store.read() as db:
        taken = assignment.c.id.in_(taken_streams(db, project, asker.user))
        seen = by_state.where(assignment.c.id.in_(visible_streams(db, project, asker.user)), ~taken)
        there = sa.and_(document.c.project == project, ~document.c.redacted)
        documents = sa.select(sa.func.count()).select_from(document).where(there)
        return {
            "documents": db.scalar(documents),
            "mine": _by_state(db, seen.where(assignment.c.user == asker.user)),
            "seen": _by_state(db, seen),
        }


@router.get("/projects/{project}/stopping")
def stopping(
    bench: Bench,
    asker: Asked,
    project: int,
    gain: Annotated[float, Query(gt=0, le=1, description="The gain in score that an hour of work is worth.")] = 0.005,
) -> dict[str, Any]:
    """Say what is known about stopping: errors left in unread documents with an interval, signals, what readers missed.

    Nothing stops by itself. Ends of the interval are null where too few documents that were drawn by chance are read.
    """
    kb = openable_kb(bench, project)
    with bench.store.read() as db:
        live = live_ids(db, project, kb)
        found = outlook(db, project, asker.user, gain=gain, live=live)
        judged = Calibration.of_pairs(judged_documents(db, project, asker.user), live=live)
    return {
        "errors_left": None if found.left is None else _finite(found.left._asdict()),
        "unread": found.unread,
        "signals": [_finite({**asdict(one), "numbers": _finite(one.numbers)}) for one in found.signals],
        "calibration": _reliability(judged),
        "missed_by_both": [
            {"annotators": one.annotators, "documents": one.documents, **one.missed._asdict()} for one in found.pairs
        ],
    }


def _reliability(found: Calibration) -> dict[str, Any] | None:
    """Return how often answers of each probability were right, 25 or more to a bin; None where there is no answer."""
    if not len(found):
        return None
    bins = calibration_bins(found)
    shown = [one.model_dump(mode="json") for one in found.bins(bins=bins)]
    return {"answers": len(found), "ece": found.ece(bins=bins), "bins": shown}


def _finite(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what JSON can hold."""
    return {key: None if isinstance(value, float) and not isfinite(value) else value for key, value in found.items()}


def _by_state(db: sa.Connection, query: sa.Select[Any]) -> dict[str, int]:
    return {str(row[0]): int(row[1]) for row in db.execute(query)}


@router.get("/projects/{project}/agreement")
def agreement(
    bench: Bench, asker: Asked, project: int, samples: Annotated[int, Query(ge=1, le=2000)] = 200
) -> dict[str, Any]:
    """Return how far annotators agree on documents that two or more have finished, with intervals by bootstrap.

    GOLD mentions that all readers of a document left as they are do not count. While the knowledge base cannot be
    opened, links are compared by their ids alone, and ``kb`` is empty.
    """
    kb = openable_kb(bench, project)
    read: defaultdict[str, dict[str, Document]] = defaultdict(dict)
    bare = set[str]()
    done = sa.and_(assignment.c.kind == "annotate", assignment.c.state == "done", ~document.c.redacted)
    named = sa.select(assignment.c.id, assignment.c.document, assignment.c.suggestions, tables.user.c.name)
    finished = named.join(document).join(tables.user, tables.user.c.id == assignment.c.user).where(done)
    with bench.store.read() as db:
        seen = visible_streams(db, project, asker.user)
        for row in db.execute(finished.where(assignment.c.id.in_(seen)).order_by(assignment.c.id)):
            read[str(row.document)][row.name] = replace(export(db, row.id), id=str(row.document))
            bare |= set() if row.suggestions else {str(row.document)}
    work: defaultdict[str, dict[str, Document]] = defaultdict(dict)
    for id, docs in read.items():
        for name, doc in without_common_gold(docs).items():
            work[name][id] = doc
    suggested = read.keys() - bare
    with bench.store.read() as db:
        live = live_ids(db, project, kb)
    return compare_annotators(work, kb=kb, live=live, suggested=suggested, samples=samples).to_record()
