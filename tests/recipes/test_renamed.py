from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from linnet.detect.tagger_args import TaggerArgs
from linnet.errors import RecipeError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.recipes.config import load, read_recipe
from linnet.recipes.renamed import COMPONENTS, KEYWORDS, new_key
from linnet.recipes.saving import save
from linnet.rerank.cross_encoder import CrossArgs, CrossEncoder
from linnet.retrieve.dense import DenseArgs

ARGS: dict[str, Any] = {"cross_encoder": CrossArgs, "dense": DenseArgs, "tagger": TaggerArgs}
RENAMED = [(name, old, new) for name, keywords in KEYWORDS.items() for old, new in keywords.items()]


def said(path: Path, *changes: str) -> str:
    with pytest.raises(RecipeError) as refused:
        read_recipe(path, changes=changes)
    return str(refused.value)


@pytest.mark.parametrize(("name", "old", "new"), RENAMED)
def test_old_keywords_are_refused_with_the_new_name(tmp_path: Path, name: str, old: str, new: str) -> None:
    path = tmp_path / "recipe.toml"
    parts = f'[[pipeline]]\nuse = "fuse"\n[[pipeline.of]]\nuse = "{name}"\n{old} = 1\n'
    path.write_text(f'{parts}[[train]]\npart = "{name}"\n{old} = 1\n[tune]\n"train.{name}.{old}" = [1, 2]\n')
    found = said(path)
    for where in ("pipeline[0].of[0].", "train[0].", f"tune.train.{name}."):
        assert f"{where}{old}: " in found
    assert found.count(f"{new}' now") == 3
    path.write_text(f'[[pipeline]]\nuse = "{name}"\n[[train]]\npart = "{name}"\n')
    assert f"{name}.{new} now" in said(path, f"{name}.{old}=1")
    assert f"train.{name}.{new} now" in said(path, f"train.{name}.{old}=1")


@pytest.mark.parametrize(("name", "old", "new"), RENAMED)
def test_new_names_are_keywords(name: str, old: str, new: str) -> None:
    from linnet.recipes.keywords import component_class

    keywords = {field.name for field in dataclasses.fields(component_class(name))}  # type: ignore[arg-type]
    keywords |= set(ARGS[name].model_fields) if name in ARGS else set()
    assert new in keywords
    assert old not in keywords


@pytest.mark.parametrize(("old", "new"), COMPONENTS.items())
def test_old_components_are_refused_with_the_new_name(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(f'[[pipeline]]\nuse = "{old}"\n[[train]]\npart = "{old}"\n[tune]\n"{old}.top_k" = [5, 10]\n')
    found = said(path)
    assert f"pipeline[0].use: the name of '{old}' is '{new}' now" in found
    assert f"train[0].part: the name of '{old}' is '{new}' now" in found
    assert f"tune.{old}.top_k: its name is '{new}.top_k' now" in found
    assert len(found.splitlines()) == 4  # and nothing else
    path.write_text(f'[[pipeline]]\nuse = "{new}"\n')
    assert f"the name of {old}.top_k is {new}.top_k now" in said(path, f"{old}.top_k=3")


def test_saved_folders_with_old_names_are_refused(tmp_path: Path, kb: KnowledgeBase) -> None:
    save(Pipeline(CrossEncoder(kb=kb), kb=kb), tmp_path / "saved")
    config = tmp_path / "saved" / "0-cross_encoder" / "config.json"
    config.write_text(config.read_text().replace("use_first_stage_scores", "heard"))
    (tmp_path / "saved" / "checksums.json").unlink(missing_ok=True)
    with pytest.raises(RecipeError, match=r"cross_encoder\.heard: its name is 'use_first_stage_scores' now"):
        load(tmp_path / "saved", kb=kb)
    recipe = tmp_path / "saved" / "pipeline.toml"
    recipe.write_text(recipe.read_text().replace("cross_encoder", "cross"))
    with pytest.raises(RecipeError, match="the name of 'cross' is 'cross_encoder' now"):
        load(tmp_path / "saved", kb=kb)


def test_roles_name_parts_too() -> None:
    assert new_key("rerank.heard") == "rerank.use_first_stage_scores"
    assert new_key("seed") == "seed"
