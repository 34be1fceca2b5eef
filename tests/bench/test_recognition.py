from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnet.bench import recognition_steps
from linnet.bench.ablate import _prepare
from linnet.cli.tune import _make_search
from linnet.data import Concept, Document, Name
from linnet.kb.build import build
from linnet.recipes import saving
from tests.bench.conftest import write_bc5cdr
from tests.cli.conftest import Run
from tests.tiny_models import tiny_bert

TEXT = "{pmid}|t|A case of fever and cough.\n{pmid}|a|Then came an ache.\n{pmid}\t10\t15\tfever\tDisease\tD000000\n"
MORE = "{pmid}\t20\t25\tcough\tDisease\tD000002\n{pmid}\t40\t44\tache\tDisease\tD000004\n\n"
NAMES = ("fever", "cough", "ache", "case", "of", "and", "then", "came", "an", "a")
RECIPE = """corpus = "bc5cdr"
kb = "{kb}"
[[pipeline]]
use = "tagger"
encoder = "{encoder}"
[[pipeline]]
use = "consistent"
[[pipeline]]
use = "ngram"
[[pipeline]]
use = "decide"
[[train]]
part = "tagger"
epochs = 20
batch = 2
lr = 5e-3
[[train]]
part = "decide"
"""


@pytest.fixture
def recipe(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_bc5cdr(tmp_path / "data", TEXT + MORE)
    monkeypatch.setenv("LINNET_DATA", str(tmp_path / "data"))
    kb = build((Concept(f"MESH:D{n:06}", (Name(text),)) for n, text in enumerate(NAMES[:3])), tmp_path / "small.kb")
    made = tmp_path / "small.toml"
    made.write_text(RECIPE.format(kb=kb.path, encoder=tiny_bert(tmp_path / "tiny", words=NAMES, layers=1)))
    return made


@pytest.mark.slow
def test_what_is_found_with_and_without(run: Run, recipe: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Figures\n")
    kept = ("--folder", tmp_path / "kept")
    vary = ("--vary", "tagger.scheme=BIO", "--vary", "consistent.repeats=false consistent.abbreviations=false")
    done = run("bench", "recognition", recipe, *kept, *vary, "--docs", page)
    assert done.code == 0, done.err
    assert done.err.count("training tagger") == 2  # what only uses the tagger takes the trained one
    rows = [line.split("|")[2:5] for line in page.read_text().splitlines() if line.startswith("| `")]
    assert len(rows) == 3
    assert rows[0][1].strip() == "1.000"
    again = run("bench", "recognition", recipe, *kept, *vary, "--json", "-q")
    told = [json.loads(line) for line in again.out.splitlines()]
    assert [row["varied"] for row in told] == ["", "tagger.scheme=BIO", vary[3]]
    assert [row["p"] for row in told] == [None, 1.0, 1.0]
    assert all(row["f1"] == 1.0 and row["speed"] > 0 for row in told)
    assert "training tagger" not in again.err
    both = run("bench", "recognition", recipe, *kept, "--int8", "--json", "-q")
    told = [json.loads(line) for line in both.out.splitlines()]
    assert [row["varied"] for row in told] == ["", "int8 by ONNX Runtime"]
    assert all(row["f1"] > 0.9 and row["speed"] > 0 for row in told)


def test_a_recipe_that_finds_nothing_is_refused(run: Run, recipe: Path, tmp_path: Path) -> None:
    text = recipe.read_text()
    recipe.write_text('corpus = "bc5cdr"\n' + text.splitlines()[1] + '\n[[pipeline]]\nuse = "gold"\n')
    done = run("bench", "recognition", recipe, "--folder", tmp_path / "kept")
    assert done.code == 2
    assert "has no part that finds mentions" in done.err


def test_texts_without_annotation_are_read(recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    folder = data / "corpora" / "ncbi_disease"
    folder.mkdir()
    (folder / "NCBItrainset_corpus.txt").write_text("77|t|Gout.\n77|a|It hurts.\n\n")
    recipe.write_text('train_texts = ["ncbi_disease"]\n' + recipe.read_text())
    learned: list[Document] = []
    monkeypatch.setattr(recognition_steps, "train_in_place", lambda _, __, docs, ___: learned.extend(docs))
    monkeypatch.setattr(recognition_steps, "_compared", lambda *_: [])
    monkeypatch.setattr(saving, "save", lambda *_: None)
    recognition_steps.measure_all(str(recipe), [], changes=[], folder=tmp_path / "kept", data=data)
    assert [doc.id for doc in learned if doc.mentions is None] == ["77"]
    search = _make_search(str(recipe), ['tune={"ngram.k"=[8]}'], "dev", "in-kb.accuracy@1", None, data)
    assert [doc.id for doc in search.texts] == ["77"]
    assert [doc.id for doc in _prepare(str(recipe), data, [("ngram.k=8",)], ()).train][-1] == "77"
