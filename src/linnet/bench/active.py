"""``linnet bench active``: how many labels of a person a model needs, by the strategy that chooses what is read."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnet.cli.common import AsJson, Corpora, Docs, Quiet, Verbose, check_docs, listen, table
from linnet.errors import LinnetError, did_you_mean
from linnet.evaluate.rows import NOTHING, PageTable
from linnet.text.files import replacing

if TYPE_CHECKING:
    from linnet.bench.active_loop import Setting
    from linnet.bench.active_table import Curves, Point, Row

__all__ = ["TABLE", "active"]

TABLE = PageTable(
    by="linnet bench active",
    columns=(
        "recipe", "trained by", "strategy", "seeds", "labels for 95 %", "of all labels", "hours of work", "mean score",
        "points over random", "p",
    ),
    texts=3,
    key=3,
)  # fmt: skip
STRATEGIES = (
    "random", "trainx", "least_confident", "margin", "entropy", "version_disagreement", "expected_error", "diverse",
    "coverage",
)  # fmt: skip
LEAST_P = 0.0001


def active(
    recipe: Annotated[str, typer.Argument(help="Recipe that names a corpus and a knowledge base.")],
    trained: Annotated[
        str, typer.Option("--trained", help="Recipe to train; one that only links gets the mentions of the corpus.")
    ] = "own_lexical",
    untrained: Annotated[
        str, typer.Option("--untrained", help="Recipe that suggests mentions until there is a model.")
    ] = "dictionary",
    strategies: Annotated[str, typer.Option(help="Strategies, with commas between.")] = ",".join(STRATEGIES),
    seeds: Annotated[int, typer.Option(min=1, help="Number of curves of each strategy.")] = 5,
    most: Annotated[int, typer.Option(min=5, help="Read at most so many documents.")] = 100,
    overlooked: Annotated[
        float, typer.Option(min=0, max=1, help="Share of mentions overlooked in documents without suggestions.")
    ] = 0.0,
    led: Annotated[
        float, typer.Option(min=0, max=1, help="Share of mentions overlooked beside suggestions of others.")
    ] = 0.0,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder; curves that are there are kept.")] = Path(
        "active"
    ),
    workers: Annotated[int, typer.Option(min=1, help="Number of curves that are made at the same time.")] = 1,
    data: Corpora = None,
    docs: Docs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Simulate somebody who annotates in the workbench, and measure the model after each round.

    Documents of the train split are drawn, decided on with the time of a person, learned from and predicted by the code
    of the workbench; each model is measured on the dev split (of a corpus without a train split, dev is halved).
    Curves lie in the folder with a picture; an interrupted command goes on where it was.
    """
    from linnet.bench.active_loop import Setting  # noqa: PLC0415 - imports the workbench
    from linnet.bench.active_reader import Habits  # noqa: PLC0415 - as above
    from linnet.bench.active_table import FULL  # noqa: PLC0415 - imports NumPy

    listen(quiet=quiet, verbose=verbose)
    check_docs(docs)
    habits = Habits(overlooked=overlooked, led=led)
    todo = [(FULL, 1), *((name, seed) for seed in range(1, seeds + 1) for name in _checked(strategies))]
    settings = [Setting(recipe, trained, name, seed, most, untrained, habits, data) for name, seed in todo]
    folder = output / f"{_plain(recipe)}-{_plain(trained)}"
    curves: dict[str, dict[int, list[Point]]] = {}
    for setting, points in _run(settings, folder, workers):
        curves.setdefault(setting.strategy, {})[setting.seed] = points
    _show(settings[0], curves, folder, docs, as_json=as_json)


def _show(setting: Setting, curves: Curves, folder: Path, docs: Path | None, *, as_json: bool) -> None:
    """Write picture and table, and print the table."""
    from linnet.bench.active_table import picture, summarize  # noqa: PLC0415 - imports NumPy

    rows = summarize(curves)
    names = (setting.source, setting.trained)
    with replacing(folder / "curves.svg") as stream:
        stream.write(picture(curves, title=", trained by ".join(names)))
    cells = [[*names, row.strategy, *_figures(row)] for row in rows]
    if docs is not None:
        TABLE.write(docs, cells)
    if as_json:
        for row in rows:
            print(json.dumps({"recipe": setting.source, "trained": setting.trained, **asdict(row)}))
        return
    table("", TABLE.columns, cells, right=range(TABLE.texts, len(TABLE.columns)))
    _show_rest(curves)
    print(f"picture: {folder / 'curves.svg'}")


