"""A network that learns in milliseconds: a regression on a handful of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from linnet.data import Document
from linnet.train.args import TrainArgs
from linnet.train.loop import parameter_groups

SIZE = 4
TRUTH = (1.0, -2.0, 0.5, 3.0)


class Regression:
    """Four numbers to one; the examples are the same every epoch, those of a `noisy` one are not.

    `seen` holds the numbers of examples in the order in which they were collated.
    """

    def __init__(
        self, *, count: int = 20, dropout: float = 0.0, noisy: bool = False, dtype: torch.dtype = torch.float32
    ) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(1)
            self.module = nn.Sequential(nn.Linear(SIZE, 6), nn.Tanh(), nn.Dropout(dropout), nn.Linear(6, 1))
        self.module.to(dtype)
        self.count, self.noisy, self.dtype = count, noisy, dtype
        self.seen: list[int] = []
        self.factor = 1.0  # of the loss

    def groups(self, args: TrainArgs) -> list[dict[str, Any]]:
        return parameter_groups(self.module, args)

    def examples(self, docs: Sequence[Document], *, epoch: int, rng: np.random.Generator) -> Sequence[Any]:
        given = (rng if self.noisy else np.random.default_rng(5)).normal(size=(self.count, SIZE))
        return [(number, row.tolist(), float(row @ TRUTH)) for number, row in enumerate(given)]

    def collate(self, examples: Sequence[Any]) -> Any:
        self.seen += [number for number, _, _ in examples]
        rows, values = ([example[field] for example in examples] for field in (1, 2))
        return {"rows": torch.tensor(rows, dtype=self.dtype), "values": (torch.tensor(values, dtype=self.dtype),)}

    def loss(self, batch: Any) -> Mapping[str, Tensor]:
        found = self.module(batch["rows"])[:, 0]
        return {
            "square": (found - batch["values"][0]).square().mean() * self.factor,
            "size": 0.01 * found.square().mean(),
        }

    def weights(self) -> dict[str, Tensor]:
        return {name: tensor.clone() for name, tensor in self.module.state_dict().items()}


def same(one: Mapping[str, Tensor], other: Mapping[str, Tensor], *, within: float = 0.0) -> bool:
    assert one.keys() == other.keys()
    return all(float((one[name] - other[name]).abs().max()) <= within for name in one)
