"""Jobs over what is no plain file: releases of PubMed, databases, tables, files in stores."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from linnet.corpora import read, write
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.scale.job import Job, run
from linnet.scale.units import Inputs, Reading, digests_of, units_of
from tests.scale.parts import Inline, marking, seen


def read_units(inputs: Inputs) -> list[list[Document]]:
    """Return the documents of each unit, as workers read them."""
    units = []
    for unit in units_of(inputs, 2):
        reading, docs = Reading(unit, size=2, format=inputs.format, options=inputs.options), list[Document]()
        while reading.parts is None:
            errors: list[dict[str, str]] = []
            docs += [doc for doc, _ in reading.take(errors)]
            assert not errors
        units.append(docs)
    return units


def citation(pmid: int, text: str) -> str:
    article = f"<Article><ArticleTitle>{text}</ArticleTitle></Article>"
    return f'<MedlineCitation><PMID Version="1">{pmid}</PMID>{article}</MedlineCitation>'


def test_a_release_has_the_newest_of_each_citation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pubmed25n0001.xml").write_text(f"<S>{citation(1, 'a')}{citation(2, 'b')}</S>")
    (tmp_path / "pubmed25n0002.xml").write_text(f"<S>{citation(1, 'A')}</S>")
    write([Document("n", "Note.")], tmp_path / "n.jsonl")
    monkeypatch.chdir(tmp_path.parent)
    for source in (tmp_path, Path(tmp_path.name)):
        units = read_units(Inputs((str(source),)))
        assert [doc.text for docs in units for doc in docs] == ["Note.", "b", "A"]


def test_a_file_that_comes_to_a_release_says_anew_which_citations_count(tmp_path: Path) -> None:
    release = tmp_path / "release"
    release.mkdir()
    for number, held in enumerate(((1, "Fits."), (2, "Rash."), (1, "Fever.")), 1):
        (release / f"pubmed25n000{number}.xml").write_text(f"<S>{citation(*held)}</S>")
        if number > 1:
            run(Job(Inputs((str(release),)), tmp_path / "out", marking, {}, size=1, gather=Inline))
    run(Job(Inputs((str(release),)), tmp_path / "whole", marking, {}, size=1, gather=Inline))
    assert seen(tmp_path / "out") == seen(tmp_path / "whole")
    assert [doc.text for doc in read(tmp_path / "out")] == ["Rash.", "Fever."]


def test_texts_among_files_keep_their_place(tmp_path: Path) -> None:
    for name in "ac":
        (tmp_path / f"{name}.txt").write_text(name)
    sources = Document("0", "0"), str(tmp_path / "a.txt"), Document("b", "b"), str(tmp_path / "c.txt")
    units = read_units(Inputs(sources))
    assert [doc.text for docs in units for doc in docs] == ["0", "a", "b", "c"]


def test_a_text_of_brat_that_was_mended_is_linked_again(tmp_path: Path) -> None:
    folder = tmp_path / "brat"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text("Fits.")
        (folder / f"{number}.ann").write_text("")
    job = Job(Inputs((str(folder),)), tmp_path / "out", marking, {}, size=1, gather=Inline)
    run(job)
    (folder / "1.txt").write_text("Fever now.")
    assert run(job).before == 2
    assert [doc.text for doc in read(tmp_path / "out")] == ["Fits.", "Fever now.", "Fits."]


def test_a_database_and_a_table(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="the extra sql is not installed")
    path = tmp_path / "n.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (id, body)")
        db.executemany("INSERT INTO notes VALUES (?, ?)", [(number, f"Note {number}.") for number in range(5)])
    options = (("columns", {"text": "body"}), ("query", "select * from notes where id > 1 order by id"))
    for source in (str(path), f"sqlite:///{path}"):
        [docs] = read_units(Inputs((source,), format="sql", options=options))
        assert [doc.id for doc in docs] == ["2", "3", "4"]


@pytest.mark.parametrize("as_file", [True, False])
def test_a_database_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, as_file: bool) -> None:
    pytest.importorskip("sqlalchemy", reason="the extra sql is not installed")
    monkeypatch.setattr("linnet.scale.job.processors", lambda: 4)
    monkeypatch.setattr("linnet.scale.job.MEGABYTE", 1)
    path = tmp_path / "n.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (id, text)")
        db.executemany("INSERT INTO notes VALUES (?, ?)", [(str(number), "Fits.") for number in range(99)])
    inputs = Inputs(
        (str(path) if as_file else f"sqlite:///{path}",), options=(("query", "select * from notes order by random()"),)
    )
    run(Job(inputs, tmp_path / "out", marking, {}, size=9, gather=Inline))
    assert {doc.id for doc in read(tmp_path / "out")} == {str(number) for number in range(99)}


def test_a_database_that_fails_stops_the_job(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="the extra sql is not installed")
    path = tmp_path / "n.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (id, body)")
    for source, said in ((str(path), "no such column"), (f"sqlite:///{path}", "no such column"), ("n2.db", "n2.db")):
        options = (("query", "select pages from notes"),)
        with pytest.raises(LinnetError, match=said):
            read_units(Inputs((source,), format="sql", options=options))
        with pytest.raises(LinnetError, match=said):  # another query each time: nothing was linked that binds the job
            run(Job(Inputs((source,), (), "sql", options), tmp_path / "out", marking, {}, gather=Inline))


def test_a_store() -> None:
    fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")
    fsspec.filesystem("memory").pipe("/job/a.txt", b"A note.")
    [docs] = read_units(Inputs(("memory://job",)))
    assert [doc.text for doc in docs] == ["A note."]


def test_a_file_of_a_store_that_changed_is_another_input() -> None:
    fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")
    inputs, digests = Inputs(("memory://changing",)), set()
    for text in (b"A note.", b"B note."):
        fsspec.filesystem("memory").pipe("/changing/a.txt", text)
        digests.add(digests_of(inputs, units_of(inputs, 2))[0])
    assert len(digests) == 2
    one = Inputs(("memory://changing/a.txt",))
    assert digests_of(one, units_of(one, 2)) == digests_of(one, units_of(one, 2))


def test_times_of_tables_need_no_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    when = pyarrow.array([1_234_567_890_123_456_789], pyarrow.timestamp("ns", "UTC"))
    long = pyarrow.array([7_000_000_001], pyarrow.duration("ns"))
    table = pyarrow.table({"id": ["a"], "text": ["Fits."], "when": when, "long": long})
    parquet.write_table(table, tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pandas", None)
    [docs] = read_units(Inputs((str(tmp_path / "a.parquet"),)))
    assert dict(docs[0].meta) == {"when": "2009-02-13T23:31:30.123456+00:00", "long": "0:00:07"}
