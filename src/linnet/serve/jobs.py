"""One request as a job of a pipeline: its documents go in together, and come back one by one, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from linnet.data import Document
from linnet.pipeline import Allow

__all__ = ["Item", "Job", "Linked", "Outcome"]


class Linked(NamedTuple):
    """A linked document as a line of JSON in UTF-8, and the preferred names of the concepts in it by their ids."""

    line: bytes
    names: Mapping[str, str]


Outcome: TypeAlias = Linked | Exception


@dataclass(eq=False, slots=True)
class Job:
    """What one request wants; made in the loop of its application, where its outcomes arrive.

    Args:
        docs: to be linked, in this order.
        client: who asks, as all of their requests say it.
        allow: conditions on what may be answered.
    """

    docs: Sequence[Document]
    client: str
    allow: Allow | None = None
    abandoned: bool = False  # nobody waits for it any more
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _outcomes: list[Outcome | None] = field(init=False)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._outcomes = [None] * len(self.docs)

    def put(self, place: int, outcome: Outcome) -> None:
        """Set what became of one document; called in the loop."""
        self._outcomes[place] = outcome
        self._news.set()

    def abandon(self, why: Exception) -> None:
        """Nobody waits any more: end what waits here, and have nothing linked that is not linked yet."""
        self.abandoned = True
        self._outcomes = [why if outcome is None else outcome for outcome in self._outcomes]
        self._news.set()

    async def outcome(self, place: int) -> Linked:
        """Wait for one document.

        Raises:
            Exception: what went wrong with it.
        """
        while (found := self._outcomes[place]) is None:
            self._news.clear()
            await self._news.wait()
        if isinstance(found, Exception):
            raise found
        return found


class Item(NamedTuple):
    """One document of a job."""

    job: Job
    place: int

    @property
    def doc(self) -> Document:
        """The document."""
        return self.job.docs[self.place]
