"""What one training has learned, in pipelines with other options or over other concepts."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import linnet
from linnet.data import Concept, Document, Mention, Name
from linnet.errors import KnowledgeBaseError, LinnetError, LinnetWarning, RecipeError
from linnet.fit.plan import tasks
from linnet.fit.training import train_in_place
from linnet.fit.transfer import transfer
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Fuse
from linnet.recipes.config import load
from linnet.recipes.saving import save
from linnet.retrieve.ngram import Ngram

WORDS = ("fever", "cough", "ache", "rash", "itch", "cyst")
LEXICAL = """kb = "{kb}"
[[pipeline]]
use = "gold"
[[pipeline]]
use = "fuse"
method = "weighted"
[[pipeline.of]]
use = "exact"
[[pipeline.of]]
use = "ngram"
[[pipeline]]
use = "lexical"
{more}
[[pipeline]]
use = "decide"
"""


def small(path: Path, count: int = len(WORDS)) -> KnowledgeBase:
    return build((Concept(f"X:{n}", (Name(word),)) for n, word in enumerate(WORDS[:count])), path)


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    return small(tmp_path / "x.kb")


def recipe(tmp_path: Path, kb: KnowledgeBase, more: str = "") -> Path:
    path = tmp_path / "r.toml"
    path.write_text(LEXICAL.format(kb=kb.path, more=more))
    return path


@pytest.fixture
def folder(tmp_path: Path, kb: KnowledgeBase) -> Path:
    """A folder of trained n-grams and ranker, with weights of their fusion."""
    texts = [(f"{word}ish state {number}", f"X:{n}") for number in range(9) for n, word in enumerate(WORDS)]
    docs = [
        Document(f"d{n}", text, mentions=(Mention(0, len(text), source="gold", concepts=(id,)),))
        for n, (text, id) in enumerate(texts)
    ]
    pipeline = load(recipe(tmp_path, kb))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        train_in_place(pipeline, tasks(pipeline, [], source="r"), docs, ())
    fusion = pipeline.parts[1]
    assert isinstance(fusion, Fuse)
    fusion.weights = (0.25, 0.75)
    save(pipeline, tmp_path / "trained")
    return tmp_path / "trained"


def test_options_stay_and_weights_come_along(folder: Path, tmp_path: Path, kb: KnowledgeBase) -> None:
    path = recipe(tmp_path, kb)
    path.write_text(path.read_text().replace('use = "ngram"', 'use = "ngram"\nk = 3'))
    made = transfer(load(path), folder)
    fusion = made.parts[1]
    assert isinstance(fusion, Fuse)
    assert fusion.weights == (0.25, 0.75)
    ngram = fusion.of[1]
    assert isinstance(ngram, Ngram)
    assert (ngram.k, len(ngram.learned)) == (3, 54)


def test_aliases_of_concepts_that_are_not_there_are_left_out(folder: Path, tmp_path: Path) -> None:
    fewer = small(tmp_path / "few.kb", 2)
    path = tmp_path / "n.toml"
    path.write_text(f'kb = "{fewer.path}"\n[[pipeline]]\nuse = "gold"\n[[pipeline]]\nuse = "ngram"\n')
    ngram = transfer(load(path), folder).parts[1]
    assert isinstance(ngram, Ngram)
    assert len(ngram.learned) == 18
    with pytest.raises(KnowledgeBaseError, match="was trained with version"):
        transfer(load(recipe(tmp_path, fewer)), folder)


def test_options_that_do_not_fit(folder: Path, tmp_path: Path, kb: KnowledgeBase) -> None:
    with pytest.raises(RecipeError, match="trained with"):
        transfer(load(recipe(tmp_path, kb, 'omit = ["aliases"]')), folder)


def test_a_trained_folder_links_after_an_edit(folder: Path, kb: KnowledgeBase) -> None:
    with KnowledgeBase.edit(kb.path) as edit:
        edit.add(Concept("X:6", (Name("quinsy"),)))
    doc = Document("n", "quinsy fever", mentions=(Mention(0, 6), Mention(7, 12)))
    [found] = linnet.load(folder)([doc])
    assert [mention.concepts for mention in found.mentions or ()] == [("X:6",), ("X:0",)]
    other = small(kb.path.with_name("other.kb"), 3)
    with pytest.raises(KnowledgeBaseError, match="train it again"):
        linnet.load(folder, kb=other)


def test_where_nothing_can_be_taken(folder: Path, tmp_path: Path, kb: KnowledgeBase) -> None:
    path = tmp_path / "e.toml"
    path.write_text(f'kb = "{kb.path}"\n[[pipeline]]\nuse = "gold"\n[[pipeline]]\nuse = "exact"\n')
    with pytest.raises(LinnetError, match="has no trained part"):
        transfer(load(path), folder)
