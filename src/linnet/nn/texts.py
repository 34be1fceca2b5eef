"""Texts as token ids, and batches of them that waste little on padding."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from linnet.errors import DataError
from linnet.nn.encoder import Encoder

__all__ = ["TokenText", "framed", "padded", "token_batches", "token_budget"]

CPU_TOKENS, TOKENS = 2048, 16_384  # a batch: a CPU has small caches, an accelerator many cores to keep busy


class TokenText(NamedTuple):
    """A text as an encoder reads it.

    Attributes:
        ids: token ids with those of start and end, ``[CLS] … [SEP]``.
        span: token positions ``[start, end)`` of the mention, or of the whole text without start and end.
    """

    ids: tuple[int, ...]
    span: tuple[int, int]


def framed(encoder: Encoder, texts: Sequence[str], *, most: int | None = None) -> list[TokenText]:
    """Return each text as ``[CLS] text [SEP]``, its span being the whole text.

    Args:
        encoder: gives the word pieces and special tokens.
        texts: names, say, or mentions without context.
        most: cut texts to so many tokens, start and end included; None leaves them as long as they are.

    Raises:
        DataError: `most` leaves no room for text.
    """
    if most is not None and most < 3:
        raise DataError(f"most: {most} tokens leave no room between start and end; give 3 or more")
    start, end = encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id
    room = None if most is None else most - 2
    cut = [pieces[:room] for pieces in encoder.pieces(texts)]
    return [TokenText((start, *pieces, end), (1, 1 + len(pieces))) for pieces in cut]


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


def token_budget(device: torch.device) -> int:
    """Return how many tokens a batch should have at most, padding included, to be read fast on a device."""
    return CPU_TOKENS if device.type == "cpu" else TOKENS


def padded(
    texts: Sequence[TokenText], *, padding: int, device: torch.device | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return texts as tensors of int64: ids (texts, tokens), mask (texts, tokens) and spans (texts, 2).

    Args:
        texts: put to the left; as many tokens as the longest has.
        padding: the id that fills the rest, where the mask is 0.
        device: where the tensors go; None leaves them on the CPU.

    >>> ids, mask, spans = padded([TokenText((2, 7, 3), (1, 2)), TokenText((2, 7, 8, 3), (1, 3))], padding=0)
    >>> ids.tolist(), mask.tolist(), spans.tolist()
    ([[2, 7, 3, 0], [2, 7, 8, 3]], [[1, 1, 1, 0], [1, 1, 1, 1]], [[1, 2], [1, 3]])
    """
    lengths = np.array([len(text.ids) for text in texts], np.int64)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    ids = np.full(mask.shape, padding, np.int64)
    ids[mask] = np.fromiter(chain.from_iterable(text.ids for text in texts), np.int64, int(lengths.sum()))
    spans = np.array([text.span for text in texts], np.int64).reshape(-1, 2)
    made = (torch.from_numpy(ids), torch.from_numpy(mask.astype(np.int64)), torch.from_numpy(spans))
    return made if device is None else (made[0].to(device), made[1].to(device), made[2].to(device))
