"""Several processes as one: how a batch is divided among them, and how what they have is brought together."""

from __future__ import annotations

import atexit
import dataclasses
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from accelerate import Accelerator  # type: ignore[import-untyped]
from accelerate.utils import (  # type: ignore[import-untyped]
    DistributedDataParallelKwargs,
    honor_type,
    send_to_device,
)
from torch import Tensor

from linnet.errors import LinnetError
from linnet.nn.device import choose_device

__all__ = ["accelerator", "divided", "gathered", "moved", "parted", "rows_before"]


def accelerator() -> Accelerator:
    """Return what knows of processes and devices; without a GPU, processes of one launch find each other too."""
    device = choose_device()
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)  # the one that a lone process is given
    try:
        made = Accelerator(
            cpu=device.type == "cpu",
            mixed_precision="no",  # the loop does it: an Accelerator's cannot be changed within a process
            kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
        )
    except ValueError as error:
        raise LinnetError(f"this process has an Accelerator that was set up otherwise: {error}") from error
    atexit.unregister(parted)  # once, however many trainings
    atexit.register(parted)
    return made


def divided(examples: Sequence[Any], *, parts: int, processes: int, process: int) -> list[tuple[list[Any], float]]:
    """Return what one process takes of a step's examples: for each part of the step, examples and their weight.

    The weights of all parts on all processes sum to 1, so that the weighted sum of means over the parts is the mean
    over all examples. All processes have equally many parts, since they wait for each other in each. Where there are
    fewer examples than processes, those left over take the first example with weight 0.

    Args:
        examples: of one step, at least one.
        parts: into how many a process divides its share; fewer if there are too few examples.
        processes: how many there are.
        process: which of them this is.

    >>> divided("abcde", parts=2, processes=1, process=0)
    [(['a', 'b', 'c'], 0.6), (['d', 'e'], 0.4)]
    >>> [divided("abc", parts=2, processes=2, process=process) for process in (0, 1)]
    [[(['a'], 0.3333333333333333), (['c'], 0.3333333333333333)], [(['b'], 0.3333333333333333), (['a'], 0.0)]]
    """
    rounds = min(parts, math.ceil(len(examples) / processes))
    pieces = rounds * processes
    ends = [len(examples) * number // pieces for number in range(pieces + 1)]
    ends = [len(examples) - end for end in reversed(ends)]  # the larger pieces first
    found = []
    for number in range(process, pieces, processes):
        piece = list(examples[ends[number] : ends[number + 1]])
        found.append((piece or [examples[0]], len(piece) / len(examples)))
    return found


def moved(batch: Any, device: torch.device) -> Any:
    """Return `batch` with its tensors on `device`: in mappings, tuples, lists and dataclasses, at any level."""
    if dataclasses.is_dataclass(batch) and not isinstance(batch, type) and not hasattr(batch, "to"):
        fields = [field.name for field in dataclasses.fields(batch) if field.init]
        return dataclasses.replace(batch, **{name: moved(getattr(batch, name), device) for name in fields})
    if isinstance(batch, list | tuple):
        return honor_type(batch, (moved(one, device) for one in batch))
    if isinstance(batch, Mapping):
        return {key: moved(one, device) for key, one in batch.items()}
    return send_to_device(batch, device)


def gathered(tensor: Tensor) -> Tensor:
    """Return the rows of all processes, in the order of processes, with gradients to each; of one process, its own.

    For losses that compare all examples of a step, such as those with negatives from the batch: the loss of the own
    rows against the gathered ones. All processes must call it equally often, also under an accumulated step.

    Args:
        tensor: (own rows, …); processes may have different numbers of rows.

    Returns:
        (rows of all processes, …)

    >>> gathered(torch.eye(2)).shape
    torch.Size([2, 2])
    """
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return tensor
    found: Tensor = _Gather.apply(tensor)  # type: ignore[no-untyped-call]
    return found


def rows_before(tensor: Tensor) -> int:
    """Return at which row of `gathered` the own rows begin; all processes must call it together.

    >>> rows_before(torch.eye(2))
    0
    """
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return 0
    processes = gathered(torch.full((len(tensor),), dist.get_rank(), device=tensor.device))
    return int((processes < dist.get_rank()).sum())


def parted() -> None:
    """Leave the other processes, as each must before it ends.

    Threads of gloo give back the tensors of the last exchange only after it was waited for, and need Python for that:
    one that comes too late aborts a process that has ended well. Nothing tells when they are through, so they are given
    a moment in which nobody else runs.

    >>> parted()  # of one process: nothing to do
    """
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()
        time.sleep(0.2)


class _Gather(torch.autograd.Function):
    """All processes' rows; backwards the sum of what all processes say of the own rows."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        sizes = [torch.zeros(1, dtype=torch.long, device=tensor.device) for _ in range(dist.get_world_size())]
        dist.all_gather(sizes, torch.tensor([len(tensor)], device=tensor.device))
        counts = [int(size) for size in sizes]
        room = tensor.new_zeros((max(counts), *tensor.shape[1:]))
        room[: len(tensor)] = tensor
        rooms = [torch.empty_like(room) for _ in counts]
        dist.all_gather(rooms, room)
        start = sum(counts[: dist.get_rank()])
        ctx.own = slice(start, start + len(tensor))
        return torch.cat([rows[:count] for rows, count in zip(rooms, counts, strict=True)])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        whole = gradient.contiguous().clone()
        dist.all_reduce(whole)
        return whole[ctx.own]
