"""The conditional logit: which of a mention's candidates is the right one (McFadden 1974).

P(candidate) is the softmax of a weighted sum of the candidate's columns over the candidates of one mention; where
several candidates are right, their probabilities add up. Columns are brought to mean 0 and variance 1 and the weights
pulled towards 0 by a penalty, so that weights can be read: a weight is what one standard deviation is worth. Where a
prior is given, they are pulled towards its weights instead, in its units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Lists", "Logit", "softmax"]

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Lists:
    """Candidates of many mentions, mention after mention.

    ``table`` float32 (candidates, columns); ``right`` bool (candidates); ``starts`` int64 (mentions), where the
    candidates of each mention begin: no list is empty; ``groups`` int64 (mentions), the document of each mention.
    """

    table: Floats
    right: npt.NDArray[np.bool_]
    starts: Ints
    groups: Ints

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Ints:
        """How many candidates each mention has."""
        return np.diff(np.append(self.starts, len(self.right)))

    def take(self, kept: npt.NDArray[np.bool_], columns: npt.NDArray[np.bool_] | None = None) -> Lists:
        """Return the mentions that are `kept`, bool (mentions), and the columns, bool (columns)."""
        rows = np.repeat(kept, self.lengths)
        lengths = self.lengths[kept]
        table = self.table[rows] if columns is None else self.table[rows][:, columns]
        return Lists(table, self.right[rows], np.cumsum(lengths) - lengths, self.groups[kept])

    def first(self, scores: Doubles) -> Ints:
        """Return the place of the best candidate of each mention, int64 (mentions), the first of equals."""
        best = np.flatnonzero(scores >= np.repeat(np.maximum.reduceat(scores, self.starts), self.lengths))
        return best[np.searchsorted(best, self.starts)]


def softmax(scores: Doubles, starts: Ints) -> Doubles:
    """Return the probability of each candidate within its list; lists begin at `starts`, none is empty.

    >>> softmax(np.array([0.0, 0.0, 5.0]), np.array([0, 2])).tolist()
    [0.5, 0.5, 1.0]
    """
    lengths = np.diff(np.append(starts, len(scores)))
    raised = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), lengths))
    probabilities: Doubles = raised / np.repeat(np.add.reduceat(raised, starts), lengths)
    return probabilities


@dataclass(frozen=True, eq=False)
class Logit:
    """A fitted model: ``weights``, ``means`` and ``scales`` float64 (columns)."""

    weights: Doubles
    means: Doubles
    scales: Doubles

    def score(self, table: Floats) -> Doubles:
        """Return the score of each candidate, (candidates, columns) -> (candidates).

        Summed column by column, so that a score does not depend on which candidates stand beside it.
        """
        scores = np.zeros(len(table))
        for column, mean, weight in zip(table.T, self.means, self.weights / self.scales, strict=True):
            scores += (column - mean) * weight
        return scores

    def loss(self, lists: Lists) -> float:
        """Return the mean negative log-likelihood of lists in each of which something is right."""
        probabilities = softmax(self.score(lists.table), lists.starts)
        return float(-np.log(np.maximum(np.add.reduceat(probabilities * lists.right, lists.starts), TINY)).mean())

    @classmethod
    def fit(cls, lists: Lists, *, penalty: float, prior: Logit | None = None) -> Logit:
        """Return the weights of the least penalised loss.

        Args:
            lists: in each of them something is right.
            penalty: what a squared weight, or its squared distance from `prior`, costs in the unit of the summed loss.
            prior: weights of the same columns that were learned elsewhere; its means and scales are used too.

        >>> lists = Lists(np.array([[1.0], [0.0], [0.5], [0.9]], np.float32), np.array([True, False, False, True]),
        ...               np.array([0, 2]), np.array([0, 1]))
        >>> bool(Logit.fit(lists, penalty=0.1).weights[0] > 1)
        True
        """
        from scipy.optimize import minimize  # noqa: PLC0415 - slow to import, needed for training alone

        table, right, starts, lengths = lists.table, lists.right, lists.starts, lists.lengths
        start = prior or _nothing_known(table)
        scaled = ((table - start.means) / start.scales).astype(np.float32)

        def objective(weights: Doubles) -> tuple[float, Doubles]:
            guess = softmax((scaled @ weights.astype(np.float32)).astype(np.float64), starts)
            mass = np.maximum(np.add.reduceat(guess * right, starts), TINY)
            away = guess - guess * right / np.repeat(mass, lengths)
            gradient = (away.astype(np.float32) @ scaled).astype(np.float64) + 2 * penalty * (weights - start.weights)
            return float(-np.log(mass).sum() + penalty * ((weights - start.weights) ** 2).sum()), gradient

        weights = start.weights
        found = minimize(objective, weights, jac=True, method="L-BFGS-B", options={"maxiter": 300, "ftol": 1e-7})
        return cls(np.asarray(found.x, np.float64), start.means, start.scales)


def _nothing_known(table: Floats) -> Logit:
    """Return weights of 0 for columns as they are scattered in `table`."""
    scales = np.maximum(table.std(axis=0, dtype=np.float64), 1e-6)
    return Logit(np.zeros(table.shape[1]), table.mean(axis=0, dtype=np.float64), scales)
