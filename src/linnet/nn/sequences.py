"""Packed sequences (`linnet.text.packing`) as tensors, and what an encoder makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from linnet.nn.encoder import Encoder
from linnet.nn.masks import masked, seen_by_all, takes_global
from linnet.nn.quiet import quietly
from linnet.nn.texts import token_batches, token_budget
from linnet.text.packing import Frame, Packed, visible

__all__ = ["MASK", "Sequences", "batched", "frame_of", "token_vectors"]

MASK = "[MASK]"


@dataclass
class Sequences:
    """Packed sequences as tensors.

    Attributes:
        ids: int64 (sequences, tokens).
        mask: bool (sequences, tokens), or (sequences, 1, tokens, tokens) of isolated candidates.
        positions: int64 (sequences, tokens), or (sequences, 0) where they count from 0.
        at: int64 (slots, 2), sequence and token of each [MASK].
        features: float32 (slots, `FEATURES`), or (slots, 0) while the network speaks alone.
    """

    ids: Tensor
    mask: Tensor
    positions: Tensor
    at: Tensor
    features: Tensor

    @classmethod
    def of(
        cls, packed: Sequence[Packed], features: Any, *, padding: int, isolated: bool, device: torch.device
    ) -> Sequences:
        """Return sequences as tensors; `features` float32 (slots, n) come in the order of their slots."""
        longest = max(map(len, packed), default=0)
        ids = np.full((len(packed), longest), padding, np.int64)
        lengths = np.array([len(one) for one in packed])
        filled = np.arange(longest) < lengths[:, None]
        ids[filled] = np.concatenate([one.ids for one in packed]) if packed else []
        positions = np.zeros((len(packed), longest if isolated else 0), np.int64)
        mask: Any = filled
        if isolated:
            positions[filled] = np.concatenate([one.positions for one in packed])
            mask = np.zeros((len(packed), 1, longest, longest), np.bool_)
            for place, one in enumerate(packed):
                mask[place, 0, : len(one), : len(one)] = visible(one)
            mask[:, 0, np.arange(longest), np.arange(longest)] = True  # padding sees itself: it must see something
        at = np.array([(place, token) for place, one in enumerate(packed) for token in one.at], np.int64).reshape(-1, 2)
        arrays = (ids, mask, positions, at, np.asarray(features, np.float32))
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))


def token_vectors(encoder: Encoder, batch: Sequences) -> Tensor:
    """Return the vectors of all tokens, (sequences, tokens, d).

    Where some tokens of a network can see all others, these are [CLS] and every [MASK].
    """
    mask: Tensor | Mapping[str, Tensor]
    wide = takes_global(encoder)
    extra = seen_by_all(batch.ids, batch.at) if wide else {}
    if batch.mask.ndim == 4:
        mask, extra["position_ids"] = masked(encoder, batch.mask, batch.positions)
    else:
        mask = batch.mask.long()
    with quietly() if wide else nullcontext():  # Longformer tells that it pads
        vectors: Tensor = encoder(batch.ids, mask, **extra)
    return vectors


def frame_of(encoder: Encoder, window: int = 0) -> Frame:
    """Return the tokens that hold a sequence together, of `window` tokens at most; 0 = as many as the encoder reads."""
    tokenizer = encoder.tokenizer
    mask = encoder.marker(MASK) if tokenizer.mask_token_id is None else tokenizer.mask_token_id
    return Frame(tokenizer.cls_token_id, tokenizer.sep_token_id, mask, window or encoder.window)


def batched(packed: Sequence[Packed], device: torch.device, *, tokens: int | None = None) -> Iterator[list[int]]:
    """Yield places of sequences of like length, as many at a time as are read fast."""
    lengths = [len(one) for one in packed]
    for rows in token_batches(lengths, tokens=tokens or token_budget(device)):
        yield rows.tolist()
