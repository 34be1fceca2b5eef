"""Events without a database: folding, what can be undone, chains."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linnet.annotate.events import Event, Past, Step, chain, fold, genesis, past
from linnet.annotate.marks import Mark, fit, same, to_json, value_of
from linnet.annotate.tables import user
from linnet.data import Span
from linnet.errors import DataError

MARK = Mark((Span(0, 4),), ("Sign",), ("HP:1",), (("HP:2",), ("HP:3", "HP:4")), "too general", True, "pred", "r1/p1")
FIRST = Event(1, "2026-01-01T00:00:00.000Z", "alice", "accept", "m1", None, to_json(MARK), "c1", "c1")


def test_values_come_back() -> None:
    assert value_of("m1", to_json(MARK)) == MARK
    assert value_of("m1", None) is None
    assert to_json(None) is None


def test_an_event_says_what_it_changed() -> None:
    assert FIRST.change == ("m1", None, MARK)
    assert fold([FIRST])["m1"] == (MARK, 1)
    assert fold([FIRST, replace(FIRST, seq=2, before=FIRST.after, after=None)]) == {}


def test_rejected_and_deleted_are_the_same_and_origin_does_not_matter() -> None:
    assert same(replace(MARK, state="rejected"), replace(MARK, state="deleted", origin=""))
    assert not same(MARK, replace(MARK, state="deleted"))
    assert not same(MARK, None)


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([replace(FIRST, seq=2)], "event 2 follows event 0"),
        ([replace(FIRST, before=to_json(MARK))], "does not start from what event 0 left"),
        ([FIRST, replace(FIRST, seq=2)], "does not start from what event 1 left"),
        ([replace(FIRST, after={"parts": []})], "is not one of the workbench"),
    ],
)
def test_events_that_contradict_each_other(events: list[Event], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        fold(events)


def test_undo_goes_back_one_command_at_a_time() -> None:
    said = ("a link me", "b link me", "x link you", "c undo me", "d undo me", "e redo me")
    steps = [Step(group, kind, actor) for group, kind, actor in map(str.split, said)]
    assert past(steps, "me") == Past(["a"], ["b"])
    assert past([*steps, Step("f", "link", "me")], "me") == Past(["a", "f"], [])
    assert past(steps, "you") == Past(["x"], [])
    with pytest.raises(DataError, match="nothing to redo"):
        past([Step("a", "redo", "me")], "me")


def test_undo_is_of_what_it_found() -> None:
    steps = [
        Step("a", "create", "me", {"x": None}, {"x": 1}),
        Step("b", "link", "me", {"y": 1}, {"y": 2}),  # others have changed it since
        Step("c", "undo", "me", {"x": 1}, {"x": None}),
    ]
    assert past(steps, "me") == Past(["b"], ["a"])


def test_every_field_counts_in_the_chain() -> None:
    first = genesis("sha", "annotate")
    others = [replace(FIRST, **change) for change in ({"actor": "bob"}, {"ms": 1}, {"group": "c2"}, {"after": None})]
    assert len({chain(first, one) for one in [FIRST, *others]} | {chain(genesis("other"), FIRST)}) == 6


def test_parts_are_ordered_and_trimmed() -> None:
    assert fit([[9, 14], [0, 4]], " Fits and pain") == ((1, 4), (10, 14))
    assert user.name == "user"
