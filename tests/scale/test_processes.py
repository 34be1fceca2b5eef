"""Workers and leaders that are real processes, and are killed: nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.errors import LinnetError
from linnet.pipeline import Pipeline
from linnet.scale.crew import Processes
from linnet.scale.job import Job, Told, run
from linnet.scale.shards import Load, Settings
from linnet.scale.units import Inputs
from tests.scale.parts import Inline, marking, notes, seen

KILLS = int(os.environ.get("LINNET_KILLS", "2"))
ROOT = Path(__file__).parents[2]


def job(source: Path, out: Path, **options: object) -> Job:
    return Job(Inputs((str(source),)), out, marking, {"pipeline": 1}, size=50, **options)  # type: ignore[arg-type]


def made_inline(source: Path, out: Path) -> dict[str, bytes]:
    run(job(source, out, gather=Inline))
    return seen(out)


def failing() -> Pipeline:
    raise LinnetError("there is no pipeline")


def dying() -> Pipeline:
    os._exit(3)


def test_processes_make_the_same(tmp_path: Path) -> None:
    source = notes(tmp_path / "notes", 300, files=2)
    told = run(job(source, tmp_path / "out", workers=2))
    assert seen(tmp_path / "out") == made_inline(source, tmp_path / "inline")
    assert told.spent.keys() == {"loading", "reading", "linking", "writing"}
    assert told.memory[0] > 1 << 20


def test_a_worker_that_cannot_load_says_why(tmp_path: Path) -> None:
    source = notes(tmp_path / "notes", 10)
    with pytest.raises(LinnetError, match="there is no pipeline"):
        run(Job(Inputs((str(source),)), tmp_path / "out", failing, {}))


@pytest.mark.slow
def test_workers_that_die_at_loading_end_the_job(tmp_path: Path) -> None:
    source = notes(tmp_path / "notes", 10)
    with pytest.raises(LinnetError, match="workers die while they load the pipeline"):
        run(Job(Inputs((str(source),)), tmp_path / "out", dying, {}))


@pytest.mark.slow
def test_a_deadly_document_is_left_out(tmp_path: Path) -> None:
    source = notes(tmp_path / "notes", 150)
    path = source / "part0.jsonl"
    path.write_text(path.read_text().replace("Fits of rage 77.", "Here it dies."))
    told = run(job(source, tmp_path / "out", workers=2))
    assert (told.counts["documents"], told.lost) == (149, 4)
    [found] = (tmp_path / "out" / "errors.jsonl").read_text().splitlines()
    reason = "it killed its worker, each time it was linked alone"
    assert json.loads(found) == {"document": "d77", "source": str(path), "reason": reason}


@pytest.mark.slow
def test_workers_are_killed(tmp_path: Path) -> None:
    source = notes(tmp_path / "notes", 400 + 100 * KILLS, word="Fits slowly", files=3)
    chance = random.Random(KILLS)
    crews: list[Processes] = []
    killed = before = 0

    def gather(size: int, load: Load, settings: Settings) -> Processes:
        crews.append(Processes(size, load, settings))
        return crews[-1]

    def kill(told: Told) -> None:
        nonlocal killed, before
        if killed < KILLS and told.counts["documents"] > before and chance.random() < 0.9:
            before = told.counts["documents"]
            os.kill(chance.choice(crews[0].pids), signal.SIGKILL)
            killed += 1

    told = run(job(source, tmp_path / "out", workers=2, gather=gather), tell=kill)
    assert killed
    assert killed - 2 <= told.lost <= killed, "who was killed with nothing left to do is not missed"
    assert seen(tmp_path / "out") == made_inline(source, tmp_path / "inline")


def wait_for(what: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def led(source: Path, out: Path) -> subprocess.Popen[bytes]:
    """Return a process that leads a job, and has written another shard, or all."""
    before = len(list(out.glob("shard-*")))
    leader = subprocess.Popen([sys.executable, "-m", "tests.scale.lead", str(source), str(out), "2"], cwd=ROOT)
    wait_for(lambda: len(list(out.glob("shard-*"))) > before or leader.poll() is not None)
    return leader


@pytest.mark.slow
def test_leaders_are_killed(tmp_path: Path) -> None:
    source, out = notes(tmp_path / "notes", 400 + 50 * KILLS, word="Fits slowly", files=3), tmp_path / "out"
    chance = random.Random(KILLS)
    for _ in range(KILLS):
        leader = led(source, out)
        time.sleep(chance.random() * 0.2)
        leader.kill()
        leader.wait()
    run(job(source, out, workers=2))
    assert seen(out) == made_inline(source, tmp_path / "inline")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes where Linux shows them")
def test_workers_end_with_their_leader(tmp_path: Path) -> None:
    source, out = notes(tmp_path / "notes", 4_000, word="Fits slowly"), tmp_path / "out"
    leader = led(source, out)
    children = Path(f"/proc/{leader.pid}/task/{leader.pid}/children").read_text().split()
    assert len(children) >= 2
    leader.kill()
    leader.wait()
    wait_for(lambda: not any(Path(f"/proc/{child}/cmdline").exists() and _runs(child) for child in children))


def _runs(pid: str) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
