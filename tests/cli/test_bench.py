from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run


def test_without_data_it_says_where_to_look(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINNET_DATA", raising=False)
    assert "LINNET_DATA" in run("bench", "dictionary").err
    assert "no PubMed XML" in run("bench", "dictionary", "--data", tmp_path).err


@pytest.mark.data
def test_dictionary_over_real_abstracts(run: Run, recipe: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_setaffinity", lambda *_: None, raising=False)
    done = run("bench", "dictionary", "--data", data, "--pipeline", recipe, "--repeats", 1)
    assert done.code == 0
    assert "526" in done.out
    assert "abstracts/s" in done.out
