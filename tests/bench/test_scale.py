"""``linnet bench scale``: the same job by one worker and by two."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from linnet.bench.app import app
from linnet.bench.kb import Gauge
from linnet.bench.scale_steps import PMID, Plan, measure_scale
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from tests.conftest import with_network


@pytest.mark.slow
def test_one_worker_and_two(kb: KnowledgeBase) -> None:
    report = measure_scale(Plan(copies=3, workers=(1, 2), pipeline="dictionary", kbs=(str(kb.path),), shard=10))
    figures = {title: {one.what: one.value for one in rows} for title, rows in report.items()}
    assert figures["1 worker"]["documents"] == figures["2 workers"]["documents"] > 30
    assert figures["2 workers"]["files that differ from those of the first"] == 0
    hours = figures["37 million citations, machines of 16 cores"]
    assert hours["1 machines"] == pytest.approx(100 * hours["100 machines"])


@pytest.mark.slow
def test_a_node_of_ray(kb: KnowledgeBase, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    command = ["bench", "scale", "--copies", "1", "--workers", "1", "--nodes", "1", "--kb", str(kb.path), "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "linnet", *command, "--pipeline", "dictionary", "--json", str(tmp_path / "told.json")],
        env=with_network(), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "told.json").read_text())
    figures = {row["what"]: row["value"] for row in told["1 node"]}
    assert figures["documents"] > 10
    assert figures["files that differ from those of the first"] == 0


def test_what_is_printed_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []

    def measured(plan: Plan) -> dict[str, list[Gauge]]:
        plans.append(plan)
        return {"1 worker": [Gauge("files that differ from those of the first", 1.0, "", 0.0)]}

    monkeypatch.setattr("linnet.bench.scale_steps.measure_scale", measured)
    done = CliRunner().invoke(app, ["scale", "--workers", "1, 3", "--nodes", "2", "--json", str(tmp_path / "x.json")])
    assert "slow" in done.output
    assert (plans[0].workers, plans[0].nodes) == ((1, 3), (2,))
    assert json.loads((tmp_path / "x.json").read_text())["1 worker"][0]["verdict"] == "slow"
    wrong = CliRunner().invoke(app, ["scale", "--workers", "two"])
    assert isinstance(wrong.exception, LinnetError)


def test_records_get_other_ids() -> None:
    text = '<MedlineCitation Owner="NLM">\n<PMID Version="1">123</PMID>\n<RefSource><PMID>9</PMID></RefSource>'
    assert PMID.sub(r"\g<1>\g<2>0004", text).count("0004") == 1
