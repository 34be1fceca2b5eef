"""Commands, and what each of them changes on a sheet: pure functions of the document, its layers and its state.

What a person sees is made of three layers. GOLD mentions came with the document and never change: to change one is to
put a USER mention in its place. PRED mentions are a model's: they are shown unless somebody has decided about their
address, about the same span and concepts, or has put another mention on the same span. The state holds decisions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from linnet.annotate.events import Change
from linnet.annotate.marks import (
    DOCUMENT,
    NOTE,
    Mark,
    Nil,
    Note,
    Parts,
    Predicted,
    Progress,
    State,
    address,
    fit,
    is_mention,
    same,
    text_hash,
)
from linnet.data import Span
from linnet.errors import DataError

__all__ = [
    "Command",
    "Seen",
    "Sheet",
    "changes",
    "is_done",
    "mark_at",
    "shown_predictions",
    "standing_mentions",
    "twin",
]

Op = Literal[
    "create", "move", "link", "type", "reject", "accept", "delete", "unsure", "comment", "done", "reopen", "undo",
    "redo", "spread", "accept_over", "split",
]  # fmt: skip
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]{1,64}$")]
Label = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x20\x7f]{1,200}$")]
# a type is written between others, in tables and columns
Type = Annotated[
    str,
    StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f]*[^\x00-\x20\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$", max_length=200),
]
Words = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=200)]
MOST_PARTS, MOST_LABELS = 100, 64
MOST_PIECES = 20  # of one mention that is split
MOST_SPREAD = 5_000  # mentions by one command: while it is done nobody else can write
OURS = re.compile(r"p[0-9a-f]{16}|g[0-9]+")  # addresses of predictions and of the GOLD layer


class Seen(BaseModel):
    """What was on the screen: the run of the predictions, the prediction, the concepts that were offered."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: Key | None = None
    pred: Words | None = None
    shown: Annotated[tuple[Label, ...], Field(max_length=1000)] = ()


