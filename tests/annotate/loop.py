"""Somebody who annotates from what is known to be right, with mistakes of a kind that people make; for tests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from linnet.corpora import read
from linnet.data import Document, Mention, Span
from linnet.kb import KnowledgeBase
from tests.annotate.api import Person

DROPPED, SHORTER, OTHER = 0.06, 0.12, 0.2  # up to these: what somebody does wrong with a mention
Said = tuple[tuple[tuple[int, int], ...], tuple[str, ...], tuple[str, ...]]


def spans_of(mention: Mention) -> list[list[int]]:
    return [[part.start, part.end] for part in mention.spans]


@dataclass
class Reader:
    """A person who reads documents of a project.

    Args:
        person: who asks.
        project: the project.
        gold: the right mentions, by the ids of documents.
        slips: whether this one makes mistakes.
        rng: which ones.
    """

    person: Person
    project: int
    gold: dict[str, Document]
    slips: bool
    rng: random.Random
    concepts: list[str] = field(default_factory=list)
    models: set[str | None] = field(default_factory=set)

    def draw(self, n: int) -> list[int]:
        return list(self.person.post(f"/projects/{self.project}/samples", {"n": n})["assignments"])

    def annotate(self, streams: Sequence[int]) -> int:
        """Work through assignments and return how many commands that took."""
        return sum(self._annotate(stream) for stream in streams)

    def _annotate(self, stream: int) -> int:
        work = self.person.work(stream)
        self.models.add(work["model"])
        doc = self.gold[self.person.get(f"/projects/{self.project}/documents/{work['document']}")["ext_id"]]
        commands = self._commands(work, [self._slipped(mention, doc) for mention in doc.mentions or ()])
        seq = work["seq"]
        for command in commands:  # one after the other, as from a keyboard
            seq = self.person.send(stream, seq, 200, command).json()["seq"]
        done = self.person.made("done", ms=1500)
        assert self.person.send(stream, seq, 200, done).json()["seq"] == seq + 1
        return len(commands) + 1

    def _commands(self, work: Any, wanted: Sequence[Mention | None]) -> list[dict[str, Any]]:
        shown = {key: one for one in work["pred"] if (key := one["id"]) in work["open"]}
        right = [mention for mention in wanted if mention is not None]
        there = {one["id"]: one for one in work["decided"] if one["state"] == "live"}  # in an adjudication
        kept = [mention for mention in right if any(_says(one, mention) for one in there.values())]
        made = [
            self.person.made("delete", key)
            for key, one in there.items()
            if not any(_says(one, mention) for mention in kept)
        ]
        taken = set[str]()
        for mention in right:
            if mention in kept:
                continue
            fields: dict[str, Any] = {"concepts": list(mention.concepts or ()), "ms": self.rng.randrange(500, 9000)}
            fields |= {} if mention.concepts else {"nil": "not in KB"}
            same = [key for key, one in shown.items() if one["parts"] == spans_of(mention) and key not in taken]
            exact = [key for key in same if shown[key]["concepts"] == fields["concepts"] and fields["concepts"]]
            if exact and shown[exact[0]]["types"] == list(mention.types):
                made.append(self.person.made("accept", exact[0], seen={"run": work["run"]}, ms=fields["ms"]))
            elif same:
                made.append(self.person.made("link", same[0], **fields))
                made.append(self.person.made("type", same[0], types=list(mention.types)))
            else:
                made.append(self.person.made("create", parts=spans_of(mention), types=list(mention.types), **fields))
            taken |= {*same}
        return made + [self.person.made("reject", key, ms=400) for key in shown if key not in taken]

    def _slipped(self, mention: Mention, doc: Document) -> Mention | None:
        """Return a mention as this one sees it: left out, too short, with another concept, and mostly as it is."""
        chance = self.rng.random() if self.slips else 1.0
        words = doc.surface(mention).split(" ")
        if chance < DROPPED:
            return None
        if chance < SHORTER and len(words) > 1 and len(mention.spans) == 1:
            return Mention(mention.start + len(words[0]) + 1, mention.end, (), "", mention.types, "gold",
                           concepts=mention.concepts)  # fmt: skip
        if SHORTER <= chance < OTHER:
            return Mention(mention.start, mention.end, mention.parts, "", mention.types, "gold",
                           concepts=(self.rng.choice(self.concepts),))  # fmt: skip
        return mention


def _says(one: Any, mention: Mention) -> bool:
    """Return whether what stands is a mention."""
    return (one["parts"], one["types"], list(one["concepts"] or ())) == (
        spans_of(mention), list(mention.types), list(mention.concepts or ()),
    )  # fmt: skip


def known_in(kb: KnowledgeBase, mention: Mention) -> Mention:
    """Return a mention without concepts that nobody can choose, because the knowledge base lacks one."""
    return mention if all(concept in kb for concept in mention.concepts or ()) else replace(mention, concepts=())


def said(doc: Document) -> set[Said]:
    """Return the mentions of a document without their ids and sources."""
    return {
        (tuple((part.start, part.end) for part in mention.spans), mention.types, tuple(mention.concepts or ()))
        for mention in doc.mentions or ()
    }


def exported(person: Person, project: int, format: str, path: Path) -> list[Document]:
    """Fetch an export and read it."""
    path.write_bytes(person.ask("GET", f"/projects/{project}/exports/{format}").content)
    return list(read([path], format=format))


def one_each(mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    """Return mentions without a second one on the same span, which two annotators could not tell apart."""
    found: dict[tuple[Span, ...], Mention] = {}
    for mention in mentions:
        found.setdefault(mention.spans, mention)
    return tuple(found.values())
