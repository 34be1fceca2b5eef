from __future__ import annotations

import logging
import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from linnet.data import Document
from linnet.errors import LinnetError
from linnet.pipeline.component import Step
from linnet.train.args import TrainArgs
from linnet.train.loop import Score, parameter_groups, train

from .tiny import Regression, same

Weights = dict[str, Tensor]


def run(
    model: Regression,
    *,
    score: Score | None = None,
    folder: Path | None = None,
    key: str = "",
    stop: int | None = None,
    **args: Any,
) -> list[Step]:
    """Train, up to step `stop` if given, and return the steps."""
    steps = []
    made = TrainArgs(**{"batch": 8, "lr": 0.05, "bf16": False, **args})
    training = train(model, [], [], score=score, args=made, folder=folder, key=key)
    for step in training:
        steps.append(step)
        if stop is not None and step.step >= stop:
            training.close()  # type: ignore[attr-defined]
    return steps


def scores(values: Sequence[float]) -> Callable[[Sequence[Document]], float]:
    left = iter(values)
    return lambda dev: next(left)


# --- steps -----------------------------------------------------------------------------------------------------------


def test_it_learns_and_says_how() -> None:
    model = Regression()
    steps = run(model, epochs=40, score=lambda dev: 0.5)
    assert [step.step for step in steps] == list(range(1, 121))  # 20 examples are 3 steps of 8
    assert {step.total for step in steps} == {120}
    assert [step.epoch for step in steps[:4]] == [1, 1, 1, 2]
    assert set(steps[0].losses) == {"square", "size"}
    assert steps[-1].losses["square"] < 0.05 * steps[0].losses["square"]
    assert [step.score for step in steps[:4]] == [None, None, 0.5, None]
    assert steps[-1].seconds_left == 0
    assert (steps[0].seconds_left or 0) > 0
    assert not model.module.training
    assert all(parameter.grad is None for parameter in model.module.parameters())


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
def test_the_rate_of_each_step(schedule: str) -> None:
    steps = run(Regression(), epochs=4, schedule=schedule, warmup_steps=3)
    shares = [number / 3 for number in range(3)]
    for number in range(3, 12):
        done = (number - 3) / 9
        cosine = (1 + math.cos(math.pi * done)) / 2
        shares.append({"linear": 1 - done, "cosine": cosine, "constant": 1.0}[schedule])
    assert [step.lr for step in steps] == pytest.approx([0.05 * share for share in shares])
    share = run(Regression(), epochs=4, schedule=schedule, warmup=0.25)
    assert [step.lr for step in share] == [step.lr for step in steps]


def test_a_step_is_one_of_adamw() -> None:
    model, other = Regression(dtype=torch.float64), Regression(dtype=torch.float64)
    run(model, epochs=1, batch=20, schedule="constant", clip=0, lr=0.01)
    batch = other.collate(other.examples([], epoch=0, rng=np.random.default_rng()))
    optimizer = torch.optim.AdamW(parameter_groups(other.module, TrainArgs(lr=0.01)))
    torch.stack(list(other.loss(batch).values())).sum().backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    assert same(model.weights(), other.weights(), within=1e-12)


@pytest.mark.parametrize("accumulate", [2, 3, 8, 50])
def test_accumulated_parts_are_a_large_batch(accumulate: int) -> None:
    whole, parts = Regression(dtype=torch.float64), Regression(dtype=torch.float64)
    one = run(whole, epochs=3)
    many = run(parts, epochs=3, accumulate=accumulate)
    assert same(whole.weights(), parts.weights(), within=1e-12)
    assert [step.losses["square"] for step in many] == pytest.approx([step.losses["square"] for step in one])
    assert sorted(parts.seen[:20]) == list(range(20))


def test_the_gradient_is_clipped() -> None:
    def moved_by(clip: float) -> float:
        model = Regression(dtype=torch.float64)
        model.factor = 1e6  # AdamW forgets the size of a gradient, but for its epsilon
        before = model.weights()
        run(model, epochs=1, batch=20, clip=clip, weight_decay=0.0, schedule="constant")
        return max(float((model.weights()[name] - before[name]).abs().max()) for name in before)

    assert moved_by(0) == pytest.approx(0.05)
    assert moved_by(1.0) == pytest.approx(0.05, rel=1e-4)
    assert moved_by(1e-9) < 0.01


