"""Fusion of several lists of candidates into one: by reciprocal rank, by weighted scores, or in turns.

Scores of fused candidates lie between 0 and 1. Of a candidate that several lists hold, the name is that of the first
list that knows one. `linnet.pipeline.Fuse` makes a retriever of this.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates, Document
from linnet.errors import DataError, PipelineError
from linnet.kb import KnowledgeBase
from linnet.pipeline.component import align

__all__ = [
    "Example",
    "Method",
    "checked_weights",
    "examples",
    "fit_weights",
    "fused",
    "interleaved",
    "numbered",
    "reciprocal_rank",
    "relative_scores",
    "weighted_sum",
]

Method: TypeAlias = Literal["rank", "weighted", "interleaved"]
Floats: TypeAlias = npt.NDArray[np.float64]
Lists: TypeAlias = Sequence[Candidates]

STEPS = 20  # shares that are tried for the weight of a list, besides none
ROUNDS = 10  # of going through all lists; few are ever needed
BETTER = 1e-9  # gains below this are rounding


class Example(NamedTuple):
    """The relative scores of one mention's candidates, (candidates, lists), and which are right, (candidates,)."""

    scores: Floats
    right: npt.NDArray[np.bool_]


def checked_weights(
    weights: Sequence[float] | None, lists: int, *, method: str, constant: float
) -> tuple[float, ...] | None:
    """Return the weights of a fusion of so many lists as a tuple.

    >>> checked_weights([3, 1], 2, method="weighted", constant=60)
    (3.0, 1.0)

    Raises:
        PipelineError: an option that no fusion can have, or weights that do not belong to the lists or the method.
    """
    if not 0 <= constant < math.inf:
        raise PipelineError(f"fuse: constant {constant} must be at least 0")
    if method not in get_args(Method):
        raise PipelineError(f"fuse: method {method!r} is none of {', '.join(get_args(Method))}")
    if weights is None:
        return None
    if method != "weighted":
        raise PipelineError(f"fuse: method {method!r} takes no weights; set method to 'weighted' or leave them out")
    try:
        values = tuple(map(float, weights))
    except (TypeError, ValueError) as error:
        raise PipelineError(f"fuse: weights {weights!r} are no list of numbers") from error
    if len(values) != lists:
        raise PipelineError(f"fuse: {len(values)} weights for {lists} retrievers; give one for each")
    if not all(0 <= value < math.inf for value in values) or not 0 < sum(values) < math.inf:
        raise PipelineError(f"fuse: weights {list(values)} must be finite, none below 0, and one above")
    return values


def numbered(names: Sequence[str]) -> list[str]:
    """Return names of which none stands twice.

    >>> numbered(["ngram", "dense", "ngram"])
    ['ngram', 'dense', 'ngram-2']
    """
    counts = [names[:place].count(name) for place, name in enumerate(names)]
    return [f"{name}-{count + 1}" if count else name for name, count in zip(names, counts, strict=True)]


def fused(
    lists: Lists, *, method: Method, constant: float, weights: Sequence[float] | None, names: Sequence[str] = ()
) -> Candidates:
    """Return the candidates of all lists, put together by `method`; without `weights` all lists weigh the same.

    With `names` of the lists, the scores that each gave are features; of what a list lacks, its lowest one.

    >>> lists = [Candidates([7], [0.8]), Candidates([5], [3.0])]
    >>> fused(lists, method="weighted", constant=60, weights=(2, 1)).rows.tolist()
    [7, 5]
    """
    if method == "weighted":
        found = weighted_sum(lists, weights=weights or (1.0,) * len(lists))
    else:
        found = interleaved(lists) if method == "interleaved" else reciprocal_rank(lists, constant=constant)
    features = {name: _scores_of(some, found.rows.tolist()) for name, some in zip(names, lists, strict=bool(names))}
    return replace(found, features=features) if features else found


