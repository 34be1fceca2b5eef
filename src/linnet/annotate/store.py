"""Opening the workbench's database: SQLite in a folder or PostgreSQL, migrated when opened, and its transactions.

Needs the extra ``serve``. An acknowledged write survives a crash of the process and of the machine: SQLite runs with
its write-ahead log and ``synchronous=FULL``. Everything else of this room takes a connection of `Store.read` or
`Store.write`.
"""

from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from linnet.annotate.problems import BusyError
from linnet.errors import DataError, MissingExtraError

try:
    import sqlalchemy as sa
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.runtime.migration import MigrationContext, MigrationStep
    from alembic.script import ScriptDirectory
    from alembic.script.revision import RevisionMap
except ModuleNotFoundError as error:
    raise MissingExtraError(str(error.name), extra="serve", wanted_by="the annotation workbench") from error
from linnet.annotate.tables import METADATA

fcntl: ModuleType | None
try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None

__all__ = ["FILE", "Store", "check_there", "connect", "make_folder", "migrate", "open_store"]

FILE = "linnet.db"
WAIT = 30  # seconds to wait for other writers, or for a connection
OTHERS_WRITE = "the database is busy: others are writing; try again"
TURNS = "-turns"  # behind the name of the database: what writers lock
LOOK = 0.001  # seconds until a writer looks again whether it is its turn
CONNECTIONS = 50  # at once: more than threads that serve requests
LOCKED = ("database is locked", "lock timeout", "deadlock detected")  # what databases say who wait for others
PATIENCE = 1000  # milliseconds to wait for readers before the log is emptied
MIGRATIONS = Path(__file__).parent / "migrations"
MIGRATION_LOCK = 0x4C4E4D47  # any two numbers that nobody else uses in the same PostgreSQL database


class Store:
    """An open database. Threads may share it; each transaction is of one thread."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._writer = engine.execution_options(linnet_writes=True)
        lite = engine.dialect.name == "sqlite"
        snapshot: dict[str, Any] = {} if lite else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        self._reader = engine.execution_options(**snapshot)
        self._turn = _Turns(Path(str(engine.url.database) + TURNS)) if lite else nullcontext()

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Yield a connection that sees one state of the database, whatever is written meanwhile."""
        with _busy(), self._reader.connect() as db:
            yield db

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Yield a connection whose changes are stored when the block ends, all of them, or none if it raises.

        Raises:
            BusyError: others write for longer than half a minute.
        """
        with self._turn, _busy(), self._writer.begin() as db:
            yield db

    def forget(self) -> bool:
        """Remove from SQLite's log what has been erased, unless somebody reads for long; return whether that is done.

        `linnet.annotate.housekeeping.tidy` tries again. PostgreSQL has ``VACUUM``.
        """
        if self._engine.dialect.name != "sqlite":
            return True
        connection = self._engine.raw_connection()
        try:
            with self._turn:  # whoever reads for long is not waited for: writers wait here
                cursor = connection.cursor()
                cursor.execute(f"PRAGMA busy_timeout={PATIENCE}")
                [busy, *_] = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                cursor.execute(f"PRAGMA busy_timeout={WAIT * 1000}")
                return not busy
        finally:
            connection.close()

    def close(self) -> None:
        """Close all connections; the store cannot be used any more."""
        self._engine.dispose()
        if isinstance(self._turn, _Turns):
            self._turn.close()


class _Turns:
    """Whose turn it is to write to SQLite, which has one writer: threads first, then processes.

    SQLite's own waiting looks again after up to a tenth of a second, and whoever writes often is there first: a worker
    that stores predictions would hold up every decision.
    """

    def __init__(self, path: Path) -> None:
        self._thread = threading.Lock()
        self._file = path.open("ab")

    def __enter__(self) -> None:
        until = time.monotonic() + WAIT
        if not self._thread.acquire(timeout=WAIT):
            raise BusyError(OTHERS_WRITE)
        try:
            self._wait(until)
        except BaseException:
            self._thread.release()
            raise

    def _wait(self, until: float) -> None:
        while not _locked(self._file):
            if time.monotonic() > until:
                raise BusyError(OTHERS_WRITE)
            time.sleep(LOOK)

    def __exit__(self, *_: object) -> None:
        if fcntl is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._thread.release()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _locked(file: BinaryIO) -> bool:
    """Lock a file if nobody else has; where files cannot be locked so, SQLite's own lock is the only one."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _busy() -> Iterator[None]:
    try:
        yield
    except sa.exc.TimeoutError as error:
        raise BusyError("the database is busy: no connection is free; try again") from error
    except sa.exc.OperationalError as error:
        if any(said in str(error.orig) for said in LOCKED):
            raise BusyError(OTHERS_WRITE) from error
        raise


