"""Whether reading on still pays: errors left, stable predictions, the learning curve, what readers missed.

All of it rests on finished work that the asker may see. It shows numbers; people decide.
"""

from __future__ import annotations

import itertools
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from linnet.annotate.blind import awaited, visible_streams
from linnet.annotate.drawing import RANDOM_NOTE, predicted_documents
from linnet.annotate.errors_left import ErrorsLeft, Missed, Round, count_errors, errors_left, missed_by_both
from linnet.annotate.exports import export, without_common_gold
from linnet.annotate.stopping import ROUNDS, Signal, errors_signal, gain_signal, kappa, stability_signal
from linnet.annotate.tables import assignment, document, event, model, now, round_, run, user
from linnet.annotate.unread import Unread
from linnet.data import Document

__all__ = ["Outlook", "Pair", "outlook"]

STOP_SET = 100  # unread documents that models are compared on
ENOUGH = 10  # random documents: those of earlier rounds tell of earlier models, which erred more
MINUTE = 60_000.0  # milliseconds


class Pair(NamedTuple):
    """Two readers of the same ``documents``, and the mentions that both missed."""

    annotators: tuple[str, str]
    documents: int
    missed: Missed


@dataclass(frozen=True)
class Outlook:
    """What is known about stopping.

    Args:
        left: the errors that readers would still find; None = no document of the last rounds that was drawn by chance
            has been read, or none is unread.
        unread: how many documents that is about: those that nobody had begun when the last ones were drawn, and nobody
            has since; 0 = there are no others either; None = none were drawn from predictions, or those that are left
            came after all from which some were drawn.
        signals: none of them stops anything.
        pairs: for each two readers of the same documents.
    """

    left: ErrorsLeft | None
    unread: int | None
    signals: Sequence[Signal]
    pairs: Sequence[Pair]


def outlook(
    db: sa.Connection, project_id: int, user_id: int, *, gain: float, live: Callable[[str], str] = str
) -> Outlook:
    """Return what is known about stopping, from what a user may see.

    Errors left are those of the model that was in use when the last documents were drawn. Models are compared on up to
    100 unread documents, the same ones as long as nobody reads them. The learning curve holds the score of each model
    on its dev documents over the minutes of work that it learned from.

    Args:
        db: a connection that reads.
        project_id: the project.
        user_id: who asks.
        gain: the gain in the models' score that an hour of work is worth.
        live: leads ids to those that are compared (`linnet.annotate.proposals.live_ids`).
    """
    work = _finished(db, project_id, user_id)
    read = {id: next(iter(by_reader.values())) for id, by_reader in work.items()}
    rounds, used, unread = _rounds(db, project_id, user_id, read, live)
    # where all are read there is nothing to tell from a few of them
    left = errors_left(rounds) if unread and any(one.random for one in rounds) else None
    signals = [
        stability_signal(_kappas(db, project_id, unread)),
        gain_signal(_curve(db, project_id, user_id), limit=gain),
    ]
    if left is not None:
        signals.insert(0, errors_signal(left, _count_mentions(db, project_id, read, used, unread)))
    about = None if used is None or (not unread and _is_any_left(db, project_id)) else len(unread)
    return Outlook(left, about, signals, _pairs(work))


def _finished(db: sa.Connection, project_id: int, user_id: int) -> dict[int, dict[str, Document]]:
    """Return the documents that were read, by number and reader."""
    query = sa.select(assignment.c.id, assignment.c.document, user.c.name).join(document).join(user, _reader())
    done = sa.and_(assignment.c.kind == "annotate", assignment.c.state == "done", ~document.c.redacted)
    seen = assignment.c.id.in_(visible_streams(db, project_id, user_id))
    found: defaultdict[int, dict[str, Document]] = defaultdict(dict)
    for row in db.execute(query.where(done, seen).order_by(assignment.c.id)):
        found[row.document][row.name] = export(db, row.id)
    return found


def _reader() -> sa.ColumnElement[bool]:
    return user.c.id == assignment.c.user


def _rounds(
    db: sa.Connection, project_id: int, user_id: int, read: Mapping[int, Document], live: Callable[[str], str]
) -> tuple[list[Round], str | None, set[int]]:
    """Return the last rounds that left the same documents unread, the run of the last one, and these documents.

    Of earlier ones there are no more than it takes to have enough random documents.
    A document that somebody is reading now is neither read nor unread: it is left out of all of them.
    """
    open_now = _taken(db, project_id) - read.keys()
    query = sa.select(round_).where(
        round_.c.project == project_id, round_.c.pool.is_not(None), round_.c.run.is_not(None)
    )
    pools = {
        row["id"]: (row["run"], _ids(row["pool"]) - open_now)
        for row in db.execute(query.order_by(round_.c.id)).mappings()
    }
    if not pools:
        return [], None, set()
    used, last = list(pools.values())[-1]
    unread = last - read.keys()
    alike = {id: one for id, one in pools.items() if one[1] - read.keys() == unread}
    by_chance = _drawn_by_chance(db, project_id, user_id)
    rounds = list[Round]()
    for id, one in reversed(alike.items()):
        if sum(len(other.random) for other in rounds) < ENOUGH:
            pool = _Pool(*one, by_chance.get(id, set()))
            rounds.append(_round(db, project_id, pool, read, live))
    return rounds[::-1], used, unread


def _taken(db: sa.Connection, project_id: int) -> set[int]:
    """Return the documents that cannot be drawn any more, or that somebody reads or has read."""
    mine = sa.and_(assignment.c.project == project_id, assignment.c.kind == "annotate", awaited(assignment, now(db)))
    erased = sa.select(document.c.id).where(document.c.project == project_id, document.c.redacted)
    return {*db.scalars(sa.select(assignment.c.document).where(mine)), *db.scalars(erased)}


