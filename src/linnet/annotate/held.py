"""A job that a worker has: its lease is extended, its progress told, and its work ended where somebody cancels it.

A thread of its own extends the lease and looks whether the job is to be cancelled, so that neither waits for a long
step. The work asks at every step whether to go on (`Held.check`); a cancelled job whose next step does not come in time
is declared over by that thread: what its work would still write is refused.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import sqlalchemy as sa

from linnet.annotate.jobs import Job, LostError, Timing, beat, end, find, note
from linnet.annotate.journal import lock
from linnet.annotate.problems import BusyError
from linnet.annotate.store import Store
from linnet.annotate.tables import job as table
from linnet.errors import LinnetError
from linnet.reporter import Reporter, reporting

__all__ = ["CancelledError", "Held", "StoppedError"]

logger = logging.getLogger(__name__)

LINES, LONGEST = 40, 500  # of the log that is kept, and characters of a line


class CancelledError(LinnetError):
    """Somebody cancelled the job."""


class StoppedError(LinnetError):
    """The worker is told to stop."""


class Held:
    """A claimed job while it is worked on: ``with Held(store, job, timing) as held: ...``.

    Args:
        store: the database.
        job: what `linnet.annotate.jobs.claim` gave.
        timing: how often it is seen to.
        stop: set when the worker is to stop; the job is left then.
    """

    def __init__(self, store: Store, job: Job, timing: Timing, stop: threading.Event | None = None) -> None:
        self.store, self.job, self.timing = store, job, timing
        self._stop = stop or threading.Event()
        self._cancelled, self._lost, self._over = threading.Event(), threading.Event(), threading.Event()
        self._said: deque[str] = deque(maxlen=LINES)  # and not stored yet
        self._news: dict[str, Any] = {}
        self._told = -timing.told
        self._watch = threading.Thread(target=self._see_to_it, name=f"job {job.id}", daemon=True)

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._watch.join()

    @property
    def cancelled(self) -> bool:
        """Whether somebody has cancelled it, as far as is known here."""
        return self._cancelled.is_set()

    # --- for the work ------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Return if the work is to go on.

        Raises:
            CancelledError: somebody cancelled it.
            LostError: another worker has it.
            StoppedError: the worker is to stop.
        """
        if self._cancelled.is_set():
            raise CancelledError(f"job {self.job.id} was cancelled")
        if self._lost.is_set():
            raise LostError(f"job {self.job.id} is no longer that of {self.job.worker}")
        if self._stop.is_set():
            raise StoppedError(f"the worker stops; job {self.job.id} is queued again")

    def tell(self, **news: Any) -> None:
        """Note columns of the job (``step``, ``of``, ``loss``, ``score``, ``result``) and ask as `check` does.

        They are stored at most twice a second, the last ones when the job ends.
        """
        self._news.update(news)
        self.check()
        if time.monotonic() - self._told >= self.timing.told:
            self._told = time.monotonic()
            with self._stored():
                pass

    def say(self, line: str) -> None:
        """Add a line to the log, whose end is stored with the progress."""
        clean = line.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
        self._said.extend(f"{time.strftime('%H:%M:%S')} {one[:LONGEST]}" for one in clean.splitlines() if one.strip())

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Yield a connection that writes, if the job is still this worker's when it begins: nothing else is stored.

        It holds the `lock` of events, which comes before jobs: `linnet.annotate.documents.redact` takes both, too.

        Raises:
            LostError: it is not.
        """
        with self._stored(events=True) as db:
            yield db

    @contextmanager
    def _stored(self, *, events: bool = False) -> Iterator[sa.Connection]:
        """Store what is new; if that fails, it stays new."""
        news, said = self._news, self._said
        try:
            with self.store.write() as db:
                if events:
                    lock(db)
                note(db, self.job, self.news(db))
                self._news, self._said = {}, deque(maxlen=LINES)
                yield db
        except BaseException:
            if self._said is not said:
                self._news, self._said = {**news, **self._news}, deque([*said, *self._said], LINES)
            raise

    def news(self, db: sa.Connection) -> dict[str, Any]:
        """Return what has been told and is not stored yet, with the end of the log.

        New lines are added to those that are stored, which may have been erased with a text.
        """
        stored = db.scalar(sa.select(table.c.log_tail).where(table.c.id == self.job.id).with_for_update()) or ""
        return {**self._news, "log_tail": "\n".join(deque([*stored.splitlines(), *self._said], LINES))}

    def keep(self, db: sa.Connection, checkpoint: str) -> None:
        """Store what a later attempt goes on with."""
        note(db, self.job, {"checkpoint": checkpoint})

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take warnings of the block into the log, and let it end where it says how far it is, if it must."""
        handler = _Log(self)
        root = logging.getLogger("linnet")
        root.addHandler(handler)
        try:
            with reporting(Reporter(lambda *_: self.check(), self.say)):
                yield
        finally:
            root.removeHandler(handler)

    # --- the thread that watches -------------------------------------------------------------------------------------

    def _see_to_it(self) -> None:
        extended = time.monotonic()
        while not self._over.wait(self.timing.look) and not self._lost.is_set():
            try:
                if self._asked_to_cancel():
                    self._cancel()
                    return
                if time.monotonic() - extended >= self.timing.beat:
                    with self.store.write() as db:
                        beat(db, self.job, self.timing)
                    extended = time.monotonic()
            except LostError:
                self._lost.set()
            except (BusyError, sa.exc.DBAPIError) as error:  # a database that is away for a moment costs no hours
                logger.warning("job %s: %s", self.job.id, error)
                if time.monotonic() - extended > self.timing.lease:
                    self._lost.set()

    def _asked_to_cancel(self) -> bool:
        with self.store.read() as db:
            return find(db, self.job.id).cancel

    def _cancel(self) -> None:
        """Have the work end at its next step, and say itself that the job is over if that does not come in time."""
        self._cancelled.set()
        if not self._over.wait(self.timing.grace):
            try:
                with self.store.write() as db:
                    end(db, self.job, "cancelled", self.news(db))
            except LostError:  # it has just ended
                self._lost.set()


class _Log(logging.Handler):
    """Takes warnings of one thread: workers of one process must not mix up their jobs."""

    def __init__(self, held: Held) -> None:
        super().__init__(logging.WARNING)
        self._held, self._thread = held, threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        """Add a warning to the log of the job."""
        if record.thread == self._thread:
            self._held.say(record.getMessage())
