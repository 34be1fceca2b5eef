"""Somebody at work on a document, for tests: short ways to give commands and to look at what came of them."""

from __future__ import annotations

import itertools
import uuid
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from linnet.annotate.acts import Command
from linnet.annotate.assignments import Reading, assign, read
from linnet.annotate.commands import Answer, apply
from linnet.annotate.documents import add_documents
from linnet.annotate.events import Event
from linnet.annotate.journal import check, events_of
from linnet.annotate.marks import Mark
from linnet.annotate.people import add_project, add_user, set_role
from linnet.annotate.runs import add_predictions, end_run, start_run
from linnet.annotate.store import Store
from linnet.annotate.tables import document
from linnet.data import Document, Mention, Span

TEXT = "Seizures 🧠 and fits. Short stature, short  hands;\nseizures again. Fits end.\n"


def place(words: str) -> Span:
    """Return where words stand in the text."""
    return Span(TEXT.index(words), TEXT.index(words) + len(words))


GOLD = (
    Mention(*place("Seizures"), id="T1", types=("Phenotype",), source="gold", concepts=("HP:0001250",)),
    Mention(*place("Short stature"), id="T2", types=("Phenotype",), source="gold", concepts=("HP:0004322",)),
)
DOC = Document("note-1", TEXT, mentions=GOLD)
FITS, AGAIN, HANDS = place("fits"), place("seizures"), place("short  hands")
numbers = itertools.count()


def fresh(what: str) -> str:
    """Return a name that no other test has."""
    return f"{what}-{next(numbers)}-{uuid.uuid4().hex[:8]}"


def guess(start: int, end: int, concept: str | None, p: float = 0.9, *parts: tuple[int, int]) -> Mention:
    """Return a prediction."""
    spans = tuple(Span(*part) for part in parts)
    concepts = None if concept is None else (concept,)
    return Mention(start, end, spans, types=("Phenotype",), concepts=concepts, probability=p, calibration="joint")


GUESSES = (guess(*FITS, "HP:0001250", 0.95), guess(*AGAIN, "HP:0001250", 0.8), guess(*HANDS, "HP:0009381", 0.4))


@dataclass(slots=True)
class Desk:
    """One assignment of one user."""

    store: Store
    project: int
    user: int
    name: str
    document: int
    stream: int

    @classmethod
    def open(cls, store: Store, doc: Document = DOC, guesses: tuple[Mention, ...] = GUESSES) -> Desk:
        """Return a new project with `doc`, what a model says of it, and a user who has it."""
        with store.write() as db:
            name = fresh("alice")
            user = add_user(db, name)
            project = add_project(db, fresh("project"), user)
            [id] = add_documents(db, project, user, [doc]).new
            desk = cls(store, project, user, name, id, assign(db, id, user))
        desk.predict(guesses)
        return desk

    def colleague(self, role: Any = "annotator") -> Desk:
        """Return somebody else who has the same document."""
        with self.store.write() as db:
            name = fresh("bob")
            user = add_user(db, name)
            set_role(db, self.project, user, role)
            stream = assign(db, self.document, user)
        return Desk(self.store, self.project, user, name, self.document, stream)

    def predict(self, guesses: tuple[Mention, ...], model: str | None = None) -> str:
        with self.store.write() as db:
            run = start_run(db, self.project, model=model)
            add_predictions(db, run, self.document, Document(DOC.id, self.text, mentions=guesses))
            end_run(db, run)
        return run

    @property
    def text(self) -> str:
        with self.store.read() as db:
            return str(db.scalar(sa.select(document.c.text).where(document.c.id == self.document)))

    def read(self) -> Reading:
        with self.store.read() as db:
            return read(db, self.stream)

    def events(self) -> list[Event]:
        with self.store.read() as db:
            return events_of(db, self.stream)

    def problems(self) -> list[str]:
        with self.store.read() as db:
            return check(db, self.project)

    def send(self, *commands: Command, seq: int | None = None) -> Answer:
        return apply(self.store, self.stream, self.user, commands, self.read().seq if seq is None else seq)

    def do(self, op: str, mention: str = "", *, seq: int | None = None, **fields: Any) -> Answer:
        """Give one command."""
        return self.send(command(op, mention, **fields), seq=seq)

    def mark(self, key: str) -> Mark:
        value = self.read().state[key]
        assert isinstance(value, Mark)
        return value

    def guesses(self) -> list[str]:
        """Return the addresses of the predictions, in the order of the text."""
        return [key for key, _ in sorted(self.read().predicted.items(), key=lambda item: item[1].mark.parts)]


def command(op: str, mention: str = "", **fields: Any) -> Command:
    """Return a command with an id of its own."""
    return Command.model_validate({"id": fresh("c"), "op": op, "mention": mention, **fields})
