"""The gallery is what its tool writes, its recipes exist, and marks and ticks stand where they should."""

from __future__ import annotations

import doctest
import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tools import generate_gallery
from tools.gallery import papers
from tools.gallery.links import Found, Linked, Run, find_all, given
from tools.gallery.page import Gallery

import linnet
from linnet import Concept, Name
from linnet.recipes.config import read_recipe

TEXT = "Breast and ovarian cancer, or DM."
BREAST = Found(((0, 6), (19, 25)), ("D1",), ("Breast cancer",), 0.5)
OVARIAN = Found(((11, 25),), ("D2",), ("Ovarian cancer",), 0.875, calibrated=True)
DM = Found(((30, 32),), ("D3",), ("Diabetes",), seen=True, assertion="affirmed")
PLAN: dict[str, Any] = {
    "pipeline": [
        {"title": "A", "page": "a.md", "recipe": "ncbi_disease/tagger", "folder": "a", "changes": ["seed=7"]},
        {"title": "B", "page": "b.md", "recipe": "ncbi_disease/ngram", "given": True},
        {"title": "C", "page": "c.md", "recipe": "ncbi_disease/generate", "folder": "c"},
    ]
}


def plan() -> dict[str, Any]:
    return tomllib.loads(generate_gallery.PLAN.read_text(encoding="utf-8"))


def gallery() -> Gallery:
    runs = [
        Run("A", {"tagger": 90.0, "decide": 2.0}, [BREAST, OVARIAN]),
        Run("B", {}, [replace(DM, concepts=("D4",), names=("Dystrophy",), probability=0.25)]),
    ]
    return Gallery(PLAN, Linked(TEXT, "1", 4, [OVARIAN, DM], runs))


def test_the_gallery_is_what_its_tool_writes() -> None:
    assert generate_gallery.main(["--check"]) == 0, "run make docs"


def test_a_stale_gallery_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(generate_gallery, "papers", lambda: "other figures")
    assert generate_gallery.main(["--check"]) == 1
    assert "make docs" in capsys.readouterr().err


def test_examples_run() -> None:
    done = doctest.testmod(papers)
    assert done.attempted > 0
    assert done.failed == 0


@pytest.mark.parametrize("one", plan()["pipeline"], ids=lambda one: str(one["title"]))
def test_recipes_of_the_gallery_can_be_trained_as_it_says(one: dict[str, Any]) -> None:
    source = one["recipe"]
    path = generate_gallery.ROOT / source
    assert read_recipe(str(path) if path.is_file() else source, changes=one.get("changes", ())).pipeline
    assert read_recipe(one.get("full", "ncbi_disease/ngram")).pipeline
    page = str(one["page"]).partition("#")[0]
    assert (generate_gallery.PAGE.parent / page).is_file()


def test_marks_have_the_numbers_of_rows() -> None:
    made = gallery()
    assert [made.surface(row) for row in made.rows] == ["Breast … cancer", "ovarian cancer", "DM"]
    marked = "> <mark>Breast</mark> and <mark>ovarian </mark><mark>cancer</mark><sup>1, 2</sup>, or DM."
    assert made.marked([BREAST, OVARIAN]) == marked


def test_what_is_right_is_ticked_and_what_is_not_calibrated_has_an_asterisk() -> None:
    text = gallery().text()
    assert "| 1 | Breast … cancer | Breast cancer (`D1`) 0.50* |" in text
    assert "| 2 | ovarian cancer | Ovarian cancer (`D2`) 0.88 ✓ |" in text
    assert "| 3 | DM | Dystrophy (`D4`) 0.25* |" in text
    assert "|  | right of 2 | 1 |" in text
    assert "|  | right of 2 | 0 |" in text


def test_trainings_are_told_and_missing_ones_named() -> None:
    text = gallery().text()
    assert "Trained in 1.5 min (`tagger` 1.5 min, `decide` 2 s); the last command trains it in full" in text
    full = "linnet train ncbi_disease/tagger -o FOLDER/a"
    short = full.replace(" -o", " --set seed=7 -o")
    assert f"```\n{short}\n{full}\n```" in text
    assert "was not done: c (`ncbi_disease/generate`)" in text


def test_what_was_found_is_kept() -> None:
    linked = gallery().linked
    assert Linked.from_json(linked.to_json()) == linked


def test_mentions_that_read_the_same_are_found_in_order(tmp_path: Path) -> None:
    kb = linnet.build([Concept("D3", (Name("Diabetes"),))], tmp_path / "small.kb")
    mentions = [{"text": "DM", "concepts": ["D3"]}] * 2
    doc = given({"text": "\nDM, and DM again.\n", "mention": mentions}, kb)
    assert [mention.start for mention in doc.mentions or ()] == [0, 8]
    with pytest.raises(ValueError, match="substring"):
        given({"text": "DM", "mention": mentions}, kb)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_what_needs_no_training_finds_what_is_kept(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path))
    kept = Linked.from_json(json.loads(generate_gallery.LINKED.read_text(encoding="utf-8")))
    found = find_all(plan(), tmp_path, data=data)
    assert found.runs == [run for run in kept.runs if not run.trained]
    assert replace(found, runs=kept.runs) == kept


def test_figures_without_a_row_of_ours_are_dashes() -> None:
    text = papers.papers()
    assert text.count("### ") == 5
    assert "| BC5CDR, given mentions | collective | P@1 | 3 | 0.807 |" in text
    assert "| AAP, given mentions | with pre-training | R@1 | 1, 2 | 0.893 | – | – |" in text
