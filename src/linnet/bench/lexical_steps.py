"""The steps of ``linnet bench lexical``: building, searching and comparing, each in a process of its own."""

from __future__ import annotations

import itertools
import multiprocessing
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from linnet.evaluate.meter import peak_resident
from linnet.kb import KnowledgeBase
from linnet.retrieve.ngram_file import NgramFile
from linnet.retrieve.ngram_index import NgramIndex, best_concepts
from linnet.retrieve.ngram_text import Analysis

__all__ = ["measure"]

ANALYSIS = Analysis()  # the defaults of the n-gram retriever
MOST_COMPARED = 3_000_000  # names above which the exhaustive product would not fit into memory


def measure(kb: KnowledgeBase, texts: Sequence[str], k: int, *, batch: int) -> dict[str, Any]:
    """Return what was measured of the index of `kb` with lookups of `texts`, by the names of the columns."""
    # in processes of their own: what building needed is no part of what searching needs
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(1, maxtasksperchild=1) as pool:
        built = pool.apply(_build, (kb,))
    with spawn.Pool(1, maxtasksperchild=1) as pool:
        found = pool.apply(_search, (kb, texts, k, batch))
    if found["names"] > MOST_COMPARED:
        return {**built, **found}
    with spawn.Pool(1, maxtasksperchild=1) as pool:
        compared = pool.apply(_compare, (kb, texts, k, batch))
    return {
        **built, **found, **compared, "ratio": compared["product ms"] / found["median ms"],
        "batch ratio": compared["product batch ms"] / found["batch ms"],
    }  # fmt: skip


def _build(kb: KnowledgeBase) -> dict[str, Any]:
    path = NgramFile(kb, ANALYSIS).path
    path.unlink(missing_ok=True)
    started = time.perf_counter()
    NgramFile(kb, ANALYSIS).current()
    seconds = time.perf_counter() - started
    return {"build s": seconds, "build memory MB": peak_resident() / 1e6, "file MB": path.stat().st_size / 1e6}


def _search(kb: KnowledgeBase, texts: Sequence[str], k: int, batch: int) -> dict[str, Any]:
    before = peak_resident() / 1e6
    started = time.perf_counter()
    index = NgramFile(kb, ANALYSIS).current()
    opened = time.perf_counter() - started
    for text in texts[:batch]:
        index.search(text, k)
    times = []
    for text in texts:
        started = time.thread_time()
        index.search(text, k)
        times.append((time.thread_time() - started) * 1e3)
    batch_times = []
    for some in (texts[start : start + batch] for start in range(0, len(texts), batch)):
        started = time.thread_time()
        index.search_all(some, k)
        batch_times.append((time.thread_time() - started) * 1e3 / len(some))
    quantiles = statistics.quantiles(times, n=20)
    return {
        "names": len(index), "open ms": opened * 1e3, "memory MB": peak_resident() / 1e6, "memory before MB": before,
        "median ms": statistics.median(times), "95 % ms": quantiles[-1], "batch ms": statistics.median(batch_times),
    }  # fmt: skip


def _compare(kb: KnowledgeBase, texts: Sequence[str], k: int, batch: int) -> dict[str, Any]:
    """Measure the product of mentions with all names, and how much of its best candidates are found."""
    index = NgramFile(kb, ANALYSIS).current()
    arrays = index.arrays
    shape = (len(index), len(index.inverse))
    by_name = sparse.csr_array((arrays["name_weights"], arrays["name_units"], arrays["name_ends"]), shape=shape)
    product = sparse.csr_array(index.by_gram @ by_name.T)  # (n-grams, names)
    times, batch_times, same, wanted = [], [], 0, 0
    for start in range(0, len(texts), batch):
        some = texts[start : start + batch]
        matrix = _vectors(index, some)
        started = time.thread_time()
        exact = [_best(index, row, k) for row in _rows(matrix @ product)]
        batch_times.append((time.thread_time() - started) * 1e3 / len(some))
        for text, best in zip(some, exact, strict=True):
            wanted += len(best)
            same += len(np.intersect1d(best, index.search(text, k)[0]))
        started = time.thread_time()
        _best(index, next(_rows(matrix[:1] @ product)), k)
        times.append((time.thread_time() - started) * 1e3)
    return {
        "product ms": statistics.median(times), "product batch ms": statistics.median(batch_times),
        "same top": same / max(1, wanted),
    }  # fmt: skip


def _vectors(index: NgramIndex, texts: Sequence[str]) -> Any:
    """Return the vectors of texts (texts, n-grams) at length 1."""
    places = {gram: place for place, gram in enumerate(index.grams.tolist())}
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for row, text in enumerate(texts):
        frequencies = ANALYSIS.frequencies(ANALYSIS.units(text))
        weights = {
            places[gram]: tf * index.arrays["idf"][places[gram]] for gram, tf in frequencies.items() if gram in places
        }
        length = sum(weight**2 for weight in weights.values()) ** 0.5
        rows += [row] * len(weights)
        columns += weights
        values += [weight / length for weight in weights.values()]
    return sparse.csr_array((np.array(values, np.float32), (rows, columns)), shape=(len(texts), len(places)))


def _rows(matrix: Any) -> Iterator[tuple[Any, Any]]:
    """Return the columns and values of each row."""
    ends = matrix.indptr.tolist()
    return iter([(matrix.indices[a:b], matrix.data[a:b]) for a, b in itertools.pairwise(ends)])


def _best(index: NgramIndex, row: tuple[Any, Any], k: int) -> Any:
    names, scores = row
    return best_concepts(index.concepts[names], scores, index.name_rows[names], k)[0]
