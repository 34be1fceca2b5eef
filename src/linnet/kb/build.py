"""The builder of knowledge bases: a stream of concepts into one SQLite file, written beside and renamed.

Live concepts get rows in the order they come. Retired ones are kept as ``id -> successor`` (with their preferred
name), because no index has ever held a row for them; those that are to be kept whole get rows, as tombstones, that
nothing finds. What cannot be kept is refused with the place it was read from:
duplicate ids, concepts without a name, cyclic parents, a successor that does not exist. Parents outside the stream
are dropped and counted in a warning, since terminologies refer to imported ones.
"""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from linnet.data import SCOPES, Concept
from linnet.errors import KnowledgeBaseError
from linnet.home import MAGIC, check_output, permit, sweep, writable
from linnet.kb.cycles import SHOWN, ends_of, on_circles, shown_circle
from linnet.kb.file import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    WAIT,
    begin,
    concept_hash,
    concept_share,
    is_busy,
    read_concept,
)
from linnet.kb.knowledge_base import KnowledgeBase
from linnet.kb.tables import INDEXES, SCHEMA
from linnet.reporter import warn
from linnet.text.normalise import basic

__all__ = ["build"]

# Read by nobody but the builder, hence temporary: where each concept was read, and parents as ids.
STAGING = """
CREATE TEMP TABLE origins (id TEXT, origin TEXT);
CREATE TEMP TABLE staged (concept INTEGER, parent TEXT);
"""
# No more is said of `concepts` in these queries: SQLite would note down how many there are, and later plan by that
TOMBS = "(SELECT id FROM concepts WHERE retired)"
LIVE = f"({{0}} IN (SELECT id FROM concepts) AND {{0}} NOT IN {TOMBS})"
CACHE = 256 << 10  # KiB of pages that SQLite keeps, and of index entries that it sorts at once
FEW = 20  # mistakes of one kind that a message names
BUILD_WAIT = WAIT  # seconds for an edit of the file that is to be replaced to end
CHUNK = 5000  # concepts a round: enough to amortise a call, small enough not to be noticed in memory


def build(
    concepts: Iterable[Concept],
    path: str | Path,
    *,
    name: str = "",
    sources: Sequence[Mapping[str, Any]] = (),
    whole_retired: bool = False,
    progress: Callable[[int], None] | None = None,
) -> KnowledgeBase:
    """Build the knowledge base file `path` from `concepts` and open it; an existing file is replaced at the end.

    Args:
        concepts: the stream; nothing of it is held in memory.
        path: the file to make; of a symbolic link the file that it points to.
        name: what to call it; the file's stem by default.
        sources: provenance, one mapping each of vocabulary, path, sha256, version, licence, citation.
        whole_retired: keep all that retired concepts hold, and not their ids, successors and first names alone.
        progress: called with the number of concepts read so far.

    Raises:
        KnowledgeBaseError: the stream cannot be kept (see the module), or is empty; `path` is something else already.
        LinnetError: the folder cannot be written to, or `path` must stay, as `linnet.home.check_output` says.

    >>> import tempfile
    >>> from linnet.data import Name
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kb = build([Concept("HP:0001250", (Name("Seizure"),))], f"{folder}/small.kb")
    ...     kb.search("seizures")[0].id
    'HP:0001250'
    """
    path = Path(path)
    with _beside(_check_target(path)) as connection:
        connection.executescript(SCHEMA + STAGING)
        connection.execute("BEGIN")
        digest = _insert(connection, concepts, _Rows(whole_retired=whole_retired), progress)
        _resolve_parents(connection)
        _check_successors(connection)
        _check_cycles(connection)
        connection.execute("COMMIT")
        connection.executescript(INDEXES)
        digest += _dropped_parents(connection)
        _describe(connection, digest, name or _text_of(path.stem), sources)
    return KnowledgeBase(path)


