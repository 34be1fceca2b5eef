"""Documents as networks read them that say something of each word: word pieces in windows that overlap.

A document longer than the encoder's window is read in several; each word is taken from the window in which it is
farthest from an edge, so that nothing is cut off and nothing is read without what stands around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.data import Document, Mention, Span
from linnet.text.token_batches import token_batches
from linnet.text.word_pieces import WordPieces
from linnet.text.words import Ints, matches_of, shape_of, spans_of

__all__ = ["PaddedWindows", "Text", "Window", "read", "read_pieces", "sentence_windows", "windows"]

Floats = npt.NDArray[np.float32]


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


def read(
    docs: Sequence[Document],
    encoder: WordPieces,
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
        shapes = np.array([shape_of(doc.text[start:end]) for start, end in words], np.int64)
        found = matches_of(words, known[number], features) if known is not None and features else []
        made.append(Text(words, pieces, owners, shapes, np.array(found, np.int64).reshape(-1, 2)))
    return made


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


def sentence_windows(text: Text, sentences: Sequence[Span], size: int, *, around: int) -> list[Window]:
    """Return a window for each sentence: its words are the window's, and the sentences around it are read with it.

    What is around a sentence is cut where it does not fit; a sentence that is longer itself is read in several windows.

    Args:
        text: the document.
        sentences: code point spans in reading order; what lies between them belongs to the one before.
        size: of a window at most, in word pieces.
        around: how many sentences are read before it, and behind.
    """
    count = len(text.words)
    starts = np.array([word.start for word in text.words], np.int64)
    firsts = sorted({0, *np.searchsorted(starts, [sentence.start for sentence in sentences]).tolist()} - {count})
    borders = [*firsts, count]  # of sentences, in words
    pieces = np.searchsorted(text.owners, borders)
    made: list[Window] = []
    for number in range(len(firsts) if count else 0):
        first, last = int(pieces[number]), int(pieces[number + 1])
        if last - first > size:
            begin = end = first
            while (begin := end) < last:
                end = min(begin + size, last)
                if end < last:  # no word is cut that a window can hold
                    word = int(np.searchsorted(text.owners, text.owners[end]))
                    end = word if word > begin else end
                own = int(text.owners[begin]) if begin > first else borders[number]
                behind = int(text.owners[end]) if end < last else borders[number + 1]
                made.append(Window(begin, end, own, behind))
            continue
        left = min(first - int(pieces[max(number - around, 0)]), (size - (last - first)) // 2)
        right = min(int(pieces[min(number + 1 + around, len(firsts))]) - last, size - (last - first) - left)
        made.append(Window(first - left, last + right, borders[number], borders[number + 1]))
    return made


class PaddedWindows(NamedTuple):
    """Windows of texts as arrays.

    Attributes:
        ids: int64 (windows, tokens), with those of start and end.
        mask: int64 (windows, tokens), 1 for tokens.
        words: int64 (windows, tokens), the word of each piece, counted from the first of its window; the last number
            stands for no word.
        shapes: int64 (windows, words).
        matches: int64 (matches, 3): window, word, feature.
        own: int64 (windows, 2), which of its words belong to the window, from and up to.
        counts: int64 (windows,), how many words each has.
    """

    ids: Ints
    mask: Ints
    words: Ints
    shapes: Ints
    matches: Ints
    own: Ints
    counts: Ints

    @classmethod
    def of(cls, parts: Sequence[tuple[Text, Window]], encoder: WordPieces) -> PaddedWindows:
        """Return windows of texts, padded."""
        (head,), (tail,) = encoder.frame
        longest = max(window.last - window.first for _, window in parts) + 2
        spans = [(int(text.owners[window.first]), int(text.owners[window.last - 1]) + 1) for text, window in parts]
        count = max(end - begin for begin, end in spans)
        ids = np.full((len(parts), longest), encoder.special.padding, np.int64)
        mask = np.zeros_like(ids)
        words = np.full_like(ids, count)
        shapes = np.zeros((len(parts), count), np.int64)
        matches = []
        for row, ((text, window), (begin, end)) in enumerate(zip(parts, spans, strict=True)):
            size = window.last - window.first
            ids[row, 0], ids[row, size + 1] = head, tail
            ids[row, 1 : size + 1] = text.pieces[window.first : window.last]
            mask[row, : size + 2] = 1
            words[row, 1 : size + 1] = text.owners[window.first : window.last] - begin
            shapes[row, : end - begin] = text.shapes[begin:end]
            held = text.matches[(text.matches[:, 0] >= begin) & (text.matches[:, 0] < end)]
            matches.append(np.column_stack([np.full(len(held), row), held[:, 0] - begin, held[:, 1]]))
        # words without word pieces at either end, such as control characters, are read by nobody
        own = [(max(w.begin, b) - b, min(w.end, e) - b) for (_, w), (b, e) in zip(parts, spans, strict=True)]
        counts = np.array([end - begin for begin, end in spans], np.int64)
        matched = np.concatenate(matches).astype(np.int64)
        return cls(ids, mask, words, shapes, matched, np.array(own, np.int64), counts)


def read_pieces(
    texts: Sequence[Text],
    parts: Sequence[Sequence[Window]],
    encode: Callable[[list[tuple[Text, Window]]], Sequence[Floats]],
    *,
    size: int,
    tokens: int,
) -> list[Floats]:
    """Return the vectors of the word pieces of each text, float32 (pieces, size).

    A piece that several windows hold has the mean of what they say, in which a window counts the more, the farther the
    piece is from an edge of it.

    Args:
        texts: the texts.
        parts: the windows of each.
        encode: reads windows together, and returns the vectors of the pieces of each, (pieces, size).
        size: of a vector.
        tokens: the most tokens that are read together, padding included.
    """
    all = [(number, window) for number, some in enumerate(parts) for window in some if window.last > window.first]
    sums = [np.zeros((len(text.pieces), size), np.float32) for text in texts]
    counts = [np.zeros((len(text.pieces), 1), np.float32) for text in texts]
    for rows in token_batches([window.last - window.first + 2 for _, window in all], tokens=tokens):
        some = [all[row] for row in rows.tolist()]
        encoded = encode([(texts[number], window) for number, window in some])
        for (number, window), vectors in zip(some, encoded, strict=True):
            weight = _distance_from_edges(len(vectors))
            sums[number][window.first : window.last] += weight * vectors
            counts[number][window.first : window.last] += weight
    for total, count in zip(sums, counts, strict=True):
        np.divide(total, np.maximum(count, 1), out=total)
    return sums


def _distance_from_edges(count: int) -> Floats:
    """Return how far each of so many pieces is from the nearer edge, from 1 on, (pieces, 1).

    >>> _distance_from_edges(5).ravel().tolist()
    [1.0, 2.0, 3.0, 2.0, 1.0]
    """
    places = np.arange(1, count + 1, dtype=np.float32)
    return np.minimum(places, places[::-1])[:, None]
