"""``linnet bench http``: the linking server beside the bulk pipeline, beside strangers, killed and started again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from linnet.bench.kb import show
from linnet.cli.common import Corpora, Quiet, Verbose, listen
from linnet.cli.terminal import say
from linnet.text.files import replacing

__all__ = ["http"]


def http(
    docs: Annotated[int, typer.Option(min=1, help="How many texts, one a request.")] = 2_000,
    clients: Annotated[int, typer.Option(min=1, help="How many requests at once.")] = 100,
    pipeline: Annotated[str, typer.Option(help="Recipe (name or file) or trained folder.")] = "hpo",
    kb: Annotated[list[str] | None, typer.Option(help="Knowledge base: a name or a file; repeatable.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes of the server, and of the bulk pipeline.")] = 1,
    repeats: Annotated[int, typer.Option(min=1, help="How often both run, in turn; reports the median.")] = 3,
    data: Corpora = None,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the measurements to this file.")] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Link PubMed abstracts over HTTP, many requests at once (without LINNET_DATA the notes of the demo).

    The bulk pipeline links the same texts in as many processes, from JSON Lines to JSON Lines as `linnet link`
    does; the server is to reach 80 % of it.
    """
    from linnet.bench.http_steps import Plan, measure_http  # noqa: PLC0415 - needs the extra `serve`

    listen(quiet=quiet, verbose=verbose)
    report = measure_http(Plan(docs, clients, pipeline, tuple(kb or ()), workers, repeats, data))
    show(f"{pipeline}, {docs:,} texts, {workers} process{'es' if workers > 1 else ''}", report.gauges)
    for status, count in report.errors.items():
        say(f"{count:,} answers with status {status}", error=True)
    if output is not None:
        measured = {"figures": [row._asdict() | {"verdict": row.verdict} for row in report.gauges]}
        with replacing(output) as out:
            out.write(json.dumps({**measured, "errors": report.errors}, indent=1) + "\n")
