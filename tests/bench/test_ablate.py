"""`linnet bench ablation` on a corpus of a few lines, laid out as the published one is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnet.bench.ablate import TABLE
from tests.cli.conftest import Run

LEFT_OUT = [
    "nothing", "ngram: training aliases", "ngram: prior of aliases", "ngram: long forms", "ngram: word boundaries",
    "ngram: sublinear tf", "ngram: all but 3-grams", "conjuncts",
]  # fmt: skip


def test_a_table(run: Run, small: Path) -> None:
    done = run("bench", "ablation", small)
    assert done.code == 0, done.err
    assert all(name in done.out for name in (*LEFT_OUT, *TABLE.columns))
    assert "small, whole, without ngram: training aliases: @1 0.3333" in done.err
    assert run("bench", "ablation", small, "-q").err == ""


def test_json(run: Run, small: Path) -> None:
    rows = [json.loads(line) for line in run("bench", "ablation", small, "--json").out.splitlines()]
    assert [row["without"] or "nothing" for row in rows] == LEFT_OUT
    assert rows[0] == {
        "recipe": "small", "corpus": "bc5cdr:dev", "pipeline": "whole", "without": "", "accuracy": 2 / 3,
        "recall": {"20": 2 / 3, "64": 2 / 3}, "mentions": 3, "difference": None, "p": None, "adjusted": None,
    }  # fmt: skip
    assert rows[1]["difference"] == pytest.approx(-1 / 3)
    assert (rows[1]["p"], rows[1]["adjusted"], rows[1]["recall"]["20"]) == (1.0, 1.0, pytest.approx(1 / 3))


def test_changes_that_are_told_are_measured_instead(run: Run, small: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Benchmarks\n")
    told = ("--vary", "ngram.aliases=false  ngram.k=5", "--vary", "ngram.k=3", "--docs", page)
    done = run("bench", "ablation", small, *told, "--json")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["without"] for row in rows] == ["", "ngram.aliases=false ngram.k=5", "ngram.k=3"]
    assert [row["accuracy"] for row in rows] == pytest.approx([2 / 3, 1 / 3, 2 / 3])
    assert "| `small` | `ngram.aliases=false ngram.k=5` | 0.333 | -33.33 |" in page.read_text()
    done = run("bench", "ablation", small, "--set", "ngram.aliases=false", "--vary", "ngram.k=3", "--json")
    assert [json.loads(line)["accuracy"] for line in done.out.splitlines()] == pytest.approx([1 / 3, 1 / 3])
    assert '"recipe": "small ngram.aliases=false"' in done.out
    wrong = run("bench", "ablation", small, "--vary", "ngram.kk=1")
    assert wrong.code != 0
    assert "kk: unknown" in wrong.err


def test_rows_go_into_a_page(run: Run, small: Path, tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text("# Benchmarks\n")
    other = tmp_path / "other.toml"
    other.write_text(small.read_text().replace('use = "conjuncts"', 'use = "abbreviations"'))
    for sources in ((small, other), (small,)):
        assert run("bench", "ablation", *sources, "--docs", page).code == 0
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    assert [row.split(" | ")[2] for row in rows] == [*LEFT_OUT[:-1], *LEFT_OUT]
    assert rows[0] == "| `other` | whole | nothing | 0.667 |  |  | 0.667 | 0.667 | 3 |"
    assert rows[-7] == "| `small` | whole | ngram: training aliases | 0.333 | -33.33 | 1 | 0.333 | 0.333 | 3 |"
    done = run("bench", "ablation", small, "--docs", tmp_path / "none.md")
    assert (done.code, "no such file" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (('corpus = "bc5cdr"\n', ""), "corpus: missing; name the corpus whose dev split is linked"),
        (('"bc5cdr"', '"bc5cd"'), "unknown corpus 'bc5cd'"),
        (("kb = ", "description = "), "kb: missing"),
        (('use = "ngram"', 'use = "ngrm"'), "'ngrm'"),
        (('part = "ngram"', 'part = "lexicl"'), "'lexicl' does not name a part that learns"),
    ],
)
def test_what_is_refused(run: Run, small: Path, changed: tuple[str, str], message: str) -> None:
    small.write_text(small.read_text().replace(*changed))
    done = run("bench", "ablation", small)
    assert (done.code, message in done.err) == (2, True), done.err


def test_a_recipe_named_twice(run: Run, small: Path) -> None:
    assert "named twice" in run("bench", "ablation", small, small).err


def test_documents_of_another_corpus_are_learned_from_and_chosen_on(run: Run, small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "corpora" / "gsc_plus"
    folder.mkdir()
    (folder / "GSCplus_dev_gold.tsv").write_text("7\nCoughing again.\n0\t8\tCoughing\tMESH:D000000\n")
    text = small.read_text().replace('corpus = "bc5cdr"', 'corpus = "gsc_plus"\ntrain_corpus = "bc5cdr"')
    small.write_text(text + '[[train]]\npart = "decide"\n')
    done = run("bench", "ablation", small, "--json")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [(row["corpus"], row["accuracy"]) for row in rows[:2]] == [("gsc_plus:dev", 1.0), ("gsc_plus:dev", 0.0)]
