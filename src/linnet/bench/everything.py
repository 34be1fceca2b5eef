"""``linnet bench all``: every bench of speed at a small size, as ratios, beside those of the last run."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from linnet import __version__
from linnet.bench.steps import fresh
from linnet.cli.common import AsJson, Docs, Quiet, Verbose, check_docs, listen, progress, table
from linnet.cli.terminal import clean, duration, say
from linnet.errors import FormatError, LinnetError, did_you_mean, how_to_install
from linnet.evaluate.rows import NOTHING, PageTable
from linnet.home import home, read_json, writable
from linnet.text.files import replacing

__all__ = ["DROP", "TABLE", "Line", "compare", "everything"]

DROP = 0.15  # of a ratio, which is more than the same code varies by
KEPT = "bench.json"  # under LINNET_HOME
NEURAL, SERVE = ("torch", "neural"), ("fastapi", "serve")
BENCHES: dict[str, tuple[str, str] | None] = {
    "kb": None, "dictionary": None, "formats": None, "evaluate": None, "lexical": None, "dense": NEURAL,
    "encode": NEURAL, "collective": NEURAL, "hierarchical": NEURAL, "generate": NEURAL, "rerank": NEURAL,
    "http": SERVE, "scale": None,
}  # name -> a module that it needs, and the extra that brings it  # fmt: skip
LEARNING = "ablation, active, few, recognition and rerankers train for minutes to hours and measure what is learned"
PEOPLE = "serve lets simulated people work for minutes; peers measures others"
TABLE = PageTable(
    by="linnet bench all",
    columns=("bench", "ratio, the higher the better", "now", "last", "change", "measured"),
    texts=2,
    key=2,
)


class Line(NamedTuple):
    """A ratio now and in the last run (None: it was not measured), and the absolute figure behind it."""

    bench: str
    what: str
    value: float
    last: float | None
    figure: str

    @property
    def change(self) -> float:
        """By what share of the last one it has grown."""
        return self.value / self.last - 1 if self.last else 0.0

    @property
    def dropped(self) -> bool:
        """Whether it is worse by more than `DROP`."""
        return self.change < -DROP


def everything(
    benches: Annotated[
        list[str] | None, typer.Argument(metavar="[BENCH]...", help="Only these: kb, dictionary, encode ...")
    ] = None,
    last: Annotated[
        Path | None,
        typer.Option(help="JSON file of the last run, replaced by this one; default: LINNET_HOME/bench.json."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 when a ratio dropped, and keep the last run.")
    ] = False,
    docs: Docs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run every bench of speed at a small size, in about ten minutes on two cores, and compare with the last run.

    Texts are the notes of the demo, knowledge bases small or synthetic: no corpora are needed. Figures are ratios of
    what was measured in one run: of two ways, or to a fixed job of Python and NumPy where a bench knows only one way.
    A ratio that dropped by more than 15 % is measured once more, and printed in red if it is no better.
    """
    listen(quiet=quiet, verbose=verbose)
    check_docs(docs)
    chosen = _chosen(benches or [])
    path = last.expanduser() if last is not None else home() / KEPT
    before = _read(path)
    lines, missed = _run(chosen, before, quiet=quiet)
    if docs is not None:
        TABLE.write(docs, list(map(_cells, lines)))
    if as_json:
        for line in lines:
            print(json.dumps(line._asdict()))
    else:
        table("", TABLE.columns, list(map(_cells, lines)), right=range(2, len(TABLE.columns)))
    for name, why in missed.items():
        say(f"{name}: {why}", error=True)
    if not benches:
        say(f"not measured: {LEARNING}; {PEOPLE}", error=True)
    dropped = [line for line in lines if line.dropped]
    _warn(dropped)
    if not (strict and dropped):
        _keep(path, before, lines)
    if strict and dropped:
        raise typer.Exit(1)


def _chosen(names: Sequence[str]) -> list[str]:
    for name in names:
        if name not in BENCHES:
            hint = did_you_mean(name, BENCHES) or f"; known are {', '.join(BENCHES)}"
            raise LinnetError(f"bench {name!r} is none that `linnet bench all` runs{hint}")
    return [name for name in BENCHES if name in names or not names]


def _run(
    chosen: Sequence[str], before: Mapping[str, Mapping[str, float]], *, quiet: bool
) -> tuple[list[Line], dict[str, str]]:
    """Return the lines of all benches, and why some have none."""
    lines: list[Line] = []
    missed: dict[str, str] = {}
    for name in progress(chosen, what="benches", total=len(chosen), quiet=quiet):
        needed = BENCHES[name]
        if needed is not None and importlib.util.find_spec(needed[0]) is None:
            missed[name] = f"left out, needs {needed[0]}: {how_to_install(needed[1])}"
            continue
        started = time.perf_counter()
        try:
            lines += compare(name, before.get(name, {}))
        except LinnetError as error:
            missed[name] = f"failed after {duration(time.perf_counter() - started)}: {error}"
    return lines, missed


def compare(name: str, before: Mapping[str, float]) -> list[Line]:
    """Run a bench, and once more if a ratio dropped: the better one counts, since other work on the machine only slows.

    Raises:
        LinnetError: the bench failed; what it had to say went to stderr.
    """
    lines = list(_measure(name, before))
    if any(line.dropped for line in lines):
        again = {line.what: line for line in _measure(name, before)}
        lines = [max(line, again.get(line.what, line), key=lambda one: one.value) for line in lines]
    return lines


def _measure(name: str, before: Mapping[str, float]) -> Iterator[Line]:
    for what, value, figure in fresh(name, module="linnet.bench.everything_steps")["ratios"]:
        yield Line(name, what, value, before.get(what), figure)


def _cells(line: Line) -> list[str]:
    known = [NOTHING, NOTHING] if line.last is None else [_number(line.last), f"{100 * line.change:+.0f} %"]
    return [line.bench, line.what, _number(line.value), *known, line.figure]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _warn(dropped: Sequence[Line]) -> None:
    for line in dropped:
        what = f"{line.bench}, {line.what}: {_number(line.value)} after {_number(line.last or 0.0)}"
        typer.secho(clean(f"dropped by {-100 * line.change:.0f} %: {what}"), fg=typer.colors.RED, err=True)


def _read(path: Path) -> dict[str, dict[str, float]]:
    """Return the ratios of the last run, by bench and what is compared."""
    if not path.exists():
        return {}
    try:
        return {name: dict(found) for name, found in read_json(path)["ratios"].items()}
    except (FormatError, KeyError, AttributeError, TypeError, ValueError) as error:
        raise LinnetError(f"{path} holds no ratios of `linnet bench all`: remove it, or give another --last") from error


def _keep(path: Path, before: Mapping[str, Mapping[str, float]], lines: Sequence[Line]) -> None:
    """Write what was measured; what was not this time stays."""
    ratios = {name: dict(found) for name, found in before.items()}
    for line in lines:
        ratios.setdefault(line.bench, {})[line.what] = line.value
    writable(path.parent)
    with replacing(path) as out:
        out.write(json.dumps({"version": __version__, "ratios": ratios}, indent=1, ensure_ascii=False) + "\n")
