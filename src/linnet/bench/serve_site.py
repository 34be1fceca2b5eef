"""A workbench for ``linnet bench serve``: its people and documents, a server process, and what is stored at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import sqlalchemy as sa

from linnet.annotate.documents import add_documents
from linnet.annotate.journal import check
from linnet.annotate.people import add_project, add_user, set_role
from linnet.annotate.signing import make_token
from linnet.annotate.store import Store, open_store
from linnet.annotate.tables import event
from linnet.data import Document
from linnet.errors import LinnetError

__all__ = ["Member", "Place", "Stored", "add_members", "add_place", "serving", "stored"]

SCOPES = ("read", "write", "manage")
PATIENCE = 60  # seconds for a server to start


@dataclass(frozen=True)
class Member:
    """Somebody with a token."""

    user: int
    token: str


@dataclass(frozen=True)
class Place:
    """A project: its number, the admin's token, and those of its annotators."""

    project: int
    admin: Member
    members: Sequence[Member]


@dataclass(frozen=True)
class Stored:
    """What the database holds when all is over."""

    events: Counter[str]  # of each command
    problems: list[str]


def add_members(folder: Path, count: int, prefix: str) -> list[Member]:
    """Add users with tokens, the first of them an administrator, to the workbench in a folder."""
    with _opened(folder) as store, store.write() as db:
        users = [add_user(db, f"{prefix}-{number}", admin=not number) for number in range(count)]
        return [Member(user, make_token(db, user, "bench", SCOPES)) for user in users]


def add_place(
    folder: Path, name: str, members: Sequence[Member], kb: str, docs: Sequence[Document], **settings: object
) -> Place:
    """Add a project, whose admin is the first of the members, with documents."""
    admin, *others = members
    with _opened(folder) as store, store.write() as db:
        project = add_project(db, name, admin.user, kb=kb, settings=settings)
        for member in others:
            set_role(db, project, member.user, "annotator")
        add_documents(db, project, admin.user, [replace(doc, id=f"{name}-{doc.id}") for doc in docs])
    return Place(project, admin, others)


@contextmanager
def _opened(folder: Path) -> Iterator[Store]:
    store = open_store(folder)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[int, int]]:
    """Run ``linnet serve`` on a folder, as anybody would, and yield its port and the number of the process.

    It is killed at the end, without a chance to tidy up: what it has acknowledged must be stored by then.
    """
    command = [sys.executable, "-m", "linnet", "serve", "--data", str(folder), "--port", "0", *options]
    process = subprocess.Popen(  # noqa: S603 - ourselves
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}, start_new_session=True
    )
    try:
        if process.stdout is None:
            raise LinnetError("the server has no output")
        said = next((line for line in process.stdout if "listens at" in line), "")
        if not said:
            raise LinnetError("the server did not start; what it had to say stands above")
        yield int(said.rpartition(":")[2]), process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def stored(folder: Path, projects: Sequence[int]) -> Stored:
    """Return how many events of each command are stored, and what is wrong with the journals."""
    with _opened(folder) as store, store.read() as db:
        groups = Counter(db.scalars(sa.select(event.c.grp).where(event.c.stream.is_not(None))))
        return Stored(groups, [f"project {id}: {said}" for id in projects for said in check(db, id)])
