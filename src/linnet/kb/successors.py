"""Where ids lead in a knowledge base: to the concept itself, to the successor of a retired one, or nowhere."""

from __future__ import annotations

import functools
from collections.abc import Callable

from linnet.errors import UnknownConceptError
from linnet.kb.knowledge_base import KnowledgeBase
from linnet.kb.terminologies import Terminologies

__all__ = ["row_of", "successor"]


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
