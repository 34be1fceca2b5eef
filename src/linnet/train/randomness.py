"""The global random states of Python, numpy and torch: taken, put back, and written to a checkpoint."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

__all__ = ["Randomness"]

WORDS = 625  # of Python's generator, its position included
KEYS = 624  # of numpy's


@dataclass(frozen=True)
class Randomness:
    """The states of all global generators at one moment.

    Args:
        python: of `random`.
        legacy: of numpy's global generator, which models may draw from.
        cpu: of torch.
        device: of torch on the current CUDA device, where one is used.

    >>> before = Randomness.now(torch.device("cpu"))
    >>> drawn = random.random()
    >>> before.restore()
    >>> random.random() == drawn
    True
    """

    python: tuple[Any, ...]
    legacy: dict[str, Any]
    cpu: Tensor
    device: Tensor | None = None

    @classmethod
    def now(cls, device: torch.device) -> Randomness:
        """Return the states as they are; with the generator of `device`, if it is a CUDA device."""
        legacy: Any = np.random.get_state(legacy=False)  # noqa: NPY002
        on_device = torch.cuda.get_rng_state() if device.type == "cuda" else None
        return cls(random.getstate(), legacy, torch.get_rng_state(), on_device)

    def restore(self) -> None:
        """Put the global generators into these states."""
        random.setstate(self.python)
        np.random.set_state(self.legacy)  # noqa: NPY002
        torch.set_rng_state(self.cpu)
        if self.device is not None:
            torch.cuda.set_rng_state(self.device)

    def packed(self) -> npt.NDArray[np.uint8]:
        """Return the states as bytes: (bytes,), equally many on every process with the same kind of device."""
        _, words, gauss = self.python
        key, legacy = self.legacy["state"], self.legacy
        parts: list[npt.NDArray[Any]] = [
            np.array(words, np.uint32),
            np.array([gauss is not None, gauss or 0.0], np.float64),
            np.array(key["key"], np.uint32),
            np.array([key["pos"], legacy["has_gauss"], legacy["gauss"]], np.float64),
            self.cpu.numpy(),
        ]
        if self.device is not None:
            parts.append(self.device.cpu().numpy())
        return np.concatenate([part.view(np.uint8) for part in parts])

    @classmethod
    def unpacked(cls, data: npt.NDArray[np.uint8]) -> Randomness:
        """Return the states that `packed` wrote."""
        sizes = [WORDS * 4, 16, KEYS * 4, 24, torch.get_rng_state().numel()]
        words, normal, keys, rest, cpu, more = (part.copy() for part in np.split(data, np.cumsum(sizes)))
        has, gauss = normal.view(np.float64)
        position, has_gauss, cached = rest.view(np.float64)
        python = (random.getstate()[0], tuple(words.view(np.uint32).tolist()), float(gauss) if has else None)
        state = {"key": keys.view(np.uint32), "pos": int(position)}
        legacy = {"bit_generator": "MT19937", "state": state, "has_gauss": int(has_gauss), "gauss": float(cached)}
        return cls(python, legacy, torch.from_numpy(cpu), torch.from_numpy(more) if more.size else None)
