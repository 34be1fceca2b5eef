"""Chains of labels: the best one, the sum over all of them, and how probable a stretch of one is.

A linear-chain conditional random field (Lafferty et al. 2001): a row of labels scores the sum of what each token says
(``emissions``) and of what each pair of neighbours does (``transitions``), and its probability is its share of the sum
of the powers of all rows. Transitions that a tagging scheme forbids score minus infinity, so that constrained decoding
of a token classifier is the case in which all others score 0.

Rows of several lengths are padded at the end. All shapes: rows B, tokens T, labels L. How such chains are learned is in
`linnet.nn.crf`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.text.tagging import OUTSIDE, Scheme, faults

__all__ = ["NEVER", "Rules", "backward", "best", "forward", "log_sum", "rules_of"]

Floats = npt.NDArray[np.floating]
Lengths = npt.NDArray[np.int64]

NEVER = -1e4  # a score that no row can make up for, finite so that gradients are


class Rules(NamedTuple):
    """What a tagging scheme allows, as scores 0 and `NEVER`: begin (L,), follow (L, L), end (L,)."""

    begin: Floats
    follow: Floats
    end: Floats

    @classmethod
    def mean(cls, several: Sequence[Rules]) -> Rules:
        """Return the mean of the rules of several networks, float64."""
        return cls(
            *(np.mean([np.asarray(rule, np.float64) for rule in some], axis=0) for some in zip(*several, strict=True))
        )


def rules_of(labels: Sequence[str], scheme: Scheme) -> Rules:
    """Return which labels may come first, after each other, and last, float32.

    >>> rules = rules_of(["O", "B", "I"], "BIO")
    >>> rules.begin.tolist(), rules.follow[0].tolist(), rules.end.tolist()
    ([0.0, 0.0, -10000.0], [0.0, 0.0, -10000.0], [0.0, 0.0, 0.0])
    """
    begin = [NEVER if 0 in faults([label], scheme) else 0.0 for label in labels]
    end = [NEVER if 2 in faults([OUTSIDE, label], scheme) else 0.0 for label in labels]
    follow = [[NEVER if 1 in faults([one, other], scheme) else 0.0 for other in labels] for one in labels]
    return Rules(*(np.array(each, np.float32) for each in (begin, follow, end)))


def log_sum(scores: Floats, axis: int) -> Floats:
    """Return the log of the sum of the powers along an axis.

    >>> log_sum(np.log([[1.0, 2.0], [3.0, 4.0]]), 1).round(4).tolist() == np.log([3.0, 7.0]).round(4).tolist()
    True
    """
    high = scores.max(axis=axis, keepdims=True)
    found: Floats = np.log(np.exp(scores - high).sum(axis=axis)) + high.squeeze(axis)
    return found


def forward(emissions: Floats, rules: Rules) -> Floats:
    """Return the log of the sum of all rows up to each token that end there in each label, (B, T, L)."""
    sums = np.empty_like(emissions)
    sums[:, 0] = emissions[:, 0] + rules.begin
    for token in range(1, emissions.shape[1]):
        sums[:, token] = log_sum(sums[:, token - 1, :, None] + rules.follow, 1) + emissions[:, token]
    return sums


def backward(emissions: Floats, lengths: Lengths, rules: Rules) -> Floats:
    """Return the log of the sum of all rows behind each token, given its label, (B, T, L); 0 behind the last."""
    sums = np.empty_like(emissions)
    sums[:, -1] = rules.end
    for token in range(emissions.shape[1] - 2, -1, -1):
        more = log_sum(rules.follow + (emissions[:, token + 1] + sums[:, token + 1])[:, None, :], 2)
        sums[:, token] = np.where((token + 1 < lengths)[:, None], more, rules.end)
    return sums


def best(emissions: Floats, lengths: Lengths, rules: Rules) -> list[list[int]]:
    """Return the row of labels with the highest score for each row of tokens (Viterbi 1967).

    Args:
        emissions: (B, T, L).
        lengths: (B,), at least 1.
        rules: what each pair of neighbours says.
    """
    rows, count, _ = emissions.shape
    scores = emissions[:, 0] + rules.begin
    kept = np.empty_like(emissions)
    kept[:, 0] = scores
    came = np.empty(emissions.shape, np.int64)
    for token in range(1, count):
        both = scores[:, :, None] + rules.follow
        came[:, token] = both.argmax(axis=1)
        scores = both.max(axis=1) + emissions[:, token]
        kept[:, token] = scores
    last = (kept[np.arange(rows), lengths - 1] + rules.end).argmax(axis=1)
    found = []
    for row, (label, length) in enumerate(zip(last.tolist(), lengths.tolist(), strict=True)):
        before = came[row].tolist()
        labels = [label]
        for token in range(length - 1, 0, -1):
            labels.append(before[token][labels[-1]])
        found.append(labels[::-1])
    return found
