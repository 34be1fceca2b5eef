"""A PostgreSQL server of the test's own, from Debian's package: no network, no passwords, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

PACKAGES = Path("/usr/lib/postgresql")


def _user() -> str | None:
    """Return the user to run the server as: it refuses to be root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


def _programs() -> Path:
    found = sorted(PACKAGES.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not found:
        pytest.skip("needs PostgreSQL: no initdb under /usr/lib/postgresql")
    if os.getuid() == 0 and _user() is None:
        pytest.skip("needs another user than root to run PostgreSQL")
    return found[-1].parent


def _run(command: Sequence[str | Path], folder: Path, user: str | None) -> None:
    # no pipes: the server keeps what it inherits, and whoever waits for their end would wait for the server's
    quiet = subprocess.DEVNULL
    subprocess.run(command, cwd=folder, user=user, check=True, stdin=quiet, stdout=quiet, stderr=quiet)


@contextmanager
def postgresql() -> Iterator[str]:
    """Yield the URL of an empty database; skip where there is no PostgreSQL.

    It listens on a socket in its folder. It does not wait for the disk: the tests kill its clients, never the machine.
    """
    programs, user = _programs(), _user()
    folder = Path(tempfile.mkdtemp(prefix="linnet-pg-"))  # a short path: that of a socket has at most 107 characters
    try:
        if user is not None:
            shutil.chown(folder, user)
        initdb: list[str | Path] = [
            programs / "initdb",
            "-D",
            folder / "data",
            "-A",
            "trust",
            "-U",
            "linnet",
            "-E",
            "UTF8",
            "--no-sync",
        ]
        _run([*initdb, "--locale=C"], folder, user)
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c max_connections=60"
        control: list[str | Path] = [programs / "pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log"]
        _run([*control, "-o", options, "start"], folder, user)
        try:
            yield f"postgresql://linnet@/postgres?host={folder}"
        finally:
            _run([*control, "-m", "immediate", "stop"], folder, user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def another(url: str) -> str:
    """Make another database in the server of the one at `url` and return its URL."""
    made = sa.make_url(url).set(database=f"linnet_{uuid.uuid4().hex}")
    engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with engine.connect() as db:
        db.exec_driver_sql(f"CREATE DATABASE {made.database}")
    engine.dispose()
    return made.render_as_string(hide_password=False)
