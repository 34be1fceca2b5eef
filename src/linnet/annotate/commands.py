"""Commands to an assignment, done in one transaction: each at most once, all of a batch or none.

Somebody may have changed the same document since the sender read it (another window, a curator, a colleague in a
shared project). Commands about other mentions are done all the same; one that leads to what is there already does
nothing; and one that leads elsewhere is a conflict, which a person has to settle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import sqlalchemy as sa

from linnet.annotate.acts import Command, Sheet, changes, is_done, mark_at, twin
from linnet.annotate.adjudication import disputed_gold, unsettled
from linnet.annotate.assignments import Reading, read
from linnet.annotate.blind import taken_streams, visible_runs
from linnet.annotate.events import REDO, UNDO, Change, Event, Step, past, steps_of, turned
from linnet.annotate.journal import append, events_of, lock
from linnet.annotate.marks import DOCUMENT, NOTE, Mark, State, Value, is_mention, same, to_json
from linnet.annotate.people import name_of, storable
from linnet.annotate.problems import ConflictError, Difference, RefusedError, UnsettledError
from linnet.annotate.proposals import live_ids, new_concepts
from linnet.annotate.runs import predictions_of
from linnet.annotate.store import Store
from linnet.annotate.tables import comment, event, guideline, idem, now, run
from linnet.errors import DataError
from linnet.kb import KnowledgeBase

__all__ = ["Answer", "apply", "preview"]

OF_ALL = ("accept_over", "done")  # commands about all predictions of a document


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a batch: the number of the last event, the commands, and what stands where they changed something.

    ``mentions`` are JSON: ``id`` (an address, also of a comment or the document), ``seq``, ``value`` (None = nothing
    there any more). ``rebased`` says that others had changed something in between.
    """

    seq: int
    applied: tuple[str, ...]
    rebased: bool
    mentions: tuple[Mapping[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON."""
        return {"seq": self.seq, "applied": self.applied, "rebased": self.rebased, "mentions": self.mentions}


def apply(
    store: Store, stream: int, user: int, commands: Sequence[Command], seq: int, *, kb: KnowledgeBase | None = None
) -> Answer:
    """Do a batch of commands of a user, who read the assignment when its last event was `seq`, and return the answer.

    Commands that were done before, by this user, give their first answer again and do nothing. Who may give commands
    to whose assignment is for `linnet.annotate.blind` to say. With the knowledge base of the project, concepts that
    neither it nor the project has are refused, mentions get the types of their concepts where none are sent, and an
    adjudication takes retired ids for their successors.

    Raises:
        ConflictError: somebody else has changed the same mention, with another result.
        RefusedError: a command makes no sense, or its id was used for another one.
        UnsettledError: an adjudication is to be done while readers differ where it says nothing.
        DataError: `seq` is later than the last event, an id comes twice, or the document's text was erased or others
            have read it (`linnet.annotate.blind.taken_streams`).
        NotFoundError: there is no such assignment or user.
        BusyError: the database is in use for too long.
    """
    if len({command.id for command in commands}) != len(commands):
        raise DataError("two commands of one batch have the same id")
    with store.write() as db:
        lock(db)
        # reading all predictions of a long document takes longer than all else: only those that are spoken of
        every = any(command.op in OF_ALL for command in commands)
        reading = read(db, stream, None if every else {command.mention for command in commands}, brief=True)
        if seq > reading.seq:
            raise DataError(f"the assignment has {reading.seq} events, event {seq} is still to come")
        if reading.document["redacted"]:
            raise DataError(f"the text of document {reading.document['ext_id']!r} was erased")
        if not reading.seq and stream in db.scalars(taken_streams(db, reading.row["project"], user)):
            until, name = reading.row["lease"], reading.document["ext_id"]
            raise DataError(
                f"document {name!r} was kept for you until {until}, and others have read it since: draw anew"
            )
        known = _known(db, reading, user, commands)
        new = [command for command in commands if command.id not in known]
        made = _Batch.open(db, reading, user, seq, {command.id for command in commands}, kb).run(new) if new else {}
        return _answer(commands, known | made, reading.seq)


def preview(store: Store, stream: int, command: Command) -> int:
    """Return how many mentions a command would change now: what ``spread`` and ``accept_over`` show before they do it.

    Raises:
        RefusedError: it makes no sense.
        NotFoundError: there is no such assignment.
    """
    with store.read() as db:
        reading = read(db, stream, brief=True)
        try:
            return len(changes(command, _sheet(db, reading, reading.state, command), reading.state))
        except DataError as error:
            raise RefusedError(command.id, str(error)) from error


def _sheet(db: sa.Connection, reading: Reading, state: State, command: Command) -> Sheet:
    """Return what a command is given on: where its sender saw another run than today's, the predictions of that one."""
    shown = command.seen.run if command.seen else None
    every, key = command.op in OF_ALL, command.mention
    known = key in state or key in reading.gold or not key
    if shown is None or shown == reading.run or (known and not every):
        return reading.sheet()
    if shown not in db.scalars(visible_runs(db, reading.row)).all():
        raise DataError(f"run {shown!r} has predicted nothing for this document")
    older = predictions_of(db, shown, reading.row["document"], None if every else {key}, brief=True)
    sheet = reading.sheet(older)
    return replace(sheet, predicted=older) if every else sheet


# --- the same command again ------------------------------------------------------------------------------------------


def _digest(stream: int, command: Command) -> str:
    return hashlib.sha256(f"{stream} {command.model_dump_json()}".encode()).hexdigest()


def _known(db: sa.Connection, reading: Reading, user: int, commands: Sequence[Command]) -> dict[str, Any]:
    """Return the answers to those commands that were done before."""
    stream, project = reading.row["id"], reading.row["project"]
    known: dict[str, Any] = {}
    for command in commands:
        key = f"command:{command.id}"
        row = db.execute(sa.select(idem).where(idem.c.key == key)).mappings().first()
        imported = row is None and db.scalar(
            sa.select(event.c.n).where(event.c.command == command.id, event.c.project == project)
        )
        if imported or (row and (row["user"] != user or row["hash"] != _digest(stream, command))):
            raise RefusedError(command.id, "its id was used for another command: take a new one")
        if row:
            known[command.id] = row["answer"]
    return known


def _answer(commands: Sequence[Command], answers: Mapping[str, Any], seq: int) -> Answer:
    """Return the answer to a batch, which follows from those to its commands: a repeated batch gets the same."""
    ours = [answers[command.id] for command in commands]
    changed: dict[str, Any] = {}
    for one in ours:
        changed |= {item["id"]: item for item in one["mentions"]}
    return Answer(
        seq=max((one["seq"] for one in ours), default=seq),
        applied=tuple(command.id for command in commands),
        rebased=any(one["rebased"] for one in ours),
        mentions=tuple(changed.values()),
    )


# --- new commands ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Batch:
    """New commands on their way to events."""

    db: sa.Connection
    reading: Reading
    user: int
    actor: str
    guideline: int | None
    foreign: dict[str, list[Event]]  # by others, or from another window, since the sender read the assignment
    state: dict[str, Value]
    seq: int
    kb: KnowledgeBase | None
    rebased: bool = False
    differences: list[Difference] = field(default_factory=list)
    steps: list[Step] | None = None

    @classmethod
    def open(
        cls, db: sa.Connection, reading: Reading, user: int, seq: int, own: set[str], kb: KnowledgeBase | None
    ) -> _Batch:
        foreign: dict[str, list[Event]] = {}
        for one in events_of(db, reading.row["id"], seq) if seq < reading.seq else ():
            if one.group not in own:  # what the batch itself did, the first time that it was sent
                foreign.setdefault(one.mention, []).append(one)
        version = sa.select(sa.func.max(guideline.c.v)).where(guideline.c.project == reading.row["project"])
        known = (db, reading, user, name_of(db, user), db.scalar(version))
        return cls(*known, foreign, dict(reading.state), reading.seq, kb, rebased=bool(foreign))

    def run(self, commands: Sequence[Command]) -> dict[str, Any]:
        """Do the commands and return the answer to each."""
        answers = {command.id: self._do(command) for command in commands}
        if self.differences:
            raise ConflictError(self.reading.seq, self.differences)
        for command in commands:
            row = {"key": f"command:{command.id}", "user": self.user, "answer": answers[command.id]}
            self.db.execute(idem.insert().values(**row, hash=_digest(self.reading.row["id"], command)))
        return answers

    def _do(self, command: Command) -> dict[str, Any]:
        try:
            wanted = self._wanted(command)
        except DataError as error:
            if self.differences:  # it may build on a command that is in conflict, which is told instead
                return {}
            raise RefusedError(command.id, str(error)) from error
        done = [] if self._differ(command, wanted) else [one for one in wanted if not self._is_there(one)]
        first = self.seq + 1
        if done:
            self._append(command, done)
        for one in wanted:  # from here on the sender's view of it is that of everybody
            self.foreign.pop(one.mention, None)
        changed = [{"id": key, "seq": seq, "value": to_json(after)} for seq, (key, _, after) in enumerate(done, first)]
        return {"seq": self.seq, "rebased": self.rebased, "mentions": changed}

    def _wanted(self, command: Command) -> list[Change]:
        """Return what the command changes in what the sender saw."""
        if command.op == "comment":
            storable(command.text, "the comment")
        if command.op in (UNDO, REDO):
            wanted = self._history(command.op)
        else:
            # what waits for a decision when a document is given back is what waits now, whatever the sender saw
            seen = self.state if command.op == "done" else self._seen()
            sheet = _sheet(self.db, self.reading, self.state, command)
            wanted = changes(self._typed(command, sheet, seen), sheet, seen)
        if command.op == "done" and self.reading.row["kind"] == "adjudicate":
            wanted = self._judged(command, wanted)
        new = [one for one in wanted if is_mention(one.mention) and not self._is_there(one)]
        opens = any(one.mention == DOCUMENT for one in wanted)  # undo of a document given back with GOLD ruled out
        if new and is_done(self.state) and not opens:  # somebody else said so
            raise DataError("the document is done: reopen it first")
        return wanted

    def _judged(self, command: Command, wanted: list[Change]) -> list[Change]:
        """Return what giving an adjudication back changes, if all is settled or that does not matter."""
        live = live_ids(self.db, self.reading.row["project"], self.kb)
        if not command.anyway and (left := unsettled(self.db, self.reading, self.state, live=live)):
            raise UnsettledError(left)
        return [*disputed_gold(self.db, self.reading, self.state, live=live), *wanted] if wanted else []

    def _typed(self, command: Command, sheet: Sheet, seen: State) -> Command:
        """Return a command that names concepts with their types, if it has none: two who mean the same then agree.

        A mention that is linked otherwise keeps types that are not those of its concepts before: somebody chose them.

        Raises:
            DataError: there is no such concept.
        """
        if self.kb is None or not command.concepts:
            return command
        types = self._types_of(command.concepts)
        self._types_of(chain(*command.alternatives))
        if command.types is None and command.op == "link":
            before = mark_at(sheet, seen, command.mention)
            known = [one for one in before.concepts or () if one in self.kb]
            if before.types and before.types != self._types_of(known):
                return command
        return command if command.types is not None else command.model_copy(update={"types": types})

    def _types_of(self, concepts: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(chain.from_iterable(map(self._types_of_one, concepts))))

    def _types_of_one(self, concept: str) -> Sequence[str]:
        assert self.kb is not None  # noqa: S101 - the caller looked
        if concept in self.kb:
            return self.kb.types_of(self.kb.row(concept))
        own = next((one for one in new_concepts(self.db, self.reading.row["project"]) if one.id == concept), None)
        if own is not None:
            return own.types
        if not any(concept in chain(mark.concepts or (), *mark.alternatives) for mark in self.reading.gold.values()):
            raise DataError(f"there is no concept {concept!r} in the knowledge base of the project, nor in GOLD")
        return ()

    def _seen(self) -> State:
        """Return the state without what others changed since the sender read it."""
        if not self.foreign:
            return self.state
        seen = dict(self.state)
        for key, events in self.foreign.items():
            before = events[0].change.before
            if before is None:
                seen.pop(key, None)
            else:
                seen[key] = before
        return seen

    def _history(self, op: str) -> list[Change]:
        """Return what takes back the sender's last command, or does it again; nothing if none is left.

        What others have changed of it, as the sender saw, stays; a command of which nothing is left is passed over. If
        there are no others, what hinders them is told.
        """
        if self.steps is None:
            events = events_of(self.db, self.reading.row["id"])
            self.steps = steps_of(one for one in events if one.actor == self.actor)
        own = past(self.steps, self.actor)
        groups = own.done if op == UNDO else own.undone[-1:]
        if not groups:
            return []
        by_group = {step.group: step for step in self.steps}
        steps = [by_group[group].changes() for group in reversed(groups)]
        wanted = [turned(step) for step in steps] if op == UNDO else steps
        states = self.state, self._seen()
        standing = ([one for one in step if any(state.get(one.mention) == one.before for state in states)]
                    for step in wanted)  # fmt: skip
        return next(filter(None, standing), wanted[0])

    def _differ(self, command: Command, wanted: Iterable[Change]) -> bool:
        """Note the changes that contradict what others did since, or that start from what is not there."""
        found = False
        for key, before, after in wanted:
            theirs = self.state.get(key)
            if self._is_there(Change(key, before, after)) or (key not in self.foreign and before == theirs):
                continue
            last = self.foreign[key][-1] if key in self.foreign else self._last(key)
            values = (to_json(after), to_json(theirs), to_json(before))
            self.differences.append(Difference(command.id, key, *values, last.actor, last.at))
            found = True
        return found

    def _last(self, key: str) -> Event:
        return [one for one in events_of(self.db, self.reading.row["id"]) if one.mention == key][-1]

    def _is_there(self, change: Change) -> bool:
        """Return whether somebody has done the same meanwhile."""
        if change.mention in self.foreign and same(self.state.get(change.mention), change.after):
            return True
        if not (self.rebased and isinstance(change.after, Mark) and change.before is None):
            return False
        return change.mention not in self.state and twin(self.reading.gold, self.state, change.mention, change.after)

    def _append(self, command: Command, done: Sequence[Change]) -> None:
        at = self.db.scalar(sa.select(now(self.db))) or ""
        seen_run = (command.seen.run if command.seen else None) or self.reading.run
        model = self.reading.model
        if seen_run != self.reading.run:
            model = self.db.scalar(sa.select(run.c.model).where(run.c.id == seen_run))
        events = [
            Event(
                seq=self.seq + number,
                at=at,
                actor=self.actor,
                kind=command.op,
                mention=change.mention,
                before=to_json(self.state.get(change.mention)),
                after=to_json(change.after),
                command=command.id if number == 1 else None,
                group=command.id,
                kb=command.kb,
                model=model,
                run=seen_run,
                guideline=self.guideline,
                ms=command.ms if number == 1 else None,
            )
            for number, change in enumerate(done, 1)
        ]
        for change in done:
            if change.after is None:
                self.state.pop(change.mention, None)
            else:
                self.state[change.mention] = change.after
        self._comment(command, at)
        append(self.db, self.reading.row["project"], self.reading.row["id"], events)
        self.seq += len(events)
        if self.steps is not None:
            self.steps += steps_of(events)

    def _comment(self, command: Command, at: str) -> None:
        if command.op != "comment":
            return
        note = self.state[NOTE + command.id]
        row = {"stream": self.reading.row["id"], "id": NOTE + command.id, **(to_json(note) or {})}
        row |= {"mention": row.pop("on"), "text": command.text, "actor": self.actor, "at": at}
        self.db.execute(comment.insert().values(row))
