"""``linnet bench peers``: what each finder finds, and what is said of those that are not installed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from linnet.bench import peers, peers_steps
from linnet.bench.peers import PEERS
from linnet.bench.peers_steps import MAKERS
from linnet.data import Document
from linnet.errors import LinnetError, how_to_install
from tests.cli.conftest import Run

NAMES = [("HP:1", "Short stature"), ("HP:2", "Fever"), ("HP:3", "Hay fever"), ("HP:2", "Pyrexia"), ("HP:4", "fever")]
TEXT = "Hay fever, feverish; short stature. İ Pyrexia."


@pytest.mark.parametrize("name", MAKERS)
def test_finders_find_names(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(PEERS[name].module)
    monkeypatch.setenv("PYSTOW_HOME", str(tmp_path))
    found = {(TEXT[start:end], id) for start, end, id in MAKERS[name](NAMES)(TEXT)}
    assert {("Hay fever", "HP:3"), ("short stature", "HP:1"), ("Pyrexia", "HP:2")} <= found
    assert all(word != "fever" for word, _ in found)


def test_speed_reads_fewer_texts_of_a_slow_finder(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    read: list[int] = []

    def link(docs: Any) -> None:
        read.append(len(docs))
        clock[0] += len(docs)  # a second each

    monkeypatch.setattr("linnet.bench.peers_steps.time.process_time", lambda: clock[0])
    monkeypatch.setattr(peers_steps, "reference", lambda: 0.5)
    rate, per_reference = peers_steps._speed(link, [Document.of("fever")] * 100, 30.0)
    assert (rate, per_reference) == (1.0, 0.5)
    assert read[1:] == [10] * 3


def test_rows_of_those_that_are_there(run: Run, tmp_path: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fresh(name: str, **_: object) -> dict[str, Any]:
        if name == "gilda":
            raise LinnetError("it failed")
        speed = 100.0 if name == "linnet" else 25.0
        return {
            **dict.fromkeys(peers.MEASURES, 0.5), "version": "1.0", "index s": 0.25, "index MiB": None,
            "abstracts/s": speed, "per reference": speed,
        }  # fmt: skip

    monkeypatch.setattr(peers, "fresh", fresh)
    monkeypatch.setattr(peers, "RECIPE", str(small))
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "simstring" else name and there("json")
    )
    docs = tmp_path / "page.md"
    docs.write_text("# Benchmarks\n")
    done = run("bench", "peers", "--docs", docs, "--quiet")
    assert done.code == 0, done.err
    assert f"simstring: not installed: {how_to_install('peers')}" in done.err
    assert "gilda: it failed" in done.err
    line = next(line for line in docs.read_text().splitlines() if line.startswith("| `flashtext`"))
    assert line.endswith("| 0.500 | 0.500 | 0.500 | 0.500 | 0.2 | – | 25 | 0.25 |")
    rows = [json.loads(line) for line in run("bench", "peers", "flashtext", "--json", "--quiet").out.splitlines()]
    assert [row["peer"] for row in rows] == ["linnet", "flashtext"]
    assert "is no known peer" in run("bench", "peers", "nonsense").err
