"""Chains of labels: the best one, the sum over all of them, and how probable a stretch of one is.

A linear-chain conditional random field (Lafferty et al. 2001): a row of labels scores the sum of what each token says
(``emissions``) and of what each pair of neighbours does (``transitions``), and its probability is its share of the sum
of the powers of all rows. Transitions that a tagging scheme forbids score minus infinity, so that constrained decoding
of a token classifier is the case in which all others score 0.

Rows of several lengths are padded at the end. All shapes: rows B, tokens T, labels L.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from linnet.text.tagging import OUTSIDE, Scheme, faults

__all__ = ["Rules", "backward", "best", "forward", "log_partition", "rules_of"]

NEVER = -1e4  # a score that no row can make up for, finite so that gradients are


class Rules(NamedTuple):
    """What a tagging scheme allows, as scores 0 and `NEVER`: float32 begin (L,), follow (L, L), end (L,)."""

    begin: Tensor
    follow: Tensor
    end: Tensor


def rules_of(labels: Sequence[str], scheme: Scheme) -> Rules:
    """Return which labels may come first, after each other, and last.

    >>> rules = rules_of(["O", "B", "I"], "BIO")
    >>> rules.begin.tolist(), rules.follow[0].tolist(), rules.end.tolist()
    ([0.0, 0.0, -10000.0], [0.0, 0.0, -10000.0], [0.0, 0.0, 0.0])
    """
    begin = [NEVER if 0 in faults([label], scheme) else 0.0 for label in labels]
    end = [NEVER if 2 in faults([OUTSIDE, label], scheme) else 0.0 for label in labels]
    follow = [[NEVER if 1 in faults([one, other], scheme) else 0.0 for other in labels] for one in labels]
    return Rules(torch.tensor(begin), torch.tensor(follow), torch.tensor(end))


def forward(emissions: Tensor, rules: Rules) -> Tensor:
    """Return the log of the sum of all rows up to each token that end there in each label, (B, T, L)."""
    sums = [emissions[:, 0] + rules.begin]
    for token in range(1, emissions.shape[1]):
        sums.append(torch.logsumexp(sums[-1][:, :, None] + rules.follow, dim=1) + emissions[:, token])
    return torch.stack(sums, dim=1)


def backward(emissions: Tensor, lengths: Tensor, rules: Rules) -> Tensor:
    """Return the log of the sum of all rows behind each token, given its label, (B, T, L); 0 behind the last."""
    count = emissions.shape[1]
    last = rules.end.expand(len(emissions), -1)
    sums = [last]
    for token in range(count - 2, -1, -1):
        more = torch.logsumexp(rules.follow + (emissions[:, token + 1] + sums[-1])[:, None, :], dim=2)
        sums.append(torch.where((token + 1 < lengths)[:, None], more, last))
    return torch.stack(sums[::-1], dim=1)


def log_partition(emissions: Tensor, lengths: Tensor, rules: Rules) -> Tensor:
    """Return the log of the sum of the powers of all rows of labels, (B,).

    Args:
        emissions: float32 (B, T, L).
        lengths: int64 (B,), at least 1.
        rules: what each pair of neighbours says.
    """
    sums = forward(emissions, rules)
    ends = sums[torch.arange(len(sums), device=sums.device), lengths - 1]  # (B, L)
    return torch.logsumexp(ends + rules.end, dim=1)


def best(emissions: Tensor, lengths: Tensor, rules: Rules) -> list[list[int]]:
    """Return the row of labels with the highest score for each row of tokens (Viterbi 1967); arguments as above."""
    scores = emissions[:, 0] + rules.begin
    kept, came = [scores], []
    for token in range(1, emissions.shape[1]):
        scores, before = (scores[:, :, None] + rules.follow).max(dim=1)
        scores = scores + emissions[:, token]
        kept.append(scores)
        came.append(before)
    ends = torch.stack(kept, dim=1)[torch.arange(len(emissions)), lengths - 1] + rules.end
    places = torch.stack(came, dim=1).tolist() if came else [[] for _ in emissions]
    found = []
    for row, (last, length) in enumerate(zip(ends.argmax(dim=1).tolist(), lengths.tolist(), strict=True)):
        labels = [last]
        for token in range(length - 2, -1, -1):
            labels.append(places[row][token][labels[-1]])
        found.append(labels[::-1])
    return found
