from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnet.kb import KnowledgeBase
from linnet.recipes.config import load, read_recipe

from .conftest import Run
from .test_train import data, small, written

__all__ = ["data", "small"]

SPACE = '[[train]]\npart = "ngram"\n[tune]\n"ngram.k" = [2, 3]\n"retrieve.ngram_range" = [[2, 3], [2, 4]]\n'
pytestmark = pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")


def light(tmp_path: Path, kb: KnowledgeBase, more: str = SPACE) -> Path:
    path = written(tmp_path, kb, more)
    path.write_text(path.read_text().replace('[[pipeline]]\nuse = "lexical"\n', ""))
    return path


@pytest.mark.parametrize("split", ["dev", "cv"])
def test_the_best_is_a_recipe_to_train(run: Run, tmp_path: Path, data: Path, small: KnowledgeBase, split: str) -> None:
    arguments = ("tune", light(tmp_path, small), "-o", tmp_path / "t", "--data", data, "--trials", 4, "--split", split)
    done = run(*arguments)
    assert done.code == 0, done.err
    assert "best: trial" in done.out
    assert f"bc5cdr, split {split}, {60 if split == 'dev' else 20} documents" in done.out
    assert "retrieve.ngram_range" in done.out
    assert "linnet: trial 4: ngram.k " in done.err
    chosen = read_recipe(tmp_path / "t" / "best.toml")
    assert [part["use"] for part in chosen.pipeline] == ["gold", "conjuncts", "ngram", "decide"]
    assert chosen.pipeline[2]["k"] in (2, 3)
    again = run(*arguments)
    assert (again.code, again.out) == (0, done.out)  # all of it was kept, times too
    trained = run("train", tmp_path / "t" / "best.toml", "-o", tmp_path / "model", "--data", data, "-q")
    assert trained.code == 0, trained.err
    model = load(tmp_path / "model")
    assert model.parts[2].k == chosen.pipeline[2]["k"]  # type: ignore[attr-defined]
    # n-grams do not look at the dev documents, but their keywords were chosen on them
    assert set(model.seen.values()) == ({"train", "dev"} if split == "dev" else {"train"})


def test_an_own_corpus_is_tuned_on(run: Run, tmp_path: Path, data: Path, small: KnowledgeBase) -> None:
    (tmp_path / "own").mkdir()
    for split in ("train", "dev"):
        assert run("corpus", "convert", f"bc5cdr:{split}", tmp_path / f"own/{split}.jsonl", "--data", data).code == 0
    more = ("--set", 'corpus="ncbi_disease"', "--corpus", tmp_path / "own", "--trials", 1)
    done = run("tune", light(tmp_path, small), "-o", tmp_path / "t", *more)
    assert done.code == 0, done.err
    assert "split dev, 60 documents" in done.out
    assert read_recipe(tmp_path / "t" / "best.toml").corpus == str(tmp_path / "own")


def test_what_is_refused(
    run: Run, tmp_path: Path, data: Path, small: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def said(recipe: Path, *more: object) -> str:
        done = run("tune", recipe, "--data", data, "--trials", 1, *more)
        assert done.code == 2
        assert "Traceback" not in done.err
        return done.err

    recipe = light(tmp_path, small)
    assert "unknown split 'de', expected one of dev, cv; did you mean 'dev'" in said(recipe, "--split", "de")
    assert "no metric 'f1'" in said(recipe, "--score", "f1")
    assert "the given time" in said(recipe, "--timeout", 0)
    assert "corpus: missing" in said(recipe, "--set", 'corpus=""')
    assert "'bc5cd'" in said(recipe, "--set", "corpus=bc5cd")
    assert "kb: missing" in said(recipe, "--set", 'kb=""')
    elsewhere = ("--set", "train_corpus=bc5cdr")
    assert "linnaeus has no dev split to score on; use --split cv" in said(
        recipe, "--set", "corpus=linnaeus", *elsewhere
    )
    assert "a known corpus nor a folder; did you mean 'bc5cdr'" in said(recipe, "--set", "corpus=bc5cd", *elsewhere)
    assert "tune: missing" in said(light(tmp_path, small, ""))
    assert "study.db" in [path.name for path in (tmp_path / "tuned" / "recipe").iterdir()]


def test_another_knowledge_base_is_named(run: Run, tmp_path: Path, data: Path, small: KnowledgeBase) -> None:
    recipe = light(tmp_path, small)
    recipe.write_text(recipe.read_text().replace(str(small.path), "elsewhere"))
    arguments = ("tune", recipe, "-o", tmp_path / "t", "--data", data, "--trials", 1, "--kb", small.path, "-q")
    done = run(*arguments)
    assert done.code == 0, done.err
    assert (done.out, done.err) == ("", "")
    assert read_recipe(tmp_path / "t" / "best.toml").kb == str(small.path)


def test_parameters_of_entitytools(run: Run, tmp_path: Path, data: Path, small: KnowledgeBase) -> None:
    params = tmp_path / "params.json"
    values = {"ngram_range": [3, 3], "max_features": 50, "min_df": 1, "char_side": "front", "char_count": 9}
    params.write_text(json.dumps({"ngrams": values, "basecrossencoder": {"top_k": 20}}))
    recipe = light(tmp_path, small)
    done = run("train", recipe, "-o", tmp_path / "o", "--data", data, "--params", params, "--set", "ngram.min_df=2")
    assert done.code == 0, done.err
    assert "left aside, as the recipe has no part for it: basecrossencoder" in done.err
    part = load(tmp_path / "o").parts[2].config()  # type: ignore[attr-defined]
    assert {key: part[key] for key in values} == {**values, "ngram_range": (3, 3), "min_df": 2}
    params.write_text(json.dumps({"ngrams": {"char_side": None, "max_features": None}}))
    done = run("tune", recipe, "-o", tmp_path / "t", "--data", data, "--params", params, "--trials", 1)
    assert done.code == 0, done.err
    assert read_recipe(tmp_path / "t" / "best.toml").pipeline[2]["char_side"] == "none"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", 'with an object "ngrams"'),
        ("{}", 'with an object "ngrams"'),
        ('{"ngrams": 3}', 'with an object "ngrams"'),
        ('{"ngrams": {"ngram_rnage": [2, 3]}}', "did you mean 'ngram_range'?"),
        ('{"ngrams": {"zzz": 1}}', "known are: ngram_range"),
        ('{"ngrams": {"min_df": "often"}}', "pipeline[2].min_df: "),
        ('{"ngrams": {"ngram_range": [4, 2]}}', "shortest <= longest"),
        ('{"ngrams": {"min_df": 0.5}}', "pipeline[2].min_df: "),
        ('{"ngrams": {"char_side": {"a": "\\u0000"}}}', "pipeline[2].char_side: "),
    ],
)
def test_wrong_parameters(run: Run, tmp_path: Path, data: Path, small: KnowledgeBase, content: str, said: str) -> None:
    params = tmp_path / "params.json"
    params.write_text(content)
    done = run("train", light(tmp_path, small), "-o", tmp_path / "o", "--data", data, "--params", params)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
