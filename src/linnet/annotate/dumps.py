"""The whole database in one file, as it is at one moment while others write, and a database from such a file.

SQLite writes the file itself (``VACUUM INTO``), without what was erased and still lies in free pages. PostgreSQL does
it by its programs ``pg_dump`` and ``pg_restore``.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import sqlalchemy as sa

from linnet.annotate.store import FILE, WAIT, check_there, connect
from linnet.errors import DataError, LinnetError

__all__ = ["dumped", "empty", "fill", "is_empty"]

DUMP = "linnet.dump"
PACKAGES = Path("/usr/lib/postgresql")  # where Debian keeps the programs of each version
LONGEST = 400  # characters of what a program says
OURS = ("--no-owner", "--no-privileges")  # who owns the tables is for the server they come to


@contextmanager
def dumped(where: str | Path, folder: Path) -> Iterator[tuple[Path, sa.Connection]]:
    """Write the database in a folder or of a URL into a file in `folder`; also yield a connection that sees the same.

    Raises:
        DataError: there is no database, or it cannot be read.
        LinnetError: PostgreSQL's programs are not there, or fail.
    """
    if "://" not in str(where):
        _copy(Path(where) / FILE, folder / FILE)
    store = connect(where if "://" in str(where) else folder)
    try:
        with store.read() as db:
            if db.dialect.name == "postgresql":
                moment = db.scalar(sa.select(sa.func.pg_export_snapshot()))
                _run("pg_dump", str(where), "--format=custom", *OURS, f"--snapshot={moment}", f"--file={folder / DUMP}")
            yield folder / (FILE if db.dialect.name == "sqlite" else DUMP), db
    except sa.exc.DBAPIError as error:
        raise DataError(f"the database cannot be read: {error.orig}") from error
    finally:
        store.close()


def _copy(path: Path, to: Path) -> None:
    check_there(path.parent)
    try:
        address = f"{path.absolute().as_uri()}?mode=rw"  # it must be there
        with closing(sqlite3.connect(address, uri=True, timeout=WAIT, isolation_level=None)) as db:
            db.execute("VACUUM INTO ?", (str(to),))
    except sqlite3.Error as error:
        raise DataError(f"{path}: the database cannot be copied: {error}") from error


def fill(url: str, dump: Path) -> None:
    """Make the tables of a file of `dumped` in the empty PostgreSQL database at `url`, all of them or none.

    Raises:
        LinnetError: PostgreSQL's programs are not there, or fail.
    """
    _run("pg_restore", url, "--single-transaction", "--exit-on-error", *OURS, str(dump))


def is_empty(url: str) -> bool:
    """Return whether the PostgreSQL database at `url` has no tables.

    Raises:
        DataError: it cannot be opened.
    """
    store = connect(url)
    try:
        with store.read() as db:
            return not sa.inspect(db).get_table_names()
    except sa.exc.DBAPIError as error:
        raise DataError(f"the database cannot be opened: {error.orig}") from error
    finally:
        store.close()


def empty(url: str) -> None:
    """Remove what `fill` made from the PostgreSQL database at `url`, which was empty before."""
    store = connect(url)
    try:
        with store.write() as db:
            found = sa.MetaData()
            found.reflect(db)
            found.drop_all(db)
            db.exec_driver_sql("DROP FUNCTION IF EXISTS event_stays")
    finally:
        store.close()


def _run(program: str, url: str, *arguments: str) -> None:
    """Run a program of PostgreSQL on a database; its password is not to be seen in the list of processes."""
    made = sa.make_url(url).set(drivername="postgresql")
    secret = {} if made.password is None else {"PGPASSWORD": str(made.password)}
    shown = made.set(password=None).render_as_string()
    command = [_found(program), "--no-password", "--dbname", shown, *arguments]
    done = subprocess.run(command, env={**os.environ, **secret}, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise LinnetError(f"{program} failed: {' '.join(done.stderr.split())[:LONGEST]}")


def _found(program: str) -> str:
    """Return where a program of PostgreSQL is."""
    path = shutil.which(program)
    newest = sorted(PACKAGES.glob(f"*/bin/{program}"), key=lambda found: found.parts[-3].zfill(4))
    if path is None and not newest:
        raise LinnetError(f"{program} is not there: install PostgreSQL's programs (apt-get install postgresql-client)")
    return path or str(newest[-1])
