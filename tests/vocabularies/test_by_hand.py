"""Edits as people type them, without a command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from linnet.data import Concept, Name
from linnet.errors import LinnetError, LinnetWarning, UnknownConceptError
from linnet.kb import KnowledgeBase
from linnet.vocabularies.build import target
from linnet.vocabularies.typed_edits import add_by_hand, meant


@pytest.fixture
def mine(kb: KnowledgeBase, tmp_path: Path) -> Path:
    return Path(shutil.copy(kb.path, tmp_path / "mine.kb"))


def test_ids_in_other_spellings(mine: Path) -> None:
    with KnowledgeBase.edit(mine) as change:
        assert meant(change, "HP:0001250") == meant(change, "hp:0001250") == "HP:0001250"
        add_by_hand(change, Concept("hp:0000001", (Name("All"),), parents=("hp:0000118",), xrefs=("mesh:D1",)))
    concept = KnowledgeBase.open(mine)["HP:0000001"]
    assert (concept.parents, concept.xrefs) == (("HP:0000118",), ("MESH:D1",))


def test_slips_of_the_pen(mine: Path) -> None:
    with pytest.raises(UnknownConceptError), KnowledgeBase.edit(mine) as change:
        add_by_hand(change, Concept("X:9", (Name("Ache"),), parents=("X:404",)))
    with (
        pytest.warns(LinnetWarning, match="no semantic type 'Diseases' before: it begins with X:9; did you mean"),
        KnowledgeBase.edit(mine) as change,
    ):
        add_by_hand(change, Concept("X:9", (Name("Ache"),), ("Diseases",)))


def test_edits_are_not_lost(mine: Path) -> None:
    assert target(str(mine), replace=False) == mine
    with KnowledgeBase.edit(mine) as change:
        change.retire("X:1")
    with pytest.raises(LinnetError, match="has been edited since it was built"):
        target(str(mine), replace=False)
    assert target(str(mine), replace=True) == mine
