"""Documents as networks read them that say something of each word: word pieces in windows that overlap.

A document longer than the encoder's window is read in several; each word is taken from the window in which it is
farthest from an edge, so that nothing is cut off and nothing is read without what stands around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from linnet.data import Document, Mention, Span
from linnet.nn.encoder import Encoder
from linnet.text.words import Ints, matches_of, shape_of, spans_of

__all__ = ["Pieces", "Text", "Window", "embed", "mean_of_pieces", "read", "run_lstm", "sentence_windows", "windows"]


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
            for begin in range(first, last, size):
                end = min(begin + size, last)
                own = int(text.owners[begin]) if begin > first else borders[number]
                behind = int(text.owners[end]) if end < last else borders[number + 1]
                made.append(Window(begin, end, own, behind))
            continue
        left = min(first - int(pieces[max(number - around, 0)]), (size - (last - first)) // 2)
        right = min(int(pieces[min(number + 1 + around, len(firsts))]) - last, size - (last - first) - left)
        made.append(Window(first - left, last + right, borders[number], borders[number + 1]))
    return made


@dataclass
class Pieces:
    """Windows of texts as tensors.

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

    ids: Tensor
    mask: Tensor
    words: Tensor
    shapes: Tensor
    matches: Tensor
    own: Tensor
    counts: Tensor

    @classmethod
    def of(cls, parts: Sequence[tuple[Text, Window]], encoder: Encoder) -> Pieces:
        """Return windows of texts, padded."""
        tokenizer = encoder.tokenizer
        longest = max(window.last - window.first for _, window in parts) + 2
        spans = [(int(text.owners[window.first]), int(text.owners[window.last - 1]) + 1) for text, window in parts]
        count = max(end - begin for begin, end in spans)
        ids = np.full((len(parts), longest), tokenizer.pad_token_id, np.int64)
        mask = np.zeros_like(ids)
        words = np.full_like(ids, count)
        shapes = np.zeros((len(parts), count), np.int64)
        matches = []
        for row, ((text, window), (begin, end)) in enumerate(zip(parts, spans, strict=True)):
            size = window.last - window.first
            ids[row, 0], ids[row, size + 1] = tokenizer.cls_token_id, tokenizer.sep_token_id
            ids[row, 1 : size + 1] = text.pieces[window.first : window.last]
            mask[row, : size + 2] = 1
            words[row, 1 : size + 1] = text.owners[window.first : window.last] - begin
            shapes[row, : end - begin] = text.shapes[begin:end]
            held = text.matches[(text.matches[:, 0] >= begin) & (text.matches[:, 0] < end)]
            matches.append(np.column_stack([np.full(len(held), row), held[:, 0] - begin, held[:, 1]]))
        # words without word pieces at either end, such as control characters, are read by nobody
        own = [(max(w.begin, b) - b, min(w.end, e) - b) for (_, w), (b, e) in zip(parts, spans, strict=True)]
        counts = np.array([end - begin for begin, end in spans], np.int64)
        arrays = (ids, mask, words, shapes, np.concatenate(matches).astype(np.int64), np.array(own, np.int64), counts)
        return cls(*map(torch.from_numpy, arrays))

    def to(self, device: torch.device) -> Pieces:
        """Return the same on a device."""
        return Pieces(*(getattr(self, name).to(device) for name in self.__dataclass_fields__))


def embed(batch: Pieces, encoder: Encoder, shapes: nn.Embedding, matches: nn.Embedding | None) -> Tensor:
    """Return the input of an encoder, (windows, tokens, d): word pieces, and what is known of the words they are of.

    Args:
        batch: the windows.
        encoder: whose embeddings they are.
        shapes: a vector for each of `SHAPES`.
        matches: a vector for each feature of the dictionary's matches; None = there is no dictionary.
    """
    windows, count = batch.shapes.shape
    known = shapes(batch.shapes)  # (windows, words, d)
    if matches is not None and len(batch.matches):
        places = batch.matches[:, 0] * count + batch.matches[:, 1]
        flat = known.reshape(windows * count, -1)
        known = flat.index_add(0, places, matches(batch.matches[:, 2])).reshape(windows, count, -1)
    padded = nn.functional.pad(known, (0, 0, 0, 1))  # what stands for no word knows nothing
    of_pieces = padded.gather(1, batch.words[:, :, None].expand(-1, -1, padded.shape[2]))
    embedded: Tensor = encoder.embeddings(batch.ids) + of_pieces
    return embedded


def mean_of_pieces(hidden: Tensor, batch: Pieces) -> Tensor:
    """Return the vectors of words, the means of those of their pieces, float32 (windows, words, d).

    Args:
        hidden: what the encoder says, (windows, tokens, d).
        batch: the windows.
    """
    windows, count = batch.shapes.shape
    places = batch.words + torch.arange(windows, device=hidden.device)[:, None] * (count + 1)
    flat = hidden.float().reshape(-1, hidden.shape[2])
    sums = flat.new_zeros(windows * (count + 1), flat.shape[1]).index_add(0, places.reshape(-1), flat)
    pieces = flat.new_zeros(windows * (count + 1)).index_add(0, places.reshape(-1), torch.ones_like(flat[:, 0]))
    means: Tensor = (sums / pieces.clamp(min=1)[:, None]).reshape(windows, count + 1, -1)[:, :count]
    return means


def run_lstm(lstm: nn.Module, words: Tensor, lengths: Tensor) -> Tensor:
    """Return what a bidirectional LSTM says of words, (windows, words, 2 x its size), which does not read padding.

    Args:
        lstm: with the batch first.
        words: (windows, words, d).
        lengths: words of each window, int64 (windows,), 1 at least.
    """
    packed = nn.utils.rnn.pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
    said, _ = nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=words.shape[1])
    return said
