"""Every recipe that comes with Linnet is whole: its fields, its components, its description."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.config import load, read_recipe, recipes
from linnet.kb import KnowledgeBase


@pytest.mark.parametrize("name", recipes())
def test_recipes_can_be_read(name: str) -> None:
    recipe = read_recipe(name)
    assert recipe.description
    assert recipe == read_recipe(recipes()[name])


@pytest.mark.parametrize("name", recipes())
def test_recipes_make_pipelines(name: str, kb: KnowledgeBase) -> None:
    pipeline = load(name, kb=kb)
    assert "concepts" in pipeline.gives
    assert pipeline.needs == frozenset()


def test_all_recipes_of_the_tree_are_shipped() -> None:
    folder = Path(__file__).parents[2] / "recipes"
    assert {path.stem for path in folder.rglob("*.toml")} == {name.rpartition("/")[2] for name in recipes()}
