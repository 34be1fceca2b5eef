"""Mentions and their candidates as token sequences: the five packings of a cross-encoder (Sanz-Cruzado & Lever 2025).

A sequence is ``[CLS] t [SEP] m [MASK] c1 [SEP] m [MASK] c2 [SEP]``: text, then pairs of mention and candidate, each
with a [MASK] whose vector is classified. ``base`` holds one pair, ``parallel`` all candidates of a mention, ``multi``
all mentions of a sentence, ``passage`` and ``document`` the templates of several sentences one after the other. Pairs
for which a window has no room come in further sequences with their text again: none is lost.

Beyond the paper, *isolated* candidates: the mention is written once, each candidate sees its text, its mention and
itself, and positions restart with each, so that a score depends neither on company nor on order. Whoever multiplies
attention needs `visible`.

Everything here is plain data: no network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError
from linnet.text.word_pieces import WordPieces

__all__ = [
    "MASK", "PACKINGS", "Asked", "Frame", "Packed", "PackedTokens", "Packing", "Slot", "Text",
    "frame_of", "pack", "padded_tokens", "too_long", "visible",
]  # fmt: skip

MASK = "[MASK]"

Packing = Literal["base", "parallel", "multi", "passage", "document"]
PACKINGS: tuple[Packing, ...] = ("base", "parallel", "multi", "passage", "document")
TEXT_SHARE = 2 / 3  # of a window, at most, is text: the rest is for pairs
LEAST = 16  # tokens that a window must have
NONE = -1  # the mention of a text's token, the candidate of a mention's


class Frame(NamedTuple):
    """Ids of the tokens that hold a sequence together, and how many tokens one may have."""

    start: int
    end: int
    mask: int
    window: int


def frame_of(encoder: WordPieces, window: int = 0) -> Frame:
    """Return the tokens that hold a sequence together, of `window` tokens at most; 0 = as many as the encoder reads."""
    start, end, _, mask = encoder.special
    return Frame(start or 0, end or 0, encoder.marker(MASK) if mask is None else mask, window or encoder.window)


class Asked(NamedTuple):
    """A mention and its candidates as word pieces."""

    pieces: tuple[int, ...]
    candidates: tuple[tuple[int, ...], ...]


class Text(NamedTuple):
    """Word pieces of one or several joined sentences, and the mentions in them.

    Attributes:
        pieces: of the text.
        mentions: numbers of the mentions, in order.
        places: where in the pieces each of them is, ``[start, end)``.
        group: texts of equal group are of one passage.
    """

    pieces: tuple[int, ...]
    mentions: tuple[int, ...]
    places: tuple[tuple[int, int], ...]
    group: int = 0


class Slot(NamedTuple):
    """A candidate of a mention."""

    mention: int
    candidate: int


@dataclass
class Packed:
    """A token sequence and where its pairs are classified.

    Attributes:
        ids: token ids (tokens,).
        slots: the pairs.
        at: token positions of their [MASK]s.
        positions: what each token's position embedding is, (tokens,).
        texts: which text each token belongs to.
        mentions: which mention it belongs to, -1 for text.
        candidates: which candidate, -1 for text and mentions. These three say what is seen of isolated candidates.
    """

    ids: list[int] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)
    mentions: list[int] = field(default_factory=list)
    candidates: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, ids: Sequence[int], *, text: int, mention: int = NONE, candidate: int = NONE, first: int) -> None:
        """Append tokens that belong together; `first` is the position of the first of them."""
        self.ids += ids
        self.positions += range(first, first + len(ids))
        self.texts += [text] * len(ids)
        self.mentions += [mention] * len(ids)
        self.candidates += [candidate] * len(ids)


def visible(packed: Packed) -> npt.NDArray[np.bool_]:
    """Return which tokens (rows) of isolated candidates see which (columns), bool (tokens, tokens).

    >>> asked, text = [Asked((7,), ((8,), (9,)))], Text((5, 7), (0,), ((1, 2),))
    >>> (one,) = pack([text], asked, "parallel", Frame(1, 2, 3, 64), isolated=True)
    >>> one.ids
    [1, 5, 7, 2, 7, 3, 8, 2, 3, 9, 2]
    >>> visible(one)[5].astype(int).tolist()
    [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0]
    """
    texts, mentions, candidates = (np.array(each) for each in (packed.texts, packed.mentions, packed.candidates))
    same_mention = (mentions[:, None] == mentions) | (mentions == NONE)
    same_candidate = (candidates[:, None] == candidates) | (candidates == NONE)
    found: npt.NDArray[np.bool_] = (texts[:, None] == texts) & same_mention & same_candidate
    return found


# --- packing ---------------------------------------------------------------------------------------------------------


def pack(
    texts: Sequence[Text], asked: Sequence[Asked], how: Packing, frame: Frame, *, isolated: bool = False
) -> list[Packed]:
    """Return token sequences that hold every pair once.

    A text that is too long is divided into windows around its mentions; mentions and candidates that are too long lose
    their ends.

    Args:
        texts: the texts of a document, in order.
        asked: all mentions, which the texts number.
        how: the packing.
        frame: ids and length of the window.
        isolated: whether candidates see each other.

    Raises:
        DataError: a window too small for anything.
    """
    if frame.window < LEAST:
        raise DataError(f"a window of {frame.window} tokens has no room for a text and a pair, it needs {LEAST}")
    fitting = [_fitting(one, _room(frame)) for one in asked]
    longest = int(TEXT_SHARE * (frame.window - 2))
    jobs = [job for text in texts for job in _jobs(text, fitting, how, longest)]
    writer = _Writer(fitting, frame, isolated=isolated)
    groups: dict[int, list[_Job]] = {}
    for place, job in enumerate(jobs):
        groups.setdefault(job.group if how == "passage" else 0 if how == "document" else place, []).append(job)
    for group in groups.values():
        writer.fill(group)
    return writer.done


def too_long(asked: Sequence[Asked], frame: Frame) -> int:
    """Return how many of the mentions and candidates lose their ends."""
    room = _room(frame)
    pairs = ((_fitting(one, room), one) for one in asked)
    return sum(
        len(ours) < len(theirs)
        for mine, whole in pairs
        for ours, theirs in zip((mine.pieces, *mine.candidates), (whole.pieces, *whole.candidates), strict=True)
    )


def _room(frame: Frame) -> int:
    """Return how many tokens a pair may have, with its [MASK] and [SEP]."""
    return frame.window - 2 - int(TEXT_SHARE * (frame.window - 2))


class _Job(NamedTuple):
    """A text that is written, and the pairs behind it; `group` is that of the text."""

    pieces: tuple[int, ...]
    slots: tuple[Slot, ...]
    group: int


def _fitting(asked: Asked, room: int) -> Asked:
    """Return a mention and candidates so short that a pair fits into `room`."""
    mention = asked.pieces[: max(1, (room - 2) // 2)]
    most = room - 2 - len(mention)
    return Asked(mention, tuple(candidate[:most] for candidate in asked.candidates))


def _jobs(text: Text, asked: Sequence[Asked], how: Packing, longest: int) -> Iterator[_Job]:
    """Yield what is written of one text: for ``base`` pair by pair, for ``parallel`` mention by mention."""
    alone = how in ("base", "parallel")
    for pieces, mentions in _windows(text, longest, alone=alone):
        slots = [Slot(mention, number) for mention in mentions for number in range(len(asked[mention].candidates))]
        if how == "base":
            yield from (_Job(pieces, (slot,), text.group) for slot in slots)
        elif slots:
            yield _Job(pieces, tuple(slots), text.group)


def _windows(text: Text, longest: int, *, alone: bool) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """Yield pieces of a text and the mentions in them: of each mention alone, or of as many as a window holds."""
    if len(text.pieces) <= longest:
        yield from (
            ((text.pieces, [mention]) for mention in text.mentions) if alone else [(text.pieces, list(text.mentions))]
        )
        return
    group: list[int] = []
    low = high = 0
    order = sorted(zip(text.places, text.mentions, strict=True))
    for (start, end), mention in order:
        if group and (alone or max(high, end) - low > longest):
            yield _around(text.pieces, low, high, longest), group
            group = []
        if not group:
            low, high = start, end
        group.append(mention)
        high = max(high, end)
    if group:
        yield _around(text.pieces, low, high, longest), group


def _around(pieces: tuple[int, ...], low: int, high: int, longest: int) -> tuple[int, ...]:
    """Return as many pieces as a window holds, with those from `low` to `high` in their middle."""
    start = max(0, min(low - (longest - (high - low)) // 2, len(pieces) - longest)) if high - low < longest else low
    return pieces[start : start + longest]


class _Writer:
    """Writes texts and pairs into sequences, a new one where the last is full."""

    def __init__(self, asked: Sequence[Asked], frame: Frame, *, isolated: bool) -> None:
        self.asked, self.frame, self.isolated = asked, frame, isolated
        self.done: list[Packed] = []
        self.number = 0  # of the next text

    def fill(self, jobs: Sequence[_Job]) -> None:
        """Write jobs one after the other; one that fits into no sequence whole is divided, its text repeated."""
        packed = Packed()
        for job in jobs:
            left = list(job.slots)
            wanted = left
            while left:
                if len(packed) and len(packed) + self._size(job, wanted, packed) > self.frame.window:
                    self.done.append(packed)
                    packed = Packed()
                left = self._write(job, left, packed)
                wanted = left[:1]
        if len(packed):
            self.done.append(packed)

    def _size(self, job: _Job, slots: Sequence[Slot], packed: Packed) -> int:
        """Return how many tokens a text needs with some of its pairs."""
        total, before = self._begins(packed) + len(job.pieces) + 1, NONE
        for slot in slots:
            total += self._pair_size(slot, before)
            before = slot.mention
        return total

    def _begins(self, packed: Packed) -> bool:
        """Return whether a text begins with [CLS]: the first of a sequence, and isolated ones, which see no other."""
        return self.isolated or not len(packed)

    def _pair_size(self, slot: Slot, before: int) -> int:
        asked = self.asked[slot.mention]
        repeated = not self.isolated or slot.mention != before
        return len(asked.pieces) * repeated + len(asked.candidates[slot.candidate]) + 2

    def _write(self, job: _Job, slots: list[Slot], packed: Packed) -> list[Slot]:
        """Write a text and as many pairs as fit; return the others."""
        text, self.number = self.number, self.number + 1
        head = [self.frame.start] if self._begins(packed) else []
        begin = 0 if self.isolated else len(packed)
        packed.add([*head, *job.pieces, self.frame.end], text=text, first=begin)
        behind, before = begin + len(head) + len(job.pieces) + 1, NONE
        for place, slot in enumerate(slots):
            if place and len(packed) + self._pair_size(slot, before) > self.frame.window:
                return slots[place:]
            asked = self.asked[slot.mention]
            first = behind if self.isolated else len(packed)
            if not self.isolated or slot.mention != before:
                packed.add(asked.pieces, text=text, mention=slot.mention, first=first)
            first += len(asked.pieces)
            packed.slots.append(slot)
            packed.at.append(len(packed))
            tokens = [self.frame.mask, *asked.candidates[slot.candidate], self.frame.end]
            packed.add(tokens, text=text, mention=slot.mention, candidate=slot.candidate, first=first)
            before = slot.mention
        return []


class PackedTokens(NamedTuple):
    """Sequences side by side.

    Attributes:
        ids: int64 (sequences, tokens).
        filled: bool (sequences, tokens), where there are tokens.
        at: int64 (slots, 2), sequence and token of each [MASK].
    """

    ids: npt.NDArray[np.int64]
    filled: npt.NDArray[np.bool_]
    at: npt.NDArray[np.int64]


def padded_tokens(packed: Sequence[Packed], *, padding: int) -> PackedTokens:
    """Return sequences as arrays, all as long as the longest; `padding` fills the rest."""
    lengths = np.array([len(one) for one in packed], np.int64)
    filled = np.arange(lengths.max(initial=0)) < lengths[:, None]
    ids = np.full(filled.shape, padding, np.int64)
    ids[filled] = np.concatenate([one.ids for one in packed]) if packed else []
    at = np.array([(place, token) for place, one in enumerate(packed) for token in one.at], np.int64).reshape(-1, 2)
    return PackedTokens(ids, filled, at)
