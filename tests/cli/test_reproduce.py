"""`linnet reproduce` on a corpus and a terminology of a few lines, laid out as the published ones are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnet.evaluate import Report
from linnet.fit.store import alone
from tests.corpora.published_excerpts import put

from .conftest import Run

GOLD = "7\nSeizures and fever.\n0\t8\tSeizures\tHP:0001250\n13\t18\tfever\tHP:0001945\n"
TABLE = "id\tname\tsynonyms\nHP:0001250\tSeizure\tSeizures\nHP:0001945\tFever\t\n"
RECIPE = """description = "Names, word for word."
corpus = "gsc_plus"
[kb]
name = "small"
build = [{{from = "table", path = "kb/small.tsv"}}]
[[pipeline]]
use = "{first}"
[[pipeline]]
use = "decide"
[expect]
"dev.in-kb.accuracy@1" = {floor}
"""
SPANS = 'gold"\n[[pipeline]]\nuse = "exact'


@pytest.fixture
def data(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with one corpus and one table."""
    folder = tmp_path / "data"
    (folder / "corpora/gsc_plus").mkdir(parents=True)
    (folder / "kb").mkdir()
    (folder / "corpora/gsc_plus/GSCplus_dev_gold.tsv").write_text(GOLD)
    (folder / "kb/small.tsv").write_text(TABLE)
    monkeypatch.setenv("LINNET_DATA", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def recipe(tmp_path: Path, *, floor: float = 1.0, first: str = SPANS, name: str = "small") -> Path:
    path = tmp_path / f"{name}.toml"
    path.write_text(RECIPE.format(floor=floor, first=first))
    return path


def test_from_scratch(run: Run, data: Path, home: Path, tmp_path: Path) -> None:
    done = run("reproduce", recipe(tmp_path), "-o", tmp_path / "out", "--repeats", 1)
    assert done.code == 0, done.err
    assert "OK" in done.out
    assert "+0.0000" in done.out
    assert "OK: found is no less" in done.out
    folder = tmp_path / "out" / "small"
    assert {path.name for path in folder.iterdir()} >= {
        "predictions.jsonl", "report.json", "report.html", "report.md", "state.json",
    }  # fmt: skip
    report = Report.of_json((folder / "report.json").read_text())
    assert report["dev.in-kb.accuracy@1"].value == 1.0
    assert report.cost is not None
    assert report.cost.index_bytes > 0
    assert (report.about.corpus, report.about.kb, report.about.pipeline) == (
        "gsc_plus:dev",
        "small",
        "gold >> exact >> decide",
    )
    assert "`small` | `gsc_plus:dev`" in (tmp_path / "out" / "rows.md").read_text()
    assert len(list((home / "kb").glob("small-*.kb"))) == 1


def test_what_is_done_is_kept_until_something_changes(run: Run, data: Path, home: Path, tmp_path: Path) -> None:
    def steps(*options: object, repeats: int = 0) -> list[str]:
        err = run("reproduce", tmp_path / "small.toml", "-o", tmp_path / "out", "--repeats", repeats, *options).err
        return [step for step in ("building", "linking", "evaluating") if step in err]

    recipe(tmp_path)
    assert steps() == ["building", "linking", "evaluating"]
    assert steps() == []
    recipe(tmp_path, floor=0.5)  # what it must reach is no part of what is done
    assert steps() == []
    assert steps(repeats=1) == ["evaluating"]  # how often speed is measured changes no prediction
    assert steps() == ["evaluating"]
    assert steps("--fresh") == ["linking", "evaluating"]
    (tmp_path / "out/small/report.json").write_text("{}")
    assert steps() == ["evaluating"]
    (tmp_path / "out/small/predictions.jsonl").unlink()
    assert steps() == ["linking", "evaluating"]
    (tmp_path / "out/small/state.json").write_text('{"key": 1, "steps": [')
    assert steps() == ["linking", "evaluating"]
    (data / "kb/small.tsv").write_text(TABLE + "HP:0000001\tAll\t\n")
    assert steps() == ["building", "linking", "evaluating"]
    (data / "corpora/gsc_plus/GSCplus_dev_gold.tsv").write_text(GOLD.replace("fever.", "fever!"))
    assert steps() == ["linking", "evaluating"]


def test_a_score_that_is_not_reached(run: Run, data: Path, tmp_path: Path) -> None:
    (data / "corpora/gsc_plus/GSCplus_dev_gold.tsv").write_text(GOLD.replace("fever", "FEBRI"))
    done = run("reproduce", recipe(tmp_path, floor=0.75), "-o", tmp_path / "out", "--repeats", 0)
    assert done.code == 1
    assert "FAIL" in done.out
    assert "-0.2500" in done.out


def test_a_recipe_that_promises_nothing_shows_its_figures(run: Run, data: Path, tmp_path: Path) -> None:
    (data / "corpora/gsc_plus/GSCplus_dev_gold.tsv").write_text(GOLD.replace("fever", "FEBRI"))
    for first, figures in ((SPANS, 2), ("dictionary", 4)):
        path = recipe(tmp_path, first=first)
        path.write_text(path.read_text().partition("[expect]")[0])
        done = run("reproduce", path, "-o", tmp_path / "out", "--repeats", 0)
        assert done.code == 0, done.err
        assert "1 documents" in done.out
        assert str(tmp_path / "out" / "small") in done.out
        assert "0.5000" in done.out
        assert "OK" not in done.out
        assert [figure for figure in ("accuracy@1", "recall@20", "strict.f1", "document.f1") if figure in done.out] == [
            "accuracy@1", "recall@20", "strict.f1", "document.f1",
        ][:figures]  # fmt: skip


def test_end_to_end_recipes_see_no_spans(run: Run, data: Path, tmp_path: Path) -> None:
    done = run("reproduce", recipe(tmp_path, first="dictionary"), "-o", tmp_path / "out", "--repeats", 1)
    assert done.code == 0, done.err
    lines = (tmp_path / "out/small/predictions.jsonl").read_text().splitlines()
    assert [mention.get("source", "pred") for mention in json.loads(lines[0])["mentions"]] == [
        "pred", "pred",
    ]  # fmt: skip


def test_given_types_are_seen_in_training_and_prediction(run: Run, data: Path, tmp_path: Path) -> None:
    # BC5CDR's layout has types; what a name means depends on them here
    lines = ["1|t|Cold.", "1|a|Cold air.", "1\t0\t4\tCold\tDisease\tD000001", "1\t6\t10\tCold\tChemical\tD000002", ""]
    folder = data / "corpora/bc5cdr"
    folder.mkdir()
    for split in ("Training", "Development"):
        (folder / f"CDR_{split}Set.PubTator.txt").write_text("\n".join(lines) + "\n")
    (data / "kb/small.tsv").write_text("id\tname\ttypes\nMESH:D000001\tCold\tDisease\nMESH:D000002\tCold\tChemical\n")
    allow = (
        'gold"\ntypes = true\n[[pipeline]]\nuse = "types"\nallow = {Disease = ["Disease"], Chemical = ["Chemical"]}\n'
    )
    path = recipe(tmp_path, first=allow + '[[pipeline.of]]\nuse = "exact')
    path.write_text(path.read_text().replace("gsc_plus", "bc5cdr"))
    done = run("reproduce", path, "-o", tmp_path / "out", "--repeats", 1)
    assert done.code == 0, done.err


def trained(data: Path, tmp_path: Path) -> Path:
    """Return a recipe that learns, with documents for it."""
    folder = data / "corpora/bc5cdr"
    folder.mkdir()
    for number, split in enumerate(("Training", "Development")):
        lines = f"{number}|t|Fever.\n{number}|a|{split}.\n{number}\t0\t5\tFever\tDisease\tHP:0001945\n\n"
        (folder / f"CDR_{split}Set.PubTator.txt").write_text(lines)
    path = recipe(tmp_path, floor=0.0, first='gold"\n[[pipeline]]\nuse = "ngram')
    path.write_text('chosen_on = "dev"\n' + path.read_text().replace("gsc_plus", "bc5cdr"))
    path.write_text(path.read_text().replace("[expect]", '[[train]]\npart = "ngram"\n[expect]'))
    return path


def test_keywords_that_were_chosen_on_what_is_measured_are_told(run: Run, data: Path, tmp_path: Path) -> None:
    done = run("reproduce", trained(data, tmp_path), "-o", tmp_path / "out", "--repeats", 0)
    assert done.code == 0, done.err
    [linked] = map(json.loads, (tmp_path / "out/small/predictions.jsonl").read_text().splitlines())
    assert linked["meta"]["seen"] == "dev"


def test_a_training_in_the_same_folder_is_not_disturbed(run: Run, data: Path, tmp_path: Path) -> None:
    path = trained(data, tmp_path)
    with alone(tmp_path / "out/small/model"):
        done = run("reproduce", path, "-o", tmp_path / "out", "--repeats", 0)
    assert done.code == 2
    assert "model: another process trains into it" in done.err
    assert not (tmp_path / "out/small/model.parts").exists()


def test_seeds_give_mean_and_deviation(run: Run, data: Path, tmp_path: Path) -> None:
    done = run("reproduce", recipe(tmp_path), "-o", tmp_path / "out", "--repeats", 0, "--seeds", 2)
    assert "1.0000 ± 0.0000" in done.out
    assert sorted(path.name for path in (tmp_path / "out/small").iterdir()) == ["seed-13", "seed-14"]
    assert Report.of_json((tmp_path / "out/small/seed-14/report.json").read_text()).about.seed == 14


def test_rows_go_into_a_page(run: Run, data: Path, tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text("# Benchmarks\n")
    for _ in range(2):
        run("reproduce", recipe(tmp_path), "-o", tmp_path / "out", "--repeats", 0, "--docs", page)
    assert page.read_text().count("`small`") == 1
    done = run("reproduce", recipe(tmp_path), "-o", tmp_path / "new", "--repeats", 0, "--docs", tmp_path / "none.md")
    assert "no such file" in done.err
    assert not (tmp_path / "new").exists(), "it is said before anything is done"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (("gsc_plus", "gsc"), "corpus: unknown corpus 'gsc'"),
        (('"dev.in', '"train.in'), "expect: gsc_plus has no split 'train', it has dev, test"),
        (('"dev.in-kb.accuracy@1"', '"mrr"'), "expect.mrr: begin with a split, such as dev.mrr"),
        (("table", "tabel"), "kb.build[0]: unknown vocabulary format 'tabel'"),
        (("build =", "biuld ="), "kb.biuld: unknown field; did you mean 'build'?"),
        (("accuracy@1", "acuracy@1"), "expect.dev.in-kb.acuracy@1: no such metric; did you mean 'in-kb.accuracy@1'?"),
        (("kb/small.tsv", "kb/none.tsv"), "none.tsv"),
    ],
)
def test_wrong_recipes(run: Run, data: Path, tmp_path: Path, changed: tuple[str, str], message: str) -> None:
    path = recipe(tmp_path)
    path.write_text(path.read_text().replace(*changed))
    done = run("reproduce", path, "-o", tmp_path / "out", "--repeats", 0)
    assert done.code == 2
    assert message in done.err


