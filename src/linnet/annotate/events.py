"""Events, and what follows from them: the state of a stream, what can be undone, the chain that shows tampering. Pure.

Each event says what stood at one address before and what stands there after. The state is the last ``after`` of each
address; to undo is to append the same the other way round. Nothing here reads a database or a clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from linnet.annotate.marks import Value, canonical, to_json, value_of
from linnet.errors import DataError
from linnet.frozen import EMPTY

__all__ = [
    "AGREED",
    "REDO",
    "UNDO",
    "Change",
    "Event",
    "Past",
    "Standing",
    "Step",
    "chain",
    "fold",
    "genesis",
    "past",
    "steps_of",
    "turned",
]

UNDO = "undo"
REDO = "redo"
AGREED = "agreed"  # what all readers say, put into an adjudication when it is given: nobody's command


class Change(NamedTuple):
    """What a command does at one address; None = nothing there."""

    mention: str
    before: Value | None
    after: Value | None


class Standing(NamedTuple):
    """What stands at an address, and the event that put it there."""

    value: Value
    seq: int


@dataclass(frozen=True, slots=True)
class Event:
    """One decision, as it is stored; ``group`` is the command that it belongs to.

    ``before`` and ``after`` are JSON (`linnet.annotate.marks.to_json`), and never hold text of the document.
    ``command`` is the id of the command in its first event and None in the others, so that it can be unique.
    """

    seq: int
    at: str
    actor: str
    kind: str
    mention: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    command: str | None
    group: str
    kb: str = ""
    model: str | None = None
    run: str | None = None
    guideline: int | None = None
    ms: int | None = None

    @property
    def change(self) -> Change:
        """What it did."""
        return Change(self.mention, value_of(self.mention, self.before), value_of(self.mention, self.after))

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON: what its hash is made of, and what a history holds."""
        return {name: getattr(self, name) for name in self.__slots__}


def genesis(*identity: str) -> str:
    """Return what the first event of a stream names as the hash before it."""
    return hashlib.sha256(canonical(["linnet", *identity]).encode()).hexdigest()


def chain(before: str, event: Event) -> str:
    """Return the hash of an event that follows one with the hash `before`."""
    return hashlib.sha256((before + canonical(event.to_json())).encode()).hexdigest()


def fold(events: Iterable[Event]) -> dict[str, Standing]:
    """Return the state of a stream after its events, from the first one on.

    Raises:
        DataError: a number is missing, or an event starts from what was not there.
    """
    state: dict[str, Standing] = {}
    for expected, event in enumerate(events, 1):
        if event.seq != expected:
            raise DataError(f"event {event.seq} follows event {expected - 1}: some are missing")
        there = state.pop(event.mention, None)
        if to_json(there.value if there else None) != event.before:
            raise DataError(f"event {event.seq} does not start from what event {there.seq if there else 0} left")
        value = value_of(event.mention, event.after)
        if value is not None:
            state[event.mention] = Standing(value, event.seq)
    return state


class Step(NamedTuple):
    """A command that was done: its id, its kind, who gave it, and what it found and left at addresses, as JSON."""

    group: str
    kind: str
    actor: str
    found: Mapping[str, Any] = EMPTY
    left: Mapping[str, Any] = EMPTY

    def changes(self) -> list[Change]:
        """Return what it did."""
        return [Change(key, value_of(key, self.found[key]), value_of(key, after)) for key, after in self.left.items()]


@dataclass(slots=True)
class Past:
    """The commands that one person can take back, and those that this person can do again; the next one comes last."""

    done: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)


def steps_of(events: Iterable[Event]) -> list[Step]:
    """Return the commands whose events these are, in order."""
    made: dict[tuple[str, str, str], list[Event]] = {}
    for one in events:
        made.setdefault((one.group, one.kind, one.actor), []).append(one)
    return [
        Step(*key, {one.mention: one.before for one in reversed(of)}, {one.mention: one.after for one in of})
        for key, of in made.items()
    ]


def past(steps: Iterable[Step], actor: str) -> Past:
    """Return what `actor` can undo and redo after these commands: only the own ones, without limit.

    An undo has taken back the last command that had left what the undo found: it passes over those that others had
    changed since.

    Raises:
        DataError: one takes back what had not been done.

    >>> past([Step("a", "link", "me"), Step("b", "link", "me"), Step("c", "undo", "me")], "me")
    Past(done=['a'], undone=['b'])
    """
    own = Past()
    left: dict[str, Mapping[str, Any]] = {}
    for step in steps:
        if step.actor != actor or step.kind == AGREED:
            continue
        if step.kind in (UNDO, REDO) and not (own.done if step.kind == UNDO else own.undone):
            raise DataError(f"command {step.group}: there is nothing to {step.kind}")
        if step.kind == UNDO:
            group = next((one for one in reversed(own.done) if _meet(left[one], step.found)), own.done[-1])
            own.done.remove(group)
            own.undone.append(group)
        elif step.kind == REDO:
            own.done.append(own.undone.pop())
        else:
            own.done.append(step.group)
            left[step.group] = step.left
            own.undone.clear()
    return own


def _meet(left: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Return whether something that was left was found."""
    return any(key in left and left[key] == value for key, value in found.items())


def turned(changes: Sequence[Change]) -> list[Change]:
    """Return the changes that take these back, the last one first."""
    return [Change(one.mention, one.after, one.before) for one in reversed(changes)]
