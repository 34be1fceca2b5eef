"""``linnet worker``: it waits for jobs, and leaves in good order."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from linnet.annotate.jobs import enqueue, find
from linnet.annotate.people import add_project, add_user
from linnet.annotate.store import open_store
from linnet.errors import LinnetError


def test_kinds_of_jobs_that_there_are_not(tmp_path: Path) -> None:
    found = CliRunner().invoke(
        importlib.import_module("linnet.cli.main").app, ["worker", "--data", str(tmp_path), "--only", "trian"]
    )
    assert isinstance(found.exception, LinnetError)
    assert "there are train, predict, export" in str(found.exception)


def test_a_folder_without_a_workbench_is_not_made_one(tmp_path: Path) -> None:
    found = CliRunner().invoke(
        importlib.import_module("linnet.cli.main").app, ["worker", "--data", str(tmp_path / "nofolder")]
    )
    assert isinstance(found.exception, LinnetError)
    assert "there is no workbench in" in str(found.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "options"), [(signal.SIGTERM, []), (signal.SIGINT, []), (signal.SIGINT, ["--beside"])]
)
def test_a_worker_does_jobs_until_a_signal_comes(tmp_path: Path, number: signal.Signals, options: list[str]) -> None:
    store = open_store(tmp_path)
    with store.write() as db:
        job = enqueue(db, add_project(db, "p", add_user(db, "eve")), "export")
    command = [sys.executable, "-m", "linnet", "worker", "--data", str(tmp_path), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(600):
            with store.read() as db:
                if (state := find(db, job).state) == "succeeded":
                    break
            time.sleep(0.05)
        process.send_signal(number)
        assert process.stderr is not None
        said = process.stderr.read()  # while its standard input is open
        process.wait(30)
    store.close()
    assert state == "succeeded"
    assert process.returncode == 0, said
    assert "stopping at the next step" in said
