"""Faults of the machine, the network or the setup while a job reads: it stops, and the same command goes on."""

from __future__ import annotations

import errno
import gzip
import importlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from linnet.corpora import jsonl
from linnet.data import Document
from linnet.errors import FormatError, LinnetError
from linnet.scale.job import Job, run
from linnet.scale.shard_files import shard_of
from linnet.scale.shards import Settings
from linnet.scale.units import Inputs
from tests.scale.parts import Inline, marking, notes, seen


def job(source: Path | Inputs, out: Path, **options: Any) -> Job:
    inputs = source if isinstance(source, Inputs) else Inputs((str(source),))
    return Job(inputs, out, marking, {"pipeline": 1}, **{"gather": Inline, "size": 50, **options})


def failing_at(number: int, error: Exception, real: Callable[..., Iterator[Document]]) -> Any:
    """Return a reader that fails once it has given so many documents."""

    def read(*given: Any, **options: Any) -> Iterator[Document]:
        for place, doc in enumerate(real(*given, **options)):
            if place == number:
                raise FormatError("f", "cannot be read") from error
            yield doc

    return read


@pytest.mark.parametrize(
    "error", [OSError(errno.EIO, "no"), OSError(errno.EMFILE, "no"), TimeoutError(), MemoryError()]
)
def test_what_passes_stops_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    source = notes(tmp_path / "notes", 200)
    run(job(source, tmp_path / "whole"))
    with monkeypatch.context() as patch:
        patch.setattr(jsonl, "read", failing_at(120, error, jsonl.read))
        with pytest.raises(LinnetError, match=r"part0\.jsonl cannot be read now: .*run the same command"):
            run(job(source, tmp_path / "out"))
    told = run(job(source, tmp_path / "out"))
    assert told.before == 100
    assert seen(tmp_path / "out") == seen(tmp_path / "whole")


def test_a_file_that_is_to_blame_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = notes(tmp_path / "notes", 200)
    monkeypatch.setattr(jsonl, "read", failing_at(120, PermissionError(errno.EACCES, "no"), jsonl.read))
    assert run(job(source, tmp_path / "out")).counts["errors"] == 1


def test_what_is_not_installed_stops_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    real = importlib.import_module

    def without(name: str, package: str | None = None) -> Any:
        if name.startswith("pyarrow"):
            raise ModuleNotFoundError(name=name)
        return real(name, package)

    monkeypatch.setattr("importlib.import_module", without)
    with pytest.raises(LinnetError, match="needs pyarrow, which is not installed"):
        run(job(tmp_path / "a.parquet", tmp_path / "out"))
    monkeypatch.undo()
    pytest.importorskip("pyarrow")
    with pytest.raises(LinnetError, match="damaged"):  # now it is read
        run(job(tmp_path / "a.parquet", tmp_path / "out"))


def test_a_database_that_refuses_stops_the_job(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="the extra sql is not installed")
    path = tmp_path / "n.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (id, text)")
        db.execute("INSERT INTO notes VALUES (1, 'Fits :see there.')")
    for query, problem in (("select * from no", "no such table: no"), ("delete from notes", "is no SELECT")):
        with pytest.raises(LinnetError, match=problem):
            run(job(Inputs((str(path),), format="sql", options=(("query", query),)), tmp_path / "out"))


def test_a_release_whose_index_is_gone_stops_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    for number, pmid in ((1, 7), (2, 8)):
        article = "<Article><ArticleTitle>Fits.</ArticleTitle></Article>"
        text = f'<S><MedlineCitation><PMID Version="1">{pmid}</PMID>{article}</MedlineCitation></S>'
        (tmp_path / f"pubmed25n000{number}.xml").write_text(text)

    def gather(*given: Any) -> Inline:
        for path in (tmp_path / "home" / "releases").glob("*.kept"):
            path.unlink()
        return Inline(*given)

    inputs = Inputs((str(tmp_path / "pubmed25n*.xml"),))
    with pytest.raises(LinnetError, match="do all machines share LINNET_HOME"):
        run(job(inputs, tmp_path / "out", gather=gather))
    assert run(job(inputs, tmp_path / "out")).counts["documents"] == 2


def test_names_that_are_no_unicode_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/a\xff.jsonl")).write_text('{"id": 1}\n')
    except OSError:
        pytest.skip("names are Unicode on this disk")
    (folder / "b.jsonl").write_text('{"id":"x\\ud800","text":"This fails."}\n{"id":"y","text":"Fits."}\n')
    run(job(folder, tmp_path / "out"))
    told = [json.loads(line) for line in (tmp_path / "out" / "errors.jsonl").read_text().splitlines()]
    assert len(told) == 2
    assert told[0]["source"].endswith("a\udcff.jsonl")
    assert told[1]["document"] == "x\ud800"


