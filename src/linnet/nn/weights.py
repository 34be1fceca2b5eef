"""Weights in files: errors of writing and reading them are those of all other files, and all of them are numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from linnet.errors import FormatError
from linnet.nn.checkpoints import weights_of

__all__ = [
    "check_finite",
    "names_of_weights",
    "read_weights",
    "restore_layers",
    "save_layers",
    "write_weights",
    "writing",
]


@contextmanager
def writing() -> Iterator[None]:
    """Make an OSError of what safetensors raises when a disk is full.

    >>> with writing():
    ...     raise SafetensorError("No space left on device")
    Traceback (most recent call last):
        ...
    OSError: No space left on device
    """
    try:
        yield
    except SafetensorError as error:
        raise OSError(str(error)) from error


def write_weights(weights: Mapping[str, Tensor], path: Path) -> None:
    """Write tensors by name.

    Raises:
        OSError: they cannot be written.
    """
    with writing():
        save_file({name: values.contiguous() for name, values in weights.items()}, path)


def names_of_weights(folder: Path) -> list[str]:
    """Return the names of the weights that a checkpoint has in files of safetensors."""
    path = weights_of(folder)
    if path.suffix == ".json":
        return list(json.loads(path.read_text("utf-8"))["weight_map"])
    with safe_open(path, framework="pt") as weights:
        return list(weights.keys())


def read_weights(path: Path) -> dict[str, Tensor]:
    """Return the tensors that a file of a saved component holds by name; without a file there are none.

    Raises:
        FormatError: it is damaged, or a weight is no finite number.
    """
    try:
        weights = load_file(path) if path.exists() else {}
    except (OSError, SafetensorError) as error:
        raise FormatError(path, f"cannot be read: {error}; train the pipeline again") from error
    check_finite(weights.items(), path)
    return weights


def save_layers(network: nn.Module, path: Path, *, encoders: Sequence[nn.Module]) -> None:
    """Write the weights of a network but for those of its encoders, which have files of their own."""
    write_weights(_around(network, encoders), path)


def restore_layers(network: nn.Module, path: Path, *, encoders: Sequence[nn.Module]) -> None:
    """Take the weights that `save_layers` wrote.

    Raises:
        FormatError: they are damaged, or not those that the network has.
    """
    found, wanted = read_weights(path), _around(network, encoders)
    if {name: values.shape for name, values in found.items()} != {name: each.shape for name, each in wanted.items()}:
        raise FormatError(path, "holds no layers that fit: leave the options as they were when it was trained")
    network.load_state_dict(found, strict=False)


def _around(network: nn.Module, encoders: Sequence[nn.Module]) -> dict[str, Tensor]:
    inside = {id(values) for encoder in encoders for values in encoder.state_dict(keep_vars=True).values()}
    named = network.state_dict(keep_vars=True).items()
    return {name: values.detach() for name, values in named if id(values) not in inside}


def check_finite(weights: Iterable[tuple[str, Tensor]], path: Path) -> None:
    """Refuse the weights of `path` if one is no finite number: a network of such weights finds nothing, silently.

    Raises:
        FormatError: one is not.
    """
    for name, values in weights:
        if values.numel() and not torch.stack(values.aminmax()).isfinite().all():  # a tenth of the time of all values
            problem = f"a weight of {name!r} is no finite number: a training that diverged, or a damaged file"
            raise FormatError(path, f"{problem}; train again, or take another checkpoint")
