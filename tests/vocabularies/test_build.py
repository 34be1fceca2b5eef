from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest

from linnet.errors import FormatError, KnowledgeBaseError, LinnetError
from linnet.vocabularies.build import Source, build_from

OBO = """format-version: 1.2
data-version: releases/2026-01-01

[Term]
id: X:1
name: root

[Term]
id: X:2
name: leaf
is_a: X:1
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "mine.tsv"
    path.write_text("id\tname\tparents\nT:1\tone\t\nT:2\ttwo\tX:1\n", encoding="utf-8")
    return path


@pytest.fixture
def obo(tmp_path: Path) -> Path:
    path = tmp_path / "mine.obo"
    path.write_text(OBO, encoding="utf-8")
    return path


def test_sources_make_one_knowledge_base(table: Path, obo: Path, tmp_path: Path) -> None:
    seen: list[int] = []
    sources = [Source("table", table), Source("obo", obo, {"types": "none"})]
    kb = build_from(sources, tmp_path / "a.kb", name="both", progress=seen.append)
    assert [kb.id(row) for row in range(len(kb))] == ["T:1", "T:2", "X:1", "X:2"]
    assert kb[1].parents == ("X:1",)  # sources may refer to each other
    assert kb[3].parents == ("X:1",)
    assert kb.info["name"] == "both"
    assert kb.sources == [
        {"vocabulary": "table", "file": "mine.tsv", "sha256": hashlib.sha256(table.read_bytes()).hexdigest()},
        {
            "vocabulary": "obo",
            "file": "mine.obo",
            "sha256": hashlib.sha256(obo.read_bytes()).hexdigest(),
            "release": "releases/2026-01-01",
        },
    ]


def test_provenance_of_the_hpo() -> None:
    found = Source("hpo").provenance()
    assert found["file"] == "hp.obo"
    assert {"sha256", "release", "citation", "licence"} <= set(found)


def test_standard_input_has_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Input:
        buffer = io.BytesIO(b"id\tname\nT:1\tone\n")

    monkeypatch.setattr("sys.stdin", Input())
    kb = build_from([Source("table", Path("-"))], tmp_path / "a.kb")
    assert kb.sources == [{"vocabulary": "table"}]


def test_ids_of_two_sources(table: Path, tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match=r"mine\.tsv:2 and .*mine\.tsv:2: concept id 'T:1' stands twice"):
        build_from([Source("table", table), Source("table", table)], tmp_path / "a.kb")
    assert not (tmp_path / "a.kb").exists()


@pytest.mark.parametrize("place", [0, 1])
def test_missing_files_are_reported_by_their_reader(table: Path, tmp_path: Path, place: int) -> None:
    for vocabulary in ("table", "obo"):
        sources = [Source("table", table)]
        sources.insert(place, Source(vocabulary, tmp_path / "none.tsv"))
        with pytest.raises(FormatError, match=r"none\.tsv"):
            build_from(sources, tmp_path / "a.kb")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Source("tabel"), "did you mean 'table'"),
        (Source("table"), "needs the path of a file"),
        (Source("table", Path("x.tsv"), {"typo": 1}), "has no option 'typo'"),
    ],
)
def test_wrong_sources(source: Source, message: str, tmp_path: Path) -> None:
    with pytest.raises(LinnetError, match=message):
        build_from([source], tmp_path / "a.kb")


def test_no_sources(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match="no concepts"):
        build_from([], tmp_path / "a.kb")