def _is_any_left(db: sa.Connection, project_id: int) -> bool:
    """Return whether there is a document that nobody reads or has read, and that could be drawn."""
    there = db.scalars(sa.select(document.c.id).where(document.c.project == project_id))
    return not _taken(db, project_id).issuperset(there)


def _ids(ranges: Iterable[tuple[int, int]]) -> set[int]:
    return {id for first, last in ranges for id in range(first, last + 1)}


def _drawn_by_chance(db: sa.Connection, project_id: int, user_id: int) -> dict[int, set[int]]:
    """Return the documents of each round that were drawn by chance and are done."""
    it = assignment.c
    chance = sa.and_(it.project == project_id, it.kind == "annotate", it.why == RANDOM_NOTE, it.state == "done")
    seen = it.id.in_(visible_streams(db, project_id, user_id))
    found: defaultdict[int, set[int]] = defaultdict(set)
    for row in db.execute(sa.select(it.round, it.document).where(chance, seen)):
        found[row.round].add(row.document)
    return found


class _Pool(NamedTuple):
    """The run that predicted some documents, these, and those that were drawn by chance."""

    run: str
    documents: Set[int]
    by_chance: Set[int]


def _round(
    db: sa.Connection, project_id: int, pool: _Pool, read: Mapping[int, Document], live: Callable[[str], str]
) -> Round:
    said = _said(db, project_id, pool.run, pool.documents)
    done = pool.documents & read.keys()
    found = {str(id): float(count_errors(read[id], said[id].document, live=live)) for id in done}
    expected = {str(id): one.expected_errors for id, one in said.items()}
    return Round(expected, found, [str(id) for id in pool.by_chance & done])


def _said(db: sa.Connection, project_id: int, used: str | None, ids: Set[int]) -> dict[int, Unread]:
    """Return what a run says of documents, nothing of those that it has not predicted."""
    texts = _texts(db, project_id, ids)
    found = predicted_documents(db, used, texts, brief=True)
    return {id: Unread(found.get(id) or Document(str(id), row["text"])) for id, row in texts.items()}


def _texts(db: sa.Connection, project_id: int, ids: Set[int]) -> dict[int, dict[str, Any]]:
    columns = (document.c.id, document.c.text, document.c.meta)
    rows = db.execute(sa.select(*columns).where(document.c.project == project_id)).mappings()
    return {row["id"]: dict(row) for row in rows if row["id"] in ids}


def _count_mentions(
    db: sa.Connection, project_id: int, read: Mapping[int, Document], used: str | None, unread: Set[int]
) -> int:
    """Return how many mentions people found, and a model predicts where nobody has read."""
    found = sum(len(doc.mentions or ()) for doc in read.values())
    return found + sum(len(one.mentions) for one in _said(db, project_id, used, unread).values())


# --- models ----------------------------------------------------------------------------------------------------------


def _kappas(db: sa.Connection, project_id: int, unread: Set[int]) -> list[float]:
    """Return κ of each model and the one before on the stop set, the last one last."""
    stop_set = sorted(unread, key=_place)[:STOP_SET]
    it = run.c
    query = sa.select(sa.func.max(it.number)).where(it.project == project_id, it.model.is_not(None)).group_by(it.model)
    numbers = sorted(db.scalars(query))[-ROUNDS - 1 :]
    last = sa.select(it.id).where(it.project == project_id, it.number.in_(numbers)).order_by(it.number)
    texts = _texts(db, project_id, set(stop_set))
    said = [predicted_documents(db, id, texts, brief=True) for id in db.scalars(last).all()]
    kappas: list[float] = []
    for before, after in itertools.pairwise(said):
        both = [id for id in stop_set if id in before and id in after and before[id].text.strip()]
        if both:
            kappas.append(kappa([before[id] for id in both], [after[id] for id in both]))
    return kappas


def _place(id: int) -> int:
    return zlib.crc32(str(id).encode())


def _curve(db: sa.Connection, project_id: int, user_id: int) -> list[tuple[float, float]]:
    """Return the minutes of work that each model learned from, and its score.

    Scores of several measures make no curve: those count that are measured as the last model is.
    """
    points: list[tuple[float, float]] = []
    seen = event.c.stream.in_(visible_streams(db, project_id, user_id))
    taken = sa.func.sum(sa.cast(event.c.ms, sa.Double))
    query = sa.select(model.c.metrics, model.c.data_to_event).where(model.c.project == project_id)
    models = db.execute(query.order_by(model.c.data_to_event, model.c.made)).all()
    measure = models[-1].metrics.get("measure") if models else None
    for row in models:
        score = row.metrics.get("measures", {}).get(measure, {}).get("value")
        of_project = sa.and_(event.c.project == project_id, event.c.n <= row.data_to_event, seen)
        minutes = float(db.scalar(sa.select(taken).where(of_project)) or 0.0) / MINUTE
        if score is not None and minutes > 0:
            points.append((minutes, float(score)))
    return points


# --- readers ---------------------------------------------------------------------------------------------------------


def _pairs(work: Mapping[int, Mapping[str, Document]]) -> list[Pair]:
    """Return how much each two readers of the same documents missed."""
    counts: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for by_reader in work.values():
        docs = sorted(without_common_gold(by_reader).items())
        spans = {name: {mention.spans for mention in doc.mentions or ()} for name, doc in docs}
        for one, other in itertools.combinations(spans, 2):
            new = (1, len(spans[one]), len(spans[other]), len(spans[one] & spans[other]))
            counts[one, other] = [old + more for old, more in zip(counts[one, other], new, strict=True)]
    return [Pair(who, documents, missed_by_both(*found)) for who, (documents, *found) in sorted(counts.items())]
