"""Where ids lead in a knowledge base: to the concept itself, to the successor of a retired one, or nowhere."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple

from linnet.errors import UnknownConceptError
from linnet.kb.knowledge_base import KnowledgeBase
from linnet.kb.search import spellings
from linnet.kb.tables import check_rows, connect
from linnet.kb.terminologies import Terminologies

__all__ = ["Retired", "is_retired", "retired", "retired_row", "row_of", "successor"]

NAMED = (
    "SELECT id, name FROM retired WHERE id IN (SELECT value FROM json_each(?)) OR name = ? COLLATE NOCASE "
    "UNION SELECT c.id, r.name FROM names n JOIN concepts c ON c.row = n.concept JOIN retired r USING (id) "
    "WHERE n.norm = '' AND n.text = ? COLLATE NOCASE LIMIT ?"
)


class Retired(NamedTuple):
    """A retired concept: its id, the name it had, and id and name of the live concept it leads to (``""`` for none)."""

    id: str
    name: str
    successor: str
    successor_name: str


def retired(kb: KnowledgeBase, text: str, *, limit: int = 10) -> list[Retired]:
    """Return the retired concepts that have this id, in any spelling, or a name of this text; none finds them else."""
    text = " ".join(text.split())
    with closing(connect(kb.file, "ro")) as connection:
        ids = spellings(lambda sql, *values: check_rows(connection.execute(sql, values)), text)
        found = list(check_rows(connection.execute(NAMED, (json.dumps(ids), text, text, limit))))
    return [Retired(id, name, *_end(kb, id)) for id, name in found]


def is_retired(kb: KnowledgeBase | Terminologies, id: str) -> bool:
    """Say whether a knowledge base holds this id as a retired one, whether or not it leads anywhere."""
    for one in kb.kbs.values() if isinstance(kb, Terminologies) else (kb,):
        with closing(connect(one.file, "ro")) as connection:
            if connection.execute("SELECT 1 FROM retired WHERE id = ?", (id,)).fetchone():
                return True
    return False


def retired_row(kb: KnowledgeBase, id: str) -> int | None:
    """Return the row that a retired concept has kept, None of one that never had one or lives."""
    with closing(connect(kb.file, "ro")) as connection:
        found = connection.execute("SELECT row FROM concepts WHERE id = ? AND retired", (id,)).fetchone()
    return None if found is None else int(found[0])


def _end(kb: KnowledgeBase, id: str) -> tuple[str, str]:
    """Return id and name of the live concept that a retired one leads to."""
    try:
        end = kb[kb.row(id)]
    except UnknownConceptError:
        return "", ""
    return end.id, end.name


@functools.lru_cache(maxsize=4)  # what was looked up for one measure or system serves the next one too
def row_of(kb: KnowledgeBase | Terminologies) -> Callable[[str], int | None]:
    """Return what maps an id to the row of the live concept, itself or its successor, or to None; each asked once."""
    known: dict[str, int | None] = {}

    def row(id: str) -> int | None:
        if id not in known:
            try:
                known[id] = kb.row(id)
            except UnknownConceptError:
                known[id] = None
        return known[id]

    return row


@functools.lru_cache(maxsize=4)
def successor(kb: KnowledgeBase | Terminologies | None) -> Callable[[str], str]:
    """Return what maps an id to the live concept that replaced it; live and unknown ids map to themselves.

    Args:
        kb: where retired ids are looked up, each once; None = every id stays.

    >>> successor(None)("HP:0001250")
    'HP:0001250'
    """
    if kb is None:
        return str
    known: dict[str, str] = {}
    find = row_of(kb)

    def live(id: str) -> str:
        if id not in known:
            row = find(id)
            known[id] = id if row is None else kb.id(row)
        return known[id]

    return live
