"""`linnet link` and `linnet corpus` with tables, databases and stores."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from .conftest import Run

pytest.importorskip("sqlalchemy", reason="the extra sql is not installed")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "notes.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (key TEXT, letter TEXT, year INTEGER)")
        db.executemany("INSERT INTO notes VALUES (?, ?, ?)", [("a", "Short stature.", 2020), ("b", "Nothing.", 2021)])
    return path


def test_link_a_database(run: Run, recipe: Path, database: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    query = "select * from notes where year > 2000"
    for source in (f"sqlite:///{database}", database):
        done = run("link", source, "--pipeline", recipe, "-o", out, "--query", query, "--columns", "id=key,text=letter")
        assert done.code == 0, done.err
        docs = [json.loads(line) for line in out.read_text().splitlines()]
        found = [(doc["id"], doc["meta"]["year"], len(doc["mentions"])) for doc in docs]
        assert found == [("a", 2020, 1), ("b", 2021, 0)]
    for source in (f"sqlite:///{database}", database):  # without a query, which says that it is a database
        done = run("link", source, "--pipeline", recipe, "-o", "-", "--to", "jsonl", "--columns", "id=key,text=letter")
        assert done.code == 0, done.err
        assert len(done.out.splitlines()) == 2
    assert run("link", f"sqlite:///{database}", "--pipeline", recipe).code == 2, "which column is the text?"


def test_link_a_store(run: Run, recipe: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")
    fsspec.filesystem("memory").pipe("/link/a.txt", b"Short stature.")
    done = run("link", "memory://link", "--pipeline", recipe, "-o", "-", "--to", "jsonl")
    assert json.loads(done.out)["id"] == "a"
    done = run("corpus", "convert", "memory://link/a.txt", "-", "--to", "jsonl")
    assert json.loads(done.out) == {"id": "a", "text": "Short stature."}
    for source in ("https://127.0.0.1/a.txt", "nonsense://b/a.txt"):
        done = run("link", source, "--pipeline", recipe)
        assert (done.code, "are not read" in done.err) == (2, True), done.err


def test_a_sentence_with_an_address_is_a_text(run: Run, recipe: Path) -> None:
    done = run("link", "https://example.org says short stature", "--pipeline", recipe, "-o", "-", "--to", "jsonl")
    assert json.loads(done.out)["mentions"], done.err


def test_columns_of_what_has_none(run: Run, recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Fits.")
    done = run("link", tmp_path / "a.txt", "--pipeline", recipe, "--columns", "text=note", "--from", "text")
    assert "text has no option 'columns'" in done.err
    done = run("link", tmp_path / "a.txt", "--pipeline", recipe, "--columns", "note")
    assert "expected pairs" in done.err
