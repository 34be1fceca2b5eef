from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnet.data import Concept, Name
from linnet.kb.build import build
from tests.bench.conftest import write_bc5cdr
from tests.cli.conftest import Run
from tests.tiny_models import tiny_bert

TEXT = "{pmid}|t|A case of fever and cough.\n{pmid}|a|Then came an ache.\n{pmid}\t10\t15\tfever\tDisease\tD000000\n"
MORE = "{pmid}\t20\t25\tcough\tDisease\tD000002\n{pmid}\t40\t44\tache\tDisease\tD000004\n\n"
NAMES = ("fever", "feverish", "cough", "coughing", "ache", "aching")
RECIPE = """corpus = "bc5cdr"
kb = "{kb}"
[[pipeline]]
use = "gold"
[[pipeline]]
use = "ngram"
k = {k}
[[pipeline]]
use = "cross_encoder"
encoder = "{encoder}"
packing = "{packing}"
[[pipeline]]
use = "decide"
[[train]]
part = "ngram"
[[train]]
part = "cross_encoder"
epochs = 2
batch = 4
bf16 = false
"""


@pytest.fixture
def recipes(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    write_bc5cdr(tmp_path / "data", TEXT + MORE, train=9)
    monkeypatch.setenv("LINNET_DATA", str(tmp_path / "data"))
    kb = build((Concept(f"MESH:D{n:06}", (Name(text),)) for n, text in enumerate(NAMES)), tmp_path / "small.kb")
    bert = tiny_bert(tmp_path / "tiny", words=NAMES, layers=1)
    made = []
    for packing in ("base", "multi"):
        made.append(tmp_path / f"{packing}.toml")
        made[-1].write_text(RECIPE.format(kb=kb.path, encoder=bert, packing=packing, k=4))
    return made


@pytest.mark.slow
def test_rerankers_side_by_side(run: Run, recipes: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Figures\n")
    arguments = ("bench", "rerankers", *recipes, "--folder", tmp_path / "kept", "--repeats", 1)
    applied = "top_k=2 use_first_stage_scores=false"
    done = run(*arguments, "--apply", applied, "--max-accuracy-loss", "0.5", "--docs", page)
    assert done.code == 0, done.err
    assert done.err.count("cross_encoder is trained") == 2
    assert done.err.count("ngram is trained") == 1
    rows = sorted(line.split("|")[1:4] for line in page.read_text().splitlines() if line.startswith("| `"))
    rows.sort(key=lambda row: "(" in row[0])
    assert [cell.strip() for cell in rows[-1]] == ["`bc5cdr/(first stage)`", "`–`", "a"]
    assert sorted(b.strip() for a, b, _ in rows if "base" in a) == [
        "`max_accuracy_loss=0.5`",
        f"`{applied}`",
        "`–`",
    ]
    again = run(*arguments, "--json", "-q")
    told = [json.loads(line) for line in again.out.splitlines()]
    assert [row["recipe"] for row in told] == ["bc5cdr/(first stage)", "base", "multi"]
    assert all(row["accuracy"] > 0.3 for row in told)
    assert all(row["annotations"] > 0 and row["speed"] > 0 for row in told[1:])
    assert "is trained" not in again.err


def test_recipes_that_cannot_be_compared(run: Run, recipes: list[Path], tmp_path: Path) -> None:
    recipes[1].write_text(recipes[1].read_text().replace("k = 4", "k = 3"))
    done = run("bench", "rerankers", *recipes, "--folder", tmp_path / "kept")
    assert "the parts before cross differ from those of the first recipe" in done.err
    assert "has no cross that is trained" in run("bench", "rerankers", "ncbi_disease/lexical").err
    assert "no such file" in run("bench", "rerankers", recipes[0], "--docs", tmp_path / "none.md").err
