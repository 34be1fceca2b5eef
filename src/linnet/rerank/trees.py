"""Boosted trees beside the weighted sum of `linnet.rerank.logit`: what columns say together (Friedman 2001).

Each tree is grown by XGBoost (Chen & Guestrin 2016) on the gradient of the same loss, the conditional logit's, from the
scores that the weighted sum and the trees before it give. XGBoost is needed to learn (extra ``trees``); what was
learned is a few arrays, which NumPy alone reads.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.errors import FormatError, MissingExtraError
from linnet.home import read_json
from linnet.rerank.logit import TINY, Doubles, Floats, Ints, Lists, softmax

__all__ = ["DEPTH", "Trees", "require_xgboost"]

DEPTH = 4  # questions in a row
SETTINGS = {
    "max_depth": DEPTH, "eta": 0.1, "reg_lambda": 5, "min_child_weight": 5, "colsample_bytree": 0.5,
    "tree_method": "hist", "max_bin": 64, "base_score": 0, "disable_default_eval_metric": True,
}  # fmt: skip
BLOCK = 4096  # candidates that are looked at at once
FLATTEST = 1e-6  # of second derivatives


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees of `DEPTH` questions each, every branch as long as the longest.

    ``columns`` int64 and ``thresholds`` float32 (trees, 2^DEPTH - 1): of question q the next are 2q + 1, if the column
    is below the threshold, and 2q + 2; ``leaves`` float32 (trees, 2^DEPTH) is what a candidate's score is increased by.
    """

    columns: Ints
    thresholds: Floats
    leaves: Floats

    def score(self, table: Floats) -> Doubles:
        """Return what the trees add to the score of each candidate, (candidates, columns) -> float64 (candidates)."""
        blocks = [self._score(table[start : start + BLOCK]) for start in range(0, len(table), BLOCK)]
        return np.concatenate([np.zeros(0), *blocks])

    def _score(self, table: Floats) -> Doubles:
        rows, trees = np.arange(len(table))[:, None], np.arange(len(self.columns))[None]
        place = np.zeros((len(table), len(self.columns)), np.int64)
        for _ in range(DEPTH):
            place = 2 * place + 1 + (table[rows, self.columns[trees, place]] >= self.thresholds[trees, place])
        scores: Doubles = self.leaves[trees, place - self.columns.shape[1]].sum(axis=1, dtype=np.float64)
        return scores

    @classmethod
    def fit(cls, lists: Lists, scores: Doubles, *, count: int, seed: int) -> Trees:
        """Return so many trees that lower the loss of lists, in each of which something is right.

        Args:
            lists: the candidates.
            scores: of the candidates, float64 (candidates), which the trees add to.
            count: of trees.
            seed: of the columns that each tree may ask for.

        Raises:
            MissingExtraError: XGBoost is not installed.
        """
        require_xgboost()
        import xgboost  # noqa: PLC0415 - needed for training alone

        data = xgboost.DMatrix(lists.table, label=lists.right, base_margin=scores)
        settings = {**SETTINGS, "seed": seed, "nthread": 1}
        grown = xgboost.train(settings, data, count, obj=lambda found, _: _gradient(lists, found))
        return cls._of([json.loads(tree) for tree in grown.get_dump(dump_format="json")])

    @classmethod
    def _of(cls, trees: list[dict[str, Any]]) -> Trees:
        """Return what XGBoost tells of its trees; short branches are made longer by questions that change nothing."""
        inner = 2**DEPTH - 1
        columns, thresholds = np.zeros((len(trees), inner), np.int64), np.zeros((len(trees), inner), np.float32)
        leaves = np.zeros((len(trees), inner + 1), np.float32)
        todo = [(number, 0, tree) for number, tree in enumerate(trees)]
        while todo:
            number, place, node = todo.pop()
            after = {"yes": node, "no": node}
            if "leaf" not in node:
                columns[number, place] = int(node["split"].removeprefix("f"))
                thresholds[number, place] = node["split_condition"]
                after = {name: next(c for c in node["children"] if c["nodeid"] == node[name]) for name in after}
            elif place >= inner:
                leaves[number, place - inner] = node["leaf"]
                continue
            todo += [(number, 2 * place + 1, after["yes"]), (number, 2 * place + 2, after["no"])]
        return cls(columns, thresholds, leaves)

    def save(self, path: Path) -> None:
        """Write the trees as JSON."""
        told = {name: values.tolist() for name, values in vars(self).items()}
        path.write_text(json.dumps(told) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path, *, columns: int) -> Trees:
        """Return what `save` wrote, of trees that ask for so many columns.

        Raises:
            FormatError: it is damaged.
        """
        saved = read_json(path)
        try:
            trees = cls(
                np.array(saved["columns"], np.int64),
                np.array(saved["thresholds"], np.float32),
                np.array(saved["leaves"], np.float32),
            )
            shapes = [values.shape for values in (trees.columns, trees.thresholds, trees.leaves[:, 1:])]
            whole = shapes == [(len(trees.columns), 2**DEPTH - 1)] * 3
        except (IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise FormatError(path, f"no trees that this Linnet can use ({error!r}); train again") from error
        if not whole or not ((trees.columns >= 0) & (trees.columns < columns)).all() or not _finite(trees):
            raise FormatError(path, "no trees of these columns; train again")
        return trees


def require_xgboost() -> None:
    """Say what to install where XGBoost is missing.

    Raises:
        MissingExtraError: it is.
    """
    if importlib.util.find_spec("xgboost") is None:
        raise MissingExtraError("xgboost", extra="trees", wanted_by="lexical with trees")


def _finite(trees: Trees) -> bool:
    return bool(np.isfinite(trees.thresholds).all() and np.isfinite(trees.leaves).all())


def _gradient(lists: Lists, scores: npt.NDArray[np.float32]) -> tuple[Floats, Floats]:
    """Return the first and second derivatives of the loss by the scores of all candidates."""
    guess = softmax(scores.astype(np.float64), lists.starts)
    mass = np.maximum(np.add.reduceat(guess * lists.right, lists.starts), TINY)
    gradient = guess - guess * lists.right / np.repeat(mass, lists.lengths)
    return gradient.astype(np.float32), np.maximum(guess * (1 - guess), FLATTEST).astype(np.float32)
