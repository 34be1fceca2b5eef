"""The tables of a knowledge base, which is a file that may be damaged, or somebody else's: opened and read with care.

A file is opened only if it holds our tables and nothing else, and what is read of them is what their columns promise:
SQLite itself keeps any value in any column, and runs whatever views and triggers a file brings along.
"""

from __future__ import annotations

import functools
import itertools
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from linnet.data import SCOPES
from linnet.errors import KnowledgeBaseError

__all__ = [
    "ANCESTORS",
    "DAMAGE",
    "DESCENDANTS",
    "HISTORY",
    "INDEXES",
    "INFO",
    "MUST_WRITE",
    "NAMES",
    "SCHEMA",
    "check_rows",
    "check_version",
    "connect",
    "damage_error",
    "is_damage",
    "read_info",
    "shared_names",
    "short_names",
]

# part of the format: a file is refused if it holds other tables than these, word by word
SCHEMA = """
CREATE TABLE info (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE history (version TEXT, at TEXT, action TEXT, concepts INTEGER, names INTEGER);
CREATE TABLE changes (history INTEGER, concept INTEGER, PRIMARY KEY (history, concept)) WITHOUT ROWID;
CREATE TABLE concepts (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, definition TEXT NOT NULL,
                       retired INTEGER NOT NULL DEFAULT 0);
CREATE TABLE retired (id TEXT NOT NULL UNIQUE, successor TEXT NOT NULL, name TEXT NOT NULL);
CREATE TABLE names (row INTEGER PRIMARY KEY, concept INTEGER NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL,
                    norm TEXT NOT NULL, scope INTEGER NOT NULL, language TEXT NOT NULL, source TEXT NOT NULL);
CREATE TABLE type_names (type INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE types (concept INTEGER NOT NULL, type INTEGER NOT NULL);
CREATE TABLE parents (concept INTEGER NOT NULL, parent INTEGER NOT NULL);
CREATE TABLE xrefs (concept INTEGER NOT NULL, xref TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (norm, content='names', content_rowid='row', prefix='2 3',
                                       tokenize='porter unicode61 remove_diacritics 0');
"""
INDEXES = """
CREATE INDEX names_by_norm ON names (norm, concept);
CREATE INDEX names_by_concept ON names (concept, position);
CREATE INDEX types_by_concept ON types (concept);
CREATE INDEX types_by_type ON types (type, concept);
CREATE INDEX parents_by_concept ON parents (concept);
CREATE INDEX parents_by_parent ON parents (parent);
CREATE INDEX xrefs_by_concept ON xrefs (concept);
CREATE INDEX xrefs_by_xref ON xrefs (xref);
INSERT INTO words (words) VALUES ('rebuild');
"""
TABLES = "SELECT type, name, tbl_name, sql FROM sqlite_master"
# what SQLite may have noted down for itself about how the values are spread
STATISTICS = frozenset(
    ("table", name, name, f"CREATE TABLE {name}({columns})")
    for name, columns in (("sqlite_stat1", "tbl,idx,stat"), ("sqlite_stat4", "tbl,idx,neq,nlt,ndlt,sample"))
)
SAFE = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
LIMIT = 1 << 31  # rows are kept in 32 bits wherever they go
# how columns are called that hold rows of concepts and other numbers, with their ends; all others hold text
ROWS = frozenset(("row", "concept", "parent"))
NUMBERS = {**dict.fromkeys(("number", "position", "type", "concepts", "names"), LIMIT), "scope": len(SCOPES)}
FEW, LOT = 8, 512  # rows that are looked at one by one, and together
INFO = "SELECT key, value FROM info"
DESCENDANTS = (
    "WITH RECURSIVE below(row) AS (VALUES (?) UNION SELECT concept FROM parents JOIN below ON parent = below.row) "
    "SELECT row FROM below"
)
NAMES = (
    "SELECT n.row AS number, n.concept, n.text, n.scope, n.language, n.source, n.position FROM names n "
    "JOIN concepts c ON c.row = n.concept WHERE NOT c.retired {which} ORDER BY n.row"
)
CHILDREN = (
    "SELECT p.concept FROM parents p JOIN concepts c ON c.row = p.concept "
    "WHERE p.parent = ? AND NOT c.retired ORDER BY p.concept"
)
ANCESTORS = (
    "WITH RECURSIVE above(row) AS (SELECT parent FROM parents WHERE concept = ? UNION "
    "SELECT parent FROM parents JOIN above ON concept = above.row) SELECT row FROM above WHERE row <> ? ORDER BY row"
)
HISTORY = (
    "SELECT version, at, action, concepts, names, "
    "(SELECT count(*) FROM changes WHERE changes.history = history.rowid) AS number FROM history ORDER BY history.rowid"
)
# how many names several concepts have, and the one of them that comes first: a look through an index alone
SHARED = (
    "SELECT norm, count(*) OVER () AS number FROM names WHERE norm <> '' AND concept >= 0 GROUP BY norm "
    "HAVING min(concept) < max(concept) ORDER BY min(concept) LIMIT ?"
)
SHORT = "SELECT DISTINCT text FROM names WHERE length(text) IN (2, 3) AND norm <> '' AND concept >= 0 ORDER BY row"
# what SQLite answers to who may not write, when an interrupted edit must be undone before anything is read
MUST_WRITE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM)
# and what else it says that is not about the content of a file
ELSEWHERE = (*MUST_WRITE, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_TOOBIG)
DAMAGE = (sqlite3.Error, UnicodeDecodeError)  # the latter where SQLite's own message quotes what is no text


