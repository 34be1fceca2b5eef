"""Pipelines → folders that `linnet.recipes.config.load` reads."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from linnet import __version__
from linnet.checksums import write_checksums
from linnet.errors import KnowledgeBaseError, LinnetError
from linnet.home import writable
from linnet.kb import KnowledgeBase
from linnet.pipeline import Component, Pipeline, Stage
from linnet.pipeline.component import describe_seen
from linnet.recipes.components import name_of, plugins
from linnet.recipes.config import SEEN
from linnet.recipes.knowledge_bases import name_of_kb
from linnet.recipes.recipe import allow_lines, toml_value

__all__ = ["save"]


def save(pipeline: Pipeline, folder: str | Path) -> None:
    """Write a pipeline as a folder that `linnet.load` reads: ``pipeline.toml``, ``card.md``, one folder per component.

    ``seen.json`` says which documents the pipeline has seen, where it has learned from any.

    Raises:
        LinnetError: the folder holds something already, or a component has no name to load it by.
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LinnetError(f"{folder} exists and is not empty: give a new folder")
    if pipeline.terminologies is not None:
        raise LinnetError(
            "a pipeline of several terminologies has no folder: save each of them, and join them when loaded"
        )
    if pipeline.kb is None:
        raise KnowledgeBaseError("the pipeline has no knowledge base to name in its folder: make it with linnet.load")
    packages = _packages(pipeline.parts)  # before anything is written
    head = f"kb = {toml_value(name_of_kb(pipeline.kb))}\nkb_version = {toml_value(pipeline.kb.version)}\n"
    head += f"packages = {toml_value(packages)}\n" if packages else ""
    head += allow_lines(pipeline.allow)
    writable(folder)
    tables = _save_all(pipeline.parts, folder, "pipeline")
    (folder / "pipeline.toml").write_text("\n".join([head, *tables]), encoding="utf-8")
    if pipeline.seen:
        (folder / SEEN).write_text(json.dumps(pipeline.seen, indent=1) + "\n", encoding="utf-8")
    (folder / "card.md").write_text(_card(pipeline, pipeline.kb), encoding="utf-8")


def _save_all(parts: Sequence[Component], folder: Path, table: str) -> list[str]:
    """Save components into subfolders ``0-use``, …; return their tables of the recipe."""
    tables = []
    for index, (name, part) in enumerate(_name_all(parts)):
        place = folder / f"{index}-{name}"
        tables.append(f"[[{table}]]\nuse = {toml_value(name)}\n{_keyword_lines(part)}")
        if part.inner:
            tables += _save_all(part.inner, place, f"{table}.of")
        else:
            part.save(place)
            write_checksums(place)
    return tables


def _name_all(parts: Sequence[Component]) -> list[tuple[str, Stage]]:
    """Return components with the names that recipes call them by, or refuse those that cannot be saved."""
    named = []
    for part in parts:
        if not isinstance(part, Stage):
            raise LinnetError(f"{type(part).__name__} cannot be saved: it is not a linnet.pipeline.Stage")
        named.append((name_of(part), part))
        _name_all(part.inner)
    return named


def _packages(parts: Sequence[Component]) -> dict[str, str]:
    """Return the packages of the components that are not Linnet's own, by name of component."""
    found: dict[str, str] = {}
    for name, part in _name_all(parts):
        found |= {name: plugins()[name]} if name in plugins() else {}
        found |= _packages(part.inner)
    return found


def _keyword_lines(part: Stage) -> str:
    defaults = {field.name: field.default for field in dataclasses.fields(cast("Any", part))}
    changed = {key: value for key, value in part.config().items() if value != defaults.get(key)}
    return "".join(f"{key} = {toml_value(value)}\n" for key, value in changed.items() if value is not None)


def _card(pipeline: Pipeline, kb: KnowledgeBase) -> str:
    seen = describe_seen(Counter(pipeline.seen.values()))
    return (
        f"# {pipeline!r}\n\n"
        f"* made by Linnet {__version__}\n"
        f"* knowledge base: {kb.info['name']}, version {kb.version}, {kb.info['concepts']} concepts\n"
        + (f"* texts seen ({SEEN}): {seen}; measure on others\n" if seen else "")
    )
