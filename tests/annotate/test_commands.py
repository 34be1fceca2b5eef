"""Commands to an assignment: what each does, what is refused, repeated, rebased, in conflict."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from linnet.annotate.acts import MOST_SPREAD, Command, shown_predictions
from linnet.annotate.assignments import assign
from linnet.annotate.commands import preview
from linnet.annotate.history import history, import_history
from linnet.annotate.marks import DOCUMENT, Note, Progress, address
from linnet.annotate.people import add_project
from linnet.annotate.problems import ConflictError, NotFoundError, RefusedError
from linnet.data import Document, Mention
from linnet.errors import DataError
from tests.annotate.desk import AGAIN, FITS, HANDS, Desk, command, fresh, guess


def open_guesses(desk: Desk) -> set[str]:
    reading = desk.read()
    return set(shown_predictions(reading.sheet(), reading.state))


def test_accepting_a_prediction_makes_it_the_users(desk: Desk) -> None:
    first = desk.guesses()[0]
    answer = desk.do("accept", first, ms=2140, kb="9f2c")
    assert (answer.seq, answer.rebased) == (1, False)
    mark = desk.mark(first)
    assert (mark.source, mark.state, mark.parts, mark.concepts) == ("user", "live", (FITS,), ("HP:0001250",))
    assert mark.origin.startswith(f"{desk.read().run}/")
    [event] = desk.events()
    assert (event.kind, event.actor, event.ms, event.kb, event.run) == (
        "accept",
        desk.name,
        2140,
        "9f2c",
        desk.read().run,
    )
    assert first not in open_guesses(desk)


def test_a_rejected_prediction_stays_hidden_under_other_models(desk: Desk) -> None:
    first = desk.guesses()[0]
    desk.do("reject", first)
    desk.predict((guess(*FITS, "HP:0001250", 0.99), guess(*AGAIN, "HP:1")))
    assert open_guesses(desk) == {address((AGAIN,), ("HP:1",))}
    desk.predict((guess(*FITS, "HP:7"),))  # the same span with another concept shows again
    assert open_guesses(desk) == {address((FITS,), ("HP:7",))}


@pytest.mark.parametrize(("op", "fields"), [("link", {"concepts": ["HP:9"]}), ("move", {"parts": [[0, 10]]}),
                                            ("type", {"types": ["Sign"]}), ("unsure", {})])  # fmt: skip
def test_editing_gold_makes_a_user_mention(desk: Desk, op: str, fields: dict[str, Any]) -> None:
    before = desk.read().document["gold"]
    desk.do(op, "g1", **fields)
    reading = desk.read()
    assert reading.document["gold"] == before
    assert desk.mark("g1").source == "user"
    assert desk.mark("g1").origin == "g1"
    assert set(reading.mentions()) == {"g1", "g2"}
    desk.do("undo")
    assert desk.read().state == {}


def test_gold_without_a_concept_gives_way_to_what_says_what_it_means(desk: Desk) -> None:
    given = Mention(0, 4, types=("Sign",), source="gold")
    said = Mention(0, 4, types=("Sign",), concepts=("HP:1",), probability=0.9)
    desk = Desk.open(desk.store, Document("given", "Pain.", mentions=(given,)), (said,))
    [guess] = open_guesses(desk)
    assert list(desk.read().mentions()) == ["g1"]
    desk.do("accept", guess)
    assert [mark.concepts for mark in desk.read().mentions().values()] == [("HP:1",)]
    desk.do("undo")
    desk.do("reject", guess)
    assert list(desk.read().mentions()) == ["g1"]
    desk.do("link", "g1", concepts=["HP:2"])
    assert [mark.concepts for mark in desk.read().mentions().values()] == [("HP:2",)]


def test_confirmed_gold_stays_gold(desk: Desk) -> None:
    desk.do("accept", "g1")
    assert desk.mark("g1").source == "gold"
    desk.do("link", "g1", concepts=["HP:9"])
    desk.do("link", "g1", concepts=["HP:0001250"])  # as GOLD has it
    assert desk.mark("g1").source == "gold"
    desk.do("reject", "g2")
    assert set(desk.read().mentions()) == {"g1"}


def test_creating(desk: Desk) -> None:
    start, end = HANDS
    desk.do("create", "new", parts=[[start - 1, end]], surface=" short  hands", concepts=["HP:9"], types=["Sign"])
    mark = desk.mark("new")
    assert (mark.parts, mark.concepts, mark.types, mark.source) == ((HANDS,), ("HP:9",), ("Sign",), "user")
    [one] = desk.do("create", parts=[AGAIN, FITS]).mentions  # in any order, discontinuous
    assert one["value"]["parts"] == [list(FITS), list(AGAIN)]
    assert desk.do("create", parts=[FITS, AGAIN]).seq == 2  # it is there already
    assert desk.problems() == []


@pytest.mark.parametrize(
    ("op", "mention", "fields", "problem"),
    [
        ("create", "", {}, "needs the field 'parts'"),
        ("create", "", {"parts": []}, "one part or more"),
        ("create", "", {"parts": [[3, 3]]}, "is empty"),
        ("create", "", {"parts": [[8, 9]]}, "nothing but blanks"),
        ("create", "", {"parts": [[0, 900]]}, "outside the text of 76 characters"),
        ("create", "", {"parts": [[0, 8], [5, 10]]}, "overlap"),
        ("create", "", {"parts": [[11, 14]], "surface": "nd "}, "count code points"),
        ("create", "g7", {"parts": [[0, 8]]}, "looks like one of GOLD"),
        ("create", "p0123456789abcdef", {"parts": [[0, 8]]}, "looks like one of GOLD"),
        ("move", "g1", {}, "needs the field 'parts'"),
        ("link", "g1", {}, "needs the field 'concepts'"),
        ("type", "g1", {}, "needs the field 'types'"),
        ("accept", "g9", {}, "no mention 'g9'"),
        ("comment", "g1", {"text": " "}, "needs the field 'text'"),
        ("comment", "g9", {"text": "?"}, "no mention 'g9'"),
        ("comment", "", {"text": "\0"}, "NUL"),
        ("accept_over", "", {}, "needs the field 'p'"),
    ],
)
def test_what_makes_no_sense_is_refused(desk: Desk, op: str, mention: str, fields: Any, problem: str) -> None:
    good = command("accept", "g1")
    with pytest.raises(RefusedError, match=problem):
        desk.send(good, command(op, mention, **fields))
    assert desk.events() == []  # all of a batch or none
    assert desk.send(good).seq == 1


def test_a_mention_that_a_command_with_a_long_id_has_made_can_be_edited(desk: Desk) -> None:
    id = fresh("c").ljust(64, "c")
    desk.send(Command.model_validate({"id": id, "op": "create", "parts": [FITS]}))
    desk.do("link", f"m:{id}", concepts=["HP:1"])
    assert desk.mark(f"m:{id}").concepts == ("HP:1",)


@pytest.mark.parametrize("fields", [{"kb": "\0"}, {"types": ["\0"]}])
def test_words_without_nul_alone_are_taken(fields: Any) -> None:  # PostgreSQL holds none
    with pytest.raises(ValidationError, match="should match pattern"):
        command("link", "g1", concepts=[], **fields)


def test_an_address_is_used_once(desk: Desk) -> None:
    desk.do("create", "new", parts=[[0, 8]], concepts=["HP:1"])
    with pytest.raises(RefusedError, match="there is a mention 'new' already"):
        desk.do("create", "new", parts=[[0, 8]], concepts=["HP:2"])


def test_nil_unsure_and_back(desk: Desk) -> None:
    first = desk.guesses()[0]
    desk.do("unsure", first)
    assert desk.mark(first).unsure
    assert desk.mark(first).concepts == ("HP:0001250",)
    desk.do("link", first, concepts=[], nil="too general")
    assert not desk.mark(first).unsure
    assert (desk.mark(first).concepts, desk.mark(first).nil) == ((), "too general")
    desk.do("unsure", first)
    desk.do("unsure", first, unsure=False)
    assert not desk.mark(first).unsure


def test_deleting_and_accepting_again(desk: Desk) -> None:
    desk.do("create", "new", parts=[[0, 8]], concepts=["HP:1"])
    desk.do("delete", "new")
    assert "new" not in desk.read().mentions()
    assert desk.do("reject", "new").seq == 2  # it is gone already
    desk.do("accept", "new")
    assert "new" in desk.read().mentions()


def test_spreading(desk: Desk) -> None:
    desk = Desk.open(desk.store, Document("pain", "pain, no pain; painful pain. (pain) chest pain"), ())
    desk.do("create", "chest", parts=[[36, 46]], concepts=["HP:2"])
    desk.do("create", "one", parts=[[0, 4]], concepts=["HP:1"], types=["Sign"])
    desk.do("create", "no", parts=[[9, 13]], concepts=["HP:3"])
    desk.do("reject", "no")
    before = desk.read().state
    spread = command("spread", "one")
    assert preview(desk.store, desk.stream, spread) == 2
    answer = desk.send(spread)
    assert [one["value"]["parts"] for one in answer.mentions] == [[[23, 27]], [[30, 34]]]
    assert {event.group for event in desk.events()[4:]} == {spread.id}
    after = desk.read().state
    assert {mark.concepts for key, mark in desk.read().mentions().items() if key != "chest"} == {("HP:1",)}
    desk.do("undo")
    assert desk.read().state == before
    desk.do("redo")
    assert desk.read().state == after


def test_words_are_not_found_before_a_combining_mark(desk: Desk) -> None:
    desk = Desk.open(desk.store, Document("sjo", "Sjo and Sjo\u0308gren and Sjo"), ())
    desk.do("create", "one", parts=[[0, 3]])
    assert [one["value"]["parts"] for one in desk.do("spread", "one").mentions] == [[[21, 24]]]


def test_too_many_places_are_refused(desk: Desk) -> None:
    desk = Desk.open(desk.store, Document("a", "a " * (MOST_SPREAD + 2)), ())
    desk.do("create", "one", parts=[[0, 1]])
    with pytest.raises(RefusedError, match="in more than 5000 places"):
        desk.do("spread", "one")


def test_spreading_a_prediction_accepts_it(desk: Desk) -> None:
    first = desk.guesses()[0]
    assert [one["id"] for one in desk.do("spread", first).mentions] == [first]
    assert desk.do("spread", "g1").mentions == ()


@pytest.mark.parametrize(("parts", "end", "problem"), [([FITS, AGAIN], "accept", "several parts"),
                                                       ([FITS], "reject", "accept it first")])  # fmt: skip
def test_what_cannot_be_spread(desk: Desk, parts: Any, end: str, problem: str) -> None:
    desk.do("create", "two", parts=parts)
    desk.do(end, "two")
    with pytest.raises(RefusedError, match=problem):
        desk.do("spread", "two")


@pytest.mark.parametrize("type", ["", " ", "a\tb", "a\nb", "a\x85b", "a\x7f"])
def test_types_that_no_file_has_a_place_for_are_refused(type: str) -> None:
    with pytest.raises(ValidationError):
        command("create", parts=[FITS], types=[type])
    assert command("create", parts=[FITS], types=["Amino Acid, Peptide, or Protein"]).types


@pytest.mark.slow
def test_spreading_what_was_decided_elsewhere(desk: Desk) -> None:
    desk = Desk.open(desk.store, Document("pain", "pain, no pain; painful pain. (pain) chest pain"), ())
    desk.do("create", "chest", parts=[[36, 46]], concepts=["HP:2"])
    answer = desk.do("spread", surface="pain", concepts=["HP:1"], types=["Sign"])
    assert [one["value"]["parts"] for one in answer.mentions] == [[[0, 4]], [[9, 13]], [[23, 27]], [[30, 34]]]
    assert {one["value"]["concepts"][0] for one in answer.mentions} == {"HP:1"}
    desk.do("undo")
    assert list(desk.read().mentions()) == ["chest"]
    for fields, problem in (
        ({"surface": " ", "concepts": []}, "needs words"),
        ({"surface": "pain"}, "needs the field"),
    ):
        with pytest.raises(RefusedError, match=problem):
            desk.do("spread", **fields)


def test_splitting(desk: Desk) -> None:
    desk = Desk.open(desk.store, Document("c", "Has breast and ovarian cancer."), ())
    desk.do("create", "one", parts=[[4, 29]], concepts=["MESH:D1"], types=["Disease"])
    pieces = [[[4, 10], [23, 29]], [[15, 29]]]
    answer = desk.do("split", "one", pieces=pieces)
    made = desk.read().mentions()
    assert [[list(part) for part in mark.parts] for mark in made.values()] == pieces
    assert {(mark.types, mark.concepts, mark.origin) for mark in made.values()} == {(("Disease",), None, "one")}
    assert "one" not in made
    assert len({event.group for event in desk.events()[1:]}) == 1
    assert answer.seq == 4
    desk.do("undo")
    assert list(desk.read().mentions()) == ["one"]
    desk.do("redo")
    assert list(desk.read().mentions()) == list(made)


@pytest.mark.parametrize(
    ("pieces", "problem"),
    [
        (None, "needs the field 'pieces'"),
        ([[[4, 10]]], "two different pieces"),
        ([[[4, 10]], [[4, 10]]], "two different pieces"),
        ([[[4, 10]], [[0, 3]]], "reaches beyond"),
        ([[[4, 10]], [[15, 30]]], "reaches beyond"),
        ([[[4, 10]], []], "one part or more"),
    ],
)
def test_what_cannot_be_split(desk: Desk, pieces: Any, problem: str) -> None:
    desk = Desk.open(desk.store, Document("c", "Has breast and ovarian cancer."), ())
    desk.do("create", "one", parts=[[4, 29]])
    with pytest.raises(RefusedError, match=problem):
        desk.do("split", "one", pieces=pieces)
    desk.do("reject", "one")
    with pytest.raises(RefusedError, match="accept it first"):
        desk.do("split", "one", pieces=[[[4, 10]], [[15, 22]]])


def test_accepting_all_that_are_sure_enough(desk: Desk) -> None:
    over = command("accept_over", p=0.8)
    assert preview(desk.store, desk.stream, over) == 2
    with pytest.raises(RefusedError, match="what undo changes"):
        preview(desk.store, desk.stream, command("undo"))
    with pytest.raises(RefusedError, match="no mention"):
        preview(desk.store, desk.stream, command("spread", "g9"))
    answer = desk.send(over)
    assert answer.seq == 2
    assert len(open_guesses(desk)) == 1
    desk.do("undo")
    assert desk.read().state == {}


def test_of_two_on_one_span_the_likelier_is_accepted(desk: Desk) -> None:
    desk.predict((guess(*FITS, "HP:1", 0.91), guess(*FITS, "HP:2", 0.95)))
    desk.do("accept_over", p=0.9)
    assert [mark.concepts for mark in desk.read().mentions().values() if mark.source == "user"] == [("HP:2",)]
    assert open_guesses(desk) == set()


def test_what_has_no_concept_is_not_accepted_with_all_that_are_sure(desk: Desk) -> None:
    """Its probability says that a concept is wrong, not that there is a mention; one that nothing linked is sure."""
    desk.predict((replace(guess(*FITS, None, 0.95), concepts=()), guess(*HANDS, None, 0.9)))
    desk.do("accept_over", p=0.8)
    assert [mark.parts for mark in desk.read().mentions().values() if mark.source == "user"] == [(HANDS,)]


def test_done_and_reopened(desk: Desk) -> None:
    desk.do("accept", desk.guesses()[0])
    desk.do("done")
    assert desk.read().row["state"] == "done"
    progress = desk.read().state[DOCUMENT]
    assert isinstance(progress, Progress)
    assert progress.open == ((HANDS,), (AGAIN,))
    assert desk.do("done").seq == 2
    with pytest.raises(RefusedError, match="reopen it first"):
        desk.do("accept", "g1")
    desk.do("comment", text="Look at the hands.")
    desk.do("reopen")
    assert desk.read().row["state"] == "reopened"
    desk.do("accept", "g1")
    for _ in range(5):
        desk.do("undo")
    assert desk.read().row["state"] == "open"
    assert desk.read().state == {}
    assert desk.read().comments == ()
    for _ in range(5):
        desk.do("redo")
    assert desk.read().row["state"] == "reopened"
    assert [one["text"] for one in desk.read().comments] == ["Look at the hands."]
    assert desk.problems() == []


def test_a_comment_is_about_a_mention_or_the_document(desk: Desk) -> None:
    desk.do("comment", "g1", text="Really?")
    [note] = [value for value in desk.read().state.values() if isinstance(value, Note)]
    assert note.on == "g1"
    assert "Really" not in str(desk.events())


def test_nothing_to_undo(desk: Desk) -> None:
    assert desk.do("undo").seq == 0
    assert desk.do("redo").seq == 0


# --- again, meanwhile, against ---------------------------------------------------------------------------------------


def test_a_repeated_command_has_one_effect_and_one_answer(desk: Desk) -> None:
    first, second = command("accept", "g1"), command("link", "g2", concepts=["HP:9"])
    answer = desk.send(first, second, seq=0)
    desk.do("delete", "g1")
    assert desk.send(first, second, seq=0) == answer
    assert len(desk.events()) == 3
    third = command("type", "g2", types=["Sign"])
    again = desk.send(first, second, third, seq=0)  # the answer was lost, and the sender went on
    assert (again.seq, again.applied, again.rebased) == (4, (first.id, second.id, third.id), True)


def test_an_id_stands_for_one_command(desk: Desk) -> None:
    first = command("accept", "g1")
    desk.send(first)
    with pytest.raises(RefusedError, match="used for another"):
        desk.send(first.model_copy(update={"mention": "g2"}))
    with pytest.raises(RefusedError, match="used for another"):
        desk.colleague().send(first)
    with pytest.raises(DataError, match="the same id"):
        desk.send(first, first)


def test_other_mentions_are_rebased(desk: Desk) -> None:
    desk.do("accept", "g1", seq=0)
    answer = desk.do("accept", "g2", seq=0)
    assert (answer.seq, answer.rebased) == (2, True)


def test_the_same_result_is_no_conflict(desk: Desk) -> None:
    desk.do("link", "g1", concepts=["HP:9"], seq=0)
    answer = desk.send(command("link", "g1", concepts=["HP:9"]), command("type", "g1", types=["Sign"]), seq=0)
    assert (answer.seq, answer.rebased) == (2, True)
    assert (desk.mark("g1").concepts, desk.mark("g1").types) == (("HP:9",), ("Sign",))
    new = [command("create", name, parts=[[0, 8]], concepts=["HP:3"]) for name in ("one", "two")]
    desk.send(new[0], seq=2)
    assert desk.send(new[1], seq=2).mentions == ()


def test_another_result_is_a_conflict_with_three_values(desk: Desk) -> None:
    desk.do("link", "g1", concepts=["HP:8"])
    desk.do("link", "g1", concepts=["HP:9"], seq=1)
    mine = command("link", "g1", concepts=["HP:7"])
    with pytest.raises(ConflictError, match="changed since you read it: g1") as caught:
        desk.send(command("accept", "g2"), mine, command("type", "g1", types=["X"]), seq=1)
    first = caught.value.differences[0]
    values = [value["concepts"] for value in (first.yours, first.theirs, first.base)]
    assert values == [["HP:7"], ["HP:9"], ["HP:8"]]
    assert (first.command, first.mention, first.actor) == (mine.id, "g1", desk.name)
    assert first.at.endswith("Z")
    assert caught.value.seq == 2
    assert len(desk.events()) == 2
    desk.send(mine, seq=2)
    assert desk.mark("g1").concepts == ("HP:7",)


def test_a_conflict_is_told_before_what_it_leads_to(desk: Desk) -> None:
    desk.do("link", "g1", concepts=["HP:9"])
    with pytest.raises(ConflictError):
        desk.send(command("link", "g1", concepts=["HP:7"]), command("accept", "g9"), seq=0)


def test_undo_of_what_was_not_seen_is_a_conflict(desk: Desk) -> None:
    desk.do("accept", "g1")
    desk.do("accept", "g2", seq=1)
    with pytest.raises(ConflictError):
        desk.do("undo", seq=1)


def test_done_meanwhile(desk: Desk) -> None:
    desk.do("done", seq=0)
    with pytest.raises(RefusedError, match="the document is done"):
        desk.do("accept", "g1", seq=0)
    assert desk.do("done", seq=0).seq == 1


def test_what_waits_at_done_is_what_waits_then_whatever_the_window_saw(desk: Desk) -> None:
    fits, again, _ = desk.guesses()
    desk.do("accept", fits)
    desk.do("unsure", again)
    desk.do("undo")  # in another window
    desk.do("done", seq=2)
    assert desk.read().state[DOCUMENT] == Progress("done", ((HANDS,), (AGAIN,)))


def test_everybody_undoes_the_own_commands(desk: Desk) -> None:
    bob = shared(desk)
    desk.do("accept", "g1")
    bob.do("accept", "g2")
    desk.do("undo")
    assert set(desk.read().state) == {"g2"}
    desk.do("redo")
    bob.do("link", "g1", concepts=["HP:9"])
    with pytest.raises(ConflictError, match="g1") as caught:
        desk.do("undo")
    assert caught.value.differences[0].actor == bob.name
    bob.do("done")
    with pytest.raises((RefusedError, ConflictError)):
        desk.do("undo")


def shared(desk: Desk) -> Desk:
    """Return a colleague at the same assignment, which both share."""
    with desk.store.write() as db:
        stream = assign(db, desk.document, None, kind="shared")
    bob = desk.colleague()
    desk.stream = bob.stream = stream
    return bob


def test_undo_passes_over_what_others_have_changed(desk: Desk) -> None:
    bob = shared(desk)
    desk.do("create", "a", parts=[FITS])
    desk.do("create", "b", parts=[AGAIN])
    desk.do("link", "b", concepts=["HP:1"])
    bob.do("link", "b", concepts=["HP:2"])
    with pytest.raises(ConflictError):
        desk.do("undo", seq=3)  # who has not seen it is told
    desk.do("undo")
    assert set(desk.read().state) == {"b"}
    desk.do("redo")
    assert set(desk.read().state) == {"a", "b"}
    bob.do("undo")
    desk.do("undo")
    assert set(desk.read().state) == {"b"}  # the last command that was done was to do it again
    desk.do("undo")
    assert desk.mark("b").concepts is None
    desk.do("undo")
    assert desk.read().state == {}
    for _ in range(3):
        desk.do("redo")
    assert (set(desk.read().state), desk.mark("b").concepts) == ({"a", "b"}, ("HP:1",))
    assert desk.problems() == []
    with desk.store.read() as db:
        lines = [json.loads(json.dumps(line)) for line in history(db, desk.project)]
    with desk.store.write() as db:
        assert import_history(db, add_project(db, fresh("copy"), desk.user), desk.user, lines) == len(desk.events())


def test_undo_of_many_leaves_what_others_have_changed(desk: Desk) -> None:
    bob = shared(desk)
    desk.do("create", "a", parts=[FITS], concepts=["HP:1"])
    before = desk.read().state
    desk.do("accept_over", p=0.0)
    accepted = desk.read().state
    [*others, theirs] = [key for key in accepted if key not in before]
    assert others
    bob.do("link", theirs, concepts=["HP:9"])
    with pytest.raises(ConflictError):
        desk.do("undo", seq=desk.read().seq - 1)  # who has not seen it is told
    desk.do("undo")
    assert desk.read().state == {**before, theirs: desk.mark(theirs)}
    assert desk.mark(theirs).concepts == ("HP:9",)
    desk.do("redo")
    assert desk.read().state == {**accepted, theirs: desk.mark(theirs)}
    desk.do("undo")
    desk.do("undo")
    assert set(desk.read().state) == {theirs}
    assert desk.problems() == []


def test_an_undo_that_others_have_done_does_not_hold_up_the_next(desk: Desk) -> None:
    bob = shared(desk)
    desk.do("create", "a", parts=[FITS])
    desk.do("unsure", "a")
    bob.do("unsure", "a", unsure=False)
    assert desk.do("undo", seq=2).seq == 3
    desk.do("undo")
    assert desk.read().state == {}


def test_a_command_on_what_another_run_said(desk: Desk) -> None:
    old, first = desk.read().run, desk.guesses()[0]
    desk.predict(())
    with pytest.raises(RefusedError, match="no mention"):
        desk.do("accept", first)
    desk.do("accept", first, seen={"run": old, "shown": ["HP:1"]})
    assert desk.mark(first).origin.startswith(f"{old}/")
    assert desk.events()[0].run == old
    with pytest.raises(RefusedError, match="has predicted nothing"):
        desk.do("accept", "p0123456789abcdef", seen={"run": "r0"})
    assert desk.do("accept_over", p=0.7).mentions == ()  # as today's run has it
    assert len(desk.do("accept_over", p=0.7, seen={"run": old}).mentions) == 1
    desk.do("done", seen={"run": old})
    assert desk.read().state[DOCUMENT] == Progress("done", ((HANDS,),))


def test_what_there_is_not(desk: Desk) -> None:
    with pytest.raises(DataError, match="still to come"):
        desk.do("accept", "g1", seq=7)
    desk.stream = 10**6
    with pytest.raises(NotFoundError, match="no assignment"):
        desk.do("accept", "g1", seq=0)


def test_why_nothing_fits_is_no_free_text() -> None:
    assert Command(id="c", op="link", concepts=(), nil="too general").nil
    with pytest.raises(ValidationError, match="too general"):
        Command.model_validate({"id": "c", "op": "link", "nil": "Jane Roe was born"})
