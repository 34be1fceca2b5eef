"""``linnet bench scale``: a job of shards by one worker, by several, and on several nodes of a Ray cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from linnet.bench.kb import show
from linnet.cli.common import Corpora, Quiet, Verbose, listen
from linnet.errors import LinnetError
from linnet.text.files import replacing

__all__ = ["scale"]


def scale(
    copies: Annotated[
        int, typer.Option(min=1, help="How often the records are linked, each time with other ids.")
    ] = 50,
    workers: Annotated[
        str, typer.Option(help="Numbers of workers, the first is what others are compared with.")
    ] = "1,2",
    nodes: Annotated[str, typer.Option(help="Numbers of Ray nodes with a core each; needs the extra ray.")] = "",
    pipeline: Annotated[str | None, typer.Option(help="Recipe (name or file) or trained folder; default: hpo.")] = None,
    kb: Annotated[list[str] | None, typer.Option(help="Knowledge base: a name or a file; repeatable.")] = None,
    shard: Annotated[int, typer.Option("--shard-documents", min=1, help="Documents a shard.")] = 1_000,
    data: Corpora = None,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the measurements to this file.")] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Link the PubMed records under LINNET_DATA (the notes of the demo without it) as one job, again and again.

    Nodes of Ray run on this machine, each in a network of its own where root runs this on Linux. What 37 million
    citations take on many machines follows from the processor time of a document.
    """
    from linnet.bench.scale_steps import Plan, measure_scale  # noqa: PLC0415 - needed where it is called

    listen(quiet=quiet, verbose=verbose)
    plan = Plan(copies, _numbers(workers), _numbers(nodes), pipeline, tuple(kb or ()), shard, data)
    report = measure_scale(plan)
    for title, figures in report.items():
        show(title, figures)
    if output is not None:
        told = {title: [row._asdict() | {"verdict": row.verdict} for row in rows] for title, rows in report.items()}
        with replacing(output) as out:
            out.write(json.dumps(told, indent=1) + "\n")


def _numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of an option.

    >>> _numbers("1,2"), _numbers("")
    ((1, 2), ())
    """
    cells = [cell.strip() for cell in text.split(",") if cell.strip()]
    if not all(cell.isdecimal() and int(cell) for cell in cells):
        raise LinnetError(f"{text}: expected numbers such as 1,2")
    return tuple(map(int, cells))
