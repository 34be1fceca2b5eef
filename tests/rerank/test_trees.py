from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from linnet.errors import FormatError
from linnet.rerank.logit import Lists, Logit, loss
from linnet.rerank.trees import DEPTH, SETTINGS, Trees, _gradient

xgboost = pytest.importorskip("xgboost")


def lists(seed: int, mentions: int = 300) -> Lists:
    """Lists whose right candidate is the one whose first column is nearest to 0: no sum says so."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 8, mentions)
    starts = np.cumsum(lengths) - lengths
    table = rng.uniform(-1, 1, size=(int(lengths.sum()), 3)).astype(np.float32)
    right = np.zeros(len(table), np.bool_)
    for start, length in zip(starts, lengths, strict=True):
        right[start + np.abs(table[start : start + length, 0]).argmin()] = True
    return Lists(table, right, starts, np.arange(mentions))


def accuracy(scores: np.ndarray, some: Lists) -> float:
    return float(some.right[some.first(scores)].mean())


@pytest.fixture(scope="module")
def grown() -> Trees:
    some = lists(1)
    return Trees.fit(some, np.zeros(len(some.right)), count=60, seed=3)


def test_trees_learn_what_a_sum_cannot(grown: Trees) -> None:
    train, other = lists(1), lists(2)
    sums = Logit.fit(train, penalty=1.0)
    assert accuracy(sums.score(other.table), other) < 0.5
    assert accuracy(grown.score(other.table), other) > 0.75
    assert loss(grown.score(other.table), other) < sums.loss(other) / 2


def test_scores_are_those_of_xgboost(grown: Trees) -> None:
    some = lists(1)
    base = np.random.default_rng(5).normal(size=len(some.right))
    made = Trees.fit(some, base, count=9, seed=3)
    assert made.columns.shape == (9, 2**DEPTH - 1)
    data = xgboost.DMatrix(some.table, label=some.right, base_margin=base)
    settings = {**SETTINGS, "seed": 3, "nthread": 1}
    booster = xgboost.train(settings, data, 9, obj=lambda found, _: _gradient(some, found))
    want = booster.predict(xgboost.DMatrix(some.table, base_margin=np.zeros(len(base))), output_margin=True)
    assert np.allclose(made.score(some.table), want, atol=1e-5)


def test_a_gradient_is_that_of_the_loss() -> None:
    some = lists(4, mentions=20)
    scores = np.random.default_rng(1).normal(size=len(some.right))
    first, _ = _gradient(some, scores.astype(np.float32))
    for place in range(0, len(scores), 7):
        moved = [scores.copy(), scores.copy()]
        moved[0][place] -= 1e-4
        moved[1][place] += 1e-4
        slope = (loss(moved[1], some) - loss(moved[0], some)) / 2e-4 * len(some)
        assert first[place] == pytest.approx(slope, abs=1e-3)


def test_a_score_depends_on_no_other_candidate(grown: Trees) -> None:
    table = lists(2).table
    whole = grown.score(table)
    assert np.array_equal(whole[3:4], grown.score(table[3:4]))
    assert len(grown.score(table[:0])) == 0


def test_trees_are_kept(grown: Trees, tmp_path: Path) -> None:
    grown.save(tmp_path / "trees.json")
    again = Trees.load(tmp_path / "trees.json", columns=3)
    assert np.array_equal(again.score(lists(2).table), grown.score(lists(2).table))


@pytest.mark.parametrize("damage", [{"columns": [[9] * 15]}, {"leaves": [[1.0]]}, {"thresholds": None}, "nothing"])
def test_damaged_trees_are_refused(damage: object, grown: Trees, tmp_path: Path) -> None:
    path = tmp_path / "trees.json"
    grown.save(path)
    saved = json.loads(path.read_text())
    path.write_text(json.dumps({**saved, **damage} if isinstance(damage, dict) else {}))
    with pytest.raises(FormatError, match="train again"):
        Trees.load(path, columns=3)
