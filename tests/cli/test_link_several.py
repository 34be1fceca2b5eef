"""``linnet link`` with several knowledge bases."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Name
from linnet.home import kb_named
from linnet.kb import KnowledgeBase
from linnet.kb.build import build

from .conftest import Run

NOTE = "Short stature and seizures, on phenobarbital."
DRUGS = [
    Concept("MESH:D012640", (Name("Seizures"),), ("Disease",)),
    Concept("MESH:D010634", (Name("Phenobarbital"),), ("Chemical",)),
    Concept("MESH:D014867", (Name("Water"),), ("Chemical",)),
    Concept("MESH:D006225", (Name("Hand"),), ("Anatomy",)),
]


@pytest.fixture
def bases(home: Path, kb: KnowledgeBase) -> list[str]:
    """Options that name two knowledge bases, one of them under LINNET_HOME."""
    path = kb_named("mesh")
    path.parent.mkdir(parents=True)
    build(DRUGS, path, name="mesh")
    return ["--kb", str(kb.path), "--kb", "mesh"]


def mentions(out: str) -> list[dict[str, Any]]:
    return [mention for line in out.splitlines() for mention in json.loads(line)["mentions"]]


def test_phenotypes_diseases_and_drugs_in_one_command(run: Run, bases: list[str]) -> None:
    done = run("link", "-q", NOTE, *bases)
    assert done.code == 0, done.err
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.out.splitlines() if line.startswith("│")]
    assert [[*row[:2], row[3]] for row in rows] == [
        ["Short stature", "small", "HP:0004322"],
        ["seizures", "mesh", "MESH:D012640"],
        ["seizures", "small", "HP:0001250"],
        ["phenobarbital", "mesh", "MESH:D010634"],
    ]
    assert rows[1][4] == "Seizures"
    assert "terminology" in done.out
    assert "terminology" not in run("link", "-q", NOTE, *bases[:2]).out


def test_mesh_is_diseases_and_drugs_without_everyday_words(run: Run, bases: list[str]) -> None:
    text = "Hand pain, drinks water, seizures."
    one = run("link", "-q", text, "--kb", "mesh", "--to", "jsonl")
    assert [mention["concepts"] for mention in mentions(one.out)] == [["MESH:D012640"]]
    whole = run("link", "-q", text, "--kb", "mesh", "--pipeline", "dictionary", "--to", "jsonl")
    assert len(mentions(whole.out)) == 3


@pytest.mark.slow
def test_every_output(run: Run, bases: list[str], tmp_path: Path) -> None:
    page, sheet, times = tmp_path / "page.html", tmp_path / "out.csv", tmp_path / "times.csv"
    done = run("link", NOTE, *bases, "-o", sheet, "--html", page, "--metrics", times)
    assert done.code == 0, done.err
    found = [(row["text"], row["terminology"], row["names"]) for row in csv.DictReader(io.StringIO(sheet.read_text()))]
    assert found[1:3] == [("seizures", "mesh", "Seizures"), ("seizures", "small", "Seizure")]
    assert "Knowledge base: small, mesh" in page.read_text()
    assert {row["part"] for row in csv.DictReader(io.StringIO(times.read_text()))} >= {"sentences", "several"}
    for format in ("jsonl", "bioc", "pubtator"):
        done = run("link", NOTE, *bases, "-o", tmp_path / f"out.{format}", "--to", format)
        assert (done.code, "warning" in done.err) == (0, False), done.err
    converted = run("corpus", "convert", tmp_path / "out.bioc", tmp_path / "back.jsonl", "--from", "bioc")
    assert converted.code == 0, converted.err
    back, first = (mentions((tmp_path / name).read_text()) for name in ("back.jsonl", "out.jsonl"))
    assert [one["terminology"] for one in back] == [one["terminology"] for one in first]


def test_conditions(run: Run, bases: list[str]) -> None:
    done = run("link", "-q", NOTE, *bases, "--types", "Chemical", "--under", "HP:0001250", "--to", "jsonl")
    assert [one["concepts"][0] for one in mentions(done.out)] == ["HP:0001250", "MESH:D010634"]
    done = run("link", "-q", NOTE, *bases, "--types", "Drug")
    assert done.code == 2
    assert "small.kb and mesh.kb has no semantic type 'Drug'" in done.err


def test_the_same_twice_is_refused(run: Run, bases: list[str]) -> None:
    done = run("link", NOTE, "--kb", "mesh", "--kb", "mesh")
    assert (done.code, "two of the terminologies are called mesh" in done.err) == (2, True)


def test_gold_of_one_terminology(run: Run, bases: list[str], tmp_path: Path) -> None:
    gold, found = tmp_path / "gold.tsv", tmp_path / "found.jsonl"
    gold.write_text("7\nSeizures, water.\n0\t8\tSeizures\tHP:0001250\n")
    text = tmp_path / "7.txt"
    text.write_text("Seizures, water.")
    assert run("link", text, *bases, "-o", found).code == 0
    done = run("evaluate", gold, found, "--kb", bases[1], "--json")
    figures = json.loads(done.out)["mention"]
    assert (figures["right"], figures["predicted"]) == (1, 1)
    assert "measured are the mentions of small; those of mesh are left out" in done.err
    assert json.loads(run("evaluate", gold, found, "--json", "-q").out)["mention"] == figures, "by prefix"
