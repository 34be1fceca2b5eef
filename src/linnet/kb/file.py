"""The file of a knowledge base: what its header says, how one concept is read from it, what its version is made of.

Shared by those who read (`linnet.kb`), edit (`linnet.kb.edit`) and build (`linnet.kb.build`) such files. They use
SQLite's rollback journal: a file is complete in itself at rest and may lie on a network drive or a read-only disk.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from linnet.data import SCOPES, Concept, Name
from linnet.errors import KnowledgeBaseError, did_you_mean
from linnet.home import MAGIC, kb_folder
from linnet.kb.tables import MUST_WRITE, connect, damage_error, is_damage
from linnet.reporter import warn

__all__ = [
    "APPLICATION_ID",
    "SCHEMA_VERSION",
    "TYPES",
    "WAIT",
    "begin",
    "check_file",
    "commit",
    "concept_hash",
    "concept_share",
    "is_busy",
    "journal",
    "read_concept",
    "recover",
    "state_of",
]

APPLICATION_ID = 0x4C4E4B42  # "LNKB" in the file's header tells our SQLite files from others
SCHEMA_VERSION = 2
HEADER = 100  # bytes of the header of an SQLite file
WAIT = 30.0  # seconds to wait for an edit to end, and for readers to finish reading
CACHE = 256 << 10  # KiB of changed pages held back until the end; more than that keeps readers out from then on
Query = Callable[..., Iterable[Any]]  # of SQL and its values

NAME_ROWS = "SELECT row AS number FROM names WHERE concept = ? ORDER BY position, row"
TYPES = "SELECT t.name FROM types JOIN type_names t USING (type) WHERE concept = ? ORDER BY types.rowid"
COLUMNS = (
    "SELECT text, scope, language, source FROM names WHERE concept = ? ORDER BY position, row",
    TYPES,
    "SELECT c.id FROM parents p JOIN concepts c ON c.row = p.parent WHERE p.concept = ? ORDER BY p.rowid",
    "SELECT xref FROM xrefs WHERE concept = ? ORDER BY rowid",
)


def read_concept(query: Query, row: int) -> Concept | None:
    """Return the concept in `row`, None if there is none; `query` runs SQL with values."""
    found = next(iter(query("SELECT id, definition, retired AS number FROM concepts WHERE row = ?", row)), None)
    if found is None:
        return None
    id, definition, retired = found
    successor = next(iter(query("SELECT successor FROM retired WHERE id = ?", id)), None) if retired else None
    names, types, parents, xrefs = (list(query(sql, row)) for sql in COLUMNS)
    return Concept(
        id=id,
        names=tuple(Name(text, SCOPES[scope], language, source) for text, scope, language, source in names),
        types=tuple(kind for (kind,) in types),
        definition=definition,
        parents=tuple(parent for (parent,) in parents),
        xrefs=tuple(xref for (xref,) in xrefs),
        replaced_by=None if successor is None else successor[0],
    )


# made once: `json.dumps` makes an encoder for every call with an option
_encode = json.JSONEncoder(ensure_ascii=False).encode


def concept_hash(row: int, concept: Concept, names: Sequence[int] = ()) -> int:
    """Return the 64-bit share of one concept in a version, which follows its row and the rows of its names.

    Args:
        row: of the concept; -1 is that of a retired id that never had one.
        concept: what it holds.
        names: the rows of its names, in their order.

    >>> concept_hash(0, Concept("X:1")) == concept_hash(1, Concept("X:1"))
    False
    """
    told = [[name.text, name.scope, name.language, name.source] for name in concept.names]
    rest = (concept.types, concept.definition, concept.parents, concept.xrefs, concept.replaced_by)
    key = _encode([row, concept.id, told, *rest, *names])
    return int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def concept_share(query: Query, row: int, concept: Concept) -> int:
    """Return the share of the concept in `row` in the version; `query` runs SQL with values."""
    return concept_hash(row, concept, [name for (name,) in query(NAME_ROWS, row)])


def check_file(path: Path) -> None:
    """Refuse a file that is not a knowledge base, with a clear reason instead of SQLite's message.

    Raises:
        KnowledgeBaseError: no such file, no knowledge base, truncated, or of another format version.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would be waited for without end
            raise KnowledgeBaseError(f"{path} is a pipe or a device, no knowledge base; `linnet kb build` makes one")
        with path.open("rb") as file:
            head = file.read(HEADER)
            size = file.seek(0, 2)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        built = sorted(p.stem for p in kb_folder().glob("*.kb"))
        reason = error.strerror if isinstance(error, OSError) else str(error)
        there = did_you_mean(path.stem, built) or (f"; there are: {', '.join(built)};" if built else ";")
        hint = f"{there} `linnet kb build` makes one"
        raise KnowledgeBaseError(f"cannot open the knowledge base {path}: {reason}{hint}") from error
    if not head.startswith(MAGIC):
        what = "no SQLite file" if size else "the file is empty"
        raise KnowledgeBaseError(f"{path} is not a knowledge base ({what}); `linnet kb build` makes one")
    if len(head) < HEADER:
        raise KnowledgeBaseError(f"{path} is truncated: {size} bytes of at least {HEADER}; copy or build it again")
    application, version = int.from_bytes(head[68:72], "big"), int.from_bytes(head[60:64], "big")
    if application != APPLICATION_ID:
        raise KnowledgeBaseError(
            f"{path} is an SQLite file but not a Linnet knowledge base; `linnet kb build` makes one"
        )
    if version != SCHEMA_VERSION:
        raise KnowledgeBaseError(
            f"{path} has format version {version}, this Linnet reads {SCHEMA_VERSION}: "
            "build it again with `linnet kb build`"
        )
    page_size, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    expected = (65536 if page_size == 1 else page_size) * pages
    # while an edit is written down its header may run ahead of its length: the journal says so, and SQLite knows
    if size < expected and not journal(path).exists() and (size := path.stat().st_size) < expected:
        raise KnowledgeBaseError(f"{path} is truncated: {size} bytes of {expected}; copy or build it again")


