"""The tests in other places: what they report."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.elsewhere import PLACES, finish


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
