"""What nobody needs any more: answers kept for requests that are not repeated, and what killed processes have left."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

import sqlalchemy as sa

from linnet.annotate.exporting import EXPORTS
from linnet.annotate.models import MODELS
from linnet.annotate.store import Store
from linnet.annotate.tables import idem, job, now

__all__ = ["DOWNLOADS", "PARTS", "UPLOADS", "forget_answers", "sweep_exports", "sweep_parts", "sweep_passing", "tidy"]

PARTS = ".parts"  # the end of the name of a folder that a training keeps what is finished in
DOWNLOADS = "downloads"  # the folder of the data in which files lie until they are sent, each in a folder of its own
UPLOADS = "uploads"  # the same, in which files lie until they are read
PASSED = 3600.0  # seconds after which no file is still being written there; one that is being sent may be removed


def tidy(store: Store, data: Path) -> None:
    """Remove all of it; workers do so when they start, and now and then."""
    forget_answers(store)
    sweep_parts(store, data)
    sweep_exports(store, data)
    sweep_passing(data)
    store.forget()  # again: when a text was erased, somebody may have been reading


def forget_answers(store: Store) -> int:
    """Remove the answers whose time is over, and return how many; those of commands stay for ever."""
    with store.write() as db:
        return db.execute(idem.delete().where(idem.c.expires < now(db))).rowcount


def sweep_parts(store: Store, data: Path) -> list[Path]:
    """Remove the folders that trainings work in and no job will go on with, and return them.

    A training that ends well removes its own; one that was killed cannot. Those of jobs that wait or run stay.
    """
    found = list((data / MODELS).glob(f"*{PARTS}"))
    if not found:
        return []
    with store.read() as db:
        needed = set(_needed(db))
    left = [path for path in found if path.name.removesuffix(PARTS) not in needed]
    for path in left:
        shutil.rmtree(path, ignore_errors=True)  # another worker may be at it too
    return left


def sweep_exports(store: Store, data: Path) -> list[Path]:
    """Remove the folders of exports that nobody can fetch, and return them: a text in them may have been erased.

    They are of jobs that failed or were cancelled after they had written, and of jobs that there are not.
    """
    found = [path for path in (data / EXPORTS).glob("*") if path.name.isdecimal()]
    if not found:
        return []
    with store.read() as db:  # behind the look at the disk: a folder is newer than its job
        needed = set(db.scalars(sa.select(job.c.id).where(job.c.state.not_in(("failed", "cancelled")))))
    left = [path for path in found if int(path.name) not in needed]
    for path in left:
        shutil.rmtree(path, ignore_errors=True)  # as above
    return left


def sweep_passing(data: Path) -> None:
    """Remove files that a server which was killed has not sent, or not read: they hold texts."""
    for folder in chain.from_iterable((data / name).glob("*") for name in (DOWNLOADS, UPLOADS)):
        with suppress(OSError):  # just done with, and so removed
            if time.time() - folder.stat().st_mtime > PASSED:
                shutil.rmtree(folder, ignore_errors=True)


def _needed(db: sa.Connection) -> Iterator[str]:
    """Yield the checkpoints that a job may go on with."""
    wanted = job.c.state.in_(("queued", "running"))
    yield from db.scalars(sa.select(job.c.checkpoint).where(job.c.checkpoint.is_not(None), wanted))