def journal(path: Path) -> Path:
    """Return the file in which SQLite keeps what an edit of `path` overwrites, as long as the edit lasts.

    It is beside the file that a symbolic link points to.

    >>> journal(Path("mine.kb")).name
    'mine.kb-journal'
    """
    real = path.resolve()
    return real.with_name(f"{real.name}-journal")


def recover(path: Path) -> Path:
    """Return a file with the last finished state of `path`: itself, once an interrupted edit of it is undone.

    An edit that was killed leaves a journal behind, and nothing can be read before it is played back. Who may not
    write to the folder gets a copy in a temporary folder, in which it was; the caller removes that folder.

    Raises:
        KnowledgeBaseError: an edit is being written down just now, or there is no room for a copy.
    """
    if not journal(path).exists() or _reads(path, "ro") or _reads(path, "rw"):
        return path
    folder = Path(tempfile.mkdtemp(prefix="linnet-"))
    copy = folder / path.name
    try:
        before = journal(path).stat()
        shutil.copyfile(journal(path), journal(copy))
        shutil.copyfile(path, copy)
        after = journal(path).stat()
    except FileNotFoundError:  # somebody who may write has undone it meanwhile
        shutil.rmtree(folder)
        return recover(path)
    except OSError as error:
        shutil.rmtree(folder)
        message = "an edit was interrupted; it must be undone by somebody who may write there, with `linnet kb info`"
        raise KnowledgeBaseError(f"{path}: {message} ({error.strerror})") from error
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size) or not _reads(copy, "rw"):
        shutil.rmtree(folder)
        raise KnowledgeBaseError(f"{path} is being changed by somebody else; try again in a moment")
    warn(f"{path}: an edit was interrupted and cannot be undone there; a copy without it is read")
    return copy


def _reads(path: Path, mode: str) -> bool:
    """Return whether `path` can be read now; opened for writing, an interrupted edit is undone by that."""
    try:
        connect(path, mode).close()
    except sqlite3.OperationalError as error:
        if is_busy(error):
            raise KnowledgeBaseError(f"{path} is being changed by somebody else; try again in a moment") from error
        return error.sqlite_errorcode & 0xFF not in MUST_WRITE
    return True


def begin(path: Path, *, wait: float = WAIT) -> sqlite3.Connection:
    """Open the file and begin a transaction that nobody else can be in; an interrupted one is undone by that.

    Raises:
        KnowledgeBaseError: it cannot be written to, or somebody else does for longer than `wait` seconds (`is_busy`).
    """
    while True:
        try:
            before = path.stat()
            connection = connect(path, "rw", wait=wait)
            try:
                connection.execute(f"PRAGMA cache_size=-{CACHE}")
                connection.execute("BEGIN IMMEDIATE")
                now = path.stat()
            except BaseException:
                connection.close()
                raise
        except sqlite3.Error as error:
            raise _not_written(error, path, wait) from error
        except OSError as error:
            raise KnowledgeBaseError(f"{path}: cannot be written: {error.strerror}") from error
        if (now.st_dev, now.st_ino) == (before.st_dev, before.st_ino):
            return connection
        connection.close()  # built anew while we waited: what we have is no longer anybody's


def commit(connection: sqlite3.Connection, path: Path, *, wait: float) -> None:
    """End the transaction that `begin` began.

    Raises:
        KnowledgeBaseError: no room, or somebody reads for longer than `wait` seconds.
    """
    try:
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise _not_written(error, path, wait) from error


def is_busy(error: BaseException | None) -> bool:
    """Say whether SQLite has refused something because somebody else is at it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _not_written(error: sqlite3.Error, path: Path, wait: float) -> KnowledgeBaseError:
    if is_busy(error):
        message = f"somebody else is editing or reading it (waited {wait:g} s); try again later"
        return KnowledgeBaseError(f"{path} cannot be changed: {message}")
    if is_damage(error):
        return damage_error(path, error)
    way = "; copy it to where you may write" if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY else ""
    return KnowledgeBaseError(f"{path}: cannot be written: {error}{way}")


def state_of(path: Path) -> tuple[int, ...]:
    """Return what changes whenever a file does, () if it is gone."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size
