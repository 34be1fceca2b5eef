"""``linnet bench serve``: many simulated annotators at a server, with a training meanwhile and without."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnet.bench.kb import show
from linnet.cli.common import Corpora, Quiet, Verbose, listen, table
from linnet.cli.terminal import say
from linnet.text.files import replacing

if TYPE_CHECKING:  # it needs the extra `serve`
    from linnet.bench.serve_steps import Report

__all__ = ["serve"]


def serve(
    annotators: Annotated[int, typer.Option(min=2, help="How many work at once, half of them in each project.")] = 50,
    seconds: Annotated[
        float, typer.Option(min=0, help="Seconds without a training, and again as many with one; 0 = not at all.")
    ] = 300.0,
    pause: Annotated[float, typer.Option(min=0, help="Mean seconds of thought before each act.")] = 2.0,
    documents: Annotated[int, typer.Option(min=1, help="Documents of each project.")] = 400,
    streams: Annotated[
        bool, typer.Option("--streams/--no-streams", help="Each annotator listens to what happens, as browsers do.")
    ] = True,
    large: Annotated[
        bool, typer.Option("--large", help="Search 3.6 million synthetic concepts too; built at the first time.")
    ] = False,
    retrain: Annotated[
        bool, typer.Option("--retrain", help="Learn from 40 documents and predict 100 others, with each recipe.")
    ] = False,
    recipes: Annotated[
        list[str], typer.Option("--recipe", help="Recipe to train with; the first one is trained meanwhile, too.")
    ] = ["own_lexical", "bc5cdr/tagger"],  # noqa: B006 - Typer copies it
    data: Corpora = None,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the measurements to this file.")] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Let annotators work at a server over HTTP: half of them link BC5CDR to MeSH, half to the HPO (needs LINNET_DATA).

    Decisions are counted when they are acknowledged, and in the database after the server was killed. Times are those
    of whole answers, as the annotators' side has them.
    """
    from linnet.bench.serve_steps import (  # noqa: PLC0415 - needs the extra `serve`
        Plan,
        Report,
        measure_retraining,
        measure_serving,
    )

    listen(quiet=quiet, verbose=verbose)
    plan = Plan(annotators, seconds, pause, documents, streams, large, recipes[0], data)
    report = measure_serving(plan) if seconds else Report()
    if retrain:
        report.gauges += measure_retraining(plan, recipes, say=lambda recipe: say(f"training {recipe}", error=True))
    _show(report, annotators)
    if output is not None:
        _write(output, report)


def _show(report: Report, annotators: int) -> None:
    if report.times:
        rows = [
            (one.phase, one.what, f"{one.requests:,}", *(f"{value:,.1f}" for value in (one.p50, one.p95, one.max)),
             "" if one.target is None else f"≤ {one.target:,.0f}", one.verdict)
            for one in report.times
        ]  # fmt: skip
        columns = ("", "request", "count", "p50", "p95", "max", "p95 target", "")
        table(f"{annotators} annotators, ms", columns, rows, right=range(2, 7))
    show("", report.gauges)
    for said, count in report.errors.items():
        say(f"{count:,} times {said}", error=True)


def _write(path: Path, report: Report) -> None:
    measured = {
        "times": [row._asdict() | {"verdict": row.verdict} for row in report.times],
        "figures": [row._asdict() | {"verdict": row.verdict} for row in report.gauges],
        "errors": report.errors,
    }
    with replacing(path) as out:
        out.write(json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
