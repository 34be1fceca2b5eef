"""What people decided as documents: for files, and for training, where what nobody has judged is not a negative.

Both follow from events up to a number alone, not from what models say today: the same number gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from linnet.annotate.acts import is_done, marks, standing_mentions
from linnet.annotate.documents import document_of, gold_of, row_of
from linnet.annotate.events import fold
from linnet.annotate.journal import events_of, last_number, state_of
from linnet.annotate.marks import DOCUMENT, Live, Mark, Parts, Progress, State, answers_of
from linnet.annotate.problems import NotFoundError
from linnet.annotate.runs import assertions_of
from linnet.annotate.tables import assignment, document, event
from linnet.data import Document, Mention, Span, by_position
from linnet.frozen import EMPTY

__all__ = ["export", "export_project", "sources", "training_set", "without_common_gold"]


@dataclass(frozen=True, slots=True)
class _Work:
    """A stream up to some event: the document as it was uploaded, and what one person says of it.

    ``assertions`` are those of the predictions that its marks were made from (`linnet.annotate.runs.assertions_of`).
    """

    row: Mapping[str, Any]
    state: State
    assertions: Mapping[str, str] = EMPTY


def export(db: sa.Connection, stream: int, *, to: int | None = None, unsure: bool = True) -> Document:
    """Return the document of an assignment with its GOLD and USER mentions, as they stood after event number `to`.

    ``reviewed`` are the spans that somebody has gone through: all of it when it was done or came with GOLD mentions,
    else those that were decided on; never those that somebody is unsure of or that were left open. Unsure mentions say
    so in ``meta``, and are left out without `unsure`.

    Raises:
        DataError: the text of the document was erased.
        NotFoundError: there is no such assignment.
    """
    id = db.scalar(sa.select(assignment.c.document).where(assignment.c.id == stream))
    if id is None:
        raise NotFoundError(f"there is no assignment {stream}")
    return _exported(_Work(row_of(db, id), state_of(fold(events_of(db, stream, to=to)).items())), unsure)


def export_project(
    db: sa.Connection,
    project: int,
    *,
    to: int | None = None,
    streams: sa.Select[Any] | None = None,
    live: Live = str,
) -> list[Document]:
    """Return the documents of a project with what its people agree on, in the order in which they were uploaded.

    Where a document was adjudicated, that is its answer, of several the one given back last. Otherwise a mention counts
    if all who worked on the document have it, and the spans of all others are not ``reviewed``. Documents nobody has
    begun are as they were uploaded, those whose text was erased are left out. `streams` are those that the asker may
    see (`linnet.annotate.blind`). `live` leads ids to those that are compared (`linnet.annotate.proposals.live_ids`): a
    concept and the one that it became are one answer, for which the first reader's stands.

    A suggestion that was accepted, with its span and its concepts, keeps the assertion that it came with. People mark
    no assertions: what they marked, moved or linked otherwise has none.
    """
    return _documents(db, project, last_number(db) if to is None else to, streams, live, training=False)


def without_common_gold(docs: Mapping[str, Document]) -> dict[str, Document]:
    """Return readers' documents without the GOLD mentions that all of them left as they are.

    These came with the document: they say nothing of how far readers agree, or of what they miss.

    Args:
        docs: one document as each of its readers has it, as `export` gives it.
    """
    unchanged = [{_said(one) for one in doc.mentions or () if one.source == "gold"} for doc in docs.values()]
    common = set.intersection(*unchanged) if len(unchanged) > 1 else set()

    def kept(mention: Mention) -> bool:
        return mention.source != "gold" or _said(mention) not in common

    return {who: replace(doc, mentions=tuple(filter(kept, doc.mentions or ()))) for who, doc in docs.items()}


def training_set(db: sa.Connection, project: int, to: int, *, live: Live = str) -> list[Document]:
    """Return what can be learned from after event number `to`: documents that are begun, or have GOLD mentions.

    It is as `export_project`, without unsure mentions, and without assertions, which nobody has checked. It depends on
    `to` and `live` alone: only erasing a text changes it later.
    """
    docs = _documents(db, project, to, None, live, training=True)
    return [doc for doc in docs if doc.mentions is not None]


def sources(db: sa.Connection, project: int, to: int) -> set[tuple[int, int]]:
    """Return (document, user) for each stream that `training_set` learns from: what its model must not be shown for."""
    query = (
        sa.select(assignment.c.document, assignment.c.user)
        .join(event, event.c.stream == assignment.c.id)
        .where(assignment.c.project == project, event.c.n <= to, assignment.c.user.is_not(None))
    )
    return {(row.document, row.user) for row in db.execute(query.distinct())}


def _documents(
    db: sa.Connection, project: int, to: int, streams: sa.Select[Any] | None, live: Live, *, training: bool
) -> list[Document]:
    there = sa.and_(document.c.project == project, document.c.added <= to, ~document.c.redacted)
    rows = db.execute(sa.select(document).where(there).order_by(document.c.id)).mappings().all()
    found: list[Document] = []
    for row in map(dict, rows):
        works = _works(db, row, to, streams)
        if not training:
            works = [_asserted(db, work) for work in works]
        found.append(_agreed(row, works, live, unsure=not training))
    return found


def _asserted(db: sa.Connection, work: _Work) -> _Work:
    return replace(work, assertions=assertions_of(db, work.row["id"], marks(work.state).values()))


def _works(db: sa.Connection, row: Mapping[str, Any], to: int, streams: sa.Select[Any] | None) -> list[_Work]:
    """Return the streams that count for a document: the last finished adjudication alone, or all that have begun."""
    query = sa.select(assignment.c.id, assignment.c.kind).where(assignment.c.document == row["id"])
    if streams is not None:
        query = query.where(assignment.c.id.in_(streams))
    works: list[_Work] = []
    judged: dict[str, _Work] = {}  # by when they were given back, which is the same in every database
    for id, kind in db.execute(query.order_by(assignment.c.id)).all():
        events = events_of(db, id, to=to)
        work = _Work(row, state_of(fold(events).items()))
        if kind == "adjudicate" and is_done(work.state):
            judged[max(one.at for one in events if one.mention == DOCUMENT)] = work
        if kind != "adjudicate" and _decided(work.state):
            works.append(work)
    return [judged[max(judged)]] if judged else works


def _decided(state: State) -> bool:
    """Return whether somebody has said anything of a document's mentions: a comment on it is no answer yet."""
    return bool(marks(state)) or is_done(state)


