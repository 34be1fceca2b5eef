"""Cost of a pipeline: speed, load time, memory, size, device; time and memory are `linnet.evaluate.meter`'s."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from linnet.data import Document
from linnet.evaluate.meter import Meter, mib
from linnet.pipeline.learner import Learner

__all__ = ["Cost", "cost", "size_on_disk"]

Amount = Annotated[float, Field(ge=0.0)]
Linker = Callable[[Sequence[Document]], Sequence[Document]]


class Cost(BaseModel):
    """What was measured on `documents` documents; bytes and seconds.

    Args:
        documents: how many were linked in each run.
        mentions: how many they hold after linking.
        repeats: warm runs; speeds are of the median one.
        documents_per_second: of the median warm run.
        mentions_per_second: the same.
        slowest: documents per second of the slowest warm run.
        fastest: of the fastest.
        load_seconds: from nothing to the first document linked.
        anonymous_bytes: peak of what the process itself holds.
        mapped_bytes: peak of the files mapped into memory.
        index_bytes: size on disk of knowledge base, indexes and weights.
        parameters: learned numbers; 0 = nothing is learned.
        device: ``cpu`` or an accelerator's name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    documents: int = Field(ge=0)
    mentions: int = Field(ge=0)
    repeats: int = Field(ge=1)
    documents_per_second: Amount
    mentions_per_second: Amount
    slowest: Amount
    fastest: Amount
    load_seconds: Amount
    anonymous_bytes: int | None = None
    mapped_bytes: int | None = None
    index_bytes: int = 0
    parameters: int = 0
    device: str = "cpu"

    def rows(self) -> list[tuple[str, str]]:
        """Return what was measured as lines of a table: what, how much."""
        lines = [
            ("documents/s", f"{self.documents_per_second:,.0f} (median of {self.repeats} warm runs)"),
            ("mentions/s", f"{self.mentions_per_second:,.0f}"),
            ("slowest, fastest run", f"{self.slowest:,.0f}, {self.fastest:,.0f} documents/s"),
            ("load and first document", f"{self.load_seconds:.2f} s"),
            ("peak memory, anonymous", mib(self.anonymous_bytes)),
            ("peak memory, mapped files", mib(self.mapped_bytes)),
            ("knowledge base and indexes on disk", mib(self.index_bytes)),
            ("parameters", f"{self.parameters:,}"),
            ("device", self.device),
        ]
        return [("measured on", f"{self.documents:,} documents, {self.mentions:,} mentions"), *lines]


def size_on_disk(paths: Iterable[str | Path]) -> int:
    """Return the bytes of files, and of all files below folders; what does not exist has none.

    >>> size_on_disk(["/there/is/no/such/file"])
    0
    """
    files = {file for path in map(Path, paths) for file in (path.rglob("*") if path.is_dir() else [path])}
    return sum(file.stat().st_size for file in files if file.is_file())


def cost(
    load: Callable[[], Linker],
    docs: Sequence[Document],
    *,
    repeats: int = 3,
    index: Iterable[str | Path] = (),
    device: str = "cpu",
    clock: Callable[[], float] = time.perf_counter,
) -> Cost:
    """Load a pipeline and link `docs` with it once cold and `repeats` times warm.

    Args:
        load: makes the pipeline; called once, its time counts.
        docs: at least one document, without answers that the pipeline must not see.
        repeats: warm runs.
        index: files and folders the pipeline reads: knowledge base, indexes, weights.
        device: what it runs on.
        clock: seconds; another one for tests.

    >>> cost(lambda: list, [Document.of("Fever.")], repeats=2).documents
    1
    """
    with Meter() as meter:
        started = clock()
        linker = load()
        linker(docs[:1])
        loaded = clock() - started
        linked = linker(docs)  # cold: fills caches
        times = []
        for _ in range(repeats):
            started = clock()
            linked = linker(docs)
            times.append(max(clock() - started, 1e-9))
    mentions = sum(len(doc.mentions or ()) for doc in linked)
    warm = statistics.median(times)
    return Cost(
        documents=len(docs),
        mentions=mentions,
        repeats=repeats,
        documents_per_second=len(docs) / warm,
        mentions_per_second=mentions / warm,
        slowest=len(docs) / max(times),
        fastest=len(docs) / min(times),
        load_seconds=loaded,
        anonymous_bytes=meter.anonymous,
        mapped_bytes=meter.mapped,
        index_bytes=size_on_disk(index),
        parameters=linker.parameters if isinstance(linker, Learner) else 0,
        device=device,
    )
