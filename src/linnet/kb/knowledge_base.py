"""A knowledge base: the concepts of one terminology in one SQLite file, opened read-only and lazily.

Rows of concepts and names are append-only and never reused: indexes and saved candidates stay valid. ``version`` is the
sum over all concepts of a hash of (row, concept, rows of its names): equal versions mean equal rows.
"""

from __future__ import annotations

import functools
import itertools
import json
import shutil
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.data import SCOPES, Concept, Name, Scope
from linnet.errors import KnowledgeBaseError, UnknownConceptError, did_you_mean
from linnet.home import kb_path
from linnet.kb import tables
from linnet.kb.file import APPLICATION_ID, SCHEMA_VERSION, TYPES, WAIT, check_file, is_busy, read_concept, recover
from linnet.kb.search import Hit, hint, row_number, search, sole, spellings
from linnet.kb.tables import ANCESTORS, DAMAGE, DESCENDANTS, INFO, check_rows, connect, damage_error, read_info

if TYPE_CHECKING:
    from linnet.kb.edit import Edit

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "KbName", "KnowledgeBase", "Mask", "kb_path"]


class KbName(NamedTuple):
    """One name as a row of the knowledge base: its own row, its concept's row, and what `Name` holds.

    ``preferred`` says whether it is the first name of its concept.
    """

    row: int
    concept: int
    text: str
    scope: Scope
    language: str
    source: str
    preferred: bool


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """A set of concepts as a bool array over all rows (``array``, shape (rows,)) of knowledge base version ``kb``."""

    array: npt.NDArray[np.bool_]
    kb: str

    def __len__(self) -> int:
        return int(self.array.sum())

    def __contains__(self, row: int) -> bool:
        return 0 <= row < len(self.array) and bool(self.array[row])

    def __and__(self, other: Mask) -> Mask:
        self._same(other)
        return Mask(self.array & other.array, self.kb)

    def __or__(self, other: Mask) -> Mask:
        self._same(other)
        return Mask(self.array | other.array, self.kb)

    def _same(self, other: Mask) -> None:
        if self.kb != other.kb:
            raise KnowledgeBaseError(f"masks of two knowledge base versions, {self.kb} and {other.kb}")


