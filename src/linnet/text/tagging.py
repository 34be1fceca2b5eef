"""Mentions as one tag a token, and back: BIO, IOB1, BIOES, BILOU.

A tag is ``O`` (outside), or a mark and a type with a hyphen between (``B-Disease``; a bare ``B`` has the type "").
What the marks say depends on the scheme:

========  ===========  ============  ==========  ======================  ============================================
scheme    first token  inside        last token  only token              also called
========  ===========  ============  ==========  ======================  ============================================
BIO       B            I             I           B                       BIO2, IOB2
IOB1      I            I             I           I                       IOB; B where one of the same type ends before
BIOES     B            I             E           S                       IOBES
BILOU     B            I             L           U                       BIOLU
========  ===========  ============  ==========  ======================  ============================================

Reading follows one rule in every scheme, the one by which the CoNLL shared tasks count chunks (Tjong Kim Sang &
Buchholz, *Introduction to the CoNLL-2000 shared task: chunking*, 2000): a token goes on with the mention before it if
it is inside or last, the token before is first or inside, and both have the same type; any other token that is not
outside begins a new mention. So every row of tags means something; `faults` tells which break the rules of a scheme.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from linnet.data import Mention, Span
from linnet.errors import DataError, LinnetError, did_you_mean

__all__ = [
    "CONTINUES",
    "OUTSIDE",
    "SCHEMES",
    "Chunk",
    "Scheme",
    "chunks_of",
    "decode",
    "encode",
    "encode_chunks",
    "faults",
    "scheme_named",
]

Scheme: TypeAlias = Literal["BIO", "IOB1", "BIOES", "BILOU"]

OUTSIDE = "O"
SCHEMES: tuple[Scheme, ...] = ("BIO", "IOB1", "BIOES", "BILOU")
MARKS: dict[Scheme, str] = {"BIO": "BI", "IOB1": "BI", "BIOES": "BIES", "BILOU": "BILU"}
ALIASES: dict[str, Scheme] = {
    "BIO": "BIO",
    "BIO2": "BIO",
    "IOB2": "BIO",
    "IOB": "IOB1",
    "IOB1": "IOB1",
    "BIOES": "BIOES",
    "IOBES": "BIOES",
    "BILOU": "BILOU",
    "BIOLU": "BILOU",
}
GOES_ON = frozenset("BI")  # a mention that another token may continue
CONTINUES = frozenset("IEL")  # a token that may belong to the mention before it


class Chunk(NamedTuple):
    """A mention in tokens: its first and last token (both belong to it, counted from 0) and its type."""

    first: int
    last: int
    type: str


def scheme_named(name: str) -> Scheme:
    """Return the scheme that `name` means, whatever its case.

    Raises:
        LinnetError: no such scheme.

    >>> scheme_named("iob2"), scheme_named("BIOLU")
    ('BIO', 'BILOU')
    """
    try:
        return ALIASES[name.upper()]
    except KeyError:
        near = did_you_mean(name.upper(), ALIASES)
        raise LinnetError(f"unknown tagging scheme {name!r}, expected one of {', '.join(SCHEMES)}{near}") from None


# --- mentions to tags ------------------------------------------------------------------------------------------------


def encode(tokens: Sequence[Span], mentions: Iterable[Mention], scheme: Scheme = "BIO") -> list[str]:
    """Return one tag for each token.

    Args:
        tokens: code point spans in reading order that do not overlap.
        mentions: continuous ones that begin and end where tokens do and do not overlap, in any order; the first of
            several types is the type of the tag, a mention without types gets bare marks.
        scheme: one of `SCHEMES`.

    Raises:
        DataError: mentions that are no such mentions.

    >>> encode([Span(0, 5), Span(6, 13), Span(13, 14)], [Mention(0, 13, types=("Sign",))], "BIOES")
    ['B-Sign', 'E-Sign', 'O']
    """
    return encode_chunks(len(tokens), chunks_of(tokens, mentions), scheme)


def chunks_of(tokens: Sequence[Span], mentions: Iterable[Mention]) -> list[Chunk]:
    """Return mentions as chunks of tokens, in the order of `mentions`.

    Raises:
        DataError: a discontinuous mention, or one that does not begin and end where tokens do.

    >>> chunks_of([Span(0, 5), Span(6, 13)], [Mention(6, 13, types=("Sign",))])
    [Chunk(first=1, last=1, type='Sign')]
    """
    starts = [start for start, _ in tokens]
    found = []
    for mention in mentions:
        where = f"mention {mention.start}-{mention.end}"
        if mention.parts:
            raise DataError(f"{where} is discontinuous: tags cannot hold it")
        first = bisect_left(starts, mention.start)
        last = bisect_left(starts, mention.end) - 1
        if not first <= last or (starts[first], tokens[last][1]) != mention.span:
            raise DataError(f"{where} does not begin and end where tokens do: split the tokens at its borders")
        found.append(Chunk(first, last, mention.types[0] if mention.types else ""))
    return found


def encode_chunks(count: int, chunks: Iterable[Chunk], scheme: Scheme = "BIO") -> list[str]:
    """Return the tags of `count` tokens; `decode` gives the chunks back, in reading order.

    Raises:
        DataError: chunks that overlap or lie outside the tokens.

    >>> encode_chunks(4, [Chunk(0, 1, "A"), Chunk(2, 2, "A")], "IOB1")
    ['I-A', 'I-A', 'B-A', 'O']
    """
    tags = [OUTSIDE] * count
    before = Chunk(-2, -2, "")  # touches no token
    for chunk in sorted(chunks):
        first, last, type = chunk
        if not max(before.last, -1) < first <= last < count:
            raise DataError(f"{chunk} overlaps another or does not lie in {count} tokens: tags cannot hold it")
        touches = (before.last, before.type) == (first - 1, type)
        ending = f"-{type}" if type else ""
        tags[first : last + 1] = [mark + ending for mark in _marks(last - first + 1, touches, scheme)]
        before = chunk
    return tags


def _marks(length: int, touches: bool, scheme: Scheme) -> str:
    """Return the marks of one mention; `touches` says that one of its type ends right before it."""
    if scheme in ("BIO", "IOB1"):
        return ("B" if scheme == "BIO" or touches else "I") + "I" * (length - 1)
    inside, last, only = ("I", "E", "S") if scheme == "BIOES" else ("I", "L", "U")
    return only if length == 1 else "B" + inside * (length - 2) + last


# --- tags to mentions ------------------------------------------------------------------------------------------------


def _split(tags: Iterable[str], marks: str) -> Iterator[tuple[str, str]]:
    """Yield (mark, type) of every tag."""
    for tag in tags:
        mark, hyphen, type = tag[:1], tag[1:2], tag[2:]
        if tag == OUTSIDE:
            yield OUTSIDE, ""
        elif mark and mark in marks and (hyphen == "-" or not hyphen):
            yield mark, type
        else:
            expected = f"expected {OUTSIDE}, or one of {', '.join(marks)}, alone or with a hyphen and a type"
            raise DataError(f"{tag!r} is no tag: {expected}")


def decode(tags: Iterable[str], scheme: Scheme | None = None) -> list[Chunk]:
    """Return the mentions that one sentence's tags mark, in reading order, by the rule of this module.

    Args:
        tags: one a token.
        scheme: whose marks may occur; None allows those of every scheme. The chunks do not depend on it.

    Raises:
        DataError: what is no tag of the scheme.

    >>> decode(["B-Gene", "I-Gene", "O", "I-Gene", "I-Drug"], "BIO")
    [Chunk(first=0, last=1, type='Gene'), Chunk(first=3, last=3, type='Gene'), Chunk(first=4, last=4, type='Drug')]
    """
    found: list[Chunk] = []
    before, type_before, first, place = OUTSIDE, "", 0, -1
    for place, (mark, type) in enumerate(_split(tags, MARKS[scheme] if scheme else "BIESLU")):
        if mark in CONTINUES and before in GOES_ON and type == type_before:
            before = mark
            continue
        if before != OUTSIDE:
            found.append(Chunk(first, place - 1, type_before))
        before, type_before, first = mark, type, place
    if before != OUTSIDE:
        found.append(Chunk(first, place, type_before))
    return found


def faults(tags: Iterable[str], scheme: Scheme) -> list[int]:
    """Return the places where one sentence's tags break the rules of `scheme`, in order; `decode` reads them anyway.

    A place is that of the token that does not fit the one before it; the number of tokens where a mention lacks its
    last token at the end.

    Raises:
        DataError: what is no tag of the scheme.

    >>> faults(["I-A", "B-A"], "BIO"), faults(["I-A", "B-A"], "IOB1"), faults(["B-A"], "BIOES")
    ([0], [], [1])
    """
    found = []
    before = (OUTSIDE, "")
    place = -1
    for place, tag in enumerate(_split(tags, MARKS[scheme])):
        if not _may_follow(before, tag, scheme):
            found.append(place)
        before = tag
    if not _may_follow(before, (OUTSIDE, ""), scheme):
        found.append(place + 1)
    return found


def _may_follow(before: tuple[str, str], tag: tuple[str, str], scheme: Scheme) -> bool:
    same = before[0] != OUTSIDE and before[1] == tag[1]
    if scheme == "BIO":
        return same or tag[0] != "I"
    if scheme == "IOB1":
        return same or tag[0] != "B"
    inside = before[0] in GOES_ON
    return inside == (tag[0] in CONTINUES) and (same or not inside)
