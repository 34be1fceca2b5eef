"""What people did to a table of mentions: each row against what was found, counted and told.

A sheet says what was found (`FOUND`); where a file does not, only what a row says itself can be compared.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from linnet.corpora.mention_table import Row, clip, join, split
from linnet.corpora.names import namer
from linnet.corpora.said import said
from linnet.corpora.written_concepts import held_id
from linnet.data import Document, Mention, Rows
from linnet.kb import KnowledgeBase
from linnet.kb.successors import successor

__all__ = ["FOUND", "Changes", "said_assertion"]

logger = logging.getLogger(__name__)

BY_HAND = ("correct", "right_concept")
KEY = ("document", "start", "end", "parts")  # what says which mention of those that were found a row is of
FOUND = ("document", "start", "end", "concepts", "names", "assertion", "parts")  # columns of what was found
CONCEPT, ASSERTION, PLACE = "with another concept", "with another assertion", "in another place"
UNCHANGED = "with place and concept as they were"  # where nobody knows which assertion there was
ALL_UNCHANGED = "with place, concept and assertion as they were"
REPEATED = "added a second time and left out"
SHOWN = 5  # texts that a warning names
DONE = ("rejected", "deleted", CONCEPT, ASSERTION, PLACE, "added", REPEATED, UNCHANGED, ALL_UNCHANGED)


@dataclass(frozen=True)
class Changes:
    """Counts what people did to the rows of a table.

    Args:
        path: how messages name the file.
        kb: a knowledge base, or several, that know names of concepts.
        found: rows with the columns `FOUND`, of what there was before; None where the file does not say.
    """

    path: str
    kb: Rows | None = None
    found: Sequence[Row] | None = None
    done: Counter[str] = field(default_factory=Counter)  # what people did -> in how many rows
    added: set[str] = field(default_factory=set)  # what the rows that people added say, without case

    @property
    def none(self) -> bool:
        """Whether nobody did anything to a table that says what was found: then nobody need have read it."""
        return self.found is not None and self.done == Counter({ALL_UNCHANGED: len(self.found)})

    def count(self, row: Row, mention: Mention, *, moved: bool) -> None:
        """Count a row by all that people did to it."""
        found = self._before.get(_key(row), [])
        if self.is_added(row):
            self.done["added"] += 1
            self.added.add(row.cells["text"].strip().casefold())
            return
        before = found or [row.cells]
        same = [cells for cells in before if self._had(cells, row, mention.concepts)]
        changes = {
            CONCEPT: not same,
            ASSERTION: said(mention) not in map(said_assertion, same or before),
            PLACE: moved or (self.found is not None and not found),
        }
        unchanged = UNCHANGED if self.found is None else ALL_UNCHANGED
        self.done.update([what for what, changed in changes.items() if changed] or [unchanged])
        self.done["marked"] += bool(row.others or any(row.cells.get(column) for column in BY_HAND))
        self.done["names"] += bool(same) and self._is_misnamed(row, mention, found)

    def is_repeated(self, row: Row, mention: Mention, given: set[object]) -> bool:
        """Return whether somebody added a row that says what one of those `given` said, and count it."""
        what = (mention.spans, frozenset(mention.concepts or ()), said(mention))
        repeated = what in given and self.is_added(row)
        given.add(what)
        self.done[REPEATED] += repeated
        return repeated

    def ids(self, cells: Mapping[str, str], row: Row) -> tuple[str, ...]:
        """Return the concepts that cells have, those of `row` or of what was found there.

        What Linnet wrote stays as it is, and so does what the knowledge base has. Others leave prefixes out.
        """
        listed = split(cells["concepts"]) if cells.get("concepts") else ()
        if self.found is not None or (self.kb is None and row.cells.get("source") == "pred"):
            return listed
        kb = getattr(self.kb, "kbs", {}).get(row.cells.get("terminology", ""), self.kb)
        return tuple(held_id(kb, id.strip(), next(iter(row.types), "")) for id in listed)

    def keeps(self, row: Row, concepts: Sequence[str]) -> bool:
        """Return whether concepts are those that a row had before people went through it."""
        return any(self._had(cells, row, concepts) for cells in self._before.get(_key(row), [row.cells]))

    def is_added(self, row: Row) -> bool:
        """Return whether somebody added a row."""
        return not row.cells["start"] or not (_key(row) in self._before or row.cells.get("context", "kept"))

    def count_deleted(self, document: str, rows: Sequence[Row]) -> None:
        """Count what was found in a document and has no row any more, not even one in another place."""
        gone = self._keys.get(document, Counter()) - Counter(map(_key, rows))
        moved = [row for row in rows if row.cells.get("context") and _key(row) not in self._before]
        self.done["deleted"] += max(gone.total() - len(moved), 0)

    def _had(self, cells: Mapping[str, str], row: Row, concepts: Sequence[str] | None) -> bool:
        """Return whether cells have the concepts."""
        return set(self.ids(cells, row)) == set(concepts or ())

    def _is_misnamed(self, row: Row, mention: Mention, found: Sequence[Mapping[str, str]]) -> bool:
        """Return whether a row says other names than were found or, where these are not known, than its concepts'."""
        said = row.cells.get("names", "")
        if found:
            return bool(said) and all(said != cells["names"] for cells in found)
        live = successor(cast("KnowledgeBase | None", self.kb))
        names = [self._name(id) if live(id) == id else "" for id in mention.concepts or ()]  # retired: another's
        return bool(said and names) and all(names) and said != clip(join(names))

    @cached_property
    def _before(self) -> Mapping[tuple[str, ...], list[Mapping[str, str]]]:
        """What was found, by `KEY`: several mentions may be in one place."""
        found: dict[tuple[str, ...], list[Mapping[str, str]]] = {}
        for row in self.found or ():
            found.setdefault(_key(row), []).append(row.cells)
        return found

    @cached_property
    def _keys(self) -> Mapping[str, Counter[tuple[str, ...]]]:
        """How often each `KEY` was found, by document."""
        counts: dict[str, Counter[tuple[str, ...]]] = {}
        for key, found in self._before.items():
            counts.setdefault(key[0], Counter())[key] = len(found)
        return counts

    @cached_property
    def _name(self) -> Callable[[str], str]:
        return namer(self.kb)

    def tell_unmarked(self, docs: Iterable[Document]) -> None:
        """Warn of texts that people added in one place and left unmarked in others: a reader of all would not."""
        if not (added := sorted(self.added - {""}, key=len, reverse=True)):
            return
        pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, added))})(?!\w)", re.IGNORECASE)
        left: Counter[str] = Counter()
        for doc in docs:
            marked = [span for mention in doc.mentions or () for span in mention.spans]
            places = (place.span() for place in pattern.finditer(doc.text))
            left.update(
                doc.text[start:end].casefold()
                for start, end in places
                if not any(start < span.end and span.start < end for span in marked)
            )
        if left:
            shown = ", ".join(f"{text!r} {count:,}" for text, count in left.most_common(SHOWN))
            problem = f"added, but unmarked in other places, which count as rejected ({shown})"
            logger.warning("%s: %s: add rows for these, too, with start and end", self.path, problem)

    def say(self, kept: Counter[str]) -> None:
        """Say what was corrected, so that people see whether all of it arrived."""
        counts = ", ".join(f"{self.done[what]:,} {what}" for what in DONE if self.done[what])
        logger.info("%s: rows: %s", self.path, counts or "none")
        if kept["pred"]:
            problem = "nobody changed anything, so what was found is not taken as gold"
            logger.warning("%s: %s: if people read it all, write yes into correct of one row", self.path, problem)
        if unread := self.done["names"]:
            problem = "rows have names that are not those of their concepts; names are not read, concepts are"
            logger.warning("%s: %s %s: write what is right into right_concept", self.path, f"{unread:,}", problem)


def said_assertion(cells: Mapping[str, str]) -> str:
    """Return the assertion that cells say."""
    return cells.get("assertion", "").strip().casefold()


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row.cells.get(column, "") for column in KEY)
