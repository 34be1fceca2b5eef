"""``linnet link -o OUT/``: jobs of shards from the command line."""

from __future__ import annotations

import importlib.util
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from linnet.cli import link_job
from linnet.corpora import read, write
from linnet.data import Mention
from linnet.detect.dictionary import Dictionary
from linnet.detect.tagger import Tagger
from linnet.errors import how_to_install
from linnet.evaluate import meter
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.scale.job import Told
from tests.cli.conftest import Run

NOTES = ("Short stature and seizures.", "Cleft palate.", "Nothing.", "Fits were seen.")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number:02}.txt").write_text(NOTES[number % 4])
    return folder


def as_gold(mention: Mention) -> Mention:
    return replace(mention, source="gold", probability=None, calibration="")


@pytest.mark.slow
def test_a_folder_of_shards(run: Run, recipe: Path, notes: Path, home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["link", notes, "--pipeline", recipe, "--shard-documents", 15, "-o"]
    done = run(*command, f"{out}/", "--workers", 2)
    assert done.code == 0, done.err
    assert f"{out}: 40 documents with 40 mentions" in done.err
    assert [path.name for path in sorted(out.glob("shard*"))] == [f"shard-00000{n}-000000.jsonl" for n in range(3)]
    plain = tmp_path / "plain.jsonl"
    assert run("link", notes, "--pipeline", recipe, "-o", plain).code == 0
    assert b"".join(path.read_bytes() for path in sorted(out.glob("shard*"))) == plain.read_bytes()
    again = run(*command, out)
    assert "40 documents with 40 mentions, 40 of them finished before" in again.err
    assert "a job writes shards as jsonl or parquet, not as 'csv'" in run(*command, out, "--to", "csv").err
    refused = run(*command, out, "--detect", "dictionary")
    assert refused.code == 2
    assert "finished" not in refused.err, "no advice to go on where nothing was begun"
    stats = run("corpus", "stats", out)
    assert stats.code == 0, stats.err
    assert "40" in stats.out
    gold = [replace(doc, mentions=tuple(map(as_gold, doc.mentions or ()))) for doc in read(out)]
    write(gold, tmp_path / "gold.jsonl")
    scored = run("evaluate", tmp_path / "gold.jsonl", out)
    assert scored.code == 0, scored.err


@pytest.mark.slow
def test_other_choices_are_another_job(run: Run, recipe: Path, notes: Path, home: Path, tmp_path: Path) -> None:
    out = f"{tmp_path}/out/"
    (notes / "gold.jsonl").write_text('{"id":"g","text":"Fits.","mentions":[{"start":0,"end":4,"source":"gold"}]}\n')
    done = run("link", notes, "--pipeline", recipe, "-o", out)
    assert "1 gold mentions of the input were hidden" in done.err
    refused = run("link", notes, "--pipeline", recipe, "-o", out, "--keep-gold")
    assert refused.code == 2
    assert "made with another choice of --keep-gold" in refused.err
    fresh = run("link", notes, "--pipeline", recipe, "-o", out, "--keep-gold", "--fresh", "--quiet")
    assert (fresh.code, fresh.err) == (0, "")
    [kept] = [doc for doc in read(out) if doc.id == "g"]
    assert [mention.source for mention in kept.mentions or ()] == ["gold"]


def test_what_goes_wrong_is_said(run: Run, recipe: Path, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"id":"a","text":"Fits."}\n{"id":"a","text":"Seizures."}\nnothing\n')
    done = run("link", path, "--pipeline", recipe, "-o", f"{tmp_path}/out/")
    assert "1 error: " in done.err
    assert "1 documents have the id of another one, and all are in the shards" in done.err


def test_what_it_will_cost(run: Run, recipe: Path, notes: Path, home: Path, tmp_path: Path) -> None:
    done = run("link", notes, "--pipeline", recipe, "--dry-run", "--workers", 4)
    assert done.code == 0, done.err
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.out.splitlines() if "│" in line]
    told = {row[0]: row[1] for row in rows}
    assert (told["documents"], told["documents linked to tell this"]) == ("40", "40")
    assert told["time of 4 workers"].endswith(" s")
    assert not (tmp_path / "linked").exists()


def test_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(link_job, "EVERY", 0)
    progress = link_job._Progress(quiet=False)
    progress(Told(lost=1))
    progress(Told(Counter(documents=1_000, errors=1), linking=2.0, left=3.0))
    assert capsys.readouterr().err.splitlines() == [
        "linnet: workers load the pipeline, 1 worker died and had to be replaced",
        "linnet: 1,000 documents linked, 500/s, about 3 s left, 1 error",
    ]


REFUSED = {
    "standard input": (["-", "-o", "OUT/"], "cannot read standard input"),
    "a page": (["Fits.", "-o", "OUT/", "--html", "page.html"], "writes no page and no times"),
    "a file": (["Fits.", "-o", "out.jsonl", "--workers", "2"], "looks like a file: give -o out.jsonl/"),
    "a word": (["nowhere", "-o", "OUT/"], "nowhere: there is no such file or folder"),
    "a folder that does not look like one": (["Fits.", "-o", "out"], "give -o out.jsonl or --to, or -o out/, a folder"),
    "no output": (["Fits.", "--workers", "2"], "give one with -o OUT/"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_job_cannot_do(run: Run, recipe: Path, home: Path, case: str) -> None:
    arguments, problem = REFUSED[case]
    done = run("link", *arguments, "--pipeline", recipe)
    assert (done.code, problem in done.err) == (2, True), done.err


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray(run: Run, recipe: Path, notes: Path, home: Path, tmp_path: Path) -> None:
    done = run("link", notes, "--pipeline", recipe, "-o", f"{tmp_path}/out/", "--ray", "local")
    assert how_to_install("ray") in done.err


def test_networks_get_as_many_workers_as_memory_holds(monkeypatch: pytest.MonkeyPatch, kb: KnowledgeBase) -> None:
    pytest.importorskip("torch")
    from linnet.nn import device

    dictionary, tagger = Pipeline(Dictionary(kb=kb)), Pipeline(Dictionary(kb=kb), Tagger(kb=kb))
    monkeypatch.setenv("LINNET_DEVICE", "cpu")
    monkeypatch.setattr(meter, "available_memory", lambda: 7 << 30)
    assert [link_job._most_workers(linker) for linker in (dictionary, tagger)] == [None, 2]
    monkeypatch.setattr(device, "choose_device", lambda: SimpleNamespace(type="cuda"))
    assert [link_job._most_workers(linker) for linker in (dictionary, tagger)] == [None, 1]
