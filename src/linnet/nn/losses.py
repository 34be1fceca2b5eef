"""Losses that compare all texts of a batch with each other by the cosines of their vectors.

Multi-similarity (Wang et al. 2019) over the pairs of hard triplets, as SapBERT (Liu et al. 2021, section 2) trains.
Where its formulas and its published code differ, this is the code: triplets within the margin are hard as well, and
alpha stands with the positives, beta with the negatives, as in Wang et al.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["hard_triplets", "multi_similarity"]

INFINITE = float("inf")


def hard_triplets(
    similarities: Tensor, positive: Tensor, negative: Tensor, *, margin: float = 0.2
) -> tuple[Tensor, Tensor]:
    """Return the positive and the negative pairs that are part of a hard triplet, bool (anchors, texts) each.

    A triplet of an anchor, one of its positives and one of its negatives is hard if the negative is not farther from
    the anchor than the positive by more than the margin. No triplet is made for that: a pair is in a hard one if it is
    in one with the anchor's nearest negative, or its farthest positive.

    Args:
        similarities: cosines, (anchors, texts); distances are those of the vectors of length 1, √(2 - 2 cos).
        positive: bool (anchors, texts), an anchor and itself left out.
        negative: bool (anchors, texts); what is neither is not compared.
        margin: from -2 (no triplet is hard) to 2 (all are).

    >>> same = torch.tensor([[False, True], [True, False]])
    >>> hard_triplets(torch.ones(2, 2), same, torch.zeros_like(same))[0].any().item()
    False
    """
    with torch.no_grad():
        distances = (2 - 2 * similarities.float()).clamp(min=0).sqrt()
        nearest = distances.masked_fill(~negative, INFINITE).amin(dim=1, keepdim=True)  # (anchors, 1)
        farthest = distances.masked_fill(~positive, -INFINITE).amax(dim=1, keepdim=True)  # (anchors, 1)
        return positive & (nearest - distances <= margin), negative & (distances - farthest <= margin)


def multi_similarity(
    similarities: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    alpha: float = 2.0,
    beta: float = 50.0,
    base: float = 0.5,
) -> Tensor:
    """Return the multi-similarity loss, the mean over all anchors; one without pairs counts as 0.

    Of an anchor it is log(1 + Σ exp(-alpha (cos - base))) / alpha over its positives, and log(1 + Σ exp(beta (cos -
    base))) / beta over its negatives.

    Args:
        similarities: cosines, float32 (anchors, texts).
        positive: bool (anchors, texts), which pairs are drawn together.
        negative: bool (anchors, texts), which are pushed apart.
        alpha: sharpness of the positives.
        beta: sharpness of the negatives.
        base: the cosine that both are compared with.

    >>> none = torch.zeros(2, 2, dtype=torch.bool)
    >>> multi_similarity(torch.eye(2), none, none).item()
    0.0
    """
    drawn = _log_one_plus(alpha * (base - similarities), positive) / alpha
    pushed = _log_one_plus(beta * (similarities - base), negative) / beta
    return (drawn + pushed).mean()


def _log_one_plus(exponents: Tensor, chosen: Tensor) -> Tensor:
    """Return log(1 + Σ exp(exponents)) over the chosen ones of each row, (rows,)."""
    terms = exponents.masked_fill(~chosen, -INFINITE)
    return torch.logsumexp(torch.cat([terms.new_zeros(len(terms), 1), terms], dim=1), dim=1)
