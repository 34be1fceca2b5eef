"""What a user sees of long work."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import pytest

from linnet.cli import common
from linnet.cli.common import TERMINAL, counter, progress
from linnet.reporter import reporting, tell


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(common, "EVERY", 0.0)
    monkeypatch.setattr(common, "_rate", lambda count, _start: f"rate of {count}")
    with reporting(TERMINAL):
        yield


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in progress(iter("ab"), what="linking", before=1_000):
        tell("pairs", 3_200, 10_000)
    assert capsys.readouterr().err.splitlines() == [
        "linnet: linking: 1,000 done, 3,200 of 10,000 pairs",
        "linnet: linking: 1,001 done, rate of 1",
        "linnet: linking: 1,001 done, 3,200 of 10,000 pairs",
        "linnet: linking: 1,002 done, rate of 2",
    ]


def test_nothing_is_said_quietly_and_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    with counter("linking", quiet=True) as count:
        tell("pairs", 1, 2)
        count(1)
    with counter("linking"):
        pass
    tell("pairs", 1, 2)
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    with counter("linking", total=9, before=4) as count:
        assert shown.getvalue() == "", "a text may be typed first"
        tell("pairs", 3_200, 10_000)
        count(5)
    assert "5/9" in shown.getvalue()
    assert "rate of 1" in shown.getvalue()
    assert "3,200 of 10,000 pairs" in shown.getvalue()


def test_rates_below_ten_have_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("time.monotonic", lambda: 200.0)
    assert [common._rate(count, 0.0) for count in (0, 25, 2_000, 300_000)] == ["0/s", "0.12/s", "10/s", "1,500/s"]
