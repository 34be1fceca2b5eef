"""The examples of docs/scale.md for Spark and Dask; Spark itself is not needed for what its UDF is given."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import linnet
from linnet.kb import KnowledgeBase
from linnet.recipes.config import load

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.fixture
def examples(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], list[str]]:
    """What the first example defines, with a knowledge base of these tests, and the other examples."""
    pytest.importorskip("pandas", reason="the extra frames is not installed")
    first, *others = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    found: dict[str, Any] = {}
    exec(compile(first, PAGE, "exec"), found)
    monkeypatch.setattr(linnet, "load", lambda _: load("dictionary", kb=kb))
    return found, others


def test_what_a_udf_of_spark_is_given(examples: tuple[dict[str, Any], list[str]]) -> None:
    pandas = pytest.importorskip("pandas")
    found, _ = examples
    batches = iter([pandas.Series(["Short stature and seizures.", "Nothing."]), pandas.Series(["Cleft palate."])])
    first, second = found["link_texts"](batches)
    assert [[row["concepts"] for row in rows] for rows in first] == [[("HP:0004322",), ("HP:0001250",)], []]
    assert [(row["start"], row["end"]) for row in second[0]] == [(0, 12)]


def test_the_example_of_dask(examples: tuple[dict[str, Any], list[str]]) -> None:
    dask = pytest.importorskip("dask")
    pytest.importorskip("dask.bag")
    found, [example] = examples
    with dask.config.set(scheduler="sync"):
        exec(compile(example, PAGE, "exec"), found)
    assert [len(rows) for rows in found["found"]] == [2, 1]
