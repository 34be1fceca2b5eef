"""``linnet bench`` of networks that find, link and write, on a corpus of a few lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.tiny_models import tiny_bert


@pytest.fixture
def rows(run: Run, small: Path, tmp_path: Path, request: pytest.FixtureRequest) -> list[dict[str, object]]:
    """What a command measures of tiny networks."""
    encoder = tiny_bert(tmp_path / "bert", layers=1)
    done = run("bench", *request.param, small, "--encoder", encoder, "--json")
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [["collective"]], indirect=True)
def test_collective(rows: list[dict[str, object]]) -> None:
    assert rows[0]["what"] == "collective, given mentions"
    assert rows[0]["mentions"] == 3
    assert sum("mentions" in str(row["documents"]) for row in rows) == 12


@pytest.mark.slow
@pytest.mark.parametrize("rows", [["hierarchical"]], indirect=True)
def test_hierarchical(rows: list[dict[str, object]]) -> None:
    assert [row["what"] for row in rows][:2] == ["tagger alone", "tagger, n-grams"]
    assert len(rows) == 11
    assert rows[0]["times"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("rows", [["generate", "--concepts", "50"]], indirect=True)
def test_generate(rows: list[dict[str, object]]) -> None:
    assert [(row["names"], row["what"], row["batch"]) for row in rows] == [
        ("small.kb", "linnet", 1), ("small.kb", "linnet", 8), ("small.kb", "linnet", 64),
        ("small.kb", "transformers.generate", 1), ("small.kb", "transformers.generate", 64),
        ("synthetic", "linnet", 1), ("synthetic", "linnet", 8), ("synthetic", "linnet", 64),
    ]  # fmt: skip
    assert all(0 < float(str(row["share"])) < 1 for row in rows if row["what"] == "linnet")
    assert rows[0]["count"] == 3
