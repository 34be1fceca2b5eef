"""Negatives against slow definitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Concept, Name
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.kb.edit import edit
from linnet.train.negatives import Spared, collisions, hard, random_rows

ROWS = st.sets(st.integers(0, 9), max_size=6).map(frozenset)


@pytest.fixture
def tree(tmp_path: Path) -> KnowledgeBase:
    """X:0 above X:1 above X:2, and X:3 by itself."""
    parents: tuple[tuple[str, ...], ...] = ((), ("X:0",), ("X:1",), ())
    concepts = [Concept(f"X:{n}", (Name(f"name {n}"),), parents=own) for n, own in enumerate(parents)]
    return build(concepts, tmp_path / "tree.kb")


def test_answers_and_if_asked_what_is_below_them_are_spared(tree: KnowledgeBase) -> None:
    row = tree.row
    assert Spared(tree).of([row("X:0")]) == {row("X:0")}
    below = Spared(tree, descendants=True)
    assert below.of([row("X:1")]) == {row("X:1"), row("X:2")}
    assert below.of([row("X:2"), row("X:3")]) == {row("X:2"), row("X:3")}
    assert below.of([]) == frozenset()


def test_the_concept_that_took_the_place_of_a_retired_one_is_spared(tree: KnowledgeBase) -> None:
    with edit(tree.path) as changes:
        changes.retire("X:3", "X:2")
    later = KnowledgeBase.open(tree.path)
    assert Spared(later).of([later.row("X:3")]) == {later.row("X:2")}


@given(ranked=st.permutations(range(10)), right=ROWS, more=ROWS, count=st.integers(0, 12), above=st.booleans())
def test_hard_negatives_are_the_first_that_are_not_spared(
    ranked: list[int], right: frozenset[int], more: frozenset[int], count: int, above: bool
) -> None:
    spared = right | more
    seen = ranked
    if above:
        seen = ranked[: min((ranked.index(row) for row in right), default=len(ranked))]
    want = [ranked.index(row) for row in seen if row not in spared][:count]
    assert hard(ranked, spared, count, above=right if above else None) == want


def test_nil_is_no_negative() -> None:
    assert hard(np.array([-1, 4, 2], np.int32), frozenset({4}), 2) == [2]


@given(spared=ROWS, count=st.integers(0, 12), seed=st.integers(0, 99))
def test_random_negatives_are_different_and_not_spared(spared: frozenset[int], count: int, seed: int) -> None:
    rows = np.arange(10, dtype=np.int32)
    found = random_rows(np.random.default_rng(seed), rows, spared, count)
    assert len(set(found)) == len(found) <= count
    assert not set(found) & spared


@given(st.lists(st.tuples(ROWS, st.lists(st.integers(0, 9), max_size=3)), min_size=1, max_size=5))
def test_what_collides_in_a_batch_against_a_slow_definition(batch: list[tuple[frozenset[int], list[int]]]) -> None:
    rows = [row for _, own in batch for row in own]
    found = collisions([spared for spared, _ in batch], rows)
    assert found.shape == (len(batch), len(rows))
    for place, (spared, _) in enumerate(batch):
        assert found[place].tolist() == [row in spared for row in rows]
