"""Tags of tokens: against slow and obvious references, and as inverses of each other in every scheme."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Mention, Span
from linnet.errors import DataError, LinnetError
from linnet.text.tagging import (
    MARKS,
    OUTSIDE,
    SCHEMES,
    Chunk,
    Scheme,
    chunks_of,
    decode,
    encode,
    encode_chunks,
    faults,
    scheme_named,
)

TYPES = st.sampled_from(["", "A", "B-C", "-", "O", "ß"])


@st.composite
def chunked(draw: st.DrawFn) -> tuple[int, list[Chunk]]:
    lengths = draw(st.lists(st.tuples(st.booleans(), st.integers(1, 4), TYPES), max_size=8))
    chunks, place = [], 0
    for inside, length, type in lengths:
        if inside:
            chunks.append(Chunk(place, place + length - 1, type))
        place += length
    return place, chunks


def slow_encode(count: int, chunks: Sequence[Chunk], scheme: Scheme) -> list[str]:
    """Ask for every token which chunk holds it, and for its mark what stands around it."""
    tags = []
    for token in range(count):
        holding = [c for c in chunks if c.first <= token <= c.last]
        if not holding:
            tags.append("O")
            continue
        [chunk] = holding
        first, last = token == chunk.first, token == chunk.last
        touched = any(c.last == chunk.first - 1 and c.type == chunk.type for c in chunks)
        mark = {
            "BIO": "B" if first else "I",
            "IOB1": "B" if first and touched else "I",
            "BIOES": "S" if first and last else "B" if first else "E" if last else "I",
            "BILOU": "U" if first and last else "B" if first else "L" if last else "I",
        }[scheme]
        tags.append(f"{mark}-{chunk.type}" if chunk.type else mark)
    return tags


def slow_decode(tags: Sequence[str]) -> list[Chunk]:
    """Ask for every run of tokens whether it is a whole mention."""
    split = [("O", "") if tag == "O" else (tag[0], tag[2:]) for tag in tags]

    def joined(i: int) -> bool:
        return (
            0 < i < len(split) and split[i][0] in "IEL" and split[i - 1][0] in "BI" and split[i][1] == split[i - 1][1]
        )

    return [
        Chunk(first, last, split[first][1])
        for first in range(len(split))
        for last in range(first, len(split))
        if split[first][0] != "O"
        and not joined(first)
        and not joined(last + 1)
        and all(joined(i) for i in range(first + 1, last + 1))
    ]


def layouts(count: int, types: Sequence[str], place: int = 0) -> Iterator[list[Chunk]]:
    """Yield every list of chunks that `count` tokens can hold."""
    if place == count:
        yield []
        return
    yield from layouts(count, types, place + 1)
    for last, type in itertools.product(range(place, count), types):
        yield from ([Chunk(place, last, type), *rest] for rest in layouts(count, types, last + 1))


@pytest.mark.parametrize("scheme", SCHEMES)
@given(chunked())
def test_encode_is_the_slow_reference_and_decode_its_inverse(scheme: Scheme, case: tuple[int, list[Chunk]]) -> None:
    count, chunks = case
    tags = encode_chunks(count, reversed(chunks), scheme)
    assert tags == slow_encode(count, chunks, scheme)
    assert decode(tags, scheme) == chunks
    assert faults(tags, scheme) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@given(st.data())
def test_decode_is_the_slow_reference_on_any_tags(scheme: Scheme, data: st.DataObject) -> None:
    alphabet = ["O", *(mark + ending for mark in MARKS[scheme] for ending in ("", "-A", "-B"))]
    tags = data.draw(st.lists(st.sampled_from(alphabet), max_size=9))
    chunks = decode(tags, scheme)
    assert chunks == slow_decode(tags) == decode(tags)
    assert (encode_chunks(len(tags), chunks, scheme) == tags) == (not faults(tags, scheme))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_legal_tags_are_exactly_those_that_encode_can_write(scheme: Scheme) -> None:
    count = 4
    written = {tuple(encode_chunks(count, chunks, scheme)) for chunks in layouts(count, ("A", "B"))}
    alphabet = ["O", *(f"{mark}-{type}" for mark in MARKS[scheme] for type in "AB")]
    legal = {tags for tags in itertools.product(alphabet, repeat=count) if not faults(tags, scheme)}
    assert legal == written
    assert len(written) == sum(1 for _ in layouts(count, ("A", "B")))


@pytest.mark.parametrize(
    ("scheme", "tags", "places", "chunks"),
    [
        ("BIO", ["O", "I-A", "I-B", "B-B"], [1, 2], [(1, 1, "A"), (2, 2, "B"), (3, 3, "B")]),
        ("IOB1", ["B-A", "I-A", "B-A", "I-B", "B-A"], [0, 4], [(0, 1, "A"), (2, 2, "A"), (3, 3, "B"), (4, 4, "A")]),
        ("BIOES", ["E-A", "E-A", "I-A"], [0, 1, 2, 3], [(0, 0, "A"), (1, 1, "A"), (2, 2, "A")]),
        ("BIOES", ["B-A", "E-B", "S-A"], [1], [(0, 0, "A"), (1, 1, "B"), (2, 2, "A")]),
        ("BILOU", ["B-A", "I-A", "U-A", "B-A"], [2, 4], [(0, 1, "A"), (2, 2, "A"), (3, 3, "A")]),
    ],
)
def test_repairs(scheme: Scheme, tags: list[str], places: list[int], chunks: list[tuple[int, int, str]]) -> None:
    assert faults(tags, scheme) == places
    assert decode(tags, scheme) == chunks


@pytest.mark.parametrize("tag", ["", "X", "E-A", "BA", "B_A", "o", "O-A", "-A", "b-A", "BI"])
def test_what_is_no_tag(tag: str) -> None:
    for read in (decode, faults):
        with pytest.raises(DataError, match="is no tag: expected O, or one of B, I, alone"):
            read([OUTSIDE, tag], "BIO")


def test_mentions_and_tokens() -> None:
    tokens = [Span(0, 2), Span(3, 5), Span(5, 6)]
    mentions = [Mention(5, 6), Mention(0, 5, types=("A", "B"))]
    assert chunks_of(tokens, mentions) == [(2, 2, ""), (0, 1, "A")]
    assert encode(tokens, mentions, "BILOU") == ["B-A", "L-A", "U"]
    assert encode([], [], "BIO") == []


@pytest.mark.parametrize(
    ("mention", "problem"),
    [
        (Mention(0, 5, parts=(Span(0, 2), Span(3, 5))), "mention 0-5 is discontinuous"),
        (Mention(1, 5), "mention 1-5 does not begin and end"),
        (Mention(0, 4), "mention 0-4 does not begin and end"),
        (Mention(2, 3), "mention 2-3 does not begin and end"),
        (Mention(6, 9), "mention 6-9 does not begin and end"),
        (Mention(3, 9), "mention 3-9 does not begin and end"),
    ],
)
def test_mentions_that_tokens_do_not_hold(mention: Mention, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        encode([Span(0, 2), Span(3, 5)], [mention])


@pytest.mark.parametrize(
    "chunks", [[Chunk(0, 1, ""), Chunk(1, 2, "")], [Chunk(-1, 0, "")], [Chunk(2, 1, "")], [Chunk(2, 3, "")]]
)
def test_chunks_that_tags_do_not_hold(chunks: list[Chunk]) -> None:
    with pytest.raises(DataError, match="tags cannot hold it"):
        encode_chunks(3, chunks)


def test_names_of_schemes() -> None:
    assert {scheme_named(scheme) for scheme in SCHEMES} == set(SCHEMES)
    assert [scheme_named(name) for name in ("bio2", "iobes", "IOB", "biolu")] == ["BIO", "BIOES", "IOB1", "BILOU"]
    with pytest.raises(LinnetError, match=r"unknown tagging scheme 'BIOE', expected one of BIO, .*; did you mean 'BIO"):
        scheme_named("BIOE")
