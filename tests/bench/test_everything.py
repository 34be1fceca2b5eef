"""``linnet bench all``: what it runs, what it says of drops, what it keeps."""

from __future__ import annotations

import functools
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from linnet.bench import everything, everything_steps
from linnet.bench.everything import BENCHES, Line
from linnet.bench.everything_steps import STEPS, Ratio, per_reference
from linnet.errors import LinnetError, how_to_install
from tests.cli.conftest import Run


class Measured:
    """Stands for the processes: each bench gives the next of its ratios, or fails."""

    def __init__(self) -> None:
        self.ratios: dict[str, list[float]] = {}
        self.asked: list[str] = []

    def __call__(self, name: str, **_: object) -> dict[str, Any]:
        self.asked.append(name)
        if name == "formats":
            raise LinnetError("the step failed")
        values = self.ratios.get(name, [2.0])
        return {"ratios": [Ratio("to a slow way", values.pop(0) if len(values) > 1 else values[0], "7 texts/s")]}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    made = Measured()
    monkeypatch.setattr(everything, "fresh", made)
    return made


def test_every_bench_has_a_step() -> None:
    assert list(BENCHES) == list(STEPS)


def test_work_is_measured_against_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    assert everything_steps.reference() > 0
    monkeypatch.setattr(everything_steps, "reference", lambda: 6.0)
    seconds = iter([3.0, 2.0, 4.0])
    assert per_reference(lambda: next(seconds), turns=3) == (3.0, 2.0)


def test_a_drop_is_measured_again_and_said(measured: Measured, run: Run, home: Path) -> None:
    assert not Line("a", "b", 1.0, None, "").dropped
    assert not Line("a", "b", 0.86, 1.0, "").dropped
    run("bench", "all", "kb", "lexical", "--quiet")
    measured.ratios = {"kb": [1.0, 1.9], "lexical": [1.0, 1.5]}  # one was disturbed, the other is slower
    kept = json.loads((home / "bench.json").read_text())["ratios"]
    assert kept == {"kb": {"to a slow way": 2.0}, "lexical": {"to a slow way": 2.0}}
    strict = run("bench", "all", "kb", "lexical", "--quiet", "--strict")
    assert (strict.code, measured.asked) == (1, ["kb", "lexical"] + ["kb"] * 2 + ["lexical"] * 2)
    assert strict.err.splitlines() == ["dropped by 25 %: lexical, to a slow way: 1.50 after 2.00"]
    assert json.loads((home / "bench.json").read_text())["ratios"] == kept
    again = run("bench", "all", "lexical", "--quiet")
    assert (again.code, "dropped" in again.err) == (0, True)
    kept = json.loads((home / "bench.json").read_text())["ratios"]
    assert kept == {"kb": {"to a slow way": 2.0}, "lexical": {"to a slow way": 1.5}}


def test_one_that_fails_or_lacks_something_stops_no_other(
    measured: Measured, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else name)
    docs, last = tmp_path / "page.md", tmp_path / "last.json"
    docs.write_text("# Benchmarks\n")
    done = run("bench", "all", "--docs", docs, "--last", last, "--quiet")
    assert done.code == 0, done.err
    assert "formats: failed after 0 s: the step failed" in done.err
    assert f"encode: left out, needs torch: {how_to_install('neural')}" in done.err
    assert "| `scale` | `to a slow way` | 2.00 | – | – | 7 texts/s |" in docs.read_text()
    assert list(json.loads(last.read_text())["ratios"]) == ["kb", "dictionary", "evaluate", "lexical", "http", "scale"]
    rows = run("bench", "all", "kb", "--last", last, "--json").out.splitlines()
    assert json.loads(rows[0])["last"] == 2.0
    docs.write_text("[]")
    assert "holds no ratios" in run("bench", "all", "kb", "--last", docs).err
    assert "none that `linnet bench all` runs" in run("bench", "all", "recognition").err


@pytest.mark.slow
@pytest.mark.usefixtures("home")
@pytest.mark.filterwarnings("ignore:.*more than one replaced_by:linnet.errors.LinnetWarning")
def test_small_benches_give_ratios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(everything_steps, "per_reference", functools.partial(per_reference, turns=1))
    for name in ("dictionary", "formats", "evaluate"):
        for ratio in STEPS[name]()["ratios"]:
            assert ratio.value > 0
    recipe, kb = everything_steps._notes(tmp_path)
    assert kb.exists()
    assert 'use = "gold"' in recipe.read_text()
