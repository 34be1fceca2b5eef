from __future__ import annotations

from pathlib import Path

import pytest

from linnet.data import Document, Mention
from linnet.detect.gold import Gold
from linnet.errors import PipelineError, RecipeError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Pipeline
from linnet.recipes import config, saving
from linnet.retrieve.exact import Exact
from linnet.retrieve.ngram import Ngram
from linnet.retrieve.types import BEFORE, Types

TABLE = {"DISO": ("Disease",), "TEMP": ("Temperature",)}
RECIPE = """
[[pipeline]]
use = "gold"
types = true
[[pipeline]]
use = "types"
allow = {DISO = ["Disease"], TEMP = ["Temperature"]}
[[pipeline.of]]
use = "ngram"
k = 5
"""


def doc(*types: str) -> Document:
    return Document("d", "Cold", mentions=(Mention(0, 4, types=types),))


def ids(kb: KnowledgeBase, part: Types, *types: str, allow: Allow | None = None) -> list[str]:
    [[found]] = part.retrieve([doc(*types)], allow=allow)
    return [kb.id(row) for row in found.rows.tolist()]


def test_mentions_get_concepts_of_their_type(kb: KnowledgeBase) -> None:
    part = Types(kb=kb, of=[Exact(kb=kb)], allow=TABLE)
    assert ids(kb, part, "DISO") == ["X:2"]
    assert ids(kb, part, "TEMP") == ["X:1"]
    assert ids(kb, part, "DISO", "TEMP") == ids(kb, part) == ids(kb, part, "GENE") == ["X:1", "X:2"]


def test_what_else_is_not_allowed_stays_so(kb: KnowledgeBase) -> None:
    part = Types(kb=kb, of=[Exact(kb=kb)], allow=TABLE)
    assert ids(kb, part, "DISO", allow=Allow(types=("Temperature",))) == []
    assert ids(kb, part, "DISO", "TEMP", allow=Allow(types=("Temperature",))) == ["X:1"]
    narrower = Allow(by_type=(("DISO", Allow(ids=("X:1",))),))
    assert ids(kb, part, "DISO", allow=narrower) == []
    assert ids(kb, part, "TEMP", allow=narrower) == ["X:1"]


def test_preferred_types_come_first_and_no_candidate_is_lost(kb: KnowledgeBase) -> None:
    part = Types(kb=kb, of=[Ngram(kb=kb)], allow=TABLE, prefer=True)
    plain = Ngram(kb=kb).retrieve([doc("DISO")])[0][0]
    [[found]] = part.retrieve([doc("DISO")])
    assert kb.id(int(found.rows[0])) == "X:2"
    assert set(found.rows.tolist()) == set(plain.rows.tolist())
    assert found == found.sorted()
    assert sorted(found.features[BEFORE].tolist()) == sorted(plain.scores.tolist())
    assert ids(kb, part, "TEMP")[0] == "X:1"
    [[untyped]] = part.retrieve([doc("GENE")])
    assert untyped.scores.tolist() == plain.scores.tolist()


def test_unknown_types_are_named_all_at_once(kb: KnowledgeBase) -> None:
    with pytest.raises(RecipeError, match=r"(?s)allow.DISO: .*did you mean 'Disease'.*allow.TEMP: .*it has: "):
        Types(kb=kb, of=[Exact(kb=kb)], allow={"DISO": ["Diseases"], "TEMP": "qqq"})
    with pytest.raises(PipelineError, match="types holds one retriever, found Exact, Ngram"):
        Types(kb=kb, of=[Exact(kb=kb), Ngram(kb=kb)])
    with pytest.raises(PipelineError, match="found Gold"):
        Types(kb=kb, of=[Gold()])  # type: ignore[list-item]


def test_in_a_recipe_and_in_a_trained_folder(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    made = config.load(tmp_path / "recipe.toml", kb=kb)
    saving.save(made, tmp_path / "saved")
    again = config.load(tmp_path / "saved", kb=kb)
    for pipeline in (made, again):
        assert isinstance(pipeline, Pipeline)
        [out] = pipeline([doc("DISO")])
        assert [m.candidates is not None and kb.id(int(m.candidates.rows[0])) for m in out.mentions or ()] == ["X:2"]
    with pytest.raises(RecipeError, match=r"pipeline\[1\].allow"):
        config.load(tmp_path / "recipe.toml", kb=kb, changes=["types.allow=3"])
