"""Losses that compare the texts of a batch, against slow ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from linnet.nn.losses import hard_triplets, multi_similarity


def batch(seed: int, *, count: int = 14, concepts: int = 4, size: int = 3) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return vectors, cosines, and which pairs are of one concept or of different ones, some of them left out."""
    rng = np.random.default_rng(seed)
    vectors = torch.from_numpy(rng.normal(size=(count, size)))
    vectors = torch.nn.functional.normalize(vectors, dim=1)
    concept = torch.from_numpy(rng.integers(concepts, size=count))
    same = concept[:, None] == concept
    out = torch.from_numpy(rng.random((count, count)) < 0.1)
    return vectors, vectors @ vectors.T, same & ~torch.eye(count, dtype=torch.bool), ~same & ~out


def slow_triplets(vectors: Tensor, positive: Tensor, negative: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    drawn, pushed = torch.zeros_like(positive), torch.zeros_like(negative)
    numbers = range(len(vectors))
    for a in numbers:
        for p in numbers:
            for n in numbers:
                if positive[a, p] and negative[a, n]:
                    far, near = float((vectors[a] - vectors[p]).norm()), float((vectors[a] - vectors[n]).norm())
                    if near - far <= margin:
                        drawn[a, p] = pushed[a, n] = True
    return drawn, pushed


@pytest.mark.parametrize("margin", [-0.5, 0.0, 0.2, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_hard_triplets_are_those_of_a_slow_search(seed: int, margin: float) -> None:
    vectors, similarities, positive, negative = batch(seed)
    drawn, pushed = hard_triplets(similarities, positive, negative, margin=margin)
    slow_drawn, slow_pushed = slow_triplets(vectors, positive, negative, margin)
    assert torch.equal(drawn, slow_drawn)
    assert torch.equal(pushed, slow_pushed)
    assert bool(drawn.any()) == bool(pushed.any())
    if margin == 0.2:
        assert 0 < int(pushed.sum()) < int(negative.sum())


def slow_loss(
    similarities: Tensor, positive: Tensor, negative: Tensor, *, alpha: float, beta: float, base: float
) -> float:
    total = 0.0
    for i in range(len(similarities)):
        drawn = pushed = 1.0
        for j in range(len(similarities)):
            value = float(similarities[i, j])
            if positive[i, j]:
                drawn += math.exp(-alpha * (value - base))
            if negative[i, j]:
                pushed += math.exp(beta * (value - base))
        total += math.log(drawn) / alpha + math.log(pushed) / beta
    return total / len(similarities)


@pytest.mark.parametrize("options", [{"alpha": 2.0, "beta": 50.0, "base": 0.5}, {"alpha": 7, "beta": 3, "base": -0.2}])
@pytest.mark.parametrize("seed", range(4))
def test_the_loss_is_that_of_a_slow_sum(seed: int, options: dict[str, float]) -> None:
    _, similarities, positive, negative = batch(seed)
    assert float(multi_similarity(similarities, positive, negative, **options)) == pytest.approx(
        slow_loss(similarities, positive, negative, **options)
    )


def test_the_published_settings_are_the_defaults() -> None:
    _, similarities, positive, negative = batch(5)
    want = slow_loss(similarities, positive, negative, alpha=2.0, beta=50.0, base=0.5)
    assert float(multi_similarity(similarities, positive, negative)) == pytest.approx(want)
    for default, told in zip(
        hard_triplets(similarities, positive, negative),
        hard_triplets(similarities, positive, negative, margin=0.2),
        strict=True,
    ):
        assert torch.equal(default, told)


def test_an_anchor_without_pairs_has_no_gradient() -> None:
    _, similarities, positive, negative = batch(6)
    positive[0] = negative[0] = False
    similarities.requires_grad_()
    multi_similarity(similarities, positive, negative).backward()  # type: ignore[no-untyped-call]
    assert similarities.grad is not None
    assert bool(torch.isfinite(similarities.grad).all())
    assert not similarities.grad[0].any()
    assert similarities.grad[1].any()
