"""Exact search by vectors against one comparison at a time."""

import numpy as np
import pytest

from linnet.errors import LinnetError
from linnet.index import flat
from linnet.index.flat import Flat
from linnet.kb import Mask


def made(count: int, concepts: int, *, seed: int = 13, ordered: bool = True) -> tuple[Flat, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-3, 4, (count, 6)).astype(np.float32)  # whole numbers: sums are exact, and ties happen
    rows = rng.integers(0, concepts, count).astype(np.int32)
    if ordered:
        rows = np.sort(rows)
    return Flat(vectors, rows), vectors, rows


def slowly(
    vectors: np.ndarray, rows: np.ndarray, query: np.ndarray, k: int, allowed: set[int]
) -> list[tuple[int, float]]:
    best: dict[int, float] = {}
    for vector, row in zip(vectors, rows.tolist(), strict=True):
        if row in allowed:
            best[row] = max(best.get(row, -np.inf), float(vector @ query))
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))[:k]


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("scores", [1, 64, 1 << 24])
def test_the_best_concepts_are_those_of_a_slow_search(
    monkeypatch: pytest.MonkeyPatch, ordered: bool, scores: int
) -> None:
    monkeypatch.setattr(flat, "SCORES", scores)
    index, vectors, rows = made(200, 40, ordered=ordered)
    queries = np.random.default_rng(5).integers(-3, 4, (70, 6)).astype(np.float32)
    for query, found in zip(queries, index.search(queries, 5), strict=True):
        expected = slowly(vectors, rows, query, 5, set(range(40)))
        assert list(zip(found.rows.tolist(), found.scores.tolist(), strict=True)) == expected
        for row, score, name in zip(found.rows, found.scores, found.names, strict=True):
            assert rows[name] == row
            assert vectors[name] @ query == score


def test_each_query_has_a_mask_of_its_own() -> None:
    index, vectors, rows = made(100, 20)
    queries = np.ones((2, 6), np.float32)
    odd = Mask(np.arange(20) % 2 == 1, "v")
    free, masked = index.search(queries, 50, [None, odd])
    assert free.rows.tolist() == [row for row, _ in slowly(vectors, rows, queries[0], 50, set(range(20)))]
    assert masked.rows.tolist() == [row for row, _ in slowly(vectors, rows, queries[0], 50, set(range(1, 20, 2)))]


def test_k_larger_than_the_terminology_and_nothing_allowed() -> None:
    index, _, rows = made(30, 6)
    [found] = index.search(np.ones((1, 6), np.float32), 1000)
    assert sorted(found.rows.tolist()) == sorted(set(rows.tolist()))
    [nothing] = index.search(np.ones((1, 6), np.float32), 5, [Mask(np.zeros(6, np.bool_), "v")])
    assert nothing.rows.tolist() == nothing.names.tolist() == []


def test_no_names_and_no_queries() -> None:
    empty = Flat(np.zeros((0, 6), np.float32), np.zeros(0, np.int32))
    assert [found.rows.tolist() for found in empty.search(np.ones((2, 6), np.float32), 3)] == [[], []]
    assert made(10, 3)[0].search(np.zeros((0, 6), np.float32), 3) == []


def test_vectors_without_concepts_are_refused() -> None:
    with pytest.raises(LinnetError, match="2 vectors of 1 names"):
        Flat(np.zeros((2, 3), np.float32), np.zeros(1, np.int32))
