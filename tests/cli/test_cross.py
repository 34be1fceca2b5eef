"""`linnet train` and `linnet tune` with a cross-encoder of a few weights, and its parameters from entitytools."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from linnet.cli.params import collect_changes, read_params
from linnet.data import Concept, Name
from linnet.errors import FormatError, LinnetError
from linnet.kb.build import build
from linnet.recipes.config import load, read_recipe
from linnet.recipes.recipe import Recipe
from tests.tiny_models import tiny_bert

from .conftest import Run

CASES = (("cold", "patient"), ("cold", "river"), ("warm", "patient"), ("warm", "river"))
NAMES = ("cold sickness", "cold water", "warm sickness", "warm water")
TRAIN = '[[train]]\npart = "cross_encoder"\nepochs = 1\nbatch = 4\ntop_k = 3\nbf16 = false\n'
pytestmark = pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")


@pytest.fixture
def small(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe of a cross-encoder behind n-grams, with LINNET_DATA set to its corpus."""
    folder = tmp_path / "data" / "corpora" / "bc5cdr"
    folder.mkdir(parents=True)
    for split, base in (("Training", 100), ("Development", 200)):
        with (folder / f"CDR_{split}Set.PubTator.txt").open("w") as out:
            for pmid in range(base, base + 12):
                word, hint = CASES[pmid % 4]
                out.write(f"{pmid}|t|A {word} in the {hint}.\n{pmid}|a|\n")
                out.write(f"{pmid}\t2\t{2 + len(word)}\t{word}\tDisease\tD00000{pmid % 4}\n\n")
    kb = build((Concept(f"MESH:D00000{n}", (Name(name),)) for n, name in enumerate(NAMES)), tmp_path / "small.kb")
    monkeypatch.setenv("LINNET_DATA", str(tmp_path / "data"))
    words = sorted({word for name in NAMES for word in name.split()} | {"a", "in", "the", "patient", "river"})
    encoder = tiny_bert(tmp_path / "tiny", words=words, layers=1)
    path = tmp_path / "small.toml"
    path.write_text(
        f'corpus = "bc5cdr"\nkb = "{kb.path}"\n[[pipeline]]\nuse = "gold"\n[[pipeline]]\nuse = "ngram"\nk = 4\n'
        f'[[pipeline]]\nuse = "cross_encoder"\nencoder = "{encoder}"\ntop_k = 3\n[[pipeline]]\nuse = "decide"\n{TRAIN}'
    )
    return path