def open_store(where: str | Path) -> Store:
    """Return the open store in a folder, which is made if need be, or of a PostgreSQL URL; its tables are up to date.

    Raises:
        DataError: it cannot be opened, is of another kind, or its tables are of a later version of Linnet.
        MissingExtraError: PostgreSQL without the extra ``postgres``.
    """
    with ExitStack() as failed:
        try:
            store = connect(where)
            failed.callback(store.close)
            with store.write() as db:
                migrate(db)
        except OSError as error:
            raise DataError(f"the folder {where} cannot be used: {error.strerror}") from error
        except sa.exc.DBAPIError as error:
            at = "" if "://" in str(where) else f"{Path(where) / FILE}: "  # a URL may hold a password
            raise DataError(f"{at}the database cannot be opened: {error.orig}") from error
        failed.pop_all()
    return store


def make_folder(folder: Path) -> None:
    """Make the folder of a workbench unless it is there.

    Raises:
        DataError: it is a file.
        OSError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # what is inside may be about patients
    except FileExistsError as error:
        raise DataError(f"{folder} is a file: name the folder of a workbench, or a new one") from error


def check_there(folder: Path) -> None:
    """Refuse a folder in which no workbench is, which `open_store` would make one of.

    Raises:
        DataError: it has no database.
    """
    if not (folder / FILE).is_file():
        raise DataError(f"there is no workbench in {folder}: it has no file {FILE}")


def connect(where: str | Path) -> Store:
    """Return the store in a folder or of a PostgreSQL URL, its tables as they are.

    Raises:
        DataError: it is of another kind.
        MissingExtraError: PostgreSQL without the extra ``postgres``.
    """
    return Store(_postgresql(str(where)) if "://" in str(where) else _sqlite(Path(where)))


def _sqlite(folder: Path) -> sa.Engine:
    make_folder(folder)
    engine = sa.create_engine(f"sqlite:///{folder / FILE}", connect_args={"timeout": WAIT}, **_pool())

    @sa.event.listens_for(engine, "connect")
    def configure(connection: Any, record: object) -> None:  # noqa: ARG001
        connection.isolation_level = None  # transactions begin where `begin` says, not where sqlite3 guesses
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
            connection.execute(f"PRAGMA {setting}")

    @sa.event.listens_for(engine, "begin")
    def begin(db: sa.Connection) -> None:
        # a writer takes the lock at once: what it reads first is still true when it writes
        writes = db.get_execution_options().get("linnet_writes", False)
        db.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _pool() -> dict[str, Any]:
    """Return how many connections are kept: to open one takes longer than most requests."""
    return {"pool_size": CONNECTIONS // 2, "max_overflow": CONNECTIONS - CONNECTIONS // 2, "pool_timeout": WAIT}


def _postgresql(url: str) -> sa.Engine:
    try:
        made = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise DataError(f"{url!r} is no URL of a database; expected postgresql://user@host/name") from error
    if made.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise DataError(f"{made.drivername} is no database of the workbench: name a folder, or postgresql://...")
    if importlib.util.find_spec("psycopg") is None:
        raise MissingExtraError("psycopg", extra="postgres", wanted_by="a PostgreSQL database")
    options = {"options": f"-c lock_timeout={WAIT}s -c synchronous_commit=on"}
    return sa.create_engine(
        made.set(drivername="postgresql+psycopg"), connect_args=options, pool_pre_ping=True, **_pool()
    )


def migrate(db: sa.Connection) -> None:
    """Bring the tables up to date, in the transaction of `db`.

    Raises:
        DataError: they are of a later version of Linnet.
    """
    if db.dialect.name == "postgresql":  # two servers may start at once
        db.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK)))
    scripts = ScriptDirectory(str(MIGRATIONS), version_locations=[str(MIGRATIONS)])
    known = {script.revision for script in scripts.walk_revisions()}

    def steps(now: tuple[str, ...], context: MigrationContext) -> list[MigrationStep]:  # noqa: ARG001
        if unknown := set(now) - known:
            raise DataError(f"the database is of a later version of Linnet ({', '.join(unknown)}): install that one")
        missing = list(scripts.iterate_revisions("head", now[0] if now else "base"))
        revisions: RevisionMap = scripts.revision_map
        return [MigrationStep.upgrade_from_script(revisions, script) for script in reversed(missing)]

    with EnvironmentContext(Config(), scripts) as environment:
        environment.configure(connection=db, target_metadata=METADATA, transactional_ddl=True, fn=steps)
        environment.run_migrations()
