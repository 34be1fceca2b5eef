"""What ``linnet bench`` measures of a knowledge base, one step at a time, each in an interpreter of its own.

`fresh` starts the interpreter, so that no step profits from, or pays for, what another one left in memory. Steps give
seconds, and memory in MiB: ``anonymous`` memory, which is the process's own, and ``resident`` memory, which counts the
pages of mapped files too (`linnet.evaluate.meter`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from linnet.bench.queries import Asked, draw
from linnet.bench.synthetic import synthetic
from linnet.cli.common import counter
from linnet.cli.terminal import say
from linnet.data import Concept, Name
from linnet.detect.name_table import NamesFile, NameTable
from linnet.errors import LinnetError
from linnet.evaluate.meter import Memory, Meter, memory, peak_resident
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.kb.edit import Edit

__all__ = ["STEPS", "answer", "fresh"]

MIB = 2**20
Times = dict[str, list[float]]


def fresh(step: str, /, *, module: str = "linnet.bench.steps", **options: object) -> dict[str, Any]:
    """Run one of the `STEPS` of a module in an interpreter of its own and return what it measured.

    Raises:
        LinnetError: the step failed; what it had to say went to stderr.
    """
    command = [sys.executable, "-m", module, step, json.dumps(options)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - ourselves
    if done.returncode:
        raise LinnetError(f"the step {step!r} of the measurement failed with exit code {done.returncode}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def _measure(meter: Meter) -> dict[str, float]:
    """Return seconds, processor seconds and peaks of memory (MiB) as far as they are known."""
    own = {} if meter.anonymous is None else {"anonymous": meter.anonymous / MIB}
    return {"seconds": meter.seconds, "processor": meter.processor, "resident": peak_resident() / MIB} | own


def _growth(before: Memory | None) -> dict[str, float]:
    """Return by how many MiB this process has grown since; nothing where the system does not say."""
    now = memory()
    if now is None or before is None:
        return {}
    own, files = now.anonymous - before.anonymous, now.mapped - before.mapped
    return {"anonymous": own / MIB, "resident": (own + files) / MIB}


def _build(path: str, concepts: int, seed: int, quiet: bool) -> dict[str, Any]:
    """Build a synthetic knowledge base, generator included."""
    with Meter() as meter, counter("concepts", total=concepts, quiet=quiet) as count:
        build(synthetic(concepts, seed=seed), path, progress=count)
    return _measure(meter)


def _open(path: str) -> dict[str, Any]:
    """Open a knowledge base for the first time in this process, whose imports are done."""
    before = memory()
    started = time.perf_counter()
    kb = KnowledgeBase.open(path)
    seconds = time.perf_counter() - started
    return {"seconds": seconds} | _growth(before) | {"file": Path(path).stat().st_size, "info": dict(kb.info)}


def _search(path: str, queries: int, seed: int) -> dict[str, Any]:
    """Time `queries` searches of every class, twice: with the file out of the system's cache, and again."""
    kb = KnowledgeBase.open(path)
    classes = draw(kb, queries, seed=seed)
    kb.close()
    dropped = _drop_from_cache(path)
    before = memory()
    first, _ = _time(kb, classes, queries)
    again, busy = _time(kb, classes, queries)
    return {"first": first, "again": again, "busy": busy, "dropped": dropped} | _growth(before)


def _time(kb: KnowledgeBase, classes: Mapping[str, Sequence[Asked]], queries: int) -> tuple[Times, Times]:
    """Return the seconds and the processor seconds of the searches of each class."""
    times: Times = {name: [] for name in classes}
    busy: Times = {name: [] for name in classes}
    for place in range(queries):  # in turn, since class after class one would warm up for the next
        for name, asked in classes.items():
            text, filters = asked[place % len(asked)]
            started, busy_before = time.perf_counter(), time.process_time()
            kb.search(text, **filters)
            times[name].append(time.perf_counter() - started)
            busy[name].append(time.process_time() - busy_before)
    return times, busy


def _drop_from_cache(path: str) -> bool:
    """Ask the system to forget the pages of a file; say whether it can be asked."""
    if not hasattr(os, "posix_fadvise"):
        return False
    with Path(path).open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


def _edit(path: str, edits: int, seed: int) -> dict[str, Any]:
    """Time edits of a copy: half additions, a quarter each retired and merged, each kind in one transaction.

    A batch is timed from opening the file until it is kept; ``batches`` holds how many edits of each kind, and seconds.
    """
    copy = Path(tempfile.mkdtemp(dir=Path(path).absolute().parent)) / "edited.kb"
    batches: dict[str, tuple[int, float]] = {}
    try:
        shutil.copyfile(path, copy)
        with copy.open("rb+") as file:  # or the first edit waits until the whole copy is on the disk
            os.fsync(file.fileno())
        kb = KnowledgeBase.open(copy)
        planned = _plan(kb, edits, seed)
        kb.close()
        with Meter() as meter:
            for kind, work in planned.items():
                started = time.perf_counter()
                with KnowledgeBase.edit(copy) as edit:
                    for step in work:
                        step(edit)
                batches[kind] = (len(work), time.perf_counter() - started)
        return _measure(meter) | {"batches": batches}
    finally:
        with suppress(OSError):
            shutil.rmtree(copy.parent)


def _plan(kb: KnowledgeBase, edits: int, seed: int) -> dict[str, list[Callable[[Edit], None]]]:
    """Return edits of concepts drawn at random, none of which is in two of them: kind -> what is done."""
    rows = np.random.default_rng(seed).permutation(len(kb))[: 2 * edits].tolist()
    ids = [kb.id(row) for row in rows]
    pairs = list(zip(ids[::2], ids[1::2], strict=False))
    types = tuple(kb.types())[:1]
    new = [
        Concept(f"BENCH:{n}", (Name(f"added name {n}"), Name(f"{n} of the added")), types, parents=(one,))
        for n, (one, _) in enumerate(pairs[::2])
    ]
    return {
        "additions": [partial(Edit.add, concept=concept) for concept in new],
        "retirements": [partial(Edit.retire, id=one, successor=other) for one, other in pairs[1::4]],
        "merges": [partial(Edit.merge, kept=one, other=other) for one, other in pairs[3::4]],
    }


def _table(path: str) -> dict[str, Any]:
    """Build the dictionary's table of names anew, beside the knowledge base."""
    kb = KnowledgeBase.open(path)
    file = NamesFile(kb)
    with Meter() as meter:
        table = file.make(file.path)
    return {**_measure(meter), "file": file.path.stat().st_size, "names": len(table)}


def _open_table(path: str) -> dict[str, Any]:
    """Open the table of names beside the knowledge base, and look one name up."""
    kb = KnowledgeBase.open(path)
    before = memory()
    started = time.perf_counter()
    table = NameTable.of(kb)
    table.find(np.zeros(1, np.uint64))
    seconds = time.perf_counter() - started
    return {"seconds": seconds} | _growth(before)


STEPS: dict[str, Callable[..., dict[str, Any]]] = {
    "build": _build,
    "open": _open,
    "search": _search,
    "edit": _edit,
    "table": _table,
    "open table": _open_table,
}


def answer(steps: Mapping[str, Callable[..., dict[str, Any]]]) -> None:
    """Do the step that `fresh` has started this interpreter for, and print what it measured."""
    step, options = sys.argv[1:]
    try:
        measured = steps[step](**json.loads(options))
    except (LinnetError, OSError) as error:
        say(f"linnet: {error}", error=True)
        sys.exit(2)
    print(json.dumps(measured))


if __name__ == "__main__":
    answer(STEPS)
