from __future__ import annotations

import json
from pathlib import Path

from .conftest import Run

GOLD = "7\nSeizures and fever.\n0\t8\tSeizures\tHP:0001250\n13\t18\tfever\tHP:0001945\n"


def test_figures(run: Run, tmp_path: Path) -> None:
    gold, predicted = tmp_path / "gold.tsv", tmp_path / "predicted.jsonl"
    gold.write_text(GOLD)
    mention = '{"start":0,"end":8,"concepts":["HP:0001250"]}'
    predicted.write_text(f'{{"id":"7","text":"Seizures and fever.","mentions":[{mention}]}}\n')
    done = run("evaluate", gold, predicted, "--json")
    assert json.loads(done.out)["mention"] == {
        "precision": 1.0, "recall": 0.5, "f1": 2 / 3, "right": 1, "predicted": 1, "gold": 2,
    }  # fmt: skip
    out = run("evaluate", gold, predicted).out
    assert "0.667" in out
    assert "1 documents" in out


def test_what_does_not_belong_together_is_refused(run: Run, tmp_path: Path) -> None:
    gold, other = tmp_path / "gold.tsv", tmp_path / "other.tsv"
    gold.write_text(GOLD)
    other.write_text(GOLD.replace("7\n", "8\n", 1))
    assert "not among" in run("evaluate", gold, other).err
    done = run("evaluate", gold, gold)
    assert (done.code, "hold gold mentions" in done.err) == (2, True)
