"""Exports, training sets and histories: what people agree on, and nothing that nobody has looked at."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from linnet import corpora
from linnet.annotate.adjudication import give_to_judge
from linnet.annotate.assignments import assign
from linnet.annotate.documents import add_documents, redact
from linnet.annotate.exports import export, export_project, training_set
from linnet.annotate.history import history, import_history
from linnet.annotate.journal import check, events_of, last_number, standing
from linnet.annotate.marks import NILS, Mark
from linnet.annotate.people import add_project
from linnet.annotate.problems import UnsettledError
from linnet.annotate.proposals import decide, live_ids, new_concepts, propose
from linnet.annotate.tables import assignment, document, event, user
from linnet.codec import dumps
from linnet.data import Document, Mention, Span
from linnet.errors import DataError
from tests.annotate.desk import AGAIN, DOC, FITS, GUESSES, HANDS, TEXT, Desk, fresh, place

PLAIN = replace(DOC, mentions=None)


def exported(desk: Desk, **options: Any) -> Document:
    with desk.store.read() as db:
        return export(db, desk.stream, **options)


def project_of(desk: Desk) -> Document:
    with desk.store.read() as db:
        [doc] = export_project(db, desk.project)
    return doc


def training(desk: Desk, to: int | None = None) -> list[Document]:
    with desk.store.read() as db:
        return training_set(db, desk.project, last_number(db) if to is None else to)


def last_number_of(desk: Desk) -> int:
    with desk.store.read() as db:
        return last_number(db)


def meanings(doc: Document) -> set[Any]:
    return {(m.spans, m.types, m.concepts, m.alternatives) for m in doc.mentions or ()}


def test_gold_and_user_mentions(desk: Desk) -> None:
    assert exported(desk) == DOC
    desk.do("accept", desk.guesses()[0])
    desk.do("link", "g2", concepts=["HP:9"])
    desk.do("reject", "g1")
    doc = exported(desk)
    assert [(m.span, m.source, m.concepts) for m in doc.mentions or ()] == [
        (FITS, "user", ("HP:0001250",)),
        (place("Short stature"), "user", ("HP:9",)),
    ]
    assert doc.reviewed is None
    assert exported(desk, to=0) == DOC


def test_what_nobody_looked_at_is_not_reviewed(desk: Desk) -> None:
    desk = Desk.open(desk.store, PLAIN)
    assert exported(desk) == PLAIN
    assert training(desk) == []
    (fits, hands, again), run = desk.guesses(), desk.read().run
    desk.do("accept", fits)
    desk.do("reject", hands)
    assert exported(desk).reviewed == (FITS, HANDS)
    desk.do("done")
    assert exported(desk).reviewed == (Span(0, AGAIN.start), Span(AGAIN.end, len(TEXT)))
    desk.predict(())  # what models say later does not matter
    assert exported(desk).reviewed == (Span(0, AGAIN.start), Span(AGAIN.end, len(TEXT)))
    desk.do("undo")
    desk.do("accept", again, seen={"run": run})
    desk.do("done")
    assert exported(desk).reviewed is None


def test_what_lies_between_the_parts_of_a_mention_is_not_reviewed(desk: Desk) -> None:
    desk = Desk.open(desk.store, PLAIN)
    desk.do("create", "ours", parts=[FITS, HANDS], concepts=["HP:1"])
    assert exported(desk).reviewed == (FITS, HANDS)


def test_unsure_mentions_are_neither_positive_nor_negative(desk: Desk) -> None:
    desk.do("unsure", desk.guesses()[0])
    desk.do("link", "g1", concepts=[], nil="too general")
    desk.do("done")
    doc = exported(desk)
    assert {m.span: dict(m.meta) for m in doc.mentions or () if m.source == "user"} == {
        FITS: {"unsure": True},
        place("Seizures"): {"nil": "too general"},
    }
    [learned] = training(desk)
    assert FITS not in {m.span for m in learned.mentions or ()}
    assert all(end <= FITS.start or start >= FITS.end for start, end in learned.reviewed or [Span(0, 99)])


def test_where_two_differ_nobody_has_reviewed(desk: Desk) -> None:
    bob = desk.colleague()
    for one, concept in ((desk, "HP:1"), (bob, "HP:2")):
        one.do("create", "x", parts=[FITS], concepts=[concept])
        one.do("create", "y", parts=[HANDS], concepts=["HP:3"])
        one.do("reject", one.guesses()[2])
        one.do("done")
    doc = project_of(desk)
    assert {m.span for m in doc.mentions or ()} == {HANDS, place("Seizures"), place("Short stature")}
    assert doc.reviewed == (Span(0, FITS.start), Span(FITS.end, len(TEXT)))
    assert training(desk) == [doc]
    with desk.store.write() as db:
        judged = Desk(
            desk.store,
            desk.project,
            desk.user,
            "",
            desk.document,
            assign(db, desk.document, desk.user, kind="adjudicate"),
        )
    judged.do("create", "x", parts=[FITS], concepts=["HP:2"])
    assert project_of(desk) == doc
    with pytest.raises(UnsettledError, match="readers still differ on 'short  hands'"):
        judged.do("done")
    judged.do("done", anyway=True)
    assert (FITS, (), ("HP:2",), ()) in {(s[0], *rest) for s, *rest in meanings(project_of(desk))}


def test_the_adjudication_given_back_last_counts(desk: Desk) -> None:
    desk.do("create", "x", parts=[FITS], concepts=["HP:1"])
    desk.do("done")
    judges = desk.colleague("curator"), desk.colleague("curator")
    with desk.store.write() as db:
        first, second = (replace(one, stream=assign(db, desk.document, one.user, kind="adjudicate")) for one in judges)

    def answer(to: int | None = None) -> Any:
        with desk.store.read() as db:
            [doc] = export_project(db, desk.project, to=to)
        return [mention.concepts for mention in doc.mentions or () if mention.span == FITS]

    for judge, before, concept in ((second, "HP:1", "HP:2"), (first, "HP:2", "HP:3")):
        judge.do("create", "y", parts=[FITS], concepts=[concept])
        assert answer() == [(before,)]
        judge.do("done", anyway=True)
        assert answer() == [(concept,)]
    assert answer(last_number_of(desk) - 1) == [("HP:2",)]
    first.do("reopen")
    assert answer() == [("HP:2",)]


@pytest.mark.parametrize("turned", [False, True])
def test_doubts_are_exported_whoever_has_them(desk: Desk, turned: bool) -> None:
    readers = (desk, desk.colleague())
    for one, unsure, nil in zip(reversed(readers) if turned else readers, (True, False), NILS[1:], strict=False):
        one.do("create", "x", parts=[FITS], concepts=["HP:1"])
        one.do("create", "y", parts=[HANDS], concepts=[])
        one.do("link", "y", concepts=[], nil=nil)
        one.do("unsure", "x", unsure=unsure)
        one.do("done")
    meta = {mention.span: mention.meta for mention in project_of(desk).mentions or ()}
    assert (meta[FITS], meta[HANDS]) == ({"unsure": True}, {})
    assert {FITS, HANDS} - {mention.span for mention in training(desk)[0].mentions or ()} == {FITS}


def test_gold_that_readers_differ_on_is_no_mention_once_it_was_given_back_unsettled(desk: Desk) -> None:
    bob = desk.colleague()
    desk.do("delete", "g1")
    for one in (desk, bob):
        one.do("done")
    with desk.store.write() as db:
        stream = give_to_judge(db, desk.document, desk.user, desk.user)
    judge = Desk(desk.store, desk.project, desk.user, desk.name, desk.document, stream)
    with pytest.raises(UnsettledError, match="readers still differ on 'Seizures'"):
        judge.do("done")
    before = last_number_of(desk)
    answer = judge.do("done", anyway=True)
    assert [one["id"] for one in answer.mentions] == ["g1", ""]
    assert {mention.span for mention in project_of(desk).mentions or ()} == {place("Short stature")}
    assert training(desk) == [project_of(desk)]
    assert {mention.span for mention in training(desk, before)[0].mentions or ()} == {place("Short stature")}
    assert judge.do("done", anyway=True).mentions == ()
    judge.do("undo")
    assert (judge.read().state, judge.read().row["state"]) == ({}, "open")
    judge.do(
        "create", parts=[place("Seizures"), place("🧠")], concepts=["HP:9"]
    )  # settles the place, not what GOLD says
    judge.do("done")
    assert meanings(project_of(desk)) >= {((place("Seizures"), place("🧠")), (), ("HP:9",), ())}
    assert "HP:0001250" not in str(meanings(project_of(desk)))


def test_a_suggestion_that_was_accepted_keeps_its_assertion(desk: Desk) -> None:
    denied = tuple(replace(one, assertion="negated") for one in GUESSES)
    desk = Desk.open(desk.store, PLAIN, denied)
    (fits, hands, again), shown = desk.guesses(), desk.read().run
    desk.predict(())  # what a later model says does not matter
    desk.do("accept", fits, seen={"run": shown})
    desk.do("link", hands, concepts=["HP:9"], seen={"run": shown})  # what was meant is something else
    desk.do("move", again, parts=[[AGAIN.start, AGAIN.end - 1]], seen={"run": shown})
    desk.do("create", "ours", parts=[place("Short stature")], concepts=["HP:0004322"])
    said = {m.span: m.assertion for m in project_of(desk).mentions or ()}
    assert said.pop(FITS) == "negated"
    assert len(said) == 3
    assert set(said.values()) == {""}
    assert {m.assertion for doc in training(desk) for m in doc.mentions or ()} == {""}  # nobody has checked it


def test_a_judge_who_changes_nothing_keeps_assertions(desk: Desk) -> None:
    desk = Desk.open(desk.store, PLAIN, tuple(replace(one, assertion="negated") for one in GUESSES))
    desk.do("accept", desk.guesses()[0])
    desk.do("done")
    with desk.store.write() as db:
        stream = give_to_judge(db, desk.document, desk.user, desk.user)
    Desk(desk.store, desk.project, desk.user, desk.name, desk.document, stream).do("done")
    assert [(m.span, m.assertion) for m in project_of(desk).mentions or ()] == [(FITS, "negated")]


def test_a_comment_takes_nothing_from_the_work_of_others(desk: Desk) -> None:
    bob = desk.colleague()
    desk.do("link", "g2", concepts=["HP:9"])
    desk.do("done")
    said = project_of(desk)
    bob.do("comment", text="is this right?")
    assert project_of(desk) == said


def test_the_order_of_concepts_is_no_difference(desk: Desk) -> None:
    bob = desk.colleague()
    desk.do("link", "g2", concepts=["HP:8", "HP:9"], alternatives=[["HP:7"]])
    bob.do("link", "g2", concepts=["HP:7"], alternatives=[["HP:9", "HP:8"]])
    for one in (desk, bob):
        one.do("done")
    assert [m.concepts for m in project_of(desk).mentions or ()] == [("HP:0001250",), ("HP:8", "HP:9")]


def test_a_training_set_depends_on_the_number_alone(desk: Desk) -> None:
    desk.do("accept", desk.guesses()[0])
    desk.do("done")
    with desk.store.read() as db:
        n = last_number(db)
    before = "\n".join(dumps(doc) for doc in training(desk))
    desk.do("reopen")
    desk.do("delete", "g1")
    desk.predict(())
    bob = desk.colleague()
    bob.do("reject", "g2")
    with desk.store.write() as db:
        add_documents(
            db, desk.project, desk.user, [Document("late", "Fits.", mentions=(Mention(0, 4, source="gold"),))]
        )
    assert "\n".join(dumps(doc) for doc in training(desk, n)) == before
    assert len(training(desk)) == 2


def elsewhere(desk: Desk, doc: Document) -> Desk:
    """Return the same document in another project."""
    return Desk.open(desk.store, doc, ())


@pytest.mark.parametrize("format", ["jsonl", "pubtator", "bioc"])
def test_what_a_format_can_hold_comes_back(desk: Desk, tmp_path: Path, format: str) -> None:
    for guess in desk.guesses():
        desk.do("accept", guess)
    desk.do("reject", "g1")
    desk.do("move", "g2", parts=[place("stature")])
    doc = replace(exported(desk), id="123")
    path = tmp_path / "x"
    corpora.write([doc], path, format=format)
    [again] = corpora.read(path, format=format)
    other = elsewhere(desk, again)
    assert meanings(exported(other)) == meanings(doc)
    assert {mark.parts for mark in other.read().mentions().values()} == {m.spans for m in doc.mentions or ()}


def worked(desk: Desk) -> Desk:
    """Do a bit of everything."""
    first = desk.guesses()[0]
    desk.do("accept_over", p=0.5)
    desk.do("undo")
    desk.do("redo")
    desk.do("comment", first, text="Têtes?")
    desk.do("create", "new", parts=[[0, 3], [9, 10]], concepts=["HP:1"], ms=7, kb="9f2c")
    desk.do("reject", "g1")
    desk.do("comment", text="gone")
    desk.do("undo")
    desk.do("done")
    return desk


def into(desk: Desk, lines: list[Any]) -> tuple[int, int]:
    """Import into a new project; return it and how many events are new."""
    with desk.store.write() as db:
        project = add_project(db, fresh("copy"), desk.user)
        return project, import_history(db, project, desk.user, lines)


def test_a_history_gives_the_same_events(desk: Desk) -> None:
    worked(desk)
    bob = desk.colleague()
    bob.do("accept", "g1")
    with desk.store.read() as db:
        lines = [json.loads(json.dumps(line)) for line in history(db, desk.project)]
    project, added = into(desk, lines)
    assert added == len(desk.events()) + 1
    with desk.store.read() as db:
        streams = list(
            db.scalars(sa.select(assignment.c.id).where(assignment.c.project == project).order_by(assignment.c.id))
        )
        assert [events_of(db, stream) for stream in streams] == [desk.events(), bob.events()]
        assert standing(db, streams[0]) == standing(db, desk.stream)
        assert check(db, project) == []
        assert list(history(db, project)) == list(history(db, desk.project))
        assert export(db, streams[0]) == exported(desk)
    with desk.store.write() as db:
        assert import_history(db, project, desk.user, lines) == 0  # the same again adds nothing
    copy = Desk(desk.store, project, desk.user, desk.name, desk.document, streams[0])
    copy.do("undo")
    assert copy.read().row["state"] == "open"
    assert copy.problems() == []
    with desk.store.write() as db, pytest.raises(DataError, match="has done other work"):
        import_history(db, project, desk.user, [grown(lines[0])])


def test_a_history_brings_its_new_concepts(desk: Desk) -> None:
    """``NEW:1`` of one project is not that of another one."""

    def accept(project: int, name: str, concept: str = "") -> None:
        with desk.store.write() as db:
            id = propose(db, project, desk.user, name, kb="v", types=["Sign"], note="Seen twice.")["id"]
            decide(db, project, id, desk.user, "accepted")
            if concept:
                decide(db, project, id, desk.user, "mapped", concept=concept)

    accept(desk.project, "Curled tail")
    accept(desk.project, "Blue ear", "HP:1")
    accept(desk.project, "Not used")
    desk.do("create", parts=[FITS], concepts=["NEW:1"])
    desk.do("create", parts=[HANDS], concepts=["NEW:2"])
    with desk.store.read() as db:
        lines = [json.loads(json.dumps(line)) for line in history(db, desk.project)]
    project, added = into(desk, lines)
    assert added == 2
    with desk.store.read() as db:
        assert list(history(db, project)) == lines
        assert new_concepts(db, project) == new_concepts(db, desk.project)[:2]
        assert live_ids(db, project, None)("NEW:2") == "HP:1"
        assert check(db, project) == []
    with desk.store.write() as db:
        assert import_history(db, project, desk.user, lines) == 0
        other = add_project(db, fresh("other"), desk.user)
    accept(other, "Purple urine")
    with (
        desk.store.write() as db,
        pytest.raises(DataError, match=r"line 1 .* 'Curled tail' in the history, and 'Purple"),
    ):
        import_history(db, other, desk.user, lines)
    with pytest.raises(DataError, match=r"new_concepts\.0\.id"):
        into(desk, [damaged(lines[0], "new_concepts", 0, "id", to="HP:1")])
    with desk.store.read() as db:
        before = db.scalar(sa.select(event.c.n).where(event.c.project == desk.project, event.c.kind == "concept"))
        assert not any("new_concepts" in line for line in history(db, desk.project, to=before))


def test_an_older_history_adds_nothing(desk: Desk) -> None:
    desk.do("accept", "g1")
    with desk.store.read() as db:
        older = list(history(db, desk.project))
    worked(desk)
    with desk.store.write() as db:
        assert import_history(db, desk.project, desk.user, older) == 0
        with pytest.raises(DataError, match="has done other work"):
            import_history(db, desk.project, desk.user, [grown(older[0])])


def test_commands_that_are_there_on_another_document_are_refused(desk: Desk) -> None:
    worked(desk)
    with desk.store.read() as db:
        [line] = history(db, desk.project)
    with desk.store.write() as db, pytest.raises(DataError, match=r"line 1 .* under another id"):
        import_history(db, desk.project, desk.user, [damaged(line, "document", "id", to="another")])
    [stream] = line["streams"]
    command = stream["events"][0]["command"]
    with pytest.raises(DataError, match="is there already"):
        into(desk, [damaged(line, "streams", 0, "events", -1, "command", to=command)])


def grown(line: Any) -> Any:
    """Return a history whose last event is another one."""
    line = json.loads(json.dumps(line))
    line["streams"][0]["events"][-1]["ms"] = 99
    return line


def test_authors_that_there_are_not_are_added_by_an_administrator(desk: Desk) -> None:
    desk.do("accept", "g1")
    with desk.store.read() as db:
        [line] = history(db, desk.project)
    line["streams"][0]["user"] = name = fresh("elsewhere")
    with pytest.raises(DataError, match=f"users are missing here: '{name}'; an administrator"):
        into(desk, [line])
    with desk.store.write() as db:
        assert db.scalar(sa.select(user.c.id).where(user.c.name == name)) is None
        db.execute(user.update().where(user.c.id == desk.user).values(admin=True))
    _, added = into(desk, [line])
    assert added == 1


def damaged(line: Any, *path: Any, to: Any) -> Any:
    if not path:
        return to
    line = json.loads(json.dumps(line))
    inner = line
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return line


@pytest.mark.parametrize(
    ("path", "to", "problem"),
    [
        (("version",), 2, "version 2"),
        (("streams",), None, "not one of a history"),
        (("document",), {"id": "x"}, "'text' is missing"),
        ((), {"a": 1}, "line 1 is not one of a history: it lacks the field 'version'"),
        (("streams", 0, "events", 0), {"at": "x"}, "it lacks the field 'seq'"),
        (("streams", 0, "events", 0, "seq"), 3, "some are missing"),
        (("streams", 0, "events", 0, "before"), {}, "does not start from"),
        (("streams", 0, "events", 0, "after"), {"parts": 1}, "not one of the workbench"),
        (("streams", 0, "events", 0, "after", "parts"), [[0, 10**6]], "outside the text"),
        (("streams", 0, "events", 0, "after", "parts"), [[9, 12], [0, 8]], "in disorder"),
        (("streams", 0, "events", 0, "after", "parts"), [], "outside the text"),
        (("streams", 0, "events", 0, "kind"), "undo", "nothing to undo"),
        (("streams", 0, "comments"), {}, "not one of a history"),
        (("streams", 0, "events", 0, "more"), 1, "more: unknown field"),
        (("streams", 0, "events", 0, "ms"), 1 << 64, "not one of a history: ms: "),
        (("streams", 0, "events", 0, "ms"), "9", "not one of a history: ms: "),
        (("streams", 0, "events", 0, "at"), "\0", "not one of a history: at: "),
        (("streams", 0, "events", 0, "kb"), {}, "not one of a history: kb: "),
        (("streams", 0, "user"), 1 << 64, "streams.0.user: "),
        (("streams", 0, "kind"), "\0", "streams.0.kind: "),
        (("streams", 0, "suggestions"), "x", "streams.0.suggestions: "),
        (("format",), {}, "not one of a history: format: "),
    ],
)
def test_a_damaged_history_is_refused(desk: Desk, path: Any, to: Any, problem: str) -> None:
    worked(desk)
    with desk.store.read() as db:
        [line] = history(db, desk.project)
    with pytest.raises(DataError, match=problem):
        into(desk, [damaged(line, *path, to=to)])


def test_a_history_brings_no_comments_back_on_an_erased_text(desk: Desk) -> None:
    with desk.store.read() as db:
        [before] = history(db, desk.project)
    project, _ = into(desk, [before])
    desk.do("comment", text="He is known here.")
    with desk.store.read() as db:
        [line] = history(db, desk.project)
    with desk.store.write() as db:
        id = db.scalar(sa.select(document.c.id).where(document.c.project == project)) or 0
        redact(db, id, desk.user)
        assert import_history(db, project, desk.user, [line]) == 0


def test_a_comment_that_was_changed_is_refused(desk: Desk) -> None:
    desk.do("comment", text="Yes.")
    with desk.store.read() as db:
        [line] = history(db, desk.project)
    [key] = line["streams"][0]["comments"]
    with pytest.raises(DataError, match="not the one that was written"):
        into(desk, [damaged(line, "streams", 0, "comments", key, to="No.")])


def test_other_gold_is_no_place_for_a_history(desk: Desk) -> None:
    with desk.store.read() as db:
        lines = list(history(db, desk.project))
    with desk.store.write() as db:
        project = add_project(db, fresh("copy"), desk.user)
        add_documents(db, project, desk.user, [PLAIN])
        with pytest.raises(DataError, match="other GOLD mentions"):
            import_history(db, project, desk.user, lines)


def test_marks_keep_what_gold_said_of_doubt(desk: Desk) -> None:
    doc = replace(DOC, mentions=(Mention(0, 8, source="gold", meta={"unsure": True, "nil": "?"}),))
    other = elsewhere(desk, doc)
    mark = other.read().gold["g1"]
    assert isinstance(mark, Mark)
    assert (mark.unsure, mark.nil) == (True, "other")  # events, which stay, hold no text that somebody uploaded
    [learned] = training(other)
    assert learned.mentions == ()
    assert learned.reviewed == (Span(8, len(TEXT)),)


def test_a_history_up_to_an_event_stays_the_same(desk: Desk) -> None:
    bob = desk.colleague()
    desk.do("create", "a", parts=[FITS], concepts=["HP:1"])
    desk.do("comment", "a", text="sure?")
    with desk.store.read() as db:
        n = last_number(db)
        before = list(history(db, desk.project, to=n))
        assert len(next(iter(history(db, desk.project)))["streams"]) == 2
        assert list(history(db, desk.project, to=0)) == []
    [line] = before
    assert [(one["user"], len(one["events"]), len(one["comments"])) for one in line["streams"]] == [(desk.name, 2, 1)]
    desk.do("comment", "a", text="yes")
    bob.do("done")
    with desk.store.write() as db:
        add_documents(db, desk.project, desk.user, [Document("later", "Fits.")])
    with desk.store.read() as db:
        assert list(history(db, desk.project, to=n)) == before
        assert len(list(history(db, desk.project))) == 2