def _check_target(path: Path) -> Path:
    """Return the file to make; refuse to put a knowledge base in the place of anything else, the source for example."""
    target = check_output(path, kind="database")
    if not target.exists():
        return target
    if not target.is_file():
        raise KnowledgeBaseError(f"{path} is a pipe or a device: give the name of a file")
    with target.open("rb") as file:
        head = file.read(100)
    if head and (not head.startswith(MAGIC) or int.from_bytes(head[68:72], "big") != APPLICATION_ID):
        raise KnowledgeBaseError(f"{path} exists and is not a knowledge base: choose another name, or remove it first")
    return target


@contextmanager
def _beside(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database beside `path` that takes its place when all went well and vanishes otherwise."""
    folder = writable(path.absolute().parent)
    sweep(folder / path.name)
    try:
        handle, made = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=folder)
    except OSError as error:
        raise KnowledgeBaseError(f"{path}: cannot be written: {error.strerror}") from error
    os.close(handle)
    connection = sqlite3.connect(made, isolation_level=None)
    try:
        # the file is worthless until renamed, so a crash needs no journal
        settings = (
            f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA temp_store=FILE; PRAGMA cache_size=-{CACHE};"
        )
        connection.executescript(settings)
        yield connection
        connection.execute("PRAGMA optimize")
        connection.close()
        _keep(Path(made), path)
    except sqlite3.Error as error:
        raise KnowledgeBaseError(f"{path}: cannot be written: {error}") from error
    finally:
        connection.close()
        with suppress(FileNotFoundError):
            Path(made).unlink()


def _keep(made: Path, path: Path) -> None:
    umask = os.umask(0)
    os.umask(umask)
    try:
        if not permit(made, path):
            made.chmod(0o666 & ~umask)  # mkstemp makes private files, a knowledge base is shared like any other
        with made.open("rb") as file:
            os.fsync(file.fileno())
        with _unused(path):
            made.replace(path)
    except OSError as error:
        raise KnowledgeBaseError(f"{path}: cannot be written: {error.strerror}") from error


@contextmanager
def _unused(path: Path) -> Iterator[None]:
    """Keep editors out of the file that is to be replaced, and no half of their work beside the new one."""
    connection = None
    if path.is_file():
        try:
            connection = begin(path, wait=BUILD_WAIT)
        except KnowledgeBaseError as error:
            if is_busy(error.__cause__):
                raise
    try:
        yield
    finally:
        if connection is not None:
            connection.close()


def _text_of(path: str) -> str:
    """Return a path as the file can hold it: bytes of a name that are no UTF-8 would be half characters."""
    return path.encode("utf-8", "backslashreplace").decode()


def _insert(
    connection: sqlite3.Connection,
    concepts: Iterable[Concept],
    rows: _Rows,
    progress: Callable[[int], None] | None,
) -> int:
    """Insert the stream in chunks; return the sum of the hashes of all concepts."""
    for count, concept in enumerate(concepts, 1):
        rows.add(concept)
        if count % CHUNK == 0:
            rows.flush(connection)
            if progress:
                progress(count)
    rows.flush(connection)
    if not rows.live:
        raise KnowledgeBaseError("no concepts to build a knowledge base from: the source is empty")
    return rows.digest


class _Rows:
    """Rows to be inserted, by table, and the counters that number them."""

    def __init__(self, *, whole_retired: bool) -> None:
        self.live = self.concept_row = self.name_row = self.digest = 0
        self._whole = whole_retired
        self.type_rows: dict[str, int] = {}
        self.lots: dict[str, list[tuple[object, ...]]] = {}

    def add(self, concept: Concept) -> None:
        where = f"{concept.origin}: " if concept.origin else ""
        if not concept.id:
            raise KnowledgeBaseError(f"{where}a concept without an id")
        self._put("temp.origins", (concept.id, _text_of(concept.origin)))
        if concept.replaced_by is not None:
            name = concept.names[0].text if concept.names else ""
            self._put("retired", (concept.id, concept.replaced_by, name))
            kept = Concept(concept.id, replaced_by=concept.replaced_by)
            if not self._whole or replace(concept, names=concept.names[1:]) == kept:
                self.digest += concept_hash(-1, kept)
                return
        elif not any(name.text.strip() for name in concept.names):
            raise KnowledgeBaseError(f"{where}concept {concept.id!r} has no name; every live concept needs one")
        names = range(self.name_row, self.name_row + len(concept.names))
        self.digest += concept_hash(self.concept_row, concept, names)
        self._add_row(concept, self.concept_row, retired=concept.replaced_by is not None)
        self.concept_row += 1

    def _add_row(self, concept: Concept, row: int, *, retired: bool) -> None:
        self.live += not retired
        self._put("concepts", (row, concept.id, concept.definition, int(retired)))
        for position, name in enumerate(concept.names):
            scope = SCOPES.index(name.scope)
            norm = "" if retired else basic(name.text)  # nothing finds the names of tombstones
            values = (self.name_row, row, position, name.text, norm, scope, name.language, name.source)
            self._put("names", values)
            self.name_row += 1
        for kind in concept.types:
            if kind not in self.type_rows:
                self.type_rows[kind] = len(self.type_rows)
                self._put("type_names", (self.type_rows[kind], kind))
            self._put("types", (row, self.type_rows[kind]))
        for xref in concept.xrefs:
            self._put("xrefs", (row, xref))
        for parent in concept.parents:
            self._put("temp.staged", (row, parent))

    def _put(self, table: str, values: tuple[object, ...]) -> None:
        self.lots.setdefault(table, []).append(values)

    def flush(self, connection: sqlite3.Connection) -> None:
        for table, lot in self.lots.items():
            try:
                connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(lot[0]))})", lot)
            except sqlite3.IntegrityError as error:
                raise KnowledgeBaseError(_duplicate(connection)) from error
            except UnicodeEncodeError as error:
                raise KnowledgeBaseError(
                    f"{error.object[:80]!r} contains a lone surrogate, which is not a character: decode the source"
                ) from error
        self.lots = {}


def _duplicate(connection: sqlite3.Connection) -> str:
    """Return a message that names the first id that came twice and its places."""
    twice = "SELECT id FROM temp.origins GROUP BY id HAVING count(*) > 1 ORDER BY min(rowid) LIMIT 1"
    found = connection.execute(f"SELECT id, origin FROM temp.origins WHERE id = ({twice}) ORDER BY rowid").fetchall()
    where = " and ".join(place for _, place in found if place) or "the source"
    return f"{where}: concept id {found[0][0]!r} occurs twice; ids must be unique"


def _resolve_parents(connection: sqlite3.Connection) -> None:
    connection.execute(
        "INSERT INTO parents SELECT s.concept, c.row FROM temp.staged s JOIN concepts c ON c.id = s.parent "
        f"WHERE s.parent NOT IN {TOMBS} ORDER BY s.rowid"
    )
    unknown = connection.execute(
        f"SELECT count(*), min(parent) FROM temp.staged WHERE NOT {LIVE.format('parent')}"
    ).fetchone()
    if unknown[0]:
        are = "1 parent is" if unknown[0] == 1 else f"{unknown[0]} parents are"
        warn(f"{are} not in the source and left out, for example {unknown[1]!r}; parents are ids of concepts")


def _dropped_parents(connection: sqlite3.Connection) -> int:
    """Return by how much dropping unknown parents changes the sum of hashes: it is of what the file holds."""
    sql = (
        "SELECT concept, parent FROM temp.staged WHERE concept IN (SELECT concept FROM temp.staged "
        f"WHERE NOT {LIVE.format('parent')}) ORDER BY concept, rowid"
    )
    change = 0

    def query(sql: str, *values: object) -> sqlite3.Cursor:
        return connection.execute(sql, values)

    for row, pairs in itertools.groupby(connection.execute(sql).fetchall(), key=itemgetter(0)):
        kept = read_concept(query, row)
        assert kept is not None  # noqa: S101 - it was staged when it was inserted
        named = replace(kept, parents=tuple(parent for _, parent in pairs))
        change += concept_share(query, row, kept) - concept_share(query, row, named)
    return change


def _origin(connection: sqlite3.Connection, id: str) -> str:
    found = connection.execute("SELECT origin FROM temp.origins WHERE id = ? AND origin <> ''", (id,)).fetchone()
    return f"{found[0]}: " if found else ""


def _check_successors(connection: sqlite3.Connection) -> None:
    """Refuse a successor that is neither a concept nor itself retired, an id both live and retired, and circles."""
    both = connection.execute(f"SELECT r.id FROM retired r WHERE {LIVE.format('r.id')}").fetchone()
    if both:
        raise KnowledgeBaseError(f"{_origin(connection, both[0])}concept {both[0]!r} is both live and retired")
    lost = connection.execute(
        "SELECT id, successor, count(*) OVER () FROM retired WHERE successor <> '' AND successor NOT IN "
        f"(SELECT id FROM concepts) AND successor NOT IN (SELECT id FROM retired) ORDER BY rowid LIMIT {FEW}"
    ).fetchall()
    if lost:
        raise KnowledgeBaseError(_dangling(connection, lost))
    successors = dict(
        connection.execute(
            f"SELECT id, successor FROM retired WHERE successor <> '' AND NOT {LIVE.format('successor')}"
        )
    )
    ends = ends_of(successors)
    for first in successors:
        if ends[first] in successors:
            raise KnowledgeBaseError(f"{_origin(connection, first)}retired concept {first!r} is replaced in a circle")


def _dangling(connection: sqlite3.Connection, lost: Sequence[tuple[str, str, int]]) -> str:
    """Return a message that names the first retired concepts with unknown successors, each with its place."""
    named = [f"retired concept {id!r} is replaced by {successor!r}" for id, successor, _ in lost]
    message = "; ".join(_origin(connection, id) + text for (id, *_), text in zip(lost, named, strict=True))
    count = lost[0][2]
    more = f" and {count - len(lost):,} more" if count > len(lost) else ""
    return f"{message}{more}, which {'is' if count == 1 else 'are'} not in the source"


def _check_cycles(connection: sqlite3.Connection) -> None:
    """Refuse concepts that are their own ancestors: edges inside a strongly connected component of the parent graph."""
    # number by number: millions of pairs as Python tuples would take most of the memory that building needs
    pairs = connection.execute("SELECT concept, parent FROM parents")
    edges = np.fromiter(itertools.chain.from_iterable(pairs), np.int64).reshape(-1, 2)
    edges = edges[on_circles(edges[:, 0], edges[:, 1])]
    if not len(edges):
        return
    cycle = _cycle(edges)
    ids = [connection.execute("SELECT id FROM concepts WHERE row = ?", (row,)).fetchone()[0] for row in cycle[:SHOWN]]
    raise KnowledgeBaseError(f"{_origin(connection, ids[0])}cyclic parents: {shown_circle(ids, len(cycle))}")


def _cycle(edges: Any) -> list[int]:
    """Return the rows of one cycle: in a graph where everyone has a parent, walking up must come round."""
    parent = dict(edges.tolist())
    row = int(edges[0, 0])
    place: dict[int, int] = {}
    while row not in place:
        place[row] = len(place)
        row = parent[row]
    return list(place)[place[row] :]


def _describe(connection: sqlite3.Connection, digest: int, name: str, sources: Sequence[Mapping[str, Any]]) -> None:
    version = f"{digest % 2**64:016x}"
    at = datetime.now(UTC).isoformat(timespec="seconds")
    tombs = "NOT IN (SELECT row FROM concepts WHERE retired)"
    tables = {"concepts": f"concepts WHERE row {tombs}", "names": f"names WHERE concept {tombs}", "retired": "retired"}
    counts = [connection.execute(f"SELECT count(*) FROM {rows}").fetchone()[0] for rows in tables.values()]
    info = {"name": name, "version": version, "built": at, "sources": json.dumps([dict(s) for s in sources])}
    info |= dict(zip(tables, map(str, counts), strict=True))
    connection.executemany("INSERT INTO info VALUES (?, ?)", info.items())
    connection.execute("INSERT INTO history VALUES (?, ?, 'built', ?, ?)", (version, at, *counts[:2]))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
