"""Trimmed spans, their overlap, groups over annotators and nesting levels."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.annotate.span_groups import Mark, dice, group, nest, shared, trim
from linnet.data import Span


def place(*spans: tuple[int, int]) -> tuple[Span, ...]:
    return tuple(Span(*span) for span in spans)


def test_trimming() -> None:
    text = "(a)  b+, ¿c?"
    assert trim(place((0, 5)), text) == place((1, 2))
    assert trim(place((4, 8)), text) == place((5, 7))
    assert trim(place((0, 3), (9, 12)), text) == place((1, 2), (10, 11))
    assert trim(place((3, 5)), text) == place((3, 5))  # nothing else is there


def test_dice_counts_the_characters_of_all_parts() -> None:
    assert dice(place((0, 5), (10, 15)), place((0, 5), (10, 15))) == 1.0
    assert dice(place((0, 5), (10, 15)), place((0, 15))) == pytest.approx(20 / 25)
    assert dice(place((0, 5), (10, 15)), place((5, 10))) == 0.0


PLACED = st.lists(
    st.sets(st.integers(0, 20), min_size=2, max_size=4).map(sorted).map(
        lambda cuts: tuple(Span(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False))
    ),
    max_size=4,
    unique=True,
)  # fmt: skip


@settings(max_examples=40)
@given(PLACED, PLACED)
def test_the_best_matching_is_the_best_of_all(ours: list[tuple[Span, ...]], theirs: list[tuple[Span, ...]]) -> None:
    few, many = sorted((ours, theirs), key=len)
    best = max(
        sum(dice(one, other) for one, other in zip(few, chosen, strict=True))
        for chosen in itertools.permutations(many, len(few))
    )
    assert shared(ours, theirs) == pytest.approx(best)
    assert shared(ours, theirs) == pytest.approx(shared(theirs[::-1], ours[::-1]))
    assert shared(ours, theirs) >= len({*ours} & {*theirs}) - 1e-9


def test_equal_places_meet_before_overlapping_ones() -> None:
    """The matching with the largest sum would link the whole to the half on both sides."""
    whole, first, second = (Mark(place(span), (), ()) for span in ((0, 13), (0, 6), (7, 13)))
    found = group({"Alice": [whole, first], "Bob": [whole, second]})
    assert [sorted(unit) for unit in found] == [["Alice"], ["Alice", "Bob"], ["Bob"]]


def test_equal_places_go_by_type_and_value() -> None:
    drug, disease = (Mark(place((0, 4)), (type,), ((id,),)) for type, id in (("Drug", "T:1"), ("Disease", "T:2")))
    assert group({"Alice": [drug, disease], "Bob": [disease, drug]}) == [
        {"Alice": disease, "Bob": disease},
        {"Alice": drug, "Bob": drug},
    ]


def test_groups_of_three_hold_nobody_twice_and_only_what_overlaps() -> None:
    left, right, whole = (Mark(place(span), (), ()) for span in ((0, 6), (7, 13), (0, 13)))
    found = group({"Alice": [left], "Bob": [whole], "Carol": [right]})
    assert sorted(map(sorted, found)) in ([["Alice", "Bob"], ["Carol"]], [["Alice"], ["Bob", "Carol"]])
    assert [sorted(unit) for unit in group({"A": [left], "B": [left], "C": [left]})] == [["A", "B", "C"]]


def test_nesting_levels() -> None:
    outer, inner, innermost, crossing, apart = (Span(*span) for span in ((0, 20), (2, 12), (4, 6), (10, 22), (30, 33)))
    assert nest([innermost, apart, crossing, inner, outer, outer]) == [[outer, apart], [inner], [innermost, crossing]]
    assert nest([]) == []
