"""Uploading documents, what models say of them, reading them, erasing their text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from linnet.annotate.acts import shown_predictions
from linnet.annotate.assignments import assign, read
from linnet.annotate.documents import Added, add_documents, document_of, redact, row_of
from linnet.annotate.exports import export, export_project, training_set
from linnet.annotate.jobs import enqueue, find
from linnet.annotate.journal import last_number
from linnet.annotate.people import add_project, add_user
from linnet.annotate.problems import NotFoundError
from linnet.annotate.runs import add_predictions, end_run, start_run
from linnet.annotate.store import Store, open_store
from linnet.annotate.tables import comment, idem, job, now, prediction, upload
from linnet.data import Abbreviation, Candidates, Document, Mention, Passage, Span
from linnet.errors import DataError
from linnet.kb import KnowledgeBase
from tests.annotate.desk import DOC, FITS, TEXT, Desk, fresh, guess

FULL = Document(
    "full",
    "T\u00eates 🧠. Fits.",
    passages=(Passage(0, 8, "title", {"infons": {"a": 1}}),),
    sentences=(Span(0, 8),),
    abbreviations=(Abbreviation(Span(0, 1), Span(2, 5)),),
    mentions=(
        Mention(0, 5, source="gold", concepts=(), meta={"note": "Têtes"}, group="x"),
        Mention(9, 13, source="user", alternatives=(("HP:1",), ("HP:2", "HP:3"))),
    ),
    reviewed=(Span(0, 13),),
    meta={"pmid": 7},
)


def add(desk: Desk, *docs: Document) -> Added:
    with desk.store.write() as db:
        return add_documents(db, desk.project, desk.user, docs)


def test_a_document_comes_back_as_it_was(desk: Desk) -> None:
    [id] = add(desk, FULL).new
    with desk.store.read() as db:
        assert document_of(row_of(db, id)) == FULL
        assert row_of(db, id)["length"] == 14


def test_the_same_again_adds_nothing(desk: Desk) -> None:
    first = add(desk, FULL, Document("b", "Fits."))
    with desk.store.read() as db:
        n = last_number(db)
    again = add(desk, FULL, Document("b", "Fits.", mentions=()), Document("c", "Fits."))
    assert (again.same, again.other, len(again.new)) == ([first.new[0]], [first.new[1]], 1)
    assert add(desk, FULL).new == []
    with desk.store.read() as db:
        assert last_number(db) == n + 1


def test_predicted_mentions_become_a_run(desk: Desk, kb: KnowledgeBase) -> None:
    row = kb.row("HP:0001250")
    found = replace(guess(0, 4, "HP:0001250"), candidates=Candidates.of({row: 0.5}, kb=kb.version))
    doc = Document("pred", "Fits.", mentions=(found, Mention(0, 4, source="gold")))
    with desk.store.write() as db:
        [id] = add_documents(db, desk.project, desk.user, [doc], rows=kb).new
        reading = read(db, assign(db, id, desk.user))
    assert document_of(reading.document).mentions == (Mention(0, 4, source="gold"),)
    [one] = reading.predicted.values()
    assert one.candidates is not None
    assert one.candidates["ids"] == ["HP:0001250"]
    assert (one.p, one.calibration, one.mark.concepts) == (0.9, "joint", ("HP:0001250",))
    with desk.store.write() as db, pytest.raises(DataError, match="pass it to write their ids"):
        add_documents(db, desk.project, desk.user, [replace(doc, id="other")])


def test_only_predictions_are_no_gold(desk: Desk) -> None:
    [id] = add(desk, Document("p", "Fits.", mentions=(guess(0, 4, None),))).new
    with desk.store.read() as db:
        assert document_of(row_of(db, id)).mentions is None


@pytest.mark.parametrize(
    ("doc", "problem"),
    [
        (Document("", "Fits."), "1 to 500 characters"),
        (Document("x" * 501, "Fits."), "1 to 500 characters"),
        (Document("x", "Fi\0ts."), "NUL"),
        (Document("x", "Fi\ud800ts."), "surrogate"),
        (Document("x", "Fits.", meta={"ward": "\ud800"}), "surrogate pair in its annotations or meta"),
        (Document("x", "Fits.", mentions=(Mention(0, 4, types=("\ud800",)),)), "surrogate pair in its annotations"),
    ],
)
def test_what_cannot_be_stored(desk: Desk, doc: Document, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        add(desk, doc)


def test_predictions_are_stored_once(desk: Desk) -> None:
    doc = replace(DOC, mentions=(guess(*FITS, "HP:1", 0.5), guess(*FITS, "HP:1", 0.7), guess(0, 8, None)))
    with desk.store.write() as db:
        run = start_run(db, desk.project)
        assert add_predictions(db, run, desk.document, doc)
        assert not add_predictions(db, run, desk.document, replace(doc, mentions=()))
        with pytest.raises(DataError, match="another text"):
            add_predictions(db, start_run(db, desk.project), desk.document, Document("x", "Fits."))
        with pytest.raises(NotFoundError):
            add_predictions(db, run, 10**6, doc)
    reading = desk.read()
    assert reading.run == run
    assert sorted(one.p or 0 for one in reading.predicted.values()) == [0.7, 0.9]


def test_a_new_run_changes_no_decision(desk: Desk) -> None:
    first = desk.guesses()[0]
    desk.do("link", first, concepts=["HP:2"])
    desk.do("accept", "g1")
    before = desk.read()
    desk.predict((guess(*FITS, "HP:3"),))
    after = desk.read()
    assert (after.held, after.gold, after.seq) == (before.held, before.gold, before.seq)
    assert shown_predictions(after.sheet(), after.state) == {}  # the span has a mention of the user's


def test_all_layers_at_once(desk: Desk) -> None:
    first = desk.guesses()[0]
    desk.do("accept", first)
    desk.do("comment", first, text="Sure?")
    found = desk.read().to_json()
    assert [one["id"] for one in found["gold"]] == ["g1", "g2"]
    assert [one["id"] for one in found["decided"]] == [first]
    assert {one["id"] for one in found["pred"]} == set(desk.guesses())
    assert set(found["open"]) == set(desk.guesses()[1:])
    assert found["suggestions"] is True
    assert (found["seq"], found["state"], found["comments"][0]["text"]) == (2, "open", "Sure?")


def test_assignments(desk: Desk) -> None:
    with desk.store.write() as db:
        assert assign(db, desk.document, desk.user) == desk.stream
        shared = assign(db, desk.document, None, kind="shared")
        assert assign(db, desk.document, None, kind="shared") == shared
        with pytest.raises(DataError, match="has a user"):
            assign(db, desk.document, None)
        with pytest.raises(DataError, match="has no user"):
            assign(db, desk.document, desk.user, kind="shared")
        with pytest.raises(NotFoundError):
            assign(db, 10**6, desk.user)


def test_an_erased_text_is_in_no_file_of_a_database_in_use(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.write() as db:
        user = add_user(db, "alice")
        project = add_project(db, "notes", user)
        [id] = add_documents(db, project, user, [Document("n", "Wolfeschlegelstein has fits. " * 200)]).new
    with store.write() as db:
        redact(db, id, user)
    store.forget()
    assert not any(b"Wolfeschlegelstein" in path.read_bytes() for path in tmp_path.iterdir())
    store.close()


def test_what_quotes_an_erased_text_goes_with_it(desk: Desk) -> None:
    found = guess(0, 8, "HP:0001250")
    named = Candidates(
        np.array([-1], np.int32), np.ones(1, np.float32), ids=("HP:0001250",), labels=("an alias that was learned",)
    )
    run = desk.predict((replace(found, candidates=named),))
    with desk.store.write() as db:
        id = enqueue(db, desk.project, "predict", user=desk.user)
        db.execute(job.update().where(job.c.id == id).values(log_tail="the line says 'Seizures'"))
        errors = [{"file": "a.ann", "line": 1, "message": "the text says 'Seizures'", "done": "left out"}]
        values = {"project": desk.project, "user": desk.user, "name": "a.ann", "sha256": "", "state": "done"}
        db.execute(upload.insert().values(**values, errors=errors, made=""))
        kept: dict[str, Any] = {"body": json.dumps({"upload": 1, "errors": errors}), "status": 201, "headers": {}}
        key = fresh("post:")
        db.execute(idem.insert().values(key=key, user=desk.user, hash="", answer=kept, expires=now(db, 60)))
        redact(db, desk.document, desk.user)
    with desk.store.read() as db:
        told: Any = db.scalar(sa.select(upload.c.errors).where(upload.c.project == desk.project))
        assert [(one["line"], "Seizures" in one["message"]) for one in told] == [(1, False)]
        assert find(db, id).log_tail == ""
        answer: Any = db.scalar(sa.select(idem.c.answer).where(idem.c.key == key))
        assert answer["status"] == 201
        assert json.loads(answer["body"]) == {"upload": 1, "errors": told}
        assert set(db.scalars(sa.select(prediction.c.candidates).where(prediction.c.run == run))) == {None}


def test_an_erased_text_leaves_the_chain_whole(desk: Desk) -> None:
    [id] = add(desk, FULL).new
    with desk.store.write() as db:
        stream = assign(db, id, desk.user)
    other = Desk(desk.store, desk.project, desk.user, desk.name, id, stream)
    other.do("reject", "g1")
    other.do("comment", "g1", text="Têtes is a surname here")
    events = other.events()
    with desk.store.write() as db:
        redact(db, id, desk.user)
        redact(db, id, desk.user)
    assert other.problems() == []
    assert other.events() == events
    reading = other.read()
    everything = f"{reading.document} {reading.held} {reading.comments} {events}"
    assert "Têtes" not in everything
    assert "infons" not in everything
    assert set(reading.gold) == {"g1", "g2"}
    with pytest.raises(DataError, match="was erased"):
        other.do("accept", "g2")
    with desk.store.read() as db:
        assert set(db.scalars(sa.select(comment.c.text).where(comment.c.stream == stream))) == {""}
        with pytest.raises(DataError, match="was erased"):
            export(db, stream)
        assert [doc.id for doc in export_project(db, desk.project)] == [DOC.id]
        assert [doc.id for doc in training_set(db, desk.project, last_number(db))] == [DOC.id]


def test_what_there_is_not(store: Store) -> None:
    with store.read() as db:
        for ask in (row_of, read, export):
            with pytest.raises(NotFoundError):
                ask(db, 10**6)


def test_the_text_is_counted_in_code_points(desk: Desk) -> None:
    assert TEXT[slice(*FITS)] == "fits"
    assert desk.read().document["length"] == len(TEXT)


def test_candidates_that_a_learned_name_led_to_have_the_preferred_name(desk: Desk, kb: KnowledgeBase) -> None:
    rows = np.array([kb.row("HP:0001250"), kb.row("HP:0004322"), -1], np.int32)
    names = np.array([-1, kb.name_row(int(rows[1]), "Small stature"), -1], np.int32)
    found = Candidates(rows, np.array([0.9, 0.5, 0.1], np.float32), names=names, kb=kb.version)
    with desk.store.write() as db:
        run = start_run(db, desk.project)
        add_predictions(db, run, desk.document, replace(DOC, mentions=(Mention(*FITS, candidates=found),)), kb)
        end_run(db, run)
    [guess] = desk.read().predicted.values()
    assert guess.candidates is not None
    assert guess.candidates["names"] == ["Seizure", "Small stature", None]
