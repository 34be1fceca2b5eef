from __future__ import annotations

import torch
from torch import nn

from linnet.train.row_adamw import RowAdamW


def test_rows_that_each_step_touches_go_as_in_adamw() -> None:
    torch.manual_seed(0)
    sparse, dense = nn.Embedding(5, 3, sparse=True), nn.Embedding(5, 3)
    dense.load_state_dict(sparse.state_dict())
    ours, theirs = RowAdamW(sparse.parameters(), lr=0.1), torch.optim.AdamW(dense.parameters(), lr=0.1)
    for number in range(4):
        for table, optimizer in ((sparse, ours), (dense, theirs)):
            optimizer.zero_grad()
            (table(torch.arange(5)) * (number + 1)).square().sum().backward()
            optimizer.step()
    assert torch.allclose(sparse.weight, dense.weight, atol=1e-5)


def test_untouched_rows_and_their_moments_stay() -> None:
    table, layer = nn.Embedding(6, 2, sparse=True), nn.Linear(2, 1)
    before = table.weight.detach().clone()
    optimizer = RowAdamW([*table.parameters(), *layer.parameters()], lr=0.1, weight_decay=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        layer(table(torch.tensor([4, 4, 1]))).sum().backward()
        optimizer.step()
    assert (table.weight != before).any(dim=1).tolist() == [False, True, False, False, True, False]
    assert optimizer.state[table.weight]["step"].tolist() == [0, 3, 0, 0, 3, 0]
    assert layer.bias.grad is not None


def test_state_is_restored() -> None:
    table = nn.Embedding(3, 2, sparse=True)
    first = RowAdamW(table.parameters(), lr=0.1)
    table(torch.tensor([2])).sum().backward()
    first.step()
    second = RowAdamW(table.parameters(), lr=0.1)
    second.load_state_dict(first.state_dict())
    assert second.state[table.weight]["step"].tolist() == [0, 0, 1]
