"""FHIR and OMOP from the command line: linked, converted from linked files and from shards of a job, never read."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from linnet.corpora import write
from linnet.data import Document
from tests.cli.conftest import Run


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    write([Document("7", "She has seizures.", meta={"person_id": 4}), Document("8", "Well.")], path)
    return path


def resources(path: Path) -> list[list[dict[str, Any]]]:
    return [[entry["resource"] for entry in json.loads(line)["entry"]] for line in path.read_text("utf-8").splitlines()]


def test_fhir(run: Run, recipe: Path, notes: Path, home: Path, tmp_path: Path) -> None:
    out = tmp_path / "notes.ndjson"
    command = ["link", notes, "--pipeline", recipe, "--to", "fhir", "-o", out, "--to-option", "date=2026-01-31"]
    done = run(*command, "--to-option", "systems=patient=https://example.org/mrn")
    assert done.code == 0, done.err
    assert "2 documents with 1 mentions" in done.err
    (note, finding, origin), other = resources(out)
    assert finding["code"]["coding"][0]["display"] == "Seizure"
    assert note["subject"] == {"type": "Patient", "identifier": {"system": "https://example.org/mrn", "value": "4"}}
    software, pipeline = origin["contained"][0]["version"]
    assert (software["type"], pipeline["value"].split(",")[0]) == ({"text": "software"}, recipe.name)
    assert [one["resourceType"] for one in other] == ["DocumentReference"]
    first = out.read_bytes()
    assert run(*command, "--to-option", "systems=patient=https://example.org/mrn").code == 0
    assert out.read_bytes() == first, "the same job writes the same bytes, its time given"


def test_omop_of_a_job(run: Run, recipe: Path, notes: Path, home: Path, tmp_path: Path) -> None:
    shards, out = tmp_path / "shards", tmp_path / "note_nlp.csv"
    refused = run("link", notes, "--pipeline", recipe, "-o", shards, "--workers", 1, "--to", "omop")
    assert "not as 'omop': linnet corpus convert makes omop of these" in refused.err
    assert run("link", notes, "--pipeline", recipe, "-o", f"{shards}/").code == 0
    options = ("--to-option", "first=5", "--to-option", "made_by=small")
    done = run("corpus", "convert", shards, out, "--to", "omop", *options)
    assert done.code == 0, done.err
    assert "omop cannot hold, and was not given" in done.err
    with out.open(encoding="utf-8", newline="") as stream:
        [row] = csv.DictReader(stream)
    assert (row["note_nlp_id"], row["note_id"], row["offset"], row["lexical_variant"]) == ("5", "7", "8", "seizures")
    assert row["nlp_system"].endswith("; small")
    assert "code=HP:0001250" in row["term_modifiers"]
    assert "--to-option made_by=NAME" not in done.err
    for number, source in enumerate((shards, next(shards.glob("shard-*.jsonl")), shards / "shard-*.jsonl")):
        done = run("corpus", "convert", source, out := tmp_path / f"{number}.csv", "--to", "omop")
        assert "made_by" not in done.err, "the manifest knows it"
        assert f"; {recipe.name}, small " in out.read_text("utf-8")
    (shards / "manifest.json").unlink()
    assert "--to-option made_by=NAME" in run("corpus", "convert", shards, tmp_path / "o.csv", "--to", "omop").err
    folder = run("corpus", "convert", shards, f"{tmp_path}/new/", "--to", "omop")
    assert "expected the name of a file" in folder.err
    assert run("corpus", "convert", notes, tmp_path / "note.csv", "--to", "omop_note").code == 0
    read = run("corpus", "stats", out, "--from", "omop")
    assert read.code == 2
    assert "the corpus format 'omop' cannot be read" in read.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--to-option", "text=true"], "--to-option text=true is for a file"),
        (["--to", "fhir", "--to-option", "txt=true"], "the writer of fhir has no option 'txt'"),
        (["--to", "fhir", "--to-option", "text=maybe"], "option text is 'maybe', expected true or false"),
        (["--to", "jsonl", "--to-option", "text=true"], "the writer of jsonl has no option 'text'; it has none"),
        (["--to", "omop", "--to-option", "first=one"], "option first is 'one', expected a whole number"),
    ],
)
def test_wrong_options(run: Run, recipe: Path, home: Path, arguments: list[str], problem: str) -> None:
    done = run("link", "Seizures.", "--pipeline", recipe, *arguments)
    assert (done.code, problem in done.err) == (2, True), done.err


def test_options_of_other_writers(run: Run, recipe: Path, notes: Path, home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert run("link", notes, "--pipeline", recipe, "-o", out, "--to-option", "texts=true").code == 0
    assert "document_text" in out.read_text("utf-8")


def test_a_folder_of_shards_is_not_made_a_file_of(
    run: Run, recipe: Path, notes: Path, home: Path, tmp_path: Path
) -> None:
    done = run("link", notes, "--pipeline", recipe, "--to", "fhir", "-o", f"{tmp_path}/out/")
    assert done.code == 2
    assert "out/ is a folder of shards, as jsonl or parquet, not as fhir: for one file give -o" in done.err
    assert not (tmp_path / "out").exists()
