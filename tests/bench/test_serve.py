"""``linnet bench serve``: a few annotators at a real server, with a training meanwhile and without."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from linnet.bench import serve
from linnet.bench.kb import Gauge

pytest.importorskip("fastapi")

from linnet.bench.serve_http import Client
from linnet.bench.serve_site import add_members, add_place, serving, stored
from linnet.bench.serve_steps import Plan, Report, Times, measure_serving
from linnet.data import Document


@pytest.mark.slow
def test_connections_that_the_server_closed_are_opened_again(tmp_path: Path) -> None:
    place = add_place(tmp_path, "notes", add_members(tmp_path, 2, "who"), "", [Document("a", "Fits.")])
    with serving(tmp_path, "--no-worker") as (port, _):

        async def ask() -> list[int]:
            client = Client(port, place.members[0].token)
            statuses = []
            for path in (f"/projects/{place.project}/documents", "/me", "/projects/999"):
                statuses.append((await client.ask("GET", path)).status)
                assert client._writer is not None
                client._writer.close()
            await client.close()
            return statuses

        assert asyncio.run(ask()) == [200, 200, 404]
    assert stored(tmp_path, [place.project]).problems == []


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_annotators_lose_nothing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linnet.bench.serve_steps._mesh", lambda _: "hpo")  # how large it is changes times alone
    report = measure_serving(Plan(annotators=4, seconds=2.0, pause=0.05, documents=8, data=data))
    figures = {one.what: one.value for one in report.gauges}
    assert figures["events acknowledged"] > 0
    assert figures["lost updates"] == figures["stored more often than acknowledged"] == 0
    assert figures["faults in the journals"] == 0
    assert report.errors == {}
    assert {one.phase for one in report.times} == {"annotating", "with a training"}


def test_what_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = [Times("annotating", "decision", 10, 5.0, 250.0, 300.0, 200.0), Times("", "sample", 1, 1.0, 2.0, 3.0, None)]
    report = Report(times, [Gauge("lost updates", 0.0, "", 0.0)], {"decision: 503": 2})
    serve._show(report, 50)
    said = capsys.readouterr()
    assert "slow" in said.out
    assert "OK" in said.out
    assert "2 times decision: 503" in said.err
    serve._write(tmp_path / "x.json", report)
    told = json.loads((tmp_path / "x.json").read_text())
    assert [one["verdict"] for one in told["times"]] == ["slow", ""]
    assert told["errors"] == {"decision: 503": 2}
