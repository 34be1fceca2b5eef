from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linnet.corpora import read, write
from linnet.corpora.splits import folds
from linnet.data import Concept, Document, Mention, Name
from linnet.errors import LinnetError
from linnet.fit import cross_validation, fitting
from linnet.fit.cross_validation import CrossValidation
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.recipes.config import load

from .conftest import Run

NAMES = (("D000001", "fever"), ("D000002", "cough"), ("D000003", "rash"), ("D000004", "ache"))
RECIPE = """
[[pipeline]]
use = "dictionary"
aliases = true
[[pipeline]]
use = "decide"
[[train]]
part = "dictionary"
"""


@pytest.fixture
def small(tmp_path: Path) -> KnowledgeBase:
    return build((Concept(f"MESH:{id}", (Name(name),)) for id, name in NAMES), tmp_path / "small.kb")


def letters(count: int) -> list[Document]:
    """Letters that call each finding by a word of their own, beside one that all share: *canker* is an ache."""
    found = []
    for number in range(count):
        id, word = NAMES[number % len(NAMES)]
        text = f"A case of {word}, with canker and word{number}x."
        places = ((word, id), ("canker", "D000004"), (f"word{number}x", "D000001"))
        marks = ((text.index(said), said, concept) for said, concept in places)
        mentions = (Mention(at, at + len(said), source="gold", concepts=(f"MESH:{c}",)) for at, said, c in marks)
        found.append(Document(f"n{number}", text, mentions=tuple(mentions)))
    return found


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "r.toml"
    path.write_text(RECIPE)
    return path


def test_each_document_is_linked_once_by_who_has_not_seen_it(
    run: Run, tmp_path: Path, small: KnowledgeBase, recipe: Path
) -> None:
    docs = letters(23)
    unread = Document("unread", "Nobody has read this.")
    write([*docs, unread], tmp_path / "annotated.jsonl")
    command = ("train", recipe, "--corpus", tmp_path / "annotated.jsonl", "--kb", small.path, "--folds", "4")
    out = tmp_path / "cv"
    done = run(*command, "-o", out)
    assert done.code == 0, done.err
    assert "documents without annotation, not used: 1" in done.err
    predicted = list(read(out / "predictions.jsonl"))
    assert [doc.id for doc in predicted] == [doc.id for doc in docs]
    found = {doc.surface(mention) for doc in predicted for mention in doc.mentions or ()}
    assert {"fever", "cough", "rash", "ache", "canker"} == found  # no letter's own word: that was in no other one
    report = json.loads((out / "report.json").read_text())
    assert "mention" in done.out
    assert (out / "report.html").is_file()
    same = run("evaluate", out / "gold.jsonl", out / "predictions.jsonl", "--kb", small.path, "--json")
    assert same.code == 0, same.err
    assert json.loads(same.out)["measures"] == report["measures"]
    assert "too high" not in same.err  # no pipeline was trained on what it linked


