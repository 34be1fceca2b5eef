"""What a job will cost, told from a sample: documents, hours, memory and disk."""

from __future__ import annotations

import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from linnet.data import Document
from linnet.errors import LinnetError
from linnet.scale.crew import Processes
from linnet.scale.job import Job, Told, run
from linnet.scale.units import Inputs, Reading, Unit, units_of

__all__ = ["SHARD", "Cost", "estimate"]

SAMPLE, SECONDS = 200, 20.0  # documents that are linked, and the time that this may take
PLACES = 8  # units that the sample is taken from
COUNTING = 16.0  # seconds in which the documents of all of them are counted
SHARD = 20  # documents of a shard of the sample; the clock starts behind the first


@dataclass(frozen=True)
class Cost:
    """What a job will cost.

    Args:
        documents: how many there are, as far as the sample tells.
        at_least: there may be many more: a large file was not read to its end.
        sample: documents that were linked.
        errors: of the sample, what could not be read or linked.
        rate: documents that a worker reads, links and writes in a second.
        loading: seconds until a worker is ready.
        memory: bytes of a worker's own, and those of mapped files, which all workers of a machine share.
        disk: bytes of all shards.
        workers: how many there will be.
    """

    documents: int
    at_least: bool
    sample: int
    errors: int
    rate: float
    loading: float
    memory: tuple[int, int]
    disk: int
    workers: int

    @property
    def seconds(self) -> float:
        """How long all workers take together, if each has a core."""
        return self.loading + self.documents / max(self.rate * self.workers, 1e-9)


@dataclass
class _Sample:
    """Documents from several places, and how many there are in what was read whole."""

    docs: list[Document] = field(default_factory=list)
    documents: int = 0
    size: int = 0
    partly: int = 0  # documents of units that were not read to the end
    errors: list[dict[str, str]] = field(default_factory=list)


def estimate(job: Job) -> Cost:
    """Link a sample of a job's documents, spread over its input, and return what the whole will cost.

    Nothing is written to the job's folder.

    Raises:
        FormatError: input that is not there.
        LinnetError: no document could be read, or the pipeline does not work.
    """
    units = list(units_of(job.inputs, job.size))
    sample = _sample(job, units)
    if not sample.docs:
        why = f": {sample.errors[0]['reason']}" if sample.errors else ", but there are no errors: it is empty"
        raise LinnetError(f"no document of the sample could be read{why}")
    documents = sample.documents + sample.partly
    size = sum(unit.size for unit in units)
    if sample.size:
        documents = max(documents, round(sample.documents * size / sample.size))
    known = sample.size > 0 or (not sample.partly and len(units) <= PLACES)
    told, base, disk = _linked(job, sample.docs)
    seconds = sum(told.spent.get(name, 0.0) - base.get(name, 0.0) for name in ("reading", "linking", "writing"))
    linked = told.counts["documents"]
    return Cost(
        documents=documents,
        at_least=not known,
        sample=linked,
        errors=told.counts["errors"] + len(sample.errors),
        rate=(linked - base["documents"]) / max(seconds, 1e-9),
        loading=told.spent.get("loading", 0.0),
        memory=told.memory,
        disk=round(disk / max(linked, 1) * documents),
        workers=job.crew(units),
    )


def _sample(job: Job, units: list[Unit]) -> _Sample:
    """Take the first documents of some units, and count the others as long as there is time."""
    chosen = [units[place * len(units) // PLACES] for place in range(PLACES)] if len(units) > PLACES else units
    sample = _Sample()
    most = -(-SAMPLE // max(len(chosen), 1))
    for unit in chosen:
        end = time.monotonic() + COUNTING / len(chosen)
        reading = Reading(unit, size=1, format=job.inputs.format, options=job.inputs.options)
        count = 0
        while reading.parts is None and time.monotonic() < end:
            for doc, _source in reading.take(sample.errors):
                count += 1
                if count <= most:
                    sample.docs.append(doc)
        if reading.parts is None:
            sample.partly += count
        else:
            sample.documents, sample.size = sample.documents + count, sample.size + unit.size
    return sample


class _EnoughError(Exception):
    """There was time for no more of the sample."""


def _linked(job: Job, docs: list[Document]) -> tuple[Told, dict[str, float], int]:
    """Link a sample in a worker; return how it went, how far it was after the first shard, and bytes of the shards."""
    given = [replace(doc, id=f"{place}") for place, doc in enumerate(docs)]  # of several files, ids may be the same
    base: dict[str, float] = {"documents": 0}
    last = Told()

    def tell(told: Told) -> None:
        nonlocal last
        last = told
        if told.counts["documents"] and len(base) == 1:
            base.update(told.spent, documents=min(SHARD, told.counts["documents"] - 1))
        if told.linking > SECONDS and told.counts["documents"]:
            raise _EnoughError

    with tempfile.TemporaryDirectory(prefix="linnet-sample-") as folder:
        place = Path(folder) / "out"
        part = replace(job, inputs=Inputs(tuple(given)), folder=place, workers=1, size=SHARD, gather=Processes)
        with suppress(_EnoughError):
            last = run(replace(part, fresh=False), tell=tell)
        return last, base, sum(path.stat().st_size for path in place.iterdir() if path.is_file())
