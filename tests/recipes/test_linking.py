"""What links texts that somebody brings: which recipe, what of it is untrained, a detector in front."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from linnet.data import Concept, Document, Mention, Name
from linnet.detect.dictionary import Dictionary
from linnet.detect.gold import Gold
from linnet.errors import LinnetError
from linnet.home import kb_named
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline
from linnet.pipeline.decide import Decide
from linnet.pipeline.several import several
from linnet.recipes.config import load
from linnet.recipes.linking import add_detector, default_recipe, find_untrained, hide_gold, link_given
from linnet.retrieve.exact import Exact


def test_each_knowledge_base_has_a_recipe(kb: KnowledgeBase) -> None:
    assert (default_recipe(None), default_recipe("hpo"), default_recipe("mine")) == ("hpo", "hpo", "dictionary")
    assert load(default_recipe(str(kb.path)), kb=kb).kb is kb


def test_mesh_is_taken_whole_where_it_has_no_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path))
    path = kb_named("mesh")
    path.parent.mkdir()
    fever = Concept("MESH:D005334", (Name("Fever"),), ("Disease",))
    build([fever, Concept("MESH:D001241", (Name("Aspirin"),), ("Chemical",))], path)
    assert default_recipe("mesh") == "mesh"
    build([replace(fever, types=())], path)
    assert default_recipe("mesh") == "dictionary"


def test_what_is_untrained(tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        'kb = "hpo"\n[[pipeline]]\nuse = "gold"\n[[pipeline]]\nuse = "ngram"\n[[train]]\npart = "ngram"\n'
    )
    assert find_untrained(str(recipe)) == (str(recipe), ["ngram"])
    assert find_untrained("dictionary") == ("dictionary", [])
    assert find_untrained(str(tmp_path)) == (str(tmp_path), [])


def test_a_detector_in_front(kb: KnowledgeBase) -> None:
    given = Pipeline(Gold(), Exact(kb=kb), decide := Decide(kb=kb), kb=kb)
    decide.calibration = "given-span"
    finds = add_detector(given, "dictionary")
    assert repr(finds) == "Dictionary >> Exact >> Decide"
    [doc] = finds("A seizure.")
    assert [(one.concepts, one.calibration) for one in doc.mentions or ()] == [(("HP:0001250",), "")]
    assert decide.calibration == "given-span", "the pipeline that was given stays as it is"
    with pytest.raises(LinnetError, match="finds mentions itself"):
        add_detector(finds, "dictionary")


def test_given_mentions_in_the_place_of_found_ones(kb: KnowledgeBase, tmp_path: Path) -> None:
    finds = load("dictionary", kb=kb, changes=['dictionary.types=["Neurology"]'])
    given = link_given(finds)
    assert repr(given) == "Gold >> Exact >> Context >> Decide"
    assert link_given(given) is given
    marked = replace(Document.of("No seizures, short stature: fever."), mentions=(Mention(3, 11), Mention(13, 26)))
    [doc] = given([marked])
    answers = [(one.concepts, one.assertion) for one in doc.mentions or ()]
    assert answers == [(("HP:0001250",), "negated"), ((), "negated")], "the types of the dictionary hold"
    drugs = build([Concept("RX:1", (Name("Aspirin"),))], tmp_path / "drugs.kb")
    with pytest.raises(LinnetError, match="several terminologies"):
        link_given(several(finds, load("dictionary", kb=drugs)))


def test_probabilities_of_found_mentions_are_not_those_of_given_ones(
    kb: KnowledgeBase, caplog: pytest.LogCaptureFixture
) -> None:
    finds = Pipeline(Dictionary(kb=kb), Exact(kb=kb), decide := Decide(kb=kb), kb=kb)
    decide.calibration = "joint"
    [doc] = link_given(finds)([replace(Document.of("Seizure."), mentions=(Mention(0, 7),))])
    assert [(one.concepts, one.calibration) for one in doc.mentions or ()] == [(("HP:0001250",), "")]
    assert "count as uncalibrated" in caplog.text
    assert decide.calibration == "joint", "the pipeline that was given stays as it is"


def test_no_mention_to_link(kb: KnowledgeBase) -> None:
    given = Pipeline(Gold(), Exact(kb=kb), kb=kb)
    with pytest.raises(LinnetError, match="the input has no mentions"):
        list(hide_gold([Document.of("A seizure.")], given))
    gold = Mention(2, 9, concepts=("HP:0001250",), source="gold")
    marked = replace(Document.of("A seizure."), mentions=(gold,))
    [seen] = hide_gold([marked], given)
    assert [mention.concepts for mention in seen.mentions or ()] == [None]
