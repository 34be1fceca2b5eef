"""What stands in a knowledge base, streamed in orders that its own interface does not give.

For work on whole knowledge bases of millions of concepts in bounded memory: live concepts by id, so that two files
can be gone through in step; retired ids; the parents of all concepts as one array. Each raises a KnowledgeBaseError
where the file is damaged, or was replaced since it was opened.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.data import SCOPES, Concept, Name
from linnet.errors import KnowledgeBaseError
from linnet.kb import KnowledgeBase
from linnet.kb.tables import DAMAGE, check_rows, connect, damage_error

__all__ = ["Edges", "Retired", "concepts_by_id", "edges", "edited_by_hand", "retired_by_id", "retired_chains"]

LIVE = "SELECT id, definition FROM concepts WHERE NOT retired ORDER BY id"
# CROSS JOIN keeps the order of the tables, so that everything comes out of indexes and nothing is sorted
NAMES = (
    "SELECT c.id, n.text, n.scope, n.language, n.source FROM concepts c CROSS JOIN names n ON n.concept = c.row "
    "WHERE NOT c.retired ORDER BY c.id, n.position, n.row"
)
TYPES = (
    "SELECT c.id, k.name FROM concepts c CROSS JOIN types t ON t.concept = c.row "
    "CROSS JOIN type_names k ON k.type = t.type WHERE NOT c.retired ORDER BY c.id, t.rowid"
)
PARENTS = (
    "SELECT c.id, o.id FROM concepts c CROSS JOIN parents p ON p.concept = c.row "
    "CROSS JOIN concepts o ON o.row = p.parent WHERE NOT c.retired ORDER BY c.id, p.rowid"
)
XREFS = (
    "SELECT c.id, x.xref FROM concepts c CROSS JOIN xrefs x ON x.concept = c.row "
    "WHERE NOT c.retired ORDER BY c.id, x.rowid"
)
RETIRED = "SELECT id, successor, name FROM retired ORDER BY id"
CHAINS = "SELECT r.id, r.successor FROM retired r CROSS JOIN retired s ON s.id = r.successor"
# last changed neither when the file was built nor when it became another release, which leaves nothing of edits before
BY_HAND = (
    "SELECT c.id FROM (SELECT concept, max(history) AS last FROM changes GROUP BY concept) x "
    "JOIN history h ON h.rowid = x.last JOIN concepts c ON c.row = x.concept "
    "WHERE h.action NOT LIKE 'built%' AND h.action NOT LIKE 'update to %'"
)
EDGES = (
    "SELECT p.concept, p.parent FROM parents p JOIN concepts c ON c.row = p.concept "
    "JOIN concepts o ON o.row = p.parent WHERE NOT c.retired AND NOT o.retired ORDER BY p.concept, p.rowid"
)


class Retired(NamedTuple):
    """A retired id, the id it leads to (``""`` for none) and the name it had."""

    id: str
    successor: str
    name: str


class Edges:
    """Who is whose parent, as rows: ``children`` and ``above``, int64 (n,), sorted by child, parents in their order."""

    def __init__(self, pairs: npt.NDArray[np.int64]) -> None:
        self.children, self.above = np.ascontiguousarray(pairs.T)  # one column in one piece is searched fast

    def parents(self, row: int) -> list[int]:
        """Return the rows of the parents of `row`."""
        first, end = np.searchsorted(self.children, [row, row + 1])
        found: list[int] = self.above[first:end].tolist()
        return found


def concepts_by_id(kb: KnowledgeBase) -> Iterator[Concept]:
    """Yield the live concepts in the order of their ids (code points); one concept is held."""
    with _opened(kb) as rows:
        columns = [_Groups(rows(sql)) for sql in (NAMES, TYPES, PARENTS, XREFS)]
        for id, definition in rows(LIVE):
            names, types, parents, xrefs = (column.take(id) for column in columns)
            yield Concept(
                id,
                tuple(Name(text, SCOPES[scope], language, source) for _, text, scope, language, source in names),
                tuple(kind for _, kind in types),
                definition,
                tuple(parent for _, parent in parents),
                tuple(xref for _, xref in xrefs),
            )


def retired_by_id(kb: KnowledgeBase) -> Iterator[Retired]:
    """Yield the retired ids in their order."""
    with _opened(kb) as rows:
        yield from map(Retired._make, rows(RETIRED))


def retired_chains(kb: KnowledgeBase) -> dict[str, str]:
    """Return the retired ids whose successors are retired too, with these; there are few."""
    with _opened(kb) as rows:
        return dict(rows(CHAINS))


def edited_by_hand(kb: KnowledgeBase) -> set[str]:
    """Return the ids of the concepts that an edit other than `linnet kb update` was the last to change."""
    with _opened(kb) as rows:
        return {id for (id,) in rows(BY_HAND)}


def edges(kb: KnowledgeBase) -> Edges:
    """Return the parents of all live concepts: 16 bytes an edge."""
    with _opened(kb) as rows:
        flat = np.fromiter(itertools.chain.from_iterable(rows(EDGES)), np.int64)
    return Edges(flat.reshape(-1, 2))


@contextmanager
def _opened(kb: KnowledgeBase) -> Iterator[Callable[[str], Iterator[Any]]]:
    """Give what runs SQL on the file of a knowledge base, over a connection of its own.

    It is one transaction: nobody can change the file between the questions, whose answers therefore fit together.
    """
    try:
        connection = connect(kb.file, "ro")
    except sqlite3.Error as error:
        raise damage_error(kb.path, error) from error

    def rows(sql: str) -> Iterator[Any]:
        try:
            yield from check_rows(connection.execute(sql), len(kb))
        except DAMAGE as error:
            raise damage_error(kb.path, error) from error

    with closing(connection):
        list(rows("BEGIN"))
        found = dict(rows("SELECT key, value FROM info")).get("version")
        if found != kb.version:
            raise KnowledgeBaseError(f"{kb.path} has changed: version {found}, expected {kb.version}")
        yield rows


class _Groups:
    """Rows that begin with an id and are sorted by it, handed out id by id in the same order."""

    def __init__(self, rows: Iterator[Any]) -> None:
        self._groups = itertools.groupby(rows, key=itemgetter(0))
        self._next = next(self._groups, None)

    def take(self, id: str) -> list[Any]:
        if self._next is None or self._next[0] != id:
            return []
        found = list(self._next[1])
        self._next = next(self._groups, None)
        return found
