"""Token accuracy: documents as the labels that a tagger gives to words (BIO, BILOU), and how many are the same.

Words are those of `linnet.text.tokens`; one belongs to a span if they share a character. The parts of a discontinuous
mention are tagged as spans of their own. A word has one label: of spans that share a word the one with the most words
is tagged (of equals the first, then the one whose type comes first in the alphabet), the others are not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from linnet.data import Document
from linnet.evaluate.measures import Measure
from linnet.text.tokens import tokenize

__all__ = ["token_accuracy"]

SCHEMES = ("bio", "bilou", "bio-typed", "bilou-typed")
AS_BIO = str.maketrans("LU", "IB")
OUTSIDE = ("O", "")


def token_accuracy(pairs: Sequence[tuple[Document, Document]]) -> list[Measure]:
    """Return the shares of words with the same label on both sides: BIO and BILOU, without and with types.

    Args:
        pairs: gold and predicted documents with the same text.

    >>> from linnet.data import Mention
    >>> gold = Document("a", "a common cold", mentions=(Mention(2, 13),))
    >>> near = Document("a", "a common cold", mentions=(Mention(9, 13),))
    >>> {measure.name: measure.counts.tolist() for measure in token_accuracy([(gold, near)])[:2]}
    {'token.bio.accuracy': [[1.0, 3.0]], 'token.bilou.accuracy': [[1.0, 3.0]]}
    """
    rows = np.array([_count_same(*pair) for pair in pairs], np.float64).reshape(-1, len(SCHEMES) + 1)
    empty = 0.0 if any(doc.mentions for pair in pairs for doc in pair) else 1.0
    return [
        Measure(f"token.{name}.accuracy", rows[:, [place, len(SCHEMES)]], empty) for place, name in enumerate(SCHEMES)
    ]


def _count_same(gold: Document, predicted: Document) -> list[int]:
    """Return how many words have the same label by each of the schemes, and how many words there are."""
    tokens = tokenize(gold.text)
    starts, ends = tokens.starts.tolist(), tokens.ends.tolist()
    ours, theirs = (_tag(doc, starts, ends) for doc in (gold, predicted))
    same = [len(starts)] * (len(SCHEMES) + 1)
    for word in ours.keys() | theirs.keys():
        (tag, type), (other, other_type) = ours.get(word, OUTSIDE), theirs.get(word, OUTSIDE)
        alike = (tag.translate(AS_BIO) == other.translate(AS_BIO), tag == other)
        for place, right in enumerate((*alike, *(one and type == other_type for one in alike))):
            same[place] -= not right
    return same


def _tag(doc: Document, starts: Sequence[int], ends: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return BILOU tag and type of the words inside of spans, by the number of the word."""
    stretches: set[tuple[int, int, str]] = set()  # words, negative, the first of them, and their type
    for mention in doc.mentions or ():
        kind = min(mention.types, default="")  # of several the first in the alphabet
        for start, end in mention.spans:
            first, behind = bisect_right(ends, start), bisect_left(starts, end)
            if first < behind:
                stretches.add((first - behind, first, kind))
    tags: dict[int, tuple[str, str]] = {}
    for size, first, kind in sorted(stretches):
        words = range(first, first - size)
        if not any(word in tags for word in words):
            inner = ["I"] * (len(words) - 2)
            tags.update(
                zip(words, [(tag, kind) for tag in (["B", *inner, "L"] if len(words) > 1 else "U")], strict=True)
            )
    return tags
