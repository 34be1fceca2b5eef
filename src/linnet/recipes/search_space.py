"""What a recipe's ``[tune]`` table holds: the values that a keyword of the pipeline may take, to choose the best from.

A key is ``"part.keyword"``, in quotes, where the part is called as for ``--set``: by what it uses or by its role. The
value is a list of choices, or a range::

    [tune]
    "ngram.k" = [8, 64]
    "ngram.ngram_range" = [[2, 3], [2, 4], [3, 5]]
    "ngram.prior" = {low = 0.01, high = 10.0, log = true}
    "ngram.char_count" = {low = 8, high = 24, step = 4}
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Annotated, Any, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

__all__ = ["Choices", "Parameter", "Range", "probes"]

LARGEST = float(1 << 53)  # beyond it floats skip whole numbers
Number = Annotated[int | float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]


class Range(BaseModel):
    """All numbers from ``low`` to ``high``, both included; whole ones if all of its numbers are whole.

    Args:
        low: the smallest.
        high: the largest.
        log: numbers of each order of magnitude are equally likely.
        step: distance between two numbers; not together with ``log``.

    >>> Range(low=8, high=24, step=8).whole, Range(low=0.01, high=10, log=True).whole
    (True, False)
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    low: Number
    high: Number
    log: bool = False
    step: Number | None = None

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are meant."""
        return all(isinstance(number, int) for number in (self.low, self.high, self.step or 0))

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low {self.low} must be less than high {self.high}")
        if self.step is not None and not 0 < self.step <= self.high - self.low:
            raise ValueError(f"step {self.step} must be positive and no more than high - low")
        if self.log and self.low <= 0:
            raise ValueError(f"log needs a low above 0, not {self.low}")
        if self.log and self.step is not None:
            raise ValueError("log and step exclude each other: leave one out")
        return self


def _plain(values: list[Any]) -> list[Any]:
    """Return choices, none twice and all of them values that a recipe can write."""
    seen = [json.dumps(value, default=_refuse) for value in values]
    if len(set(seen)) < len(seen):
        twice = next(text for text in seen if seen.count(text) > 1)
        raise ValueError(f"{twice} stands twice")
    return values


def _refuse(value: object) -> str:
    raise ValueError(f"{value!s} is no number, text, truth value or list of them")


Choices: TypeAlias = Annotated[list[Any], Field(min_length=1), AfterValidator(_plain)]
# tagged, so that messages speak of the form that was meant alone
Parameter: TypeAlias = Annotated[
    Annotated[Choices, Tag("choices")] | Annotated[Range, Tag("range")],
    Discriminator(lambda value: "range" if isinstance(value, (dict, Range)) else "choices"),
]


def probes(value: Any) -> Iterator[Any]:
    """Yield values that a keyword must take if it is to be tuned over `value`, which may be wrong otherwise.

    >>> list(probes([8, 64])), list(probes({"low": 8, "high": 64}))
    ([8, 64], [8, 64])
    >>> list(probes({"low": 0.5, "high": 1}))  # the third stands for all that lie in between
    [0.5, 1, 0.6839397205857212]
    """
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        numbers = {key: item for key, item in value.items() if key in ("low", "high", "step") and _is_number(item)}
        yield from (numbers[key] for key in ("low", "high") if key in numbers)
        if {"low", "high"} <= numbers.keys() and any(isinstance(item, float) for item in numbers.values()):
            yield numbers["low"] + (numbers["high"] - numbers["low"]) / math.e


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST
