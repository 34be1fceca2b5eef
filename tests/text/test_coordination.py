"""Coordinations: which readings are proposed, and which are not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linnet.text.coordination import Phrase, conjuncts


def readings(text: str, *phrases: Phrase) -> set[str]:
    """Return the proposed conjuncts in words."""
    split = text.split()
    return {" ".join(split[at] for at in reading.words) for reading in conjuncts(phrases)}


def test_shared_end() -> None:
    assert readings("breast and ovarian cancer", Phrase((0,)), Phrase((2, 3))) == {"breast cancer"}
    text = "branchial otic and renal anomalies"
    assert readings(text, Phrase((0,)), Phrase((1,)), Phrase((3, 4))) == {"branchial anomalies", "otic anomalies"}


def test_shared_end_of_two_words_and_more_before() -> None:
    found = readings("severe red and white blood cells", Phrase((0, 1)), Phrase((3, 4, 5)))
    assert {"red blood cells", "severe red blood cells"} <= found


def test_shared_end_behind_a_preposition() -> None:
    phrases = [Phrase((0,)), Phrase((2, 5), turn=1)]
    [reading] = conjuncts(phrases)  # aplasia or hypoplasia of the thumb
    assert reading.own == (0,)
    assert reading.shared == (5,)
    assert reading.turned


def test_shared_adjective() -> None:
    assert readings("short fingers and toes", Phrase((0, 1)), Phrase((3,))) == {"short toes"}
    assert "severe hearing loss" not in readings("severe cough and hearing loss", Phrase((0, 1)), Phrase((3, 4)))


def test_adjectives_of_a_list_hold_for_all_of_it_or_for_none() -> None:
    phrases = [Phrase((0, 1)), Phrase((3,)), Phrase((5,))]  # a febrile illness, vomiting and seizures
    found = list(conjuncts(phrases))
    assert [(reading.words, reading.of) for reading in found] == [((0, 3), 2), ((0, 5), 2)]
    assert not list(conjuncts(phrases, unknown={3}))


def test_readings_with_unknown_words_are_left_out() -> None:
    phrases = [Phrase((0, 1)), Phrase((3, 4, 5))]
    everything = list(conjuncts(phrases))
    for word in range(6):
        expected = [reading for reading in everything if word not in reading.words]
        assert list(conjuncts(phrases, unknown={word})) == expected
    turned = [Phrase((0, 2), turn=1), Phrase((3,)), Phrase((5,))]
    assert [reading.words for reading in conjuncts(turned, unknown={3})] == [(0, 5)]
    assert not list(conjuncts(turned, unknown={0}))


def test_a_list_before_a_coordination() -> None:
    text = "squint , short fingers and toes"
    assert readings(text, Phrase((0,)), Phrase((2, 3)), Phrase((5,))) == {"short toes"}
    text = "pain of heads , hypoplasia of thumbs and radii"
    phrases = Phrase((0, 2), turn=1), Phrase((4, 6), turn=1), Phrase((8,))
    assert readings(text, *phrases) == {"hypoplasia radii"}


def test_shared_before_a_preposition() -> None:
    text = "hypoplasia of thumbs radii and ulnae"
    phrases = Phrase((0, 2), turn=1), Phrase((3,)), Phrase((5,))
    assert readings(text, *phrases) == {"hypoplasia radii", "hypoplasia ulnae"}


def test_a_last_phrase_that_goes_on_is_read_in_part() -> None:
    text = "pain of arms and legs today"
    found = readings(text, Phrase((0, 2), turn=1), Phrase((4, 5), ended=False))
    assert {"pain legs", "pain legs today"} <= found


def test_nothing_to_share() -> None:
    assert not readings("a", Phrase((0,)))
    assert not readings("a and b", Phrase((0,)), Phrase((2,)))
    assert not readings("a and b", Phrase(()), Phrase((2, 3)))


@given(st.lists(st.integers(1, 6), min_size=2, max_size=8), st.integers(0, 3))
def test_readings_are_ordered_and_inside(sizes: list[int], turn: int) -> None:
    phrases, at = [], 0
    for size in sizes:
        phrases.append(Phrase(tuple(range(at, at + size)), turn=min(turn, size - 1)))
        at += size + 1
    for reading in conjuncts(phrases):
        assert reading.own
        assert reading.shared
        assert set(reading.own).isdisjoint(reading.shared)
        assert list(reading.words) == sorted(reading.words)
