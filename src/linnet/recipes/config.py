"""Recipes (TOML) → components.

A component's configuration *is* its constructor's keywords (`linnet.recipes.keywords`). Recipes are checked whole
before anything is made: every unknown, missing or ill-typed field is named at once.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from linnet.errors import DataError, FormatError, KnowledgeBaseError, LinnetError, RecipeError, did_you_mean
from linnet.frozen import freeze
from linnet.home import PIPELINE_NAME, SEVERAL, kb_folder, pipelines_folder, read_json
from linnet.kb import KnowledgeBase
from linnet.pipeline import Component, Pipeline, Stage
from linnet.pipeline.component import Seen
from linnet.recipes.components import COMPONENTS, components, name_of, recipes
from linnet.recipes.keywords import (
    check_keywords,
    check_part,
    check_tune,
    component_class,
    keywords_of,
    parameters,
)
from linnet.recipes.knowledge_bases import KbSources, kb_of_version, open_kb
from linnet.recipes.recipe import Recipe, is_address, messages
from linnet.recipes.renamed import rename, rename_keywords
from linnet.text.files import read_text

__all__ = [
    "COMPONENTS",
    "SEEN",
    "Recipe",
    "components",
    "load",
    "local",
    "make",
    "name_of",
    "open_kb",
    "read_recipe",
    "recipes",
]

SEEN = "seen.json"  # of a trained folder: `Pipeline.seen`
AT_HUB = "hf:"  # how names at the Hugging Face Hub begin
EXAMPLE = "decide.threshold=0.95"  # of a change
OWNED = re.compile(r"\w[\w.-]*/[\w.-]*\w(?<!\.toml)(@[\w./-]+)?", re.ASCII)  # what such a name looks like without it


# --- reading and checking --------------------------------------------------------------------------------------------


def read_recipe(source: str | Path, *, changes: Sequence[str] = ()) -> Recipe:
    """Return a checked recipe.

    Args:
        source: the name of a shipped recipe, or a file.
        changes: a list of ``key=value`` with TOML values: ``dictionary.overlaps="all"``, ``ngram.k=32``, ``seed=7``;
            ``train.dense.epochs=1`` changes the ``[[train]]`` table of a part.

    Raises:
        RecipeError: the file cannot be read or has wrong fields; all of them are named.
    """
    path = recipes().get(str(source), Path(source))
    if not os.path.lexists(path):
        raise RecipeError(source, [f"no such recipe or file{_hint(str(source))}"])
    try:
        values = tomllib.loads(read_text(path))
    except FormatError as error:
        begin = f"; --set tagger.encoder={source} lets a tagger (dense, …) begin with what was learned there"
        raise RecipeError(source, [error.problem + (begin if (path / "pipeline.toml").is_file() else "")]) from error
    except (ValueError, RecursionError) as error:  # no TOML, thousands of digits, brackets without end
        raise RecipeError(path, [f"not TOML: {error}"]) from error
    return _check(values, path, changes)


def _hint(source: str) -> str:
    """Return what may have been meant by the name of a recipe that there is not."""
    if below := [name for name in recipes() if name.startswith(f"{source.rstrip('/')}/")]:
        return f"; recipes of this corpus: {', '.join(below)}"
    if hint := did_you_mean(source, [name for name in recipes() if ("/" in name) == ("/" in source)]):
        return hint
    at_hub = f"; at the Hugging Face Hub it is {AT_HUB}{source}" if OWNED.fullmatch(source) else ""
    if "/" not in source and (kb_folder() / f"{source}.kb").is_file():
        return f"; {source} is a knowledge base: load('dictionary', kb={source!r}), and --kb {source} in the shell"
    plain = [name for name in recipes() if "/" not in name]
    corpora = dict.fromkeys(f"{name.partition('/')[0]}/…" for name in recipes() if "/" in name)
    return f"{at_hub}; shipped recipes: {', '.join([*plain, *corpora])}"


def _check(values: dict[str, Any], path: Path, changes: Sequence[str]) -> Recipe:
    problems = _apply(changes, values) if changes else []
    problems += rename(values)
    recipe = None
    try:
        recipe = Recipe.model_validate(values)
    except ValidationError as error:
        problems += messages(error)
    parts = values.get("pipeline")
    for index, part in enumerate(parts if isinstance(parts, list) else []):
        problems += check_part(part, f"pipeline[{index}]", recipe.packages if recipe is not None else {})
    problems += check_tune(values.get("tune"), parts, values.get("train"))
    problems += recipe.problems() if recipe is not None else []
    if problems or recipe is None:
        raise RecipeError(path, problems)
    if isinstance(recipe.kb, KbSources):
        recipe.kb = recipe.kb.beside(path.parent)
    return recipe


def _apply(changes: Sequence[str], values: dict[str, Any]) -> list[str]:
    from linnet.recipes.changes import apply_change  # noqa: PLC0415 - most recipes are taken as they are

    if isinstance(changes, (str, Mapping)):
        return [f"changes: a list of 'part.field=value', such as [{EXAMPLE!r}], not {changes!r}"]
    return [problem for change in changes for problem in apply_change(change, values)]


def local(source: str | Path) -> str | Path:
    """Return the folder of a pipeline at the Hugging Face Hub, ``hf:OWNER/NAME``, or of one that was installed by name.

    Any other source is returned as it is; so are names of recipes, and of files and folders that are here.

    Raises:
        LinnetError: it is not here and cannot be pulled, or is no trained folder.
    """
    name = str(source)
    if is_address(name) or os.path.lexists(name) or name in recipes():
        return source
    if name.startswith(AT_HUB):
        from linnet.recipes.hub import folder_of  # noqa: PLC0415 - few are there

        return folder_of(name)
    installed = pipelines_folder() / name  # NAME, or NAME/PART of several side by side
    return installed if all(map(PIPELINE_NAME.fullmatch, name.split("/"))) and installed.is_dir() else source


def load(
    source: str | Path,
    *,
    kb: str | Path | KnowledgeBase | None = None,
    changes: Sequence[str] = (),
    api_key: str | None = None,
) -> Pipeline:
    """Return the pipeline of a shipped recipe, a recipe file or a trained folder, or one that runs on a server.

    Args:
        source: its name or path; ``hf:OWNER/NAME`` (``@REVISION``) is a trained folder at the Hugging Face Hub,
            ``http://host:8421`` or ``http://host:8421#name`` a server (`linnet.pipeline.remote`); what ``linnet pull``
            installed from a file has the name that it said.
        kb: a knowledge base instead of the one it names; of a server, the one it has, if that is here too.
        changes: a list of ``part.key=value``, such as ``["decide.threshold=0.95"]``; as for `read_recipe`.
        api_key: for a server; None takes the environment variable LINNET_API_KEY.

    Raises:
        RecipeError: the recipe has wrong fields, or is a server's, and cannot be changed.
        KnowledgeBaseError: there is none, or it is not the one a folder was trained with, nor this one with edits.
    """
    if is_address(source):
        if changes:
            raise RecipeError(source, ["changes: the pipeline of a server cannot be changed from here"])
        from linnet.pipeline.remote import load_remote  # noqa: PLC0415 - most pipelines run here

        return load_remote(str(source), kb=None if kb is None else _opened(kb), api_key=api_key)
    named, source = source, local(source)
    folder = Path(source)
    trained = str(source) not in recipes() and folder.is_dir()
    if trained and (folder / SEVERAL).is_file():
        return _side_by_side(folder, str(named), plain=kb is None and not changes)
    recipe = read_recipe(folder / "pipeline.toml" if trained else source, changes=changes)
    opened = _kb_of(recipe, kb, elsewhere=source != named)
    if opened is None:
        raise RecipeError(source, ["kb: missing; name a knowledge base: --kb, or kb in the recipe"])
    if recipe.kb_version and not opened.comes_from(recipe.kb_version):
        raise KnowledgeBaseError(
            f"{source} was made with version {recipe.kb_version} of its knowledge base, "
            f"{opened.path} has version {opened.version}: train it again, or give the knowledge base it was made with"
        )
    saved = folder if trained else None
    allow = recipe.make_allow(opened, source)
    parts = _make_all(recipe.pipeline, opened, saved, "pipeline", source)
    made = Pipeline(*parts, name=str(source), kb=opened, allow=allow)
    if trained and (folder / SEEN).is_file():
        made.seen = Seen(read_json(folder / SEEN))
    return made


def _side_by_side(folder: Path, name: str, *, plain: bool) -> Pipeline:
    """Return the trained folders in a folder as one pipeline, each with the knowledge base of its version.

    Raises:
        LinnetError: not `plain`, with a knowledge base or changes of keys, which can only be meant for one of them.
    """
    from linnet.pipeline.several import several  # noqa: PLC0415 - most texts are linked to one
    from linnet.recipes.side_by_side import several_of  # noqa: PLC0415 - as above

    folders = several_of(folder)
    if not plain:
        them = " or ".join(f"{name}/{one.name}" for one in folders)
        raise LinnetError(f"{name} links to several terminologies: to change one, or its knowledge base, load {them}")
    kbs = [kb_of_version(read_recipe(one / "pipeline.toml").kb_version) for one in folders]
    made = several(*(load(one, kb=kb) for one, kb in zip(folders, kbs, strict=True)))
    return Pipeline(*made.parts, name=name)


def _kb_of(recipe: Recipe, kb: str | Path | KnowledgeBase | None, *, elsewhere: bool) -> KnowledgeBase | None:
    """Return the knowledge base that was given, or that of a recipe; of one made `elsewhere`, the one of its version.

    What its maker calls it may be something else here.
    """
    if kb is None and elsewhere:
        kb = kb_of_version(recipe.kb_version)
    return recipe.open_kb() if kb is None else _opened(kb)


def _opened(kb: str | Path | KnowledgeBase) -> KnowledgeBase:
    return kb if isinstance(kb, KnowledgeBase) else open_kb(kb)


def _make_all(
    parts: Sequence[Mapping[str, Any]], kb: KnowledgeBase, saved: Path | None, where: str, source: str | Path
) -> list[Component]:
    """Make the components of some tables; those of a trained folder are loaded from its subfolders ``0-use``, …."""
    folders = [None if saved is None else saved / f"{index}-{part['use']}" for index, part in enumerate(parts)]
    return [
        make(part, kb, folder, where=f"{where}[{index}]", source=source)
        for index, (part, folder) in enumerate(zip(parts, folders, strict=True))
    ]


def make(
    part: Mapping[str, Any], kb: KnowledgeBase, saved: Path | None = None, *, where: str = "", source: str | Path = ""
) -> Component:
    """Return the component of a checked ``[[pipeline]]`` table, with what its folder holds if it was saved.

    Raises:
        RecipeError: values that it refuses, told with `where` they stand in the recipe `source`: ``pipeline[2]``.
        LinnetError: a file of the folder is missing, damaged or has wrong fields.
    """
    name = part["use"]
    try:
        return _make(name, part, kb, saved, where, source)
    except (RecipeError, DataError) as error:
        own = error.problems if isinstance(error, RecipeError) and error.path == name else ()
        if isinstance(error, DataError) and str(error).startswith(f"{name}: "):
            own = (str(error).removeprefix(f"{name}: "),)
        if not own or not where:
            raise
        raise RecipeError(source, [f"{where}.{problem}" for problem in own]) from error


def _make(
    name: str, part: Mapping[str, Any], kb: KnowledgeBase, saved: Path | None, where: str, source: str | Path
) -> Component:
    known = keywords_of(name)
    keywords = {key: known[key].validate_python(value) for key, value in part.items() if key not in ("use", "of")}
    if saved is not None and "of" not in part:
        config = read_json(saved / "config.json")
        if problems := rename_keywords(name, config, name) or check_keywords(name, config, name):
            raise RecipeError(saved / "config.json", problems)
        return _apply_keywords(name, component_class(name).load(saved, kb=kb), keywords)
    if "kb" in parameters(name):
        keywords["kb"] = kb
    if "of" in part:
        keywords["of"] = _make_all(part["of"], kb, saved, f"{where}.of", source)
    return component_class(name)(**keywords)


def _apply_keywords(name: str, component: Stage, keywords: Mapping[str, Any]) -> Stage:
    """Return a loaded component with the keywords of its table, which ``--set`` may have changed since it was saved."""
    had = component.keywords
    was = [(key, freeze(had[key]), freeze(value)) for key, value in keywords.items() if key in component.LEARNED]
    wrong = [f"{name}.{key}: was trained with {old!r}, not with {new!r}" for key, old, new in was if old != new]
    if wrong:
        raise RecipeError("trained folder", [*wrong, "what was learned depends on this: leave it, or train again"])
    for key, value in keywords.items():
        setattr(component, key, value)
    component.__post_init__()
    return component
