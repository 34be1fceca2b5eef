"""The tests in other places: what they report."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tools.packages.contents import tracked
from tools.packages.places import PackageError

from tests.elsewhere import PLACES, finish, main


def test_without_git_it_is_said_that_git_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("tests.elsewhere.ROOT", tmp_path)
    assert main() == 1
    assert "install git" in capsys.readouterr().err
    (tmp_path / ".git").write_text("gitdir: nowhere\n", encoding="utf-8")
    with pytest.raises(PackageError, match="git says which files"):
        tracked(tmp_path)


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        ("pass", 0, "passed"),
        ("raise SystemExit(5)", 1, "FAILED"),
        ("import os; os.kill(os.getpid(), 9)", 1, "FAILED"),  # as the system does for want of memory
    ],
)
def test_a_place_that_fails_is_no_success(
    code: str, status: int, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log").write_text("the last line\n", encoding="utf-8")
    running = subprocess.Popen([sys.executable, "-c", code])
    assert finish(PLACES[0], (running, tmp_path / "log", time.monotonic())) == status
    assert f"{PLACES[0].name}: {told}" in capsys.readouterr().out
