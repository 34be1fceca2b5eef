"""Which predicted document belongs to which gold document, and which predicted mention to which gold mention.

What does not belong together is refused with the documents named. No pairing depends on the order of documents or
mentions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linnet.data import Candidates, Document, Mention
from linnet.errors import MismatchError
from linnet.kb import KnowledgeBase

__all__ = ["pair_documents", "partners", "sort_by_place"]

SHOWN = 5  # documents named in a message
Fits = Callable[[Mention, Mention], bool]


def pair_documents(
    gold: Sequence[Document], predicted: Sequence[Document], *, kb: KnowledgeBase | None
) -> list[tuple[Document, Document]]:
    """Return each gold document with the predicted one of the same id, in gold's order.

    Args:
        gold: documents with gold mentions.
        predicted: the same documents, in any order, with predicted mentions.
        kb: the knowledge base that the predictions were made with; None = not known, nothing is compared with it.

    Raises:
        MismatchError: documents are missing on one side, occur twice, or differ in their text; the predicted ones hold
            gold mentions, which would count as right; or their candidates are rows of another version of `kb`, or ids
            of one that is not in its history.

    >>> gold = [Document("a", "Fits."), Document("b", "Cough.")]
    >>> [(one.id, other.id) for one, other in pair_documents(gold, gold[::-1], kb=None)]
    [('a', 'a'), ('b', 'b')]
    """
    theirs, ours = _by_id(gold, "gold"), _by_id(predicted, "predicted")
    for what, one, other in (("predicted", theirs, ours), ("gold", ours, theirs)):
        _refuse([id for id in one if id not in other], f"not among the {what} ones", "evaluate the same documents")
    _refuse(
        [id for id, doc in theirs.items() if doc.text != ours[id].text],
        "with another text on the other side",
        "link the very text that was annotated",
    )
    _refuse(
        [doc.id for doc in predicted if any(mention.source == "gold" for mention in doc.mentions or ())],
        "holding gold mentions among the predicted ones",
        "hide them from the pipeline (doc.bare(), doc.spans_only())",
    )
    if kb is not None:
        known = {"", kb.version}
        ever = known | {entry["version"] for entry in kb.history}  # ids that were retired since lead to successors
        foreign = {doc.id: versions for doc in predicted if (versions := _versions(doc, known, ever))}
        found = ", ".join(sorted(set[str]().union(*foreign.values())))
        _refuse(
            list(foreign),
            f"with candidates of knowledge base version {found}",
            f"link them again with {kb.path.name} (version {kb.version}), or evaluate with the one they were made with",
        )
    return [(doc, ours[id]) for id, doc in theirs.items()]


def _versions(doc: Document, known: set[str], ever: set[str]) -> set[str]:
    """Return the versions of candidates that are not among those `known` for rows, or `ever` for ids."""
    lists = (mention.candidates for mention in doc.mentions or () if mention.candidates is not None)
    return {one.kb for one in lists if one.kb not in (ever if one.ids or not len(one) else known)}


def _by_id(docs: Sequence[Document], side: str) -> dict[str, Document]:
    found: dict[str, Document] = {}
    twice: dict[str, None] = {}
    for doc in docs:
        if doc.id in found:
            twice[doc.id] = None
        found[doc.id] = doc
    _refuse(list(twice), f"occurring more than once among the {side} documents", "ids must be unique")
    return found


def _refuse(ids: Sequence[str], what: str, way_out: str) -> None:
    if ids:
        some = ", ".join(map(repr, ids[:SHOWN])) + (", …" if len(ids) > SHOWN else "")
        count = f"{len(ids)} document{'s' if len(ids) > 1 else ''}"
        raise MismatchError(f"{count} {what}: {some}; {way_out}")


# --- mentions --------------------------------------------------------------------------------------------------------


def sort_by_place(mentions: Sequence[Mention]) -> list[Mention]:
    """Return mentions by their place in the text, longer ones first; no two orders of the same mentions differ.

    >>> [mention.span for mention in sort_by_place([Mention(5, 9), Mention(0, 3), Mention(0, 9)])]
    [Span(start=0, end=9), Span(start=0, end=3), Span(start=5, end=9)]
    """
    return sorted(mentions, key=_place)


def _place(mention: Mention) -> Any:
    said = (mention.concepts is None, mention.concepts or (), mention.alternatives, mention.types)
    return mention.start, -mention.end, mention.parts, mention.id, *said


def partners(gold: Sequence[Mention], predicted: Sequence[Mention], *, fits: Fits) -> list[Mention | None]:
    """Return for each gold mention the predicted one of the same span, or None; none is used twice.

    The span of a discontinuous mention is its hull, as end to end (`linnet.evaluate.end_to_end`), but mentions of the
    same parts come first. If several predictions have the same span, the one with the gold mention's id is its own. The
    others are taken by probability, without a look at gold, as many as there are gold mentions; among these each goes
    to a gold mention that it fits, if there is one. So a second guess at a span never helps, and two right answers at a
    span that gold has twice are both right.

    Args:
        gold: gold mentions of one document, in the order of `sort_by_place`.
        predicted: predicted mentions of the same document, in any order.
        fits: says whether a prediction (second) answers a gold mention (first).
    """
    found: list[Mention | None] = [None] * len(gold)
    left = _pair_up(gold, predicted, found, where=lambda mention: mention.spans, fits=fits)
    if any(mention.parts for mention in (*gold, *left)):
        _pair_up(gold, left, found, where=lambda mention: mention.span, fits=fits)
    return found


def _pair_up(
    gold: Sequence[Mention],
    predicted: Sequence[Mention],
    found: list[Mention | None],
    *,
    where: Callable[[Mention], object],
    fits: Fits,
) -> list[Mention]:
    """Fill the gaps of `found` with predictions that stand at the same place; return those that are left over."""
    ours: dict[object, list[Mention]] = {}
    for mention in predicted:
        ours.setdefault(where(mention), []).append(mention)
    places: dict[object, list[int]] = {}
    for at, mention in enumerate(gold):
        if found[at] is None:
            places.setdefault(where(mention), []).append(at)
    for place, here in places.items():
        there = ours.get(place, [])
        if len(here) == len(there) == 1:
            found[here[0]] = there.pop()
        elif there:
            there.sort(key=_preference)
            for at, mention in _share(here, [gold[at] for at in here], there, fits):
                found[at] = mention
    return [mention for there in ours.values() for mention in there]


def _share(places: list[int], gold: list[Mention], ours: list[Mention], fits: Fits) -> list[tuple[int, Mention]]:
    """Return the pairs among the mentions of one place; `ours` come in order of preference and are used up."""
    shared: list[tuple[int, Mention]] = []
    waiting = dict(zip(places, gold, strict=True))

    def pair(most: int, belong: Fits) -> None:
        for at, mention in list(waiting.items()):
            own = next((place for place, other in enumerate(ours[:most]) if belong(mention, other)), None)
            if own is not None:
                shared.append((at, ours.pop(own)))
                del waiting[at]
                most -= 1

    pair(len(ours), lambda mention, other: bool(mention.id) and mention.id == other.id)
    pair(len(waiting), fits)
    pair(len(waiting), lambda _mention, _other: True)
    return shared


def _preference(mention: Mention) -> Any:
    """Say which of several predictions of one span comes first: the more probable one, then any fixed order."""
    probability = -1.0 if mention.probability is None else mention.probability
    said = (mention.concepts or (), mention.id, mention.types, mention.alternatives)
    return mention.concepts is None, -probability, *said, _list_candidates(mention.candidates)


def _list_candidates(candidates: Candidates | None) -> list[tuple[float, int, str]]:
    if candidates is None:
        return []
    ids = [id or "" for id in candidates.ids] or [""] * len(candidates)
    return sorted(zip((-candidates.scores).tolist(), candidates.rows.tolist(), ids, strict=True))
