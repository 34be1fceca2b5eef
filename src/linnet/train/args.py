"""How long, how fast and in what pieces a network is trained: the fields of a recipe's ``[[train]]`` table.

Nothing here imports torch, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from linnet.errors import RecipeError, wrong_field

__all__ = ["FREE", "Arguments", "Every", "PartArgs", "TrainArgs", "factor"]

FREE = ("max_minutes", "checkpoint_every")  # arguments that may differ when a training goes on
UNITS = ("epochs", "steps", "minutes")
MOST_PARTS = 10  # that cross-fitting divides documents into (`linnet.fit.fitting.FOLDS`)
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


class Arguments(BaseModel):
    """What a training is told, checked field by field; wrong fields are a RecipeError that names all of them.

    Attributes:
        SOURCE: what messages call it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    SOURCE: ClassVar[str] = "training arguments"

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            problems = [wrong_field(item, self.table_fields(), str(item["loc"][0])) for item in error.errors()]
            raise RecipeError(self.SOURCE, problems) from error

    @classmethod
    def table_fields(cls) -> list[str]:
        """Return the fields of the table that these arguments are in."""
        return list(cls.model_fields)

    @classmethod
    def of(cls, values: Mapping[str, Any], *, source: str = "") -> Self:
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
          lr: expected a number, found 'fast'
          epoch: unknown field; did you mean 'epochs'?
        """
        try:
            return cls(**values)
        except RecipeError as error:
            raise RecipeError(source or cls.SOURCE, error.problems) from error


class TrainArgs(Arguments):
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

    epochs: PositiveInt = 3
    batch: PositiveInt = 32
    lr: PositiveFloat = 5e-5
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    warmup_steps: NonNegativeInt = 0
    warmup: float = Field(default=0.0, ge=0, le=1)
    weight_decay: NonNegativeFloat = 0.01
    clip: NonNegativeFloat = 1.0
    accumulate: PositiveInt = 1
    patience: PositiveInt | None = None
    min_gain: NonNegativeFloat = 0.0
    evaluate_every: float | str = "1 epoch"
    seed: int = Field(default=13, ge=0, le=LARGEST_SEED)
    bf16: bool | None = None
    checkpoint_every: float | str | None = "10 minutes"
    keep_best: bool = True
    max_steps: PositiveInt | None = None
    max_minutes: PositiveFloat | None = None

    @field_validator("evaluate_every", "checkpoint_every", mode="plain")
    @classmethod
    def _check_distance(cls, value: Any, info: ValidationInfo) -> Any:
        counts, units = ("epochs", UNITS[:2]) if info.field_name == "evaluate_every" else ("steps", UNITS)
        if value is None and counts == "steps":
            return None
        try:
            if not isinstance(value, bool) and Every.of(value, number_is=counts).unit in units:
                return value
        except (TypeError, ValueError):
            pass
        expected = " or ".join(f'"10 {unit}"' for unit in units)
        raise PydanticCustomError("distance", f"expected a distance such as {expected}; a bare number counts {counts}")

    @field_validator("warmup")
    @classmethod
    def _check_warmup(cls, value: float, info: ValidationInfo) -> float:
        if value and info.data.get("warmup_steps"):
            raise PydanticCustomError("both", "leave out either it or warmup_steps")
        return value

    @property
    def evaluation(self) -> Every:
        """The distance between two evaluations."""
        return Every.of(self.evaluate_every, number_is="epochs")

    @property
    def checkpoint(self) -> Every | None:
        """The distance between two checkpoints."""
        return None if self.checkpoint_every is None else Every.of(self.checkpoint_every, number_is="steps")


def factor(step: int, total: int, args: TrainArgs) -> float:
    """Return what share of the highest learning rate a step takes.

    It grows along a line from 0 over the warm-up, then falls to 0 along a line or half a cosine, or stays.

    Args:
        step: 0 for the first.
        total: how many there are.
        args: ``schedule``, ``warmup_steps`` or ``warmup``.

    >>> [factor(step, 4, TrainArgs(warmup_steps=2)) for step in range(5)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    warm = args.warmup_steps or math.ceil(args.warmup * total)
    if step < warm:
        return step / warm
    if args.schedule == "constant":
        return 1.0
    done = min(1.0, (step - warm) / max(1, total - warm))
    return 1.0 - done if args.schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))


class PartArgs(Arguments):
    """What a part is told beside `TrainArgs`, in the same ``[[train]]`` table.

    Args:
        cross_fit: whether it is trained again, without each half of the documents, so that what learns behind it sees
            its answers for documents new to it; or into how many parts the documents are divided, 2 to 10: with 5,
            each network knows 80 % of the documents, and training takes two and a half times as long as with halves.
            False takes half of the time of halves: later parts learn from answers that are right more often than they
            will be.

    Attributes:
        LOOP: defaults of the loop, other than its own.
    """

    LOOP: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    cross_fit: bool | int = True

    @field_validator("cross_fit", mode="plain")
    @classmethod
    def _check_parts(cls, value: Any) -> bool | int:
        if isinstance(value, bool) or (isinstance(value, int) and 2 <= value <= MOST_PARTS):
            return value
        raise PydanticCustomError("parts", f"expected true, false, or a number of parts from 2 to {MOST_PARTS}")

    @classmethod
    def table_fields(cls) -> list[str]:
        """Return the fields of the table, those of the loop last."""
        return [*cls.model_fields, *TrainArgs.model_fields]

    @classmethod
    def split(cls, values: Mapping[str, Any]) -> tuple[Self, TrainArgs]:
        """Return a ``[[train]]`` table as what the part is told and what the loop is told.

        Raises:
            RecipeError: unknown or wrong fields, all of them at once.
        """
        loop = {**cls.LOOP, **{key: value for key, value in values.items() if key in TrainArgs.model_fields}}
        own = {key: value for key, value in values.items() if key not in TrainArgs.model_fields}
        try:
            made = TrainArgs(**loop)
        except RecipeError as error:
            raise RecipeError(cls.SOURCE, [*_problems(cls, own), *error.problems]) from error
        return cls(**own), made


def _problems(cls: type[Arguments], values: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        cls(**values)
    except RecipeError as error:
        return error.problems
    return ()
