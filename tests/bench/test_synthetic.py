"""Synthetic terminologies: the same each time, shaped as promised, and equal after a detour over their layouts."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linnet.bench.synthetic import TYPES, synthetic
from linnet.data import Concept, Name
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.vocabularies.mesh import read_mesh
from linnet.vocabularies.snomed import read_snomed
from linnet.vocabularies.umls import read_umls
from tests.synthetic_files import write_mesh, write_rf2, write_rrf

SIZE = 6000


@pytest.fixture(scope="module")
def made() -> list[Concept]:
    return list(synthetic(SIZE))


def test_it_is_deterministic(made: list[Concept]) -> None:
    assert list(synthetic(SIZE)) == made
    assert list(synthetic(SIZE, seed=14)) != made


def test_shape(made: list[Concept]) -> None:
    live = [concept for concept in made if concept.replaced_by is None]
    assert len(live) == SIZE
    names = [name for concept in live for name in concept.names]
    assert 2.4 < len(names) / SIZE < 2.6
    lengths = Counter(len(name.text.split()) for name in names)
    assert set(lengths) <= set(range(1, 13))
    assert sum(lengths[n] for n in range(1, 7)) / len(names) > 0.95
    words = Counter(word for name in names for word in name.text.lower().split())
    counts = sorted(words.values(), reverse=True)
    assert counts[0] > 3 * counts[9] > 9 * counts[199]  # steep, as Zipf's law has it
    assert 0.05 < sum(bool(concept.definition) for concept in live) / SIZE < 0.12
    assert 0.005 < (len(made) - SIZE) / SIZE < 0.02
    kinds = Counter(kind for concept in live for kind in concept.types)
    assert set(kinds) == {name for _, _, name in TYPES}
    assert max(kinds.values()) > 5 * min(kinds.values())
    xrefs = Counter(xref for concept in live for xref in concept.xrefs)
    assert 0.5 < xrefs.total() / SIZE < 0.7
    assert max(xrefs.values()) > 1
    owners = Counter(text for concept in live for text in {name.text.lower() for name in concept.names})
    assert 0.005 < sum(count > 1 for count in owners.values()) / len(owners) < 0.05


def test_hierarchy_and_ids(made: list[Concept]) -> None:
    seen: set[str] = set()
    for concept in made:
        assert concept.id not in seen
        assert set(concept.parents) <= seen
        assert len(concept.parents) in ((0,) if not seen or concept.replaced_by else (1, 2, 3))
        assert concept.replaced_by is None or concept.replaced_by in seen
        assert len({name.text.lower() for name in concept.names}) == len(concept.names)
        seen.add(concept.id)


@pytest.mark.parametrize("mean", [1.0, 4.0])
def test_names_per_concept(mean: float) -> None:
    live = [concept for concept in synthetic(2000, names_per_concept=mean) if concept.names]
    assert sum(len(concept.names) for concept in live) / 2000 == pytest.approx(mean, rel=0.05)


def test_words_of_a_knowledge_base(kb: KnowledgeBase) -> None:
    concepts = list(synthetic(300, seeds_from=kb))
    words = {word for concept in concepts for name in concept.names for word in name.text.lower().split()}
    assert {"short", "seizure"} <= words
    assert not any("haemo" in word for word in words)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"concepts": 0}, "concepts is 0, expected 1 to 9,000,000"),
        ({"concepts": 9_000_001}, "concepts is 9,000,001"),
        ({"concepts": 5, "names_per_concept": 0.5}, "names_per_concept is 0.5, expected 1 to 20"),
    ],
)
def test_wrong_numbers(options: dict[str, Any], told: str) -> None:
    with pytest.raises(LinnetError, match=told):
        next(synthetic(**options))


def test_rrf_gives_the_same_concepts_back(made: list[Concept], tmp_path: Path) -> None:
    rows = write_rrf(made, tmp_path)
    assert rows["MRCONSO"] == sum(len(concept.names) for concept in made)
    read = {concept.id: concept for concept in read_umls(tmp_path, suppress=("N", "O"))}
    assert len(read) == len(made)
    for concept in made:
        found = read[umls(concept.id)]
        wanted = replace(
            concept,
            id=umls(concept.id),
            parents=tuple(sorted(map(umls, concept.parents))),
            replaced_by=None if concept.replaced_by is None else umls(concept.replaced_by),
            xrefs=(),
        )
        assert set(found.names) == set(wanted.names)
        assert found.name == wanted.name
        assert replace(found, xrefs=(), names=()) == replace(wanted, names=())
    names = sum(len(concept.names) for concept in read.values())
    assert build(read.values(), tmp_path / "a.kb").info["names"] == str(names)


def test_rf2_gives_the_same_concepts_back(made: list[Concept], tmp_path: Path) -> None:
    write_rf2(made, tmp_path)
    for concept, found in zip(made, read_snomed(tmp_path), strict=True):
        assert found.id == sctid(concept.id)
        assert {name.text for name in found.names} == {name.text for name in concept.names}
        assert (found.types, found.definition) == (concept.types[:1], concept.definition)
        assert found.parents == tuple(map(sctid, concept.parents))
        assert found.replaced_by == (concept.replaced_by and sctid(concept.replaced_by))
        assert found.replaced_by is not None or found.name == concept.name


@pytest.mark.slow
def test_mesh_gives_the_same_concepts_back(made: list[Concept], tmp_path: Path) -> None:
    xml, table = tmp_path / "desc2020.xml", tmp_path / "replaced.tsv"
    assert write_mesh(made, xml, replaced=table) == SIZE
    read = {concept.id: concept for concept in read_mesh(xml, replaced=table)}
    assert len(read) == len(made)
    for concept in made:
        found = read[mesh(concept.id)]
        assert found.replaced_by == (concept.replaced_by and mesh(concept.replaced_by))
        if concept.replaced_by is None:
            assert {(n.text, n.scope) for n in found.names} == {(n.text, n.scope) for n in concept.names}
            assert (found.name, found.definition, found.types) == (concept.name, concept.definition, ("Disease",))
            assert found.parents == tuple(map(mesh, concept.parents))


def test_mesh_escapes_what_xml_does_not_bear(tmp_path: Path) -> None:
    names = (Name("A<b> & c"), Name("x > y", "broad"), Name("\"z\" & 'w'"))
    write_mesh([Concept("X:7", names, definition="p < 0.05 & so on")], tmp_path / "desc.xml")
    [found] = read_mesh(tmp_path / "desc.xml")
    assert {(n.text, n.scope) for n in found.names} == {(n.text, n.scope) for n in names}
    assert found.definition == "p < 0.05 & so on"


@pytest.mark.slow
def test_mesh_is_written_and_read_in_bounded_memory(tmp_path: Path) -> None:
    """Reading holds ids, headings and tree numbers: some hundred bytes a record, not the records."""
    path = tmp_path / "desc2020.xml"
    write_mesh(synthetic(SIZE), path)
    tracemalloc.start()
    assert sum(1 for _ in read_mesh(path)) == SIZE
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < SIZE * 1500


def mesh(id: str) -> str:
    return f"MESH:D{int(id.removeprefix('SYN:C')):09d}"


def sctid(id: str) -> str:
    return f"SNOMEDCT:{int(id.removeprefix('SYN:C'))}"


def umls(id: str) -> str:
    return id.replace("SYN:", "UMLS:")