# --- what an interruption leaves -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [0, 1, 30, -1])
def test_a_job_killed_while_it_begins_goes_on(tmp_path: Path, kept: int) -> None:
    source, out = notes(tmp_path / "notes", 100), tmp_path / "out"
    run(job(source, tmp_path / "whole"))
    whole = (tmp_path / "whole" / ".job" / "journal").read_bytes().partition(b"\n")[0] + b"\n"
    (out / ".job").mkdir(parents=True)
    (out / ".job" / "journal").write_bytes(whole[:kept] if kept >= 0 else whole)
    run(job(source, out))
    assert seen(out) == seen(tmp_path / "whole")


def test_a_job_that_has_done_nothing_may_be_changed(tmp_path: Path) -> None:
    (tmp_path / "out" / ".job").mkdir(parents=True)
    (tmp_path / "out" / ".job" / "journal").write_text('{"made of": {"pipeline": 7}}\n')
    assert run(job(notes(tmp_path / "notes", 10), tmp_path / "out")).counts["documents"] == 10


@pytest.mark.parametrize("at", range(6))
def test_a_fresh_start_may_be_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    source, out = notes(tmp_path / "notes", 100), tmp_path / "out"
    run(job(source, out))
    whole, count, real = seen(out), 0, Path.unlink

    def unlink(path: Path, *, missing_ok: bool = False) -> None:
        nonlocal count
        count += 1
        if count > at:
            raise KeyboardInterrupt
        real(path, missing_ok=missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", unlink)
        with pytest.raises(KeyboardInterrupt):
            run(job(source, out, fresh=True))
    run(job(source, out))
    assert seen(out) == whole


def test_ids_of_a_shard_that_was_damaged_are_not_those_of_another(tmp_path: Path) -> None:
    source, out = notes(tmp_path / "notes", 100), tmp_path / "out"
    run(job(source, out))
    whole = seen(out)
    for path in sorted(out.glob("shard-*")):
        path.write_text("damaged")

    class StopError(Exception):
        pass

    def gather(*given: Any) -> Inline:
        for path in out.glob("shard-*"):  # as a worker writes them whose leader is killed before its line is there
            path.write_bytes(whole[path.name])
        raise StopError

    with pytest.raises(StopError):
        run(job(source, out, gather=gather))
    journal = (out / ".job" / "journal").read_bytes()
    assert journal.count(b"\n") == 1, "what was damaged is forgotten, whatever stands there later"
    run(job(source, out))
    assert seen(out) == whole


def test_what_a_worker_of_an_ended_run_writes_meets_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = notes(tmp_path / "notes", 100), tmp_path / "out"
    run(job(source, out))
    old = out / ".job" / "run-0123"
    old.mkdir()
    monkeypatch.setattr("shutil.rmtree", lambda *_given, **_options: None)  # as if files came while it was removed
    run(job(source, out))
    assert not old.exists()


def test_names_of_shards_sort_as_the_input(tmp_path: Path) -> None:
    where, names = Settings(str(tmp_path), str(tmp_path)), []
    for key in ((0, 9_999), (0, 10_000), (0, 123_456), (99_999, 0), (100_000, 0)):
        with shard_of(where, key, None) as shard:
            names.append(shard.name)
    assert names == sorted(names)


# --- what costs itself alone -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "cut", "packed"])
def test_a_line_of_another_encoding_costs_itself_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    lines = [f'{{"id":"d{number}","text":"Fits {number}."}}\n'.encode() for number in range(120)]
    lines[0], lines[7], lines[60] = b"\xef\xbb\xbf" + lines[0], b'{"id":"d7","text":"Fi\xe8vre"}\n', b"\0\n"
    lines[90] = lines[90].replace(b"Fits", b"Fits" * 100)
    path = tmp_path / ("notes.jsonl" + ".gz" * (kind == "packed"))
    path.write_bytes(gzip.compress(b"".join(lines)) if kind == "packed" else b"".join(lines))
    monkeypatch.setattr(jsonl, "MAX_LINE", 200)
    if kind == "cut":
        monkeypatch.setattr("linnet.scale.units.MOST", 100)
    told = run(job(path, tmp_path / "out"))
    assert (told.counts["documents"], told.counts["errors"]) == (117, 3)
    found = [json.loads(line)["reason"] for line in (tmp_path / "out" / "errors.jsonl").read_text().splitlines()]
    for reason, part in zip(found, (":8: not UTF-8", ":61: holds a NUL byte", ":91: has a line of more"), strict=True):
        assert part in reason


def test_colons_in_a_query_are_no_parameters(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="the extra sql is not installed")
    path = tmp_path / "n.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (id, text)")
        db.execute("INSERT INTO notes VALUES (1, 'Fits :see 12:30 \\:there.')")
    query = "select id, text from notes where text like '% :see 12:30 \\:there%'"
    told = run(job(Inputs((str(path),), format="sql", options=(("query", query),)), tmp_path / "out"))
    assert (told.counts["documents"], told.counts["errors"]) == (1, 0)
