"""From scores of word pieces to the mentions that `linnet.joint.collective` finds, whoever ran its network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from linnet.joint.reading import Found
from linnet.text.chains import rules_of
from linnet.text.windows import Text
from linnet.text.word_scores import decoded

__all__ = ["BIO", "choose_spans", "find_labelled", "span_scores"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

BIO = ["O", "B", "I"]
LEAST = -7.0  # log odds: less probable spans are not looked at
SUREST = 30.0
NEVER = float("-inf")


def span_scores(scores: Floats, owners: Ints, count: int, widest: int) -> Floats:
    """Return the log odds of all spans of up to `widest` words, float32 (words, widest), by first word and width - 1.

    Args:
        scores: of pieces as start, as end, and inside of a mention, (pieces, 3).
        owners: the word of each piece, (pieces,), in rising order.
        count: words of the text.
        widest: words of the longest span.

    -inf stands where there is no such span, or where it would begin or end with a word that has no pieces.
    """
    words, widths = np.arange(count), np.arange(widest)
    first, last = np.searchsorted(owners, words), np.searchsorted(owners, words, side="right") - 1
    # in float64: a difference of sums that grow with the text
    sums = np.concatenate([[0.0], scores[:, 2].cumsum(dtype=np.float64)])
    lasts = np.minimum(words[:, None] + widths, count - 1)
    read = last >= first
    there = (widths < (count - words)[:, None]) & read[:, None] & read[lasts]
    begin, end = np.minimum(first, len(scores) - 1), np.maximum(last, 0)[lasts]
    inside = (sums[end + 1] - sums[begin][:, None]).astype(np.float32)
    return np.where(there, scores[begin, 0][:, None] + scores[end, 1] + inside, np.float32(NEVER))


def choose_spans(scores: Floats, overlaps: Literal["flat", "nested"]) -> list[Found]:
    """Return the spans of a text that may be mentions, best first; of ``flat`` ones none overlaps a better one.

    >>> choose_spans(np.array([[1.0, 3.0], [2.0, -9.0]], np.float32), "flat")
    [Found(first=0, last=1, odds=3.0)]
    """
    firsts, widths = np.nonzero(scores > LEAST)
    odds = scores[firsts, widths]
    taken = np.zeros(len(scores), np.bool_)
    found = []
    for place in np.argsort(-odds, kind="stable").tolist():
        first, last = int(firsts[place]), int(firsts[place] + widths[place])
        if overlaps == "flat":
            if taken[first : last + 1].any():
                continue
            taken[first : last + 1] = True
        found.append(Found(first, last, float(odds[place])))
    return found


def find_labelled(texts: Sequence[Text], scores: Sequence[Floats]) -> list[list[Found]]:
    """Return the mentions of the best labels of each text, whose pieces have scores of `BIO`, (pieces, 3)."""
    words = []
    for text, own in zip(texts, scores, strict=True):
        sums = np.zeros((len(text.words), len(BIO)), np.float32)
        np.add.at(sums, text.owners, own)
        pieces = np.bincount(text.owners, minlength=len(text.words))
        sums /= np.maximum(pieces, 1)[:, None]
        sums[pieces == 0, 0] = SUREST  # nobody has read these
        words.append(sums)
    chunks = decoded(words, rules_of(BIO, "BIO"), BIO)
    return [[Found(chunk.first, chunk.last, odds) for chunk, odds in some] for some in chunks]