def test_biases_and_norms_do_not_decay() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.LayerNorm(3))
    args = TrainArgs(weight_decay=0.1, lr=0.2)
    decaying, others = parameter_groups(module, args)
    assert decaying["params"] == [module[0].weight, module[1].weight]  # its name says nothing of a norm
    assert (decaying["weight_decay"], others["weight_decay"], others["lr"]) == (0.1, 0.0, 0.2)
    [group] = parameter_groups(torch.nn.ModuleDict({"norm": torch.nn.LayerNorm(3)}), args)
    assert (len(group["params"]), group["weight_decay"]) == (2, 0.0)
    module.requires_grad_(False)
    with pytest.raises(LinnetError, match="Sequential has no trainable parameters"):
        parameter_groups(module, args)


def test_groups_have_rates_of_their_own() -> None:
    class Slow(Regression):
        def groups(self, args: TrainArgs) -> list[dict[str, Any]]:
            first, *others = self.module.parameters()
            return [{"params": [first], "lr": 0.0}, {"params": others}]

    model = Slow()
    before = model.weights()
    run(model, epochs=2)
    after = model.weights()
    assert torch.equal(before["0.weight"], after["0.weight"])
    assert not torch.equal(before["3.weight"], after["3.weight"])


# --- order and seeds -------------------------------------------------------------------------------------------------


def drawn() -> tuple[float, float, float]:
    return random.random(), float(np.random.normal()), float(torch.rand(1))  # noqa: NPY002


def test_the_order_follows_from_seed_and_epoch() -> None:
    def order(seed: int, batch: int = 8) -> list[int]:
        model = Regression()
        run(model, epochs=2, seed=seed, batch=batch)
        return model.seen

    first = order(1)
    assert first == order(1) == order(1, batch=5)
    assert first[:20] != first[20:]
    assert sorted(first[:20]) == sorted(first[20:]) == list(range(20))
    assert first != order(2)


def test_the_same_seed_gives_the_same_weights() -> None:
    def trained(seed: int) -> Weights:
        model = Regression(dropout=0.5, noisy=True)
        run(model, epochs=2, seed=seed)
        drawn()  # what the caller draws is of no matter
        return model.weights()

    assert same(trained(3), trained(3))
    assert not same(trained(3), trained(4))


def test_the_callers_random_states_stay_as_they_are() -> None:
    def seeded() -> None:
        random.seed(5)
        np.random.seed(5)  # noqa: NPY002
        torch.manual_seed(5)

    seeded()
    expected = [drawn() for _ in range(5)]
    seeded()
    args = TrainArgs(epochs=1, batch=8, bf16=False)
    found = [drawn()]
    found += [drawn() for _ in train(Regression(dropout=0.5), [], [], score=None, args=args)]
    found.append(drawn())
    assert found == expected
    seeded()
    broken = Regression()
    broken.factor = math.nan
    with pytest.raises(LinnetError):
        run(broken)
    assert drawn() == expected[0]


def test_what_the_score_draws_does_not_change_the_training() -> None:
    def score(dev: Sequence[Document]) -> float:
        return float(torch.rand(1)) + random.random()

    scored, unscored = Regression(dropout=0.5), Regression(dropout=0.5)
    run(scored, score=score, keep_best=False)
    run(unscored)
    assert same(scored.weights(), unscored.weights())


# --- evaluation ------------------------------------------------------------------------------------------------------


def test_the_best_weights_are_put_back() -> None:
    model, kept = Regression(), []

    def score(dev: Sequence[Document]) -> float:
        assert not model.module.training
        assert not torch.is_grad_enabled()
        kept.append(model.weights())
        return (0.1, 0.7, 0.3, 0.7)[len(kept) - 1]

    steps = run(model, epochs=4, score=score)
    assert [step.score for step in steps if step.score is not None] == [0.1, 0.7, 0.3, 0.7]
    assert same(model.weights(), kept[1])
    again = Regression()
    run(again, epochs=4, score=scores((0.1, 0.7, 0.3, 0.7)), keep_best=False)
    assert same(again.weights(), kept[3])
    stopped = Regression()
    run(stopped, epochs=4, score=scores((0.1, 0.7, 0.3, 0.7)), stop=10)
    assert same(stopped.weights(), kept[1])


