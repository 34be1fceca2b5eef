from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnet.data import Concept, Name
from linnet.kb.build import build
from linnet.text.packing import PACKINGS
from tests.cli.conftest import Run
from tests.tiny_models import tiny_bert

TEXT = "{pmid}|t|A case of fever and cough.\n{pmid}|a|Then came an ache.\n{pmid}\t10\t15\tfever\tDisease\tD1\n"
MORE = "{pmid}\t20\t25\tcough\tDisease\tD2\n{pmid}\t40\t44\tache\tDisease\tD3\n\n"


@pytest.mark.slow
def test_packings_beside_one_pair_at_a_time(
    run: Run, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data" / "corpora" / "bc5cdr"
    folder.mkdir(parents=True)
    (folder / "CDR_DevelopmentSet.PubTator.txt").write_text("".join((TEXT + MORE).format(pmid=pmid) for pmid in (7, 8)))
    monkeypatch.setenv("LINNET_DATA", str(tmp_path / "data"))
    names = ("fever", "feverish", "cough", "coughing", "ache", "aching")
    kb = build((Concept(f"MESH:D{n}", (Name(text),)) for n, text in enumerate(names)), tmp_path / "small.kb")
    bert = tiny_bert(tmp_path / "tiny", words=names, layers=1)
    arguments = ("bench", "rerank", "--kb", kb.path, "--encoder", bert, "--top-k", 2, "--repeats", 1, "-q")
    done = run(*arguments, "--json")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["packing"] for row in rows] == [*PACKINGS, *(f"{name}, isolated" for name in PACKINGS)]
    assert rows[0]["token ratio"] == rows[0]["time ratio"] == rows[0]["reached"] == 1.0
    assert [row["sequences"] for row in rows[:5]] == sorted((row["sequences"] for row in rows[:5]), reverse=True)
    for row in rows:
        assert row["reached"] == pytest.approx(row["time ratio"] / row["token ratio"])
        assert row["mentions/s"] > 0
    assert "6 mentions of 2 documents of bc5cdr" in run(*arguments).out
