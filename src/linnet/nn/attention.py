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
CACHED = 1 << 20  # scores at a time
SMALLEST, LARGEST = 1e-30, 1e30  # sums of powers that are divided by


def use_plain_steps(backbone: PreTrainedModel) -> None:
    """Let a network whose attention is PyTorch's own attend in plain steps where these are faster."""
    if getattr(backbone.config, "_attn_implementation", None) == FUSED:
        backbone.set_attn_implementation(NAME)


def attend(
    module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **told: Any
) -> tuple[Tensor, Tensor | None]:
    """Return what queries (texts, heads, tokens, d) find, (texts, tokens, heads, d), as Transformers asks for it."""
    if not (_plain(query, key, told) and _simple(attention_mask, query)):
        found: tuple[Tensor, Tensor | None] = sdpa_attention_forward(module, query, key, value, attention_mask, **told)
        return found
    texts, heads, tokens, size = query.shape
    scale = told.get("scaling") or size**-0.5
    query, key, value = (one.reshape(texts * heads, tokens, size) for one in (query * scale, key, value))
    dropout = told.get("dropout") or 0.0
    out = None
    if not (torch.is_grad_enabled() or dropout):
        out = _divided_last(query, key, value, attention_mask, heads)
    if out is None:
        scores = _scores(query, key, attention_mask)
        with torch.autocast("cpu", enabled=False):  # which would have it in four bytes, and copied twice
            shares = torch.softmax(scores, dim=-1)
        out = torch.bmm(functional.dropout(shares, dropout, training=module.training), value)
    return out.view(texts, heads, tokens, size).transpose(1, 2).contiguous(), None


def _scores(query: Tensor, key: Tensor, mask: Tensor | None, out: Tensor | None = None) -> Tensor:
    """Return what queries (texts x heads, tokens, d) have to do with keys, (texts x heads, tokens, tokens)."""
    scores = torch.bmm(query, key.transpose(1, 2)) if out is None else torch.bmm(query, key.transpose(1, 2), out=out)
    if mask is not None:
        scores.view(len(mask), -1, *scores.shape[1:]).add_(_add_mask(mask, scores))
    return scores


def _divided_last(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, heads: int) -> Tensor | None:
    """Return sums of values (texts x heads, tokens, d) by exp(scores), divided by the sum of these when all is done.

    That sum comes with the product, as one more column of ones. Some texts at a time, whose scores a cache holds. None
    if a power or a sum is too large or too small: nothing is taken off the scores before.
    """
    rows, tokens, size = value.shape
    ones = torch.ones(rows, tokens, size + 1, dtype=value.dtype)
    ones[..., :size] = value
    sums = torch.empty_like(ones)
    step = max(1, CACHED // (heads * tokens * tokens)) * heads
    powers = torch.empty(min(step, rows), tokens, tokens, dtype=value.dtype)
    for first in range(0, rows, step):
        some = slice(first, first + step)
        seen = mask if mask is None or len(mask) == 1 else mask[first // heads : (first + step) // heads]
        found = _scores(query[some], key[some], seen, powers[: len(query[some])]).exp_()
        torch.bmm(found, ones[some], out=sums[some])
    total = sums[..., size:]
    if not bool(((total > SMALLEST) & (total < LARGEST)).all()):
        return None
    return sums[..., :size] / total


def _plain(query: Tensor, key: Tensor, told: dict[str, Any]) -> bool:
    return (
        query.dtype == torch.bfloat16
        and query.device.type == "cpu"
        and query.shape == key.shape
        and query.shape[2] <= LONGEST
        and not any(told.get(name) is not None for name in ("position_bias", "cache", "softcap"))
        and not told.get("is_causal")
    )


def _simple(mask: Tensor | None, query: Tensor) -> bool:
    """Return whether a mask says by truth values, and the same for all heads, what is seen."""
    return mask is None or (
        mask.dtype == torch.bool and mask.ndim == 4 and mask.shape[1] == 1 and len(mask) in (1, len(query))
    )


def _add_mask(mask: Tensor, scores: Tensor) -> Tensor:
    """Return what is added to scores so that nothing is seen where a mask is false."""
    return torch.zeros_like(mask, dtype=scores.dtype).masked_fill_(~mask, torch.finfo(scores.dtype).min)


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, sdpa_mask)