@pytest.mark.parametrize(
    ("values", "min_gain", "epochs"),
    [
        ((0.5, 0.4, 0.5), 0.0, 3),  # as good is no gain
        ((0.5, 0.4, 0.6, 0.6, 0.6), 0.0, 5),
        ((0.500, 0.503, 0.504), 0.01, 3),  # less than one per cent
        ((0.500, 0.503, 0.506, 0.507, 0.508), 0.01, 5),  # little by little
        ((-2.0, -1.0, -0.5, -0.6, -0.6), 0.0, 5),
    ],
)
def test_patience(values: tuple[float, ...], min_gain: float, epochs: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "linnet")
    steps = run(Regression(), epochs=9, patience=2, min_gain=min_gain, score=scores(values))
    assert steps[-1].epoch == epochs
    assert "no gain in 2 evaluations" in caplog.text


@pytest.mark.parametrize(
    ("every", "expected"),
    [(1, [3, 6, 7]), ("2 epochs", [6, 7]), (0.5, [2, 3, 5, 6, 7]), ("2 steps", [2, 4, 6, 7]), (100, [7])],
)
def test_when_it_is_evaluated(every: float | str, expected: list[int]) -> None:
    steps = run(Regression(), epochs=5, max_steps=7, evaluate_every=every, score=lambda dev: 1.0)
    assert [step.step for step in steps if step.score is not None] == expected


# --- the end ---------------------------------------------------------------------------------------------------------


def test_it_ends_after_so_many_steps(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "linnet")
    steps = run(Regression(), epochs=5, max_steps=4)
    assert [step.total for step in steps] == [4] * 4
    assert [round((step.lr or 0) / 0.05, 3) for step in steps] == [1, 0.75, 0.5, 0.25]
    assert "ended after step 4: max_steps = 4 are done" in caplog.text


def test_it_ends_after_so_much_time(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "linnet")
    steps = run(Regression(), epochs=100_000, max_minutes=0.005, score=lambda dev: 1.0)
    assert steps[-1].score == 1.0
    assert max(step.seconds_left or 0 for step in steps) <= 0.3
    assert "max_minutes = 0.005 are over" in caplog.text


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_is_named(value: float) -> None:
    model = Regression()
    steps = train(model, [], [], score=None, args=TrainArgs(batch=8, bf16=False))
    next(steps)
    before = model.weights()
    model.factor = value
    with pytest.raises(LinnetError, match=r"step 2: the loss 'square' is (nan|inf).* lower lr than 5e-05"):
        next(steps)
    assert same(model.weights(), before)


def test_a_gradient_that_is_no_number_is_named() -> None:
    class Rooted(Regression):
        def loss(self, batch: Any) -> Mapping[str, Tensor]:
            return {"root": (self.module(batch["rows"]) * 0).sum().sqrt()}

    with pytest.raises(LinnetError, match="step 1: the norm of the gradient is nan"):
        run(Rooted())


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(LinnetError, match="step 3: the dev score is nan"):
        run(Regression(), score=lambda dev: math.nan)


def test_no_examples_are_refused() -> None:
    with pytest.raises(LinnetError, match="epoch 1: no examples to train on in 0 documents"):
        run(Regression(count=0))


def test_patience_without_a_score_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    steps = run(Regression(), patience=2)
    assert len(steps) == len(run(Regression()))
    assert "patience = 2 stops nothing" in caplog.text


def test_losses_that_come_and_go_are_refused() -> None:
    class Fickle(Regression):
        def loss(self, batch: Any) -> Mapping[str, Tensor]:
            losses = dict(super().loss(batch))
            return losses if len(self.seen) <= 8 else {"square": losses["square"]}

    with pytest.raises(LinnetError, match=r"step 2: .* same losses in each step: square, size before, square now"):
        run(Fickle())
