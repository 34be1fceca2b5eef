"""Changes of a recipe's values, ``rerank.k=32`` (``--set``): which tables a key means, its value."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from linnet.errors import did_you_mean
from linnet.recipes.components import components, is_called
from linnet.recipes.keywords import component_class
from linnet.recipes.recipe import Recipe, nested_tables
from linnet.recipes.renamed import check_key

__all__ = ["apply_change"]

LONGEST_NUMBER = 64  # bits, as TOML has it


def _read_value(text: str) -> Any:
    """Return the TOML value that `text` is; a bare word is a string."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()
    except (ValueError, RecursionError) as error:  # thousands of digits, brackets without end
        raise ValueError(f"not a value ({len(text):,} characters): {error}") from error
    if isinstance(value, int) and value.bit_length() > LONGEST_NUMBER:
        raise ValueError(f"an integer of {value.bit_length():,} bits, expected at most {LONGEST_NUMBER}")
    return value


def apply_change(change: str, values: dict[str, Any]) -> list[str]:
    """Change `values` in place; return what is wrong with the change."""
    if problems := check_key(change):
        return problems
    key, equals, text = change.partition("=")
    if not equals or not key.strip():
        return [f"{change}: expected key=value"]
    try:
        value = _read_value(text)
    except ValueError as error:
        return [f"{key}: {error}"]
    target, _, field = (step.strip().strip("\"'") for step in key.rpartition("."))
    if not target:
        return _change_recipe(change, field, value, values)
    first, dot, learner = target.partition(".")
    if first == "train" and dot:
        return _apply_to_training(change, (learner, field, value), values)
    parts = list(nested_tables(values.get("pipeline")))
    called = [part for part in parts if is_called(str(part.get("use")), target)]
    for part in called:
        part[field] = value
    used = [str(part.get("use")) for part in parts]
    hint = did_you_mean(target, used) or f"; it has: {', '.join(used) or 'none'}"
    return [] if called else [f"{change}: no part {target!r} in the pipeline{hint}"]


def _change_recipe(change: str, field: str, value: Any, values: dict[str, Any]) -> list[str]:
    """Change a field of the recipe itself, ``seed=7``; return what is wrong with the change."""
    if field in Recipe.model_fields:
        values[field] = value
        return []
    hint = did_you_mean(field, Recipe.model_fields)
    if not hint:  # meant for a part, more often than not
        parts = dict.fromkeys(str(part.get("use")) for part in nested_tables(values.get("pipeline")))
        trained = [f"train.{table.get('part')}" for table in _training_tables(values) if field in table]
        hint = f"; to change a part, name it: {', '.join(f'{part}.{field}' for part in trained or parts)}"
    return [f"{change}: no field of a recipe{hint}"]


def _apply_to_training(change: str, what: tuple[str, str, Any], values: dict[str, Any]) -> list[str]:
    """Change the ``[[train]]`` tables of one part, ``train.dense.epochs=1``; return what is wrong with the change.

    Of a part with several stages of training those are changed whose stage has the field.
    """
    part, field, value = what
    found = _training_tables(values)
    called = [table for table in found if table.get("part") == part]
    for table in [table for table in called if _has(part, table, field)] or called:  # none has it: refused like a typo
        table[field] = value
    named = [str(table.get("part")) for table in found]
    hint = did_you_mean(part, named) or f"; there are: {', '.join(named) or 'none'}"
    return [] if called else [f"{change}: no [[train]] table of {part!r}{hint}"]


def _has(part: str, table: Mapping[str, Any], field: str) -> bool:
    """Return whether the stage of training that a table is of has a field; of one without stages it may."""
    stages = component_class(part).STAGES if part in components() else {}
    stage = str(table.get("stage", "".join([*stages][-1:])))
    return stage not in stages or field in stages[stage].args.table_fields()


def _training_tables(values: dict[str, Any]) -> list[dict[str, Any]]:
    tables = values.get("train")
    return [table for table in tables if isinstance(table, dict)] if isinstance(tables, list) else []
