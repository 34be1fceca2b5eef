"""Texts as token ids, and batches of them that waste little on padding."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError

__all__ = ["CPU_TOKENS", "TokenText", "padded_arrays", "token_batches"]

CPU_TOKENS = 2048  # of a batch: a processor has small caches

Ints = npt.NDArray[np.int64]


class TokenText(NamedTuple):
    """A text as an encoder reads it.

    Attributes:
        ids: token ids with those of start and end, ``[CLS] … [SEP]``.
        span: token positions ``[start, end)`` of the mention, or of the whole text without start and end.
    """

    ids: tuple[int, ...]
    span: tuple[int, int]


def token_batches(lengths: Sequence[int], *, tokens: int, most: int = 512) -> list[npt.NDArray[np.intp]]:
    """Return batches of texts of like length, as places in `lengths`; every text is in one of them.

    The longest come first: if they do not fit into memory, that shows at once, and time left is never underrated.

    Args:
        lengths: tokens of each text.
        tokens: the most tokens of a batch, padding included: texts × longest. A longer text is a batch of its own.
        most: the most texts of a batch.

    >>> [batch.tolist() for batch in token_batches([3, 9, 4, 3], tokens=9)]
    [[1], [2, 0], [3]]
    """
    if tokens < 1 or most < 1:
        raise DataError(f"tokens: {tokens} and most: {most} must be at least 1")
    sizes = np.asarray(lengths, np.int64)
    order = np.argsort(-sizes, kind="stable")
    batches, start = [], 0
    while start < len(order):
        count = max(1, min(most, tokens // max(1, int(sizes[order[start]]))))
        batches.append(order[start : start + count])
        start += count
    return batches


def padded_arrays(texts: Sequence[TokenText], *, padding: int) -> tuple[Ints, Ints, Ints]:
    """Return texts as int64 arrays: ids (texts, tokens), mask (texts, tokens) and spans (texts, 2).

    Args:
        texts: put to the left; as many tokens as the longest has.
        padding: the id that fills the rest, where the mask is 0.

    >>> ids, mask, spans = padded_arrays([TokenText((2, 7, 3), (1, 2)), TokenText((2, 7, 8, 3), (1, 3))], padding=0)
    >>> ids.tolist(), mask.tolist(), spans.tolist()
    ([[2, 7, 3, 0], [2, 7, 8, 3]], [[1, 1, 1, 0], [1, 1, 1, 1]], [[1, 2], [1, 3]])
    """
    lengths = np.array([len(text.ids) for text in texts], np.int64)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    ids = np.full(mask.shape, padding, np.int64)
    ids[mask] = np.fromiter(chain.from_iterable(text.ids for text in texts), np.int64, int(lengths.sum()))
    spans = np.array([text.span for text in texts], np.int64).reshape(-1, 2)
    return ids, mask.astype(np.int64), spans
