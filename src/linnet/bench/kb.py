"""``linnet bench kb``: building, opening, searching and editing a knowledge base of the size of the UMLS."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from linnet.bench.steps import fresh
from linnet.cli.common import Quiet, Verbose, listen, table
from linnet.cli.inputs import refuse_overwriting
from linnet.kb import KnowledgeBase
from linnet.text.files import replacing

__all__ = ["Gauge", "Searches", "measure_kb", "show", "table_figures"]

SEED = 13
SEARCH_MS = 50.0  # the most that the 95th percentile of any class of searches may be


class Gauge(NamedTuple):
    """One measured number; ``target`` is the most it may be, None if nothing was promised."""

    what: str
    value: float
    unit: str
    target: float | None = None

    @property
    def verdict(self) -> str:
        """``"OK"``, ``"slow"`` (or too large), or ``""`` without a target."""
        return "" if self.target is None else "OK" if self.value <= self.target else "slow"


class Searches(NamedTuple):
    """How long the searches of one class took, in ms.

    ``uncached`` is the 95th percentile with the file out of the system's cache, None where it cannot be put out;
    ``busy`` is the 95th percentile of processor time, which other work on the machine does not change.
    """

    name: str
    p50: float
    p95: float
    max: float
    uncached: float | None
    busy: float

    @property
    def verdict(self) -> str:
        """``"OK"`` or ``"slow"``."""
        return "OK" if self.p95 <= SEARCH_MS else "slow"


def measure_kb(
    concepts: Annotated[int, typer.Option(min=1, help="Number of concepts in the synthetic terminology.")] = 3_600_000,
    kb: Annotated[
        Path | None, typer.Option(help="Measure this knowledge base; if it is missing, build and keep it.")
    ] = None,
    edits: Annotated[
        int,
        typer.Option(min=0, help="Number of edits of a copy: half additions, half retirements and merges; 0 = none."),
    ] = 1000,
    queries: Annotated[int, typer.Option(min=1, help="Number of searches per class.")] = 100,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the measurements to this file.")] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Build a synthetic knowledge base of any size, open it, search it, edit it; each step in a fresh process.

    Memory of its own is anonymous memory; resident memory counts the pages of files as well. Opening counts what
    a process that has imported Linnet grows by. Searches are timed twice: with the file dropped from the system's
    cache, and again; the second time is held against the target.
    """
    listen(quiet=quiet, verbose=verbose)
    refuse_overwriting([kb], [output])
    with tempfile.TemporaryDirectory(prefix="linnet-bench-") as folder:
        path = Path(folder) / "synthetic.kb" if kb is None else kb.expanduser()
        figures = [] if path.is_file() else _measure_build(path, concepts, quiet=quiet)
        figures += _measure_open(path)
        searches, grown = _measure_search(path, queries)
        figures += grown
        figures += _measure_edit(path, edits) if edits else []
        info = KnowledgeBase.open(path).info
    counts = {"concepts": int(info["concepts"]), "names": int(info["names"])}
    show(f"{counts['concepts']:,} concepts, {counts['names']:,} names", figures)
    _show_searches(searches, queries)
    if output is not None:
        _write(output, counts | {"figures": _records(figures), "searches": _records(searches)})


def _measure_build(path: Path, concepts: int, *, quiet: bool) -> list[Gauge]:
    found = fresh("build", path=str(path), concepts=concepts, seed=SEED, quiet=quiet)
    elapsed, busy = found["seconds"], found["processor"]
    return [
        Gauge("build, generator included", elapsed, "s", 600.0),
        Gauge("build: processor time", busy, "s"),
        *_peaks("build", found),
    ]


def _peaks(step: str, found: dict[str, Any]) -> list[Gauge]:
    """Return the peaks of memory; the target is of the process's own memory, or of all where that is not known."""
    own = [Gauge(f"{step}: peak memory of its own", found["anonymous"], "MiB", 2048.0)] if "anonymous" in found else []
    return [*own, Gauge(f"{step}: peak resident memory", found["resident"], "MiB", None if own else 2048.0)]


def _measure_open(path: Path) -> list[Gauge]:
    found = fresh("open", path=str(path))
    file, open_ms = Gauge("file", found["file"] / 1e6, "MB"), Gauge("open", found["seconds"] * 1000, "ms", 50.0)
    return [file, open_ms, *_measure_growth("open", found, 30.0)]


def _measure_search(path: Path, queries: int) -> tuple[list[Searches], list[Gauge]]:
    found = fresh("search", path=str(path), queries=queries, seed=SEED)
    searches = []
    for name, times in found["again"].items():
        uncached = _ms(found["first"][name], 95) if found["dropped"] else None
        busy = _ms(found["busy"][name], 95)
        searches.append(Searches(name, _ms(times, 50), _ms(times, 95), _ms(times, 100), uncached, busy))
    return searches, _measure_growth("search", found, None)


def _measure_edit(path: Path, edits: int) -> list[Gauge]:
    found = fresh("edit", path=str(path), edits=edits, seed=SEED)
    batches = [Gauge(f"{count:,} {kind}", seconds, "s") for kind, (count, seconds) in found["batches"].items()]
    done = sum(count for count, _ in found["batches"].values())
    return [*batches, Gauge(f"{done:,} edits in all", found["seconds"], "s", 1.0), *_peaks("edits", found)]


def _ms(seconds: Sequence[float], share: int) -> float:
    return float(np.percentile(seconds, share)) * 1000


def _measure_growth(step: str, found: dict[str, Any], target: float | None) -> list[Gauge]:
    names = {"anonymous": "memory of its own", "resident": "resident memory"}
    return [Gauge(f"{step}: {names[kind]} grows by", found[kind], "MiB", target) for kind in names if kind in found]


def table_figures(path: Path) -> list[Gauge]:
    """Build the dictionary's table of names of the knowledge base `path` anew, beside it, and open it.

    Raises:
        LinnetError: a step failed.
    """
    built = fresh("table", path=str(path))
    opened = fresh("open table", path=str(path))
    return [
        Gauge("names in the table", built["names"], ""),
        Gauge("build", built["seconds"], "s", 900.0),
        Gauge("build: processor time", built["processor"], "s"),
        *_peaks("build", built),
        Gauge("file", built["file"] / 1e6, "MB"),
        Gauge("open and look up one name", opened["seconds"] * 1000, "ms", 100.0),
        *_measure_growth("open", opened, None),
    ]


def show(title: str, figures: Iterable[Gauge]) -> None:
    """Print measurements with their targets."""
    rows = [
        (one.what, _number(one.value), one.unit, "" if one.target is None else f"≤ {one.target:,.0f}", one.verdict)
        for one in figures
    ]
    table(title, ("", "measured", "unit", "target", ""), rows, right=(1, 3))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}" if value >= 1 else f"{value:,.2f}"


def _show_searches(searches: Iterable[Searches], queries: int) -> None:
    rows = []
    for one in searches:
        uncached = "" if one.uncached is None else _number(one.uncached)
        numbers = (*map(_number, (one.p50, one.p95, one.max)), uncached, _number(one.busy))
        rows.append((one.name, *numbers, f"≤ {SEARCH_MS:.0f}", one.verdict))
    columns = ("", "p50", "p95", "max", "p95 uncached", "p95 processor", "p95 target", "")
    table(f"search: {queries} of each class, ms", columns, rows, right=range(1, 7))


def _records(rows: Iterable[Gauge | Searches]) -> list[dict[str, Any]]:
    return [row._asdict() | {"verdict": row.verdict} for row in rows]


def _write(path: Path, measured: dict[str, Any]) -> None:
    with replacing(path) as out:
        out.write(json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
