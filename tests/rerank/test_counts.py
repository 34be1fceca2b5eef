from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from linnet.data import Abbreviation, Document, Mention, Span
from linnet.errors import FormatError, LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.rerank.counts import Counts, answers, bag


def test_names_and_bags_are_counted(mesh: KnowledgeBase, corpus: list[Document]) -> None:
    counts = Counts.of(corpus, mesh)
    surfaces = Counter(doc.surface(m).casefold() for doc in corpus for m in doc.mentions or ())
    assert counts.names["sugar sickness"] == {mesh.row("MESH:1"): surfaces["sugar sickness"]}
    assert counts.bags[bag("diabetes type ii")] == {mesh.row("MESH:3"): surfaces["type ii diabetes"]}
    assert sum(counts.concepts.values()) == sum(surfaces.values())
    assert counts.types["Disease"] == counts.concepts


def test_long_forms_retired_ids_and_composites(mesh: KnowledgeBase) -> None:
    text = "Juvenile diabetes (JD). JD and breast and ovarian cancer."
    doc = Document(
        "a",
        text,
        abbreviations=(Abbreviation(Span(19, 21), Span(0, 17)),),
        mentions=(
            Mention(24, 26, concepts=("MESH:10",), source="gold"),
            Mention(31, 56, concepts=("MESH:6", "MESH:7"), source="gold"),
            Mention(0, 3, concepts=("MESH:404",), source="gold"),
            Mention(0, 3, concepts=(), source="gold"),
        ),
    )
    counts = Counts.of([doc], mesh)
    row = mesh.row("MESH:1")
    assert counts.names == {"jd": {row: 1}, "juvenile diabetes": {row: 1}}
    assert counts.concepts == {row: 1, mesh.row("MESH:6"): 1, mesh.row("MESH:7"): 1}


def test_answers_are_those_the_knowledge_base_holds(mesh: KnowledgeBase) -> None:
    mention = Mention(0, 1, concepts=("MESH:404",), alternatives=(("MESH:1",), ("MESH:2", "MESH:3")))
    assert answers(mention, mesh) == [(mesh.row("MESH:1"),), (mesh.row("MESH:2"), mesh.row("MESH:3"))]
    assert answers(Mention(0, 1), mesh) == []


@pytest.mark.parametrize("out", [0, 7])
def test_documents_can_be_left_out(mesh: KnowledgeBase, corpus: list[Document], out: int) -> None:
    whole, own = Counts.of(corpus, mesh), Counts.of([corpus[out]], mesh)
    fewer = whole.minus(own)
    want = Counts.of([doc for doc in corpus if doc is not corpus[out]], mesh)
    for table in ("names", "bags", "types"):
        assert {k: v for k, v in getattr(fewer, table).items() if v} == getattr(want, table)
    assert fewer.concepts == want.concepts
    assert whole.concepts == Counts.of(corpus, mesh).concepts


def test_they_follow_retired_concepts(mesh: KnowledgeBase, corpus: list[Document], tmp_path: Path) -> None:
    counts = Counts.of(corpus, mesh)
    one, two, four = (mesh.row(f"MESH:{number}") for number in (1, 2, 4))
    path = shutil.copy(mesh.path, tmp_path / "mesh.kb")
    with KnowledgeBase.edit(path) as edit:
        edit.merge("MESH:1", "MESH:2")
        edit.retire("MESH:4")
    with pytest.warns(LinnetWarning, match=r"what was learned of them is left out: 1 \(MESH:4\)"):
        moved = counts.rebound(KnowledgeBase.open(path))
    assert moved.names["diabetes type 1"] == {one: counts.names["diabetes type 1"][two]}
    assert moved.concepts[one] == counts.concepts[one] + counts.concepts[two]
    assert not {two, four} & {*moved.concepts, *moved.types["Disease"]}
    assert "renal disease" in counts.names
    assert "renal disease" not in moved.names
    with KnowledgeBase.edit(path) as edit:
        edit.add(mesh["MESH:4"])
        edit.add(mesh["MESH:2"])
    assert moved.rebound(KnowledgeBase.open(path)) == counts


def test_they_are_saved(mesh: KnowledgeBase, corpus: list[Document], tmp_path: Path) -> None:
    odd = replace(corpus[0], id="odd")
    counts = Counts.of([*corpus, odd], mesh)
    counts.save(tmp_path / "counts.jsonl")
    assert Counts.load(tmp_path / "counts.jsonl") == counts


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "{",
        pytest.param("[" * 100_000, id="nested"),
        '["names", "a", [1], [1e999]]',
        '["names", "a", [1], []]',
        '["zzz", "a", [1], [1]]',
        '["names", "a", 1, 1]',
    ],
)
def test_damage_is_told_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "counts.jsonl"
    path.write_text(f'["names", "a", [1], [1]]\n{line}\n')
    with pytest.raises(FormatError, match=r"counts\.jsonl:2: no counts"):
        Counts.load(path)
    with pytest.raises(FormatError, match="cannot be read"):
        Counts.load(tmp_path / "missing.jsonl")
