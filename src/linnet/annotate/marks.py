"""What events say of a document: marks on its mentions, comments, and whether it is done. Values without a database.

A stream (one document as one person sees it) maps addresses to such values. The address of a mention never changes,
whatever happens to it: one of the GOLD layer has its own (``g3``), a predicted one has `address` of its span and
concepts, so that two models that predict the same mean the same thing, and a new one has the name that whoever made
it gave it. A comment has ``#`` and the id of its command, the document itself the empty text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from linnet.data import Mention, Source, Span
from linnet.errors import DataError

__all__ = [
    "DOCUMENT",
    "NILS",
    "NOTE",
    "Live",
    "Mark",
    "Nil",
    "Note",
    "Parts",
    "Predicted",
    "Progress",
    "State",
    "Value",
    "address",
    "answers_of",
    "canonical",
    "fit",
    "is_mention",
    "same",
    "text_hash",
    "to_json",
    "value_of",
]

Parts: TypeAlias = tuple[Span, ...]
Live: TypeAlias = Callable[[str], str]  # leads an id to the one to compare (`linnet.annotate.proposals.live_ids`)
# why no concept fits; events hold no text, so that it can be erased: more is said in a comment
Nil: TypeAlias = Literal["", "not in KB", "too general", "not a mention", "other"]
NILS: tuple[Nil, ...] = get_args(Nil)
DOCUMENT = ""
NOTE = "#"


@dataclass(frozen=True, slots=True)
class Mark:
    """What was decided about one mention.

    ``concepts`` and ``alternatives`` are those of `linnet.data.Mention`; ``nil`` says why nothing fits. ``source`` is
    ``gold`` for a mention of the GOLD layer that was confirmed or ruled out as it is, ``pred`` for a prediction that
    was ruled out, ``user`` for all else. ``origin`` is what it was before: an address of the GOLD layer, a run and its
    prediction, or nothing. ``rejected`` and ``deleted`` marks stay, so that no model proposes the same again.
    """

    parts: Parts
    types: tuple[str, ...] = ()
    concepts: tuple[str, ...] | None = None
    alternatives: tuple[tuple[str, ...], ...] = ()
    nil: str = ""
    unsure: bool = False
    source: Source = "user"
    origin: str = ""
    state: Literal["live", "rejected", "deleted"] = "live"

    @property
    def live(self) -> bool:
        """Whether it counts as a mention."""
        return self.state == "live"

    @property
    def hull(self) -> Span:
        """From its first to its last character."""
        return Span(self.parts[0].start, self.parts[-1].end)


@dataclass(frozen=True, slots=True)
class Note:
    """A comment: the address of what it is about, and the SHA-256 of its text, which is kept where it can be erased."""

    on: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Progress:
    """Whether the document is done, and the predictions nobody had decided on then: they are no negatives."""

    state: Literal["open", "done", "reopened"] = "open"
    open: tuple[Parts, ...] = ()


@dataclass(frozen=True, slots=True)
class Predicted:
    """A mention that a model proposes; ``candidates`` are JSON as `linnet.codec` writes them."""

    id: str
    mark: Mark
    p: float | None = None
    calibration: str = ""
    candidates: Mapping[str, Any] | None = None
    signals: Mapping[str, float] | None = None


Value: TypeAlias = Mark | Note | Progress
State: TypeAlias = Mapping[str, Value]


def is_mention(key: str) -> bool:
    """Return whether an address is that of a mention."""
    return key != DOCUMENT and not key.startswith(NOTE)


def canonical(value: Any) -> str:
    """Return JSON that is the same bytes for the same value, in ASCII."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"), sort_keys=True)


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text as UTF-8, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def address(parts: Parts, concepts: Sequence[str] | None) -> str:
    """Return the address of a prediction: the same whatever model says that this span means these concepts.

    >>> address((Span(0, 8),), ("HP:0001250",))
    'p1406139d6cccbe26'
    """
    key = canonical([parts, None if concepts is None else list(concepts)])
    return "p" + hashlib.blake2b(key.encode(), digest_size=8).hexdigest()


def same(one: Value | None, other: Value | None) -> bool:
    """Return whether two values say the same, whatever they were made from; rejected and deleted are the same."""
    if isinstance(one, Mark) and isinstance(other, Mark):
        return one.live == other.live and replace(one, origin="", state="live") == replace(
            other, origin="", state="live"
        )
    if isinstance(one, Progress) and isinstance(other, Progress):
        return one.state == other.state
    return one == other


def answers_of(linked: Mark | Mention, live: Live = str) -> frozenset[frozenset[str]] | None:
    """Return what a mention may mean, whatever the order of concepts and alternatives; None = it was not linked.

    `live` leads ids to those to compare.
    """
    if linked.concepts is None:
        return None
    return frozenset(frozenset(map(live, answer)) for answer in (linked.concepts, *linked.alternatives))


def to_json(value: Value | None) -> dict[str, Any] | None:
    """Return a value as JSON; `value_of` is the way back."""
    if value is None:
        return None
    if isinstance(value, Note):
        return {"on": value.on, "sha256": value.sha256}
    if isinstance(value, Progress):
        return {"state": value.state, "open": [_lists(parts) for parts in value.open]}
    return {
        "parts": _lists(value.parts),
        "types": list(value.types),
        "concepts": None if value.concepts is None else list(value.concepts),
        "alternatives": [list(one) for one in value.alternatives],
        "nil": value.nil,
        "unsure": value.unsure,
        "source": value.source,
        "origin": value.origin,
        "state": value.state,
    }


def value_of(key: str, found: Mapping[str, Any] | None) -> Value | None:
    """Return the value at an address from its JSON.

    Raises:
        DataError: it is no such value.
    """
    if found is None:
        return None
    try:
        if key == DOCUMENT:
            return Progress(found["state"], tuple(_spans(parts) for parts in found["open"]))
        if key.startswith(NOTE):
            return Note(found["on"], found["sha256"])
        return Mark(
            parts=_spans(found["parts"]),
            types=tuple(found["types"]),
            concepts=None if found["concepts"] is None else tuple(found["concepts"]),
            alternatives=tuple(tuple(one) for one in found["alternatives"]),
            nil=found["nil"],
            unsure=found["unsure"],
            source=found["source"],
            origin=found["origin"],
            state=found["state"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"the value of {key or 'the document'!r} is not one of the workbench: {error!r}") from error


def _lists(parts: Parts) -> list[list[int]]:
    return [list(part) for part in parts]


def _spans(parts: Sequence[Sequence[int]]) -> Parts:
    return tuple(Span(start, end) for start, end in parts)


def fit(parts: Sequence[Sequence[int]], text: str) -> Parts:
    """Return the parts of a mention of `text` in their order, without blanks at their edges.

    Raises:
        DataError: none, empty, blank, outside the text, or overlapping.

    >>> fit([[0, 9]], "Seizures and fits.")
    (Span(start=0, end=8),)
    """
    if not parts:
        raise DataError("a mention has one part or more, this has none")
    made: list[Span] = []
    for start, end in sorted(Span(*part) for part in parts):
        if not 0 <= start < end <= len(text):
            raise DataError(f"part {start}-{end} is empty, or lies outside the text of {len(text)} characters")
        piece = text[start:end]
        trimmed = Span(start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip()))
        if trimmed.start >= trimmed.end:
            raise DataError(f"part {start}-{end} holds nothing but blanks")
        if made and made[-1].end > trimmed.start:
            raise DataError(f"parts {tuple(made[-1])} and {tuple(trimmed)} overlap")
        made.append(trimmed)
    return tuple(made)
