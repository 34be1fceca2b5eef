"""What ``linnet bench`` measures of a knowledge base, one step at a time, each in an interpreter of its own.

`fresh` starts the interpreter, so that no step profits from, or pays for, what another one left in memory. Memory is
what Linux says of the process (``/proc/self/status``): anonymous memory, which is its own, and resident memory, which
counts the pages of mapped files too. Elsewhere the peak of resident memory alone is known.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from linnet.cli.bench_queries import Asked, draw
from linnet.cli.common import counter
from linnet.data import Concept, Name
from linnet.detect.name_table import NameTable
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from linnet.kb_build import build
from linnet.vocabularies.synthetic import synthetic

__all__ = ["STEPS", "fresh", "peak_mib"]

STATUS = Path("/proc/self/status")
EVERY = 0.02  # seconds between looks at the memory: what lives shorter is missed
Times = dict[str, list[float]]
KEYS = {"RssAnon": "anonymous", "VmRSS": "resident"}


def fresh(step: str, **options: object) -> dict[str, Any]:
    """Run one of the `STEPS` in an interpreter of its own and return what it measured.

    Raises:
        LinnetError: the step failed; what it had to say went to stderr.
    """
    command = [sys.executable, "-m", "linnet.cli.bench_steps", step, json.dumps(options)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - ourselves
    if done.returncode:
        raise LinnetError(f"the step {step!r} of the measurement failed with exit code {done.returncode}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def peak_mib() -> float:
    """Return the most resident memory that this process had so far, in MiB."""
    import resource  # noqa: PLC0415 - Unix alone has it

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10  # bytes there, KiB elsewhere


def _memory() -> dict[str, float]:
    """Return what this process has in memory now, in MiB; nothing where the system does not say."""
    if not STATUS.exists():
        return {}
    pairs = (line.split(":") for line in STATUS.read_text(encoding="ascii").splitlines())
    return {KEYS[key]: int(value.split()[0]) / 1024 for key, value in pairs if key in KEYS}


@contextmanager
def _watched() -> Iterator[dict[str, float]]:
    """Give a mapping that holds seconds, processor seconds and peaks of memory (MiB) when the block has ended."""
    found: dict[str, float] = {}
    ended = threading.Event()

    def watch() -> None:
        while True:
            for kind, value in _memory().items():
                found[kind] = max(found.get(kind, 0.0), value)
            if ended.wait(EVERY):
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    started, busy = time.perf_counter(), time.process_time()
    try:
        yield found
    finally:
        found["seconds"], found["processor"] = time.perf_counter() - started, time.process_time() - busy
        ended.set()
        watcher.join()
        found["resident"] = peak_mib()


def _build(path: str, concepts: int, seed: int, quiet: bool) -> dict[str, Any]:
    """Build a synthetic knowledge base, generator included."""
    with _watched() as found, counter("concepts", total=concepts, quiet=quiet) as count:
        build(synthetic(concepts, seed=seed), path, progress=count)
    return found


def _open(path: str) -> dict[str, Any]:
    """Open a knowledge base for the first time in this process, whose imports are done."""
    before = _memory()
    started = time.perf_counter()
    kb = KnowledgeBase.open(path)
    seconds = time.perf_counter() - started
    grown = {kind: value - before[kind] for kind, value in _memory().items()}
    return {"seconds": seconds, "file": Path(path).stat().st_size, "info": dict(kb.info)} | grown


def _search(path: str, queries: int, seed: int) -> dict[str, Any]:
    """Time `queries` searches of every class, twice: with the file out of the system's cache, and again."""
    kb = KnowledgeBase.open(path)
    classes = draw(kb, queries, seed=seed)
    kb.close()
    dropped = _drop_from_cache(path)
    before = _memory()
    first, _ = _timed(kb, classes, queries)
    again, busy = _timed(kb, classes, queries)
    grown = {kind: value - before[kind] for kind, value in _memory().items()}
    return {"first": first, "again": again, "busy": busy, "dropped": dropped} | grown


def _timed(kb: KnowledgeBase, classes: Mapping[str, Sequence[Asked]], queries: int) -> tuple[Times, Times]:
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
    """Time edits of a copy, from opening it until they are kept: half additions, a quarter each retired and merged."""
    editor: Any = getattr(KnowledgeBase, "edit", None)
    copy = Path(tempfile.mkdtemp(dir=Path(path).absolute().parent)) / "edited.kb"
    try:
        shutil.copyfile(path, copy)
        kb = KnowledgeBase.open(copy)
        rows = np.random.default_rng(seed).permutation(len(kb))[: 2 * edits].tolist()
        ids = [kb.id(row) for row in rows]
        kinds = list(kb.types())[:1]
        kb.close()
        with _watched() as found, editor(copy) as edit:
            for number, (one, other) in enumerate(zip(ids[::2], ids[1::2], strict=False)):
                if number % 2 == 0:
                    names = (Name(f"added name {number}"), Name(f"{number} of the added"))
                    edit.add(Concept(f"BENCH:{number}", names, tuple(kinds), parents=(one,)))
                elif number % 4 == 1:
                    edit.retire(one, successor=other)
                else:
                    edit.merge(one, other)
        return found
    finally:
        with suppress(OSError):
            shutil.rmtree(copy.parent)


def _table(path: str) -> dict[str, Any]:
    """Build the dictionary's table of names anew, beside the knowledge base."""
    kb = KnowledgeBase.open(path)
    file = Path(f"{kb.path}.names")
    with _watched() as found:
        table = NameTable.build(kb, file)
    return {**found, "file": file.stat().st_size, "names": len(table)}


def _open_table(path: str) -> dict[str, Any]:
    """Open the table of names that stands beside the knowledge base, and look one name up."""
    kb = KnowledgeBase.open(path)
    before = _memory()
    started = time.perf_counter()
    table = NameTable.of(kb)
    table.find(np.zeros(1, np.uint64))
    seconds = time.perf_counter() - started
    return {"seconds": seconds} | {kind: value - before[kind] for kind, value in _memory().items()}


STEPS: dict[str, Callable[..., dict[str, Any]]] = {
    "build": _build,
    "open": _open,
    "search": _search,
    "edit": _edit,
    "table": _table,
    "open table": _open_table,
}


def _main() -> None:
    step, options = sys.argv[1:]
    try:
        measured = STEPS[step](**json.loads(options))
    except (LinnetError, OSError) as error:
        print(f"linnet: {error}", file=sys.stderr)
        sys.exit(2)
    print(json.dumps(measured))


if __name__ == "__main__":
    _main()
