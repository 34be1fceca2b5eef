"""What each ingredient of the lexical reranker is worth: the accuracy without it, and whether the difference is chance.

Mentions count as right if the first candidate is a gold answer. The test is McNemar's (1947), exact: of the mentions
that only one of two models gets right, each gets half of them if they are equally good.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.rerank.features import FEATURES, GROUPS, SEEN
from linnet.rerank.logit import Lists, Logit

__all__ = ["Ablation", "ablate", "mcnemar"]


@dataclass(frozen=True, eq=False)
class Ablation:
    """A model without one kind of columns: ``right`` bool (mentions), accuracy, p against the model with all."""

    omitted: str
    right: npt.NDArray[np.bool_]
    accuracy: float
    p: float


def ablate(train: Lists, dev: Lists, *, penalty: float = 10.0) -> Iterator[Ablation]:
    """Yield the model with all columns (``omitted`` is empty), then one without each of `GROUPS`.

    Args:
        train: `linnet.rerank.lexical.Lexical.examples` of the training documents.
        dev: examples of other documents, with what is known from the training documents.
        penalty: of all models.
    """
    learnable = train.take(np.logical_or.reduceat(train.right, train.starts))
    full: npt.NDArray[np.bool_] | None = None
    for omitted in ("", *GROUPS):
        names = set(GROUPS.get(omitted, ()))
        kept = np.array([name.removeprefix(SEEN) not in names for name in FEATURES])
        everything = np.ones(len(learnable), np.bool_)
        model = Logit.fit(learnable.take(everything, kept), penalty=penalty)
        right = dev.right[dev.first(model.score(dev.table[:, kept]))]
        full = right if full is None else full
        yield Ablation(omitted, right, float(right.mean()), mcnemar(full, right))


def mcnemar(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> float:
    """Return the p-value, two-sided and exact, of which of the same mentions two models get right.

    >>> mcnemar(np.array([True] * 5 + [False]), np.array([False] * 5 + [False]))
    0.0625
    """
    from scipy.stats import binomtest  # noqa: PLC0415 - slow to import

    only_one, only_other = int((one & ~other).sum()), int((other & ~one).sum())
    if only_one + only_other == 0:
        return 1.0
    return float(binomtest(only_one, only_one + only_other).pvalue)
