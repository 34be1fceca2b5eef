"""Words that get one label each, what is known of them, and their labels.

A word is a run of letters and digits, or one other character that is no blank; labels belong to words, so that no
mention begins or ends inside one.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from linnet.data import Document, Mention, Span
from linnet.text.normalise import INVISIBLE
from linnet.text.tagging import OUTSIDE, Chunk, Scheme, decode, encode_chunks

__all__ = [
    "KINDS",
    "SHAPES",
    "UNKNOWN",
    "Ints",
    "flat_mentions",
    "gold_chunks",
    "label_names",
    "labels_of",
    "matches_of",
    "shape_of",
    "spans_of",
]

_JOINED = rf"\u0300-\u036f{INVISIBLE}"  # accents and invisible signs belong to the word before them
_WORD = re.compile(rf"[^\W_]+(?:[{_JOINED}]+[^\W_]*)*|[^\s{_JOINED}]")

Ints = npt.NDArray[np.int64]

SHAPES = ("other", "lower", "Capital", "UPPER", "miXed", "digits", "a1", "A1", "mark", "greek")
GREEK_LETTERS = 2  # of a Greek word that stands for itself: "β", "αβ"
KINDS = ("B", "I", "E", "S")  # places in a match of the dictionary
UNKNOWN = -100  # a label that nobody has given


def spans_of(text: str) -> list[Span]:
    """Return the words of a text.

    >>> [span for span in spans_of("5-HT, low")]
    [Span(start=0, end=1), Span(start=1, end=2), Span(start=2, end=4), Span(start=4, end=5), Span(start=6, end=9)]
    """
    return [Span(*found.span()) for found in _WORD.finditer(text)]


def shape_of(word: str) -> int:
    """Return the shape of a word, its place in `SHAPES`: what a lower-casing tokenizer does not see."""
    letters = [letter for letter in word if letter.isalpha()]
    if not letters:
        shape = "digits" if word[0].isalnum() else "mark"
    elif len(letters) < len(word):
        shape = "A1" if any(map(str.isupper, letters)) else "a1"
    elif len(word) <= GREEK_LETTERS and any("\u0370" <= letter <= "\u03ff" for letter in word):
        shape = "greek"
    elif word.islower():
        shape = "lower"
    elif word.isupper() and len(word) > 1:
        shape = "UPPER"
    elif word[0].isupper() and not any(map(str.isupper, word[1:])):
        shape = "Capital"
    else:
        shape = "miXed" if any(map(str.isupper, word)) else "other"
    return SHAPES.index(shape)


def matches_of(words: Sequence[Span], mentions: Iterable[Mention], features: dict[str, int]) -> list[tuple[int, int]]:
    """Return (word, feature) of the words that the dictionary found, one for each type of a match."""
    found = set()
    for mention in mentions:
        for part in mention.spans:
            first, last = words_in(words, part)
            for word in range(first, last + 1):
                place = KINDS[3 if first == last else 0 if word == first else 2 if word == last else 1]
                kinds = mention.types or ("",)
                found |= {(word, features[name]) for kind in kinds if (name := f"{place}-{kind}") in features}
    return sorted(found)


def words_in(words: Sequence[Span], span: Span) -> tuple[int, int]:
    """Return the first and last word that share a character with a span; last < first if none does."""
    first = bisect_right(words, span.start, key=itemgetter(1))
    return first, bisect_left(words, span.end, lo=first, key=itemgetter(0)) - 1


def stretch_of(words: Sequence[Span], owners: Ints, span: Span) -> tuple[int, int]:
    """Return the word pieces ``[start, end)`` of the words that share a character with a span.

    >>> stretch_of([Span(0, 3), Span(4, 9)], np.array([0, 1, 1]), Span(4, 6))
    (1, 3)
    """
    first, last = words_in(words, span)
    start, end = np.searchsorted(owners, first), np.searchsorted(owners, last, side="right")
    return int(start), max(int(start), int(end))


# --- labels ----------------------------------------------------------------------------------------------------------


def label_names(types: Sequence[str], scheme: Scheme) -> list[str]:
    """Return the labels of a scheme: ``O`` first, then the marks of each type.

    >>> label_names(["Disease"], "BIOES")
    ['O', 'B-Disease', 'I-Disease', 'E-Disease', 'S-Disease']
    """
    marks = "BI" if scheme == "BIO" else "BIES" if scheme == "BIOES" else "BILU"
    return ["O", *(f"{mark}-{kind}" if kind else mark for kind in types for mark in marks)]


def flat_mentions(mentions: Iterable[Mention], words: Sequence[Span]) -> list[tuple[Mention, int, int]]:
    """Return the mentions that labels of words can hold, in reading order, with their first and last word.

    A mention holds the words that it shares a character with; of mentions that share a word the longest is taken, of a
    discontinuous one its hull.
    """
    taken = np.zeros(len(words), np.bool_)
    held = []
    for mention in sorted(mentions, key=lambda one: (one.start - one.end, one.start)):
        first, last = words_in(words, mention.span)
        if first <= last and not taken[first : last + 1].any():
            taken[first : last + 1] = True
            held.append((mention, first, last))
    return sorted(held, key=itemgetter(1))


def labels_of(doc: Document, words: Sequence[Span], names: Sequence[str], scheme: Scheme) -> Ints:
    """Return the label of each word, as its place in `names`, int64 (words,); `UNKNOWN` where nobody has looked.

    Nobody has looked at a document whose mentions are None.

    The mentions are those of `flat_mentions`. A type that is not among the labels counts as none.
    """
    if doc.mentions is None:
        return np.full(len(words), UNKNOWN, np.int64)
    kinds = {name[2:] for name in names}
    chunks = [
        Chunk(first, last, mention.types[0] if mention.types and mention.types[0] in kinds else "")
        for mention, first, last in flat_mentions(doc.mentions, words)
    ]
    places = {name: place for place, name in enumerate(names)}
    tags = encode_chunks(len(words), chunks, scheme)
    labels = np.array([places.get(tag, UNKNOWN) for tag in tags], np.int64)
    if doc.reviewed is not None:
        seen = np.zeros(len(words), np.bool_)
        for span in doc.reviewed:
            first, last = words_in(words, span)
            seen[first : last + 1] = True
        labels[~seen & (labels == 0)] = UNKNOWN
    return labels


def gold_chunks(labels: Ints, names: Sequence[str]) -> list[Chunk]:
    """Return the mentions that labels (words,) mark; unknown ones mark none."""
    return decode(names[label] if label >= 0 else OUTSIDE for label in labels.tolist())
