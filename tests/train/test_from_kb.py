"""Mentions made of a knowledge base: what is said, what is asked for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from linnet.data import Concept, Name
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.train.from_kb import BY_DEFINITION, BY_SYNONYM, FromKb, KbExample

CONCEPTS = (
    Concept("X:0", (Name("fever"), Name("pyrexia"), Name("hot skin")), definition="A raised temperature {name}."),
    Concept("X:1", (Name("seizure"), Name("fit"), Name("convulsion"))),
    Concept("X:2", (Name("cyst"), Name("bladder"))),
    Concept("X:3", (Name("gout"),)),
    Concept("X:4", (Name("old"),)),
)


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    build(CONCEPTS, tmp_path / "made.kb").close()
    with KnowledgeBase.edit(tmp_path / "made.kb") as edit:
        edit.retire("X:4")
    return KnowledgeBase.open(tmp_path / "made.kb")


def drawn(made: FromKb, *, seed: int) -> list[KbExample]:
    return [made.example(one) for one in made.drawn(np.random.default_rng(seed))]


def said(one: KbExample) -> str:
    return f"{one.mention.left}[{one.mention.text}]{one.mention.right}"


def test_each_name_of_each_concept_is_asked_for_once(kb: KnowledgeBase) -> None:
    asked = Counter(one.target for one in drawn(FromKb(kb), seed=1))
    assert asked == Counter(name.text for name in kb.names())
    assert "old" not in asked


def test_a_definition_is_the_context_and_another_name_the_mention(kb: KnowledgeBase) -> None:
    sentences = {
        template.replace("{name}", f"[{name}]").replace("{context}", CONCEPTS[0].definition)
        for template in BY_DEFINITION
        for name in ("fever", "pyrexia", "hot skin")
    }
    seen: Counter[str] = Counter()
    for seed in range(200):
        for one in (one for one in drawn(FromKb(kb), seed=seed) if one.concept == 0):
            assert said(one) in sentences
            assert one.mention.text != one.target
            seen[said(one)] += 1
    assert set(seen) == sentences


def test_without_a_definition_a_third_name_is_the_context(kb: KnowledgeBase) -> None:
    names = {"seizure", "fit", "convulsion"}
    for seed in range(50):
        for one in (one for one in drawn(FromKb(kb), seed=seed) if one.concept == 1):
            [third] = names - {one.mention.text, one.target}
            assert said(one) in {
                t.replace("{name}", f"[{one.mention.text}]").replace("{context}", third) for t in BY_SYNONYM
            }


def test_of_two_names_one_is_said_twice_and_a_single_one_is_all_three(kb: KnowledgeBase) -> None:
    for one in drawn(FromKb(kb), seed=3):
        if one.concept in (2, 3):
            assert said(one).count(one.mention.text) >= 2
        if one.concept == 2:
            assert {one.mention.text, one.target} == {"cyst", "bladder"}
        if one.concept == 3:
            assert one.mention.text == one.target == "gout"


@pytest.mark.slow
def test_the_share_of_definitions_is_kept_to(kb: KnowledgeBase) -> None:
    for share in (0.0, 0.5, 1.0):
        made = [
            one for seed in range(300) for one in drawn(FromKb(kb, definitions=share), seed=seed) if one.concept == 0
        ]
        found = sum("raised temperature" in said(one) for one in made) / len(made)
        assert found == pytest.approx(share, abs=0.06)


def test_the_same_draw_gives_the_same_examples(kb: KnowledgeBase) -> None:
    assert drawn(FromKb(kb), seed=5) == drawn(FromKb(kb), seed=5)
    assert drawn(FromKb(kb), seed=5) != drawn(FromKb(kb), seed=6)
