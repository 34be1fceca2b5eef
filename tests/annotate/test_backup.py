"""Backups of a workbench in use and what comes of them: all that was saved is there, and nothing that was forged."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner, Result

from linnet.annotate import dumps
from linnet.annotate.backup import MANIFEST, Manifest, back_up
from linnet.annotate.documents import redact
from linnet.annotate.exporting import erase
from linnet.annotate.jobs import enqueue
from linnet.annotate.migrations import m0005_assertions as newest
from linnet.annotate.restore import restore
from linnet.annotate.runs import add_model
from linnet.annotate.signing import make_session
from linnet.annotate.store import FILE, Store, connect, open_store
from linnet.annotate.tables import document, prediction, project, session
from linnet.annotate.worker import Worker
from linnet.errors import DataError, FormatError, LinnetError, how_to_install
from linnet.home import kb_folder
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.reporter import Reporter, reporting
from tests.annotate.databases import another
from tests.annotate.desk import Desk, command
from tests.conftest import CONCEPTS

RULES = 'kb = "hpo"\n[[pipeline]]\nuse = "dictionary"\n'


@dataclass(frozen=True, slots=True)
class Place:
    """Where a workbench is."""

    data: Path
    database: str | None

    @property
    def where(self) -> str | Path:
        return self.database or self.data


@pytest.fixture(params=["sqlite", "postgresql"])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Place]:
    """Make empty places, of each database in turn."""
    url = None if request.param == "sqlite" else request.getfixturevalue("url")
    return lambda name: Place(tmp_path / name, None if url is None else another(url))


@pytest.fixture
def old(new_place: Callable[[str], Place]) -> Iterator[tuple[Place, Desk]]:
    """A workbench with decisions, a model, an export, a recipe of its own and an open session."""
    place = new_place("old")
    place.data.mkdir()
    store = open_store(place.where)
    yield place, _furnish(store, place)
    store.close()


def _furnish(store: Store, place: Place) -> Desk:
    desk = Desk.open(store)
    desk.do("accept", "g1")
    desk.do("comment", text="sure?")
    (place.data / "models" / "m1" / "0-dictionary").mkdir(parents=True)
    (place.data / "models" / "m1" / "0-dictionary" / "weights.npy").write_bytes(bytes(range(256)) * 99)
    (place.data / "models" / "m9").mkdir()  # of a training that is not done
    (place.data / "recipes").mkdir()
    (place.data / "recipes" / "mine.toml").write_text(RULES)
    with store.write() as db:
        add_model(db, desk.project, "models/m1", 1, set(), id="m1")
        enqueue(db, desk.project, "export", {"format": "jsonl"}, user=desk.user)
        make_session(db, desk.user)
    assert Worker(store, place.data).work()
    with store.write() as db:  # one that is not begun yet: there is no folder to take
        enqueue(db, desk.project, "export", {"format": "jsonl"}, user=desk.user)
    return desk


def contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(FILE))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def repacked(archive: Path, to: Path, changed: Mapping[str, bytes | None]) -> Path:
    """Copy an archive with other contents, None for what is left out; its own sums are right."""
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in {**{name: old.read(name) for name in old.namelist()}, **changed}.items():
            if content is not None:
                new.writestr(name, content)
    return to


def manifest_of(archive: Path) -> Manifest:
    with zipfile.ZipFile(archive) as opened:
        return Manifest.model_validate_json(opened.read(MANIFEST))


# --- there and back --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_all_that_was_saved_before_is_there(
    old: tuple[Place, Desk], new_place: Callable[[str], Place], tmp_path: Path
) -> None:
    """A thread goes on deciding while the backup is made."""
    (place, desk), acknowledged, enough, over = old, list[str](), threading.Event(), threading.Event()

    def decide() -> None:
        while not over.is_set():
            one = command("link", "g1", concepts=[f"X:{len(acknowledged)}"])
            desk.send(one)
            acknowledged.append(one.id)
            if len(acknowledged) > 5:
                enough.set()

    deciding = threading.Thread(target=decide)
    deciding.start()
    try:
        assert enough.wait(60)
        before = list(acknowledged)
        made = back_up(tmp_path / "b.zip", place.data, place.database)
        later = len(acknowledged) + 2
        while len(acknowledged) < later:
            over.wait(0.01)
    finally:
        over.set()
        deciding.join()
    assert (tmp_path / "b.zip").stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []

    new = new_place("new")
    assert restore(tmp_path / "b.zip", new.data, new.database) == made
    store = open_store(new.where)
    there = Desk(store, desk.project, desk.user, desk.name, desk.document, desk.stream)
    events = there.events()
    assert set(before) <= {event.command for event in events}
    assert events == desk.events()[: len(events)] != desk.events()
    assert there.problems() == []
    there.do("accept", "g2")
    with store.read() as db:
        assert db.scalar(sa.select(session.c.hash)) is None
    store.close()
    kept = {name: content for name, content in contents(place.data).items() if not name.startswith("models/m9")}
    assert contents(new.data) == kept
    assert set(kept) >= {"recipes/mine.toml", "exports/1/manifest.json", "models/m1/0-dictionary/weights.npy"}
    assert new.data.stat().st_mode & 0o077 == 0
    assert not (new.data / ".backup").exists()


def test_tables_of_an_earlier_version_are_brought_up_to_date(
    old: tuple[Place, Desk], new_place: Callable[[str], Place], tmp_path: Path
) -> None:
    place, desk = old
    with desk.store.write() as db:
        db.execute(sa.text("ALTER TABLE prediction DROP COLUMN assertion"))
        db.execute(sa.text(f"UPDATE alembic_version SET version_num = '{newest.down_revision}'"))
    assert back_up(tmp_path / "b.zip", place.data, place.database).tables == newest.down_revision
    new = new_place("new")
    restore(tmp_path / "b.zip", new.data, new.database)
    store = connect(new.where)
    with store.read() as db:
        assert set(db.scalars(sa.select(prediction.c.assertion))) == {""}
    store.close()


@pytest.mark.slow
def test_knowledge_bases_by_name_or_with_all_they_hold(
    old: tuple[Place, Desk], new_place: Callable[[str], Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, desk = old
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    kb_folder().mkdir(parents=True)
    kb = build(CONCEPTS, kb_folder() / "small.kb", sources=[{"vocabulary": "test"}])
    with desk.store.write() as db:
        db.execute(project.update().values(kb="small"))
    named = back_up(tmp_path / "named.zip", place.data, place.database)
    whole = back_up(tmp_path / "whole.zip", place.data, place.database, kbs=True)
    assert named.kbs == whole.kbs == {"small": kb.version}
    assert set(whole.files) - set(named.files) == {"kb/small.kb"}

    told: list[str] = []
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "elsewhere"))
    for archive in ("named.zip", "whole.zip", "whole.zip"):
        new = new_place(f"new-{len(told)}")
        with reporting(Reporter(lambda *_: None, told.append)):
            restore(tmp_path / archive, new.data, new.database)
        shutil.rmtree(new.data)
    assert len(told) == 1
    assert kb.version in told[0]
    assert KnowledgeBase.open("small").version == kb.version

    (kb_folder() / "small.kb").unlink()
    with reporting(Reporter(lambda *_: None, told.append)):
        assert back_up(tmp_path / "none.zip", place.data, place.database, kbs=True).kbs == {"small": ""}
    assert "there is no knowledge base 'small' here" in told[1]


def test_folders_that_are_gone_are_named(
    old: tuple[Place, Desk], new_place: Callable[[str], Place], tmp_path: Path
) -> None:
    place, _ = old
    shutil.rmtree(place.data / "models")
    told: list[str] = []
    with reporting(Reporter(lambda *_: None, told.append)):
        assert back_up(tmp_path / "b.zip", place.data, place.database).missing == ["models/m1"]
    assert "models/m1" in told[0]
    new = new_place("new")
    restore(tmp_path / "b.zip", new.data, new.database)


def test_exports_that_an_erasing_removed_are_not_missed(
    old: tuple[Place, Desk], new_place: Callable[[str], Place], tmp_path: Path
) -> None:
    place, desk = old
    with desk.store.write() as db:
        id = db.scalar(sa.select(document.c.id).where(document.c.project == desk.project)) or 0
        redact(db, id, desk.user)
        erase(db, desk.project, place.data)
    assert Worker(desk.store, place.data).work()  # the export that was waiting is done after it
    told: list[str] = []
    with reporting(Reporter(lambda *_: None, told.append)):
        made = back_up(tmp_path / "b.zip", place.data, place.database)
    assert (made.missing, told) == ([], [])
    assert len([name for name in made.files if "/exports/" in name]) == 2  # the later one and its manifest
    new = new_place("new")
    restore(tmp_path / "b.zip", new.data, new.database)


# --- what is refused -------------------------------------------------------------------------------------------------


def forged(name: str, archive: Path, to: Path) -> Path:
    """Damage a backup, or write one as somebody might who wants to do harm."""
    content = bytearray(archive.read_bytes())
    if name in ("cut", "bits"):
        content[len(content) // 3] ^= 0xFF
        to.write_bytes(archive.read_bytes()[:-200] if name == "cut" else content)
        return to
    made = manifest_of(archive).model_dump()
    database = next(one for one in made["files"] if one.startswith("database/"))
    no_database = {name: one for name, one in made["files"].items() if name != database}
    changes: dict[str, dict[str, bytes | None]] = {
        "other weights": {"data/models/m1/0-dictionary/weights.npy": b"x"},
        "one missing": {"data/recipes/mine.toml": None},
        "one more": {"data/recipes/more.toml": b"x"},
        "out of the folder": {"data/../../out.toml": b"x"},
        "absolute": {str(to.parent / "out.toml"): b"x"},
        "no manifest": {MANIFEST: None},
        "later": {MANIFEST: json.dumps({**made, "version": 2}).encode()},
        "no JSON": {MANIFEST: b"{"},
        "no database": {database: None, MANIFEST: json.dumps({**made, "files": no_database}).encode()},
        "other events": {MANIFEST: json.dumps({**made, "events": 99}).encode()},
    }
    return repacked(archive, to, changes[name])


FORGED = {
    "cut": "damaged",
    "bits": "damaged",
    "other weights": "damaged: data/models/m1/0-dictionary/weights.npy differ from what its manifest.json says",
    "one missing": "damaged: data/recipes/mine.toml differ",
    "one more": "damaged: data/recipes/more.toml differ",
    "out of the folder": "refused as unsafe",
    "absolute": "refused as unsafe",
    "no manifest": "is no backup of a workbench",
    "later": "is no backup that this version of Linnet can read: its manifest.json says version",
    "no JSON": "is no backup that this version of Linnet can read",
    "no database": "it has no database",
    "other events": "its last event is 3, not 99",
}


@pytest.mark.slow
def test_damaged_and_forged_backups_are_refused(
    old: tuple[Place, Desk], new_place: Callable[[str], Place], tmp_path: Path
) -> None:
    place, _ = old
    back_up(tmp_path / "b.zip", place.data, place.database)
    new = new_place("new")
    for name, problem in FORGED.items():
        with pytest.raises(LinnetError) as told:
            restore(forged(name, tmp_path / "b.zip", tmp_path / f"{name}.zip"), new.data, new.database)
        assert problem in str(told.value), name
        assert not new.data.exists()
        assert new.database is None or dumps.is_empty(new.database)
    assert not (tmp_path / "out.toml").exists()
    restore(tmp_path / "b.zip", new.data, new.database)  # nothing is left of all this


@pytest.mark.slow
def test_events_that_were_changed_show(
    old: tuple[Place, Desk], new_place: Callable[[str], Place], tmp_path: Path
) -> None:
    place, desk = old
    with desk.store.write() as db:
        lite = place.database is None
        for name in ("update", "delete") if lite else ("row", "table"):
            db.execute(sa.text(f"DROP TRIGGER event_{name}" + ("" if lite else " ON event")))
        db.execute(sa.text("UPDATE event SET actor = 'mallory' WHERE seq = 1 AND stream IS NOT NULL"))
    back_up(tmp_path / "b.zip", place.data, place.database)
    new = new_place("new")
    with pytest.raises(DataError, match=r"changed by other means .*event \d+ is not the one that was appended"):
        restore(tmp_path / "b.zip", new.data, new.database)
    assert not new.data.exists()
    assert new.database is None or dumps.is_empty(new.database)


@pytest.mark.slow
def test_rows_that_name_what_is_not_in_it(
    old: tuple[Place, Desk], new_place: Callable[[str], Place], tmp_path: Path
) -> None:
    place, desk = old
    names = ["models/m2", "../old/models/m1", "/tmp"]
    with desk.store.write() as db:
        for number, name in enumerate(names, 2):
            add_model(db, desk.project, name, 1, set(), id=f"m{number}")
    with reporting(Reporter(lambda *_: None, lambda _: None)):
        made = back_up(tmp_path / "b.zip", place.data, place.database)
    assert made.missing == names
    said = json.dumps({**made.model_dump(), "missing": []}).encode()
    new = new_place("new")
    with pytest.raises(LinnetError) as told:
        restore(repacked(tmp_path / "b.zip", tmp_path / "c.zip", {MANIFEST: said}), new.data, new.database)
    assert all(f"{name} is named, but not in the backup" in str(told.value) for name in names)


def test_a_database_that_is_another_one(old: tuple[Place, Desk], tmp_path: Path, request: Any) -> None:
    place, desk = old
    archive = tmp_path / "b.zip"
    back_up(archive, place.data, place.database)
    with pytest.raises(FormatError, match="is there already"):
        back_up(archive, place.data, place.database)
    with pytest.raises(FormatError, match="cannot be written"):
        back_up(tmp_path / "no" / "b.zip", place.data, place.database)
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").touch()
    if place.database is None:
        with pytest.raises(FormatError, match="choose a new folder"):
            restore(archive, tmp_path / "used")
        other = another(request.getfixturevalue("url"))
        with pytest.raises(DataError, match=r"is a backup of a database in the folder .* leave --database out"):
            restore(archive, tmp_path / "new", other)
        with desk.store.write() as db:
            db.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
        back_up(tmp_path / "later.zip", place.data)
        with pytest.raises(DataError, match="later version of Linnet"):
            restore(tmp_path / "later.zip", tmp_path / "new")
    else:
        with pytest.raises(DataError, match="the database is not empty"):
            restore(archive, tmp_path / "new", place.database)
        with pytest.raises(DataError, match="give --database"):
            restore(archive, tmp_path / "new")


def test_where_there_is_no_workbench(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no workbench in"):
        back_up(tmp_path / "b.zip", tmp_path / "none")
    (tmp_path / FILE).write_bytes(b"no database " * 100)
    with pytest.raises(DataError, match="cannot be copied: file is not a database"):
        back_up(tmp_path / "b.zip", tmp_path)
    with pytest.raises(FormatError, match="is no archive"):
        restore(tmp_path / FILE, tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    for ask in (lambda url: back_up(tmp_path / "b.zip", tmp_path, url), dumps.is_empty):
        with pytest.raises(DataError, match="database cannot be"):
            ask("postgresql://127.0.0.1:1/x")


# --- PostgreSQL's programs -------------------------------------------------------------------------------------------


def test_programs_that_are_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(dumps, "PACKAGES", tmp_path / "lib")
    with pytest.raises(LinnetError, match=r"pg_restore is not there: install .*apt-get install postgresql-client"):
        dumps.fill("postgresql://localhost/x", tmp_path / "x")
    for version in ("9", "15"):
        program = tmp_path / "lib" / version / "bin" / "pg_restore"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\necho "$PGPASSWORD of {version}: $*" >&2\nexit 1\n')
        program.chmod(0o755)
    with pytest.raises(LinnetError, match="pg_restore failed: secret of 15: --no-password") as told:
        dumps.fill("postgresql://ann:secret@localhost/x", tmp_path / "x")
    assert str(told.value).count("secret") == 1  # not among what everybody sees in the list of processes


def test_a_program_that_fails_says_why(url: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("no dump")
    database = another(url)
    with pytest.raises(LinnetError, match="pg_restore failed: pg_restore: error: input file"):
        dumps.fill(database, tmp_path / "x")
    store = connect(database)
    with store.write() as db:
        db.exec_driver_sql("CREATE TABLE project (id text, kb text)")
    store.close()
    with pytest.raises((DataError, LinnetError)):
        back_up(tmp_path / "b.zip", tmp_path, database)


def run(*arguments: object) -> Result:
    app = importlib.import_module("linnet.cli.main").app
    return CliRunner().invoke(app, ["serve", *map(str, arguments)], env={"COLUMNS": "100"})


def test_the_commands(tmp_path: Path) -> None:
    desk = Desk.open(open_store(tmp_path / "old"))
    desk.do("accept", "g1")
    desk.store.close()
    done = run("backup", tmp_path / "b.zip", "--data", tmp_path / "old")
    assert done.exit_code == 0
    assert "up to event 2 of 20" in done.stdout
    done = run("restore", tmp_path / "b.zip", "--data", tmp_path / "new")
    assert done.exit_code == 0
    assert "start it with linnet serve" in done.stdout
    assert run("backup", tmp_path / "c.zip", "--data", tmp_path / "new", "--quiet").stdout == ""
    assert run("restore", tmp_path / "c.zip", "--data", tmp_path / "new2", "--quiet").stdout == ""


def test_serve_stays_a_command_with_others_below_it(tmp_path: Path) -> None:
    shown = run("--help").stdout
    assert all(word in shown for word in ("--data", "--port", "backup", "restore"))
    assert "--with-kb" in run("backup", "--help").stdout
    wrong: dict[str, tuple[object, ...]] = {
        "name the folder of the workbench": (),
        "linnet serve backup --data": ("--data", tmp_path, "backup", "x"),
        "--port takes one value but was given 2": ("--data", tmp_path, "--port", 1, "--port", 2),
        "--data takes one value but was given 2": ("restore", "x", "--data", 1, "--data", 2),
        "there is no workbench": ("backup", "x", "--data", tmp_path),
    }
    for said, words in wrong.items():
        assert said in str(run(*words).exception)
    assert run("backup", "x").exit_code == run("nothing").exit_code == 2


def test_without_the_extra_the_commands_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "alembic.config", None)
    monkeypatch.delitem(sys.modules, "linnet.annotate.store")
    for name in ("backup", "restore"):
        assert how_to_install("serve") in str(run(name, tmp_path / "x", "--data", tmp_path).exception)
