"""Texts as token ids, and as tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from linnet.errors import DataError
from linnet.nn.encoder import Encoder
from linnet.text.token_batches import CPU_TOKENS, TokenText, padded_arrays

__all__ = ["framed", "padded", "token_budget"]

TOKENS = 16_384  # a batch for an accelerator, which has many cores to keep busy


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
    """
    made = tuple(map(torch.from_numpy, padded_arrays(texts, padding=padding)))
    return (
        (made[0], made[1], made[2]) if device is None else (made[0].to(device), made[1].to(device), made[2].to(device))
    )