def _show_rest(curves: Curves) -> None:
    """Print what curves say of stopping, errors left, anchoring and time."""
    from linnet.bench.active_table import count_found, count_truths, mean_seconds, stops  # noqa: PLC0415 - as above

    rows = [
        (one.signal, f"{one.reached} of {one.curves}", _whole(one.labels), _percent(one.score)) for one in stops(curves)
    ]
    table(
        "stopping signals", ("signal", "reached in curves", "labels then", "of the full score"), rows, right=(1, 2, 3)
    )
    times = mean_seconds(curves)
    steps = list(dict.fromkeys(step for one in times for step in one.steps))
    cells = [
        [one.documents, one.rounds, f"{one.total:.1f}", *(f"{one.steps.get(step, 0.0):.1f}" for step in steps)]
        for one in times
    ]
    table("seconds of a round", ("documents", "rounds", "all", *steps), cells, right=range(3 + len(steps)))
    truths, found = count_truths(curves), count_found(curves)
    print(f"errors left: the truth lies in the 95 % interval in {truths.in_projects} of {truths.projects} projects, "
          f"in {truths.in_rounds} of {truths.rounds} rounds")  # fmt: skip
    print(f"anchoring: readers found {_percent(found.without)} of the mentions without suggestions, "
          f"{_percent(found.with_them)} with them")  # fmt: skip


def _whole(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1%}"


def _checked(strategies: str) -> list[str]:
    from linnet.annotate.sampling import STRATEGIES as KNOWN  # noqa: PLC0415 - imports NumPy

    names = list(dict.fromkeys(name.strip() for name in strategies.split(",") if name.strip()))
    for name in names:
        if name not in KNOWN:
            raise LinnetError(f"--strategies: unknown strategy {name!r}{did_you_mean(name, KNOWN)}")
    return names


def _run(settings: Sequence[Setting], folder: Path, workers: int) -> Iterator[tuple[Setting, list[Point]]]:
    """Yield each curve when it is done, those that are there among them."""
    where = {setting: folder / f"{setting.strategy}-{setting.seed}" for setting in settings}
    if workers == 1:
        for setting in settings:
            yield setting, _simulate(setting, where[setting])
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(_simulate, setting, where[setting]): setting for setting in settings}
        for one in as_completed(waiting):
            yield waiting[one], one.result()


def _simulate(setting: Setting, folder: Path) -> list[Point]:
    from linnet.bench.active_loop import Simulation  # noqa: PLC0415 - imports the workbench
    from linnet.bench.active_table import read_points  # noqa: PLC0415 - imports NumPy

    logging.getLogger("linnet.annotate.worker").setLevel(logging.WARNING)  # it tells of each job
    simulation = Simulation(setting, folder)
    for point in simulation.run():
        said = f"{setting.strategy}, seed {setting.seed}: {point.documents} documents, {point.labels} labels"
        print(f"{said}: {point.measure} {point.score:.4f} {point.drawn}", file=sys.stderr)
    return read_points(simulation.path)


def _figures(row: Row) -> list[str]:
    labels = NOTHING if row.labels is None else "{:,.0f} [{:,.0f}, {:,.0f}]".format(*row.labels)
    share = NOTHING if row.share is None else f"{row.share:.0%}"
    hours = NOTHING if row.minutes is None else f"{row.minutes / 60:.1f}"
    gain = NOTHING if row.gain is None else f"{100 * row.gain:+.2f}"
    p = NOTHING if row.p is None else f"{row.p:.2g}" if row.p >= LEAST_P else f"< {LEAST_P}"
    return [str(row.seeds), labels, share, hours, f"{row.area:.3f}", gain, p]


def _plain(name: str) -> str:
    return Path(name).stem if name.endswith(".toml") else name.replace("/", "_")
