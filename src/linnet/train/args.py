"""How long, how fast and in what pieces a network is trained: the fields of a recipe's ``[[train]]`` table.

Nothing here imports torch, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, Self, TypeVar, cast

from linnet.errors import RecipeError, did_you_mean

__all__ = ["FREE", "SCHEDULES", "Every", "TrainArgs", "split_table"]

Own = TypeVar("Own")

SCHEDULES = ("linear", "cosine", "constant")
FREE = ("max_minutes", "checkpoint_every")  # arguments that may differ when a training goes on
UNITS = ("epochs", "steps", "minutes")
LARGEST_SEED = (1 << 32) - 1  # what numpy's global generator takes


@dataclass(frozen=True)
class Every:
    """A distance between two events: so many epochs, steps or minutes.

    >>> Every.of("500 steps", number_is="epochs"), Every.of(0.5, number_is="epochs")
    (Every(number=500.0, unit='steps'), Every(number=0.5, unit='epochs'))
    """

    number: float
    unit: str

    @classmethod
    def of(cls, value: float | str, *, number_is: str) -> Self:
        """Return the distance that `value` names; a bare number counts in the unit `number_is`.

        Raises:
            ValueError: it names none.
        """
        text = value if isinstance(value, str) else f"{float(value)!r} {number_is}"
        found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?) ?(epoch|step|minute)s?", text.strip())
        number, unit = (float(found[1]), f"{found[2]}s") if found else (0.0, "")
        if not 0 < number < math.inf or (unit == "steps" and number % 1):
            raise ValueError(f'expected such as "1 epoch", "500 steps" or "10 minutes", found {value!r}')
        return cls(number, unit)


def _whole(low: int, high: float = math.inf) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _real(low: float, high: float = math.inf, *, above: bool = False) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return (low < value if above else low <= value) and value <= high and math.isfinite(value)

    return check


def _optional(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


def _every(value: Any, *, number_is: str, units: tuple[str, ...]) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return False
    try:
        return Every.of(value, number_is=number_is).unit in units
    except ValueError:
        return False


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "epochs": (_whole(1), "a whole number from 1"),
    "batch": (_whole(1), "a whole number from 1"),
    "lr": (_real(0, above=True), "a number above 0"),
    "schedule": (lambda value: value in SCHEDULES, f"one of {', '.join(SCHEDULES)}"),
    "warmup_steps": (_whole(0), "a whole number from 0"),
    "warmup": (_real(0, 1), "a share of all steps, from 0 to 1"),
    "weight_decay": (_real(0), "a number from 0"),
    "clip": (_real(0), "a norm, or 0 for none"),
    "accumulate": (_whole(1), "a whole number from 1"),
    "patience": (_optional(_whole(1)), "a whole number from 1"),
    "min_gain": (_real(0), "a share of the best score, such as 0.01"),
    "evaluate_every": (
        lambda value: _every(value, number_is="epochs", units=("epochs", "steps")),
        'such as "1 epoch" or "500 steps"; a bare number counts epochs',
    ),
    "seed": (_whole(0, LARGEST_SEED), f"a whole number from 0 to {LARGEST_SEED}"),
    "bf16": (_optional(lambda value: isinstance(value, bool)), "true or false"),
    "checkpoint_every": (
        _optional(lambda value: _every(value, number_is="steps", units=UNITS)),
        'such as "500 steps" or "10 minutes"; a bare number counts steps',
    ),
    "keep_best": (lambda value: isinstance(value, bool), "true or false"),
    "max_steps": (_optional(_whole(1)), "a whole number from 1"),
    "max_minutes": (_optional(_real(0, above=True)), "a number above 0"),
}


@dataclass(frozen=True, kw_only=True)
class TrainArgs:
    """What the gradient loop is told.

    Args:
        epochs: passes over the examples.
        batch: examples of one optimizer step, over all processes and all parts of an accumulated step.
        lr: the highest learning rate.
        schedule: of the learning rate after the warm-up: down to 0 along a line or half a cosine, or constant.
        warmup_steps: steps in which the rate grows from 0.
        warmup: the same as a share of all steps; only one of both.
        weight_decay: of AdamW (Loshchilov & Hutter 2019).
        clip: largest norm of the gradient; 0 = it is not clipped.
        accumulate: into how many parts a step's batch is divided, to save memory. The gradient is that of the whole
            batch; losses that compare examples of a batch see their part alone.
        patience: evaluations without a gain after which training ends; None = all epochs.
        min_gain: by what share of the best score so far a score must exceed it to count as a gain for `patience`.
        evaluate_every: how often the dev score is taken, besides at the end: epochs or ``"500 steps"``.
        seed: of order, examples, dropout.
        bf16: automatic mixed precision in bfloat16; None = where the processor has it.
        checkpoint_every: steps, ``"10 minutes"`` or ``"1 epoch"``; None = only when training stops.
        keep_best: end with the weights of the best dev score rather than with the last.
        max_steps: end after so many steps, if the epochs have not ended before; the schedule reaches 0 there.
        max_minutes: end after so much time, whatever the schedule; time before an interruption counts.

    Raises:
        RecipeError: wrong fields, all of them at once.
    """

    epochs: int = 3
    batch: int = 32
    lr: float = 5e-5
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    warmup_steps: int = 0
    warmup: float = 0.0
    weight_decay: float = 0.01
    clip: float = 1.0
    accumulate: int = 1
    patience: int | None = None
    min_gain: float = 0.0
    evaluate_every: float | str = "1 epoch"
    seed: int = 13
    bf16: bool | None = None
    checkpoint_every: int | str | None = "10 minutes"
    keep_best: bool = True
    max_steps: int | None = None
    max_minutes: float | None = None

    def __post_init__(self) -> None:
        if problems := _problems(dataclasses.asdict(self)):
            raise RecipeError("training arguments", problems)

    @classmethod
    def of(cls, values: Mapping[str, Any], *, source: str) -> TrainArgs:
        """Return the arguments in a table of a recipe.

        Args:
            values: fields by name; what is not there keeps its default.
            source: the recipe, or the place in it, for messages.

        Raises:
            RecipeError: unknown or wrong fields, all of them at once.

        >>> TrainArgs.of({"epochs": 1, "lr": 1e-3}, source="recipe.toml").batch
        32
        >>> TrainArgs.of({"epoch": 1, "lr": "fast"}, source="recipe.toml")
        Traceback (most recent call last):
            ...
        linnet.errors.RecipeError: recipe.toml: 2 problems
          epoch: unknown field; did you mean 'epochs'?
          lr: expected a number above 0, found 'fast'
        """
        if problems := _problems(values):
            raise RecipeError(source, problems)
        return cls(**values)

    @property
    def evaluation(self) -> Every:
        """The distance between two evaluations."""
        return Every.of(self.evaluate_every, number_is="epochs")

    @property
    def checkpoint(self) -> Every | None:
        """The distance between two checkpoints."""
        return None if self.checkpoint_every is None else Every.of(self.checkpoint_every, number_is="steps")


def _problems(values: Mapping[str, Any]) -> list[str]:
    known = ", ".join(_RULES)
    found = [
        f"{name}: unknown field{did_you_mean(name, _RULES) or f'; it has: {known}'}"
        for name in values
        if name not in _RULES
    ]
    for name, (holds, expected) in _RULES.items():
        if name in values and not holds(values[name]):
            found.append(f"{name}: expected {expected}, found {values[name]!r}")
    if values.get("warmup") and values.get("warmup_steps"):
        found.append("warmup: leave out either it or warmup_steps")
    return found


def split_table(
    cls: type[Own],
    values: Mapping[str, Any],
    problems: Sequence[str],
    *,
    source: str,
    defaults: Mapping[str, Any] = MappingProxyType({}),
    besides: Collection[str] = (),
) -> tuple[Own, TrainArgs]:
    """Return a ``[[train]]`` table as what a part is told, the fields of `cls`, and what the loop is told.

    Args:
        cls: a dataclass of the part's own arguments.
        values: the table.
        problems: what is wrong with the part's own arguments.
        source: the part, for messages.
        defaults: of the loop, other than its own.
        besides: fields that are neither.

    Raises:
        RecipeError: `problems`, and unknown or wrong fields, all of them at once.
    """
    own = {item.name for item in dataclasses.fields(cast("Any", cls))}
    known = {item.name for item in dataclasses.fields(TrainArgs)}
    others = {key: value for key, value in values.items() if key not in own and key not in besides}
    found = list(problems)
    for key in [key for key in others if key not in known]:
        hint = did_you_mean(key, own | known) or f"; it has: {', '.join(sorted(own | known))}"
        found.append(f"{key}: unknown field{hint}")
        del others[key]
    try:
        loop = TrainArgs.of({**defaults, **others}, source=source)
    except RecipeError as error:
        raise RecipeError(source, [*found, *error.problems]) from error
    if found:
        raise RecipeError(source, found)
    return cls(**{key: value for key, value in values.items() if key in own}), loop
