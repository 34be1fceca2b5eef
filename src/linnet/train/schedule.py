"""The learning rate of each step, as a closed form: nothing to save, nothing to count."""

from __future__ import annotations

import math

from linnet.train.args import TrainArgs

__all__ = ["factor"]


def factor(step: int, total: int, args: TrainArgs) -> float:
    """Return what share of the highest learning rate a step takes.

    It grows along a line from 0 over the warm-up, then falls to 0 along a line or half a cosine, or stays.

    Args:
        step: 0 for the first.
        total: how many there are.
        args: ``schedule``, ``warmup_steps`` or ``warmup``.

    >>> [factor(step, 4, TrainArgs(warmup_steps=2)) for step in range(5)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    warm = args.warmup_steps or math.ceil(args.warmup * total)
    if step < warm:
        return step / warm
    if args.schedule == "constant":
        return 1.0
    done = min(1.0, (step - warm) / max(1, total - warm))
    return 1.0 - done if args.schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))
