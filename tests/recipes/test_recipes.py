"""Every recipe that comes with Linnet is whole: its fields, its components, its description."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.corpora.catalog import CORPORA
from linnet.kb import KnowledgeBase
from linnet.recipes.config import load, read_recipe, recipes


@pytest.mark.parametrize("name", recipes())
def test_recipes_can_be_read(name: str) -> None:
    recipe = read_recipe(name)
    assert recipe.description
    assert recipe == read_recipe(recipes()[name])


@pytest.mark.parametrize("name", recipes())
def test_recipes_make_pipelines(name: str, kb: KnowledgeBase) -> None:
    pipeline = load(name, kb=kb)
    assert "concepts" in pipeline.gives
    # given gold mentions, or from the text alone
    assert pipeline.needs - {"types"} == (
        frozenset({"mentions"}) if read_recipe(name).pipeline[0]["use"] == "gold" else frozenset()
    )


APART = ("encoders/", "release/")  # of no one corpus, so `linnet reproduce` measures none of them


@pytest.mark.parametrize("name", [name for name in recipes() if "/" in name and not name.startswith(APART)])
def test_experiments_promise_scores_on_known_data(name: str) -> None:
    recipe = read_recipe(name)
    assert recipe.splits == ("dev",)
    assert {"dev.all.accuracy@1", "dev.in-kb.accuracy@1", "dev.strict.f1"} <= set(recipe.expect)
    assert recipe.corpus == name.partition("/")[0]
    assert "dev" in CORPORA[recipe.corpus].splits


def test_all_recipes_of_the_tree_are_shipped() -> None:
    folder = Path(__file__).parents[2] / "recipes"
    assert {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.toml")} == set(recipes())
