"""Editing a knowledge base: adding, changing, retiring and merging concepts, all in one transaction or not at all.

A new concept gets the next free row. A retired one becomes a tombstone: its row stays taken and its id leads to its
successor, but nothing finds it any more; its children move up to its parents, so that whatever lay above them still
does. At the end the hierarchy and the successors that the edit has changed are checked as `linnet.kb.build` checks
them, the version is moved on and a line of history written, with the concepts that changed.

An edit that fails, or is killed, leaves the knowledge base as it was. Those who have it open are told by their next
question that it has changed.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError, UnknownConceptError, did_you_mean
from linnet.kb.cycles import SHOWN, shown_circle
from linnet.kb.file import WAIT, begin, check_file, commit
from linnet.kb.rows import RowWriter
from linnet.kb.search import sole, spellings
from linnet.reporter import warn

__all__ = ["Edit", "edit"]

BEGIN_ALIKE = "SELECT id FROM concepts WHERE id >= ? AND id < ? AND NOT retired LIMIT ?"
NEAR = 200  # ids among which the one that was meant is looked for
DONE = ("added", "changed", "restored", "retired", "merged", "retired ids", "redirected")


class Edit:
    """One transaction on a knowledge base, made by `edit`; ``counts`` is complete when it has ended.

    ``counts`` holds how many concepts were added, changed, restored (retired ones that live again), retired, merged
    away, and redirected (retired ones that got another successor, or lost theirs), and how many ``retired ids`` came
    that never lived here; ``restored`` holds ids.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.counts: Counter[str] = Counter()
        self._rows = RowWriter(connection, path)
        self.version = f"{self._rows.version:016x}"  # as it was before
        self._name = path.name
        self._parents: dict[int, list[str]] = {}  # row -> parents that are not looked up yet
        self._unknown: dict[int, list[str]] = {}  # row -> parents that were not there when looked up
        self._successors: dict[str, None] = {}  # ids whose successor is to be checked
        self._restored: set[int] = set()
        self.restored: list[str] = []
        self._origins: dict[str, str] = {}
        self._sources: list[dict[str, Any]] = []
        self.why = ""  # what the line of history begins with
        self.withdraws = False  # whether a retired concept that is added without a successor loses the one it has

    # --- the edits

    def add(self, concept: Concept) -> None:
        """Add a concept, or what it says to the one that has its id.

        An unknown id becomes a new concept. To a live one are added the names (by text and language), types, parents
        and cross-references that it lacks, and the definition if it has none; nothing is taken away. A retired id
        lives again in its old row and gets the same. A concept with ``replaced_by`` retires its id, or is kept as a
        retired id; its successor may come later in the same edit. So may parents; those that never come are left out
        with a warning, and retired ones lead to their successor.

        Raises:
            KnowledgeBaseError: no id, a new concept without a name, or a text with a lone surrogate.
        """
        self._check(concept)
        if concept.replaced_by is not None:
            self._add_retired(concept, concept.replaced_by)
            return
        found = self._rows.find(concept.id)
        if found is None:
            if self._rows.successor(concept.id) is not None:
                self._rows.drop_retired(concept.id)
                self._count_restored(concept.id)
            else:
                self.counts["added"] += 1
            self._set(self._rows.insert(concept.id), concept)
            return
        row, retired = found
        if retired:
            self._rows.touch(row)
            self._rows.unbury(row, concept.id)
            self._restored.add(row)
            self._count_restored(concept.id)
        self._unite(row, concept)

    def _count_restored(self, id: str) -> None:
        self.counts["restored"] += 1
        self.restored.append(id)

    def replace(self, concept: Concept) -> None:
        """Give the live concept of this id exactly these names, types, definition, parents and cross-references.

        Raises:
            UnknownConceptError: no such live concept.
            KnowledgeBaseError: as `add`; or `concept` is a retired one.
        """
        if concept.replaced_by is not None:
            raise KnowledgeBaseError(f"{concept.id!r} is given as a retired concept: use retire")
        self._check(concept, named=True)
        row = self.row(concept.id)
        self._settle()
        self._rows.touch(row)
        self._rows.set_parents(row, ())
        self._unknown.pop(row, None)
        self._set(row, concept)

    def retire(self, id: str, successor: str = "") -> None:
        """Make a live concept a tombstone that leads to `successor`; its children move up to its parents.

        Raises:
            UnknownConceptError: no such live concept, or no such live successor.
            KnowledgeBaseError: a concept as its own successor.
        """
        row = self.row(id)
        if successor and self.row(successor) == row:
            raise KnowledgeBaseError(f"concept {id!r} cannot be its own successor: name another, or none")
        self._retire(row, id, successor)
        self.counts["retired"] += 1

    def merge(self, kept: str, other: str) -> None:
        """Give all that the concept `other` has to `kept`, and retire it in favour of `kept`.

        Names, types, parents, cross-references and children go over, the definition if `kept` has none. Where the two
        lie below one another, what lies between them stays there: no circle is made.

        Raises:
            UnknownConceptError: no such live concept.
            KnowledgeBaseError: a concept is to be merged with itself.
        """
        target, row = self.row(kept), self.row(other)
        if target == row:
            raise KnowledgeBaseError(f"concept {kept!r} cannot be merged with itself")
        self._settle()
        rows = self._rows
        self._unite(target, rows.touch(row) or rows.concept(row), parents=False)
        over = rows.parents(row)
        going = [parent for parent in over if not rows.is_above(target, parent)]
        staying = [parent for parent in rows.parents(target) if parent != row]
        rows.set_parents(target, [*staying, *going], moved=True)
        for child in rows.children(row):
            into = over if rows.is_above(child, target) else [target]
            rows.set_parents(child, self._swap(child, row, into), moved=True)
        self._retire(row, other, kept)
        self.counts["merged"] += 1

    def cite(self, source: Mapping[str, Any]) -> None:
        """Add to the knowledge base's sources where the added concepts come from; kept if anything changes."""
        self._sources.append(dict(source))

    def row(self, id: str) -> int:
        """Return the row of the live concept `id`, as the edit stands.

        Raises:
            UnknownConceptError: no such id, with the nearest one; or a retired one, with its successor.
        """
        found = None if _lone(id) else self._rows.find(id)
        if found is not None and not found[1]:
            return found[0]
        successor = None if _lone(id) else self._rows.successor(id)
        if successor is not None:
            back = "`linnet kb add --id` with a name brings it back"
            way = f"it leads to {successor!r}: name that" if successor else back
            raise UnknownConceptError(f"concept {id!r} is retired in {self._name}; {way}")
        raise UnknownConceptError(f"no concept {id!r} in {self._name}{self._hint(id)}")

    def meant(self, id: str) -> str:
        """Return the live concept's id that `id` is or is another spelling of; "" if there is none."""
        return sole(id, (way for way in spellings(self._rows.run, id) if self._live(way) is not None))

    def example(self) -> str:
        """Return the id of a concept, one without a prefix if any has none."""
        return str(self._rows.first("SELECT id FROM concepts ORDER BY instr(id, ':') > 0 LIMIT 1")[0])

    def types(self) -> list[str]:
        """Return the names of all semantic types, as the edit stands."""
        return [name for (name,) in self._rows.run("SELECT name FROM type_names ORDER BY name")]

    # --- how they are done

    def _check(self, concept: Concept, *, named: bool = False) -> None:
        """Refuse what cannot be kept before anything is written, so that the edit can go on without it."""
        where = f"{concept.origin}: " if concept.origin else ""
        if not concept.id:
            raise KnowledgeBaseError(f"{where}a concept without an id")
        texts = [concept.id, *concept.types, concept.definition, *concept.parents, *concept.xrefs]
        texts += [text for name in concept.names for text in astuple(name)] + [concept.replaced_by or ""]
        for text in filter(_lone, texts):
            raise KnowledgeBaseError(
                f"{where}{text[:80]!r} contains a lone surrogate, which is not a character: decode the source properly"
            )
        nameless = concept.replaced_by is None and not any(name.text.strip() for name in concept.names)
        if nameless and (named or self._rows.find(concept.id) is None):
            raise KnowledgeBaseError(f"{where}concept {concept.id!r} has no name; every live concept needs one")
        if concept.origin:
            self._origins[concept.id] = concept.origin

    def _set(self, row: int, concept: Concept) -> None:
        self._rows.set_names(row, concept.names)
        self._rows.set_types(row, concept.types)
        self._rows.define(row, concept.definition)
        self._rows.set_xrefs(row, concept.xrefs)
        self._parents[row] = list(concept.parents)

    def _unite(self, row: int, concept: Concept, *, parents: bool = True) -> None:
        have = self._rows.touch(row) or self._rows.concept(row)
        known = {(name.text, name.language) for name in have.names}
        added: dict[tuple[str, str], Name] = {}
        for name in concept.names:
            if (name.text, name.language) not in known and name.text.strip():
                added.setdefault((name.text, name.language), name)
        if added:
            self._rows.set_names(row, [*have.names, *added.values()])
        if set(concept.types) - set(have.types):
            self._rows.set_types(row, _more(have.types, concept.types), kept=len(have.types))
        if set(concept.xrefs) - set(have.xrefs):
            self._rows.set_xrefs(row, _more(have.xrefs, concept.xrefs), kept=len(have.xrefs))
        if concept.definition and not have.definition:
            self._rows.define(row, concept.definition)
        if parents and concept.parents:
            self._parents.setdefault(row, []).extend(concept.parents)

    def _add_retired(self, concept: Concept, successor: str) -> None:
        id = concept.id
        found, known = self._rows.find(id), self._rows.successor(id)
        if known is None and found is not None:
            self._retire(found[0], id, successor)
            self.counts["retired"] += 1
        elif known is None:
            self._rows.put_retired(id, successor, concept.names[0].text if concept.names else "")
            self.counts["retired ids"] += 1
        elif successor != known and (successor or self.withdraws):
            self._rows.touch(found[0]) if found else self._rows.touch_retired(id)
            self._rows.run("UPDATE retired SET successor = ? WHERE id = ?", successor, id)
            self.counts["redirected"] += 1
        self._successors[id] = None

    def _retire(self, row: int, id: str, successor: str) -> None:
        self._settle()
        rows = self._rows
        rows.touch(row)
        above = [parent for parent in rows.parents(row) if parent != row]  # its own parent as long as nobody checked
        for child in rows.children(row):
            rows.set_parents(child, self._swap(child, row, above), moved=True)
        rows.bury(row, id, successor)
        self._restored.discard(row)
        self._successors[id] = None

    def _swap(self, child: int, old: int, new: list[int]) -> list[int]:
        """Return the parents of `child` with `new` in the place of `old`."""
        into = [row for row in new if row != child]
        return [row for parent in self._rows.parents(child) for row in (into if parent == old else [parent])]

    def _settle(self, *, last: bool = False) -> None:
        """Look up the parents named so far, before the hierarchy is asked or changed; at the end also unknown ones."""
        for lot in (self._unknown, self._parents) if last else (self._parents,):
            for row, ids in list(lot.items()):
                found = {id: self._live(id) for id in ids}
                # what was retired in favour of the concept itself is not its parent
                own = "" if row not in found.values() else next(self._rows.ids([row]))
                known = [parent for id, parent in found.items() if parent is not None and (parent != row or id == own)]
                self._rows.set_parents(row, [*self._rows.parents(row), *known])
                missing = [id for id in ids if found[id] is None]
                if lot is self._parents and missing:
                    self._unknown.setdefault(row, []).extend(missing)
                elif lot is self._unknown:
                    lot[row] = missing
        self._parents = {}

    def _live(self, id: str) -> int | None:
        """Return the row of the live concept that `id` is or leads to."""
        seen: set[str] = set()
        while id not in seen:
            seen.add(id)
            found = self._rows.find(id)
            if found is not None and not found[1]:
                return found[0]
            id = self._rows.successor(id) or id
        return None

    def _hint(self, id: str) -> str:
        """Return the nearest of the ids that begin alike, as far as they are few: others would take long to find."""
        if _lone(id):
            return ""
        if meant := self.meant(id):
            return f"; did you mean {meant!r}?"
        start = id[: max(3, len(id) - 3)]
        near = self._rows.run(BEGIN_ALIKE, start, start + "\U0010ffff", NEAR)
        return did_you_mean(id, [found for (found,) in near])

    # --- the end

    def finish(self) -> bool:
        """Check the whole and write version and history; return whether anything has changed.

        `edit` calls it; nothing is kept before it has.

        Raises:
            KnowledgeBaseError: the hierarchy or the successors run in circles, or a successor does not exist.
        """
        if self._rows.failed:
            raise KnowledgeBaseError(self._rows.failed)
        self._settle(last=True)
        self._check_circles()
        self._check_successors()
        self._warn_of_parents()
        rows, digest = self._rows.changes()
        self.counts["changed"] = sum(map(self._is_changed, rows))
        if not rows and digest == self._rows.version:
            return False
        action = self.why + ", ".join(f"{what} {self.counts[what]}" for what in DONE if self.counts[what])
        self._rows.describe(rows, digest, action=action, sources=self._sources)
        return True

    def _is_changed(self, row: int) -> bool:
        live = self._rows.first("SELECT NOT retired AS number FROM concepts WHERE row = ?", row)[0]
        return bool(live) and row not in self._restored and not self._rows.is_new(row)

    def _origin(self, id: str) -> str:
        return f"{self._origins[id]}: " if id in self._origins else ""

    def _check_circles(self) -> None:
        if circle := self._rows.circle():
            ids = list(self._rows.ids(circle[:SHOWN]))
            raise KnowledgeBaseError(f"{self._origin(ids[0])}cyclic parents: {shown_circle(ids, len(circle))}")

    def _check_successors(self) -> None:
        sound: set[str] = set()
        for first in self._successors:
            seen, id = {first}, self._rows.successor(first)
            while id and id not in sound:
                found = self._rows.find(id)
                if found is not None and not found[1]:
                    break
                after = self._rows.successor(id)
                if after is None:
                    message = f"retired concept {first!r} is replaced by {id!r}, which is not in {self._name}"
                    raise KnowledgeBaseError(f"{self._origin(first)}{message}{self._hint(id)}")
                if id in seen:
                    raise KnowledgeBaseError(f"{self._origin(first)}retired concept {first!r} is replaced in a circle")
                seen.add(id)
                id = after
            sound |= seen

    def _warn_of_parents(self) -> None:
        unknown = sorted(id for ids in self._unknown.values() for id in ids)
        if unknown:
            warn(f"{len(unknown)} parents are not in {self._name} and were left out, for example {unknown[0]!r}")


