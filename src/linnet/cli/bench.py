"""``linnet bench``: speed and memory on real text, measured the same way everywhere."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path
from typing import Annotated

import typer

from linnet.cli.common import Quiet, Verbose, listen, table
from linnet.config import load
from linnet.corpora import read
from linnet.data import Document
from linnet.errors import LinnetError

__all__ = ["app"]

app = typer.Typer(help="Measure speed and memory on real text.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure speed and memory on real text."""


@app.command("dictionary")
def dictionary(
    data: Annotated[
        Path | None, typer.Option(envvar="LINNET_DATA", help="Folder with pubmed/*.xml.gz.", show_default=False)
    ] = None,
    kb: Annotated[str, typer.Option(help="Knowledge base: a name or a file.")] = "hpo",
    pipeline: Annotated[str, typer.Option(help="Recipe (name or file) or trained folder.")] = "hpo",
    repeats: Annotated[int, typer.Option(min=1, help="Warm runs; their median is reported.")] = 5,
    batch: Annotated[int, typer.Option(min=1, help="Documents a batch.")] = 64,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Link PubMed abstracts with the dictionary on one core."""
    listen(quiet=quiet, verbose=verbose)
    docs = [doc for doc in read(_sample(data)) if _has_abstract(doc)]
    one_core = _pin()
    started = time.perf_counter()
    linker = load(pipeline, kb=kb)
    linked = linker(docs[:1])
    loaded = time.perf_counter() - started
    times = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        linked = list(linker.stream(docs, batch=batch))
        times.append(time.perf_counter() - started)
    import resource  # noqa: PLC0415 - Unix alone has it

    characters = sum(len(doc.text) for doc in docs)
    mentions = sum(len(doc.mentions or ()) for doc in linked)
    warm = statistics.median(times[1:])
    rows = [
        ("abstracts", f"{len(docs):,} ({characters / 1e6:.2f} million characters)"),
        ("mentions", f"{mentions:,}"),
        ("load and first abstract", f"{loaded:.2f} s"),
        ("first run", f"{len(docs) / times[0]:,.0f} abstracts/s"),
        (f"median of {repeats} warm runs", f"{len(docs) / warm:,.0f} abstracts/s, {mentions / warm:,.0f} mentions/s"),
        ("fastest and slowest warm run", f"{len(docs) / min(times[1:]):,.0f}, {len(docs) / max(times[1:]):,.0f}"),
        ("peak memory", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB"),
        ("one core", "yes" if one_core else "no (this system cannot pin a process)"),
    ]
    table(f"dictionary over {kb}", ("", "measured"), rows)


def _sample(data: Path | None) -> list[str | Path | Document]:
    if data is None:
        raise LinnetError("say where the texts are: --data DIR or LINNET_DATA, a folder with pubmed/*.xml.gz")
    files = sorted((data / "pubmed").glob("*.xml*"))
    if not files:
        raise LinnetError(f"{data / 'pubmed'} holds no PubMed XML (*.xml, *.xml.gz)")
    return list(files)


def _has_abstract(doc: Document) -> bool:
    return any(passage.kind != "title" for passage in doc.passages)


def _pin() -> bool:
    """Keep this process on one core, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    return True
