"""Somebody who annotates what is known to be right, with the time of a person and, if wanted, a person's oversights."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.annotate.acts import Command, shown_predictions
from linnet.annotate.assignments import read
from linnet.annotate.commands import apply
from linnet.annotate.marks import Mark, Predicted
from linnet.annotate.store import Store
from linnet.data import Document, Mention, Span
from linnet.kb import KnowledgeBase

__all__ = ["Habits", "Reader", "right_mentions"]

OFFERED = 9  # candidates that a digit chooses


@dataclass(frozen=True)
class Habits:
    """How long a person takes for what, in milliseconds, and what is overlooked.

    Reading takes 42 ms a character (238 words a minute, Brysbaert 2019). The others are assumptions about the
    workbench's strokes: one key accepts, rejects, or takes a candidate that was looked at; searching a concept takes
    about ten strokes; a new mention is found and marked first.

    Args:
        opening: of a document.
        character: of text that is read.
        accept: a suggestion that is right.
        reject: a suggestion that is wrong.
        choose: a concept among the candidates.
        search: a concept that is not among them.
        mark: the words of a mention that nothing suggests.
        overlooked: the share of mentions without a suggestion that is not seen in documents without any suggestions.
        led: the same in documents with suggestions, where these lead the eye.
    """

    opening: float = 5_000.0
    character: float = 42.0
    accept: float = 1_500.0
    reject: float = 2_000.0
    choose: float = 3_500.0
    search: float = 10_000.0
    mark: float = 3_000.0
    overlooked: float = 0.0
    led: float = 0.0


@dataclass
class Reader:
    """Reads assignments of a workbench.

    Args:
        store: the workbench.
        user: who reads.
        gold: the right answers, by the ids of documents as they were uploaded.
        kb: the knowledge base of the project; a mention whose concept it lacks is said to have none.
        habits: how long what takes.
        seed: of what is overlooked.
    """

    store: Store
    user: int
    gold: Mapping[str, Document]
    kb: KnowledgeBase
    habits: Habits
    seed: int

    def annotate(self, stream: int) -> None:
        """Decide on all mentions of an assignment and give it back as done."""
        with self.store.read() as db:
            reading = read(db, stream)
        doc = self.gold[reading.document["ext_id"]]
        shown = shown_predictions(reading.sheet(), reading.state)
        given = {mark.parts: key for key, mark in reading.gold.items() if mark.concepts is None}
        rng = np.random.default_rng([self.seed, stream])
        missed = self.habits.led if reading.row["suggestions"] else self.habits.overlooked
        wanted = [
            one
            for one in right_mentions(doc, self.kb)
            if one.spans in given or any(it.mark.parts == one.spans for it in shown.values()) or rng.random() >= missed
        ]
        commands = self._commands(wanted, shown, given)
        commands.append(_command("done", ms=self.habits.opening + self.habits.character * len(doc.text)))
        seen = {"run": reading.run} if reading.run else None
        whole = [Command.model_validate({**one.model_dump(), "seen": seen}) for one in commands]
        apply(self.store, stream, self.user, whole, reading.seq, kb=self.kb)

    def _commands(
        self, wanted: Sequence[Mention], shown: Mapping[str, Predicted], given: Mapping[Any, str]
    ) -> list[Command]:
        made, taken = list[Command](), set[str]()
        for mention in wanted:
            same = [key for key, one in shown.items() if one.mark.parts == mention.spans]
            taken |= {*same}
            made += self._decide(mention, same, shown, given.get(mention.spans))
        return made + [_command("reject", key, ms=self.habits.reject) for key in shown if key not in taken]

    def _decide(
        self, mention: Mention, same: Sequence[str], shown: Mapping[str, Predicted], given: str | None
    ) -> list[Command]:
        """Return the commands that make a mention stand: those of suggestions on the same span, or a new one."""
        answer = list(mention.concepts or ())
        right = [key for key in same if _says(shown[key].mark, answer)]
        if right:
            wrong = [_command("reject", key, ms=self.habits.reject) for key in same if key != right[0]]
            return [_command("accept", right[0], ms=self.habits.accept), *wrong]
        nil = {} if answer else {"nil": "not in KB"}
        if not same and given is None:
            ms = self.habits.mark + self.habits.search
            return [_command("create", parts=mention.spans, concepts=answer, ms=ms, **nil)]
        first, *others = same or [given or ""]
        offered = bool(same) and _offers(shown[first], answer)
        ms = self.habits.choose if offered else self.habits.search
        rejected = [_command("reject", key, ms=self.habits.reject) for key in others]
        return [_command("link", first, concepts=answer, ms=ms, **nil), *rejected]


def right_mentions(doc: Document, kb: KnowledgeBase) -> tuple[Mention, ...]:
    """Return the mentions that are right, one a span, with concepts of the knowledge base, or none if it lacks one."""
    found: dict[tuple[Span, ...], Mention] = {}
    for mention in doc.mentions or ():
        known = [kb[id].id for id in mention.concepts or () if id in kb]
        answer = tuple(known) if len(known) == len(mention.concepts or ()) else ()
        kept = Mention(mention.start, mention.end, mention.parts, types=mention.types, source="gold", concepts=answer)
        found.setdefault(mention.spans, kept)
    return tuple(found.values())


def _says(mark: Mark, answer: Sequence[str]) -> bool:
    return mark.concepts is not None and set(mark.concepts) == set(answer)


def _offers(one: Predicted, answer: Sequence[str]) -> bool:
    """Return whether a digit chooses what is right."""
    ids = list((one.candidates or {}).get("ids", ()))[:OFFERED]
    return len(answer) <= 1 and (not answer or answer[0] in ids)


def _command(op: str, mention: str = "", *, ms: float, **fields: Any) -> Command:
    return Command.model_validate({"id": str(uuid.uuid4()), "op": op, "mention": mention, "ms": round(ms), **fields})