def _check_tables(connection: sqlite3.Connection) -> None:
    if odd := frozenset(connection.execute(TABLES)) - STATISTICS ^ _our_tables():
        names = ", ".join(sorted({repr(name) for _, name, *_ in odd}))
        raise sqlite3.DatabaseError(f"it has not the tables of one: {names:.200}")


@functools.cache
def _our_tables() -> frozenset[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA + INDEXES)
        return frozenset(connection.execute(TABLES))


class _Connection(sqlite3.Connection):
    """A connection that closes itself with the last who holds it: a knowledge base stays open as long as it is used."""

    def __del__(self) -> None:
        self.close()


def connect(path: Path, mode: str, *, wait: float = 5.0) -> sqlite3.Connection:
    """Open the file of a knowledge base to read ("ro") or write ("rw") it, if it holds our tables and nothing else.

    A view in the place of a table, or a trigger, would run whatever the file says.

    Raises:
        KnowledgeBaseError: it holds something else, or is damaged.
        sqlite3.Error: it cannot be opened.
    """
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(
        uri, uri=True, timeout=wait, isolation_level=None, check_same_thread=False, factory=_Connection
    )
    try:
        connection.executescript(SAFE)
        _check_tables(connection)
    except BaseException as error:
        connection.close()
        if isinstance(error, DAMAGE) and is_damage(error):
            raise damage_error(path, error) from error
        raise
    return connection


def check_rows(found: sqlite3.Cursor, rows: int = LIMIT) -> Iterable[Any]:
    """Return the rows of a result, whose columns hold what their names promise: SQLite keeps any value in any column.

    Raises:
        sqlite3.DatabaseError: a text that is none, or a number out of its range; rows of concepts are below `rows`.
    """
    kinds, ends = _columns(found.description or (), rows)
    few = found.fetchmany(FEW)
    for row in few:
        sound = tuple(map(type, row)) == kinds
        for at, end in ends:
            sound = sound and 0 <= row[at] < end
        if not sound:
            raise sqlite3.DatabaseError(f"{row!r:.200} is damaged")
    return few if len(few) < FEW else itertools.chain(few, _check_lots(found, kinds, ends))


def _check_lots(found: sqlite3.Cursor, kinds: Sequence[type], ends: Sequence[tuple[int, int]]) -> Iterator[Any]:
    """Yield the other rows of a long result, checked by column, which takes half the time."""
    size = FEW
    while lot := found.fetchmany(size := min(8 * size, LOT)):
        columns = list(zip(*lot, strict=True))
        sound = [{*map(type, values)} for values in columns] == [{kind} for kind in kinds]
        if not sound or any(min(columns[at]) < 0 or max(columns[at]) >= end for at, end in ends):
            raise sqlite3.DatabaseError(f"one of {lot[0]!r:.200} and the rows after it is damaged")
        yield from lot


@functools.lru_cache
def _columns(description: Sequence[Any], rows: int) -> tuple[tuple[type, ...], list[tuple[int, int]]]:
    """Return the types of the columns of a result, and the place and end of each that has whole numbers from 0."""
    names = [name for name, *_ in description]
    ends = [rows if name in ROWS else NUMBERS.get(name) for name in names]
    kinds = tuple([str if end is None else int for end in ends])
    return kinds, [(at, end) for at, end in enumerate(ends) if end is not None]


def shared_names(path: Path, most: int) -> tuple[list[str], int]:
    """Return the first names, in their form `basic`, that several live concepts have, and how many there are of such.

    Takes some 0.6 s for a million names.
    """
    with closing(connect(path, "ro")) as connection:
        found = list(check_rows(connection.execute(SHARED, (most,))))
    return [norm for norm, _ in found], found[0][1] if found else 0


def short_names(path: Path) -> list[str]:
    """Return the names of live concepts, of two or three letters and digits, that are written like short forms: INR."""
    with closing(connect(path, "ro")) as connection:
        found = [text for (text,) in check_rows(connection.execute(SHORT))]
    return [text for text in found if text.isalnum() and not text.isdigit() and not text[1:].islower()]


def is_damage(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Say whether SQLite complains of the content of a file, and not of the disk, the memory or somebody else."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF not in ELSEWHERE


def damage_error(path: Path, problem: object) -> KnowledgeBaseError:
    """Return the error for a file that does not hold what a knowledge base does."""
    return KnowledgeBaseError(f"{path}: cannot be read as a knowledge base: {problem}; build it again")


def read_info(found: Iterable[Any], path: Path) -> dict[str, str]:
    """Return what the file `path` says of itself, given the rows of `INFO`.

    Raises:
        KnowledgeBaseError: it lacks something, or numbers and sources are none.
    """
    info: dict[str, str] = dict(found)
    try:
        missing = {"name", "built"} - info.keys()
        numbers = [int(info["version"], 16), *(int(info[key]) for key in ("concepts", "names", "retired"))]
        sources = json.loads(info["sources"])
        sound = not missing and min(numbers) >= 0 and all(isinstance(source, dict) for source in sources)
    except (KeyError, TypeError, ValueError, RecursionError):
        sound = False
    if not sound:
        raise KnowledgeBaseError(f"{path} is damaged: its metadata is unusable; build it again")
    return info


def check_version(path: Path, expected: str, found: str) -> None:
    """Refuse a file that was edited or replaced since it was opened."""
    if expected and found != expected:
        raise KnowledgeBaseError(f"{path} has changed: version {found}, expected {expected}; start again with it")
