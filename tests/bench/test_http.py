"""``linnet bench http``: a real server beside the bulk pipeline, killed and started again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("prometheus_client", reason="the extra serve is not installed")

from typer.testing import CliRunner

from linnet.bench.app import app
from linnet.bench.http_site import abstracts
from linnet.bench.http_steps import Plan, Report, measure_http
from linnet.bench.kb import Gauge
from linnet.kb import KnowledgeBase


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*does not answer.*:linnet.errors.LinnetWarning")  # the server is killed
def test_no_answer_is_lost(kb: KnowledgeBase) -> None:
    plan = Plan(docs=60, clients=10, pipeline="dictionary", kbs=(str(kb.path),), repeats=1)
    report = measure_http(plan)
    figures = {one.what: one.value for one in report.gauges}
    assert report.errors == {}
    assert figures["answers lost"] == figures["answers that differ from those of the local pipeline"] == 0
    assert (
        figures["fastest round: requests that failed"]
        == figures["beside a stuck and a greedy client: requests that failed"]
        == 0
    )
    assert figures["bulk pipeline"] > 0


def test_what_is_printed_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report([Gauge("what HTTP costs of the throughput", 30.0, "%", 20.0)], Counter({429: 2}))
    monkeypatch.setattr("linnet.bench.http_steps.measure_http", lambda plan: report)
    done = CliRunner().invoke(app, ["http", "--docs", "10", "--json", str(tmp_path / "x.json")])
    assert "slow" in done.output
    assert "2 answers with status 429" in done.output
    told = json.loads((tmp_path / "x.json").read_text())
    assert (told["figures"][0]["verdict"], told["errors"]) == ("slow", {"429": 2})


def test_texts_without_data_are_the_notes() -> None:
    docs = abstracts(None, 30)
    assert len(docs) == 30
    assert docs[0].text == docs[12].text
    assert docs[0].id != docs[12].id
