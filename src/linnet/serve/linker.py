"""A pipeline with a thread of its own, which links together what has come from several requests."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from linnet.codec import dumps
from linnet.corpora.names import Remembering, namer
from linnet.data import Document, Rows
from linnet.errors import DataError, KnowledgeBaseError
from linnet.kb import KnowledgeBase
from linnet.kb.file import state_of
from linnet.kb.terminologies import Terminologies
from linnet.pipeline import Pipeline
from linnet.reporter import Reporter, reporting
from linnet.serve.jobs import Item, Job, Linked, Outcome
from linnet.serve.metrics import Metrics
from linnet.serve.problems import Problem
from linnet.serve.queue import Full, Waiting
from linnet.serve.settings import Settings

__all__ = ["Linker"]

logger = logging.getLogger(__name__)

WEIGHT = 0.2  # of the newest batch in the measured speed
LONGEST = 60  # seconds after which a client is asked to come again, at most


class Linker:
    """Links the jobs of one pipeline; the thread starts with it, and `close` ends it.

    Args:
        name: what requests call it.
        pipeline: does the work, one batch at a time.
        settings: limits.
        metrics: count what is done.
        coming: as in `linnet.serve.queue.Waiting`.
    """

    def __init__(
        self, name: str, pipeline: Pipeline, settings: Settings, metrics: Metrics, coming: Callable[[], bool]
    ) -> None:
        self.name, self.pipeline = name, pipeline
        self._metrics = metrics
        self._waiting = Waiting(settings, coming)
        self._speed = 0.0  # characters a second
        self._stopping = False
        self._use(pipeline, () if pipeline.kb is None else state_of(pipeline.kb.path))
        self._shown, self._looking = (pipeline.kb, self._state), threading.Lock()
        metrics.waiting.labels(name).set(0)
        self._thread = threading.Thread(target=self._run, name=f"linker {name}", daemon=True)
        self._thread.start()

    @property
    def kb(self) -> KnowledgeBase | Terminologies | None:
        """What holds the concepts of its answers, with the edits that there are, which `pipeline` follows later.

        Raises:
            Problem: 503, the file is gone, or is another one.
        """
        return self.pipeline.concepts if self.pipeline.kb is None else self.rows

    @property
    def rows(self) -> KnowledgeBase | None:
        """The same, None where there are several: what candidates are read with."""
        held = self.pipeline.kb
        if held is None:
            return None
        with self._looking:
            shown, state = self._shown
            if (now := state_of(held.path)) != state:
                try:
                    shown = KnowledgeBase.open(held.path)
                    self.pipeline.require_edited(shown)
                except KnowledgeBaseError as error:
                    raise Problem(503, detail=str(error), headers={"Retry-After": "60"}) from error
                self._shown = shown, now
            return shown

    @property
    def alive(self) -> bool:
        """Whether it takes jobs."""
        return self._thread.is_alive() and not self._stopping

    def submit(self, job: Job) -> None:
        """Queue a job; its outcomes arrive in its own loop.

        Raises:
            Problem: 429 where too much waits, 503 where it is stopping.
        """
        try:
            taken = self.alive and self._waiting.put(job)
        except Full as full:
            wait = math.ceil(self._waiting.characters / self._speed) if self._speed else 1
            headers = {"Retry-After": str(min(max(wait, 1), LONGEST))}
            raise Problem(429, "queue", "Too much is waiting", str(full), headers=headers) from full
        if not taken:
            raise Problem(503, "stopping", "The server is stopping", "ask again", headers={"Retry-After": "1"})
        self._count_waiting()

    def close(self) -> None:
        """Finish what was accepted, take nothing more, and end the thread."""
        self._stopping = True
        self._waiting.close()
        self._thread.join()

    def describe(self) -> dict[str, Any]:
        """Return what clients may know of it."""
        held = self.kb
        kbs = held.kbs.values() if isinstance(held, Terminologies) else [] if held is None else [held]
        return {
            "name": self.name,
            "parts": repr(self.pipeline),
            "needs": sorted(self.pipeline.needs),
            "gives": sorted(self.pipeline.gives),
            "kb": [{"name": kb.path.stem, "version": kb.version, "concepts": int(kb.info["concepts"])} for kb in kbs],
        }

    # --- in the thread -----------------------------------------------------------------------------------------------

    def _use(self, pipeline: Pipeline, state: tuple[int, ...]) -> None:
        self.pipeline, self._state = pipeline, state
        self._rows: Rows | None = Remembering.of(pipeline.concepts)
        self._name = namer(self._rows)

    def _run(self) -> None:
        with reporting(Reporter(warn=logger.warning)):
            while batch := self._waiting.take():
                self._count_waiting()
                started = time.perf_counter()
                outcomes = self._link(batch)
                seconds = time.perf_counter() - started
                self._deliver(batch, outcomes)
                self._count(batch, outcomes, seconds)

    def _link(self, batch: Sequence[Item]) -> list[Outcome]:
        """Return what becomes of each document; where they fail together, each is tried alone."""
        try:
            linked = self._call([item.doc for item in batch], batch[0].job)
        except Exception as error:
            failure = error
        else:
            return [self._written(doc) for doc in linked]
        if len(batch) == 1:
            return [failure]
        logger.warning("%s: %d documents failed together (%r): trying each alone", self.name, len(batch), failure)
        return [outcome for item in batch for outcome in self._link([item])]

    def _call(self, docs: Sequence[Document], job: Job) -> list[Document]:
        kb = self.pipeline.kb
        if kb is not None and (state := state_of(kb.path)) != self._state:
            # an open one answers nothing any more
            self._use(self.pipeline.rebound(KnowledgeBase.open(kb.path)), state)
            logger.info(
                "%s: %s was edited and is open again, as version %s",
                self.name,
                kb.path.name,
                self.pipeline.kb and self.pipeline.kb.version,
            )
        return self.pipeline(docs, allow=job.allow)

    def _written(self, doc: Document) -> Outcome:
        try:
            used = (id for one in doc.mentions or () for ids in (one.concepts or (), *one.alternatives) for id in ids)
            names = {id: name for id in used if (name := self._name(id))}
            return Linked(dumps(doc, self._rows).encode(), names)
        except UnicodeEncodeError:
            return DataError(f"document {doc.id!r} holds half a surrogate pair, which no JSON text can hold")
        except Exception as error:
            return error

    def _deliver(self, batch: Sequence[Item], outcomes: Sequence[Outcome]) -> None:
        by_loop = defaultdict(list)
        for item, outcome in zip(batch, outcomes, strict=True):
            by_loop[item.job.loop].append((item, outcome))
        for loop, done in by_loop.items():
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(_put, done)

    def _count(self, batch: Sequence[Item], outcomes: Sequence[Outcome], seconds: float) -> None:
        characters = sum(len(item.doc.text) for item in batch)
        if characters:  # empty texts, of whoever asks whether it is there, say nothing
            speed = characters / max(seconds, 1e-6)
            self._speed += (speed - self._speed) * (WEIGHT if self._speed else 1.0)
        failed = sum(isinstance(outcome, Exception) for outcome in outcomes)
        self._metrics.documents.labels(self.name).inc(len(batch) - failed)
        self._metrics.failures.labels(self.name).inc(failed)
        self._metrics.characters.labels(self.name).inc(characters)
        self._metrics.batches.labels(self.name).observe(len(batch))
        self._metrics.linking.labels(self.name).inc(seconds)

    def _count_waiting(self) -> None:
        self._metrics.waiting.labels(self.name).set(self._waiting.documents)


def _put(done: Sequence[tuple[Item, Outcome]]) -> None:
    for item, outcome in done:
        item.job.put(item.place, outcome)
