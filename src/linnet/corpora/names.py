"""Preferred names of concepts for formats that write them beside ids."""

from __future__ import annotations

from collections.abc import Callable

from linnet.data import Concept, Rows
from linnet.errors import UnknownConceptError

__all__ = ["namer"]


def namer(rows: Rows | None) -> Callable[[str], str]:
    """Return a function from a concept's id to its preferred name that looks up every id once.

    The name is empty without a knowledge base, with one that has no names, and for ids that it does not hold.

    >>> namer(None)("HP:0001250")
    ''
    """
    concept: Callable[[int], Concept] | None = getattr(rows, "__getitem__", None)
    names: dict[str, str] = {}

    def name(id: str) -> str:
        if rows is None or concept is None:
            return ""
        if id not in names:
            try:
                names[id] = concept(rows.row(id)).name
            except UnknownConceptError:
                names[id] = ""
        return names[id]

    return name
