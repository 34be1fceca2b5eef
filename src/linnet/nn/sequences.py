"""Packed sequences (`linnet.text.packing`) as tensors, and what an encoder makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from linnet.nn.encoder import Encoder
from linnet.nn.masks import masked, seen_by_all, takes_global
from linnet.nn.quiet import quietly
from linnet.text.packing import Packed, padded_tokens, visible

__all__ = ["Sequences", "token_vectors"]


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
        ids, filled, at = padded_tokens(packed, padding=padding)
        longest = ids.shape[1]
        positions = np.zeros((len(packed), longest if isolated else 0), np.int64)
        mask: Any = filled
        if isolated:
            positions[filled] = np.concatenate([one.positions for one in packed])
            mask = np.zeros((len(packed), 1, longest, longest), np.bool_)
            for place, one in enumerate(packed):
                mask[place, 0, : len(one), : len(one)] = visible(one)
            mask[:, 0, np.arange(longest), np.arange(longest)] = True  # padding sees itself: it must see something
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
