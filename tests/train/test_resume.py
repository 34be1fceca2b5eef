from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from linnet.data import Document
from linnet.errors import FormatError, LinnetError
from linnet.train.args import TrainArgs
from linnet.train.checkpoint import Checkpoint, put_weights, weights
from linnet.train.loop import train
from linnet.train.randomness import Randomness

from .test_loop import Weights, drawn, run
from .tiny import Regression, same

ARGS: dict[str, Any] = {"epochs": 4, "warmup_steps": 2, "accumulate": 2, "evaluate_every": "2 steps"}


class Scored(Regression):
    """Draws examples anew, drops units, and is best in the middle."""

    def __init__(self) -> None:
        super().__init__(dropout=0.3, noisy=True)

    def score(self, dev: Sequence[Document]) -> float:
        sum = float(next(iter(self.module.parameters())).sum())
        return -abs(sum - 0.3)


def trained(folder: Path | None = None, *stops: int, **args: Any) -> tuple[Weights, dict[int, Any]]:
    """Train, interrupted after each of `stops`; the weights at the end, and what was said of each step."""
    told: dict[int, Any] = {}
    for stop in (*stops, None):
        model = Scored()
        steps = run(model, score=model.score, folder=folder, stop=stop, **{**ARGS, **args})
        told |= {step.step: (step.losses, step.score, step.lr, step.epoch, step.total) for step in steps}
    return model.weights(), told


@pytest.mark.parametrize("stops", [(1,), (3,), (4, 5), (7, 10), (12,)])
def test_what_was_stopped_goes_on_where_it_was(tmp_path: Path, stops: tuple[int, ...]) -> None:
    final, told = trained()
    resumed, told_again = trained(tmp_path, *stops)
    assert told_again == told
    assert same(final, resumed)


def test_in_bfloat16_too(tmp_path: Path) -> None:
    final, told = trained(bf16=True)
    resumed, told_again = trained(tmp_path, 5, bf16=True)
    assert told_again == told
    assert same(final, resumed)
    assert not same(final, trained(bf16=False)[0])
    assert all(tensor.dtype == torch.float32 for tensor in final.values())


def test_a_finished_training_is_not_repeated(tmp_path: Path) -> None:
    final, _ = trained(tmp_path)
    model = Scored()
    assert run(model, score=model.score, folder=tmp_path, **ARGS) == []
    assert same(model.weights(), final)


def test_patience_goes_on(tmp_path: Path) -> None:
    def steps(*stops: int) -> int:
        folder = tmp_path / str(stops)
        left = [0.5, 0.4, 0.45, 0.6, 0.5, 0.5, 0.5]
        for stop in (*stops, None):
            found = run(Regression(), epochs=9, patience=3, folder=folder, stop=stop, score=lambda dev: left.pop(0))
        return found[-1].step

    assert steps() == steps(7) == steps(6, 16) == 21


class Mining(Regression):
    """Draws its examples with the weights of the moment."""

    mines = True

    def examples(self, docs: Sequence[Document], *, epoch: int, rng: np.random.Generator) -> Sequence[Any]:
        given = list(super().examples(docs, epoch=epoch, rng=rng))
        assert not self.module.training
        found = self.module(torch.tensor([row for _, row, _ in given]))[:, 0].tolist()
        return [(number, row, value + guess) for (number, row, value), guess in zip(given, found, strict=True)]


def test_examples_that_depend_on_weights_are_drawn_again(tmp_path: Path) -> None:
    unbroken, stopped, resumed = Mining(), Mining(), Mining()
    run(unbroken, **ARGS)
    run(stopped, folder=tmp_path, stop=5, **ARGS)
    run(resumed, folder=tmp_path, **ARGS)
    assert same(unbroken.weights(), resumed.weights())


class Interrupted(Scored):
    """Is interrupted in the middle of its third step, where no checkpoint is due."""

    def loss(self, batch: Any) -> Any:
        self.losses = getattr(self, "losses", 0) + 1
        if self.losses == 6:  # two a step
            signal.raise_signal(signal.SIGINT)
        return super().loss(batch)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Set Python's own handler of SIGINT: where tests run in the background, their shell has the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_keeps_what_was_done_before_the_first_checkpoint(tmp_path: Path) -> None:
    final, _ = trained()
    with pytest.raises(KeyboardInterrupt):
        run(Interrupted(), score=Scored().score, folder=tmp_path, **ARGS)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert json.loads(next(tmp_path.rglob("state.json")).read_text())["state"]["place"]["step"] == 3
    resumed, told = trained(tmp_path)
    assert min(told) == 4
    assert same(final, resumed)


@pytest.mark.usefixtures("interruptible")
def test_a_second_interruption_acts_at_once(tmp_path: Path) -> None:
    class Impatient(Interrupted):
        def loss(self, batch: Any) -> Any:
            found = super().loss(batch)
            if self.losses == 6:
                signal.raise_signal(signal.SIGINT)
            return found

    with pytest.raises(KeyboardInterrupt):
        run(Impatient(), score=Scored().score, folder=tmp_path, **ARGS)
    assert not list(tmp_path.rglob("state.json"))


def test_time_before_the_interruption_counts(tmp_path: Path) -> None:
    run(Regression(), epochs=100_000, max_minutes=0.004, folder=tmp_path)
    assert run(Regression(), epochs=100_000, max_minutes=0.004, folder=tmp_path) == []
    longer = run(Regression(), epochs=100_000, max_minutes=1, folder=tmp_path, stop=1)
    assert longer[0].step > 1


# --- killed ----------------------------------------------------------------------------------------------------------

CHILD = """
import sys
from pathlib import Path
from tests.train.test_resume import ARGS, Scored, ended
ended(Path(sys.argv[1]), slow=True)
"""


def ended(folder: Path, *, slow: bool = False) -> Weights:
    model = Scored()
    args = TrainArgs(batch=8, lr=0.05, bf16=False, checkpoint_every=1, **{**ARGS, "epochs": 20})
    for _ in train(model, [], [], score=model.score, args=args, folder=folder):
        if slow:
            time.sleep(0.02)
    return model.weights()


@pytest.mark.slow
def test_what_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    final = ended(tmp_path / "unbroken")
    folder = tmp_path / "killed"
    root = str(Path(__file__).parents[2])
    paths = os.pathsep.join([root, *sys.path])
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(folder)], env={**os.environ, "PYTHONPATH": paths})
    try:
        deadline = time.monotonic() + 120
        while not (folder / "checkpoint-000005").exists() and time.monotonic() < deadline:
            assert child.poll() is None
            time.sleep(0.005)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    found, problems = Checkpoint.newest(folder)
    assert found is not None
    assert not problems
    assert 5 <= found.state["place"]["step"] < 60
    assert same(ended(folder), final)


# --- checkpoints -----------------------------------------------------------------------------------------------------


def test_only_the_last_checkpoint_stays(tmp_path: Path) -> None:
    run(Regression(), epochs=2, folder=tmp_path, checkpoint_every="2 steps", score=lambda dev: 1.0)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000003"]  # after steps 2, 4, 6
    [place] = tmp_path.iterdir()
    names = {"state.json", "weights.safetensors", "optimizer.safetensors", "random.safetensors", "best.safetensors"}
    assert {path.name for path in place.iterdir()} == names
    assert json.loads((place / "state.json").read_text())["state"]["place"]["step"] == 6
    assert set(load_file(place / "weights.safetensors")) == {"0.weight", "0.bias", "3.weight", "3.bias"}


