"""`make release-models` on a dozen sentences: trained, measured, packed, installed, and refused without data."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tools.release_models.build import Release

import linnet
from linnet.corpora import write
from linnet.data import Document, Mention
from linnet.errors import LinnetError
from linnet.home import kb_named
from linnet.kb import KnowledgeBase
from linnet.recipes.bundle import digest_of, install

ROOT = Path(__file__).parents[1]
RECIPE = """\
kb = "small"

[[pipeline]]
use = "dictionary"
aliases = true

[[pipeline]]
use = "decide"

[[train]]
part = "dictionary"
"""


def documents(split: str, texts: Sequence[str]) -> list[Document]:
    """Documents in which a word in capitals is a seizure."""
    docs = []
    for number, text in enumerate(texts):
        start = next(place for place, letter in enumerate(text) if letter.isupper())
        end = text.find(" ", start)
        gold = Mention(start, len(text) if end < 0 else end, source="gold", concepts=("HP:0001250",))
        docs.append(Document(f"{split}-{number}", text.lower(), mentions=(gold,)))
    return docs


@pytest.fixture
def release(tmp_path: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> Release:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    kb_named("small").parent.mkdir(parents=True)
    kb_named("small").write_bytes(Path(kb.path).read_bytes())
    other = kb_named("other")
    linnet.build([linnet.Concept("X:1", (linnet.Name("Cough"),))], other, name="other")
    (tmp_path / "corpus").mkdir()
    write(
        documents("train", ["a TURN again", "one more TURN", "a SEIZURE in the night"]), tmp_path / "corpus/train.jsonl"
    )
    write(documents("dev", ["her last TURN was long", "a WOBBLE at noon"]), tmp_path / "corpus/dev.jsonl")
    (tmp_path / "mine.toml").write_text(RECIPE)
    (tmp_path / "coughs.toml").write_text(
        'kb = "other"\n\n[[pipeline]]\nuse = "dictionary"\n\n[[pipeline]]\nuse = "decide"\n'
    )
    return Release(
        tmp_path / "models",
        name="turns",
        recipe=str(tmp_path / "mine.toml"),
        learned="turns",
        corpora=[str(tmp_path / "corpus")],
        others={"coughs": str(tmp_path / "coughs.toml")},
        measured={},
    )


def test_a_release_is_built_and_installed(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = release.build()
    assert (archive.parent / "SHA256SUMS").read_text() == f"{digest_of(archive)}  {archive.name}\n"
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "empty"))
    done = install(archive)
    card = (done.path / "card.md").read_text()
    row = next(line for line in card.splitlines() if line.startswith("| turns | "))
    assert row.endswith("| its train split | 1.000 | 0.500 | 0.667 | 0.667 |"), "the trial has not seen dev"
    [doc] = linnet.load("turns")("A wobble and a cough.")
    assert [(mention.concepts, mention.terminology) for mention in doc.mentions or ()] == [
        (("HP:0001250",), "small"),
        (("X:1",), "other"),
    ], "what ships has"
    before = archive.read_bytes()
    assert replace(release).build().read_bytes() == before, "what was trained is kept"


def test_dev_texts_that_are_learned_from(release: Release, tmp_path: Path) -> None:
    write(documents("dev", ["A turn  AGAIN"]), tmp_path / "corpus/dev.jsonl")
    with pytest.raises(LinnetError, match="1 have texts that are learned from"):
        release.build()


def test_without_data(tmp_path: Path) -> None:
    env = {key: value for key, value in os.environ.items() if key != "LINNET_DATA"}
    command = [sys.executable, "-m", "tools.release_models", "--output", str(tmp_path / "models")]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "set LINNET_DATA to the folder of corpora and terminologies" in done.stderr
    assert not (tmp_path / "models").exists()
