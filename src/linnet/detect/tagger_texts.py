"""Documents as a tagger reads them: words that get one label each, word pieces in windows, and what is known of words.

A word is a run of letters and digits, or one other character that is no blank; labels belong to words, so that no
mention begins or ends inside one. A document longer than the encoder's window is read in windows that overlap; each
word is taken from the window in which it is farthest from an edge, so that nothing is cut off and nothing is read
without what stands around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.data import Document, Mention, Span
from linnet.nn.encoder import Encoder
from linnet.text.normalise import INVISIBLE
from linnet.text.tagging import OUTSIDE, Chunk, Scheme, decode, encode_chunks

__all__ = [
    "KINDS",
    "SHAPES",
    "UNKNOWN",
    "Text",
    "Window",
    "gold_chunks",
    "label_names",
    "labels_of",
    "read",
    "spans_of",
    "windows",
]

_JOINED = rf"\u0300-\u036f{INVISIBLE}"  # accents and invisible signs belong to the word before them
_WORD = re.compile(rf"[^\W_]+(?:[{_JOINED}]+[^\W_]*)*|[^\s{_JOINED}]")

Ints = npt.NDArray[np.int64]

SHAPES = ("other", "lower", "Capital", "UPPER", "miXed", "digits", "a1", "A1", "mark", "greek")
GREEK_LETTERS = 2  # of a Greek word that stands for itself: "β", "αβ"
KINDS = ("B", "I", "E", "S")  # places in a match of the dictionary
UNKNOWN = -100  # a label that nobody has given


class Text(NamedTuple):
    """A document as words and word pieces.

    ``words`` are code point spans; ``pieces`` (pieces,) are ids and ``owners`` (pieces,) the word of each, in rising
    order; ``shapes`` (words,) are places in `SHAPES`; ``matches`` are pairs (word, feature) of the dictionary.
    """

    words: list[Span]
    pieces: Ints
    owners: Ints
    shapes: Ints
    matches: Ints


class Window(NamedTuple):
    """A stretch of a text: its pieces from ``first`` up to ``last``; the words from ``begin`` up to ``end`` are its."""

    first: int
    last: int
    begin: int
    end: int


def spans_of(text: str) -> list[Span]:
    """Return the words of a text.

    >>> [span for span in spans_of("5-HT, low")]
    [Span(start=0, end=1), Span(start=1, end=2), Span(start=2, end=4), Span(start=4, end=5), Span(start=6, end=9)]
    """
    return [Span(*found.span()) for found in _WORD.finditer(text)]


def read(
    docs: Sequence[Document],
    encoder: Encoder,
    *,
    known: Sequence[Sequence[Mention]] | None = None,
    features: dict[str, int] | None = None,
) -> list[Text]:
    """Return documents as words and word pieces.

    Args:
        docs: with any mentions, which are not looked at.
        encoder: whose word pieces they are.
        known: for each document what the dictionary found; None = nothing.
        features: numbers of the features of dictionary matches, ``B-Disease`` …, by name; others are left out.
    """
    made = []
    for number, (doc, (ids, offsets)) in enumerate(zip(docs, encoder.located([doc.text for doc in docs]), strict=True)):
        words = spans_of(doc.text)
        starts = np.array([word.start for word in words], np.int64)
        places = np.array([start for start, _ in offsets], np.int64)
        owners = np.searchsorted(starts, places, side="right") - 1
        held = owners >= 0  # a piece before the first word is no part of any
        pieces, owners = np.array(ids, np.int64)[held], np.maximum.accumulate(owners[held])
        shapes = np.array([_shape(doc.text[start:end]) for start, end in words], np.int64)
        found = _matched(words, known[number], features) if known is not None and features else []
        made.append(Text(words, pieces, owners, shapes, np.array(found, np.int64).reshape(-1, 2)))
    return made


def _shape(word: str) -> int:
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


def _matched(words: Sequence[Span], mentions: Iterable[Mention], features: dict[str, int]) -> list[tuple[int, int]]:
    """Return (word, feature) of the words that the dictionary found, one for each type of a match."""
    found = set()
    for mention in mentions:
        for part in mention.spans:
            first, last = _covered(words, part)
            for word in range(first, last + 1):
                place = KINDS[3 if first == last else 0 if word == first else 2 if word == last else 1]
                kinds = mention.types or ("",)
                found |= {(word, features[name]) for kind in kinds if (name := f"{place}-{kind}") in features}
    return sorted(found)


def _covered(words: Sequence[Span], span: Span) -> tuple[int, int]:
    """Return the first and last word that share a character with a span; last < first if none does."""
    first, last = 0, len(words)
    while first < last:
        middle = (first + last) // 2
        first, last = (middle + 1, last) if words[middle].end <= span.start else (first, middle)
    end = first
    while end < len(words) and words[end].start < span.end:
        end += 1
    return first, end - 1


# --- labels ----------------------------------------------------------------------------------------------------------


def label_names(types: Sequence[str], scheme: Scheme) -> list[str]:
    """Return the labels of a scheme: ``O`` first, then the marks of each type.

    >>> label_names(["Disease"], "BIOES")
    ['O', 'B-Disease', 'I-Disease', 'E-Disease', 'S-Disease']
    """
    marks = "BI" if scheme == "BIO" else "BIES" if scheme == "BIOES" else "BILU"
    return ["O", *(f"{mark}-{kind}" if kind else mark for kind in types for mark in marks)]


def labels_of(doc: Document, words: Sequence[Span], names: Sequence[str], scheme: Scheme) -> Ints:
    """Return the label of each word, as its place in `names`, int64 (words,); `UNKNOWN` where nobody has looked.

    Nobody has looked at a document whose mentions are None.

    A mention holds the words that it shares a character with; of mentions that share a word the longest is taken, of a
    discontinuous one its hull. A type that is not among the labels counts as none.
    """
    if doc.mentions is None:
        return np.full(len(words), UNKNOWN, np.int64)
    chunks: list[Chunk] = []
    taken = np.zeros(len(words), np.bool_)
    for mention in sorted(doc.mentions or (), key=lambda one: (one.start - one.end, one.start)):
        first, last = _covered(words, mention.span)
        kind = mention.types[0] if mention.types and any(mention.types[0] == name[2:] for name in names) else ""
        if first <= last and not taken[first : last + 1].any():
            taken[first : last + 1] = True
            chunks.append(Chunk(first, last, kind))
    places = {name: place for place, name in enumerate(names)}
    tags = encode_chunks(len(words), chunks, scheme)
    labels = np.array([places.get(tag, UNKNOWN) for tag in tags], np.int64)
    if doc.reviewed is not None:
        seen = np.zeros(len(words), np.bool_)
        for span in doc.reviewed:
            first, last = _covered(words, span)
            seen[first : last + 1] = True
        labels[~seen & (labels == 0)] = UNKNOWN
    return labels


def gold_chunks(labels: Ints, names: Sequence[str]) -> list[Chunk]:
    """Return the mentions that labels (words,) mark; unknown ones mark none."""
    return decode(names[label] if label >= 0 else OUTSIDE for label in labels.tolist())


# --- windows ---------------------------------------------------------------------------------------------------------


def windows(text: Text, size: int, overlap: int) -> list[Window]:
    """Return the windows of a text: of at most `size` pieces, each begun `overlap` pieces before the last one ended.

    Windows begin where words do, if the words are shorter than the overlap. Each word belongs to one of them.
    """
    count, words = len(text.pieces), len(text.words)
    if count <= size:
        return [Window(0, count, 0, words)] if words else []
    firsts = [0]
    while firsts[-1] + size < count:
        wanted = firsts[-1] + size - overlap
        first = int(np.searchsorted(text.owners, text.owners[wanted]))
        firsts.append(first if first > firsts[-1] else wanted)
    ends = [min(first + size, count) for first in firsts]
    borders = [0]  # of words: in the middle of what two windows share
    for end, first in zip(ends, firsts[1:], strict=False):
        borders.append(int(text.owners[(first + end) // 2]))
    borders.append(words)
    return [Window(*four) for four in zip(firsts, ends, borders, borders[1:], strict=False)]
