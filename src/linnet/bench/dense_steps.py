"""The steps of ``linnet bench dense``: encoding, building and searching, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from linnet.data import Concept, Name
from linnet.errors import LinnetError
from linnet.evaluate.meter import Meter, memory
from linnet.index.name_vectors import INDEXES, NameVectors
from linnet.kb import KnowledgeBase
from linnet.retrieve.dense import Dense
from linnet.text.contexts import InContext

__all__ = ["measure", "time_additions"]

Floats = npt.NDArray[np.float32]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MIB = 2**20
K = 20
WARM = 32  # searches before time is taken
ADDED = 1000  # concepts
EXACT = 64  # exact searches that are timed: each takes long


def measure(
    kb: KnowledgeBase, texts: Sequence[str], *, encoder: str, backend: str, kinds: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield what was measured of each kind of index, by the names of the columns; the first is the exact one."""
    path, vectors, speed = _alone(_encode, kb, list(texts), encoder, backend)
    exact: tuple[Any, float] | None = None
    for kind in kinds:
        built = _alone(_build, path, kind) if kind in INDEXES else {}
        found = _alone(_search, path, kind, vectors, threads=1)
        rows = found.pop("rows")
        if exact is None:
            exact, built = (rows, found["median ms"]), speed
        yield {
            "index": kind, **built, **found, "to exact": exact[1] / found["median ms"],
            "recall@1": _recall(exact[0], rows, 1), "recall@20": _recall(exact[0], rows, K),
        }  # fmt: skip


def _alone(step: Any, *given: Any, threads: int | None = None) -> Any:
    """Return what a step gives in a process of its own: what another one needed is no part of what it needs."""
    before = {name: os.environ.get(name) for name in THREADS}
    if threads is not None:
        os.environ.update(dict.fromkeys(THREADS, str(threads)))  # read when the libraries are imported
    try:
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            return pool.apply(step, given)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})


def _encode(kb: KnowledgeBase, texts: Sequence[str], encoder: str, backend: Any) -> tuple[Path, Floats, dict[str, Any]]:
    """Return the file of the names' vectors, made if it is not there, the vectors of mentions, and how fast it went."""
    dense = Dense(kb=kb, encoder=encoder, backend=backend)
    kept, started = dense.index_files, time.perf_counter()
    dense.names_file.searched("flat")
    speed = {} if kept else {"names/s": int(kb.info["names"]) / (time.perf_counter() - started)}
    return dense.index_files[0], dense.encode_mentions([InContext("", text, "") for text in texts]), speed


def _build(path: Path, kind: str) -> dict[str, Any]:
    file = path.with_name(f"{path.name}.{kind}")
    file.unlink(missing_ok=True)
    vectors = NameVectors.open(path)
    with Meter() as meter:
        vectors.indexed(kind, path)  # type: ignore[arg-type]
    built = {"build s": meter.seconds, "file MB": file.stat().st_size / 1e6}
    return built if meter.anonymous is None else {**built, "build MiB": meter.anonymous / MIB}


def _search(path: Path, kind: str, queries: Floats) -> dict[str, Any]:
    started = time.perf_counter()
    index = NameVectors.open(path).indexed(kind, path)  # type: ignore[arg-type]
    opened = time.perf_counter() - started
    index.search(queries[:WARM], K)
    times, rows = [], []
    timed = len(queries) if kind in INDEXES else EXACT
    for query in queries[:timed]:
        started = time.perf_counter()
        rows += index.search(query[None], K)
        times.append((time.perf_counter() - started) * 1e3)
    rows += index.search(queries[timed:], K)
    found = {
        "names": len(index.vectors), "open ms": opened * 1e3, "median ms": statistics.median(times),
        "95 % ms": statistics.quantiles(times, n=20)[-1], "rows": [one.rows for one in rows],
    }  # fmt: skip
    now = memory()
    return found if now is None else {**found, "own MiB": now.anonymous / MIB, "mapped MiB": now.mapped / MIB}


def time_additions(kb: KnowledgeBase, *, encoder: str, backend: str) -> float:
    """Return after how many seconds concepts that are added to a copy of a knowledge base are found by their names.

    Network and vectors are in memory before, as they are in a server.
    """
    with tempfile.TemporaryDirectory(dir=kb.path.parent) as folder:
        copy = Path(folder) / kb.path.name
        shutil.copyfile(kb.path, copy)
        for file in kb.path.parent.glob(f"{kb.path.name}.vectors-*"):
            copy.with_name(file.name).hardlink_to(file)
        before = Dense(kb=KnowledgeBase.open(copy), encoder=encoder, backend=cast("Any", backend))
        before.search(before.encode_names(["fever"]), 1)
        new = [Concept(f"NEW:{number}", (Name(f"condition {number} of the benchmark"),)) for number in range(ADDED)]
        started = time.perf_counter()
        with KnowledgeBase.edit(copy) as edit:
            for concept in new:
                edit.add(concept)
        after = Dense(kb=KnowledgeBase.open(copy), encoder=encoder, backend=cast("Any", backend))
        after.network = before.network
        [found] = after.search(after.encode_names([new[-1].names[0].text]), 1)
        seconds = time.perf_counter() - started
        if after.kb.id(int(found.rows[0])) != new[-1].id:
            raise LinnetError(f"{new[-1].id} was added and is not found by its name")
    return seconds


def _recall(exact: Sequence[Any], found: Sequence[Any], k: int) -> float:
    shares = [len(np.intersect1d(one[:k], other[:k])) / k for one, other in zip(exact, found, strict=True)]
    return statistics.fmean(shares)
