"""What can go wrong with a request to the workbench, each a case that its HTTP interface answers in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from linnet.annotate.marks import Parts
from linnet.errors import DataError, LinnetError

__all__ = ["BusyError", "ConflictError", "Difference", "NotFoundError", "RefusedError", "UnsettledError"]


class Difference(NamedTuple):
    """A mention that two people, or two windows, changed in different ways; values are JSON, None = no such mention."""

    command: str
    mention: str
    yours: Any
    theirs: Any
    base: Any
    actor: str
    at: str


class ConflictError(LinnetError):
    """Commands that change what somebody else has changed since; nothing of their batch was done.

    ``seq`` is the number of the last event, ``differences`` say what was to become of each mention and what it is now.
    """

    def __init__(self, seq: int, differences: Sequence[Difference]) -> None:
        self.seq, self.differences = seq, tuple(differences)
        mentions = ", ".join(one.mention or "the document" for one in differences)
        super().__init__(f"changed since you read it: {mentions}; read it again and choose")


class NotFoundError(LinnetError):
    """A thing that does not exist, or that this person must not know of."""


class UnsettledError(LinnetError):
    """An adjudication that is to be given back while readers still differ; ``left`` says where, and on which words."""

    def __init__(self, left: Mapping[Parts, str]) -> None:
        self.left = dict(left)
        words = ", ".join(repr(text) for text in self.left.values())
        way = "decide on them, or send done with anyway: what is not settled is no mention"
        super().__init__(f"readers still differ on {words}; {way}")


class RefusedError(DataError):
    """A command that makes no sense; ``command`` is its id. Nothing of its batch was done."""

    def __init__(self, command: str, problem: str) -> None:
        self.command = command
        super().__init__(f"command {command}: {problem}")


class BusyError(LinnetError):
    """The database is in use by others for longer than anybody should wait; trying again helps."""
