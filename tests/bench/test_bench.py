from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnet.bench.kb import Gauge, Searches
from linnet.bench.queries import FILTERS, KINDS, draw
from linnet.bench.steps import STEPS, fresh
from linnet.bench.synthetic import synthetic
from linnet.errors import LinnetError
from linnet.evaluate import meter
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.text.normalise import basic
from tests.cli.conftest import Run


def test_without_data_it_says_where_to_look(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINNET_DATA", raising=False)
    assert "LINNET_DATA" in run("bench", "dictionary").err
    assert "no PubMed XML" in run("bench", "dictionary", "--data", tmp_path).err


@pytest.mark.slow
@pytest.mark.data
def test_dictionary_over_real_abstracts(run: Run, recipe: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_setaffinity", lambda *_: None, raising=False)
    done = run("bench", "dictionary", "--data", data, "--pipeline", recipe, "--repeats", 1)
    assert done.code == 0
    assert "526" in done.out
    assert "abstracts/s" in done.out


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build(synthetic(1500), tmp_path_factory.mktemp("bench") / "made.kb")


@pytest.mark.slow
def test_queries_are_what_their_class_says(made: KnowledgeBase) -> None:
    classes = draw(made, 25)
    assert draw(made, 25) == classes
    assert draw(made, 25, seed=14) != classes
    assert len(classes) == len(KINDS) * len(FILTERS)
    names = {basic(name.text) for name in made.names()}
    bags = {frozenset(name.split()) for name in names}
    for name, asked in classes.items():
        assert len(asked) == 25
        for text, filters in asked:
            assert list(filters) == (["types"] if "type" in name else ["under"] if "under" in name else [])
            hits = made.search(text, **filters)
            if name.startswith("exact"):
                assert basic(text) in names
                assert hits[0].tier == "exact"
            elif name.startswith("prefix"):
                assert len(text) <= 4
                assert any(norm.startswith(text) for norm in names)
            elif name.startswith("reordered"):
                assert frozenset(text.split()) in bags
                assert hits
            elif name.startswith("two"):
                assert len(text.split()) == 2
                assert hits


def test_steps_measure(made: KnowledgeBase, tmp_path: Path) -> None:
    path = str(tmp_path / "built.kb")
    built = STEPS["build"](path=path, concepts=100, seed=1, quiet=True)
    assert built["seconds"] > 0
    assert built["resident"] > 1
    opened = STEPS["open"](path=path)
    assert opened["info"]["concepts"] == "100"
    assert opened["file"] == Path(path).stat().st_size
    searched = STEPS["search"](path=path, queries=3, seed=1)
    assert {len(times) for times in searched["again"].values()} == {3}
    assert STEPS["table"](path=path)["names"] == int(opened["info"]["names"])
    assert STEPS["open table"](path=path)["seconds"] < 5


def test_memory_that_is_not_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(meter, "STATUS", tmp_path / "none")
    monkeypatch.delattr("os.posix_fadvise", raising=False)
    path = str(tmp_path / "built.kb")
    built = STEPS["build"](path=path, concepts=20, seed=1, quiet=True)
    assert set(built) == {"seconds", "processor", "resident"}
    assert set(STEPS["open"](path=path)) == {"seconds", "file", "info"}
    assert STEPS["search"](path=path, queries=1, seed=1)["dropped"] is False


def test_a_step_that_fails(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LinnetError, match="'open' of the measurement failed with exit code 2"):
        fresh("open", path=str(tmp_path / "none.kb"))
    assert "none.kb: No such file" in capfd.readouterr().err


def test_verdicts() -> None:
    assert Gauge("x", 2.0, "s").verdict == ""
    assert Gauge("x", 2.0, "s", 2.0).verdict == "OK"
    assert Gauge("x", 2.1, "s", 2.0).verdict == "slow"
    assert Searches("x", 1.0, 50.1, 60.0, None, 1.0).verdict == "slow"


@pytest.mark.slow
def test_kb_builds_and_measures(run: Run, tmp_path: Path) -> None:
    path, figures = tmp_path / "mine.kb", tmp_path / "figures.json"
    options = ("--concepts", 200, "--queries", 2, "--kb", path, "--json", figures, "--edits", 8, "--quiet")
    done = run("bench", "kb", *options)
    assert (done.code, done.err) == (0, "")
    assert "200 concepts" in done.out
    written = json.loads(figures.read_text())
    assert written["concepts"] == 200
    told = {figure["what"]: figure["value"] for figure in written["figures"]}
    assert {"build: peak resident memory", "open"} <= told.keys()
    batches = [told[what] for what in ("4 additions", "2 retirements", "2 merges")]
    assert 0 < sum(batches) <= told["8 edits in all"]
    assert len(written["searches"]) == len(KINDS) * len(FILTERS)
    again = run("bench", "kb", "--kb", path, "--queries", 2, "--edits", 0)
    assert "build" not in again.out
    assert sorted(tmp_path.iterdir()) == [figures, path]


def test_kb_says_what_is_wrong(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.kb").write_text("nonsense")
    done = run("bench", "kb", "--kb", tmp_path / "a.kb")
    assert done.code == 2
    assert "failed" in done.err
    assert run("bench", "kb", "--concepts", 0).code == 2


@pytest.mark.slow
def test_table_alone(run: Run, made: KnowledgeBase) -> None:
    done = run("bench", "dictionary", "--table-only", "--kb", made.path)
    assert done.code == 0
    assert "open and look up one name" in done.out
