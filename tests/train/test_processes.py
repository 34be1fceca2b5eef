from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from linnet.data import Document
from linnet.pipeline.component import Step
from linnet.train.args import TrainArgs
from linnet.train.loop import train
from linnet.train.processes import divided, gathered, moved

from .tiny import Regression, same


class Compared(Regression):
    """Also compares each example with all others of its step."""

    def loss(self, batch: Any) -> Mapping[str, Tensor]:
        found = self.module(batch["rows"])[:, 0]
        values = batch["values"][0]
        others, theirs = gathered(found), gathered(values)
        wrong = (found[:, None] - others[None, :]) - (values[:, None] - theirs[None, :])
        return {**super().loss(batch), "pairs": wrong.square().mean(1).mean()}


def trained(folder: Path | None = None, *, stop: int | None = None) -> tuple[dict[str, Tensor], list[Step]]:
    """Train with steps of 8, 8 and 3 examples, the last fewer than the parts of a step."""
    model = Compared(count=19, dtype=torch.float64)
    asked = 0

    def score(dev: Sequence[Document]) -> float:
        nonlocal asked
        asked += 1
        return asked + 10.0 * int(os.environ.get("RANK", "0"))  # the first process' counts

    args = TrainArgs(epochs=4, batch=8, lr=0.05, bf16=False, checkpoint_every="5 steps")
    steps = []
    for step in train(model, [], [], score=score, args=args, folder=folder):
        steps.append(step)
        if step.step == stop:
            break
    return model.weights(), steps


CHILD = """
import sys
from pathlib import Path
from tests.train.test_processes import child
child(Path(sys.argv[1]))
"""


def child(folder: Path) -> None:
    """What each of several processes does: train, stop, and go on."""
    trained(folder / "checkpoints", stop=7)
    left = [path.name for path in (folder / "checkpoints").iterdir()]
    weights, steps = trained(folder / "checkpoints")
    told = {
        "left": left,
        "weights": {name: tensor.tolist() for name, tensor in weights.items()},
        "steps": [[step.step, dict(step.losses), step.score] for step in steps],
    }
    (folder / f"{os.environ['RANK']}.json").write_text(json.dumps(told))


def launched(folder: Path) -> list[Any]:
    """Run two processes that find each other, as ``torchrun`` and ``accelerate launch`` start them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    ours = {"PYTHONPATH": paths, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    ours |= {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GLOO_SOCKET_IFNAME": "lo", "LINNET_DEVICE": "cpu"}
    children = [
        subprocess.Popen(
            [sys.executable, "-W", "error::UserWarning", "-c", CHILD, str(folder)],
            env={**os.environ, **ours, "RANK": rank, "LOCAL_RANK": rank},
        )
        for rank in "01"
    ]
    try:
        assert [process.wait(timeout=300) for process in children] == [0, 0]
    finally:
        for process in children:
            process.kill()
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in "01"]


@pytest.mark.slow
def test_two_processes_are_one(tmp_path: Path) -> None:
    weights, steps = trained()
    for told in launched(tmp_path):
        assert told["left"] == ["checkpoint-000001"]  # of step 5: what is stopped between them writes nothing
        found = {name: torch.tensor(values, dtype=torch.float64) for name, values in told["weights"].items()}
        assert same(found, weights, within=1e-10)
        for (number, losses, score), step in zip(told["steps"], steps[5:], strict=True):
            assert number == step.step
            assert losses == pytest.approx(dict(step.losses))
            assert (score is None) == (step.score is None)


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 8])
def test_every_example_is_taken_once(count: int, parts: int, processes: int) -> None:
    shares = [divided(range(count), parts=parts, processes=processes, process=process) for process in range(processes)]
    assert len({len(share) for share in shares}) == 1
    pieces = [piece for share in shares for piece in share]
    assert sorted(number for taken, weight in pieces if weight for number in taken) == list(range(count))
    assert all(weight == len(taken) / count or (weight, taken) == (0.0, [0]) for taken, weight in pieces)
    sizes = [len(taken) for taken, weight in pieces if weight]
    assert max(sizes) - min(sizes) <= 1


class Pair(NamedTuple):
    ids: Tensor
    names: list[str]


@dataclass
class Batch:
    pair: Pair
    more: dict[str, Tensor]


def test_batches_of_all_kinds_are_moved() -> None:
    batch = Batch(Pair(torch.zeros(2), ["a"]), {"mask": torch.ones(1)})
    there = moved(batch, torch.device("meta"))
    assert (there.pair.ids.device.type, there.more["mask"].device.type, there.pair.names) == ("meta", "meta", ["a"])
    assert batch.pair.ids.device.type == "cpu"
    nested = moved([(Pair(torch.zeros(2), ["a"]), {"more": [batch]})], torch.device("meta"))
    assert nested[0][0].ids.device.type == nested[0][1]["more"][0].pair.ids.device.type == "meta"


def test_one_process_gathers_its_own() -> None:
    rows = torch.eye(3)
    assert gathered(rows) is rows
