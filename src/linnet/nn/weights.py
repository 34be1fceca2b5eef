"""Weights in files: errors of writing and reading them are those of all other files, and all of them are numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from linnet.errors import FormatError

__all__ = ["check_finite", "read_weights", "write_weights", "writing"]


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


def check_finite(weights: Iterable[tuple[str, Tensor]], path: Path) -> None:
    """Refuse the weights of `path` if one is no finite number: a network of such weights finds nothing, silently.

    Raises:
        FormatError: one is not.
    """
    for name, values in weights:
        if values.numel() and not torch.stack(values.aminmax()).isfinite().all():  # a tenth of the time of all values
            problem = f"a weight of {name!r} is no finite number: a training that diverged, or a damaged file"
            raise FormatError(path, f"{problem}; train again, or take another checkpoint")
