"""Which device networks run on, and with which numbers: decided here and nowhere else."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager

import torch

from linnet.errors import LinnetError

__all__ = ["autocast", "bf16_gain", "choose_device", "has_bf16", "list_devices"]

CPU_BF16 = ("avx512_bf16", "amx_bf16", "bf16")  # what PyTorch calls it on x86-64 and on ARM
TOKENS, SIZE, INNER = 256, 384, 1536  # of the layer that both kinds of numbers are tried on: one of MiniLM
TURNS = 4
LEAST_GAIN = 1.2  # below it the digits that bfloat16 lacks are lost for nothing


def choose_device(name: str = "auto") -> torch.device:
    """Return the device called `name`, which is one of ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ``mps``.

    ``auto`` is what the environment variable ``LINNET_DEVICE`` says, else the first there is of cuda, mps and cpu.

    Raises:
        LinnetError: there is no such device here.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    wanted = (os.environ.get("LINNET_DEVICE") or "auto") if name == "auto" else name
    there = _there()
    if wanted == "auto":
        return torch.device(there[0])
    try:
        device = torch.device(wanted)
    except RuntimeError:
        device = None
    if device is None or device.type not in there or (device.index or 0) >= _count(device.type):
        source = " (from LINNET_DEVICE)" if name == "auto" else ""
        known = ", ".join(["auto", *there])
        raise LinnetError(f"device {wanted!r}{source}: not there; what there is: {known}")
    return device


def list_devices() -> list[str]:
    """Return the devices of this machine, fastest first, graphics cards with what they are called.

    >>> list_devices()[-1]
    'cpu'
    """
    cards = range(_count("cuda")) if torch.cuda.is_available() else ()
    return [*(f"cuda:{card} ({torch.cuda.get_device_name(card)})" for card in cards), *_there()[bool(cards) :]]


def _there() -> list[str]:
    """Return the types of the devices of this machine, fastest first."""
    found = ["cuda"] if torch.cuda.is_available() else []
    found += ["mps"] if torch.backends.mps.is_available() else []
    return [*found, "cpu"]


def _count(kind: str) -> int:
    return torch.cuda.device_count() if kind == "cuda" else 1


def has_bf16(device: torch.device) -> bool:
    """Return whether `device` computes faster in bfloat16 than in float32.

    A processor must have instructions for it, as PyTorch tells from version 2.10 on, and must gain by them: some that
    have ``avx512_bf16`` multiply more slowly with it.
    """
    if device.type == "cuda":
        with torch.cuda.device(device):
            return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    capabilities: Mapping[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(capabilities.get(kind) for kind in CPU_BF16) and bf16_gain() >= LEAST_GAIN


@functools.cache
def bf16_gain() -> float:
    """Return how many times faster the processor computes a layer in bfloat16 than in float32.

    It is measured once a process, in some milliseconds, on one thread and by its processor time, which other work on
    the machine hardly changes: the best of several runs of each, taken in turns.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _measure_gain()
    finally:
        torch.set_num_threads(threads)


def _measure_gain() -> float:
    tokens, weight = torch.ones(TOKENS, SIZE), torch.ones(INNER, SIZE)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    with torch.no_grad():
        for turn in range(2 * (TURNS + 1)):
            enabled = turn % 2 == 1
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
                started = time.thread_time()
                torch.nn.functional.linear(tokens, weight)
                seconds[enabled].append(time.thread_time() - started)
    return min(seconds[False][1:]) / min(seconds[True][1:])  # the first run of each prepares the others


def autocast(device: torch.device, *, bf16: bool | None = None) -> AbstractContextManager[object]:
    """Return a context in which matrices are multiplied in bfloat16, or, without it, one in which they are not.

    Args:
        device: where the network is.
        bf16: whether to; None stands for `has_bf16`.
    """
    enabled = has_bf16(device) if bf16 is None else bf16
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled)
