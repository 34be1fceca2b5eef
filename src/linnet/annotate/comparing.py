"""Two models on the same documents: what the one has right and the other has not.

Documents count that somebody is done with, that the asker may see, that both models have predicted, and that neither
has learned from: those kept apart in training, and those that were read later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from linnet.annotate.blind import visible_streams
from linnet.annotate.drawing import predicted_documents
from linnet.annotate.exports import export
from linnet.annotate.marks import DOCUMENT
from linnet.annotate.models import model_row
from linnet.annotate.runs import learned_from
from linnet.annotate.scoring import kept_apart
from linnet.annotate.tables import assignment, document, event, run
from linnet.data import Document, Mention, Span
from linnet.pipeline.component import is_reviewed

__all__ = ["Comparison", "Difference", "compare_models"]

MOST = 50  # differences that are shown
Answers = Mapping[tuple[Span, ...], Sequence[Mention]]


@dataclass(frozen=True)
class Difference:
    """A place where one model is right and the other is not.

    Args:
        document: its number.
        parts: the spans.
        a: the concepts that the one says, None where it has no mention there.
        b: those that the other says.
        gold: those that people say, None where they have no mention there.
    """

    document: int
    parts: tuple[Span, ...]
    a: tuple[str, ...] | None
    b: tuple[str, ...] | None
    gold: tuple[str, ...] | None


@dataclass
class Comparison:
    """How two models differ: places at which both are right, only the second (fixed) or first (broke), or neither."""

    documents: int
    both_right: int
    fixed: int
    broke: int
    both_wrong: int
    examples: list[Difference]


def compare_models(
    db: sa.Connection, project_id: int, user_id: int, a: str, b: str, *, live: Callable[[str], str] = str
) -> Comparison:
    """Compare model `b` with `a`; `live` leads ids to those that are compared.

    A place is right if people and the model have a mention of the same spans there, with an accepted answer if both say
    one, or neither has one; places that nobody went through do not count.

    Raises:
        NotFoundError: the project has no such model.
    """
    read = _read(db, project_id, user_id)
    for id in (a, b):
        read = _not_learned_from(db, model_row(db, project_id, id), read)
    texts = {id: {"id": id, "text": doc.text, "meta": {}} for id, doc in read.items()}
    ours, theirs = (predicted_documents(db, _last_run(db, id), texts, brief=True) for id in (a, b))
    both = sorted(ours.keys() & theirs.keys())
    places = [place for id in both for place in _places(id, read[id], (ours[id], theirs[id]), live)]
    verdicts = Counter((before, after) for _, before, after in places)
    return Comparison(
        documents=len(both),
        both_right=verdicts[True, True],
        fixed=verdicts[False, True],
        broke=verdicts[True, False],
        both_wrong=verdicts[False, False],
        examples=[one for one, before, after in places if before != after][:MOST],
    )


def _not_learned_from(db: sa.Connection, model: Mapping[str, Any], read: dict[int, Document]) -> dict[int, Document]:
    """Return the documents that a model has not seen in training, but for keeping them apart."""
    seen = learned_from(sa.literal(model["id"]), document.c.id)
    learned = set(db.scalars(sa.select(document.c.id).where(document.c.project == model["project"], seen)))
    share = model["card"].get("dev") or 0.0
    return {id: doc for id, doc in read.items() if id not in learned or kept_apart(doc.id, share)}


def _read(db: sa.Connection, project_id: int, user_id: int) -> dict[int, Document]:
    """Return the documents that somebody is done with, by number: as adjudicated last, else as read first."""
    query = sa.select(assignment.c.id, assignment.c.document).join(document)
    done = sa.and_(assignment.c.state == "done", ~document.c.redacted)
    seen = assignment.c.id.in_(visible_streams(db, project_id, user_id))
    back = sa.and_(event.c.stream == assignment.c.id, event.c.mention == DOCUMENT)
    judged = sa.select(sa.func.max(event.c.at)).where(back, assignment.c.kind == "adjudicate").scalar_subquery()
    found: dict[int, Document] = {}
    for row in db.execute(query.where(done, seen).order_by(sa.func.coalesce(judged, "").desc(), assignment.c.id)):
        if row.document not in found:
            found[row.document] = export(db, row.id)
    return found


def _last_run(db: sa.Connection, model: str) -> str | None:
    last: str | None = db.scalar(sa.select(run.c.id).where(run.c.model == model).order_by(run.c.number.desc()).limit(1))
    return last


def _places(
    id: int, read: Document, answered: tuple[Document, Document], live: Callable[[str], str]
) -> Iterator[tuple[Difference, bool, bool]]:
    gold, *said = (_answers(doc) for doc in (read, *answered))
    for parts in sorted({*gold, *said[0], *said[1]}):
        if parts in gold or is_reviewed(read, Span(parts[0].start, parts[-1].end)):
            before, after = (_is_right(some.get(parts), gold.get(parts), live) for some in said)
            shown = (_first(some.get(parts)) for some in (*said, gold))
            yield Difference(id, parts, *shown), before, after


def _answers(doc: Document) -> Answers:
    found: dict[tuple[Span, ...], list[Mention]] = {}
    for mention in doc.mentions or ():
        found.setdefault(mention.spans, []).append(mention)
    return found


def _first(some: Sequence[Mention] | None) -> tuple[str, ...] | None:
    return None if not some else tuple(some[0].concepts or ())


def _is_right(said: Sequence[Mention] | None, gold: Sequence[Mention] | None, live: Callable[[str], str]) -> bool:
    if not said or not gold:
        return not said and not gold
    if any(one.concepts is None for one in gold):  # not linked: that there is a mention is all that was said
        return True
    accepted = {frozenset(map(live, answer)) for one in gold for answer in (one.concepts or (), *one.alternatives)}
    return all(one.concepts is None or frozenset(map(live, one.concepts)) in accepted for one in said)
