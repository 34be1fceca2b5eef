from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnet.bench.synthetic import synthetic
from linnet.kb.build import build
from tests.cli.conftest import Run


def test_without_data_it_says_where_to_look(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINNET_DATA", raising=False)
    done = run("bench", "lexical")
    assert done.code == 2
    assert "LINNET_DATA" in done.err
    assert "--kb" in done.err


@pytest.mark.slow
def test_a_knowledge_base_of_ones_own(run: Run, tmp_path: Path) -> None:
    kb = build(synthetic(400), tmp_path / "small.kb")
    arguments = ("bench", "lexical", "--kb", kb.path, "--queries", 64, "--k", 5)
    done = run(*arguments, "--json")
    assert done.code == 0
    row = json.loads(done.out)
    assert row["names of"] == "small.kb"
    assert row["same top"] == 1
    assert row["names"] > 400
    assert all(
        row[what] > 0 for what in ("build s", "file MB", "open ms", "memory MB", "median ms", "ratio", "batch ratio")
    )
    assert "top 5 of 64 mentions" in run(*arguments).out


@pytest.mark.slow
@pytest.mark.data
def test_real_names(run: Run, data: Path) -> None:
    done = run("bench", "lexical", "--data", data, "--json", "--queries", 64, "--names", 1000, "-q")
    assert done.code == 0, done.err
    real, made = map(json.loads, done.out.splitlines())
    assert real["names"] > 200_000
    assert made["names of"] == "synthetic"
    assert real["same top"] == made["same top"] == 1
