"""Attention for processors that multiply bfloat16 numbers, where PyTorch's fused kernel is the slower one.

Its fused kernel walks through rows and columns in blocks, which saves memory that a few hundred tokens do not need;
three plain steps (product, softmax, product) are up to twice as fast there, and training several times.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

__all__ = ["attend", "use_plain_steps"]

NAME = "linnet_plain_steps"
FUSED = "sdpa"  # what Transformers calls PyTorch's own attention
LONGEST = 1024  # tokens; beyond it the square of scores is large


def use_plain_steps(backbone: PreTrainedModel) -> None:
    """Let a network whose attention is PyTorch's own attend in plain steps where these are faster."""
    if getattr(backbone.config, "_attn_implementation", None) == FUSED:
        backbone.set_attn_implementation(NAME)


def attend(
    module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **told: Any
) -> tuple[Tensor, Tensor | None]:
    """Return what queries (texts, heads, tokens, d) find, (texts, tokens, heads, d), as Transformers asks for it."""
    if not _plain(query, key, told):
        found: tuple[Tensor, Tensor | None] = sdpa_attention_forward(module, query, key, value, attention_mask, **told)
        return found
    texts, heads, tokens, size = query.shape
    scale = told.get("scaling") or size**-0.5
    flat = (one.reshape(texts * heads, tokens, size) for one in (query * scale, key, value))
    query, key, value = flat
    scores = torch.bmm(query, key.transpose(1, 2)).view(texts, heads, tokens, tokens)
    if attention_mask is not None:
        scores = scores.add_(_added(attention_mask, scores))
    with torch.autocast("cpu", enabled=False):  # which would have it in four bytes, and copied twice
        shares = torch.softmax(scores, dim=-1)
    if told.get("dropout"):
        shares = functional.dropout(shares, told["dropout"], training=module.training)
    out = torch.bmm(shares.view(texts * heads, tokens, tokens), value).view(texts, heads, tokens, size)
    return out.transpose(1, 2).contiguous(), None


def _plain(query: Tensor, key: Tensor, told: dict[str, Any]) -> bool:
    return (
        query.dtype == torch.bfloat16
        and query.device.type == "cpu"
        and query.shape == key.shape
        and query.shape[2] <= LONGEST
        and not any(told.get(name) is not None for name in ("position_bias", "cache", "softcap"))
        and not told.get("is_causal")
    )


def _added(mask: Tensor, scores: Tensor) -> Tensor:
    """Return what is added to scores so that nothing is seen where a mask is false, or the mask if it is that."""
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=scores.dtype).masked_fill_(~mask, torch.finfo(scores.dtype).min)


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, sdpa_mask)
