from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from linnet.recipes.recipe import Parameter, Range, probes

KNOWN: TypeAdapter[Any] = TypeAdapter(Parameter)


@pytest.mark.parametrize("value", [[8, 64], [[2, 3], [2, 4]], ["front", "none"], [True, False], [1]])
def test_choices(value: list[Any]) -> None:
    assert KNOWN.validate_python(value) == value


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "at least 1"),
        ([8, 8], "8 occurs twice"),
        ([[2, 3], [2, 3]], "occurs twice"),
        ([dt.date(2020, 1, 1)], "2020-01-01 is not a number"),
        (8, "list"),
        ("8", "list"),
        ({}, "low"),
        ({"low": 1}, "high"),
        ({"low": 2, "high": 2}, "less than high"),
        ({"low": 3, "high": 2}, "less than high"),
        ({"low": 0, "high": 2, "log": True}, "above 0"),
        ({"low": 1, "high": 9, "log": True, "step": 2}, "exclude each other"),
        ({"low": 1, "high": 9, "step": 0}, "must be positive"),
        ({"low": 1, "high": 9, "step": 9}, "no more than"),
        ({"low": math.nan, "high": 9}, "finite|greater"),
        ({"low": 1, "high": math.inf}, "finite|less"),
        ({"low": -(10**400), "high": 1}, "greater than"),
        ({"low": 1, "high": True}, "valid"),
        ({"low": "1", "high": 2}, "valid"),
        ({"low": 1, "high": 2, "lg": True}, "Extra"),
    ],
)
def test_what_is_refused(value: Any, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        KNOWN.validate_python(value)
    list(probes(value))  # never fails


@given(st.floats(-1e6, 1e6), st.floats(0.001, 1e6))
def test_what_lies_between_is_tried(low: float, width: float) -> None:
    tried = list(probes({"low": low, "high": low + width}))
    assert all(low <= value <= low + width for value in tried)
    assert len(tried) == 3


def test_whole() -> None:
    assert Range(low=1, high=9, step=2).whole
    assert not Range(low=1, high=9, step=0.5).whole
    assert list(probes({"low": 1, "high": True})) == [1]
    assert list(probes(7)) == []