@pytest.mark.parametrize(("every", "count"), [(None, 1), ("1 epoch", 3), (1, 9), ("0.0001 minutes", 9)])
def test_how_often_they_are_written(
    tmp_path: Path, every: str | int | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(10_000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    run(Regression(), epochs=3, folder=tmp_path, checkpoint_every=every)
    assert [path.name for path in tmp_path.iterdir()] == [f"checkpoint-{count:06d}"]


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    run(Regression(), folder=tmp_path, stop=2, key="a")
    before = Regression().weights()
    other = Regression()
    with pytest.raises(LinnetError, match=r"another training \(key was 'a', is 'b'; lr was 0.05, is 0.1\)"):
        run(other, folder=tmp_path, key="b", lr=0.1)
    assert same(other.weights(), before)
    assert run(Regression(), folder=tmp_path, key="a", checkpoint_every=1, max_minutes=9)[0].step == 3


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path) -> None:
    run(Regression(), folder=tmp_path, stop=2)
    other = Regression()
    other.module.append(nn.Linear(1, 1))
    with pytest.raises(FormatError, match=r"weights of another network \(4.bias, 4.weight\)"):
        run(other, folder=tmp_path)


def test_other_examples_are_refused(tmp_path: Path) -> None:
    run(Regression(), folder=tmp_path, stop=2)
    with pytest.raises(LinnetError, match="epoch 1 had 20 examples when it was interrupted and has 19 now"):
        run(Regression(count=19), folder=tmp_path)


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("weights.safetensors", damage),
        ("optimizer.safetensors", Path.unlink),
        ("random.safetensors", lambda path: path.write_bytes(path.read_bytes()[:-1])),
        ("state.json", lambda path: path.write_text("{")),
        ("state.json", lambda path: path.write_text("{}")),
    ],
)
def test_a_damaged_checkpoint_is_refused_or_passed_over(
    tmp_path: Path, name: str, harm: Any, caplog: pytest.LogCaptureFixture
) -> None:
    run(Regression(), folder=tmp_path, stop=2)
    first = tmp_path / "checkpoint-000001"
    kept = tmp_path / "kept"
    shutil.copytree(first, kept)
    run(Regression(), folder=tmp_path, stop=4)
    harm(tmp_path / "checkpoint-000002" / name)
    with pytest.raises(FormatError, match=rf"checkpoint-000002/{name}.*remove .*checkpoint-000002 to go on"):
        run(Regression(), folder=tmp_path)
    kept.rename(first)
    assert run(Regression(), folder=tmp_path, stop=3)[0].step == 3
    assert "damaged: the training goes on from the checkpoint before it" in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000003"]


def test_what_was_left_half_written_is_no_checkpoint(tmp_path: Path) -> None:
    run(Regression(), folder=tmp_path, stop=2)
    half = tmp_path / ".checkpoint-000002.part"
    half.mkdir()
    (half / "weights.safetensors").write_bytes(b"half")
    assert run(Regression(), folder=tmp_path, stop=3)[0].step == 3
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000002"]


def test_a_disk_that_is_full_leaves_the_checkpoint_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(Regression(), folder=tmp_path, stop=2)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LinnetError, match=r"cannot write a checkpoint: .*No space left.* make room"):
        run(Regression(), folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000001"]


def test_shared_weights_stand_once(tmp_path: Path) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = nn.Linear(2, 2), nn.Linear(2, 2)
            self.other.weight = self.one.weight
            self.count: torch.Tensor
            self.register_buffer("count", torch.tensor(3))
            self.register_buffer("cache", torch.zeros(1), persistent=False)

    module = Tied()
    assert list(weights(module)) == ["one.weight", "one.bias", "other.bias", "count"]
    place = Checkpoint({}, {"weights": weights(module)}).write(tmp_path)
    other = Tied()
    put_weights(other, load_file(place / "weights.safetensors"), source=place)
    assert same(module.state_dict(), other.state_dict())


def test_random_states_are_bytes_and_back() -> None:
    drawn()  # leaves half of a pair
    states = Randomness.now(torch.device("cpu"))
    before = [drawn() for _ in range(3)]
    Randomness.unpacked(states.packed()).restore()
    assert [drawn() for _ in range(3)] == before


def test_other_processors_go_on_but_not_bit_for_bit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "linnet")
    run(Regression(), folder=tmp_path, stop=2)
    found, _ = Checkpoint.newest(tmp_path)
    assert found is not None
    Checkpoint({**found.state, "processes": 2}, found.tensors).write(tmp_path)
    assert run(Regression(), folder=tmp_path)[0].step == 3
    assert "dropout will differ" in caplog.text
