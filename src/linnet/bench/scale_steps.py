"""The steps of ``linnet bench scale``: the same job by more and more workers, and what its time is spent on."""

from __future__ import annotations

import logging
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from linnet.bench.http_site import NOTES
from linnet.bench.kb import Gauge
from linnet.bench.scale_nodes import cluster
from linnet.cli.link_options import Loading
from linnet.corpora import read, write
from linnet.data import Document
from linnet.scale.crew import Processes
from linnet.scale.job import Gather, Job, Told, run
from linnet.scale.job_key import made_of
from linnet.scale.shard_files import sha256
from linnet.scale.shards import Load, Settings
from linnet.scale.units import Inputs
from linnet.text.files import open_text, replacing

__all__ = ["Plan", "measure_scale"]

PMID = re.compile(r"(<MedlineCitation\b[^>]*>\s*<PMID\b[^>]*>)(\d+)")
PUBMED = 37e6  # citations of PubMed
MACHINES, CORES = (1, 10, 100), 16  # that the whole is told for
LOOK = 2.0  # seconds between two looks at the memory of workers
STEPS = ("loading", "reading", "linking", "writing")
MIB = 1 << 20

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    copies: int = 50
    workers: tuple[int, ...] = (1, 2)
    nodes: tuple[int, ...] = ()
    pipeline: str | None = None
    kbs: tuple[str, ...] = ()
    shard: int = 1_000
    data: Path | None = None


class _Round(NamedTuple):
    """One job: how it went, its memory in bytes (resident and proportional, of all workers), digests of its files."""

    told: Told
    resident: int
    proportional: int
    digests: dict[str, str]


def measure_scale(plan: Plan) -> dict[str, list[Gauge]]:
    """Do the job with each number of workers and nodes, and return measurements by what did it.

    Raises:
        LinnetError: the pipeline cannot be loaded, or Ray is not there.
    """
    report: dict[str, list[Gauge]] = {}
    with tempfile.TemporaryDirectory(prefix="linnet-bench-") as place:
        folder = Path(place)
        source = _write_input(plan, folder / "input")
        loading = Loading(plan.pipeline, plan.kbs)
        linker = loading()
        first: _Round | None = None
        for number, gather, many in _kinds(plan):
            name = f"{many} {'node' if gather is not None else 'worker'}{'s' if many > 1 else ''}"
            logger.info("%s: %s", source, name)
            job = Job(
                Inputs((str(source),)), folder / f"out{number}", loading, made_of(linker), workers=many, size=plan.shard
            )
            done = _round(job, gather)
            first = first or done
            report[name] = _gauges(done, first, many)
    if first is not None:
        report[f"{PUBMED / 1e6:,.0f} million citations, machines of {CORES} cores"] = list(_whole(first))
    return report


def _kinds(plan: Plan) -> Iterator[tuple[int, Gather | None, int]]:
    """Yield what does the job in turn: its number, how workers are gathered (None: as processes), how many."""
    for number, many in enumerate(plan.workers):
        yield number, None, many
    for number, many in enumerate(plan.nodes, len(plan.workers)):
        with cluster(many) as gather:
            yield number, gather, many


def _write_input(plan: Plan, folder: Path) -> Path:
    """Write the records so many times, each time with other ids, as they are published; return the folder."""
    folder.mkdir()
    pubmed = None if plan.data is None else plan.data / "pubmed"
    if pubmed is None or not pubmed.is_dir():
        notes = list(read(NOTES))
        for copy in range(plan.copies):
            write([Document(f"{doc.id}-{copy}", doc.text) for doc in notes], folder / f"{copy:04}.jsonl")
        return folder
    for file, path in enumerate(sorted(pubmed.glob("*.xml*"))):
        text = "\n".join(open_text(path))
        for copy in range(plan.copies):
            with replacing(folder / f"{file}-{copy:04}.xml.gz") as out:
                out.write(PMID.sub(rf"\g<1>\g<2>{copy:04}", text))
    return folder


def _round(job: Job, gather: Gather | None) -> _Round:
    crews: list[Any] = []
    looked, most = 0.0, (0, 0)

    def gathered(size: int, load: Load, settings: Settings) -> Any:
        crews.append((gather or Processes)(size, load, settings))
        return crews[-1]

    def tell(told: Told) -> None:
        nonlocal looked, most
        if gather is None and told.linking and time.monotonic() - looked > LOOK:
            looked = time.monotonic()
            found = [_memory(pid) for pid in crews[0].pids]
            most = max(most, (sum(one[0] for one in found), sum(one[1] for one in found)))

    told = run(replace(job, gather=gathered), tell=tell)
    return _Round(told, *most, {path.name: sha256(path) for path in job.folder.iterdir() if path.is_file()})


def _memory(pid: int) -> tuple[int, int]:
    """Return the resident memory of a process, and the same with pages that several share counted in parts."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0, 0
    sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines[1:]}
    return sizes.get("Rss", 0), sizes.get("Pss", 0)


def _gauges(done: _Round, first: _Round, many: int) -> list[Gauge]:
    told = done.told
    spent = {name: told.spent.get(name, 0.0) for name in STEPS}
    differing = {name for name, _ in done.digests.items() ^ first.digests.items()}
    waiting = max(many * told.seconds - sum(spent.values()), 0.0)
    documents = told.counts["documents"]
    shares = [
        Gauge(f"time of workers: {name}", 100 * some / (many * told.seconds), "%") for name, some in spent.items()
    ]
    memory = []
    if done.resident:
        memory = [
            Gauge("memory of all workers, resident", done.resident / MIB, "MiB"),
            Gauge("memory of all workers, shared pages once", done.proportional / MIB, "MiB"),
        ]
    return [
        Gauge("documents", documents, ""),
        Gauge("seconds", told.seconds, "s"),
        Gauge("documents/s, once the workers have loaded", told.rate, ""),
        Gauge("times as many as the first", told.rate / first.told.rate, ""),
        Gauge("processor time of a document", 1e3 * told.processor / max(documents, 1), "ms"),
        *shares,
        Gauge("time of workers: waiting", 100 * waiting / (many * told.seconds), "%"),
        *memory,
        Gauge("files that differ from those of the first", len(differing), "", 0.0),
    ]


def _whole(first: _Round) -> Sequence[Gauge]:
    """Return hours for all of PubMed, from the processor time of a document with one worker."""
    seconds = first.told.processor / max(first.told.counts["documents"], 1)
    return [Gauge(f"{machines} machines", PUBMED * seconds / (machines * CORES) / 3_600, "h") for machines in MACHINES]
