"""Whatever commands people give, the invariants of the workbench hold (I1, I2, I4-I8, I10-I12 of its plan)."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from linnet.annotate.acts import Command, Sheet, shown_predictions
from linnet.annotate.commands import Answer
from linnet.annotate.events import fold
from linnet.annotate.exports import export, training_set
from linnet.annotate.history import history, import_history
from linnet.annotate.journal import check, events_of, last_number, standing, state_of
from linnet.annotate.marks import Mark, address
from linnet.annotate.people import add_project
from linnet.annotate.problems import ConflictError, RefusedError
from linnet.annotate.store import Store
from linnet.annotate.tables import assignment
from linnet.codec import dumps, loads
from linnet.data import Document, Mention, Span
from tests.annotate.desk import DOC, TEXT, Desk, command, fresh

CONCEPTS = st.sampled_from(["HP:1", "HP:2", "HP:0001250"])
EDGES = st.integers(0, len(TEXT))
ON_MENTION = ("accept", "reject", "delete", "unsure", "link", "type", "move", "spread", "split", "comment")


@st.composite
def places(draw: st.DrawFn) -> list[list[int]]:
    cuts = sorted(draw(st.sets(EDGES, min_size=2, max_size=4)))
    return [list(pair) for pair in zip(cuts[::2], cuts[1::2], strict=False)]


@st.composite
def guesses(draw: st.DrawFn) -> tuple[Mention, ...]:
    """Predictions on a few spans, so that they often meet what is there."""
    made = []
    for start, end in draw(st.lists(st.sampled_from([(0, 8), (15, 19), (21, 34), (36, 48)]), max_size=5)):
        concepts = draw(st.none() | CONCEPTS.map(lambda one: (one,)))
        made.append(
            Mention(start, end, types=("Sign",), concepts=concepts, probability=draw(st.sampled_from([0.2, 0.7, 0.9])))
        )
    return tuple(made)


class Workbench(RuleBasedStateMachine):
    """One person in two windows, a model that keeps changing its mind, and a network that repeats itself."""

    store: Store

    @initialize(first=guesses())
    def begin(self, first: tuple[Mention, ...]) -> None:
        self.desk = Desk.open(self.store, DOC, first)
        self.gold = self.desk.read().document["gold"]
        self.sent: list[tuple[list[Command], int, Answer]] = []
        self.done: list[Any] = []  # states before the commands that can be undone, and behind those that can be redone
        self.undone: list[Any] = []
        self.rejected: dict[str, tuple[Any, Any]] = {}
        self.trained: dict[int, str] = {}

    def draw_command(self, data: st.DataObject) -> Command:
        reading = self.desk.read()
        known = [
            *reading.gold,
            *reading.predicted,
            *(key for key, one in reading.state.items() if isinstance(one, Mark)),
        ]
        op = data.draw(st.sampled_from([*ON_MENTION, *ON_MENTION, "create", "create", "accept_over", "done", "reopen"]))
        mention = data.draw(st.sampled_from(known)) if op in ON_MENTION and known else ""
        if op == "spread" and data.draw(st.booleans()):  # of a mention of another document
            return command(op, surface=data.draw(st.sampled_from(["fits", "seizures", "short"])), concepts=["HP:1"])
        return command(
            op,
            mention,
            parts=data.draw(places()) if op in ("create", "move") else None,
            pieces=data.draw(st.lists(places(), min_size=2, max_size=3)) if op == "split" else None,
            concepts=data.draw(st.lists(CONCEPTS, max_size=2)) if op in ("create", "link") else None,
            types=["Sign"] if op in ("create", "type") else None,
            p=0.7 if op == "accept_over" else None,
            text="why?" if op == "comment" else "",
        )

    def send(self, commands: list[Command], seq: int) -> Answer | None:
        """Send commands; what is refused or in conflict must change nothing."""
        before = self.desk.events()
        try:
            answer = self.desk.send(*commands, seq=seq)
        except (RefusedError, ConflictError):
            assert self.desk.events() == before
            return None
        self.sent.append((commands, seq, answer))
        assert answer.seq == self.desk.read().seq
        return answer

    @rule(data=st.data())
    def give(self, data: st.DataObject) -> None:
        reading = self.desk.read()
        one = self.draw_command(data)
        self.note(reading, one, self.send([one], reading.seq))

    @rule(data=st.data(), back=st.integers(1, 4))
    def give_from_a_window_that_is_behind(self, data: st.DataObject, back: int) -> None:
        reading = self.desk.read()
        one = self.draw_command(data)
        self.note(reading, one, self.send([one], max(0, reading.seq - back)))

    def note(self, reading: Any, one: Command, answer: Answer | None) -> None:
        after = self.desk.read()
        if answer is None or after.seq == reading.seq:
            return
        self.done.append(reading.state)
        self.undone.clear()
        if one.op == "reject":
            mark = after.state[one.mention]
            assert isinstance(mark, Mark)
            self.rejected[one.mention] = (mark.parts, mark.concepts)

    @rule()
    def undo(self) -> None:
        before = self.desk.read()
        answer = self.send([command("undo")], before.seq)
        assert answer is not None
        if self.done:
            assert self.desk.read().state == self.done[-1]
            self.done.pop()
            self.undone.append(before.state)
        else:
            assert answer.seq == before.seq

    @rule()
    def redo(self) -> None:
        before = self.desk.read()
        answer = self.send([command("redo")], before.seq)
        assert answer is not None
        if self.undone:
            assert self.desk.read().state == self.undone[-1]
            self.undone.pop()
            self.done.append(before.state)
        else:
            assert answer.seq == before.seq

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        commands, seq, answer = data.draw(st.sampled_from(self.sent))
        before = self.desk.events()
        assert self.desk.send(*commands, seq=seq) == answer
        assert self.desk.events() == before

    @rule(found=guesses())
    def predict(self, found: tuple[Mention, ...]) -> None:
        before = self.desk.read()
        self.desk.predict(found)
        after = self.desk.read()
        assert (after.held, after.gold, after.seq) == (before.held, before.gold, before.seq)

    @rule()
    def train(self) -> None:
        with self.store.read() as db:
            n = last_number(db)
            self.trained[n] = "\n".join(map(dumps, training_set(db, self.desk.project, n)))

    @invariant()
    def the_state_follows_from_the_events(self) -> None:
        with self.store.read() as db:
            events, held = events_of(db, self.desk.stream), standing(db, self.desk.stream)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert state_of(fold(events).items()) == state_of(held.items())
        assert {key: one.seq for key, one in fold(events).items() if isinstance(one.value, Mark)} == {
            key: one.seq for key, one in held.items() if isinstance(one.value, Mark)
        }

    @invariant()
    def spans_fit_and_gold_stays(self) -> None:
        reading = self.desk.read()
        assert reading.document["gold"] == self.gold
        assert reading.document["text"] == TEXT
        for mark in reading.state.values():
            for start, end in mark.parts if isinstance(mark, Mark) else ():
                assert 0 <= start < end <= len(TEXT)
                assert TEXT[start:end] == TEXT[start:end].strip()
            if isinstance(mark, Mark):
                assert all(a.end <= b.start for a, b in zip(mark.parts, mark.parts[1:], strict=False))

    @invariant()
    def what_was_rejected_stays_hidden(self) -> None:
        reading = self.desk.read()
        gone = {
            address(mark.parts, mark.concepts)
            for mark in reading.state.values()
            if isinstance(mark, Mark) and not mark.live
        }
        assert not gone & shown_predictions(reading.sheet(), reading.state).keys()
        for key, (parts, concepts) in self.rejected.items():
            if key in reading.state and key == address(parts, concepts):
                sheet: Sheet = reading.sheet()
                assert key not in shown_predictions(sheet, reading.state)

    @invariant()
    def nothing_unsure_or_open_is_learned(self) -> None:
        reading = self.desk.read()
        with self.store.read() as db:
            [doc] = training_set(db, self.desk.project, last_number(db))
        reviewed = [Span(0, len(TEXT))] if doc.reviewed is None else doc.reviewed
        unsure = [mark for mark in reading.mentions().values() if mark.unsure]
        waiting = [one.mark for one in shown_predictions(reading.sheet(), reading.state).values()]
        for mark in unsure + (waiting if reading.row["state"] == "done" and not self.predicted_since() else []):
            assert all(end <= mark.hull.start or start >= mark.hull.end for start, end in reviewed)

    def predicted_since(self) -> bool:
        """Return whether a model has spoken after the document was given back: it was not asked about that."""
        done = [event for event in self.desk.events() if event.kind == "done"]  # redone, nobody was asked anew
        return bool(done) and done[-1].run != self.desk.read().run

    def teardown(self) -> None:
        if not hasattr(self, "desk"):
            return
        with self.store.read() as db:
            assert check(db, self.desk.project) == []
            for n, before in self.trained.items():
                assert "\n".join(map(dumps, training_set(db, self.desk.project, n))) == before
            lines = [json.loads(json.dumps(line)) for line in history(db, self.desk.project)]
            exported = loads(dumps(export(db, self.desk.stream)))
        with self.store.write() as db:
            copy = add_project(db, fresh("copy"), self.desk.user)
            import_history(db, copy, self.desk.user, lines)
            [stream] = db.scalars(
                assignment.select().with_only_columns(assignment.c.id).where(assignment.c.project == copy)
            )
            assert events_of(db, stream) == self.desk.events()
            assert standing(db, stream) == standing(db, self.desk.stream)
        other = Desk.open(self.store, exported, ())
        assert said(other.read().mentions()) == said(self.desk.read().mentions())


def said(mentions: dict[str, Mark]) -> set[Mark]:
    """Return what mentions say, whoever said it."""
    return {replace(mark, source="user", origin="") for mark in mentions.values()}


def play(store: Store, examples: int, steps: int) -> None:
    machine = type("Machine", (Workbench,), {"store": store})
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    options = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=checks,
        derandomize=True,
        database=None,
    )
    run_state_machine_as_test(machine, settings=options)


@pytest.mark.slow
def test_the_invariants_hold(store: Store) -> None:
    play(store, 4, 12)


@pytest.mark.slow
def test_the_invariants_hold_for_long(store: Store) -> None:
    """Forty lives with ``LINNET_LOOP=full``, else as many as continuous integration has time for."""
    play(store, 40 if os.environ.get("LINNET_LOOP") == "full" else 5, 30)


def test_a_document_without_mentions(store: Store) -> None:
    desk = Desk.open(store, Document("plain", "Fits."), ())
    desk.do("create", "x", parts=[[0, 4]], concepts=["HP:1"])
    assert said(desk.read().mentions()) == {Mark((Span(0, 4),), (), ("HP:1",))}