class Command(BaseModel):
    """One command; which fields it needs depends on ``op`` (`changes` says).

    ``surface`` is the text that the sender believes to be in ``parts``: offsets that count other units than code points
    are refused then.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Key
    op: Op
    # longer than `Key`: the address of a new mention may hold the id of the command that made it
    mention: Annotated[str, StringConstraints(pattern=r"^#?[A-Za-z0-9._:-]{0,80}$")] = ""
    parts: Annotated[tuple[tuple[int, int], ...] | None, Field(max_length=MOST_PARTS)] = None
    pieces: Annotated[tuple[tuple[tuple[int, int], ...], ...] | None, Field(max_length=MOST_PIECES)] = None
    surface: Annotated[str | None, Field(max_length=100_000)] = None
    types: Annotated[tuple[Type, ...] | None, Field(max_length=MOST_LABELS)] = None
    concepts: Annotated[tuple[Label, ...] | None, Field(max_length=MOST_LABELS)] = None
    alternatives: Annotated[tuple[tuple[Label, ...], ...], Field(max_length=MOST_LABELS)] = ()
    nil: Nil = ""
    unsure: bool = True
    p: Annotated[float | None, Field(ge=0, le=1)] = None
    anyway: bool = False
    text: Annotated[str, Field(max_length=20_000)] = ""
    kb: Words = ""
    seen: Seen | None = None
    ms: Annotated[int | None, Field(ge=0, lt=1 << 53)] = None


@dataclass(frozen=True, slots=True)
class Sheet:
    """One document with its layers; ``older`` are predictions of the run that a command was given on."""

    text: str
    gold: Mapping[str, Mark]
    predicted: Mapping[str, Predicted]
    older: Mapping[str, Predicted]


def is_done(state: State) -> bool:
    """Return whether the document has been given back as done."""
    desk = state.get(DOCUMENT)
    return isinstance(desk, Progress) and desk.state == "done"


def marks(state: State) -> dict[str, Mark]:
    """Return the mentions that somebody has decided on, those ruled out among them."""
    return {key: value for key, value in state.items() if isinstance(value, Mark)}


def standing_mentions(gold: Mapping[str, Mark], state: State) -> dict[str, Mark]:
    """Return what counts as the mentions of the document: GOLD ones nobody has decided on, and all live marks.

    A GOLD mention that came without a concept gives way to a live mark on the same span, such as a prediction that was
    accepted: that says what it means.
    """
    live = {key: mark for key, mark in marks(state).items() if mark.live}
    said = {mark.parts for mark in live.values()}
    untouched = {
        key: mark
        for key, mark in gold.items()
        if key not in state and not (mark.concepts is None and mark.parts in said)
    }
    return untouched | live


def shown_predictions(sheet: Sheet, state: State) -> dict[str, Predicted]:
    """Return the predictions that wait for a decision, by their addresses."""
    decided = marks(state)
    ruled_out = {address(mark.parts, mark.concepts) for mark in decided.values() if not mark.live}
    taken = {mark.parts for mark in decided.values() if mark.live}
    known = {address(mark.parts, mark.concepts) for key, mark in sheet.gold.items() if key not in state}
    hidden = ruled_out | known | state.keys()
    return {key: one for key, one in sheet.predicted.items() if key not in hidden and one.mark.parts not in taken}


def twin(gold: Mapping[str, Mark], state: State, key: str, mark: Mark) -> bool:
    """Return whether a mention with the same span, types and concepts is there already, at another address."""
    there = standing_mentions(gold, state).items()
    alike = (other for at, other in there if at != key and other.parts == mark.parts)
    return any(same(replace(other, source=mark.source), mark) for other in alike)


def changes(command: Command, sheet: Sheet, state: State) -> list[Change]:
    """Return what a command other than undo and redo changes; nothing where all is as it wants.

    ======================== ==========================================================================================
    ``create``               ``parts``; also ``mention`` (its address), ``types``, and those of ``link``
    ``move``                 ``mention``, ``parts``
    ``link``                 ``mention``, ``concepts`` (empty: NIL, ``nil`` says why), ``alternatives``; ``types``
                             (else those of the mention stay)
    ``type``                 ``mention``, ``types``
    ``accept`` ``reject``    ``mention``; of whatever layer
    ``delete``               ``mention``; the same as ``reject``, and called otherwise in the history
    ``unsure``               ``mention``, ``unsure``
    ``comment``              ``text``, and ``mention`` unless it is about the document
    ``done`` ``reopen``      nothing; ``anyway``: an adjudication is done though not all is settled
    ``spread``               ``mention``: the same at all places where the same text stands alone; or ``surface``
                             and what ``link`` has, of a mention of another document
    ``split``                ``mention``, ``pieces``: a mention for each, not linked yet, in its place
    ``accept_over``          ``p``: accepts the predictions shown that have this probability or more
    ======================== ==========================================================================================

    Raises:
        DataError: a field is missing or wrong, the mention does not exist, or the document is done.
    """
    if command.op not in ACTS:
        raise DataError(f"what {command.op} changes depends on what was done, not on the document")
    if is_done(state) and command.op not in ("reopen", "comment", "done"):
        raise DataError("the document is done: reopen it first")
    return [one for one in ACTS[command.op](command, sheet, state) if not same(one.before, one.after)]


def mark_at(sheet: Sheet, state: State, key: str) -> Mark:
    """Return what is at an address: what somebody decided, or else the mention of the layer."""
    held = state.get(key) or sheet.gold.get(key)
    if isinstance(held, Mark):
        return held
    found = sheet.predicted.get(key) or sheet.older.get(key)
    if found is None:
        raise DataError(f"there is no mention {key!r}")
    return found.mark


def _put(sheet: Sheet, state: State, key: str, mark: Mark) -> list[Change]:
    """Put a live mark at an address; one that says what GOLD says is GOLD, confirmed."""
    gold = sheet.gold.get(key)
    mark = replace(mark, source="user", state="live")
    if gold is not None and same(replace(mark, source="gold"), gold):
        mark = gold
    return [Change(key, state.get(key), mark)]


def _parts(command: Command, sheet: Sheet) -> Parts:
    parts = fit(_needed(command, "parts"), sheet.text)
    if command.surface is not None:
        there = " ".join(sheet.text[start:end] for start, end in command.parts or ())
        if there != command.surface:
            raise DataError(f"the parts do not hold the surface that was sent: offsets count code points: {parts}")
    return parts


def _needed(command: Command, name: str) -> Any:
    value = getattr(command, name)
    if value is None:
        raise DataError(f"{command.op} needs the field {name!r}")
    return value


def _nil(command: Command) -> str:
    if command.nil and (command.concepts or command.alternatives):
        raise DataError(f"{command.op} says that no concept fits (nil), and names one: send one of both")
    return command.nil


def _create(command: Command, sheet: Sheet, state: State) -> list[Change]:
    key = command.mention or f"m:{command.id}"
    if OURS.fullmatch(key) or key.startswith(NOTE):
        raise DataError(f"{key!r} cannot be the address of a new mention: it looks like one of GOLD or of a prediction")
    mark = Mark(
        parts=_parts(command, sheet),
        types=command.types or (),
        concepts=command.concepts,
        alternatives=command.alternatives,
        nil=_nil(command),
    )
    if twin(sheet.gold, state, key, mark):
        return []
    if key in state:
        raise DataError(f"there is a mention {key!r} already")
    return [Change(key, None, mark)]


def _move(command: Command, sheet: Sheet, state: State) -> list[Change]:
    mark = mark_at(sheet, state, command.mention)
    return _put(sheet, state, command.mention, replace(mark, parts=_parts(command, sheet)))


def _link(command: Command, sheet: Sheet, state: State) -> list[Change]:
    mark = mark_at(sheet, state, command.mention)
    linked = replace(
        mark,
        types=mark.types if command.types is None else command.types,
        concepts=tuple(_needed(command, "concepts")),
        alternatives=command.alternatives,
        nil=_nil(command),
        unsure=False,
    )
    return _put(sheet, state, command.mention, linked)


def _type(command: Command, sheet: Sheet, state: State) -> list[Change]:
    mark = mark_at(sheet, state, command.mention)
    return _put(sheet, state, command.mention, replace(mark, types=tuple(_needed(command, "types"))))


def _accept(command: Command, sheet: Sheet, state: State) -> list[Change]:
    return _put(sheet, state, command.mention, replace(mark_at(sheet, state, command.mention), unsure=False))


def _rule_out(command: Command, sheet: Sheet, state: State) -> list[Change]:
    mark = mark_at(sheet, state, command.mention)
    if not mark.live:  # rejected or deleted: it is gone already
        return []
    gone = replace(mark, state="rejected" if command.op == "reject" else "deleted")
    return [Change(command.mention, state.get(command.mention), gone)]


def _unsure(command: Command, sheet: Sheet, state: State) -> list[Change]:
    mark = mark_at(sheet, state, command.mention)
    return _put(sheet, state, command.mention, replace(mark, unsure=command.unsure))


def _comment(command: Command, sheet: Sheet, state: State) -> list[Change]:
    if not command.text.strip():
        raise DataError("comment needs the field 'text'")
    if command.mention and is_mention(command.mention):
        mark_at(sheet, state, command.mention)  # it must be there
    return [Change(NOTE + command.id, None, Note(command.mention, text_hash(command.text)))]


def _done(_command: Command, sheet: Sheet, state: State) -> list[Change]:
    waiting = tuple(sorted({one.mark.parts for one in shown_predictions(sheet, state).values()}))
    return [Change(DOCUMENT, state.get(DOCUMENT), Progress("done", waiting))]


def _reopen(_command: Command, _sheet: Sheet, state: State) -> list[Change]:
    return [Change(DOCUMENT, state.get(DOCUMENT), Progress("reopened"))] if is_done(state) else []


def _occurrences(text: str, words: str) -> Iterator[Span]:
    """Yield where `words` stand, not within other words: not before a combining mark either, which changes a letter."""
    alone = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)")
    for found in alone.finditer(text):
        if not unicodedata.category(text[found.end() : found.end() + 1] or " ").startswith("M"):
            yield Span(*found.span())


def _spread(command: Command, sheet: Sheet, state: State) -> list[Change]:
    if not command.mention:
        words = _needed(command, "surface").strip()
        if not words:
            raise DataError("spread needs words in the field 'surface'")
        concepts = tuple(_needed(command, "concepts"))
        mark = Mark((), command.types or (), concepts, command.alternatives, _nil(command))
        return _everywhere(command, words, mark, sheet, state)
    mark = mark_at(sheet, state, command.mention)
    if len(mark.parts) != 1:
        raise DataError(f"mention {command.mention!r} has several parts: it cannot be looked for elsewhere")
    if not mark.live:
        raise DataError(f"mention {command.mention!r} is {mark.state}: accept it first")
    made = [] if command.mention in state or command.mention in sheet.gold else _accept(command, sheet, state)
    return made + _everywhere(command, sheet.text[slice(*mark.hull)], mark, sheet, state)


def _everywhere(command: Command, words: str, mark: Mark, sheet: Sheet, state: State) -> list[Change]:
    """Put a mark at all places where its words stand, unless somebody has decided about the place."""
    taken = bytearray(len(sheet.text))
    for one in standing_mentions(sheet.gold, state).values():
        taken[slice(*one.hull)] = b"\1" * (one.hull.end - one.hull.start)
    refused = {one.parts for one in marks(state).values() if not one.live}
    made: list[Change] = []
    for number, place in enumerate(_occurrences(sheet.text, words)):
        if taken.find(1, *place) >= 0 or (place,) in refused or (place,) == mark.parts:
            continue
        if len(made) >= MOST_SPREAD:
            raise DataError(f"{words!r} stands in more than {MOST_SPREAD} places")
        key = address((place,), mark.concepts)
        key = f"m:{command.id}:{number}" if key in state else key
        here = replace(mark, parts=(place,), source="user", origin=command.mention, unsure=False)
        made.append(Change(key, state.get(key), here))
    return made


def _split(command: Command, sheet: Sheet, state: State) -> list[Change]:
    mark = mark_at(sheet, state, command.mention)
    if not mark.live:
        raise DataError(f"mention {command.mention!r} is {mark.state}: accept it first")
    pieces = [fit(piece, sheet.text) for piece in _needed(command, "pieces")]
    if len(pieces) < 2 or len(set(pieces)) < len(pieces):
        raise DataError("split needs two different pieces or more")
    if any(piece[0].start < mark.hull.start or piece[-1].end > mark.hull.end for piece in pieces):
        raise DataError(f"a piece reaches beyond mention {command.mention!r}")
    made = _rule_out(command, sheet, state)
    for number, piece in enumerate(pieces):
        key, here = f"m:{command.id}:{number}", Mark(piece, mark.types, origin=command.mention)
        if not twin(sheet.gold, state, key, here):
            made.append(Change(key, None, here))
    return made


def _accept_over(command: Command, sheet: Sheet, state: State) -> list[Change]:
    least = _needed(command, "p")
    sure = [(one.p, key, one) for key, one in shown_predictions(sheet, state).items() if (one.p or 0) >= least]
    made: list[Change] = []
    taken: set[Parts] = set()
    for p, key, one in sorted(sure, key=lambda item: (-(item[0] or 0), item[1])):
        # of two with the same span, the likelier one; that of no concept does not say that there is a mention
        if p is None or one.mark.concepts == () or one.mark.parts in taken:
            continue
        taken.add(one.mark.parts)
        made += _put(sheet, state, key, one.mark)
    return made


ACTS: dict[str, Callable[[Command, Sheet, State], list[Change]]] = {
    "create": _create,
    "move": _move,
    "link": _link,
    "type": _type,
    "accept": _accept,
    "reject": _rule_out,
    "delete": _rule_out,
    "unsure": _unsure,
    "comment": _comment,
    "done": _done,
    "reopen": _reopen,
    "spread": _spread,
    "split": _split,
    "accept_over": _accept_over,
}
