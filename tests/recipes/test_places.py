"""Keywords of the training of a part that stand in its own table, or the other way round: where they belong is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.errors import RecipeError
from linnet.fit.plan import tasks
from linnet.kb import KnowledgeBase
from linnet.recipes.config import components, load, read_recipe
from linnet.recipes.keywords import component_class, keywords_of

RECIPE = """
[[pipeline]]
use = "union"
[[pipeline.of]]
use = "tagger"
[[pipeline.of]]
use = "dictionary"
aliases = true
[[pipeline]]
use = "dense"
[[pipeline]]
use = "decide"
"""
TRAIN = '[[train]]\npart = "tagger"\n[[train]]\npart = "dense"\n[[train]]\npart = "decide"\n'
LEARNERS = [name for name in components() if component_class(name).training_fields()]


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "r.toml"
    path.write_text(RECIPE + TRAIN)
    return path


def problems(path: Path, *changes: str) -> tuple[str, ...]:
    with pytest.raises(RecipeError) as caught:
        read_recipe(path, changes=changes)
    return caught.value.problems


@pytest.mark.parametrize(
    ("change", "where", "place"),
    [
        (
            "tagger.networks=3",
            "pipeline[0].of[0].networks",
            '[[train]] part = "tagger" (--set train.tagger.networks=…)',
        ),
        ("dense.lr=1e-4", "pipeline[1].lr", '[[train]] part = "dense" (--set train.dense.lr=…)'),
        ("dense.margin=0.2", "pipeline[1].margin", '[[train]] part = "dense", stage = "align"'),
    ],
)
def test_keywords_of_the_training(recipe: Path, change: str, where: str, place: str) -> None:
    part = change.partition(".")[0]
    assert problems(recipe, change) == (f"{where}: a keyword of the training of {part}: it belongs in {place}",)


def test_other_keywords_are_unknown(recipe: Path) -> None:
    assert problems(recipe, "decide.lr=1") == ("pipeline[2].lr: unknown field of decide; it has: threshold, fold, nil",)
    assert problems(recipe, "tagger.network=3")[0].startswith("pipeline[0].of[0].network: unknown field of tagger; ")


def test_what_is_tuned(recipe: Path) -> None:
    found = problems(recipe, 'tune={"tagger.lr" = [1e-4, 1e-3]}')
    assert found == ('tune.tagger.lr: a keyword of the training of tagger: it is called "train.tagger.lr" here',)


@pytest.mark.parametrize("name", LEARNERS)
def test_of_whatever_learns_so(tmp_path: Path, name: str) -> None:
    path = tmp_path / "r.toml"
    fields = [key for key in component_class(name).training_fields() if key not in keywords_of(name)]
    path.write_text("\n".join([f'[[pipeline]]\nuse = "{name}"', *(f"{key} = 1" for key in fields)]))
    found = problems(path)
    assert "lr" in fields
    assert [problem.partition(":")[0] for problem in found] == [f"pipeline[0].{key}" for key in fields]
    assert all(f'it belongs in [[train]] part = "{name}"' in problem for problem in found)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            "train.tagger.min_probability=0.5",
            "train[0].min_probability: a keyword of tagger itself: it belongs in [[pipeline.of]] use = ",
        ),
        ("train.decide.threshold=0.5", 'itself: it belongs in [[pipeline]] use = "decide" (--set decide.threshold=…)'),
        ("train.tagger.lr=0", "train[0].lr: expected a number above 0, found 0"),
        ("train.tagger.epoch=1", "train[0].epoch: unknown field; did you mean 'epochs'?"),
        ("train.tagger.kb=1", "train[0].kb: unknown field; it has: cross_fit, supervision,"),
    ],
)
def test_keywords_of_the_part(recipe: Path, kb: KnowledgeBase, change: str, problem: str) -> None:
    read = read_recipe(recipe, changes=[change])
    with pytest.raises(RecipeError) as caught:
        tasks(load(recipe, kb=kb, changes=[change]), read.train, source="r")
    [found] = caught.value.problems
    assert problem in found
