from __future__ import annotations

from typing import get_args

import pytest
import torch
from torch import Tensor

from linnet.errors import LinnetError
from linnet.nn.pooling import Pool, Pooling

SIZE = 6
SPANS = [(1, 3), (2, 3), (1, 1), (4, 6)]
LENGTHS = [5, 4, 3, 8]


@pytest.fixture
def batch() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    hidden = torch.randn(len(SPANS), max(LENGTHS), SIZE)
    mask = torch.tensor([[int(place < length) for place in range(max(LENGTHS))] for length in LENGTHS])
    return hidden, mask, torch.tensor(SPANS)


def slow(how: Pooling, hidden: Tensor, row: int, pool: Pool) -> Tensor:
    """The same for one text, straight from the definitions."""
    tokens, (start, end) = hidden[row, : LENGTHS[row]], SPANS[row]
    if how == "cls":
        return tokens[0]
    if how == "mean":
        return tokens.mean(dim=0)
    if how == "span":
        return tokens[start:end].sum(dim=0) / max(1, end - start)
    if how == "markers":
        return (tokens[start - 1] + tokens[end]) / 2
    last = tokens[max(start, end - 1)]
    return pool.both.weight @ torch.cat([tokens[start], last]) + pool.both.bias


@pytest.mark.parametrize("how", get_args(Pooling))
def test_it_is_what_its_definition_says(how: Pooling, batch: tuple[Tensor, Tensor, Tensor]) -> None:
    pool = Pool(how, SIZE)
    for parameter in pool.parameters():
        torch.nn.init.normal_(parameter)
    found = pool(*batch)
    assert found.shape == (len(SPANS), SIZE)
    for row, vector in enumerate(found):
        torch.testing.assert_close(vector, slow(how, batch[0], row, pool))


@pytest.mark.parametrize("how", get_args(Pooling))
def test_padding_counts_for_nothing(how: Pooling, batch: tuple[Tensor, Tensor, Tensor]) -> None:
    hidden, mask, spans = batch
    other = torch.where(mask[:, :, None] > 0, hidden, torch.full_like(hidden, 1e4))
    pool = Pool(how, SIZE)
    assert torch.equal(pool(other, mask, spans), pool(hidden, mask, spans))


def test_both_ends_start_as_their_mean(batch: tuple[Tensor, Tensor, Tensor]) -> None:
    hidden, mask, spans = batch
    pool = Pool("ends", SIZE)
    torch.testing.assert_close(pool(hidden, mask, spans)[0], (hidden[0, 1] + hidden[0, 2]) / 2)
    assert sum(parameter.numel() for parameter in pool.parameters()) == 2 * SIZE * SIZE + SIZE
    assert not list(Pool("mean", SIZE).parameters())


def test_low_precision_is_pooled_in_full(batch: tuple[Tensor, Tensor, Tensor]) -> None:
    hidden, mask, spans = batch
    assert Pool("mean", SIZE)(hidden.bfloat16(), mask, spans).dtype == torch.float32


def test_an_unknown_way_is_named() -> None:
    with pytest.raises(LinnetError, match="'means': not known; did you mean 'mean'"):
        Pool("means", SIZE)  # type: ignore[arg-type]
    assert repr(Pool("cls", 3)) == "Pool('cls', 3)"
