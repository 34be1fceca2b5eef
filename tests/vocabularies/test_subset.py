"""Parts of knowledge bases: what is chosen, what becomes of parents and retired ids."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.growth import LINEAR, deep, growth, noted

from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError
from linnet.kb import KnowledgeBase, Mask
from linnet.kb.build import build
from linnet.vocabularies.stored import Edges, _opened, concepts_by_id, edges, retired_by_id
from linnet.vocabularies.subset import mask_of, select, subset, widened


def live(id: str, *parents: str) -> Concept:
    return Concept(id, (Name(id.lower()),), parents=parents)


@pytest.fixture
def tree(tmp_path: Path) -> KnowledgeBase:
    """A over B and C, D under both, E under D; O:1 leads to D by way of O:2."""
    concepts = [live("A"), live("B", "A"), live("C", "A"), live("D", "B", "C"), live("E", "D")]
    old = [
        Concept("O:1", (Name("old"),), replaced_by="O:2"),
        Concept("O:2", replaced_by="D"),
        Concept("O:3", replaced_by=""),
        Concept("O:4", replaced_by="C"),
    ]
    return build([*concepts, *old], tmp_path / "tree.kb", sources=[{"vocabulary": "test", "licence": "CC0"}])


def ids(kb: KnowledgeBase, mask: Mask) -> str:
    return "".join(kb.id(row) for row in np.flatnonzero(mask.array).tolist())


def test_ids_and_retired_ids_and_unknown_ones(tree: KnowledgeBase) -> None:
    mask, unknown = mask_of(tree, ["B", "O:1", "D", "X", "O:3"])
    assert (ids(tree, mask), unknown) == ("BD", ["X", "O:3"])
    assert len(mask_of(tree, [])[0]) == 0


def test_widened(tree: KnowledgeBase) -> None:
    mask, _ = mask_of(tree, ["D"])
    assert ids(tree, widened(tree, mask)) == "D"
    assert ids(tree, widened(tree, mask, ancestors=True)) == "ABCD"
    assert ids(tree, widened(tree, mask, descendants=True)) == "DE"
    assert ids(tree, widened(tree, mask, ancestors=True, descendants=True)) == "ABCDE"
    # neither adds what stands beside: what is below an ancestor is not below the chosen
    assert ids(tree, widened(tree, mask_of(tree, ["B"])[0], ancestors=True, descendants=True)) == "ABDE"


@pytest.mark.slow
def test_time_grows_with_the_levels_not_with_their_square(tmp_path: Path) -> None:
    chains = {levels: deep(tmp_path / f"{levels}.kb", levels) for levels in (10_000, 100_000)}

    def work(levels: int) -> None:
        kb = chains[levels]
        ends, _ = mask_of(kb, ["C:0", f"C:{levels - 1}"])
        for way in ({"ancestors": True}, {"descendants": True}):
            assert len(widened(kb, mask_of(kb, [f"C:{levels // 2}"])[0], **way)) in (levels // 2, levels // 2 + 1)
        assert [concept.parents for concept in select(kb, ends, bridge=True)] == [(), ("C:0",)]

    assert growth(work, 100_000) < LINEAR


def test_what_is_left_out_is_bridged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    levels = 1000
    chain = [live("C:0"), *(live(f"C:{i}", f"C:{i - 1}") for i in range(1, levels))]
    kb = build([*chain, *(live(f"L:{i}", f"C:{i}") for i in range(levels))], tmp_path / "a.kb")
    mask, _ = mask_of(kb, ["C:0", *(f"L:{i}" for i in range(levels))])
    asked = noted(monkeypatch, Edges, "parents")
    assert {concept.parents for concept in select(kb, mask, bridge=True)} == {(), ("C:0",)}
    assert len(asked) < 5 * levels


def test_circles_of_a_damaged_file_are_bridged_to_nothing(tree: KnowledgeBase) -> None:
    with closing(sqlite3.connect(tree.path)) as connection, connection:
        connection.execute("DELETE FROM parents")
        connection.execute("INSERT INTO parents VALUES (0, 1), (1, 2), (2, 1), (3, 3)")
    kb = KnowledgeBase.open(tree.path)
    assert [concept.parents for concept in select(kb, mask_of(kb, ["A"])[0], bridge=True)] == [()]


def test_chains_of_retired_ids_are_followed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = 500
    old = [Concept(f"O:{i}", replaced_by=f"O:{i + 1}" if i < many - 1 else "A") for i in range(many)]
    kb = build([live("A"), live("B"), *old, Concept("P:1", replaced_by="B")], tmp_path / "a.kb")
    mask, _ = mask_of(kb, ["A"])
    asked = noted(monkeypatch, KnowledgeBase, "_first")
    assert sorted(concept.id for concept in select(kb, mask)) == sorted(["A", *(one.id for one in old)])
    assert len(asked) < 10 * many


def test_parents_are_dropped_or_bridged(tree: KnowledgeBase) -> None:
    mask, _ = mask_of(tree, ["A", "C", "E"])
    assert list(select(tree, mask)) == [
        live("A"),
        live("C", "A"),
        live("E"),
        Concept("O:4", replaced_by="C"),
    ]
    assert next(c for c in select(tree, mask, bridge=True) if c.id == "E").parents == ("A", "C")
    kept = list(select(tree, mask_of(tree, ["D"])[0], bridge=True))
    assert kept == [live("D"), Concept("O:1", (Name("old"),), replaced_by="O:2"), Concept("O:2", replaced_by="D")]


def test_a_subset_says_of_what(tree: KnowledgeBase, tmp_path: Path) -> None:
    mask, _ = mask_of(tree, ["D", "E"])
    kb = subset(tree, mask, tmp_path / "part.kb", conditions={"ids": "D | E"})
    assert [kb.id(row) for row in range(len(kb))] == ["D", "E"]
    assert kb[1].parents == ("D",)
    assert kb.id(kb.row("O:1")) == "D"
    assert kb.sources == [
        {"vocabulary": "subset", "of": "tree", "version": tree.version, "concepts": "2", "ids": "D | E"},
        {"vocabulary": "test", "licence": "CC0"},
    ]


def test_refused(tree: KnowledgeBase, tmp_path: Path, kb: KnowledgeBase) -> None:
    mask, _ = mask_of(tree, ["D"])
    with pytest.raises(KnowledgeBaseError, match="give the subset another name"):
        subset(tree, mask, tree.path, conditions={})
    with pytest.raises(KnowledgeBaseError, match=r"no concept of tree\.kb is in the subset: types X"):
        subset(tree, mask_of(tree, [])[0], tmp_path / "a.kb", conditions={"types": "X"})
    with pytest.raises(KnowledgeBaseError, match="a mask of version"):
        list(select(kb, mask))
    assert not (tmp_path / "a.kb").exists()


def test_a_file_that_was_replaced_is_refused(tree: KnowledgeBase) -> None:
    build([live("A")], tree.path)
    for stream in (concepts_by_id(tree), retired_by_id(tree)):
        with pytest.raises(KnowledgeBaseError, match="has changed"):
            list(stream)


def test_a_damaged_file_is_refused(tree: KnowledgeBase) -> None:
    data = bytearray(tree.path.read_bytes())
    data[4096:] = b"\x07" * (len(data) - 4096)
    tree.path.write_bytes(data)
    with pytest.raises(KnowledgeBaseError, match="cannot be read as a knowledge base"):
        list(concepts_by_id(tree))


def test_streams_are_what_the_knowledge_base_holds(kb: KnowledgeBase) -> None:
    found = sorted((c for c in kb.concepts() if c.replaced_by is None), key=lambda concept: concept.id)
    assert list(concepts_by_id(kb)) == found
    assert [(old.id, old.successor) for old in retired_by_id(kb)] == [
        ("HP:0009997", ""),
        ("HP:0009998", "HP:0009999"),
        ("HP:0009999", "HP:0001250"),
    ]


@pytest.mark.parametrize("seed", range(10))
def test_against_a_slow_reference(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    names = [f"N{number:02}" for number in range(20)]
    parents = {name: rng.sample(names[:at], min(at, rng.randrange(4))) for at, name in enumerate(names)}
    kb = build([live(name, *above) for name, above in parents.items()], tmp_path / "any.kb")
    chosen = set(rng.sample(names, 7))

    def above(name: str) -> set[str]:
        return set(parents[name]).union(*(above(parent) for parent in parents[name]))

    def nearest(name: str) -> set[str]:
        return set().union(*({p} if p in chosen else nearest(p) for p in parents[name]))

    mask, _ = mask_of(kb, chosen)
    up = {kb.id(row) for row in np.flatnonzero(widened(kb, mask, ancestors=True).array).tolist()}
    down = {kb.id(row) for row in np.flatnonzero(widened(kb, mask, descendants=True).array).tolist()}
    assert up == chosen.union(*(above(name) for name in chosen))
    assert down == chosen | {name for name in names if above(name) & chosen}
    for concept in select(kb, mask, bridge=True):
        assert set(concept.parents) == nearest(concept.id)
    for concept in select(kb, mask):
        assert concept.parents == tuple(p for p in parents[concept.id] if p in chosen)
    assert edges(kb).parents(0) == []


def test_of_concepts_without_any_parents(tmp_path: Path) -> None:
    kb = build([live("A"), live("B")], tmp_path / "flat.kb")
    mask, _ = mask_of(kb, ["A"])
    assert len(widened(kb, mask, ancestors=True, descendants=True)) == 1
    assert list(select(kb, mask, bridge=True)) == [live("A")]


def test_nobody_changes_the_file_while_a_stream_begins(tree: KnowledgeBase) -> None:
    with _opened(tree) as rows:
        edit = KnowledgeBase.edit(tree.path, wait=0.05)
        with pytest.raises(KnowledgeBaseError, match="somebody else is editing or reading it"), edit as change:
            change.retire("E")
        assert len(list(rows("SELECT id FROM concepts WHERE NOT retired"))) == 5


def test_streams_read_the_copy_that_is_open(tree: KnowledgeBase, tmp_path: Path) -> None:
    """Where an interrupted edit cannot be undone, a copy without it is read."""
    tree.file = Path(shutil.copy(tree.path, tmp_path / "copy.kb"))
    tree.path.unlink()
    assert [concept.id for concept in concepts_by_id(tree)] == list("ABCDE")
    assert len(edges(tree).children) == 5
