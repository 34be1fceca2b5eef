from __future__ import annotations

from typing import Any

import pytest

from linnet.errors import RecipeError
from linnet.train.args import Every, PartArgs, TrainArgs, factor

RIGHT: dict[str, Any] = {
    "epochs": 5, "batch": 16, "lr": 1, "schedule": "cosine", "warmup": 0.1, "weight_decay": 0, "clip": 0,
    "accumulate": 2, "patience": 3, "min_gain": 0.01, "evaluate_every": "500 steps", "seed": 0, "bf16": True,
    "checkpoint_every": "1 epoch", "keep_best": False, "max_steps": 10, "max_minutes": 0.5,
}  # fmt: skip


def test_a_table_becomes_arguments() -> None:
    assert TrainArgs.of({}, source="r.toml") == TrainArgs()
    made = TrainArgs.of(RIGHT, source="r.toml")
    assert (made.epochs, made.warmup, made.bf16) == (5, 0.1, True)
    assert (made.evaluation, made.checkpoint) == (Every(500, "steps"), Every(1, "epochs"))
    assert TrainArgs(checkpoint_every=None).checkpoint is None
    assert TrainArgs(checkpoint_every=7).checkpoint == Every(7, "steps")


WRONG: dict[str, list[Any]] = {
    "epochs": [0, 1.5, True, "3", None],
    "batch": [0, -1],
    "lr": [0, -1e-3, "fast", float("nan"), float("inf"), False],
    "schedule": ["linaer", None],
    "warmup_steps": [-1, 0.1],
    "warmup": [1.1, -0.1],
    "weight_decay": [-0.1],
    "clip": [-1, None],
    "accumulate": [0],
    "patience": [0, 1.0],
    "min_gain": [-0.1],
    "evaluate_every": [0, "10 minutes", "often", "0.5 steps", None, "1.2.3 epochs", True],
    "seed": [-1, 1 << 32],
    "bf16": ["yes", 1],
    "checkpoint_every": [0, "1 hour", -1, "inf steps"],
    "keep_best": [None],
    "max_steps": [0],
    "max_minutes": [0],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_wrong_values_are_refused(name: str, value: Any) -> None:
    with pytest.raises(RecipeError, match=rf"^training arguments: 1 problem\n  {name}: expected .*, found "):
        TrainArgs(**{name: value})


@pytest.mark.parametrize("value", [0, 1, 11, 2.5, "halves", None])
def test_parts_of_cross_fitting_are_checked(value: Any) -> None:
    expected = "cross_fit: expected true, false, or a number of parts from 2 to 10, found"
    with pytest.raises(RecipeError, match=expected):
        PartArgs.split({"cross_fit": value})
    assert PartArgs.split({"cross_fit": 5})[0].cross_fit == 5


def test_all_wrong_fields_are_named_at_once() -> None:
    values = {"epoch": 3, "lr": -1, "batch": 0, "warmup": 0.1, "warmup_steps": 5, "quux": 1}
    with pytest.raises(RecipeError) as caught:
        TrainArgs.of(values, source="r.toml: train[0]")
    said = str(caught.value).splitlines()
    assert said[0] == "r.toml: train[0]: 5 problems"
    assert said[1:-1] == [
        "  batch: expected a number above 0, found 0",
        "  lr: expected a number above 0, found -1",
        "  warmup: leave out either it or warmup_steps, found 0.1",
        "  epoch: unknown field; did you mean 'epochs'?",
    ]
    assert said[-1].startswith("  quux: unknown field; it has: epochs, batch, lr")


def test_rates_lie_between_nothing_and_all() -> None:
    for schedule in ("linear", "cosine", "constant"):
        for warmup in (0, 1, 5, 20):
            args = TrainArgs(schedule=schedule, warmup_steps=warmup)
            found = [factor(step, 10, args) for step in range(12)]
            assert all(0 <= share <= 1 for share in found)
            assert found[:warmup] == sorted(found[:warmup])
            if schedule != "constant" and warmup < 10:
                assert found[10] == pytest.approx(0)
                assert found[warmup:] == sorted(found[warmup:], reverse=True)