def _scores_of(some: Candidates, rows: Sequence[int]) -> npt.NDArray[np.float32]:
    """Return what a list gives to rows, its lowest score to those that it lacks."""
    scores = dict(zip(some.rows.tolist(), some.scores.tolist(), strict=True))
    lowest = min(scores.values(), default=0.0)
    return np.array([scores.get(row, lowest) for row in rows], np.float32)


def reciprocal_rank(lists: Lists, *, constant: float = 60.0) -> Candidates:
    """Return the candidates of all lists by the mean of 1 / (`constant` + rank) (Cormack et al. 2009).

    It is divided by what a candidate gets that all lists put first.

    >>> fused = reciprocal_rank([Candidates([7, 5], [0.9, 0.2]), Candidates([7], [3.0])], constant=2)
    >>> fused.rows.tolist(), fused.scores.tolist()
    ([7, 5], [1.0, 0.375])
    """
    shares = [(constant + 1) / (constant + np.arange(1, len(some) + 1)) / len(lists) for some in lists]
    rows, table = _table(lists, shares)
    return _candidates(lists, rows, table.sum(axis=1))


def weighted_sum(lists: Lists, *, weights: Sequence[float]) -> Candidates:
    """Return the candidates of all lists by the weighted mean of their relative scores, 0 where a list lacks them.

    >>> fused = weighted_sum([Candidates([7, 5], [0.8, 0.4]), Candidates([5], [3.0])], weights=[3, 1])
    >>> fused.rows.tolist(), fused.scores.tolist()
    ([7, 5], [0.75, 0.625])
    """
    rows, table = _table(lists, [relative_scores(some.scores) for some in lists])
    return _candidates(lists, rows, _weigh(table, np.array(weights, np.float64)))


def interleaved(lists: Lists) -> Candidates:
    """Return the first candidates of all lists, then the second ones, and so on; the n-th that is new scores 1 / n.

    >>> fused = interleaved([Candidates([7, 5], [0.8, 0.4]), Candidates([5], [3.0])])
    >>> fused.rows.tolist(), fused.scores.tolist()
    ([7, 5], [1.0, 0.5])
    """
    turns = [(place, part, row) for part, some in enumerate(lists) for place, row in enumerate(some.rows.tolist())]
    rows = list(dict.fromkeys(row for _, _, row in sorted(turns)))
    return _candidates(lists, rows, 1.0 / np.arange(1, len(rows) + 1))


def relative_scores(scores: npt.NDArray[np.float32]) -> Floats:
    """Return scores of one list (n,) such that the best is 1 and the others lie between 0 and it.

    Scores without negative ones are divided by the best; of others the worst becomes 0. Equal scores that are not
    positive all become 1.

    >>> relative_scores(np.array([0.8, 0.4], np.float32)).tolist()
    [1.0, 0.5]
    >>> relative_scores(np.array([3, -1, -5], np.float32)).tolist()
    [1.0, 0.5, 0.0]
    """
    values = scores.astype(np.float64)
    if not len(values):
        return values
    low, high = min(0.0, float(values.min())), float(values.max())
    relative: Floats = np.ones(len(values)) if high == low else (values - low) / (high - low)
    return relative


def _weigh(table: Floats, weights: Floats) -> Floats:
    # not a matrix product, whose rounding depends on the place of a row: equal candidates tie
    return np.asarray((table * (weights / weights.sum())).sum(axis=1))


def _table(lists: Lists, values: Sequence[Floats]) -> tuple[list[int], Floats]:
    """Return the rows of all lists as they come, and what each list gives them, (rows, lists)."""
    places: dict[int, int] = {}
    for some in lists:
        for row in some.rows.tolist():
            places.setdefault(row, len(places))
    table = np.zeros((len(places), len(lists)))
    for part, (some, given) in enumerate(zip(lists, values, strict=True)):
        table[[places[row] for row in some.rows.tolist()], part] = given
    return list(places), table


