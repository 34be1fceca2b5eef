from __future__ import annotations

import csv
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from linnet.cli.times import Time, write_times
from linnet.cli.tracking import Tracker
from linnet.errors import how_to_install
from linnet.fit.fitting import Done, Progress
from linnet.kb import KnowledgeBase
from linnet.pipeline.component import Step

from .conftest import Run
from .test_train import data, small, written

__all__ = ["data", "small"]

COLUMNS = ["step", "part", "documents", "seconds"]


def rows(path: Path) -> list[list[str]]:
    head, *found = csv.reader(path.read_text().splitlines())
    assert head == COLUMNS
    assert all(float(row[3]) >= 0 for row in found)
    return [row[:3] for row in found]


def test_no_spreadsheet_runs_the_name_of_a_file(tmp_path: Path) -> None:
    write_times(tmp_path / "m.csv", [Time("read", "=cmd()", 1, 0.5)])
    assert rows(tmp_path / "m.csv") == [["read", "'=cmd()", "1"]]


def test_of_linking_and_evaluation(run: Run, tmp_path: Path, recipe: Path) -> None:
    texts = [tmp_path / f"{name}.txt" for name in "ab"]
    for path in texts:
        path.write_text("Seizures.")
    plain = run("link", *texts, "--pipeline", recipe, "-o", tmp_path / "plain.jsonl")
    timed = run("link", *texts, "--pipeline", recipe, "-o", tmp_path / "out.jsonl", "--metrics", tmp_path / "m.csv")
    assert (plain.code, timed.code) == (0, 0), timed.err
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "plain.jsonl").read_bytes()
    steps = rows(tmp_path / "m.csv")
    assert steps[0] == ["load", "pipeline", "0"]
    assert ["link", "dictionary", "2"] in steps
    assert steps[-1] == ["link", "decide", "2"]
    gold = tmp_path / "gold.jsonl"
    gold.write_text((tmp_path / "out.jsonl").read_text().replace('"pred"', '"gold"'))
    done = run("evaluate", gold, tmp_path / "out.jsonl", "--metrics", tmp_path / "e.csv", "--samples", 0)
    assert done.code == 0, done.err
    assert rows(tmp_path / "e.csv") == [
        ["read", str(gold), "2"],
        ["read", "out", "2"],
        ["measure", "out", "2"],
        ["compare", "", "0"],
    ]


def test_nothing_read_is_overwritten(run: Run, tmp_path: Path, recipe: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("Seizures.")
    done = run("link", text, "--pipeline", recipe, "--metrics", text)
    assert (done.code, text.read_text()) == (2, "Seizures.")
    done = run("evaluate", text, text, "--metrics", text)
    assert (done.code, text.read_text()) == (2, "Seizures.")


class Logged:
    """What a run was told."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.summary: dict[str, float] = {}
        self.lines: list[dict[str, float]] = []
        self.code: int | None = None

    def log(self, values: dict[str, float]) -> None:
        self.lines.append(values)

    def finish(self, exit_code: int) -> None:
        self.code = exit_code


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Logged]:
    """The runs of a module that stands in for wandb."""
    made: list[Logged] = []

    def init(**options: Any) -> Logged:
        made.append(Logged(**options))
        return made[-1]

    fake = ModuleType("wandb")
    fake.init = init  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", fake)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    return made


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_weights_and_biases(
    run: Run, tmp_path: Path, data: Path, small: KnowledgeBase, runs: list[Logged], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = written(tmp_path, small)
    done = run("train", recipe, "-o", tmp_path / "a", "--data", data, "--wandb", "linking")
    assert done.code == 0, done.err
    [logged] = runs
    assert (logged.options["project"], logged.options["mode"], logged.code) == ("linking", "offline", 0)
    assert logged.options["config"]["corpus"] == "bc5cdr"
    assert "lexical/seconds" in logged.summary
    assert any("lexical/step" in line for line in logged.lines)
    monkeypatch.setenv("WANDB_MODE", "online")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    assert run("train", recipe, "-o", tmp_path / "full", "--data", data, "--wandb", "linking").code == 2
    assert (runs[-1].options["mode"], runs[-1].code) == ("online", 1)


class Written:
    """What TensorBoard's writer was told."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.values: dict[str, list[tuple[int, float]]] = {}
        self.closed = False

    def add_scalar(self, name: str, value: float, *, step: int) -> None:
        self.values.setdefault(name, []).append((step, value))

    def close(self) -> None:
        self.closed = True


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_tensorboard(
    run: Run, tmp_path: Path, data: Path, small: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Written] = []
    fake = ModuleType("tensorboard.summary")
    fake.Writer = lambda folder: made.append(Written(folder)) or made[-1]  # type: ignore[attr-defined, func-returns-value]
    monkeypatch.setitem(sys.modules, "tensorboard.summary", fake)
    board = tmp_path / "logs" / "board"
    done = run("train", written(tmp_path, small), "-o", tmp_path / "a", "--data", data, "--tensorboard", board)
    assert done.code == 0, done.err
    [writer] = made
    assert (writer.folder, writer.closed) == (str(board), True)
    assert "lexical/seconds" in writer.values


def test_a_tracker_is_told_of_steps() -> None:
    logged, writer = Logged(), Written("")
    tracker = Tracker(logged, writer)
    tracker.tell(Progress("dense", Step(7, 9, {"nll": 0.5}, 0.9, epoch=2, lr=1e-5)))
    tracker.tell(Progress("fuse", Step(1, score=0.4)))
    tracker.tell(Done("dense", 3.0))
    assert logged.lines == [
        {"dense/step": 7, "dense/nll": 0.5, "dense/score": 0.9, "dense/lr": 1e-5, "dense/epoch": 2},
        {"fuse/step": 1, "fuse/score": 0.4},
    ]
    assert logged.summary == {"dense/seconds": 3.0}
    assert writer.values == {
        "dense/nll": [(7, 0.5)], "dense/score": [(7, 0.9)], "dense/lr": [(7, 1e-5)], "dense/epoch": [(7, 2)],
        "fuse/score": [(1, 0.4)], "dense/seconds": [(0, 3.0)],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("option", "module", "extra"),
    [("--wandb", "wandb", "wandb"), ("--tensorboard", "tensorboard.summary", "tensorboard")],
)
def test_the_extra_is_named(
    run: Run, tmp_path: Path, data: Path, small: KnowledgeBase, option: str, module: str, extra: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, module, None)
    done = run("train", written(tmp_path, small), "-o", tmp_path / "a", "--data", data, option, tmp_path / "b")
    assert done.code == 2
    assert f"{option} needs {extra}, which is not installed: {how_to_install(extra)}" in done.err
