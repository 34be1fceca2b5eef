"""Parameters of other systems as changes of a recipe: entitytools' ``params.json`` (Sanz-Cruzado & Lever 2025)."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from linnet.errors import FormatError, did_you_mean
from linnet.recipes.config import read_recipe
from linnet.recipes.recipe import Recipe, nested_tables, toml_value
from linnet.rerank.cross_encoder import CrossEncoder
from linnet.text.files import read_text
from linnet.text.packing import PACKINGS

__all__ = ["collect_changes", "read_params"]

logger = logging.getLogger(__name__)

NGRAMS = "ngrams"  # the key of what belongs to n-grams
NGRAM_KEYS = ("ngram_range", "max_features", "min_df", "char_side", "char_count")
NULL = {"char_side": "none"}  # null elsewhere leaves the recipe's value
CROSS = "crossencoder"  # behind a packing, the key of what belongs to this cross-encoder
TAGS = (NGRAMS, *(f"{packing}{CROSS}" for packing in PACKINGS))


def collect_changes(
    params: Path | None, recipe: str, changes: Sequence[str] | None, *, corpus: str | None = None
) -> list[str]:
    """Return changes of a recipe: those that a file of parameters makes, of ``--set`` and of ``--corpus``, if given.

    Raises:
        FormatError: as `read_params` says.
        RecipeError: the recipe is wrong.
    """
    own = list(changes or ())
    if corpus is not None:
        own += [f"corpus={toml_value(corpus)}", 'train_corpus=""']
    # the packing may be one of --set
    return own if params is None else [*read_params(params, read_recipe(recipe, changes=own)), *own]


def read_params(path: Path, recipe: Recipe) -> list[str]:
    """Return parameters as changes of a recipe's parts: ``ngram.min_df=2``, ``train.cross_encoder.lr=1e-05``.

    Those of n-grams are under ``ngrams``, those of a cross-encoder under its packing: ``basecrossencoder``. What is of
    no part of the recipe is left aside, and the log says so.

    Raises:
        FormatError: the file is not JSON, has nothing for this recipe, unknown parameters or wrong values.
    """
    try:
        values: Any = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise FormatError(path, f"not JSON: {error}") from error
    wanted = _list_tags(recipe)
    found = _match_tags(path, values if isinstance(values, dict) else {}, wanted)
    if not found or not all(isinstance(values[key], dict) for key in found.values()):
        raise FormatError(path, _describe_expected(wanted, values))
    changes: list[str] = []
    for tag, key in found.items():
        _refuse_unknown(path, key, values[key], NGRAM_KEYS if tag == NGRAMS else CROSS_KEYS)
        if tag == NGRAMS:
            changes += _ngram_changes(values[key])
        else:
            _require_one_cross(path, key, recipe)
            changes += _cross_changes(path, key, values[key])
    if others := [key for key in values if key not in found.values()]:
        names = ", ".join(others)
        logger.info("%s: read: %s; left aside, as the recipe has no part for it: %s", path, ", ".join(found), names)
    return changes


def _list_tags(recipe: Recipe) -> list[str]:
    """Return the tags of the parameters of a recipe's parts."""
    parts = list(nested_tables(recipe.pipeline))
    ngrams = [NGRAMS] if any(part["use"] == "ngram" for part in parts) else []
    packings = [part.get("packing", CrossEncoder.packing) for part in parts if part["use"] == "cross_encoder"]
    return [*ngrams, *(f"{packing}{CROSS}" for packing in dict.fromkeys(packings))]


def _match_tags(path: Path, values: Mapping[str, Any], wanted: Sequence[str]) -> dict[str, str]:
    """Return each wanted tag that a file has, with the spelling of the file: ``Base_CrossEncoder``."""
    written: dict[str, str] = {}
    for key in values:
        tag = key.lower().replace("-", "").replace("_", "")
        if tag in wanted and tag in written:
            raise FormatError(path, f"{key}: the same as {written[tag]}; leave one of them out")
        written[tag] = key
    missing = [tag for tag in wanted if tag not in written]
    for tag, key in written.items():
        if tag not in TAGS and (hint := did_you_mean(tag, missing)):
            raise FormatError(path, f"{key}: unknown{hint}")
    return {tag: written[tag] for tag in wanted if tag in written}


def _describe_expected(wanted: Sequence[str], values: Any) -> str:
    """Return what is wrong with a file that has nothing for a recipe."""
    if not wanted:
        return "the recipe has no part whose parameters can be read: neither ngram nor cross_encoder"
    keys = [f'"{tag}", whose keys are {", ".join(NGRAM_KEYS if tag == NGRAMS else CROSS_KEYS)}' for tag in wanted]
    found = f"; found: {', '.join(values) or 'nothing'}" if isinstance(values, dict) else ""
    return f"expected an object with an object {', or '.join(keys)}{found}"


def _refuse_unknown(path: Path, tag: str, params: Mapping[str, Any], keys: Collection[str]) -> None:
    """Refuse unknown parameters."""
    for key in params:
        if key not in keys:
            hint = did_you_mean(key, keys) or f"; known are: {', '.join(keys)}"
            raise FormatError(path, f"{tag}.{key}: unknown parameter{hint}")


def _ngram_changes(params: Mapping[str, Any]) -> list[str]:
    """Return the parameters of n-grams as changes, whose values the recipe checks."""
    given = {key: NULL.get(key) if value is None else value for key, value in params.items()}
    return [f"ngram.{key}={toml_value(value)}" for key, value in given.items() if value is not None]


def _require_one_cross(path: Path, tag: str, recipe: Recipe) -> None:
    """Refuse recipes in which the parameters of a cross-encoder are ambiguous."""
    packings = [name for name in _list_tags(recipe) if name != NGRAMS]
    if len(packings) > 1:
        raise FormatError(path, f"{tag}: the recipe has several cross-encoders: {', '.join(packings)}; leave it out")
    if all(table.get("part") != "cross_encoder" for table in recipe.train):
        raise FormatError(
            path, f'{tag}: the recipe has no [[train]] table with part = "cross_encoder" to change; add one'
        )


def _cross_changes(path: Path, tag: str, params: Mapping[str, Any]) -> list[str]:
    """Return the parameters of a cross-encoder as changes of the part and of how it is trained."""
    changes = []
    for key, value in params.items():
        good, wanted, targets = CROSS_KEYS[key]
        if value is not None and not good(value):
            raise FormatError(path, f"{tag}.{key}: expected {wanted}, found {value!r}")
        changes += [f"{target}={toml_value(value)}" for target in targets if value is not None]
    return changes


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_rate(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


# what each parameter may be, and what it changes: the published system links with as many candidates as it learns from
CROSS_KEYS: dict[str, tuple[Callable[[Any], bool], str, tuple[str, ...]]] = {
    "top_k": (_is_count, "a whole number from 1", ("cross_encoder.top_k", "train.cross_encoder.top_k")),
    "learning_rate": (_is_rate, "a number above 0", ("train.cross_encoder.lr",)),
    "batch_size": (_is_count, "a whole number from 1", ("train.cross_encoder.batch",)),
}
