"""The five packings: every pair once, in a window, behind its text; isolated ones equal in all packings."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.errors import DataError
from linnet.text.packing import PACKINGS, Asked, Frame, Packed, Packing, Slot, Text, pack, visible

CLS, SEP, MASK = 1, 2, 3
WIDE = Frame(CLS, SEP, MASK, 512)
ASKED = [
    Asked((20, 21), ((30,), (31, 32))),
    Asked((22,), ((33,), (34,), (35,))),
    Asked((23,), ((36,),)),
]
TEXTS = [
    Text((10, 20, 21, 11, 22), (0, 1), ((1, 3), (4, 5))),
    Text((12, 23), (2,), ((1, 2),)),
]
ALL = [Slot(mention, number) for mention, one in enumerate(ASKED) for number in range(len(one.candidates))]


def ids(how: Packing, *, isolated: bool = False) -> list[list[int]]:
    return [one.ids for one in pack(TEXTS, ASKED, how, WIDE, isolated=isolated)]


def test_templates_are_those_of_the_paper() -> None:
    first, second = (1, 10, 20, 21, 11, 22, 2), (1, 12, 23, 2)
    assert ids("base")[:2] == [[*first, 20, 21, 3, 30, 2], [*first, 20, 21, 3, 31, 32, 2]]
    assert len(ids("base")) == len(ALL)
    one, two, three = (
        [20, 21, 3, 30, 2, 20, 21, 3, 31, 32, 2],
        [22, 3, 33, 2, 22, 3, 34, 2, 22, 3, 35, 2],
        [23, 3, 36, 2],
    )
    assert ids("parallel") == [[*first, *one], [*first, *two], [*second, *three]]
    assert ids("multi") == [[*first, *one, *two], [*second, *three]]
    assert ids("passage") == ids("document") == [[*first, *one, *two, *second[1:], *three]]
    apart = [TEXTS[0], TEXTS[1]._replace(group=1)]
    assert [one.ids for one in pack(apart, ASKED, "passage", WIDE)] == ids("multi")
    assert ids("parallel", isolated=True)[0] == [*first, 20, 21, 3, 30, 2, 3, 31, 32, 2]


def test_where_a_window_is_full_the_text_comes_again() -> None:
    frame = Frame(CLS, SEP, MASK, 16)
    for how in ("parallel", "multi", "passage"):
        packed = pack(TEXTS[:1], ASKED[:2], how, frame)
        assert [slot for one in packed for slot in one.slots] == ALL[:5]
        assert all(one.ids[:7] == [1, 10, 20, 21, 11, 22, 2] for one in packed)
    assert [len(one.slots) for one in pack(TEXTS[:1], ASKED[:2], "parallel", frame)] == [2, 2, 1]
    assert [len(one.slots) for one in pack(TEXTS[:1], ASKED[:2], "multi", frame)] == [2, 2, 1]
    with pytest.raises(DataError, match="a window of 8 tokens has no room"):
        pack(TEXTS, ASKED, "base", Frame(CLS, SEP, MASK, 8))


def test_a_long_text_is_read_around_its_mentions() -> None:
    text = Text(tuple(range(100, 200)), (0, 1, 2), ((5, 7), (8, 9), (90, 91)))
    frame = Frame(CLS, SEP, MASK, 40)
    for how in PACKINGS:
        for one in pack([text], ASKED, how, frame):
            seen = set(one.ids)
            for slot in one.slots:
                start, end = text.places[slot.mention]
                assert set(range(100 + start, 100 + end)) <= seen
    assert len(pack([text], ASKED[2:] * 3, "multi", frame)) == 2


@st.composite
def documents(draw: st.DrawFn) -> tuple[list[Text], list[Asked]]:
    """Texts of pieces from 100 up, each another one, with mentions in them and candidates of any length."""
    texts: list[Text] = []
    asked: list[Asked] = []
    group = 0
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(1, 80))
        places = sorted(
            (start, draw(st.integers(start + 1, size)))
            for start in draw(st.lists(st.integers(0, size - 1), max_size=4))
        )
        group += draw(st.integers(0, 1))
        first = len(asked)
        for start, end in places:
            lengths = draw(st.lists(st.integers(0, 60), max_size=4))
            asked.append(Asked(tuple(range(100 + start, 100 + end)), tuple((9,) * length for length in lengths)))
        texts.append(Text(tuple(range(100, 100 + size)), tuple(range(first, len(asked))), tuple(places), group))
    return texts, asked


@given(documents(), st.sampled_from(PACKINGS), st.integers(16, 90), st.booleans())
def test_no_pair_is_lost(document: tuple[list[Text], list[Asked]], how: Packing, window: int, isolated: bool) -> None:
    texts, asked = document
    packed = pack(texts, asked, how, Frame(CLS, SEP, MASK, window), isolated=isolated)
    found = Counter(slot for one in packed for slot in one.slots)
    assert found == Counter(Slot(m, c) for m, one in enumerate(asked) for c in range(len(one.candidates)))
    for one in packed:
        assert 0 < len(one) <= window
        assert len({len(one.ids), len(one.positions), len(one.texts), len(one.mentions), len(one.candidates)}) == 1
        assert max(one.positions) < window
        assert one.ids[0] == CLS
        assert [one.ids[place] for place in one.at] == [MASK] * len(one.slots)
        assert one.ids.count(MASK) == len(one.slots)
        assert [(one.mentions[at], one.candidates[at]) for at in one.at] == [tuple(slot) for slot in one.slots]
        if not isolated:
            assert one.positions == list(range(len(one)))


def context(packed: Packed, place: int) -> list[tuple[int, int]]:
    """Tokens that the one at `place` sees, with their positions."""
    seen = np.flatnonzero(visible(packed)[place])
    return [(packed.ids[other], packed.positions[other]) for other in seen]


@given(documents(), st.integers(40, 90))
def test_what_an_isolated_candidate_sees_is_the_same_in_every_packing(
    document: tuple[list[Text], list[Asked]], window: int
) -> None:
    texts, asked = document
    texts = [text._replace(pieces=text.pieces[:20]) for text in texts if all(end <= 20 for _, end in text.places)]
    seen = []
    for how in PACKINGS:
        packed = pack(texts, asked, how, Frame(CLS, SEP, MASK, window), isolated=True)
        seen.append({slot: context(one, at) for one in packed for slot, at in zip(one.slots, one.at, strict=True)})
    assert all(other == seen[0] for other in seen)
    for one in pack(texts, asked, "document", Frame(CLS, SEP, MASK, window), isolated=True):
        for slot, at in zip(one.slots, one.at, strict=True):
            assert sum(token == MASK for token, _ in context(one, at)) == 1
            assert one.mentions[at] == slot.mention
