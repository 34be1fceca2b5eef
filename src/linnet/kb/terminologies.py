"""Several knowledge bases asked as one: what tables, pages and files need of the concepts of a document."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from linnet.data import Concept
from linnet.errors import UnknownConceptError
from linnet.kb.knowledge_base import KnowledgeBase
from linnet.kb.search import Hit, hint

__all__ = ["Terminologies"]

STRIDE = 1 << 26  # rows of one after those of the one before: 32 knowledge bases of 67 million rows fit into int32


class Terminologies:
    """Knowledge bases by name; an id that several hold is the first one's.

    It has rows of its own, which hold for no version of any of them: candidates that travel have ids instead
    (`linnet.codec.with_ids`).
    """

    def __init__(self, kbs: Mapping[str, KnowledgeBase]) -> None:
        self.kbs = dict(kbs)
        self._listed = list(self.kbs.values())
        self.path = Path(" and ".join(kb.path.name for kb in self._listed))  # what messages call it

    @property
    def info(self) -> dict[str, str]:
        """Names, versions and sources of all of them, as a `KnowledgeBase` has its own."""
        return {
            "name": ", ".join(self.kbs),
            "version": ", ".join(kb.version for kb in self._listed),
            "sources": json.dumps([source for kb in self._listed for source in kb.sources]),
        }

    def types(self) -> dict[str, int]:
        """Return the semantic types of all of them, with how many concepts have each."""
        return dict(sum((Counter(kb.types()) for kb in self._listed), Counter[str]()))

    def row(self, id: str, /) -> int:
        """Return the row of the concept `id`, of its successor if it is retired.

        Raises:
            UnknownConceptError: none of them holds it.
        """
        for place, kb in enumerate(self._listed):
            if id in kb:
                return place * STRIDE + kb.row(id)
        raise UnknownConceptError(f"no concept {id!r} in {self.path}")

    def id(self, row: int, /) -> str:
        """Return the id of the concept in `row`."""
        kb, own = self._at(row)
        return kb.id(own)

    def __getitem__(self, row: int | str, /) -> Concept:
        """Return the concept in a row, or with an id."""
        if isinstance(row, str) and row not in self:
            raise UnknownConceptError(f"no concept {row!r} in {self.path}{hint(self, row)}")
        kb, own = self._at(self.row(row) if isinstance(row, str) else row)
        return kb[own]

    def __contains__(self, id: str) -> bool:
        return any(id in kb for kb in self._listed)

    def meant(self, id: str) -> str:
        """Return the live concept's id that `id` is another spelling of; "" if there is none."""
        return next((way for kb in self._listed if (way := kb.meant(id))), "")

    def search(self, text: str, *, limit: int = 20) -> list[Hit]:
        """Return concepts of all of them for what a person types, those whose name is equal first."""
        found = [
            hit._replace(row=place * STRIDE + hit.row)
            for place, kb in enumerate(self._listed)
            for hit in kb.search(text, limit=limit)
        ]
        return sorted(found, key=lambda hit: hit.tier not in ("id", "exact"))[:limit]

    def name_texts(self, rows: Sequence[int]) -> list[str]:
        """Return the texts of the names in these rows."""
        return [kb.name_texts([own])[0] for kb, own in map(self._at, rows)]

    def name_row(self, row: int, text: str) -> int:
        """Return the row of the name `text` of the concept in `row`, -1 if it has no such name."""
        kb, own = self._at(row)
        found = kb.name_row(own, text)
        return found if found < 0 else row - own + found

    def _at(self, row: int) -> tuple[KnowledgeBase, int]:
        place, own = divmod(row, STRIDE)
        if not 0 <= place < len(self._listed):
            raise UnknownConceptError(f"no row {row} in {self.path}")
        return self._listed[place], own