def test_a_recipe_named_twice(run: Run, data: Path, tmp_path: Path) -> None:
    path = recipe(tmp_path)
    assert "named twice" in run("reproduce", path, path).err


def test_data_is_needed(run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINNET_DATA")
    done = run("reproduce", recipe(tmp_path), "--out", tmp_path / "out")
    assert (done.code, "--data DIR or LINNET_DATA" in done.err) == (2, True)


def test_folds_give_mean_and_deviation(run: Run, data: Path, tmp_path: Path) -> None:
    table = "id\tname\nSNOMEDCT:22253000\taching é all over 3\nSNOMEDCT:21433011000036107\ttylenol\n"
    (data / "kb/small.tsv").write_text(table)
    put(data / "corpora" / "ask_a_patient", "ask_a_patient")
    path = recipe(tmp_path, floor=0.3)
    path.write_text(path.read_text().replace('"gsc_plus"', '"ask_a_patient/fold-0"').replace("dev.in-kb", "test.in-kb"))
    done = run("reproduce", path, "-o", tmp_path / "out", "--repeats", 0, "--folds")
    assert done.code == 0, done.err
    assert "0.5500 ± 0.1581" in done.out, "one of two right, in one fold both"
    assert len(list((tmp_path / "out" / "small").glob("fold-?/report.json"))) == 10
    refused = run("reproduce", recipe(tmp_path, name="other"), "-o", tmp_path / "out", "--folds")
    assert "the corpus 'gsc_plus' has no folds; corpora with folds: ask_a_patient" in refused.err
