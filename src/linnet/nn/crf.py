"""Chains of labels (`linnet.text.chains`) as they are learned: the log of the sum over all rows, with a gradient.

Rows of several lengths are padded at the end. All shapes: rows B, tokens T, labels L.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from linnet.text import chains
from linnet.text.tagging import Scheme

__all__ = ["Rules", "log_partition", "rules_of"]


class Rules(NamedTuple):
    """The rules of `linnet.text.chains` as tensors: float32 begin (L,), follow (L, L), end (L,)."""

    begin: Tensor
    follow: Tensor
    end: Tensor

    def arrays(self) -> chains.Rules:
        """Return the same as arrays."""
        return chains.Rules(*(rule.detach().cpu().numpy() for rule in self))


def rules_of(labels: Sequence[str], scheme: Scheme) -> Rules:
    """Return which labels may come first, after each other, and last."""
    return Rules(*map(torch.from_numpy, chains.rules_of(labels, scheme)))


def log_partition(emissions: Tensor, lengths: Tensor, rules: Rules) -> Tensor:
    """Return the log of the sum of the powers of all rows of labels, (B,).

    Args:
        emissions: float32 (B, T, L).
        lengths: int64 (B,), at least 1.
        rules: what each pair of neighbours says.
    """
    sums = [emissions[:, 0] + rules.begin]
    for token in range(1, emissions.shape[1]):
        sums.append(torch.logsumexp(sums[-1][:, :, None] + rules.follow, dim=1) + emissions[:, token])
    ends = torch.stack(sums, dim=1)[torch.arange(len(emissions), device=emissions.device), lengths - 1]  # (B, L)
    return torch.logsumexp(ends + rules.end, dim=1)
