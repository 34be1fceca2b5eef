"""Old names of components and keywords: recipes, changes and saved folders with them are refused with the new name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from linnet.recipes.components import components, is_called

__all__ = ["COMPONENTS", "KEYWORDS", "check_key", "new_key", "rename", "rename_keywords"]

COMPONENTS = {"cross": "cross_encoder"}
# Keywords of [[pipeline]] and [[train]] tables, by the component's new name.
KEYWORDS = {
    "consistent": {"sure": "min_probability"},
    "cross_encoder": {
        "heard": "use_first_stage_scores",
        "spare": "max_accuracy_loss",
        "sure": "skip_threshold",
    },
    "dense": {
        "alike": "max_duplicates",
        "chunk": "encode_batch",
        "most": "max_mentions_per_epoch",
        "taught": "distill_k",
    },
    "flair": {"least": "min_probability"},
    "hf_tagger": {"least": "min_probability"},
    "tagger": {
        "faster": "head_lr_multiplier",
        "least": "min_probability",
        "nil_weight": "outside_weight",
    },
}


def new_key(key: str) -> str:
    """Return a key of ``--set`` or ``[tune]``, with new names in the place of old ones.

    >>> new_key("train.cross.spare"), new_key("rerank.sure"), new_key("ngram.k")
    ('train.cross_encoder.max_accuracy_loss', 'rerank.skip_threshold', 'ngram.k')
    """
    target, dot, field = key.rpartition(".")
    training = "train." * target.startswith("train.")
    part = _new_component(target.removeprefix("train."))
    for name, keywords in KEYWORDS.items():
        if is_called(name, part):
            field = keywords.get(field, field)
    return f"{training}{part}{dot}{field}"


def check_key(change: str) -> list[str]:
    """Return what is wrong with the key of a change ``key=value``: it has an old name, or nothing."""
    key = ".".join(step.strip().strip("\"'") for step in change.partition("=")[0].rpartition(".")[::2])
    return [] if (new := new_key(key)) == key else [f"{change}: the name of {key} is {new} now"]


def rename(values: Mapping[str, Any]) -> list[str]:
    """Return a problem for each old name in a recipe; the new one takes its place, so that the rest can be checked."""
    problems = []
    for where, table in _tables(values.get("pipeline"), "pipeline"):
        problems += _rename_table(table, "use", where)
    for where, table in _tables(values.get("train"), "train"):
        problems += _rename_table(table, "part", where)
    tune = values.get("tune")
    if isinstance(tune, dict):
        news = {key: new for key in tune if (new := new_key(key)) != key}
        problems += [f"tune.{_say(key, new)}" for key, new in news.items()]
        for key, new in news.items():
            tune[new] = tune.pop(key)
    return problems


def rename_keywords(name: str, table: dict[str, Any], where: str) -> list[str]:
    """Return a problem for each old keyword of a component in a table; the new one takes its place."""
    olds = [key for key in table if key in KEYWORDS.get(name, {})]
    for key in olds:
        table[KEYWORDS[name][key]] = table.pop(key)
    return [f"{where}.{_say(key, KEYWORDS[name][key])}" for key in olds]


def _say(old: str, new: str) -> str:
    return f"{old}: its name is {new!r} now"


def _rename_table(table: dict[str, Any], field: str, where: str) -> list[str]:
    old = str(table.get(field))
    new = _new_component(old)
    problems = []
    if new != old:
        table[field] = new
        problems = [f"{where}.{field}: the name of {old!r} is {new!r} now"]
    return problems + rename_keywords(new, table, where)


def _new_component(name: str) -> str:
    return COMPONENTS.get(name, name) if name not in components() else name  # another package may have one so called


def _tables(tables: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables of an array with their places, those of fused parts included."""
    for index, table in enumerate(tables if isinstance(tables, list) else ()):
        if isinstance(table, dict):
            yield f"{where}[{index}]", table
            yield from _tables(table.get("of"), f"{where}[{index}].of")
