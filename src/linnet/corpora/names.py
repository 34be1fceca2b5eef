"""Preferred names of concepts for formats that write them beside ids, and ids and names that are asked for once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from linnet.data import Concept, Document, Rows
from linnet.errors import DataError, UnknownConceptError
from linnet.kb import KnowledgeBase
from linnet.kb.terminologies import Terminologies

__all__ = ["Remembering", "documents", "holder", "known", "namer", "versions_of"]

REMEMBERED = 1 << 14  # of each kind


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
                names[id] = concept(rows.row(id)).name.replace("\0", "\ufffd")  # no text file can hold NUL
            except UnknownConceptError:
                names[id] = ""
        return names[id]

    return name


def known(docs: Document | Iterable[Document], kb: Rows | None) -> Rows | None:
    """Return what holds the concepts of documents: what is given, or what a pipeline returned with them."""
    return kb if kb is not None else getattr(docs, "concepts", None)


def documents(docs: object) -> Iterator[Document]:
    """Yield one document, or several, one at a time.

    Raises:
        DataError: something else is among them.

    >>> next(documents("No fits."))
    Traceback (most recent call last):
    ...
    linnet.errors.DataError: documents are expected, as a pipeline returns them, no str
    """
    several: Iterable[object] = docs if isinstance(docs, Iterable) and not isinstance(docs, str) else [docs]
    for doc in several:
        if not isinstance(doc, Document):
            raise DataError(f"documents are expected, as a pipeline returns them, no {type(doc).__name__}")
        yield doc


def versions_of(docs: Iterable[Document]) -> tuple[str, ...]:
    """Return the versions of the knowledge bases that the candidates of documents are of."""
    mentions = (mention for doc in docs for mention in doc.mentions or ())
    versions = dict.fromkeys(mention.candidates.kb for mention in mentions if mention.candidates is not None)
    return tuple(filter(None, versions))


def holder(versions: Iterable[str]) -> KnowledgeBase | Terminologies | None:
    """Return the concepts of the knowledge bases of these versions that are open in this process; None if none is."""
    kbs = [kb for version in versions if (kb := KnowledgeBase.opened(version)) is not None]
    if len(kbs) > 1:
        return Terminologies({f"{kb.info['name']} {kb.version}": kb for kb in kbs})
    return kbs[0] if kbs else None


class Remembering:
    """A knowledge base that is asked once for what many documents say: ids, names and concepts."""

    def __init__(self, rows: Any) -> None:
        self.row: Callable[[str], int] = lru_cache(REMEMBERED)(rows.row)
        self.id: Callable[[int], str] = lru_cache(REMEMBERED)(rows.id)
        for attribute in ("name_row", "__getitem__"):  # which not all have
            if ask := getattr(rows, attribute, None):
                setattr(self, attribute, lru_cache(REMEMBERED)(ask))
        if ask := getattr(rows, "name_texts", None):
            self.name_texts: Callable[[Sequence[int]], list[str]] = _RememberedTexts(ask)
        if hasattr(rows, "version"):
            self.version: str = rows.version

    @classmethod
    def of(cls, rows: Rows | None) -> Rows | None:
        """Return a knowledge base that remembers, or None without one."""
        return rows if rows is None or isinstance(rows, cls) else cls(rows)


class _RememberedTexts:
    """Asks at once for the texts of all names that it does not know."""

    def __init__(self, ask: Callable[[Sequence[int]], list[str]]) -> None:
        self._ask = ask
        self._known: dict[int, str] = {}

    def __call__(self, rows: Sequence[int]) -> list[str]:
        """Return the texts of names by their rows."""
        new = [row for row in rows if row not in self._known]
        if len(self._known) + len(new) > REMEMBERED:
            self._known.clear()
            new = list(rows)
        self._known.update(zip(new, self._ask(new) if new else (), strict=True))
        return [self._known[row] for row in rows]
