"""``linnet bench few``: scores by number of documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnet.corpora import write
from linnet.data import Document, Mention
from linnet.kb import KnowledgeBase
from tests.bench.conftest import Run

SAID = ("wobbles", "smallness", "tummy ache")  # what no name says


@pytest.fixture
def source(tmp_path: Path, kb: KnowledgeBase) -> str:
    """The file of a recipe whose dev documents hold three words that its training documents explain, one in each."""
    meant = dict(zip(SAID, ("HP:0001250", "HP:0004322", "HP:0001831"), strict=True))

    def document(id: str, words: list[str]) -> Document:
        text = ", ".join(words)
        spans = [(text.index(word), text.index(word) + len(word), meant[word]) for word in words]
        mentions = tuple(Mention(start, end, source="gold", concepts=(id,)) for start, end, id in spans)
        return Document(id, text, mentions=mentions)

    folder = tmp_path / "corpus"
    folder.mkdir()
    write([document(f"train-{n}", [SAID[n % 3]]) for n in range(12)], folder / "train.jsonl")
    write([document("dev", list(SAID))], folder / "dev.jsonl")
    path = tmp_path / "small.toml"
    path.write_text(f'corpus = "{folder}"\nkb = "{kb.path}"\n[[pipeline]]\nuse = "dictionary"\n', encoding="utf-8")
    return str(path)


@pytest.fixture
def learns(tmp_path: Path) -> str:
    path = tmp_path / "learns.toml"
    path.write_text(
        '[[pipeline]]\nuse = "dictionary"\naliases = true\n[[pipeline]]\nuse = "decide"\n'
        '[[train]]\npart = "dictionary"\n',
        encoding="utf-8",
    )
    return str(path)


def test_more_documents_teach_more(source: str, learns: str, run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Figures\n", encoding="utf-8")
    code, out, err = run(
        "bench", "few", source, "--trained", "dictionary", "--trained", f"{learns} dictionary.min_precision=0",
        "--documents", "2,12,50", "--seeds", "2", "--docs", str(page), "--json",
    )  # fmt: skip
    assert code == 0, err
    plain, few, all_of_them = map(json.loads, out.splitlines())
    assert (plain["documents"], plain["scores"]) == (0, [0.0])
    assert (few["documents"], all_of_them["documents"]) == (2, 12)  # 50 is cut to what there is
    assert max(few["scores"]) < min(all_of_them["scores"]) == 1.0
    assert page.read_text(encoding="utf-8").count("dictionary.min_precision=0") == 2


def test_numbers_and_sources_are_checked(source: str, run: Run) -> None:
    assert "whole numbers" in run("bench", "few", source, "--trained", "dictionary", "--documents", "5,x")[2]
    assert "corpus and kb" in run("bench", "few", "dictionary", "--trained", "dictionary")[2]
