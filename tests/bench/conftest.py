"""Benchmarks are commands: they are run as those are."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.data import Concept, Name
from linnet.kb.build import build
from tests.cli.conftest import Run, home, recipe, run

__all__ = ["Run", "home", "recipe", "run", "small", "write_bc5cdr"]

# preferred name, what the training documents say, what the dev documents say
SAID = (("Fever", "coughing", "coughing"), ("Cough", "coughs", "cough"), ("Ache", "aches", "coughs"))


def write_bc5cdr(data: Path, document: str, *, train: int = 4) -> None:
    """Write a corpus whose documents differ by their `{pmid}` alone: `train` to learn from, four to link."""
    folder = data / "corpora" / "bc5cdr"
    folder.mkdir(parents=True)
    for split, pmids in (("Training", range(train)), ("Development", range(20, 24))):
        text = "".join(document.format(pmid=pmid) for pmid in pmids)
        (folder / f"CDR_{split}Set.PubTator.txt").write_text(text)


@pytest.fixture
def small(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe without a reranker, with LINNET_DATA set to its corpus."""
    folder = tmp_path / "data" / "corpora" / "bc5cdr"
    folder.mkdir(parents=True)
    for split, at in (("Training", 1), ("Development", 2)):
        with (folder / f"CDR_{split}Set.PubTator.txt").open("w") as out:
            for pmid, said in enumerate(SAID, 100 * at):
                word, id = said[at], f"D00000{SAID.index(said)}"
                out.write(
                    f"{pmid}|t|A case of {word}.\n{pmid}|a|\n{pmid}\t10\t{10 + len(word)}\t{word}\tDisease\t{id}\n\n"
                )
    kb = build((Concept(f"MESH:D00000{n}", (Name(said[0]),)) for n, said in enumerate(SAID)), tmp_path / "small.kb")
    monkeypatch.setenv("LINNET_DATA", str(tmp_path / "data"))
    path = tmp_path / "small.toml"
    parts = "".join(f'[[pipeline]]\nuse = "{name}"\n' for name in ("gold", "conjuncts", "ngram", "decide"))
    path.write_text(f'corpus = "bc5cdr"\nkb = "{kb.path}"\n{parts}[[train]]\npart = "ngram"\n')
    return path
