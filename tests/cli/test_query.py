"""`linnet query`: its questions, its refusals."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path

import pytest

from linnet.corpora import write
from linnet.data import Assertion, Concept, Document, Mention, Name
from linnet.kb import KnowledgeBase
from linnet.kb.build import build

from .conftest import Run

pytest.importorskip("duckdb", reason="the extra query is not installed")

FOUND: dict[str, tuple[str, list[tuple[int, int, str, Assertion]]]] = {
    "a": (
        "Short stature and seizures.",
        [(0, 13, "HP:0004322", "affirmed"), (18, 26, "HP:0001250", "affirmed")],
    ),
    "b": ("Short stature, no fever.", [(0, 13, "HP:0004322", "affirmed"), (18, 23, "HP:0001945", "negated")]),
    "c": ("Nothing.", []),
    "d": ("Fever.", [(0, 5, "HP:0001945", "affirmed")]),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a knowledge base, and linked documents that it belongs to."""
    folder = tmp_path_factory.mktemp("query")
    below = {"HP:0004322": "Short stature", "HP:0001250": "Seizures", "HP:0001945": "Fever"}
    concepts = [Concept(id, (Name(name),), parents=("HP:0000118",)) for id, name in below.items()]
    (folder / "home" / "kb").mkdir(parents=True)
    root = Concept("HP:0000118", (Name("Phenotypic abnormality"),))
    kb = build([root, *concepts], folder / "home" / "kb" / "signs.kb")
    docs = [
        Document(
            id,
            text,
            mentions=tuple(Mention(start, end, concepts=(hpo,), assertion=said) for start, end, hpo, said in found),
            meta={"year": 2000 + place // 2},
        )
        for place, (id, (text, found)) in enumerate(FOUND.items())
    ]
    (folder / "OUT").mkdir()
    write(docs, folder / "OUT" / "shard-000000-000000.jsonl")
    with KnowledgeBase.edit(kb.path) as edit:
        edit.add(Concept("HP:0002004", (Name("Temperature"),)))
        edit.retire("HP:0002004", successor="HP:0001945")
    made_of = {"version of the knowledge base": kb.version}
    manifest = {"linnet job": 1, "finished": True, "made of": made_of}
    (folder / "OUT" / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture
def linked(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LINNET_HOME", str(made / "home"))
    return made / "OUT"


def exported(run: Run, path: Path, *arguments: object) -> list[list[str]]:
    done = run("query", *arguments, "-o", path, "--overwrite")
    assert done.code == 0, done.err
    with path.open(encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def test_questions(run: Run, linked: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert [row[0] for row in exported(run, out, linked, "--concept", "HP:0004322")] == ["a", "b"]
    assert [row[0] for row in exported(run, out, linked, "--concept", "HP:0000118", "--under")] == ["a", "b", "d"]
    both = ("--concept", "hp:0004322", "--with", "HP:0001250")
    assert [row[0] for row in exported(run, out, linked, *both)] == ["a"]
    assert exported(run, out, linked, "--concept", "HP:0004322", "--only", "negated") == []
    assert [row[0] for row in exported(run, out, linked, "--concept", "HP:0001945", "--only", "affirmed")] == ["d"]
    years = exported(run, out, linked, "--concept", "HP:0001945", "--by", "year")
    assert years == [["2000", "1", "2"], ["2001", "1", "2"]]
    assert [row[:3] for row in exported(run, out, linked, "--concept", "HP:0004322", "--together", "--lift")] == [
        ["HP:0001250", "1", "1"],
        ["HP:0001945", "1", "2"],
    ]
    assert [row[3] for row in exported(run, out, linked, "--document", "a")] == ["HP:0004322", "HP:0001250"]


def test_on_the_terminal(run: Run, linked: Path) -> None:
    done = run("query", linked, "--concept", "HP:0000118", "--under", "--limit", 1)
    assert "3 of 4 documents" in done.out
    assert "and 2 more" in done.out
    done = run("query", linked, "--concept", "HP:0004322", "--together")
    rows = {tuple(cell.strip() for cell in line.split("│"))[1::5] for line in done.out.splitlines() if "HP:" in line}
    assert rows == {("HP:0001250", "Seizures"), ("HP:0001945", "Fever")}, "as the knowledge base of the job has them"
    done = run("query", linked, "--concept", "HP:0000001")
    assert ("0 of 4 documents" in done.out, "there is no concept 'HP:0000001' in signs.kb" in done.err) == (True, True)


def test_who_gives_a_name_is_told_the_id(run: Run, linked: Path, tmp_path: Path) -> None:
    assert "a name, and ids are wanted: HP:0001250" in run("query", linked, "--concept", "seizures").err
    done = run("query", linked, "--concept", "Short stature")
    assert (
        done.err
        == "linnet: there is no concept 'Short stature' in signs.kb; that is a name, and ids are wanted: HP:0004322\n"
    )
    assert "HP:0004322" in run("query", linked, "--concept", "HP:0001250", "--with", "short stature").err
    done = run("query", linked, "--concept", "Short stature", "--under")
    assert (done.code, "ids are wanted: HP:0004322" in done.err) == (2, True)
    several = exported(run, tmp_path / "out.csv", linked, "--concept", "HP:0004322 HP:0001250")
    assert [row[0] for row in several] == ["a"], "ids may be listed with blanks"


def test_a_name_where_no_knowledge_base_is_known(run: Run, linked: Path, tmp_path: Path) -> None:
    shard = shutil.copy(linked / "shard-000000-000000.jsonl", tmp_path / "linked.jsonl")
    assert "'short stature' looks like a name" in run("query", shard, "--concept", "short stature").err
    assert run("query", shard, "--concept", "HP:0000001").err == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say what is asked for: --concept"),
        (("--document", "a", "--by", "year"), "leave out the other questions"),
        (("--concept", "HP:0004322", "--by", "year", "--together"), "two questions"),
        (("--concept", "HP:0004322", "--by", "ward"), "no document has 'ward' in its meta; some have year"),
        (("--concept", "HP:0004322", "--only", "denied"), "no such assertion"),
        (("--concept", "HP:9999999", "--under"), "HP:9999999"),
        (("--concept", "HP:0004322", "--lift"), "--lift and --least are of --together"),
        (("--concept", "HP:0004322", "-o", "none/out.csv"), "there is no folder"),
        (("--document", "z"), "there is no document 'z'"),
        (("--concept", "HP:0004322", "--kb", "none"), "none"),
        (("--concept", "HP:0004322", "-o", "out.xlsx"), "answers are written as"),
    ],
)
def test_wrong_questions(
    run: Run, linked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("query", linked, *arguments)
    assert (done.code, said in done.err) == (2, True), done.err


def test_a_retired_id_means_its_successor(run: Run, linked: Path, tmp_path: Path) -> None:
    for more in ((), ("--under",)):
        rows = exported(run, tmp_path / "out.csv", linked, "--concept", "HP:0002004", *more)
        assert [row[0] for row in rows] == ["b", "d"]


def test_several_terminologies(run: Run, linked: Path, tmp_path: Path) -> None:
    linked = Path(shutil.copytree(linked, tmp_path / "OUT"))
    drugs = build([Concept("MESH:D1", (Name("Fits"),))], linked.parent / "home" / "kb" / "drugs.kb")
    shutil.copy(drugs.path, Path(os.environ["LINNET_HOME"]) / "kb")
    manifest = json.loads((linked / "manifest.json").read_text())
    version = manifest["made of"]
    manifest["made of"] = {"terminologies": [version, {"version of the knowledge base": drugs.version}]}
    (linked / "manifest.json").write_text(json.dumps(manifest))
    rows = exported(run, tmp_path / "out.csv", linked, "--concept", "HP:0000118", "--under")
    assert [row[0] for row in rows] == ["a", "b", "d"]
    assert exported(run, tmp_path / "out.csv", linked, "--concept", "MESH:D1", "--under") == []
    (Path(os.environ["LINNET_HOME"]) / "kb" / "drugs.kb").unlink()
    assert "name it with --kb" in run("query", linked, "--concept", "HP:0000118", "--under").err


def test_places_that_are_refused(run: Run, linked: Path, tmp_path: Path) -> None:
    linked = Path(shutil.copytree(linked, tmp_path / "OUT"))
    asked = ("--concept", "HP:0004322")
    assert "is read as input" in run("query", linked, *asked, "-o", linked / "out.csv").err
    (tmp_path / "mine.csv").write_text("mine\n")
    assert "another's" in run("query", linked, *asked, "-o", tmp_path / "mine.csv").err
    (linked / "manifest.json").unlink()
    assert "name it with --kb" in run("query", linked, *asked, "--under").err
    assert run("query", linked, *asked, "--under", "--kb", "signs").code == 0