def _agreed(row: Mapping[str, Any], works: Sequence[_Work], live: Live, unsure: bool) -> Document:
    """Return what all of `works` say of a document; where they differ, nobody has reviewed it."""
    if not works:
        return _exported(_Work(row, {}), unsure)
    docs = [_exported(work, unsure) for work in works]
    if len(docs) == 1:
        return docs[0]
    found = [{_said(mention, live): mention for mention in doc.mentions or ()} for doc in docs]
    agreed = set.intersection(*(set(one) for one in found))
    disputed = [mention.span for one in found for said, mention in one.items() if said not in agreed]
    reviewed = _joined([Span(0, len(docs[0].text))])
    for doc in docs:
        reviewed = _without(reviewed, _without([Span(0, len(doc.text))], _reviewed(doc)))
    kept = by_position(_together([one[said] for one in found]) for said in found[0] if said in agreed)
    return _reviewing(replace(docs[0], mentions=kept), _without(reviewed, disputed))


def _together(mentions: Sequence[Mention]) -> Mention:
    """Return what readers say alike, whoever came first: unsure if one is, the reason for NIL if all give it."""
    first, meta = mentions[0], dict(mentions[0].meta)
    if any(one.meta.get("unsure") is True for one in mentions):
        meta["unsure"] = True
    if any(one.meta.get("nil") != first.meta.get("nil") for one in mentions):
        meta.pop("nil", None)
    return first if meta == first.meta else replace(first, meta=meta)


def _said(mention: Mention, live: Live = str) -> tuple[object, ...]:
    """Return what a mention says, whatever the order of its types, concepts and alternatives."""
    return mention.spans, frozenset(mention.types), answers_of(mention, live)


def _exported(work: _Work, unsure: bool) -> Document:
    doc = document_of(work.row)
    if doc.mentions is None and not work.state:
        return doc
    marks_of_gold = gold_of(work.row)
    gold = dict(zip(marks_of_gold, doc.mentions or (), strict=True))
    standing = standing_mentions(marks_of_gold, work.state)
    kept = ((key, mark) for key, mark in standing.items() if unsure or not mark.unsure)
    mentions = by_position(
        gold[key] if mark.source == "gold" else _mention(key, mark, work.assertions) for key, mark in kept
    )
    doubtful = [mark.hull for mark in standing.values() if mark.unsure] + _left_open(work.state)
    return _reviewing(replace(doc, mentions=mentions), _without(_gone_through(doc, work.state), doubtful))


def _gone_through(doc: Document, state: State) -> list[Span]:
    """Return the spans that whoever made the GOLD layer, or has decided since, has gone through."""
    if is_done(state):
        return [Span(0, len(doc.text))]
    before = [] if doc.mentions is None else _reviewed(doc)
    return _joined([*before, *(part for mark in marks(state).values() for part in mark.parts)])


def _mention(key: str, mark: Mark, assertions: Mapping[str, Any]) -> Mention:
    meta = {name: value for name, value in (("nil", mark.nil), ("unsure", mark.unsure)) if value}
    return Mention(
        *mark.hull,
        parts=mark.parts if len(mark.parts) > 1 else (),
        id=key,
        types=mark.types,
        source="user",
        concepts=mark.concepts,
        alternatives=mark.alternatives,
        assertion=assertions.get(mark.origin, ""),
        meta=meta,
    )


def _left_open(state: State) -> list[Span]:
    """Return the spans of predictions that nobody had decided on when the document was given back."""
    progress = state.get(DOCUMENT)
    waiting: Iterable[Parts] = progress.open if isinstance(progress, Progress) else ()
    return [Span(parts[0].start, parts[-1].end) for parts in waiting]


def _reviewing(doc: Document, seen: Sequence[Span]) -> Document:
    return replace(doc, reviewed=None if list(seen) == [Span(0, len(doc.text))] else tuple(seen))


def _reviewed(doc: Document) -> Sequence[Span]:
    return [Span(0, len(doc.text))] if doc.reviewed is None else doc.reviewed


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, those that touch or overlap as one.

    >>> _joined([Span(4, 6), Span(0, 2), Span(1, 4)])
    [Span(start=0, end=6)]
    """
    made: list[Span] = []
    for start, end in sorted(spans):
        if made and start <= made[-1].end:
            made[-1] = Span(made[-1].start, max(end, made[-1].end))
        elif start < end:
            made.append(Span(start, end))
    return made


def _without(spans: Iterable[Span], others: Iterable[Span]) -> list[Span]:
    """Return what is left of spans without the others.

    >>> _without([Span(0, 9)], [Span(2, 4), Span(8, 12)])
    [Span(start=0, end=2), Span(start=4, end=8)]
    """
    left = _joined(spans)
    for hole in _joined(others):
        pieces = [(Span(start, min(end, hole.start)), Span(max(start, hole.end), end)) for start, end in left]
        left = [piece for pair in pieces for piece in pair if piece.start < piece.end]
    return left