@pytest.mark.slow
def test_a_cross_encoder_is_tuned(run: Run, small: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    space = (
        '[tune]\n"cross_encoder.top_k" = [2, 3]\n"cross_encoder.packing" = ["base", "multi"]\n'
        '"train.cross_encoder.top_k" = [2, 3]\n"train.cross_encoder.lr" = [1e-4, 1e-3]\n'
        '"train.cross_encoder.batch" = [2, 4]\n'
    )
    small.write_text(small.read_text() + space)
    for split in ("dev", "cv"):
        arguments = ("tune", small, "-o", tmp_path / split, "--trials", 2, "--split", split)
        done = run(*arguments)
        assert done.code == 0, done.err
        assert "trial 1: cross_encoder.top_k " in done.err
        assert "refused" not in done.err
        chosen = read_recipe(tmp_path / split / "best.toml")
        assert chosen.pipeline[2]["top_k"] in (2, 3)
        assert chosen.pipeline[2]["packing"] in ("base", "multi")
        [table] = chosen.train
        assert (table["lr"] in (1e-4, 1e-3), table["batch"] in (2, 4), table["top_k"] in (2, 3)) == (True, True, True)
        assert run(*arguments).out == done.out
    trained = run("train", tmp_path / "dev" / "best.toml", "-o", tmp_path / "model", "-q")
    assert trained.code == 0, trained.err
    chosen = read_recipe(tmp_path / "dev" / "best.toml")
    assert load(tmp_path / "model").parts[2].top_k == chosen.pipeline[2]["top_k"]  # type: ignore[attr-defined]


def recipe_of(packing: str | None = None, *, train: bool = True, ngram: bool = True) -> Recipe:
    cross = {"use": "cross_encoder", **({} if packing is None else {"packing": packing})}
    parts = [{"use": "gold"}, *([{"use": "ngram"}] if ngram else []), cross]
    return Recipe(pipeline=parts, train=[{"part": "cross_encoder"}] if train else [])


def written(tmp_path: Path, values: Any) -> Path:
    path = tmp_path / "params.json"
    path.write_text(json.dumps(values))
    return path


PUBLISHED = {
    "ngrams": {"ngram_range": [2, 4], "min_df": 2},
    "basecrossencoder": {"top_k": 5, "learning_rate": 1e-6, "batch_size": 16},
    "documentcrossencoder": {"top_k": 10, "learning_rate": 1e-05, "batch_size": None},
}


def test_parameters_of_the_packing_are_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="linnet")
    path = written(tmp_path, PUBLISHED)
    ngrams = ["ngram.ngram_range=[2, 4]", "ngram.min_df=2"]
    top = ["cross_encoder.top_k=5", "train.cross_encoder.top_k=5"]
    assert read_params(path, recipe_of("base")) == [
        *ngrams,
        *top,
        "train.cross_encoder.lr=1e-06",
        "train.cross_encoder.batch=16",
    ]
    assert "read: ngrams, basecrossencoder; left aside, as the recipe has no part for it: documentcross" in caplog.text
    found = ["cross_encoder.top_k=10", "train.cross_encoder.top_k=10", "train.cross_encoder.lr=1e-05"]
    assert read_params(path, recipe_of("document", ngram=False)) == found
    caplog.clear()
    assert read_params(path, recipe_of("multi")) == ngrams
    assert "read: ngrams; left aside, as the recipe has no part for it: basecross" in caplog.text
    for name in ("Parallel_CrossEncoder", "parallel-crossencoder", "parallelcrossencoder"):
        only = written(tmp_path, {name: {"batch_size": 2}})
        assert read_params(only, recipe_of()) == ["train.cross_encoder.batch=2"]  # the packing if a recipe names none


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"basecrossencoder": {"topk": 5}}, "basecrossencoder.topk: unknown parameter; did you mean 'top_k'?"),
        ({"BaseCrossEncoder": {"zzz": 5}}, "BaseCrossEncoder.zzz: unknown parameter; known are: top_k, learning_rate"),
        ({"basecrossencoder": {"top_k": 0}}, "basecrossencoder.top_k: expected a whole number from 1, found 0"),
        ({"basecrossencoder": {"top_k": 5.0}}, "basecrossencoder.top_k: expected a whole number from 1, found 5.0"),
        ({"basecrossencoder": {"batch_size": True}}, "basecrossencoder.batch_size: expected a whole number from 1"),
        ({"basecrossencoder": {"learning_rate": "1e-5"}}, "basecrossencoder.learning_rate: expected a number above 0"),
        ({"basecrossencoder": {"learning_rate": float("nan")}}, "expected a number above 0, found nan"),
        ({"basecrossencoder": {"learning_rate": float("inf")}}, "expected a number above 0, found inf"),
        (
            {"basecrossencoder": [5]},
            'or "basecrossencoder", whose keys are top_k, learning_rate, batch_size; found: base',
        ),
        ({"base_crossencoder": {}, "basecrossencoder": {}}, "basecrossencoder: the same as base_crossencoder"),
        ({"basecrosencoder": {"top_k": 5}, "ngrams": {}}, "unknown; did you mean 'basecrossencoder'?"),
        ({"ngram": {}, "basecrossencoder": {}}, "ngram: unknown; did you mean 'ngrams'?"),
        ({"multicrossencoder": {"top_k": 5}}, 'or "basecrossencoder", whose keys are top_k'),
        ({"multicrossencoder": {"top_k": 5}}, "found: multicrossencoder"),
        ({}, "found: nothing"),
        ([], 'expected an object with an object "ngrams"'),
    ],
)
def test_wrong_parameters_of_cross_encoders(tmp_path: Path, values: Any, said: str) -> None:
    with pytest.raises(FormatError) as error:
        read_params(written(tmp_path, values), recipe_of("base"))
    assert said in str(error.value)


def test_what_parameters_of_cross_encoders_need(tmp_path: Path) -> None:
    path = written(tmp_path, {"basecrossencoder": {"top_k": 5}, "multicrossencoder": {}})
    with pytest.raises(FormatError, match=r"basecrossencoder: the recipe has no \[\[train\]\] table with part"):
        read_params(path, recipe_of("base", train=False))
    two = recipe_of("base")
    two.pipeline.append({"use": "cross_encoder", "packing": "multi"})
    with pytest.raises(FormatError, match=r"several cross-encoders: basecrossencoder, multicrossencoder; leave it out"):
        read_params(path, two)
    with pytest.raises(FormatError, match=r"no part whose parameters can be read: neither ngram nor cross"):
        read_params(path, Recipe(pipeline=[{"use": "exact"}]))


def test_a_cross_encoder_is_trained_with_published_parameters(run: Run, small: Path, tmp_path: Path) -> None:
    tag = {"top_k": 2, "learning_rate": 1e-4, "batch_size": 2}
    params = written(tmp_path, {"multicrossencoder": tag, "basecrossencoder": {"top_k": 4}})
    changes = ["cross_encoder.packing=multi", "train.cross_encoder.batch=3"]
    read = read_recipe(small, changes=collect_changes(params, str(small), changes))
    assert (read.pipeline[2]["packing"], read.pipeline[2]["top_k"]) == ("multi", 2)
    assert [read.train[0][key] for key in ("top_k", "lr", "batch")] == [2, 1e-4, 3]
    assert collect_changes(None, "no such", None) == []
    with pytest.raises(LinnetError, match="expected an object"):
        collect_changes(params, str(small), None)
    options = ("--params", params, "--set", "cross_encoder.packing=multi")
    done = run("train", small, "-o", tmp_path / "o", *options)
    assert done.code == 0, done.err
    assert "read: multicrossencoder; left aside, as the recipe has no part for it: basecrossencoder" in done.err
    assert load(tmp_path / "o").parts[2].top_k == 2  # type: ignore[attr-defined]
