"""What a network gives the gradient loop, and the usual grouping of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from torch import Tensor, nn

from linnet.data import Document
from linnet.errors import LinnetError
from linnet.train.args import TrainArgs

__all__ = ["NO_DECAY", "Trainable", "divided_groups", "parameter_groups"]

NO_DECAY = ("bias", "LayerNorm", "norm")


class Trainable(Protocol):
    """What a network gives the gradient loop.

    A model whose examples depend on its weights, such as negatives mined with them, has an attribute ``mines = True``;
    checkpoints then hold the weights of the epoch's start too, so that the same examples are drawn after an
    interruption.
    """

    @property
    def module(self) -> nn.Module:
        """The network that is trained, in place."""
        ...

    def groups(self, args: TrainArgs) -> list[dict[str, Any]]:
        """Return the parameter groups of the optimizer, as `parameter_groups` does.

        A group of tables whose gradients are sparse has ``"rows": True``: they are updated row by row, and not clipped.
        """
        ...

    def examples(self, docs: Sequence[Document], *, epoch: int, rng: np.random.Generator) -> Sequence[Any]:
        """Return the examples of an epoch (0 is the first), drawn with `rng`; the loop shuffles them.

        It is called with the network in evaluation mode, without gradients, and must give the same for the same
        epoch: also on other processes, and after an interruption.
        """
        ...

    def collate(self, examples: Sequence[Any]) -> Any:
        """Return a batch: tensors, in mappings, tuples, lists or dataclasses."""
        ...

    def loss(self, batch: Any) -> Mapping[str, Tensor]:
        """Return losses by name, each the mean over the batch's examples; the sum of all is minimised.

        A loss without a gradient is only watched: it appears in logs and curves.

        With several processes or accumulated steps a batch is a part of the step's, and losses that compare the
        examples of a batch see that part alone, unless they use `linnet.train.processes.gathered`.
        """
        ...


def parameter_groups(module: nn.Module, args: TrainArgs, *, no_decay: Sequence[str] = NO_DECAY) -> list[dict[str, Any]]:
    """Return a network's trainable parameters in two groups: with weight decay, and without.

    Args:
        module: the network.
        args: ``lr`` and ``weight_decay``.
        no_decay: parameters with one of these in their name do not decay.

    Raises:
        LinnetError: no parameter is trainable.

    >>> [len(group["params"]) for group in parameter_groups(nn.Linear(2, 1), TrainArgs())]
    [1, 1]
    """
    decaying: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            (others if any(word in name for word in no_decay) else decaying).append(parameter)
    if not decaying and not others:
        raise LinnetError(f"{type(module).__name__} has no trainable parameters: set requires_grad where it may learn")
    made = [
        {"params": decaying, "lr": args.lr, "weight_decay": args.weight_decay},
        {"params": others, "lr": args.lr, "weight_decay": 0.0},
    ]
    return [group for group in made if group["params"]]


def divided_groups(
    module: nn.Module, args: TrainArgs, multiplier: float, *, encoders: Sequence[nn.Module]
) -> list[dict[str, Any]]:
    """Return the groups of `parameter_groups`, in which the layers around encoders learn `multiplier` times as fast."""
    inside = {id(parameter) for encoder in encoders for parameter in encoder.parameters()}
    made = []
    for group in parameter_groups(module, args):
        for faster in (False, True):
            some = [one for one in group["params"] if (id(one) not in inside) == faster]
            made += [{**group, "params": some, "lr": args.lr * multiplier if faster else args.lr}] if some else []
    return made
