"""Databases, by an SQLAlchemy URL or an SQLite file, and a query: one document a row, other columns as its meta.

Rows come through a cursor of the server where it has one, so that memory holds a thousand of them. Nothing is written:
SQLite and PostgreSQL are opened for reading, others get nothing but a SELECT, and every transaction is rolled back.
"""

from __future__ import annotations

import importlib
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from linnet.corpora.rows import choose_columns, row_documents
from linnet.corpora.sources import stem
from linnet.data import Document
from linnet.errors import FormatError, LinnetError, MissingExtraError, UnreachableError
from linnet.frozen import EMPTY
from linnet.text.files import STDIO, head
from linnet.text.remote import is_url

__all__ = ["read"]

ROWS = 1_000  # fetched at once
SQLITE = b"SQLite format 3\0"
COMMENTS = re.compile(r"\s+|--[^\n]*(\n|\Z)|/\*.*?\*/", re.DOTALL)
COLONS = re.compile(r"(?<!:):(?=[\w$])")  # which SQLAlchemy would take for parameters
READS = re.compile(r"(?:select|with|values|table)\b|\(", re.IGNORECASE)


def read(
    path: str | Path, *, name: str = "", query: str = "", columns: Mapping[str, str] = EMPTY
) -> Iterator[Document]:
    """Yield a document for each row that a query gives; rows without a text are counted and left out.

    Args:
        path: an SQLite file, or an address: ``postgresql://user@host/name``, ``sqlite:///notes.db``.
        name: rows without an id are called so, with their number.
        query: the SELECT; without it, the one table that has a column which is called like a text.
        columns: which columns are text, id, patient and date: ``id=ID,text=NOTE``; by default those that are called so,
            or note, abstract, pmid and the like.

    Raises:
        FormatError: no such database or table, a wrong query, damage, or a column that is not there.
        LinnetError: a query that is no SELECT.
        MissingExtraError: SQLAlchemy is not installed.
    """
    sa = _library(str(path))
    where, engine = _engine(sa, path)
    if query and not READS.match(_bare(query)):
        raise LinnetError(f"{where}: the query is no SELECT, and nothing else is run: {query[:80]!r}")
    with _saying(sa, where), engine.connect() as connection:
        rolled = connection.execution_options(stream_results=True, yield_per=ROWS)
        statement = sa.text(COLONS.sub(r"\\:", query)) if query else _whole_table(sa, connection, columns, where)
        result = rolled.execute(statement)
        if not result.returns_rows:
            raise FormatError(where, f"the query gives no rows: {query[:80]!r}")
        chosen = choose_columns(list(result.keys()), columns, where)
        yield from row_documents(result, chosen, name=name or _called(path), where=where)
        connection.rollback()


def _bare(query: str) -> str:
    """Return a query without the comments and blanks before it."""
    place = 0
    while found := COMMENTS.match(query, place):
        place = found.end()
        if found.start() == place:
            break
    return query[place:]


def _called(path: str | Path) -> str:
    return re.split(r"[/?]", str(path).partition("://")[2])[-1] or "row" if is_url(path) else stem(path)


def _engine(sa: Any, path: str | Path) -> tuple[str, Any]:
    """Return what messages call a database (without its password), and what connects to it."""
    if not is_url(path):
        if str(path) == STDIO or not head(path, len(SQLITE)).startswith(SQLITE):
            raise FormatError(
                path, "is no SQLite database; name one, or an address such as postgresql://user@host/name"
            )
        return str(path), _sqlite(sa, str(path))
    try:
        url = sa.engine.make_url(str(path))
        where = url.render_as_string(hide_password=True)
        if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
            if not Path(url.database).is_file():
                raise FormatError(where, f"there is no file {url.database}")
            return where, _sqlite(sa, url.database)
        return where, sa.create_engine(url, poolclass=sa.pool.NullPool, **_read_only(url))
    except ModuleNotFoundError as error:
        told = f"{where}: its driver {error.name} is not installed: pip install {error.name}"
        raise LinnetError(told) from error
    except sa.exc.ArgumentError as error:
        raise LinnetError(f"{str(path).partition('://')[0]}://…: no address of a database: {error}") from error


def _read_only(url: Any) -> dict[str, Any]:
    return {"execution_options": {"postgresql_readonly": True}} if url.get_backend_name() == "postgresql" else {}


def _sqlite(sa: Any, path: str) -> Any:
    """Return what opens an SQLite file for reading; what it says of itself is not trusted."""
    address = f"file:{quote(str(Path(path).absolute()))}?mode=ro"

    def connect() -> sqlite3.Connection:
        made = sqlite3.connect(address, uri=True, check_same_thread=False)
        made.execute("PRAGMA trusted_schema = OFF")
        made.execute("PRAGMA query_only = ON")
        return made

    return sa.create_engine("sqlite://", creator=connect, poolclass=sa.pool.NullPool)


def _whole_table(sa: Any, connection: Any, columns: Mapping[str, str], where: str) -> Any:
    """Return a SELECT of the only table that has a text."""
    inspector = sa.inspect(connection)
    fitting, said = [], []
    for table in inspector.get_table_names():
        names = [column["name"] for column in inspector.get_columns(table)]
        said.append(f"{table} ({', '.join(names)})")
        try:
            choose_columns(names, columns, where)
        except FormatError:
            continue
        fitting.append((table, names))
    if len(fitting) != 1:
        problem = f"{len(fitting) or 'no'} of its tables {'have' if fitting else 'has'} such a text"
        problem += ": say which, --query 'select id, text from …'"
        raise FormatError(where, f"{problem}; it has {', '.join(said) or 'no table'}")
    [(table, names)] = fitting
    return sa.select(*map(sa.column, names)).select_from(sa.table(table))


@contextmanager
def _saying(sa: Any, where: str) -> Iterator[None]:
    """Say what a database refuses."""
    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        said = str(getattr(error, "orig", None) or error).partition("\n")[0]
        raise UnreachableError(where, f"the database says: {said}") from error
    except sqlite3.Error as error:  # while rows are fetched
        raise UnreachableError(where, f"the database says: {error}") from error
    except (OverflowError, UnicodeDecodeError) as error:  # as above
        raise FormatError(where, f"the database says: {error}") from error


def _library(where: str) -> Any:
    try:
        return importlib.import_module("sqlalchemy")
    except ModuleNotFoundError as error:
        raise MissingExtraError("sqlalchemy", extra="sql", wanted_by=where) from error
