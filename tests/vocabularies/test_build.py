from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest

from linnet.codec import dumps
from linnet.corpora.catalog import read_corpus
from linnet.corpora.describe import describe
from linnet.data import Document, Mention
from linnet.errors import FormatError, KnowledgeBaseError, LinnetError, LinnetWarning
from linnet.vocabularies import read_vocabulary
from linnet.vocabularies.build import Source, build_from
from linnet.vocabularies.export import write_table
from linnet.vocabularies.join import JoinReport

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
            "options": "types=none",
            "release": "releases/2026-01-01",
        },
        {
            "vocabulary": "joined",
            "by": "id, retired id, cross-reference",
            "read": "2 + 2",
            "concepts": "4",
            "same by id": "0",
            "same by retired id": "0",
            "same by cross-reference": "0",
        },
    ]


@pytest.mark.parametrize(("format", "ending"), [("table", "tsv"), ("table", "csv"), ("concepts", "jsonl")])
def test_retired_rows_of_ones_own_files_keep_what_they_hold(tmp_path: Path, format: str, ending: str) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("id\tname\tsynonyms\ttypes\treplaced_by\nX:1\ta\tb|c\tDrug\tX:2\nX:2\td\t\t\t\n")
    kb = build_from([Source("table", path)], tmp_path / "a.kb")
    out = tmp_path / f"out.{ending}"
    write_table(kb.concepts(), out)
    again = build_from([Source(format, out)], tmp_path / "b.kb")
    assert list(again.concepts()) == list(read_vocabulary("table", path))
    assert again.version == kb.version


