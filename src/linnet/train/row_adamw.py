"""AdamW for tables of many rows, of which a step touches few: all others stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["RowAdamW"]


class RowAdamW(torch.optim.AdamW):
    """AdamW (Loshchilov and Hutter 2019) that takes sparse gradients row by row.

    A row's moments, weight decay and count of steps change only in steps whose gradient holds the row, so that a step
    costs as much as the rows of its batch, whatever the size of the table. Other parameters are AdamW's.

    >>> table = torch.nn.Embedding(4, 2, sparse=True)
    >>> before = table.weight.detach().clone()
    >>> optimizer = RowAdamW(table.parameters(), lr=0.1)
    >>> table(torch.tensor([1, 1])).sum().backward()
    >>> optimizer.step()
    >>> (table.weight != before).any(dim=1).tolist()
    [False, True, False, False]
    """

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and parameter.grad.is_sparse:
                    self._step_rows(parameter, group)
        return super().step(closure)

    @torch.no_grad()
    def _step_rows(self, table: Tensor, group: dict[str, Any]) -> None:
        gradient = table.grad.coalesce()  # type: ignore[union-attr]
        table.grad = None
        state = self.state[table]
        if not state:
            state["step"] = torch.zeros(len(table), device=table.device)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(table), torch.zeros_like(table)
        rows, found = gradient.indices()[0], gradient.values()  # (touched,), (touched, d)
        first, second = group["betas"]
        steps = state["step"][rows] + 1
        mean = state["exp_avg"][rows].lerp(found, 1 - first)
        square = state["exp_avg_sq"][rows].mul(second).addcmul(found, found, value=1 - second)
        state["step"][rows], state["exp_avg"][rows], state["exp_avg_sq"][rows] = steps, mean, square
        size = (square / (1 - second**steps)[:, None]).sqrt() + group["eps"]
        change = (mean / (1 - first**steps)[:, None]) / size
        table[rows] = table[rows] * (1 - group["lr"] * group["weight_decay"]) - group["lr"] * change
