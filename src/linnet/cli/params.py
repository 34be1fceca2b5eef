"""Parameters of other systems as changes of a recipe: entitytools' ``params.json`` (Sanz-Cruzado & Lever 2025)."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from linnet.errors import FormatError, did_you_mean
from linnet.recipe import toml_value
from linnet.text.files import read_text

__all__ = ["read_params"]

logger = logging.getLogger(__name__)

NGRAMS = "ngrams"  # the key of what belongs to n-grams, beside those of cross-encoders
KEYWORDS = ("ngram_range", "max_features", "min_df", "char_side", "char_count")
NULL = {"char_side": "none"}  # null elsewhere leaves the recipe's value


def read_params(path: Path) -> list[str]:
    """Return the parameters of n-grams as changes of the part ``ngram``: ``ngram.min_df=2``.

    Raises:
        FormatError: the file is not JSON, has no object ``ngrams``, or one with unknown keys.
    """
    try:
        values: Any = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise FormatError(path, f"not JSON: {error}") from error
    params = values.get(NGRAMS) if isinstance(values, dict) else None
    if not isinstance(params, dict):
        raise FormatError(path, f'expected an object with an object "{NGRAMS}", whose keys are {", ".join(KEYWORDS)}')
    for key in params:
        if key not in KEYWORDS:
            hint = did_you_mean(key, KEYWORDS) or f"; known are: {', '.join(KEYWORDS)}"
            raise FormatError(path, f"{NGRAMS}.{key}: unknown parameter{hint}")
    if others := [key for key in values if key != NGRAMS]:
        logger.info("%s: left aside, as they are not of n-grams: %s", path, ", ".join(others))
    given = {key: NULL.get(key) if value is None else value for key, value in params.items()}
    return [f"ngram.{key}={toml_value(value)}" for key, value in given.items() if value is not None]
