"""``linnet bench``: speed, memory and comparisons of recipes on real text, measured the same way everywhere."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from linnet.bench import (
    ablate,
    active,
    collective,
    dense,
    encode,
    evaluate,
    everything,
    few,
    generate,
    hierarchical,
    http,
    lexical,
    peers,
    recognition,
    rerank,
    rerankers,
    scale,
    serve,
    tasks,
)
from linnet.bench.kb import measure_kb, show, table_figures
from linnet.cli.common import App, Quiet, Verbose, listen, table
from linnet.corpora import read, write
from linnet.corpora.catalog import read_corpus
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.evaluate.meter import mib, peak_resident
from linnet.recipes.config import load, open_kb

__all__ = ["app"]

app = App(
    help="Measure speed and memory, and what parts of recipes are worth, on real text.",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def bench() -> None:
    """Measure speed and memory, and what parts of recipes are worth, on real text."""


app.command("kb")(measure_kb)
app.command("all")(everything.everything)
app.command("ablation")(ablate.ablation)
app.command("active")(active.active)
app.command("collective")(collective.collective)
app.command("few")(few.few)
app.command("generate")(generate.generate)
app.command("hierarchical")(hierarchical.hierarchical)
app.command("dense")(dense.dense)
app.command("encode")(encode.encode)
app.command("evaluate")(evaluate.evaluate)
app.command("http")(http.http)
app.command("lexical")(lexical.lexical)
app.command("peers")(peers.peers)
app.command("recognition")(recognition.recognition)
app.command("rerank")(rerank.rerank)
app.command("rerankers")(rerankers.rerankers)
app.command("scale")(scale.scale)
app.command("serve")(serve.serve)
app.command("tasks")(tasks.tasks)


@app.command("dictionary")
def dictionary(
    data: Annotated[
        Path | None, typer.Option(envvar="LINNET_DATA", help="Folder with pubmed/*.xml.gz.", show_default=False)
    ] = None,
    kb: Annotated[str, typer.Option(help="Knowledge base: a name or a file.")] = "hpo",
    pipeline: Annotated[str, typer.Option(help="Recipe (name or file) or trained folder.")] = "hpo",
    repeats: Annotated[int, typer.Option(min=1, help="Number of warm runs; reports the median.")] = 5,
    batch: Annotated[int, typer.Option(min=1, help="Documents per batch.")] = 64,
    table_only: Annotated[bool, typer.Option("--table-only", help="Only rebuild and open the table of names.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Link PubMed abstracts with the dictionary on one core, or measure its table of names."""
    listen(quiet=quiet, verbose=verbose)
    if table_only:
        show(f"table of names of {kb}", table_figures(open_kb(kb).path))
        return
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
        ("peak memory", mib(peak_resident())),
        ("one core", "yes" if one_core else "no (this system cannot pin a process)"),
    ]
    table(f"dictionary over {kb}", ("", "measured"), rows)


@app.command("formats")
def formats(
    data: Annotated[
        Path | None, typer.Option(envvar="LINNET_DATA", help="Folder of the known corpora.", show_default=False)
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Number of runs; reports the median.")] = 3,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Read the derived MedMentions as PubTator and as BioC XML, validated, on one core; the same for writing."""
    listen(quiet=quiet, verbose=verbose)
    one_core = _pin()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("pubtator", "bioc", "bioc_json", "jsonl"):
            path = Path(folder) / f"medmentions.{name}"
            written = [_time(lambda: write(_medmentions(data), path, format=name)) for _ in range(repeats)]  # noqa: B023
            read_all = [_time(lambda: sum(1 for _ in read(path, format=name))) for _ in range(repeats)]  # noqa: B023
            size = path.stat().st_size / 1e6
            speeds = (f"{size / statistics.median(times):,.1f}" for times in (read_all, written))
            rows.append((name, f"{size:,.1f}", *speeds))
    columns = ("format", "MB", "read MB/s", "read PubTator + write MB/s")
    table("2,135 abstracts with 98,644 mentions", columns, rows, right=(1, 2, 3))
    pinned = "one core" if one_core else "not pinned"
    print(f"median of {repeats} runs, {pinned}, peak memory {mib(peak_resident())}; one document in memory at a time")


def _medmentions(data: Path | None) -> Iterator[Document]:
    return read_corpus("medmentions_st21pv_derived", split="train", data=data)


def _time(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


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
