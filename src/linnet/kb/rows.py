"""The rows that one edit of a knowledge base changes, and what they were before, so that the version can follow.

Whatever changes a concept says so first (`RowWriter.touch`), which keeps the concept's share of the version; the
difference to its share at the end is the difference of the versions. Names keep their rows: one that is taken away, or
whose concept is retired, stays in its row but leaves the indexes by which names are found, and comes back in the same
row. Takes about half a kilobyte of memory for each changed concept.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from linnet.data import SCOPES, Concept, Name
from linnet.errors import KnowledgeBaseError
from linnet.kb.file import concept_hash, concept_share, read_concept
from linnet.kb.tables import DAMAGE, INFO, check_rows, damage_error, is_damage, read_info
from linnet.text.normalise import basic

__all__ = ["RowWriter"]

NAMES = "SELECT row AS number, position, text, scope, language, source FROM names WHERE concept = ?"
PARENTS = "SELECT parent FROM parents WHERE concept = ? ORDER BY rowid"
CHILDREN = "SELECT DISTINCT concept FROM parents WHERE parent = ? ORDER BY concept"


class RowWriter:
    """The tables of a knowledge base inside one transaction; `names` counts the names of live concepts."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self.failed = ""  # why, if anything has: what was half done must not be kept then
        self.raised: dict[int, None] = {}  # rows of concepts that have parents which they had not before
        self._connection = connection
        self._before: dict[int, int] = {}  # row -> share of the version; 0 for a new concept
        self._retired_before: dict[str, int] = {}  # the same for retired ids without a row
        self._types: dict[str, int] = {}
        info = read_info(self.run(INFO), path)
        self.version = int(info["version"], 16)
        self.concepts, self.names, self.retired = (int(info[key]) for key in ("concepts", "names", "retired"))
        self._sources = json.loads(info["sources"])
        self._next = [
            self.first(f"SELECT coalesce(max(row) + 1, 0) AS number FROM {table}")[0] for table in ("concepts", "names")
        ]

    def run(self, sql: str, *values: object) -> list[Any]:
        """Run one statement and return its rows."""
        try:
            return list(check_rows(self._connection.execute(sql, values)))
        except DAMAGE as error:
            written = f"{self.path}: cannot be written: {error}"
            self.failed = str(damage_error(self.path, error)) if is_damage(error) else written
            raise KnowledgeBaseError(self.failed) from error

    def first(self, sql: str, *values: object) -> Any:
        """Run one statement and return its first row, None if it has none."""
        return next(iter(self.run(sql, *values)), None)

    # --- the version

    def touch(self, row: int) -> Concept | None:
        """Keep what the concept in `row` contributes to the version, before it is changed for the first time.

        Returns:
            the concept, if this was the first time; reading it is most of the work.
        """
        if row in self._before:
            return None
        concept = self.concept(row)
        self._before[row] = concept_share(self.run, row, concept)
        return concept

    def touch_retired(self, id: str) -> None:
        """Keep the same of a retired id that has no row."""
        if id not in self._retired_before:
            self._retired_before[id] = self._share(id)

    def _share(self, id: str) -> int:
        found = self.first("SELECT successor FROM retired WHERE id = ?", id) if self.find(id) is None else None
        return 0 if found is None else concept_hash(-1, Concept(id, replaced_by=found[0]))

    def changes(self) -> tuple[list[int], int]:
        """Return the rows whose concepts differ from what they were, ascending, and the new version as a number."""
        digest, rows = self.version, []
        for row, before in self._before.items():
            after = concept_share(self.run, row, self.concept(row))
            if after != before:
                rows.append(row)
                digest += after - before
        digest += sum(self._share(id) - before for id, before in self._retired_before.items())
        return sorted(rows), digest % 2**64

    def describe(
        self, changed: Iterable[int], digest: int, *, action: str, sources: Sequence[Mapping[str, Any]]
    ) -> None:
        """Write down the version `digest`: counts, a line of history, the concepts that changed, new sources."""
        at, version = datetime.now(UTC).isoformat(timespec="seconds"), f"{digest:016x}"
        info = {"version": version, "concepts": self.concepts, "names": self.names, "retired": self.retired}
        for key, value in info.items():
            self.run("UPDATE info SET value = ? WHERE key = ?", str(value), key)
        if sources:
            told = json.dumps([*self._sources, *map(dict, sources)])
            self.run("UPDATE info SET value = ? WHERE key = 'sources'", told)
        self.run("INSERT INTO history VALUES (?, ?, ?, ?, ?)", version, at, action, self.concepts, self.names)
        for row in changed:
            self.run("INSERT INTO changes SELECT max(rowid), ? FROM history", row)

    def is_new(self, row: int) -> bool:
        """Say whether this edit has made the row."""
        return self._before.get(row) == 0

    # --- concepts

    def concept(self, row: int) -> Concept:
        """Return the concept in `row` as it is now."""
        found = read_concept(self.run, row)
        if found is None:
            raise KnowledgeBaseError(f"{self.path} is damaged: there is no row {row}; build it again")
        return found

    def find(self, id: str) -> tuple[int, bool] | None:
        """Return the row of `id` and whether it is a tombstone; None if it has no row."""
        found = self.first("SELECT row, retired AS number FROM concepts WHERE id = ?", id)
        return None if found is None else (int(found[0]), bool(found[1]))

    def successor(self, id: str) -> str | None:
        """Return the successor of a retired id (`""` without one), None of an id that is not retired."""
        found = self.first("SELECT successor FROM retired WHERE id = ?", id)
        return None if found is None else str(found[0])

    def insert(self, id: str) -> int:
        """Make the row of a new concept and return it."""
        row = self._number(0)
        self._before[row] = 0
        self.run("INSERT INTO concepts VALUES (?, ?, '', 0)", row, id)
        self.concepts += 1
        return row

    def define(self, row: int, definition: str) -> None:
        """Set the definition."""
        self.run("UPDATE concepts SET definition = ? WHERE row = ?", definition, row)

    def bury(self, row: int, id: str, successor: str) -> None:
        """Make the concept a tombstone: in its row, found by nobody."""
        names = self._names(row)
        for name, _, norm in names:
            self._index(name, norm, "")
        self.run("UPDATE concepts SET retired = 1 WHERE row = ?", row)
        shown = self.first("SELECT text FROM names WHERE concept = ? ORDER BY position, row", row)
        self.run("INSERT INTO retired VALUES (?, ?, ?)", id, successor, shown[0] if shown else "")
        self.concepts -= 1
        self.retired += 1
        self.names -= len(names)

    def unbury(self, row: int, id: str) -> None:
        """Undo `bury`."""
        names = self._names(row)
        for name, text, _ in names:
            self._index(name, "", basic(text))
        self.run("UPDATE concepts SET retired = 0 WHERE row = ?", row)
        self.run("DELETE FROM retired WHERE id = ?", id)
        self.concepts += 1
        self.retired -= 1
        self.names += len(names)

    def put_retired(self, id: str, successor: str, name: str) -> None:
        """Keep a retired id that has no row."""
        self.touch_retired(id)
        self.run("INSERT INTO retired VALUES (?, ?, ?)", id, successor, name)
        self.retired += 1

    def drop_retired(self, id: str) -> None:
        """Forget a retired id that has no row."""
        self.touch_retired(id)
        self.run("DELETE FROM retired WHERE id = ?", id)
        self.retired -= 1

    # --- what belongs to a concept

    def set_names(self, row: int, names: Sequence[Name]) -> None:
        """Give the live concept these names; those it had, or once had, keep the rows they had."""
        rows: dict[Name, list[int]] = {}
        had: dict[int, int | None] = {}  # row of a name -> position, None for one that was taken away
        for concept in (row, -1 - row):
            for name, position, text, scope, language, source in self.run(NAMES, concept):
                rows.setdefault(Name(text, SCOPES[scope], language, source), []).append(name)
                had[name] = position if concept >= 0 else None
        for same in rows.values():
            same.sort(reverse=True)  # the first row ever made is the first to be used again
        kept = set()
        for position, name in enumerate(names):
            known = rows.get(name)
            at = known.pop() if known else self._insert_name(row, name, position)
            kept.add(at)
            if at in had and had[at] != position:
                self.run("UPDATE names SET concept = ?, position = ? WHERE row = ?", row, position, at)
                if had[at] is None:
                    self._index(at, "", basic(name.text))
        for name in [name for name, position in had.items() if position is not None and name not in kept]:
            self._index(name, self.first("SELECT norm FROM names WHERE row = ?", name)[0], "")
            self.run("UPDATE names SET concept = -1 - concept WHERE row = ?", name)
        self.names += len(names) - sum(position is not None for position in had.values())

    def _insert_name(self, row: int, name: Name, position: int) -> int:
        at, norm = self._number(1), basic(name.text)
        scope = SCOPES.index(name.scope)
        values = (at, row, position, name.text, norm, scope, name.language, name.source)
        self.run("INSERT INTO names VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *values)
        self.run("INSERT INTO words (rowid, norm) VALUES (?, ?)", at, norm)
        return at

    def _names(self, row: int) -> list[tuple[int, str, str]]:
        return self.run("SELECT row AS number, text, norm FROM names WHERE concept = ?", row)

    def _index(self, name: int, old: str, new: str) -> None:
        """Let a name be found by its form `new` instead of `old`; nothing is found by ``""``."""
        # the word index keeps no texts and needs the old text to remove it
        self.run("INSERT INTO words (words, rowid, norm) VALUES ('delete', ?, ?)", name, old)
        self.run("UPDATE names SET norm = ? WHERE row = ?", new, name)
        self.run("INSERT INTO words (rowid, norm) VALUES (?, ?)", name, new)

    def set_types(self, row: int, types: Sequence[str], *, kept: int = 0) -> None:
        """Give the concept these semantic types; the first `kept` of them it has, and no others."""
        self._put("types", row, [self._type(name) for name in types[kept:]], anew=not kept)

    def _put(self, table: str, row: int, values: Iterable[object], *, anew: bool) -> None:
        """Add values to those of the concept in one of its tables, or put them in the place of those."""
        if anew:
            self.run(f"DELETE FROM {table} WHERE concept = ?", row)
        for value in values:
            self.run(f"INSERT INTO {table} VALUES (?, ?)", row, value)

    def _type(self, name: str) -> int:
        if name not in self._types:
            found = self.first("SELECT type FROM type_names WHERE name = ?", name)
            if found is None:
                found = self.first("INSERT INTO type_names (name) VALUES (?) RETURNING type", name)
            self._types[name] = int(found[0])
        return self._types[name]

    def set_xrefs(self, row: int, xrefs: Sequence[str], *, kept: int = 0) -> None:
        """Give the concept these cross-references; the first `kept` of them it has, and no others."""
        self._put("xrefs", row, xrefs[kept:], anew=not kept)

    # --- the hierarchy

    def parents(self, row: int) -> list[int]:
        """Return the rows of the parents, in their order."""
        return [parent for (parent,) in self.run(PARENTS, row)]

    def children(self, row: int) -> list[int]:
        """Return the rows of the children, ascending."""
        return [child for (child,) in self.run(CHILDREN, row)]

    def set_parents(self, row: int, parents: Iterable[int], *, moved: bool = False) -> None:
        """Give the concept these parents, each once, and note it in `raised` if some are new.

        Parents that are `moved` so that they close no circle where there was none need not be looked at again, unless
        others are still to be.
        """
        had, wanted = self.parents(row), list(dict.fromkeys(parents))
        if had == wanted:
            return
        self.touch(row)
        kept = len(had) if wanted[: len(had)] == had else 0
        self._put("parents", row, wanted[kept:], anew=not kept)
        if (self.raised or not moved) and not set(wanted) <= set(had):
            self.raised[row] = None

    def is_above(self, high: int, low: int) -> bool:
        """Say whether `high` is an ancestor of `low`, or the same concept.

        Walks from both ends, on the side where less was met: most concepts have few descendants, the others few
        ancestors.
        """
        sides = [({low}, [low], self.parents), ({high}, [high], self.children)]
        while high != low and all(waiting for _, waiting, _ in sides):
            sides.sort(key=lambda side: len(side[0]))
            (met, waiting, further), (others, *_) = sides
            new = set(further(waiting.pop())) - met
            if not others.isdisjoint(new):
                return True
            met |= new
            waiting += new
        return high == low

    def circle(self) -> list[int]:
        """Return the rows of a circle that a concept of `raised` is on, child first; [] if there is none."""
        done: set[int] = set()
        for start in filter(self.children, self.raised):  # who is nobody's parent is on no circle
            way: dict[int, None] = {}  # from `start` up to where we are
            waiting = [start]
            while waiting:
                row = waiting.pop()
                if row < 0:  # all above it is done
                    done.add(-1 - row)
                    way.popitem()
                elif row in way:
                    found = list(way)[list(way).index(row) :]
                    first = next((at for at, child in enumerate(found) if child in self.raised), 0)
                    return found[first:] + found[:first]
                elif row not in done:
                    way[row] = None
                    waiting += [-1 - row, *self.parents(row)]
        return []

    # --- numbers

    def _number(self, table: int) -> int:
        number: int = self._next[table]
        self._next[table] = number + 1
        return number

    def ids(self, rows: Iterable[int]) -> Iterator[str]:
        """Yield the ids of rows."""
        for row in rows:
            yield str(self.first("SELECT id FROM concepts WHERE row = ?", row)[0])