def test_a_state_that_was_written_out_comes_back_with_its_version(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("id\tname\tsynonyms\nX:1\ta\tb|c\nX:2\td\t\n")
    kb = build_from([Source("table", path)], tmp_path / "a.kb")
    with kb.edit(kb.path) as change:
        change.retire("X:1", "X:2")
    kb = kb.open(kb.path)
    write_table(kb.concepts(), tmp_path / "out.jsonl")
    assert build_from([Source("concepts", tmp_path / "out.jsonl")], tmp_path / "b.kb").version == kb.version


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


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other.tsv"
    path.write_text("id\tname\txrefs\nT:2\tdeux\t\nU:1\teins\tT:1\nU:3\tdrei\t\n", encoding="utf-8")
    return path


def test_sources_are_joined_and_counted(table: Path, other: Path, obo: Path, tmp_path: Path) -> None:
    sources = [Source("table", table), Source("table", other), Source("obo", obo)]
    report = JoinReport()
    kb = build_from(sources, tmp_path / "a.kb", report=report)
    assert (report.read, report.by_id, report.by_xref) == ([2, 3, 2], 1, 1)
    assert [kb.id(row) for row in range(len(kb))] == ["T:1", "T:2", "U:3", "X:1", "X:2"]
    assert [name.text for name in kb[kb.row("U:1")].names] == ["one", "eins"]
    assert (kb.sources[-1]["read"], kb.sources[-1]["same by id"]) == ("2 + 3 + 2", "1")
    assert "conflicts" not in kb.sources[-1]
    kb = build_from(sources, tmp_path / "a.kb", by_xref=False)
    assert kb.id(kb.row("U:1")) == "U:1"
    assert kb.sources[-1]["by"] == "id, retired id"


def test_conflicts_are_told_and_kept(tmp_path: Path) -> None:
    files = {"a": "id\tname\nT:1\tone\n", "b": "id\tname\txrefs\nU:1\tx\tT:1\nU:2\ty\tT:1\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    sources = [Source("table", tmp_path / name) for name in files]
    with pytest.warns(LinnetWarning, match="2 kept apart because it is ambiguous"):
        kb = build_from(sources, tmp_path / "a.kb")
    assert len(kb) == 3
    assert kb.sources[-1]["conflicts"].startswith("2 kept apart")
    build_from(sources, tmp_path / "a.kb", report=JoinReport())  # told by whoever takes the report


def test_an_id_twice_in_one_of_two_sources(table: Path, tmp_path: Path) -> None:
    twice = tmp_path / "twice.jsonl"
    twice.write_text('{"id":"A:1","names":[{"text":"x"}]}\n' * 2, encoding="utf-8")
    with pytest.raises(KnowledgeBaseError, match=r"twice\.jsonl:1 and .*twice\.jsonl:2: concept id 'A:1' stands twice"):
        build_from([Source("table", table), Source("concepts", twice)], tmp_path / "a.kb")
    assert not (tmp_path / "a.kb").exists()


@pytest.mark.slow
def test_progress_goes_on_from_reading_to_writing(tmp_path: Path) -> None:
    for name in "AB":
        rows = "".join(f"{name}:{number}\tname {number}\n" for number in range(6000))
        (tmp_path / name).write_text(f"id\tname\n{rows}", encoding="utf-8")
    seen: list[int] = []
    sources = [Source("table", tmp_path / name) for name in "AB"]
    assert len(build_from(sources, tmp_path / "a.kb", progress=seen.append)) == 12_000
    assert seen == [5000, 10_000, 17_000, 22_000]
    build_from(sources, tmp_path / "a.kb")


def test_sources_of_a_recipe(tmp_path: Path, table: Path) -> None:
    made = Source.of({"from": "table", "path": "mine.tsv", "prefix": "T", "columns": {"name": "id"}}, tmp_path)
    assert made == Source("table", table, {"prefix": "T", "columns": {"name": "id"}})
    assert Source.of({"from": "hpo"}, tmp_path) == Source("hpo")
    assert Source.of({"from": "corpus", "path": "bc5cdr:train"}, tmp_path).path == Path("bc5cdr:train")
    (tmp_path / "gold").mkdir()
    assert Source.of({"from": "corpus", "path": "gold"}, tmp_path).path == tmp_path / "gold"
    made = Source.of({"from": "mesh-table", "path": "m.tsv", "trees": "trees.tsv"}, tmp_path)
    assert made.options["trees"] == tmp_path / "trees.tsv"
    assert Source.of({"from": "umls", "path": "/umls", "languages": ["ENG"]}, tmp_path).path == Path("/umls")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, 'expected {from = "a format"'),
        ({"from": "table", "path": 3}, 'expected {from = "a format"'),
        ({"from": "tabel", "path": "x"}, "did you mean 'table'"),
        ({"from": "table", "path": "x", "seperator": ";"}, "did you mean 'separator'"),
        ({"from": "ctd", "path": "x", "slim": 1}, "slim is 1, expected true or false"),
        ({"from": "table", "path": "x", "prefix": True}, "prefix is True, expected a text"),
        ({"from": "table", "path": "x", "columns": ["id"]}, "expected pairs"),
        ({"from": "umls", "path": "x", "languages": [1.5]}, "expected values separated by commas"),
        ({"from": "umls", "path": "x", "languages": 1.5}, "expected values separated by commas"),
    ],
)
def test_wrong_tables_of_a_recipe(table: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(LinnetError, match=message):
        Source.of(table, tmp_path)


def test_a_corpus_is_a_source(tmp_path: Path) -> None:
    mention = Mention(0, 4, source="gold", types=("Phenotype",), concepts=("HP:0001250",))
    (tmp_path / "gold.jsonl").write_text(dumps(Document("d1", "Fits.", mentions=(mention,))) + "\n", encoding="utf-8")
    source = Source("corpus", tmp_path / "gold.jsonl", {"min_count": 1}, {"licence": "CC0"})
    kb = build_from([source], tmp_path / "a.kb")
    assert kb[0].name == "Fits"
    assert kb.sources[0].keys() == {"vocabulary", "file", "sha256", "options", "licence"}
    assert Source("corpus", Path("bc5cdr:train")).provenance() == {"vocabulary": "corpus", "name": "bc5cdr:train"}
    shown = Source("mesh-table", tmp_path, {"trees": tmp_path / "t.tsv", "x": ("a", "b"), "y": {"c": "d"}}).provenance()
    assert shown["options"] == "trees=t.tsv x=a,b y=c=d"
    assert shown["folder"] == tmp_path.name


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


@pytest.mark.slow
@pytest.mark.data
def test_the_knowledge_base_of_the_benchmarks(data: Path, tmp_path: Path) -> None:
    tables = [
        {"from": "table", "path": "kb/mesh_merged.tsv.gz", "prefix": "MESH"},
        {"from": "ctd", "path": "kb/CTD_diseases_2017-06.tsv.gz"},
    ]
    report = JoinReport()
    kb = build_from([Source.of(table, data) for table in tables], tmp_path / "both.kb", report=report)
    assert (len(kb), kb.info["names"], kb.info["retired"]) == (53_156, "214188", "3430")
    assert (report.read, report.by_id, report.conflicts()) == ([47_246, 11_865], 5_955, [])
    stats = describe(read_corpus("bc5cdr", split="dev", data=data), kb=kb)
    assert (stats.mentions, stats.covered) == (9_591, 9_066)  # 94.5 %