def test_an_interrupted_run_resumes(run: Run, tmp_path: Path, small: KnowledgeBase, recipe: Path) -> None:
    write(letters(20), tmp_path / "annotated.jsonl")
    command = ("train", recipe, "--corpus", tmp_path / "annotated.jsonl", "--kb", small.path, "-o", tmp_path / "cv")
    assert run(*command, "--folds", "3").code == 0
    first = (tmp_path / "cv" / "predictions.jsonl").read_bytes()
    kept = (tmp_path / "cv" / "fold-1.jsonl").stat().st_mtime_ns
    for name in ("predictions.jsonl", "fold-3.jsonl"):
        (tmp_path / "cv" / name).unlink()
    again = run(*command, "--folds", "3")
    assert again.code == 0, again.err
    assert "trained in" not in again.err  # all three were
    assert (tmp_path / "cv" / "predictions.jsonl").read_bytes() == first
    assert (tmp_path / "cv" / "fold-1.jsonl").stat().st_mtime_ns == kept
    other = run(*command, "--folds", "4")
    assert (other.code, "holds the folds of another recipe" in other.err) == (2, True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    full = run(*command[:-1], tmp_path / "full", "--folds", "3")
    assert (full.code, "exists and is not empty" in full.err) == (2, True)


def test_folds_know_what_keywords_were_chosen_on(tmp_path: Path, small: KnowledgeBase, recipe: Path) -> None:
    recipe.write_text(f'chosen_on = "dev"\n{recipe.read_text()}')
    docs = letters(9)
    whole = CrossValidation(source=str(recipe), kb=small, docs=docs[:8], dev=docs[8:], folds=2, folder=tmp_path / "cv")
    list(whole.run())
    assert sorted(load(tmp_path / "cv" / "fold-1", kb=small).seen.values()) == ["dev", *["train"] * 4]


def test_what_is_refused(run: Run, tmp_path: Path, small: KnowledgeBase, recipe: Path) -> None:
    write(letters(3), tmp_path / "annotated.jsonl")
    command = ("train", recipe, "--kb", small.path, "-o", tmp_path / "cv", "--folds", "5")
    assert "corpus: missing" in run(*command).err
    few = run(*command, "--corpus", tmp_path / "annotated.jsonl")
    assert (few.code, "3 documents of different text are too few for 5 folds" in few.err) == (2, True)
    assert not (tmp_path / "cv").exists()


def test_copies_stay_together_and_folds_are_of_one_size() -> None:
    docs = [Document(f"{number}", f"Text {number // 2}.") for number in range(40)]
    parts = folds(docs, 5)
    assert sorted(doc.id for part in parts for doc in part) == sorted(doc.id for doc in docs)
    assert [len(part) for part in parts] == [8] * 5
    for part in parts:
        assert len({doc.text for doc in part}) == 4
    assert folds(docs[::-1], 5)[0] == parts[0][::-1]
    with pytest.raises(LinnetError, match="stands twice"):
        folds([docs[0], docs[0]], 2)


def test_documents_to_choose_on_are_taken_only_where_a_part_needs_them(
    tmp_path: Path, small: KnowledgeBase, recipe: Path
) -> None:
    docs = letters(40)
    plain = CrossValidation(source=str(recipe), kb=small, docs=docs, folds=5, folder=tmp_path / "cv")
    assert [tuple(map(len, fold)) for fold in plain.divide()] == [(32, 0, 8)] * 5
    recipe.write_text(RECIPE + '[[train]]\npart = "decide"\n')  # answers for the training documents serve, cross-fitted
    assert [tuple(map(len, fold)) for fold in plain.divide()] == [(32, 0, 8)] * 5
    shared = replace(plain, changes=["dev_share=0.25"])
    assert [tuple(map(len, fold)) for fold in shared.divide()] == [(24, 8, 8)] * 5
    given = replace(shared, dev=[Document("dev", "A dev document.")])
    assert [tuple(map(len, fold)) for fold in given.divide()] == [(32, 1, 8)] * 5
    parts = '[[pipeline.of]]\nuse = "exact"\n[[pipeline.of]]\nuse = "ngram"\n'
    fuse = f'[[pipeline]]\nuse = "fuse"\nmethod = "weighted"\n{parts}'
    recipe.write_text(RECIPE.replace('[[pipeline]]\nuse = "decide"\n', fuse) + '[[train]]\npart = "fuse"\n')
    for fold in plain.divide():
        assert tuple(map(len, fold)) == (28, 4, 8)
        assert {doc.id for some in fold for doc in some} == {doc.id for doc in docs}


def test_texts_without_annotation_are_learned_from_in_each_fold(
    run: Run, tmp_path: Path, small: KnowledgeBase, recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[set[str]] = []

    def train(pipeline: Any, todo: Any, docs: Any, dev: Any, **more: Any) -> Any:
        learned.append({doc.id for doc in docs if doc.mentions is None})
        return plain(pipeline, todo, docs, dev, **more)

    plain = fitting.train
    monkeypatch.setattr(cross_validation, "train", train)
    write(letters(12), tmp_path / "annotated.jsonl")
    write([Document("new", "Text."), replace(letters(1)[0], id="old")], tmp_path / "texts.jsonl")
    command = ("train", recipe, "--corpus", tmp_path / "annotated.jsonl", "--kb", small.path, "--folds", "3")
    done = run(*command, "--texts", tmp_path / "texts.jsonl", "-o", tmp_path / "cv")
    assert done.code == 0, done.err
    assert learned == [{"new"}] * 3
