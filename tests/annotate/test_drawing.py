"""Drawing documents from the store: each for so many readers, whatever others do at the same moment."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from linnet.annotate import drawing
from linnet.annotate.adjudication import give_to_judge
from linnet.annotate.assignments import assign
from linnet.annotate.blind import visible_streams
from linnet.annotate.documents import add_documents
from linnet.annotate.drawing import RANDOM_NOTE, draw_documents
from linnet.annotate.exports import export
from linnet.annotate.people import add_user, change_settings, set_role
from linnet.annotate.runs import add_model, add_predictions, end_run, start_run
from linnet.annotate.sampling import NIL_LINKS, STRATEGIES, Batch, Known, draw
from linnet.annotate.tables import assignment, round_
from linnet.annotate.unread import Unread
from linnet.annotate.work_time import Timed
from linnet.data import Document
from linnet.errors import DataError
from tests.annotate.desk import AGAIN, FITS, HANDS, Desk, command, fresh, guess

LONGEST = 2**53 - 1  # milliseconds that a command may name


def test_two_who_draw_at_once_get_different_documents(desk: Desk) -> None:
    with desk.store.write() as db:
        readers = [add_user(db, fresh("reader")) for _ in range(2)]
        for user in readers:
            set_role(db, desk.project, user, "annotator")
        add_documents(db, desk.project, desk.user, [Document(f"n{at}", f"Text {at}.") for at in range(6)])
    given: list[int] = []
    begin = threading.Barrier(2)

    def draw(user: int) -> None:
        begin.wait()
        given.extend(draw_documents(desk.store, desk.project, user, 6, strategy="random").assignments)

    threads = [threading.Thread(target=draw, args=(user,)) for user in readers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(given) == 6


def test_a_strategy_that_there_is_not_is_refused_in_a_cold_project_too(desk: Desk) -> None:
    with pytest.raises(DataError, match="unknown strategy 'trainy'"):
        draw_documents(desk.store, desk.project, desk.user, 1, strategy="trainy")


def test_a_run_of_few_documents_does_not_speak_for_all(desk: Desk) -> None:
    """An upload with predictions, and what is not through yet, say nothing of the documents that they lack."""
    texts = [f"{at} ague" for at in range(6)]
    with desk.store.write() as db:
        ids = add_documents(
            db, desk.project, desk.user, [Document(f"n{at}", text) for at, text in enumerate(texts)]
        ).new

    def predict(some: int, state: str = "done", model: str | None = None) -> str:
        with desk.store.write() as db:
            made = start_run(db, desk.project, model=model, kb="v1")
            for id, text in list(zip(ids, texts, strict=True))[:some]:
                add_predictions(db, made, id, Document("d", text, mentions=(guess(2, 6, "HP:1"),)))
            end_run(db, made, state)
        return made

    def used() -> str | None:
        with desk.store.write() as db:
            set_role(db, desk.project, user := add_user(db, fresh("reader")), "annotator")
        drawn = draw_documents(desk.store, desk.project, user, 1, strategy="random", lease=timedelta(0))
        with desk.store.read() as db:
            found: str | None = db.scalar(sa.select(round_.c.run).where(round_.c.id == drawn.round))
        return found

    with desk.store.write() as db:
        add_documents(db, desk.project, desk.user, [Document("u", "Ague", mentions=(guess(0, 4, "HP:1"),))])
        model = add_model(db, desk.project, f"models/{desk.project}", 0, set())
        assert change_settings(db, desk.project, 0, {"model": model})
    assert used() is not None  # where nothing else has predicted, what came with uploads must do
    all_of_them = predict(6)
    with desk.store.write() as db:
        add_documents(db, desk.project, desk.user, [Document("w", "Ague", mentions=(guess(0, 4, "HP:1"),))])
    assert used() == all_of_them
    predict(4, "cancelled", model)
    predict(1, "done", model)
    assert used() == all_of_them
    assert predict(5, "running", model) != used()
    assert predict(4, "done", model) == used()
    assert predict(6, "running", model) == used()  # it goes on with what was uploaded since


@pytest.mark.slow
def test_no_times_are_too_long_to_be_summed(desk: Desk) -> None:
    for _ in range(3):
        desk.send(*(command("comment", text="?", ms=LONGEST) for _ in range(400)))
    desk.do("done")
    with desk.store.write() as db:
        add_documents(db, desk.project, desk.user, [Document("more", "More.")])
    assert len(draw_documents(desk.store, desk.project, desk.user, 1, strategy="random").assignments) == 1


@pytest.mark.slow
def test_a_long_project_is_not_read_whole_for_each_draw(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links are counted until there are enough, and only the last documents drawn by chance are judged."""
    monkeypatch.setattr(drawing, "MOST_JUDGED", 3)
    with desk.store.write() as db:
        made = add_documents(db, desk.project, desk.user, [Document(f"n{at}", f"{at} ague gout") for at in range(30)])
    streams = draw_documents(desk.store, desk.project, desk.user, 20, strategy="random").assignments
    for stream in streams:
        work = Desk(desk.store, desk.project, desk.user, desk.name, made.new[0], stream)
        for at in range(6):
            work.do("create", parts=[(at, at + 4)] if at else [(3, 7)], concepts=["HP:1"])
        work.do("done")
    exported: list[int] = []

    def note(db: sa.Connection, stream: int) -> Document:
        exported.append(stream)
        return export(db, stream)

    monkeypatch.setattr(drawing, "export", note)
    cold = draw_documents(desk.store, desk.project, desk.user, 1, strategy="random").cold
    assert (cold.links_left, cold.documents_left) == (0, 0)
    assert len(exported) < len(streams)


