"""Opening, migrating, transactions, and events that nobody can change unnoticed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from linnet.annotate import store as module
from linnet.annotate.journal import check
from linnet.annotate.people import (
    add_guideline,
    add_project,
    add_user,
    change_settings,
    name_of,
    role_of,
    set_role,
)
from linnet.annotate.problems import BusyError, NotFoundError
from linnet.annotate.store import FILE, Store, migrate, open_store
from linnet.annotate.tables import METADATA, event, now, project, user
from linnet.errors import DataError, MissingExtraError, how_to_install
from tests.annotate.desk import Desk, fresh


def test_the_migrated_tables_are_those_of_the_code(store: Store) -> None:
    with store.read() as db:
        assert compare_metadata(MigrationContext.configure(db), METADATA) == []


def test_opening_again_changes_nothing(store: Store, where: str) -> None:
    with store.write() as db:
        migrate(db)
    again = open_store(where)
    again.close()


def test_a_database_of_a_later_version_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.write() as db:
        db.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    store.close()
    with pytest.raises(DataError, match=r"later version of Linnet \(9999\)"):
        open_store(tmp_path)


def test_the_folder_is_private_and_writes_reach_the_disk(tmp_path: Path) -> None:
    store = open_store(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0
    assert (tmp_path / "new" / FILE).is_file()
    with store.read() as db:
        names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        settings = [db.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]
    assert settings == ["wal", 2, 1, 1]
    store.close()


@pytest.mark.parametrize("url", ["mysql://somewhere/x", "postgresql://[", "://", "postgresql://127.0.0.1:1/x"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(DataError, match="database"):
        open_store(url)


def test_what_is_no_folder_or_no_database(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("not SQLite, but long enough to be looked at, and without its header" * 20)
    with pytest.raises(DataError, match=r"linnet\.db: the database cannot be opened: file is not a database"):
        open_store(tmp_path)
    with pytest.raises(DataError, match="cannot be used"):
        open_store(tmp_path / FILE / "folder")


def test_it_needs_its_extra() -> None:
    code = "import sys; sys.modules['sqlalchemy'] = None; import linnet.annotate.store"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = f"the annotation workbench needs sqlalchemy, which is not installed: {how_to_install('serve')}"
    assert said in done.stderr


def test_postgresql_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def without(name: str) -> ModuleSpec | None:
        return None if name == "psycopg" else find(name)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(MissingExtraError, match=re.escape(how_to_install("postgres"))):
        open_store("postgresql://localhost/x")


def test_what_fails_leaves_nothing(store: Store) -> None:
    name = fresh("nobody")
    with pytest.raises(ZeroDivisionError), store.write() as db:
        add_user(db, name)
        _ = 1 / 0
    with store.read() as db:
        assert db.scalar(sa.select(user.c.id).where(user.c.name == name)) is None


def test_a_reader_sees_one_state(store: Store) -> None:
    with store.read() as db:
        count = sa.select(sa.func.count()).select_from(user)
        before = db.scalar(count)
        with store.write() as other:
            add_user(other, fresh("late"))
        assert db.scalar(count) == before
    with store.read() as db:
        assert db.scalar(count) == (before or 0) + 1


def test_the_clock_is_the_databases(store: Store) -> None:
    with store.read() as db:
        at = db.scalar(sa.select(now(db)))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", at or "")


def test_a_writer_that_waits_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT", 0)
    one, other = open_store(tmp_path), open_store(tmp_path)
    with one.write() as db:
        add_user(db, "alice")
        with pytest.raises(BusyError, match="try again"), other.write():
            pass
        with pytest.raises(BusyError, match="try again"), one.write():  # another thread of the same process
            pass
    with one.write() as db:
        add_user(db, "bob")
    one.close()
    other.close()


@pytest.mark.parametrize("said", ["database is locked", "canceling statement due to lock timeout", "deadlock detected"])
def test_who_had_to_give_way_is_told_to_try_again(store: Store, said: str) -> None:
    with pytest.raises(BusyError, match="try again"), store.write():
        raise sa.exc.OperationalError("", {}, Exception(said))
    with pytest.raises(sa.exc.OperationalError), store.write():
        raise sa.exc.OperationalError("", {}, Exception("the disk is full"))


@pytest.mark.parametrize("change", [event.update().values(actor="mallory"), event.delete()])
def test_events_cannot_be_changed(desk: Desk, change: sa.Executable) -> None:
    desk.do("accept", "g1")
    with pytest.raises(sa.exc.DBAPIError, match="events are never changed"), desk.store.write() as db:
        db.execute(change)
    assert desk.problems() == []


CHANGES = {
    "UPDATE event SET actor = 'mallory' WHERE seq = 1 AND stream IS NOT NULL": "is not the one that was appended",
    "UPDATE event SET kind = 'purge' WHERE stream IS NULL": "is not the one that was appended",
    "DELETE FROM event WHERE seq = 2 AND stream IS NOT NULL": "numbers have gaps",
    "UPDATE mention_now SET nil = 'x'": "not what its events say",
    "UPDATE mention_now SET seq = 2": "names another event",
    "UPDATE assignment SET seq = 7": "does not know the number",
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_tampering_shows(tmp_path: Path, change: str) -> None:
    desk = Desk.open(open_store(tmp_path))
    for mention in ("g1", "g2", desk.guesses()[0]):
        desk.do("accept", mention)
    assert desk.problems() == []
    with desk.store.write() as db:
        for verb in ("update", "delete"):
            db.execute(sa.text(f"DROP TRIGGER event_{verb}"))
        db.execute(sa.text(change))
    assert CHANGES[change] in " ".join(desk.problems())
    desk.store.close()


def test_people_and_projects(store: Store) -> None:
    with store.write() as db:
        name, title = fresh("zoe"), fresh("cardio")
        zoe = add_user(db, name, "hash")
        assert name_of(db, zoe) == name
        id = add_project(db, title, zoe, kb="mesh@9f2c")
        assert role_of(db, id, zoe) == "admin"
        set_role(db, id, zoe, "viewer")
        assert role_of(db, id, zoe) == "viewer"
        set_role(db, id, zoe, None)
        assert role_of(db, id, zoe) is None
        assert change_settings(db, id, 0, {"blind": False, "settings": {"k": 2}})
        assert not change_settings(db, id, 0, {"blind": True})
        row = db.execute(sa.select(project).where(project.c.id == id)).one()
        assert (row.blind, row.settings, row.seq, row.kb) == (False, {"k": 2}, 1, "mesh@9f2c")
        assert [add_guideline(db, id, zoe, text) for text in ("# One", "# Two")] == [1, 2]
        assert check(db, id) == []
        wrong: list[tuple[Callable[[], object], str]] = [
            (lambda: add_user(db, name), "already"),
            (lambda: add_user(db, " "), "1 to 500 characters"),
            (lambda: add_user(db, " 2"), "is no number"),
            (lambda: add_user(db, "a\0b"), "NUL"),
            (lambda: add_user(db, "a\ud800"), "half a surrogate pair"),
            (lambda: add_project(db, title, zoe), "already"),
            (lambda: set_role(db, id, zoe, "boss"), "no role"),  # type: ignore[arg-type]
            (lambda: change_settings(db, id, 1, {"seq": 9}), "no setting seq"),
        ]
        for ask, problem in wrong:
            with pytest.raises(DataError, match=problem):
                ask()
        with pytest.raises(NotFoundError):
            name_of(db, 10**6)


def test_a_disabled_user_has_no_role(desk: Desk) -> None:
    with desk.store.write() as db:
        db.execute(user.update().where(user.c.id == desk.user).values(disabled=True))
        assert role_of(db, desk.project, desk.user) is None
