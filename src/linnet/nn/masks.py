"""Which tokens see which, said as the class of a network takes it.

Networks of Transformers differ in that: some let part of their layers see near tokens only (ModernBERT), and leave even
that out when they are given a mask of pairs; some want numbers to add instead of truth values; some know tokens that
all others see and are seen by (Longformer).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from linnet.nn.encoder import Encoder

__all__ = ["masked", "seen_by_all", "takes_global"]

NEAR = "sliding_attention"  # what Transformers calls layers whose tokens see near ones only
GLOBAL = "global_attention_mask"


def masked(encoder: Encoder, visible: Tensor, positions: Tensor) -> tuple[Tensor | Mapping[str, Tensor], Tensor]:
    """Return the mask and the positions that make a network see pairs of tokens only.

    Layers that see near tokens only measure distance by `positions`, so that a part of a sequence sees what it would
    see alone. Not every class of networks does what it is told: whoever relies on it must try.

    Args:
        encoder: the network.
        visible: which tokens (rows) see which (columns), bool (texts, 1, tokens, tokens).
        positions: of the tokens, counted from 0, int64 (texts, tokens).
    """
    config = encoder.backbone.config
    kinds = sorted(set(getattr(config, "layer_types", None) or ()))
    placed = positions + encoder.first_position
    if NEAR not in kinds:
        return _build_bias(encoder, visible), placed
    apart = (positions[:, None, :, None] - positions[:, None, None, :]).abs()  # (texts, 1, tokens, tokens)
    near = visible & (apart <= config.sliding_window)
    return {kind: _build_bias(encoder, near if kind == NEAR else visible) for kind in kinds}, placed


def _build_bias(encoder: Encoder, visible: Tensor) -> Tensor:
    """Return a mask of pairs as truth values, or as what is added to attention where the network adds."""
    if encoder.backbone.config._attn_implementation != "eager":
        return visible
    least = torch.finfo(torch.float32).min
    return torch.zeros(visible.shape, device=visible.device).masked_fill(~visible, least)


def takes_global(encoder: Encoder) -> bool:
    """Return whether some tokens of a network can see all others and be seen by them, while the rest see near ones."""
    return GLOBAL in inspect.signature(encoder.backbone.forward).parameters


def seen_by_all(ids: Tensor, places: Tensor) -> dict[str, Any]:
    """Return what tells a network with `takes_global` that the first tokens and some others see all and are seen.

    Args:
        ids: token ids, (texts, tokens).
        places: text and token of each of the others, int64 (n, 2).
    """
    chosen = torch.zeros_like(ids)
    chosen[:, 0] = 1
    chosen[places[:, 0], places[:, 1]] = 1
    return {GLOBAL: chosen}
