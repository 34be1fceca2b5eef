"""Formats of other tools on the command line: converted there and back, linked to, built into knowledge bases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import linnet
from linnet.kb import KnowledgeBase

from .conftest import Run

NOTE = "Short stature and 🧬 seizures.\n"
NAMED: dict[str, Any] = {"begin": 21, "length": 8, "text": "seizures", "source": "GOLD", "confidence": 1.0}
NAMED |= {"refId": "C0036572", "class": "NamedEntityAnnotation", "candidates": []}
DATA: dict[str, Any] = {"name": "notes", "language": "en", "queries": []}
DATA["documents"] = [
    {
        "begin": 0,
        "length": 31,
        "text": NOTE,
        "id": "7",
        "title": None,
        "language": "en",
        "type": None,
        "class": "Document",
    }
]
DATA["documents"][0]["annotations"] = [NAMED]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "trainx.json"
    path.write_text(json.dumps(DATA))
    return path


@pytest.mark.parametrize("name", ["x.jsonl", "x.bigbio", "x.texoo.gz", "x.xml", "x.json"])
def test_texoo_there_and_back(run: Run, source: Path, tmp_path: Path, name: str) -> None:
    assert "cannot hold" not in run("corpus", "convert", source, tmp_path / name).err
    assert run("corpus", "convert", tmp_path / name, tmp_path / "back.texoo").code == 0
    back = json.loads((tmp_path / "back.texoo").read_text(encoding="utf-8"))
    for doc in back["documents"]:  # formats that give mentions an id have it here too
        doc.pop("linnet", None)
    assert back == DATA


def test_a_page_is_converted_with_what_it_lacks_named(run: Run, source: Path, tmp_path: Path) -> None:
    done = run("corpus", "convert", source, tmp_path / "x.html")
    assert (done.code, "document meta (2)" in done.err) == (0, True), done.err
    assert run("corpus", "convert", tmp_path / "x.html", tmp_path / "back.jsonl").code == 0
    [doc] = linnet.read(tmp_path / "back.jsonl")
    assert [(doc.surface(mention), mention.concepts) for mention in doc.mentions or ()] == [
        ("seizures", ("UMLS:C0036572",))
    ]


@pytest.mark.parametrize("to", ["texoo", "bigbio", "html"])
def test_linked_notes_are_written_for_others(run: Run, recipe: Path, tmp_path: Path, to: str) -> None:
    (tmp_path / "7.txt").write_text(NOTE)
    done = run("link", tmp_path / "7.txt", "--pipeline", recipe, "-o", tmp_path / f"out.{to}")
    assert done.code == 0, done.err
    [doc] = linnet.read(tmp_path / f"out.{to}")
    assert [(doc.surface(mention), mention.source) for mention in doc.mentions or ()] == [
        ("Short stature", "pred"),
        ("seizures", "pred"),
    ]


def test_a_terminology_there_and_back(run: Run, home: Path, tmp_path: Path) -> None:
    entry = {"id": "C0015967", "title": '"Fever, unspecified",Pyrexia', "text": "Heat.", "type": "Sign"}
    (tmp_path / "kb.json").write_text(json.dumps({"documents": [entry]}))
    done = run("kb", "build", tmp_path / "kb.json", "--from", "texoo", "-o", "signs")
    assert done.code == 0, done.err
    kb = KnowledgeBase.open("signs")
    assert [name.text for name in kb[kb.row("UMLS:C0015967")].names] == ["Fever, unspecified", "Pyrexia"]
    assert run("kb", "export", "signs", "-o", tmp_path / "out.texoo").code == 0
    [written] = json.loads((tmp_path / "out.texoo").read_text())["documents"]
    assert {key: written[key] for key in entry} == entry


def test_malformed_files_are_named(run: Run, source: Path, tmp_path: Path) -> None:
    source.write_text(json.dumps(DATA).replace('"begin": 21', '"begin": 22'))
    done = run("corpus", "convert", source, tmp_path / "o.jsonl")
    assert (done.code, done.out) == (2, "")
    assert "documents[0].annotations[0]: begin and length say" in done.err
