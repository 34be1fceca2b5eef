"""What is removed because nobody needs it any more, and what stays."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from linnet.annotate.documents import add_documents, redact
from linnet.annotate.exporting import erase
from linnet.annotate.housekeeping import (
    DOWNLOADS,
    UPLOADS,
    forget_answers,
    sweep_exports,
    sweep_parts,
    sweep_passing,
    tidy,
)
from linnet.annotate.jobs import Timing, enqueue
from linnet.annotate.people import add_project, add_user
from linnet.annotate.store import open_store
from linnet.annotate.tables import idem, job, now
from linnet.annotate.worker import Worker
from linnet.data import Document
from tests.annotate.desk import FITS, Desk, fresh


def keys(desk: Desk) -> set[str]:
    with desk.store.read() as db:
        return set(db.scalars(sa.select(idem.c.key).where(idem.c.user == desk.user)))


def keep(desk: Desk, seconds: float) -> str:
    """Keep an answer for so long."""
    key = fresh("post:")
    with desk.store.write() as db:
        row: dict[str, Any] = {"key": key, "user": desk.user, "hash": "", "answer": {}, "expires": now(db, seconds)}
        db.execute(idem.insert().values(row))
    return key


def test_answers_whose_time_is_over_are_forgotten(desk: Desk) -> None:
    desk.do("create", "a", parts=[FITS])
    [command] = keys(desk)
    late, early = keep(desk, -1), keep(desk, 60)
    assert keys(desk) == {command, late, early}
    assert forget_answers(desk.store) >= 1
    assert keys(desk) == {command, early}


def left(desk: Desk, data: Path, state: str) -> Path:
    """Leave the folder of a training in a state."""
    checkpoint = fresh("m")
    with desk.store.write() as db:
        id = enqueue(db, desk.project, "train")
        ended = None if state in ("queued", "running") else now(db)
        # one that runs is somebody's: no other test's worker takes it
        values: dict[str, Any] = {"state": state, "checkpoint": checkpoint, "ended": ended, "worker": "somebody"}
        values |= {"lease_until": now(db, 3600), "not_before": now(db, 86_400)}
        db.execute(job.update().where(job.c.id == id).values(values))
    parts = data / "models" / f"{checkpoint}.parts"
    (parts / "1").mkdir(parents=True)
    return parts


def test_parts_that_no_job_goes_on_with_are_swept(desk: Desk, tmp_path: Path) -> None:
    assert sweep_parts(desk.store, tmp_path) == []
    stay = [left(desk, tmp_path, state) for state in ("queued", "running")]
    go = [left(desk, tmp_path, state) for state in ("cancelled", "succeeded", "failed")]
    go.append(tmp_path / "models" / "stranger.parts")
    go[-1].mkdir()
    model = tmp_path / "models" / "m1"
    model.mkdir()
    assert set(sweep_parts(desk.store, tmp_path)) == set(go)
    assert [path.exists() for path in (*stay, *go, model)] == [True] * 2 + [False] * 4 + [True]


def test_exports_that_nobody_can_fetch_are_swept(desk: Desk, tmp_path: Path) -> None:
    assert sweep_exports(desk.store, tmp_path) == []
    ids = []
    for state in ("queued", "running", "succeeded", "failed", "cancelled"):
        with desk.store.write() as db:
            ids.append(enqueue(db, desk.project, "export"))
            db.execute(job.update().where(job.c.id == ids[-1]).values(state=state, lease_until=now(db, 3600)))
    folders = [tmp_path / "exports" / str(id) for id in (*ids, 10**8, "mine")]
    for folder in folders:
        folder.mkdir(parents=True)
    assert set(sweep_exports(desk.store, tmp_path)) == set(folders[3:6])
    assert [folder.exists() for folder in folders] == [True] * 3 + [False] * 3 + [True]
    with desk.store.write() as db:
        erase(db, desk.project, tmp_path)
        db.execute(job.delete().where(job.c.id.in_(ids)))
    assert [folder.exists() for folder in folders[:3]] == [False, True, False]


@pytest.mark.slow
def test_an_erased_text_leaves_the_log_when_nobody_reads_any_more(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.write() as db:
        user = add_user(db, "alice")
        project = add_project(db, "notes", user)
        [id] = add_documents(db, project, user, [Document("n", "Wolfeschlegelstein has fits.")]).new
    with store.read() as db:
        db.execute(sa.select(job)).all()
        with store.write() as other:
            redact(other, id, user)
        assert not store.forget()
    assert any(b"Wolfeschlegelstein" in path.read_bytes() for path in tmp_path.iterdir())
    tidy(store, tmp_path)
    assert not any(b"Wolfeschlegelstein" in path.read_bytes() for path in tmp_path.iterdir())
    store.close()


@pytest.mark.parametrize("name", [DOWNLOADS, UPLOADS])
def test_files_that_were_never_sent_or_read_are_swept(name: str, tmp_path: Path) -> None:
    sweep_passing(tmp_path)
    old, new = tmp_path / name / "old", tmp_path / name / "new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "project.jsonl").write_text("a text")
    os.utime(old, (time.time() - 7200,) * 2)
    sweep_passing(tmp_path)
    assert [folder.exists() for folder in (old, new)] == [False, True]


def test_a_worker_tidies_when_it_starts(desk: Desk, tmp_path: Path) -> None:
    late, parts = keep(desk, -1), left(desk, tmp_path, "cancelled")
    worker = Worker(desk.store, tmp_path, timing=Timing(idle=0.01), kinds=("none",))
    worker.start()
    for _ in range(500):
        if not parts.exists():
            break
        threading.Event().wait(0.01)
    worker.stop()
    assert not parts.exists()
    assert late not in keys(desk)