def known_at_a_draw(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Known:
    """Return what the strategy knows when a document is drawn."""
    seen: list[Known] = []

    def note(*given: Any, known: Known, **more: Any) -> Batch:
        seen.append(known)
        return draw(*given, known=known, **more)

    monkeypatch.setattr(drawing, "draw", note)
    draw_documents(desk.store, desk.project, desk.user, 1, strategy="random")
    return seen[0]


def test_work_time_is_that_of_mentions_not_of_saying_that_a_document_is_done(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comments and the end of a document are no mentions; each of a bulk act is one, though one event has its time."""
    texts = [f"ague gout fits {'x' * 10 * at}" for at in range(13)]
    with desk.store.write() as db:
        made = add_documents(db, desk.project, desk.user, [Document(f"n{at}", text) for at, text in enumerate(texts)])
        streams = [assign(db, id, desk.user) for id in made.new[:12]]
    for at, (stream, text) in enumerate(zip(streams, texts, strict=False)):
        work = Desk(desk.store, desk.project, desk.user, desk.name, desk.document, stream)
        starts = (0, 5, 10)[: 1 + at % 3]
        work.send(*(command("create", parts=[(start, start + 4)], ms=1500) for start in starts))
        work.do("comment", text="?", ms=1000)
        work.do("done", ms=5000 + 30 * len(text))
    time = known_at_a_draw(desk, monkeypatch).time
    assert (round(time.opening), round(time.character), round(time.decision)) == (6000, 30, 1500)


def test_decisions_that_no_concept_fits_are_counted_as_links(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with desk.store.write() as db:
        add_documents(db, desk.project, desk.user, [Document("more", "More.")])
    desk.do("create", parts=[FITS], concepts=[], nil="not in KB")
    desk.do("create", parts=[HANDS], concepts=["HP:1"])
    desk.do("create", parts=[AGAIN])  # not linked
    assert known_at_a_draw(desk, monkeypatch).links == {NIL_LINKS: 1, "HP:1": 1}


def test_adjudications_are_no_documents_that_were_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take less time, and are drawn by nobody: what is known of the random document does not go with them."""
    with desk.store.write() as db:
        add_documents(db, desk.project, desk.user, [Document("more", "More.")])
        judge = add_user(db, fresh("judge"))
        set_role(db, desk.project, judge, "curator")
        by_chance = sa.update(assignment).where(assignment.c.id == desk.stream).values(why=RANDOM_NOTE)
        db.execute(by_chance)
    desk.do("accept", desk.guesses()[0], ms=9000)
    desk.do("done", ms=1000)
    before = known_at_a_draw(desk, monkeypatch)
    ece = draw_documents(desk.store, desk.project, judge, 1, strategy="random").cold.ece
    with desk.store.write() as db:
        stream = give_to_judge(db, desk.document, judge, judge)
    Desk(desk.store, desk.project, judge, "", desk.document, stream).do("done", ms=100)
    with desk.store.read() as db:
        assert drawing._log(db, visible_streams(db, desk.project, judge)) == [Timed(len(desk.text), 1, 10_000.0)]
    assert before.links == {"HP:0001250": 1}
    assert ece is not None
    assert draw_documents(desk.store, desk.project, judge, 1, strategy="random").cold.ece == ece


def test_links_to_what_was_retired_are_links_to_its_successor(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "live_ids", lambda *_: lambda asked: {"HP:OLD": "HP:1"}.get(asked, asked))
    with desk.store.write() as db:
        add_documents(db, desk.project, desk.user, [Document("more", "More.")])
    desk.do("create", parts=[FITS], concepts=["HP:OLD"])
    desk.do("create", parts=[HANDS], concepts=["HP:1"])
    known = known_at_a_draw(desk, monkeypatch)
    assert known.links == {"HP:1": 2}
    unread = Unread(Document("d", "Fits.", mentions=(guess(0, 4, "HP:OLD"),)))
    alone = replace(known, links={})
    [(_, seldom)] = STRATEGIES["coverage"]([unread], 1, alone, 0)
    [(_, often)] = STRATEGIES["coverage"]([unread], 1, known, 0)
    assert often == pytest.approx(seldom / 3**0.5)
