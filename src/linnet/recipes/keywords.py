"""The keywords of components, and what is wrong with those that a recipe gives them."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast, get_type_hints

from pydantic import TypeAdapter

from linnet.errors import LinnetError, did_you_mean
from linnet.pipeline import Stage
from linnet.pipeline.learner import HANDED_IN
from linnet.recipes.components import components, is_called
from linnet.recipes.recipe import check_value, nested_tables, probes

__all__ = ["check_keywords", "check_part", "check_tune", "component_class", "keywords_of", "parameters"]


# --- names -----------------------------------------------------------------------------------------------------------


def component_class(name: str) -> type[Stage]:
    """Return the class of a component.

    Raises:
        LinnetError: that of another package cannot be loaded, or is no component.
    """
    module, _, attribute = components()[name].partition(":")
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise LinnetError(f"the component {name!r} is {module}:{attribute}, which cannot be loaded: {error}") from error
    if isinstance(found, type) and dataclasses.is_dataclass(found) and issubclass(found, Stage):
        return cast("type[Stage]", found)
    raise LinnetError(f"the component {name!r} is {module}:{attribute}, which is not a dataclass with a role of linnet")


def parameters(name: str) -> Mapping[str, dataclasses.Field[Any]]:
    """Return the fields that a component is made with, those included that no recipe holds."""
    return {item.name: item for item in dataclasses.fields(cast("Any", component_class(name))) if item.init}


@functools.cache
def keywords_of(name: str) -> dict[str, TypeAdapter[Any]]:
    """Return the keywords of a component with what checks their values."""
    hints = get_type_hints(component_class(name))
    return {key: TypeAdapter(hints.get(key, Any)) for key in parameters(name) if key not in HANDED_IN}


def _required(name: str) -> list[str]:
    nothing = dataclasses.MISSING
    needed = [key for key, item in parameters(name).items() if item.default is item.default_factory is nothing]
    return [key for key in needed if key not in HANDED_IN]


# --- what is wrong with them ------------------------------------------------------------------------------------------


def check_part(part: Any, where: str, packages: Mapping[str, str]) -> list[str]:
    """Return what is wrong with one ``[[pipeline]]`` table, its own ``of`` tables included."""
    if not isinstance(part, dict):
        return []  # the recipe's own model has said so
    name = part.get("use")
    if not isinstance(name, str):
        return [f"{where}.use: missing; name a component: {', '.join(sorted(components()))}"]
    if name not in components():
        if name in packages:
            return [f"{where}.use: the component {name!r} is of the package {packages[name]}, which is not installed"]
        hint = did_you_mean(name, components()) or f"; there are: {', '.join(sorted(components()))}"
        return [f"{where}.use: unknown component {name!r}{hint}"]
    keywords = {key: value for key, value in part.items() if key not in ("use", "of")}
    return check_keywords(name, keywords, where) + _check_inner(name, part.get("of"), where, packages)


def check_keywords(name: str, keywords: Mapping[str, Any], where: str) -> list[str]:
    """Return what is wrong with the keywords of a component, which stand in the table `where`."""
    known = keywords_of(name)
    problems = [
        f"{where}.{key}: {_belongs(name, key) or f'unknown field of {name}{_meant(key, known)}'}"
        for key in keywords
        if key not in known
    ]
    for key in (key for key in known if key in keywords):
        problems += _check_keyword(name, key, keywords[key], f"{where}.{key}")
    return problems + [f"{where}.{key}: missing; {name} needs it" for key in _required(name) if key not in keywords]


def _check_keyword(name: str, key: str, value: Any, where: str) -> list[str]:
    """Return what is wrong with the value of a keyword, or with those in it, if it is a table of keywords."""
    problems = check_value(keywords_of(name)[key], value, where)
    other = component_class(name).TABLES.get(key)
    return problems if problems or other is None else check_keywords(other, value, where)


def check_tune(tune: Any, parts: Any, train: Any) -> list[str]:
    """Return what is wrong with the keys of ``[tune]``, and with its values as values of the keywords.

    What a ``[[train]]`` table holds, ``train.dense.lr``, the part itself checks when it is trained.
    """
    problems = []
    tables = [f"train.{table.get('part')}" for table in nested_tables(train)]
    for key, wanted in tune.items() if isinstance(tune, dict) else ():
        target = key.rpartition(".")[0]
        used = [str(part.get("use")) for part in nested_tables(parts)]
        called = dict.fromkeys(name for name in used if is_called(name, target))
        if not called:
            problems += [f"tune.{key}: {problem}" for problem in _check_target(target, parts, tables)]
        problems += _check_choice(key, wanted, [name for name in called if name in components()])
    return problems


def _check_target(target: str, parts: Any, tables: Sequence[str]) -> list[str]:
    """Return what is wrong with the part that a key of ``[tune]`` names, and the pipeline lacks."""
    if not target:
        return ['expected a part and its keyword in quotes, such as "ngram.k"']
    if target in tables:
        return []
    if target.startswith("train."):
        hint = did_you_mean(target, tables) or f"; there are: {', '.join(tables) or 'none'}"
        return [f"no [[train]] table of {target.removeprefix('train.')!r}{hint}"]
    used = [str(part.get("use")) for part in nested_tables(parts)]
    hint = did_you_mean(target, used) or f"; it has: {', '.join(used) or 'none'}"
    return [f"no part {target!r} in the pipeline{hint}"]


def _check_choice(key: str, wanted: Any, names: Iterable[str]) -> list[str]:
    """Return what is wrong with the values that one key of ``[tune]`` proposes for the components it means."""
    problems, where, field = [], f"tune.{key}", key.rpartition(".")[2]
    for name in names:
        known = keywords_of(name)
        if field in known:
            problems += [one for value in probes(wanted) for one in _check_keyword(name, field, value, where)]
        elif field in component_class(name).training_fields():
            problems.append(f'{where}: a keyword of the training of {name}: it is called "train.{name}.{field}" here')
        else:
            problems.append(f"{where}: unknown field {field!r} of {name}{_meant(field, known)}")
    return problems


def _check_inner(name: str, of: Any, where: str, packages: Mapping[str, str]) -> list[str]:
    """Return what is wrong with the parts that a fusion puts together."""
    if "of" not in parameters(name):
        return [] if of is None else [f"{where}.of: {name} is not made of other components"]
    if not isinstance(of, list) or not of:
        return [f"{where}.of: missing; {name} puts several components together, each a [[pipeline.of]] table"]
    found = (check_part(inner, f"{where}.of[{index}]", packages) for index, inner in enumerate(of))
    return [problem for problems in found for problem in problems]


def _belongs(name: str, key: str) -> str:
    """Return where a keyword belongs that is one of the training of a component; "" of another one."""
    stage = component_class(name).training_fields().get(key)
    if stage is None:
        return ""
    where = f', stage = "{stage}"' if stage else f" (--set train.{name}.{key}=…)"
    return f'a keyword of the training of {name}: it belongs in [[train]] part = "{name}"{where}'


def _meant(key: str, known: Iterable[str]) -> str:
    return did_you_mean(key, known) or f"; it has: {', '.join(known) or 'no fields'}"
