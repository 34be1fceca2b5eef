"""Errors of writing weights, as those of all other files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from safetensors import SafetensorError

__all__ = ["writing"]


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