def _more(had: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """Return what was there and then, each once, what is new."""
    return (*had, *dict.fromkeys(text for text in new if text not in had))


def _lone(text: str) -> bool:
    """Say whether a text holds a lone surrogate, which no file can keep."""
    return any("\ud800" <= character <= "\udfff" for character in text)


@contextmanager
def edit(path: Path, *, wait: float = WAIT, dry_run: bool = False) -> Iterator[Edit]:
    """Give an `Edit` of the knowledge base `path` whose changes are kept together when the block ends without error.

    Args:
        path: the file.
        wait: seconds to wait for another edit to end, and at the end for readers to finish what they are reading.
        dry_run: check and count everything, and keep nothing.

    Raises:
        KnowledgeBaseError: no knowledge base, not to be written, in use for longer than `wait`; or by `Edit.finish`.

    >>> import tempfile
    >>> from linnet.kb.build import build
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = build([Concept("X:1", (Name("Fever"),))], f"{folder}/small.kb")
    ...     with edit(made.path) as change:
    ...         change.add(Concept("X:1", (Name("Pyrexia"),)))
    ...     dict(change.counts)
    {'changed': 1}
    """
    check_file(path)
    connection = begin(path, wait=wait)
    try:
        made = Edit(connection, path)
        yield made
        if made.finish() and not dry_run:
            commit(connection, path, wait=wait)
    finally:
        with suppress(sqlite3.Error):
            connection.rollback()
        connection.close()