class KnowledgeBase:
    """An open knowledge base; cheap to open and to pickle (it reopens), safe to share between threads.

    ``len(kb)`` counts the rows, tombstones of retired concepts included; ``kb[row]`` and ``kb[id]`` are a `Concept`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()  # other threads and processes may have another working folder
        self._local = threading.local()
        check_file(path)
        self.file = recover(self.path)  # what is read: the same, or a copy without an edit that was interrupted
        if self.file != self.path:
            weakref.finalize(self, shutil.rmtree, self.file.parent, ignore_errors=True)
        self.version = ""
        self._length = self.file.stat().st_size  # of which every row takes some
        self.info: Mapping[str, str] = read_info(self._rows(INFO), path)
        self.version = self.info["version"]
        OPEN[id(self)] = self
        self._length = next((row + 1 for (row,) in self._rows("SELECT row FROM concepts ORDER BY row DESC LIMIT 1")), 0)
        # decide and writers ask for the ids of the same few concepts again and again
        self.id = functools.lru_cache(maxsize=1 << 16)(self._id)

    @classmethod
    def open(cls, path: str | Path) -> KnowledgeBase:
        """Open the knowledge base `path`, a file or the name of one under ``LINNET_HOME``.

        Raises:
            KnowledgeBaseError: no such file, no knowledge base, truncated, or of another format version.
        """
        return cls(kb_path(path))

    @staticmethod
    def opened(version: str) -> KnowledgeBase | None:
        """Return one of this version that the process has open: its rows are those of any other of the version."""
        return next((kb for ref in OPEN.valuerefs() if (kb := ref()) and kb.version == version), None)

    @staticmethod
    def edit(path: str | Path, *, wait: float = WAIT, dry_run: bool = False) -> AbstractContextManager[Edit]:
        """Change the knowledge base `path` in one transaction; see `linnet.kb.edit.edit` and `linnet.kb.edit.Edit`.

        An open knowledge base keeps its version; its next query asks to reopen the file.
        """
        from linnet.kb.edit import edit  # noqa: PLC0415 - needed where something is edited

        return edit(kb_path(path), wait=wait, dry_run=dry_run)

    def __reduce__(self) -> tuple[object, ...]:
        return _reopen, (self.path, self.version)

    def __repr__(self) -> str:
        return f"KnowledgeBase({str(self.path)!r}, version={self.version!r}, concepts={self.info['concepts']})"

    def __len__(self) -> int:
        return self._length

    __iter__ = None  # rows are not counted through: `concepts()` and `names()` are

    def close(self) -> None:
        """Close this thread's connection; the next use opens it again."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    # --- one concept -------------------------------------------------------------------------------------------------

    def row(self, id: str, /) -> int:
        """Return the row of the live concept `id`; a retired id leads to its successor.

        Raises:
            UnknownConceptError: no such id, or retired without a live successor.
        """
        seen = {id}
        current = id
        while True:
            found = self._first("SELECT row FROM concepts WHERE id = ? AND NOT retired", current)
            if found is not None:
                return int(found[0])
            retired = self._first("SELECT successor FROM retired WHERE id = ?", current)
            if retired is None:
                raise UnknownConceptError(f"no concept {current!r} in {self.path.name} (version {self.version})")
            if not retired[0] or retired[0] in seen:
                raise UnknownConceptError(f"concept {id!r} was retired from {self.path.name} without a successor")
            current = retired[0]
            seen.add(current)

    def meant(self, id: str) -> str:
        """Return the live concept's id that `id` is another spelling of, as without its prefix; "" if there is none."""
        return sole(id, (way for way in spellings(self._rows, id) if way in self))

    def _root(self, id: str) -> int:
        """Return the row of `id`, which a person has typed: the error has a hint, which takes some lookups."""
        try:
            return self.row(id)
        except UnknownConceptError as error:
            raise UnknownConceptError(f"{error}{hint(self, id)}") from None

    def __contains__(self, id: str) -> bool:
        try:
            self.row(id)
        except UnknownConceptError:
            return False
        return True

    def _id(self, row: int, /) -> str:
        """Return the id of the concept in `row`."""
        found = self._first("SELECT id FROM concepts WHERE row = ?", row_number(row, "row of a concept"))
        if found is None:
            raise UnknownConceptError(f"{self.path.name} has no row {row}; it has {len(self)} rows")
        return str(found[0])

    def _place(self, row: int | str) -> int:
        return self._root(row) if isinstance(row, str) else row_number(row, "row or id of a concept")

    def __getitem__(self, row: int | str) -> Concept:
        """Return the concept in a row, ``kb[1250]``, or with an id, ``kb["HP:0001250"]``, its successor if retired."""
        row = self._place(row)
        concept = read_concept(self._rows, row)
        if concept is None:
            raise UnknownConceptError(f"{self.path.name} has no row {row}; it has {len(self)} rows")
        return concept

    def name(self, row: int) -> Name:
        """Return the name in row `row` of the names."""
        what = f"row of a name: kb[{row!r}].name is the preferred name of a concept"
        found = self._first("SELECT text, scope, language, source FROM names WHERE row = ?", row_number(row, what))
        if found is None:
            raise UnknownConceptError(f"{self.path.name} has no name row {row}")
        return Name(found[0], SCOPES[found[1]], found[2], found[3])

    def name_texts(self, rows: Sequence[int]) -> list[str]:
        """Return the texts of the names in these rows: much faster than `name` for many."""
        sql = "SELECT row AS number, text FROM names WHERE row IN (SELECT value FROM json_each(?))"
        found = dict(self._rows(sql, json.dumps([row_number(row, "row of a name") for row in rows])))
        return [found[row] if row in found else self.name(row).text for row in rows]

    def name_row(self, row: int, text: str) -> int:
        """Return the row of the name `text` of the concept in `row`, -1 if it has no such name."""
        sql = "SELECT row AS number FROM names WHERE concept = ? AND text = ? ORDER BY row"
        return int((self._first(sql, int(row), text) or [-1])[0])

    def find(self, norm: str) -> Iterator[KbName]:
        """Yield the names of live concepts whose `linnet.text.normalise.basic` form is `norm`, by name row."""
        return self._names("AND n.norm = ?", norm)

    # --- many concepts -----------------------------------------------------------------------------------------------

    def names(self, concepts: Iterable[int] | None = None) -> Iterator[KbName]:
        """Yield every name of every live concept, by name row; or of the concepts in these rows, one by one."""
        if concepts is None:
            return self._names("")
        if not isinstance(concepts, Iterable):
            raise KnowledgeBaseError(f"{concepts!r} is not a list of rows: kb[{concepts!r}].names are one concept's")
        rows = (row_number(row, "row of a concept: kb[id].names are those of one") for row in concepts)
        return itertools.chain.from_iterable(self._names("AND n.concept = ?", row) for row in rows)

    def _names(self, which: str, *values: object) -> Iterator[KbName]:
        make = KbName._make  # faster than the class itself, and there are millions
        sql = tables.NAMES.format(which=which)
        for row, concept, text, scope, language, source, position in self._rows(sql, *values):
            yield make((row, concept, text, SCOPES[scope], language, source, position == 0))

    def concepts(self) -> Iterator[Concept]:
        """Yield every concept by row, then the retired ids that never had a row."""
        for (row,) in self._rows("SELECT row FROM concepts ORDER BY row"):
            yield self[row]
        sql = "SELECT id, name, successor FROM retired WHERE id NOT IN (SELECT id FROM concepts) ORDER BY rowid"
        for id, name, successor in self._rows(sql):
            yield Concept(id, (Name(name),) if name else (), replaced_by=successor)

    def definitions(self) -> Iterator[tuple[int, str]]:
        """Yield row and definition of every live concept that has one, by row."""
        return self._rows("SELECT row, definition FROM concepts WHERE NOT retired AND definition <> '' ORDER BY row")

    def types_of(self, row: int) -> tuple[str, ...]:
        """Return the semantic types of the concept in `row`, without reading the rest of it."""
        return tuple(name for (name,) in self._rows(TYPES, row))

    def types(self) -> dict[str, int]:
        """Return how many live concepts each semantic type has."""
        sql = (
            "SELECT t.name, count(DISTINCT concept) AS number FROM types JOIN type_names t USING (type) "
            "JOIN concepts c ON c.row = concept WHERE NOT retired GROUP BY type ORDER BY 2 DESC, t.name"
        )
        return dict(self._rows(sql))

    @property
    def history(self) -> list[dict[str, Any]]:
        """The versions this file went through, oldest first; ``changed`` counts what each added, changed or retired."""
        keys = ("version", "at", "action", "concepts", "names", "changed")
        return [dict(zip(keys, values, strict=True)) for values in self._rows(tables.HISTORY)]

    def comes_from(self, version: str) -> bool:
        """Return whether this is of `version`, or was before it was edited: concepts keep their rows."""
        return any(entry["version"] == version for entry in self.history)

    def changed_since(self, version: str) -> npt.NDArray[np.int64]:
        """Return the rows of the concepts that were added, changed or retired since `version`, ascending.

        Raises:
            KnowledgeBaseError: a version that the history of this file does not hold.
        """
        sql = "SELECT rowid AS number FROM history WHERE version = ? ORDER BY rowid DESC"
        found = self._first(sql, version)
        if found is None:
            known = f"its history has {', '.join(entry['version'] for entry in self.history[-3:])}"
            raise KnowledgeBaseError(
                f"{self.path.name} never had the version {version!r} ({known}): build from it anew"
            )
        return self._column("SELECT DISTINCT concept FROM changes WHERE history > ? ORDER BY concept", *found)

    @property
    def sources(self) -> list[dict[str, Any]]:
        """What the file was built from: vocabulary, path, sha256, date, licence, citation."""
        found: list[dict[str, Any]] = json.loads(self.info["sources"])
        return found

    def search(self, text: str, *, types: Sequence[str] = (), under: Sequence[str] = (), limit: int = 20) -> list[Hit]:
        """Return concepts for what a person types: by id, exact name, prefix, all words, any word, best first.

        Args:
            text: an id or words, in any case, order and spelling that normalisation covers.
            types: only concepts of one of these semantic types.
            under: only these concepts and their descendants.
            limit: how many at most.
        """
        type_rows = [self._type(name) for name in types]
        roots = [self._root(id) for id in under]
        return search(self._rows, text, types=type_rows, under=roots, limit=limit)

    def mask(
        self,
        types: Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
        under: Iterable[str] | None = None,
    ) -> Mask:
        """Return the live concepts that satisfy every given condition (None = no condition)."""
        array = np.zeros(len(self), np.bool_)
        array[self._column("SELECT row FROM concepts WHERE NOT retired")] = True
        if types is not None:
            array &= self._of([self._type(name) for name in types], "SELECT concept FROM types WHERE type = ?")
        if ids is not None:
            rows = np.zeros(len(self), np.bool_)
            rows[[self._root(id) for id in ids]] = True
            array &= rows
        if under is not None:
            array &= self._of([self._root(id) for id in under], DESCENDANTS)
        return Mask(array, self.version)

    def parents(self, row: int | str) -> npt.NDArray[np.int64]:
        """Return the rows of the concepts directly above the one in `row` or with an id, in the source's order."""
        return self._column("SELECT parent FROM parents WHERE concept = ? ORDER BY rowid", self._place(row))

    def children(self, row: int | str) -> npt.NDArray[np.int64]:
        """Return the rows of the live concepts directly below the one in `row` or with an id, ascending."""
        return self._column(tables.CHILDREN, self._place(row))

    def ancestors(self, row: int | str) -> npt.NDArray[np.int64]:
        """Return the rows of all ancestors of the one in `row` or with an id, without itself, ascending."""
        return self._column(ANCESTORS, *[self._place(row)] * 2)

    # --- SQL ---------------------------------------------------------------------------------------------------------

    def _type(self, name: str) -> int:
        found = self._first("SELECT type FROM type_names WHERE name = ?", name)
        if found is None:
            hint = did_you_mean(name, self.types()) or f"; it has {', '.join(self.types()) or 'none'}"
            raise KnowledgeBaseError(f"{self.path.name} has no semantic type {name!r}{hint}")
        return int(found[0])

    def _of(self, keys: Sequence[int], sql: str) -> npt.NDArray[np.bool_]:
        array = np.zeros(len(self), np.bool_)
        for key in keys:
            array[self._column(sql, key)] = True
        return array

    def _column(self, sql: str, *values: object) -> npt.NDArray[np.int64]:
        return np.fromiter((row for (row,) in self._rows(sql, *values)), np.int64)

    def _first(self, sql: str, *values: object) -> Any:
        return next(iter(self._rows(sql, *values)), None)

    def _rows(self, sql: str, *values: object) -> Iterator[Any]:
        try:
            connection = self._connection()
            found = connection.execute(sql, values)
            # looked at after the query has begun: what it reads is held still from then on
            if next(connection.execute(MOVES))[0] != self._local.moves:
                self._moved(connection)
            yield from check_rows(found, self._length)
        except (UnicodeEncodeError, OverflowError):
            return  # no file can hold a lone surrogate or a number of more than 64 bits, so nothing matches it
        except DAMAGE as error:
            if is_busy(error):
                raise KnowledgeBaseError(f"{self.path} is being changed by somebody else; try again") from error
            raise damage_error(self.path, error) from error

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = connect(self.file, "ro")
            self._moved(connection)
            self._local.connection = connection
        return connection

    def _moved(self, connection: sqlite3.Connection) -> None:
        """Go on with a file that somebody has written to if its version is still the same."""
        [(moves,)] = connection.execute(MOVES)
        tables.check_version(self.path, self.version, dict(connection.execute(INFO)).get("version", ""))
        self._local.moves = moves


OPEN: weakref.WeakValueDictionary[int, KnowledgeBase] = weakref.WeakValueDictionary()  # all that are open
MOVES = "PRAGMA data_version"  # a number that moves on when somebody else has written to the file


def _reopen(path: Path, version: str) -> KnowledgeBase:
    kb = KnowledgeBase(path)
    tables.check_version(path, version, kb.version)
    return kb
