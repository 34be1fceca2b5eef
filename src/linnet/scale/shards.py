"""What a worker does: it links a part of a unit's documents and writes them as a shard, whole or not at all.

A document that fails is found by halving its batch; it is told in what the worker answers, and the others are written.
Where a worker is, it notes in a small file, so that whoever starts another one after its death knows at what it died.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from linnet.data import Document
from linnet.errors import LinnetError
from linnet.evaluate.meter import Memory, memory
from linnet.pipeline import Pipeline
from linnet.pipeline.component import batches, count_seen
from linnet.recipes.linking import hidden_gold
from linnet.reporter import Reporter, reporting
from linnet.scale.shard_files import Shard, shard_of
from linnet.scale.units import Reading, Unit, reason_of

__all__ = ["ID", "READING", "Done", "Load", "Settings", "Task", "Worker", "hash_of", "place_file"]

Load = Callable[[], Pipeline]  # what a worker gets its pipeline from; it is pickled

HOPELESS = 16  # documents of a part that all fail: then it is not the documents that are wrong
READING = "reading"  # what a worker may die at, beside a batch or a document
BATCH = "batch"
DOCUMENT = "document"
ID = 8  # bytes of the hash of an id
WIDTH = 24  # bytes of the note of where a worker is


@dataclass(frozen=True)
class Settings:
    """What all workers of a job know.

    Args:
        folder: what shards are written to.
        aside: a folder on the same disk, where they are written until they are complete.
        format: of the shards, ``jsonl`` or ``parquet``.
        size: how many documents a shard has.
        source: format of the input (None finds it out for each file), and options of its reader as pairs.
        keep_gold: let the pipeline see the gold mentions of the input.
    """

    folder: str
    aside: str
    format: str = "jsonl"
    size: int = 1_000
    source: tuple[str | None, tuple[tuple[str, Any], ...]] = (None, ())
    keep_gold: bool = False


@dataclass(frozen=True)
class Task:
    """One part to link.

    Args:
        unit: what it is a part of.
        part: which one.
        alone: places of batches that are linked one document at a time, since workers died at them.
        deadly: places of documents that are left out, since workers died at them alone.
    """

    unit: Unit
    part: int
    alone: frozenset[int] = frozenset()
    deadly: frozenset[int] = frozenset()

    @property
    def key(self) -> tuple[int, int]:
        """Which part it is."""
        return self.unit.number, self.part


@dataclass
class Done:
    """What became of a part.

    Args:
        unit: number of its unit.
        part: its place in it.
        parts: how many parts the unit has, once that is known.
        files: name, bytes and sha256 of each file that was written; none of a part that has no documents.
        counts: documents, mentions, and some more by name.
        errors: what could not be read or linked: source, reason, and the document where that is known.
        ids: 8 bytes for the id of each document.
        seconds: spent on reading, linking and writing.
        processor: seconds of the processor that all of it took, whatever else the machine did.
        said: warnings.
        memory: of the worker, in bytes.
        reached: False if the unit ended in front of this part.
    """

    unit: int
    part: int
    parts: int | None = None
    files: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    errors: list[dict[str, str]] = field(default_factory=list)
    ids: bytes = b""
    seconds: dict[str, float] = field(default_factory=dict)
    processor: float = 0.0
    said: list[str] = field(default_factory=list)
    memory: Memory | None = None
    reached: bool = True

    @property
    def key(self) -> tuple[int, int]:
        """Which part it is."""
        return self.unit, self.part


class _Given(NamedTuple):
    """A document to link, its place in the part, and where it was read."""

    place: int
    doc: Document
    source: str


def place_file(aside: str, key: tuple[int, int]) -> Path:
    """Return the file in which a worker notes where in a part it is."""
    return Path(aside) / f"at-{key[0]}-{key[1]}"


class Worker:
    """Links parts, one after the other; it reads on where the next part is one behind in the same unit.

    Args:
        load: gives the pipeline.
        settings: of the job.
    """

    def __init__(self, load: Load, settings: Settings) -> None:
        self._said: list[str] = []
        with reporting(Reporter(warn=self._said.append)):
            self._linker = load()
        self._settings = settings
        self._reading: Reading | None = None

    def __call__(self, task: Task) -> Done:
        """Link a part, and write its shard.

        Raises:
            LinnetError: all its documents fail, or it cannot be written.
        """
        done, busy = Done(*task.key), time.process_time()
        with (
            reporting(Reporter(warn=self._said.append)),
            place_file(self._settings.aside, task.key).open("wb", buffering=0) as at,
        ):
            try:
                _Linking(self._linker, self._settings, task, done, at).link(self._read(task))
            except BaseException:
                self._reading = None
                raise
        with suppress(OSError):
            place_file(self._settings.aside, task.key).unlink()
        done.said, self._said[:] = list(self._said), []
        done.memory, done.processor = memory(), time.process_time() - busy
        return done

    def _read(self, task: Task) -> Reading:
        """Return the reading of a unit, just in front of the part."""
        reading = self._reading
        if reading is None or reading.unit.number != task.unit.number or reading.place > task.part:
            settings = self._settings
            format, options = settings.source
            reading = Reading(task.unit, size=settings.size, format=format, options=options, rows=self._linker.kb)
            self._reading = reading
        reading.skip(task.part)
        return reading


class _Linking:
    """Links one part."""

    def __init__(self, linker: Pipeline, settings: Settings, task: Task, done: Done, at: IO[bytes]) -> None:
        self._linker, self._settings, self._task, self._done, self._at = linker, settings, task, done, at
        self._clock = time.perf_counter()
        self._failed: list[tuple[int, dict[str, str]]] = []
        self._given: list[_Given] = []
        self._counts = dict.fromkeys(("documents", "mentions", "hidden", "ungiven", "trained on", "chosen on"), 0)

    def link(self, reading: Reading) -> None:
        """Link and write what comes next."""
        done, errors = self._done, list[dict[str, str]]()
        ended = reading.parts is not None and reading.parts <= self._task.part
        if reading.place < self._task.part or ended:
            done.parts, done.reached = reading.parts, False
            return
        with shard_of(self._settings, self._task.key, self._linker.concepts) as shard:
            self._note(READING)
            for number, batch in enumerate(batches(self._noted(reading, errors))):
                given, self._given = self._given[: len(batch)], self._given[len(batch) :]
                self._spend("reading")
                done.ids += b"".join(hash_of(one.doc.id) for one in given)
                self._link_batch(number, given, shard)
                self._note(READING, number + 1)
            self._spend("reading")
            self._refuse_hopeless(shard)
            done.files = shard.finish() if self._counts["documents"] else []
        self._spend("writing")
        done.parts = reading.parts
        done.errors = errors + [told for _, told in sorted(self._failed, key=lambda one: one[0])]
        done.counts = {"given": len(done.ids) // ID, **self._counts, "errors": len(done.errors)}

    def _noted(self, reading: Reading, errors: list[dict[str, str]]) -> Any:
        """Yield the documents of the part, and remember where they come from."""
        for place, (doc, source) in enumerate(reading.take(errors)):
            self._given.append(_Given(place, doc, source))
            yield doc

    def _link_batch(self, number: int, given: Sequence[_Given], shard: Shard) -> None:
        left = [one for one in given if one.place not in self._task.deadly]
        for one in given:
            if one.place in self._task.deadly:
                self._fail(one, "it killed its worker, each time it was linked alone")
        if number in self._task.alone:
            for one in left:
                self._note(DOCUMENT, one.place)
                self._link([one], shard)
        elif left:
            self._note(BATCH, number)
            self._link(left, shard)

    def _link(self, given: Sequence[_Given], shard: Shard) -> None:
        """Link documents and write them; if that fails, each half of them."""
        try:
            docs = [one.doc if self._settings.keep_gold else hidden_gold(one.doc, self._linker) for one in given]
            linked = self._linker(docs)
            self._spend("linking")
            rendered = shard.rendered(linked)
        except (OSError, sqlite3.Error) as error:  # of the machine, not of a document
            raise LinnetError(f"documents cannot be linked: {error}; mend this, and run the same command") from error
        except Exception as error:
            self._spend("linking")
            if len(given) == 1:
                self._fail(given[0], reason_of(error))
                return
            middle = len(given) // 2
            self._link(given[:middle], shard)
            self._link(given[middle:], shard)
            return
        shard.add(rendered)
        self._count(given, linked)
        self._spend("writing")

    def _count(self, given: Sequence[_Given], linked: Sequence[Document]) -> None:
        counts, seen = self._counts, count_seen(linked)
        gold = sum(mention.source == "gold" for one in given for mention in one.doc.mentions or ())
        more = {
            "documents": len(linked),
            "mentions": sum(len(doc.mentions or ()) for doc in linked),
            "hidden": 0 if self._settings.keep_gold or "mentions" in self._linker.needs else gold,
            "ungiven": sum(one.doc.mentions is None for one in given) if "mentions" in self._linker.needs else 0,
            "trained on": seen["train"],
            "chosen on": seen["dev"],
        }
        for name, count in more.items():
            counts[name] += count

    def _fail(self, one: _Given, reason: str) -> None:
        self._failed.append((one.place, {"document": one.doc.id, "source": one.source, "reason": reason}))

    def _refuse_hopeless(self, shard: Shard) -> None:
        if len(self._failed) >= HOPELESS and not self._counts["documents"]:
            told = self._failed[0][1]
            where = f"all {len(self._failed):,} documents of {shard.name} fail, the first one, {told['document']!r}"
            raise LinnetError(f"{where}, because: {told['reason']}")

    def _note(self, what: str, number: int = 0) -> None:
        self._at.seek(0)
        self._at.write(f"{what} {number}".ljust(WIDTH).encode())

    def _spend(self, what: str) -> None:
        now = time.perf_counter()
        self._done.seconds[what] = self._done.seconds.get(what, 0.0) + now - self._clock
        self._clock = now


def hash_of(id: str) -> bytes:
    """Return 8 bytes that stand for an id."""
    return hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=ID).digest()
