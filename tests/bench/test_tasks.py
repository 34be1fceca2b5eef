from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnet.data import Concept, Document, Mention, Name
from linnet.kb.build import build
from tests.bench.conftest import write_bc5cdr
from tests.cli.conftest import Run
from tests.tiny_models import tiny_bert

TEXT = "{pmid}|t|A case of fever and cough.\n{pmid}|a|Then came an ache.\n{pmid}\t10\t15\tfever\tDisease\tD000000\n"
MORE = "{pmid}\t20\t25\tcough\tDisease\tD000001\n{pmid}\t40\t44\tache\tChemical\tD000002\n\n"
WORDS = ("fever", "cough", "ache", "case", "of", "and", "then", "came", "an", "a")
RECIPE = """corpus = "bc5cdr"
kb = "{kb}"
[[pipeline]]
use = "hierarchical"
encoder = "{encoder}"
variant = "pt_multi"
rows = "plain"
[[pipeline]]
use = "decide"
[[train]]
part = "hierarchical"
epochs = 30
batch = 2
lr = 5e-3
"""


@pytest.fixture
def recipe(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_bc5cdr(tmp_path / "data", TEXT + MORE)
    monkeypatch.setenv("LINNET_DATA", str(tmp_path / "data"))
    kb = build((Concept(f"MESH:D{n:06}", (Name(text),)) for n, text in enumerate(WORDS[:3])), tmp_path / "small.kb")
    made = tmp_path / "small.toml"
    made.write_text(RECIPE.format(kb=kb.path, encoder=tiny_bert(tmp_path / "tiny", words=WORDS, layers=1)))
    return made


@pytest.mark.slow
def test_every_task_of_every_variant(run: Run, recipe: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    page = tmp_path / "page.md"
    page.write_text("# Figures\n")
    asked = ("bench", "tasks", recipe, "--folder", tmp_path / "kept", "--seeds", 2)
    vary = ("--vary", "train.hierarchical.recognition_weight=0 train.hierarchical.lr=1e-7")
    done = run(*asked, *vary, "--docs", page)
    assert done.code == 0, done.err
    assert done.err.count("training hierarchical") == 4
    cells = [[cell.strip() for cell in line.split("|")] for line in page.read_text().splitlines() if line[:3] == "| `"]
    assert [row[3] for row in cells] == ["recognition", "typing", "linking"] * 2
    assert [row[8] for row in cells[3:]] == ["1.000 ± 0.000"] * 3  # as it is
    again = run(*asked, *vary, "--json", "-q")
    assert "training" not in again.err
    rows = [json.loads(line) for line in again.out.splitlines()]
    assert [row["p"] for row in rows[:3]] == [None] * 3
    assert all(row["mean"]["f1"] < 0.5 and row["p"] < 0.5 for row in rows[3:])


def test_what_counts_for_each_task() -> None:
    pytest.importorskip("torch")
    from linnet.bench.tasks_steps import _figures

    text = "fever and cough and ache"
    fever, cough, ache = Mention(0, 5, types=("A",), concepts=("X:1",)), Mention(10, 15, types=("B",)), Mention(20, 24)
    gold = Document("d", text, mentions=(fever, cough))
    # the right span with another type, a span of its own, and a concept that has come after the one of gold
    found = Document("d", text, mentions=(Mention(0, 5, types=("B",), concepts=("X:0",)), ache))
    measures = _figures([gold], [found], live=lambda one: "X:1" if one == "X:0" else one)
    values = {task: {name: one.value for name, one in figures.items()} for task, figures in measures.items()}
    assert values["recognition"] == {"accuracy": 3 / 5, "precision": 1 / 2, "recall": 1 / 2, "f1": 1 / 2}
    assert values["typing"] == {"accuracy": 2 / 5, "precision": 0, "recall": 0, "f1": 0}
    assert values["linking"] == {"accuracy": 3 / 5, "precision": 1, "recall": 1, "f1": 1}
    assert "typing" not in _figures([gold.bare()], [found], live=str)
