"""Jobs on the nodes of a Ray cluster, which are real ones with a core each, on this machine; some are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from linnet.scale.job import Job, run
from linnet.scale.on_ray import _Actor
from linnet.scale.shards import Settings
from linnet.scale.units import Inputs
from tests.conftest import with_network
from tests.scale.parts import Inline, marking, notes, seen

pytest.importorskip("ray", reason="the extra ray is not installed")

KILLS = int(os.environ.get("LINNET_KILLS", "1"))
ROOT = Path(__file__).parents[2]


def test_a_node_of_another_version_is_refused(tmp_path: Path) -> None:
    said = _Actor(marking, Settings(str(tmp_path), str(tmp_path))).load("0.0.1")
    assert isinstance(said, str)
    assert "the leader 0.0.1: install the same on all nodes" in said


@pytest.mark.slow
def test_nodes_that_are_killed_make_the_same(tmp_path: Path) -> None:
    source = notes(tmp_path / "notes", 600 + 200 * KILLS, word="Fits slowly", files=3)
    command = [sys.executable, "-m", "tests.scale.on_nodes", str(source), str(tmp_path / "out"), str(KILLS)]
    done = subprocess.run(
        command, cwd=ROOT, env=with_network(), capture_output=True, text=True, timeout=120 + 30 * KILLS, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "out.json").read_text())
    assert told["documents"] == 600 + 200 * KILLS
    assert (told["cores"], told["said"]) == (2, "there is no pipeline")
    assert told["killed"] >= told["lost"] >= KILLS
    run(Job(Inputs((str(source),)), tmp_path / "inline", marking, {"pipeline": 1}, size=50, gather=Inline))
    assert seen(tmp_path / "out") == seen(tmp_path / "inline")
