"""Conditions on what may be answered: put together, checked, held by pipelines, recipes and trained folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Document
from linnet.detect.dictionary import Dictionary
from linnet.detect.gold import Gold
from linnet.errors import LinnetError, PipelineError, RecipeError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.pipeline.allow import Allow, combined
from linnet.pipeline.decide import Decide, calibrate
from linnet.recipes import config, saving
from linnet.retrieve.exact import Exact
from linnet.scale.job_key import made_of

TYPES = ("Phenotype", "Neurology", "Disease", "Temperature")
IDS = ("HP:0000118", "HP:0001250", "HP:0004322", "X:1", "X:2", "HP:0009999")
TEXT = "Seizures and short stature; a common cold."

some_types = st.none() | st.lists(st.sampled_from(TYPES), max_size=2)
some_ids = st.none() | st.lists(st.sampled_from(IDS), max_size=3)
conditions = st.builds(Allow, some_types, some_ids, some_ids)
typed = st.builds(
    lambda some, by: Allow(some.types, some.ids, some.under, by_type=tuple(by.items())),
    conditions,
    st.dictionaries(st.sampled_from(TYPES), conditions, max_size=2),
)


def answers(pipeline: Pipeline, allow: Allow | None = None) -> list[tuple[str, ...]]:
    [doc] = pipeline([Document.of(TEXT)], allow=allow)
    return [mention.concepts or () for mention in doc.mentions or ()]


@given(st.lists(st.none() | typed, max_size=4), st.lists(st.sampled_from(TYPES), max_size=2))
def test_all_conditions_hold(kb: KnowledgeBase, several: list[Allow | None], types: list[str]) -> None:
    found = combined(*several)
    want = Allow().mask(kb).array
    for some in several:
        if some is not None:
            want = want & some.mask(kb, types).array
    assert (found is None) == all(some in (None, Allow()) for some in several)
    if found is not None:
        assert np.array_equal(found.mask(kb, types).array, want)
        assert not any(one.also for one in found.also)


def test_what_a_knowledge_base_lacks_is_named(kb: KnowledgeBase) -> None:
    allow = Allow(types=("Diseese", "Disease"), ids=("X:1", "HP_0001250", "X:9"), under=("Y:1",))
    both = combined(allow, Allow(ids=tuple(f"Z:{number}" for number in range(7))))
    assert both is not None
    assert list(both.problems(kb)) == [
        "types: small.kb has no semantic type 'Diseese'; did you mean 'Disease'?",
        "ids: small.kb has no concept 'HP_0001250', 'X:9'; did you mean 'HP:0001250'?",
        "under: small.kb has no concept 'Y:1'; `linnet kb search` finds ids",
        "ids: small.kb has no concept 'Z:0', 'Z:1', 'Z:2', 'Z:3', 'Z:4' and 2 more; `linnet kb search` finds ids",
    ]
    assert list(Allow(types=TYPES, ids=IDS, under=IDS).problems(kb)) == []
    by_type = Allow(by_type=(("Disease", Allow(types=("Diseese",))),))
    assert list(by_type.problems(kb)) == ["types: small.kb has no semantic type 'Diseese'; did you mean 'Disease'?"]


@pytest.mark.parametrize("given", [5, "Disease", ["X:1"], {"under": "X:1"}])
def test_what_is_no_condition_is_said_with_what_is_one(kb: KnowledgeBase, given: Any) -> None:
    link = Dictionary(kb=kb) >> Decide(kb=kb)
    for ask in (lambda: link(TEXT, allow=given), lambda: Pipeline(*link.parts, allow=given)):
        with pytest.raises(PipelineError, match=r"allow is .*, expected linnet.Allow\(types="):
            ask()


def test_values_of_conditions_are_texts() -> None:
    given: Any
    for given, said in ((5, "types of Allow are texts, and 5 is none"), (["Disease", 0], "and 0 is none")):
        with pytest.raises(PipelineError, match=said):
            Allow(types=given)


@pytest.mark.parametrize("by_type", [{"Disease": Allow(ids=["X:1"])}, [["Disease", Allow(ids=("X:1",))]]])  # type: ignore[arg-type]
def test_further_conditions_may_be_lists_or_a_mapping(kb: KnowledgeBase, by_type: Any) -> None:
    link = Dictionary(kb=kb) >> Decide(kb=kb)
    assert answers(link, Allow(by_type=by_type)) == [("HP:0001250",), ("HP:0004322",), ("X:1",)]
    also: Any = [Allow(by_type=by_type)]
    assert answers(link, Allow(also=also)) == [("HP:0001250",), ("HP:0004322",), ("X:1",)]
    with pytest.raises(PipelineError, match="by_type and also of Allow hold conditions, and 'X:1' is none"):
        Allow(also=("X:1",))  # type: ignore[arg-type]
    assert Allow(also=Allow(ids=("X:1",))) == Allow(also=(Allow(ids=("X:1",)),))  # type: ignore[arg-type]


def test_a_pipeline_holds_its_conditions_in_every_call(kb: KnowledgeBase) -> None:
    allow, more = Allow(types=("Neurology", "Disease")), Allow(under=("HP:0000118",))
    free = Dictionary(kb=kb) >> Decide(kb=kb)
    assert answers(free) == [("HP:0001250",), ("HP:0004322",), ("X:2",)]
    held = Pipeline(*free.parts, kb=kb, allow=allow)
    assert answers(held) == answers(free, allow) == [("HP:0001250",), ("X:2",)]
    assert answers(held, more) == answers(free, combined(more, allow)) == [("HP:0001250",)]
    assert answers(Pipeline(held, allow=more)) == answers(held, more)
    assert answers(Pipeline(Dictionary(kb=kb), allow=allow) >> Decide(kb=kb)) == answers(held)
    assert answers(held.with_parts(held.parts)) == answers(held)
    assert made_of(held) != made_of(free)
    dev = [Document("d", TEXT, mentions=free([Document.of(TEXT)])[0].mentions)]
    with pytest.warns(match="2 mentions to calibrate on are too few"):
        assert answers(calibrate(held, dev)) == answers(held)
    given_spans = Pipeline(Gold(), Exact(kb=kb, level="family"), Decide(kb=kb), allow=more)
    [doc] = given_spans([dev[0].spans_only()])
    assert [mention.concepts for mention in doc.mentions or ()] == [("HP:0001250",), ("HP:0004322",), ()]


RECIPE = """
%s
[[pipeline]]
use = "dictionary"
types = ["Phenotype", "Disease"]
[[pipeline]]
use = "decide"
"""


def recipe(folder: Path, text: str) -> Path:
    path = folder / "r.toml"
    path.write_text(RECIPE % text)
    return path


@pytest.mark.parametrize(
    "text", ['[allow]\ntypes = ["Neurology", "Disease"]', 'allow = {types = ["Neurology", "Disease"]}']
)
def test_recipes_and_trained_folders_hold_conditions(kb: KnowledgeBase, tmp_path: Path, text: str) -> None:
    made = config.load(recipe(tmp_path, text), kb=kb)
    assert answers(made) == [("HP:0001250",), ("X:2",)]
    assert config.read_recipe(tmp_path / "r.toml").to_toml().count("[allow]") == 1
    saving.save(made, tmp_path / "saved")
    again = config.load(tmp_path / "saved")
    assert again.allow == made.allow == Allow(types=("Neurology", "Disease"))
    assert answers(again) == answers(made)
    saving.save(Pipeline(again, kb=kb, allow=Allow(under=("HP:0000118",))), tmp_path / "twice")
    assert answers(config.load(tmp_path / "twice")) == [("HP:0001250",)]
    by_type = Allow(by_type=(("Disease", Allow(ids=("X:2",))),))
    with pytest.raises(LinnetError, match="cannot depend on the mention type: wrap the retriever in types"):
        saving.save(Pipeline(again, kb=kb, allow=by_type), tmp_path / "refused")
    assert not (tmp_path / "refused").exists()


def test_wrong_conditions_of_a_recipe_are_named(kb: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(RecipeError) as caught:
        config.load(recipe(tmp_path, '[allow]\ntypes = ["Diseases"]\nids = ["X:7"]\nunder = ["0001250"]'), kb=kb)
    assert list(caught.value.problems) == [
        "allow.types: small.kb has no semantic type 'Diseases'; did you mean 'Disease'?",
        "allow.ids: small.kb has no concept 'X:7'; `linnet kb search` finds ids",
        "allow.under: small.kb has no concept '0001250'; did you mean 'HP:0001250'?",
    ]
    with pytest.raises(RecipeError) as caught:
        config.read_recipe(recipe(tmp_path, '[allow]\ntypes = "A,B"\ntype = ["A"]\nids = [3]'))
    assert set(caught.value.problems) == {
        'allow.types: expected a list such as ["A", "B"], found \'A,B\'',
        "allow.ids.0: expected a text, found 3",
        "allow.type: unknown field; did you mean 'types'?",
    }
    assert config.load(recipe(tmp_path, "[allow]"), kb=kb).allow is None
