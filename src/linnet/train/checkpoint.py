"""Checkpoints of a training: folders of safetensors and JSON that are there whole or not at all.

A checkpoint is written aside, reaches the disk, takes its name, and only then is the one before it removed; whenever
the process dies, one whole checkpoint is left. Its ``state.json`` holds a hash of every file, so that damage is seen.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from linnet.codec import dumps
from linnet.data import Document
from linnet.errors import FormatError, LinnetError
from linnet.home import read_json, writable

__all__ = ["Checkpoint", "copied", "key_of", "optimizer_state", "optimizer_tensors", "put_weights", "weights"]

STATE = "state.json"
FORMAT = 1
NAME = "checkpoint-"

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True)
class Checkpoint:
    """What a training is made of between two steps.

    Args:
        state: JSON values: where it is, and of which training.
        tensors: file name without suffix → tensors by name.
    """

    state: Mapping[str, Any]
    tensors: Mapping[str, Tensors] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Write this checkpoint into `folder`, remove those before it, and return its own folder.

        Raises:
            LinnetError: it cannot be written; what was there stays.
        """
        before = _all(writable(folder))
        number = int(before[-1].name.removeprefix(NAME)) + 1 if before else 1
        place = folder / f"{NAME}{number:06d}"
        aside = folder / f".{place.name}.part"
        try:
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            for name, tensors in self.tensors.items():
                save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, aside / f"{name}.safetensors")
            files = {path.name: _digest(path) for path in sorted(aside.iterdir())}
            state = json.dumps({"format": FORMAT, "files": files, "state": self.state}, indent=1)
            (aside / STATE).write_text(state, encoding="utf-8")
            _to_disk(aside)
            aside.replace(place)
        except (OSError, SafetensorError) as error:
            shutil.rmtree(aside, ignore_errors=True)
            raise LinnetError(f"{folder}: cannot write a checkpoint: {error}; make room, then train again") from error
        for old in before:
            shutil.rmtree(old, ignore_errors=True)
        return place

    @classmethod
    def newest(cls, folder: Path) -> tuple[Checkpoint | None, list[FormatError]]:
        """Return the newest whole checkpoint in `folder`, if there is any, and what is wrong with newer ones.

        Raises:
            FormatError: there are checkpoints, and none is whole.
        """
        problems: list[FormatError] = []
        for place in reversed(_all(folder)):
            try:
                return _read(place), problems
            except FormatError as error:
                problems.append(error)
        if problems:
            raise problems[0]
        return None, []


def _all(folder: Path) -> list[Path]:
    """Return the folders of checkpoints, the oldest first."""
    found = (path for path in folder.glob(f"{NAME}*") if path.name.removeprefix(NAME).isdecimal())
    return sorted(found, key=lambda path: int(path.name.removeprefix(NAME)))


def _read(place: Path) -> Checkpoint:
    way_out = f"remove {place} to go on from the checkpoint before it, or from the start"
    try:
        found = read_json(place / STATE)
    except FormatError as error:
        raise FormatError(place / STATE, f"the checkpoint is damaged: no JSON object can be read; {way_out}") from error
    files, state = found.get("files"), found.get("state")
    if found.get("format") != FORMAT or not isinstance(files, dict) or not isinstance(state, dict):
        raise FormatError(place / STATE, f"is not the state of a checkpoint of format {FORMAT}; {way_out}")
    for name, digest in files.items():
        path = place / name
        if not path.is_file() or _digest(path) != digest:
            raise FormatError(
                path, f"the checkpoint is damaged: the file is missing or not what was written; {way_out}"
            )
    return Checkpoint(state, {name.removesuffix(".safetensors"): load_file(place / name) for name in files})


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _to_disk(folder: Path) -> None:
    """Wait until a power cut would leave the files whole."""
    for path in folder.iterdir():
        with path.open("r+b") as stream:
            os.fsync(stream.fileno())


def key_of(told: Any, docs: Iterable[Document], found: Iterable[bytes] = ()) -> str:
    """Return a hash of what the result of a training depends on beside the loop's own arguments.

    Args:
        told: options, arguments and versions, as JSON or text.
        docs: what is learned from and scored by.
        found: what other parts gave for these documents.

    >>> key_of([1], []) == key_of([1], []) != key_of([2], [])
    True
    """
    digest = hashlib.blake2b(json.dumps(told, default=str, sort_keys=True).encode(), digest_size=16)
    for doc in docs:
        digest.update(dumps(doc).encode("utf-8", "surrogatepass"))
    for part in found:
        digest.update(part)
    return digest.hexdigest()


# --- networks and optimizers as tensors by name ----------------------------------------------------------------------


def weights(module: nn.Module) -> dict[str, Tensor]:
    """Return the parameters and saved buffers of a network by name; those that are shared stand once.

    The tensors are the network's own, not copies.
    """
    saved = module.state_dict().keys()
    buffers = {name: buffer for name, buffer in module.named_buffers() if name in saved}
    return {name: tensor.detach() for name, tensor in (dict(module.named_parameters()) | buffers).items()}


def put_weights(module: nn.Module, tensors: Tensors, *, source: object) -> None:
    """Copy `tensors` into the network that `weights` took them from.

    Raises:
        FormatError: they are of another network; `source` says where they came from.
    """
    own = weights(module)
    wrong = sorted(own.keys() ^ tensors.keys())
    wrong += [name for name in own if name in tensors and own[name].shape != tensors[name].shape]
    if wrong:
        shown = ", ".join(wrong[:3]) + (" …" if len(wrong) > 3 else "")
        raise FormatError(source, f"holds the weights of another network ({shown}); give another folder")
    for name, tensor in own.items():
        tensor.copy_(tensors[name])


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the state of an optimizer whose values are all tensors: AdamW's step and moments of each parameter."""
    state = optimizer.state_dict()["state"]
    return {f"{index}.{name}": tensor for index, values in state.items() for name, tensor in values.items()}


def optimizer_state(optimizer: torch.optim.Optimizer, tensors: Tensors) -> dict[str, Any]:
    """Return what ``optimizer.load_state_dict`` takes, with the state that `optimizer_tensors` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        index, _, name = key.partition(".")
        state.setdefault(int(index), {})[name] = tensor
    return {"state": state, "param_groups": optimizer.state_dict()["param_groups"]}


def copied(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return copies of tensors on the CPU."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}
