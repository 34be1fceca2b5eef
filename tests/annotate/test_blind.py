"""Who sees whose work, and which models may speak to whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from linnet.annotate.adjudication import give_to_judge
from linnet.annotate.assignments import assign, read
from linnet.annotate.blind import countable_streams, may_see, may_write, seen_streams, taken_streams, visible_streams
from linnet.annotate.exports import export_project, sources
from linnet.annotate.history import history
from linnet.annotate.journal import last_number
from linnet.annotate.people import add_user, change_settings, set_role
from linnet.annotate.runs import add_model
from linnet.annotate.tables import assignment
from linnet.data import Document
from linnet.errors import DataError
from tests.annotate.desk import FITS, Desk, fresh, guess


def seen(desk: Desk, user: int, ask: Callable[..., sa.Select[Any]] = visible_streams) -> set[int]:
    with desk.store.read() as db:
        return set(db.scalars(ask(db, desk.project, user)))


def join(desk: Desk, role: Any) -> int:
    with desk.store.write() as db:
        user = add_user(db, fresh(role or "stranger"))
        set_role(db, desk.project, user, role)
    return user


def test_peers_are_blind_until_both_are_done(desk: Desk) -> None:
    bob = desk.colleague()
    with desk.store.write() as db:
        set_role(db, desk.project, desk.user, "annotator")
    assert seen(desk, desk.user) == {desk.stream}
    bob.do("done")
    assert seen(desk, desk.user) == {desk.stream}
    assert seen(desk, bob.user) == {bob.stream}
    desk.do("done")
    assert seen(desk, desk.user) == seen(desk, bob.user) == {desk.stream, bob.stream}
    desk.do("reopen")
    assert seen(desk, bob.user) == {bob.stream}
    assert seen(desk, desk.user) == {desk.stream}


def test_roles(desk: Desk) -> None:
    bob = desk.colleague()
    curator, viewer, annotator, stranger = (join(desk, role) for role in ("curator", "viewer", "annotator", None))
    both = {desk.stream, bob.stream}
    assert seen(desk, curator) == both
    assert seen(desk, viewer) == seen(desk, annotator) == seen(desk, stranger) == set()
    assert seen(desk, desk.user) == {desk.stream}  # an admin who has the document to do
    bob.do("done")
    assert seen(desk, viewer) == seen(desk, annotator) == set()
    desk.do("done")
    assert seen(desk, viewer) == seen(desk, annotator) == both
    with desk.store.read() as db:
        assert may_see(db, bob.stream, viewer)
        assert not may_see(db, bob.stream, stranger)
        assert not may_see(db, 10**6, viewer)
        assert may_write(db, bob.stream, bob.user)
        assert not any(may_write(db, bob.stream, other) for other in (curator, viewer, stranger, desk.user))
        assert not may_write(db, 10**6, viewer)


def test_who_may_be_the_next_reader_is_blind_already(desk: Desk) -> None:
    next_one, viewer = join(desk, "annotator"), join(desk, "viewer")
    with desk.store.write() as db:
        assert change_settings(db, desk.project, 0, {"settings": {"annotators": 2}})
    desk.do("done")
    assert seen(desk, next_one) == set()  # nobody else has the document, and it can still be drawn
    assert seen(desk, viewer) == {desk.stream}
    desk.colleague().do("done")
    assert len(seen(desk, next_one)) == 2


def lapse(desk: Desk) -> None:
    """Let a document have been drawn, and be kept no more."""
    with desk.store.write() as db:
        lease = "2020-01-01T00:00:00.000Z"
        db.execute(assignment.update().where(assignment.c.id == desk.stream).values(lease=lease))


def test_what_somebody_drew_and_never_began_hides_nothing_once_its_lease_has_ended(desk: Desk) -> None:
    bob, viewer = desk.colleague(), join(desk, "viewer")
    bob.do("create", "bobs", parts=[FITS], concepts=["HP:6"])
    bob.do("done")
    assert seen(desk, desk.user) == {desk.stream}
    lapse(desk)
    assert seen(desk, desk.user) == {desk.stream, bob.stream}
    assert seen(desk, viewer) == {bob.stream}
    with desk.store.write() as db:
        assert seen_streams(db, desk.project, desk.user) == {desk.stream, bob.stream}
        [doc] = export_project(db, desk.project, streams=visible_streams(db, desk.project, desk.user))
        judged = give_to_judge(db, desk.document, desk.user, desk.user)
    assert [mention.id for mention in doc.mentions or ()] == ["T1", "bobs", "T2"]
    assert judged != desk.stream


def test_who_may_have_seen_others_cannot_begin_what_was_drawn_before(desk: Desk) -> None:
    bob = desk.colleague()
    lapse(desk)
    lapse(bob)
    assert seen(desk, bob.user, taken_streams) == set()
    bob.do("accept", "g1")  # nobody else has begun
    assert seen(desk, bob.user, taken_streams) == set()  # for good
    assert seen(desk, desk.user, taken_streams) == {desk.stream}  # an admin, who sees it
    with pytest.raises(DataError, match=r"'note-1' was kept for you until 2020-.*and others have read it since: draw"):
        desk.do("accept", "g1")
    with desk.store.write() as db:
        set_role(db, desk.project, desk.user, "annotator")
    assert seen(desk, desk.user, taken_streams) == set()
    bob.do("done")
    assert seen(desk, desk.user) == {desk.stream, bob.stream}  # as many as are to read each have done so
    assert seen(desk, desk.user, taken_streams) == {desk.stream}
    with desk.store.write() as db:
        assert change_settings(db, desk.project, 0, {"blind": False})
    desk.do("accept", "g1")


def test_open_projects_hide_nothing_from_members(desk: Desk) -> None:
    bob, stranger = desk.colleague(), join(desk, None)
    with desk.store.write() as db:
        assert change_settings(db, desk.project, 0, {"blind": False})
    assert seen(desk, bob.user) == seen(desk, bob.user, countable_streams) == {desk.stream, bob.stream}
    assert seen(desk, stranger) == set()


def test_shared_work_is_seen_by_all_and_done_by_all_but_viewers(desk: Desk) -> None:
    bob, viewer = desk.colleague(), join(desk, "viewer")
    with desk.store.write() as db:
        shared = assign(db, desk.document, None, kind="shared")
        assert may_write(db, shared, bob.user)
        assert not may_write(db, shared, viewer)
    assert shared in seen(desk, bob.user) & seen(desk, viewer)


def test_hints_count_the_own_work_and_adjudications(desk: Desk) -> None:
    bob, curator = desk.colleague(), join(desk, "curator")
    for one in (desk, bob):
        one.do("done")
    with desk.store.write() as db:
        judged = assign(db, desk.document, curator, kind="adjudicate")
    assert seen(desk, bob.user, countable_streams) == {bob.stream}
    Desk(desk.store, desk.project, curator, "", desk.document, judged).do("done")
    assert seen(desk, bob.user, countable_streams) == {bob.stream, judged}
    bob.do("reopen")
    assert seen(desk, bob.user, countable_streams) == {bob.stream}


def test_a_peers_work_is_in_no_export(desk: Desk) -> None:
    taint = "HP:6666666"
    bob = desk.colleague()
    bob.do("create", "bobs", parts=[FITS], concepts=[taint])
    bob.do("comment", "bobs", text=taint)
    bob.do("done")
    with desk.store.read() as db:
        mine = visible_streams(db, desk.project, desk.user)
        said = f"{export_project(db, desk.project, streams=mine)} {list(history(db, desk.project, mine))}"
    assert taint not in f"{said} {desk.read()} {desk.read().to_json()}"
    desk.do("done")
    with desk.store.read() as db:
        assert taint in str(list(history(db, desk.project, visible_streams(db, desk.project, desk.user))))


def test_a_model_that_learned_from_a_peer_is_silent_until_one_is_done(desk: Desk) -> None:
    bob = desk.colleague()
    bob.do("link", "g1", concepts=["HP:6"])
    first = desk.read().run
    with desk.store.write() as db:
        n = last_number(db)
        learned = sources(db, desk.project, n)
        assert learned == {(desk.document, bob.user)}
        model = add_model(db, desk.project, "models/m1", n, learned, card={"part": "linker"})
        child = add_model(db, desk.project, "models/m2", n, set(), parent=model)
        assert sources(db, desk.project, 0) == set()
    told = desk.predict((guess(*FITS, "HP:6"),), model)
    also = desk.predict((guess(*FITS, "HP:6"),), child)
    assert bob.read().run == first  # nobody has said that another model is to be used
    with desk.store.write() as db:
        assert change_settings(db, desk.project, 0, {"model": child})
    assert desk.read().run == first
    assert bob.read().run == also  # it has seen nothing but his own labels
    desk.do("done")
    assert desk.read().run == also
    with desk.store.write() as db:
        assert change_settings(db, desk.project, 1, {"model": model})  # rolled back
    assert (desk.read().run, desk.read().model) == (told, model)


def test_shared_work_tells_nothing_of_what_somebody_still_reads(desk: Desk) -> None:
    bob = desk.colleague()
    bob.do("link", "g1", concepts=["HP:6"])
    bob.do("done")
    first = desk.read().run
    with desk.store.write() as db:
        learned = sources(db, desk.project, last_number(db))
        model = add_model(db, desk.project, f"models/{desk.project}", last_number(db), learned)
        shared = assign(db, desk.document, None, kind="shared")
    told = desk.predict((guess(*FITS, "HP:6"),), model)
    with desk.store.write() as db:
        assert change_settings(db, desk.project, 0, {"model": model})
    with desk.store.read() as db:
        assert read(db, shared).run == first
    desk.do("done")
    with desk.store.read() as db:
        assert read(db, shared).run == told


def test_work_without_suggestions_has_none(desk: Desk) -> None:
    with desk.store.write() as db:
        user = add_user(db, fresh("carol"))
        set_role(db, desk.project, user, "annotator")
        stream = assign(db, desk.document, user, suggestions=False)
    carol = Desk(desk.store, desk.project, user, "carol", desk.document, stream)
    assert (carol.read().run, carol.read().predicted) == (None, {})
    carol.do("done")
    assert carol.read().run is not None


def test_another_project_is_another_world(desk: Desk) -> None:
    other = Desk.open(desk.store, Document("x", "Fits."), ())
    assert seen(desk, other.user) == set()
    assert seen(other, other.user) == {other.stream}