def _candidates(lists: Lists, rows: Sequence[int], scores: Floats) -> Candidates:
    versions = {some.kb for some in lists} - {""}  # nobody said of which knowledge base they are
    if len(versions) > 1:
        raise PipelineError(f"candidates of several knowledge base versions cannot be fused: {sorted(versions)}")
    names: dict[int, int] = {}
    for some in lists:
        if some.names is not None:
            for row, name in zip(some.rows.tolist(), some.names.tolist(), strict=True):
                if names.get(row, -1) < 0:
                    names[row] = name
    found = Candidates(
        rows=np.array(rows, np.int32),
        scores=np.minimum(scores, 1.0).astype(np.float32),  # sums may exceed 1 by rounding
        names=np.array([names.get(row, -1) for row in rows], np.int32),
        kb="".join(versions),
    )
    return found.sorted()


# --- learning of weights ---------------------------------------------------------------------------------------------


def examples(gold: Document, seen: Document, lists: Sequence[Lists], kb: KnowledgeBase) -> Iterator[Example]:
    """Yield what can be learned from a document: mentions of one concept that a list holds, among others.

    Args:
        gold: the document with its answers.
        seen: the document that candidates were retrieved for.
        lists: for each mention of `seen` its candidates, list by list.
        kb: what their rows are of.
    """
    found = {id(mention): some for mention, some in zip(seen.mentions or (), lists, strict=True)}
    for theirs, ours in align(gold, seen):
        if theirs is None or ours is None:
            continue
        accepted = (theirs.concepts or (), *theirs.alternatives)
        answers = {kb.row(answer[0]) for answer in accepted if len(answer) == 1 and answer[0] in kb}
        some = found[id(ours)]
        rows, table = _table(some, [relative_scores(one.scores) for one in some])
        right = np.array([row in answers for row in rows], np.bool_)
        if right.any():
            yield Example(table, right)


def fit_weights(learned_from: Sequence[Example]) -> Iterator[tuple[tuple[float, ...], float]]:
    """Yield ever better weights, which sum to 1, with their mean reciprocal rank; the last are the best found.

    Beginning with equal weights, the share of one list after the other is set to the best of 0, 1/20, …, 1, the others
    keeping their proportions, until no list gains from that. A wrong candidate that ties with the right one counts
    as before it.

    Raises:
        DataError: there is nothing to learn from.

    >>> good, bad = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([True, False])
    >>> *_, (weights, score) = fit_weights([Example(good, bad)])
    >>> weights[0] > weights[1], score
    (True, 1.0)
    """
    if not learned_from:
        raise DataError("fuse: no mention of the dev documents has a right candidate to learn weights from")
    table = np.concatenate([example.scores for example in learned_from])
    right = np.concatenate([example.right for example in learned_from])
    sizes = np.array([len(example.right) for example in learned_from])
    starts = np.cumsum(sizes) - sizes

    def judged(weights: Floats) -> float:
        scores = _weigh(table, weights)
        best = np.maximum.reduceat(np.where(right, scores, -np.inf), starts)
        ahead = (scores >= np.repeat(best, sizes)) & ~right
        return float((1.0 / (1 + np.add.reduceat(ahead, starts, dtype=np.int64))).mean())

    weights = np.full(table.shape[1], 1 / table.shape[1])
    score = judged(weights)
    yield tuple(weights.tolist()), score
    for _ in range(ROUNDS):
        before = score
        for part in range(len(weights)):
            tried = [_with_share(weights, part, step / STEPS) for step in range(STEPS + 1)]
            scores = [judged(some) for some in tried]
            if max(scores) > score + BETTER:
                score, weights = max(scores), tried[scores.index(max(scores))]
        if score == before:
            return
        yield tuple(weights.tolist()), score


def _with_share(weights: Floats, part: int, share: float) -> Floats:
    """Return weights that sum to 1, of which one is `share` and the others are as before in proportion."""
    others = np.arange(len(weights)) != part
    rest = weights[others]
    changed = np.full(len(weights), share if len(weights) > 1 else 1.0)
    changed[others] = (1 - share) * (rest / rest.sum() if rest.sum() > 0 else np.full(len(rest), 1 / max(len(rest), 1)))
    return changed
