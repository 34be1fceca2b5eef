"""Which parts of a recipe a job of the kind ``train`` trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from linnet.annotate import training
from linnet.annotate.jobs import Train
from linnet.data import Concept, Document, Mention, Name
from linnet.errors import LinnetError
from linnet.fit.plan import tasks
from linnet.kb.build import build
from linnet.recipes.config import load, read_recipe


class Silent:
    def say(self, text: str) -> None: ...


def test_a_recipe_that_learns_nothing_from_decisions_is_refused(tmp_path: Path) -> None:
    kb = build([Concept("X:1", (Name("fever"),))], tmp_path / "x.kb")
    docs = [Document("1", "Fever.", mentions=(Mention(0, 5, source="user", concepts=("X:1",)),))]
    held: Any = Silent()
    for recipe, learns in (("own_letters", True), ("ontology_only", False)):
        pipeline = load(recipe, kb=kb)
        able = tasks(pipeline, read_recipe(recipe).train, source=recipe)
        plan = training._Plan(Train(to=None, dev=0.2, seed=None, minutes=None), recipe, None, kb, docs, docs, set())
        if learns:
            assert training._wanted(held, pipeline, able, plan)
        else:
            with pytest.raises(LinnetError, match=r"ontology_only: learns from names alone, not from what people dec"):
                training._wanted(held, pipeline, able, plan)


@pytest.mark.parametrize(
    ("train", "dev", "calibrates"), [(True, False, True), (False, True, True), (False, False, False)]
)
def test_probabilities_are_learned_where_a_mention_is_linked(
    tmp_path: Path, train: bool, dev: bool, calibrates: bool
) -> None:
    kb = build([Concept("X:1", (Name("fever"),))], tmp_path / "x.kb")

    def document(linked: bool) -> list[Document]:
        return [Document("1", "Fever.", mentions=(Mention(0, 5, source="user", concepts=("X:1",) if linked else ()),))]

    order, recipe, held = Train(to=None, dev=0.2, seed=None, minutes=None), "own_lexical", cast("Any", Silent())
    pipeline = load(recipe, kb=kb)
    plan = training._Plan(order, recipe, None, kb, document(train), document(dev), set())
    wanted = training._wanted(held, pipeline, tasks(pipeline, read_recipe(recipe).train, source=recipe), plan)
    assert [task.name for task in wanted] == ["dictionary", "ngram", "lexical", *(["decide"] if calibrates else [])]
