"""Workers: they take jobs from the queue and do them, one at a time, until they are told to stop.

A worker runs in a thread of the server (`Worker.start`) or as a process of its own (``linnet worker``); there may be
several, on several machines if they share the database and the folder of the data.
"""

from __future__ import annotations

import errno
import logging
import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import sqlalchemy as sa

from linnet.annotate.exporting import export
from linnet.annotate.held import CancelledError, Held, StoppedError
from linnet.annotate.housekeeping import tidy
from linnet.annotate.jobs import LostError, Timing, claim, end, fail, give_back
from linnet.annotate.predicting import predict
from linnet.annotate.problems import BusyError
from linnet.annotate.store import Store
from linnet.annotate.training import train
from linnet.errors import LinnetError

__all__ = ["KINDS", "Worker", "explain"]

logger = logging.getLogger(__name__)

Work = Callable[[Held, Path], None]
WORK: dict[str, Work] = {"train": train, "predict": predict, "export": export}
KINDS = tuple(WORK)
PATIENCE = 5  # seconds that a thread may take to come to its next step when the server ends


class Worker:
    """Does the jobs of a database.

    Args:
        store: the database.
        data: the folder that models and exports lie in.
        name: one that no other worker has; "" makes one.
        timing: of leases, progress and repetition.
        kinds: the jobs it does: a second worker without ``train`` predicts while the first one trains.
    """

    def __init__(
        self,
        store: Store,
        data: str | Path,
        *,
        name: str = "",
        timing: Timing | None = None,
        kinds: tuple[str, ...] = KINDS,
    ) -> None:
        self.store, self.data, self.kinds = store, Path(data), kinds
        self.timing = timing or Timing()
        self.name = name or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        """Do jobs until `stop` is called, from another thread or by a signal."""
        tidied = -math.inf
        while not self._stop.is_set():
            try:
                if time.monotonic() - tidied >= self.timing.tidy:
                    tidy(self.store, self.data)
                    tidied = time.monotonic()
                busy = self.work()
            except (BusyError, sa.exc.DBAPIError) as error:  # the lease of the job ends, if there was one
                logger.warning("the database cannot be used: %s; trying again", error)
                busy = False
            if not busy:
                self._stop.wait(self.timing.idle)

    def start(self) -> None:
        """Do jobs in a thread of their own."""
        self._thread = threading.Thread(target=self.run, name=self.name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Have the worker leave its job at the next step and take no more; wait a little if it is a thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def work(self) -> bool:
        """Do one job, if there is any, and return whether there was."""
        job = claim(self.store, self.name, self.timing, self.kinds)
        if job is None:
            return False
        logger.info("job %d: %s, attempt %d", job.id, job.kind, job.attempt)
        with Held(self.store, job, self.timing, self._stop) as held:
            self._do(held)
        return True

    def _do(self, held: Held) -> None:
        job = held.job
        try:
            with held.listening():
                held.check()
                WORK[job.kind](held, self.data)
        except LostError as error:
            _say_lost(held, error)
        except CancelledError:
            self._write(held, lambda db: end(db, job, "cancelled", held.news(db)))
        except StoppedError:
            self._write(held, lambda db: give_back(db, job))
        except Exception as error:
            said, again = explain(error, self.data)
            logger.warning("job %d: %s", job.id, said, exc_info=again)
            held.say(said)
            self._write(held, lambda db: fail(db, job, held.news(db), again=again, timing=self.timing))
        if held.cancelled:
            logger.info("job %d was cancelled", job.id)

    def _write(self, held: Held, write: Callable[[sa.Connection], object]) -> None:
        """Store how a job has ended, unless somebody else has it."""
        try:
            with self.store.write() as db:
                write(db)
        except LostError as error:
            _say_lost(held, error)


def _say_lost(held: Held, error: LostError) -> None:
    if not held.cancelled:  # then it was declared over while its work came to its end
        logger.warning("%s", error)


def explain(error: Exception, data: Path) -> tuple[str, bool]:
    """Return a sentence that helps whoever reads that a job has failed, and whether to try it again.

    What people can mend is not tried again: it would fail as it did.

    >>> explain(OSError(28, "No space left on device"), Path("data"))[0][:48]
    'the disk of data, or that of the database, is fu'
    """
    causes = list(_causes(error))
    if any(_is_disk_full(one) for one in causes):
        what = f"the disk of {data}, or that of the database, is full"
        return f"{what}: make room and ask for the job again; it goes on where it was", False
    if any(_is_memory(one) for one in causes):
        return "out of memory: take a smaller batch, shorter passages or another recipe, or a machine with more", False
    if isinstance(error, BusyError):
        return str(error), True
    if isinstance(error, LinnetError):
        return str(error), False
    return f"{type(error).__name__}: {error}", True


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def _is_disk_full(error: BaseException) -> bool:
    if isinstance(error, sa.exc.OperationalError):
        return "disk is full" in str(error.orig) or "No space left" in str(error.orig)
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def _is_memory(error: BaseException) -> bool:
    said = str(error).lower()
    out = "out of memory" in said or "can't allocate memory" in said  # torch's, on a GPU and on a CPU
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and out)
