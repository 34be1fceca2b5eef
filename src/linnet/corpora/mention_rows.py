"""Rows of a table of mentions, as people hand them back, to mentions: what was corrected, added and moved.

``correct``
    ``no``: there is no such mention, unless right_concept says what it is; ``yes`` or empty: it is right. `YES` and
    `NO` have more words for both.
``right_concept``
    what is right instead of concepts: one id or several (``HP:0001250|HP:0001263``), ``NIL`` for none; with a knowledge
    base also names of concepts. A name may stand beside its id, as search results and pages show them.
a row without start and end
    was added by hand: its text is looked for in the document, where rows do not mark it already.
a text that its offsets do not say
    in a corrected table, a mention that was made longer or shorter: it is looked for across the offsets.
"""

from __future__ import annotations

import itertools
import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, cast

from linnet.corpora.faults import Faults, Held
from linnet.corpora.ids import to_curie
from linnet.corpora.layout import hull
from linnet.corpora.mention_table import UNCALIBRATED, clip, join, split
from linnet.corpora.names import namer
from linnet.corpora.said import said, understood
from linnet.corpora.written_concepts import WrittenConcepts
from linnet.data import Document, Mention, Rows, Span, by_position
from linnet.errors import DataError, FormatError, did_you_mean
from linnet.kb import KnowledgeBase
from linnet.kb.successors import successor

__all__ = ["FOUND", "Row", "Table"]

logger = logging.getLogger(__name__)

PARTS = re.compile(r"[0-9]{1,12} [0-9]{1,12}(?:;[0-9]{1,12} [0-9]{1,12})+")
NUMBER = re.compile(r"[0-9]{1,12}")
WRITTEN_ID = re.compile(r"[:0-9]")  # what ids have and names seldom
YES = ("yes", "y", "true", "right", "correct", "ok", "1", "ja", "j", "richtig", "korrekt", "wahr")
NO = ("no", "n", "false", "wrong", "incorrect", "0", "nein", "falsch")
WHERE = ("start", "end", "text")
KEY = ("document", "start", "end", "parts")  # what says which mention of those that were found a row is of
FOUND = ("document", "start", "end", "concepts", "names", "assertion", "parts")  # columns of what was found
CONCEPT, ASSERTION, PLACE = "with another concept", "with another assertion", "in another place"
UNCHANGED = "with place and concept as they were"  # where nobody knows which assertion there was
ALL_UNCHANGED = "with place, concept and assertion as they were"
DONE = ("rejected", "deleted", CONCEPT, ASSERTION, PLACE, "added", UNCHANGED, ALL_UNCHANGED)


class Row(NamedTuple):
    """One row: our columns by name, the others, and the line it begins in."""

    line: int
    cells: Mapping[str, str]
    others: Mapping[str, str]

    @classmethod
    def of(cls, line: int, row: Sequence[str], header: Sequence[str], places: Mapping[str, int]) -> Row:
        """Return the row of these cells, of which ours are at `places`."""
        ours = set(places.values())
        others = {header[place]: cell for place, cell in enumerate(row) if place not in ours and cell}
        return cls(line, {column: row[place] for column, place in places.items()}, others)


@dataclass(frozen=True)
class Table:
    """What the rows of a file have in common.

    Args:
        path: how messages name the file.
        faults: what is done about rows that cannot be read.
        corrected: people went through it: what it holds is gold.
        kb: a knowledge base, or several, that know ids and names of concepts.
        found: rows with the columns `FOUND`, of what there was before; None where the file does not say.
    """

    path: str
    faults: Faults
    corrected: bool = False
    kb: Rows | None = None
    found: Sequence[Row] | None = None
    done: Counter[str] = field(default_factory=Counter)  # what people did -> in how many rows

    def mentions(self, rows: Sequence[Row], doc: Document) -> tuple[Mention, ...]:
        """Return the mentions that rows say a document has."""
        marked = {place for row in rows if (place := _place(row))}
        made = self.faults.make_each(partial(self._mention, doc=doc, marked=marked), rows)
        mentions = tuple(mention for mention in made if mention is not None)
        return by_position(mentions) if self.corrected else mentions  # people sort and filter

    def attach(self, rows: Iterable[Row], texts: Iterable[Document]) -> Iterator[Document]:
        """Yield documents with their mentions, those of a corrected table in the place of what they had.

        Raises:
            FormatError: a row that cannot be read, or of a document that there is not; in a corrected table all such
                rows, and no further document is yielded from the first on.
            DataError: two documents have the same id.
        """
        held = Held()
        table = replace(self, faults=held) if self.corrected and self.faults.stops else self
        for doc in table._attach(rows, texts):
            if not held.errors:
                yield doc
        held.stop()
        if self.corrected:
            self._say_done()

    def _attach(self, rows: Iterable[Row], texts: Iterable[Document]) -> Iterator[Document]:
        waiting: dict[str, list[Row]] = {}
        for row in rows:
            waiting.setdefault(row.cells["document"], []).append(row)
        seen: set[str] = set()
        for doc in texts:
            if doc.id in seen:
                problem = (
                    f"two of the texts are document {doc.id!r}: the mentions of {self.path} cannot tell them apart"
                )
                raise DataError(problem)
            seen.add(doc.id)
            marked = waiting.pop(doc.id, [])
            self._count_deleted(doc.id, marked)
            found = self.mentions(marked, doc)
            yield replace(doc, mentions=found if self.corrected else (*(doc.mentions or ()), *found))
        for left, (id, [first, *_]) in zip(range(len(waiting) - 1, -1, -1), waiting.items(), strict=True):
            problem = f"there is no text for document {id!r}" + (f", nor for {left:,} others" if left else "")
            self.faults.leave_out(self.fault(first, problem + did_you_mean(id, itertools.islice(seen, 10_000))))

    def _say_done(self) -> None:
        """Say what was corrected, so that people see whether all of it arrived."""
        counts = ", ".join(f"{self.done[what]:,} {what}" for what in DONE if self.done[what])
        logger.info("%s: rows: %s", self.path, counts or "none")
        if unread := self.done["names"]:
            problem = "rows have names that are not those of their concepts; names are not read, concepts are"
            logger.warning("%s: %s %s: write what is right into right_concept", self.path, f"{unread:,}", problem)

    def fault(self, row: Row, problem: str) -> FormatError:
        """Return the error of a row."""
        return FormatError(self.path, problem, line=row.line)

    def _mention(self, row: Row, doc: Document, marked: Collection[Span]) -> Mention | None:
        by_hand = row.cells.get("right_concept", "").strip()
        if not _is_marked(row):
            if by_hand:
                raise self.fault(row, f"says {by_hand!r} of nothing: fill in document and text, or delete the row")
            return None
        if self._is_wrong(row) and not by_hand:
            self.done["rejected"] += 1
            return None
        try:
            spans, moved = self._spans(row, doc, marked)
            start, end, parts = hull(spans)
            concepts, told = self._concepts(row), _said(row.cells)
            mention = Mention(
                start,
                end,
                parts=parts,
                types=_types(row),
                source=row.cells.get("source") or "gold",  # type: ignore[arg-type]  # checked by the record
                concepts=concepts,
                **_probability(row.cells),
                terminology=row.cells.get("terminology", "") or self._holder(concepts),
                assertion=told.get("assertion", ""),
                meta=told.get("meta", {}) | ({"columns": row.others} if row.others else {}),
            )
        except (DataError, ValueError) as error:
            raise self.fault(row, str(error)) from error
        self._count(row, mention, moved=moved)
        if by_hand or moved:  # nobody said how probable that is
            return replace(mention, source="gold", probability=None, calibration="")
        return replace(mention, source="gold") if self.corrected else mention

    def _count(self, row: Row, mention: Mention, *, moved: bool) -> None:
        """Count a row by all that people did to it."""
        found = self._before.get(_key(row), [])
        if not row.cells["start"] or not (found or row.cells.get("context", "kept")):
            self.done["added"] += 1
            return
        before = found or [row.cells]
        same = [cells for cells in before if _had(cells, mention)]
        changes = {
            CONCEPT: not same,
            ASSERTION: said(mention) not in map(_said_assertion, same or before),
            PLACE: moved or (self.found is not None and not found),
        }
        unchanged = UNCHANGED if self.found is None else ALL_UNCHANGED
        self.done.update([what for what, changed in changes.items() if changed] or [unchanged])
        self.done["names"] += bool(same) and self._is_misnamed(row, mention, found)

    def _count_deleted(self, document: str, rows: Sequence[Row]) -> None:
        """Count what was found in a document and has no row any more, not even one in another place."""
        gone = self._keys.get(document, Counter()) - Counter(map(_key, rows))
        moved = [row for row in rows if row.cells.get("context") and _key(row) not in self._before]
        self.done["deleted"] += max(gone.total() - len(moved), 0)

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

    def _is_wrong(self, row: Row) -> bool:
        said = row.cells.get("correct", "").strip().casefold()
        if said and said not in YES + NO:
            expected = f"yes (or {', '.join(YES[1:])}), no (or {', '.join(NO[1:])}), or nothing"
            raise self.fault(row, f"column correct: expected {expected}, found {said!r}")
        return said in NO

    # --- concepts ----------------------------------------------------------------------------------------------------

    def _concepts(self, row: Row) -> tuple[str, ...] | None:
        type = next(iter(_types(row)), "")
        if by_hand := row.cells.get("right_concept", "").strip():
            return self._ids(row, "right_concept", split(by_hand), type)
        if "concepts" not in row.cells:
            return None
        ids = split(row.cells["concepts"]) if row.cells["concepts"] else ()
        if not (ids or row.cells["start"]):
            raise self.fault(row, f"adds {row.cells['text']!r} without a concept: fill in right_concept, NIL for none")
        if self.corrected and not all(map(WRITTEN_ID.search, ids)):  # somebody typed a name, or NIL
            return self._ids(row, "concepts", ids, type)
        return tuple(to_curie(id, type) for id in ids)

    def _ids(self, row: Row, column: str, said: Sequence[str], type: str) -> tuple[str, ...]:
        """Return the ids that somebody wrote, or means by names."""
        try:
            return self._written.ids(said, type=type, terminology=row.cells.get("terminology", ""))
        except ValueError as error:
            raise self.fault(row, f"column {column}: {error}") from error

    @cached_property
    def _written(self) -> WrittenConcepts:
        return WrittenConcepts(self.kb)

    def _holder(self, concepts: Sequence[str] | None) -> str:
        """Return the name of that of several terminologies which holds the concepts."""
        kbs = getattr(self.kb, "kbs", {})
        return next((name for name, kb in kbs.items() if concepts and concepts[0] in kb), "")

    # --- places ------------------------------------------------------------------------------------------------------

    def _spans(self, row: Row, doc: Document, marked: Collection[Span]) -> tuple[list[Span], bool]:
        """Return where a mention is, and whether that is not where the offsets say."""
        said = row.cells.get("text", "")
        if said.strip() and not (row.cells["start"] or row.cells["end"]):
            return [self._found(row, doc, said, marked)], True
        place = _place(row)
        if place is None:
            problem = f"expected two numbers for start and end, found {row.cells['start']!r} and {row.cells['end']!r}"
            raise self.fault(row, problem)
        if not place.start < place.end <= len(doc.text):
            problem = f"the span {place.start}-{place.end} is empty or lies outside the text of"
            outside = self.fault(row, f"{problem} {len(doc.text)} characters of document {doc.id!r}")
            return self.faults.move(outside, doc.text, said, [place]), False
        spans = _parts(row.cells.get("parts", "")) or [place]
        surface = doc.surface(Mention(*place, parts=tuple(spans) if len(spans) > 1 else ()))
        if "text" not in row.cells or said == surface or (self.corrected and _flat(said) == _flat(clip(surface))):
            return spans, False
        if self.corrected and (across := _across(said, doc.text, place)):
            return [across], True
        problem = f"the offsets {place.start}-{place.end} of document {doc.id!r} say {surface!r}"
        another = self.fault(row, f"{problem}, the row says {said!r}; offsets count code points")
        return sorted(self.faults.move(another, doc.text, said, spans)), False

    def _found(self, row: Row, doc: Document, said: str, marked: Collection[Span]) -> Span:
        """Return where the text of a row that has no offsets stands in the document."""
        places = _occurrences(said, doc.text)
        free = [place for place in places if place not in marked]
        if len(free) == 1:
            return free[0]
        what = f"the text {said!r} of a row without start and end"
        if not places:
            raise self.fault(row, f"{what} does not occur in document {doc.id!r}")
        if not free:
            raise self.fault(row, f"{what} is marked in document {doc.id!r} already: correct the row that marks it")
        where = ", ".join(f"{start}-{end}" for start, end in free[:5])
        problem = f"{what} occurs {len(free)} times in document {doc.id!r}, at {where}"
        raise self.fault(row, f"{problem}: fill in start and end")


def _is_marked(row: Row) -> bool:
    """Return whether a row marks something, and does not just name a document."""
    return any(row.cells.get(column, "").strip() for column in WHERE)


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row.cells.get(column, "") for column in KEY)


def _had(cells: Mapping[str, str], mention: Mention) -> bool:
    """Return whether cells have the concepts of a mention."""
    ids = split(cells["concepts"]) if cells.get("concepts") else ()
    return {to_curie(id, next(iter(mention.types), "")) for id in ids} == set(mention.concepts or ())


def _place(row: Row) -> Span | None:
    """Return start and end of a row, unless they are no numbers."""
    found = [row.cells["start"], row.cells["end"]]
    return Span(*map(int, found)) if all(map(NUMBER.fullmatch, found)) else None


def _flat(text: str) -> str:
    return " ".join(text.split())


def _occurrences(said: str, text: str) -> list[Span]:
    """Return where words stand in a text: as whole words if they do so anywhere, in the same case if anywhere."""
    words = r"\s+".join(map(re.escape, said.split()))
    for pattern in (rf"(?<!\w){words}(?!\w)", words):
        for flags in (0, re.IGNORECASE):
            if found := [Span(*match.span()) for match in re.finditer(pattern, text, flags)]:
                return found
    return []


def _across(said: str, text: str, span: Span) -> Span | None:
    """Return the one place across a span where a text stands that was made longer or shorter than it."""
    places = _occurrences(said, text) if said.strip() else []
    found = [place for place in places if place.start < span.end and span.start < place.end]
    return found[0] if len(found) == 1 else None


def _said_assertion(cells: Mapping[str, str]) -> str:
    return cells.get("assertion", "").strip().casefold()


def _said(cells: Mapping[str, str]) -> dict[str, Any]:
    try:
        return understood(_said_assertion(cells))
    except ValueError as error:
        raise ValueError(f"column assertion: {error}") from None


def _types(row: Row) -> tuple[str, ...]:
    return split(row.cells["types"]) if row.cells.get("types") else ()


def _parts(cell: str) -> list[Span]:
    if not cell:
        return []
    if not PARTS.fullmatch(cell):
        raise ValueError(f"expected parts such as 0 4;10 14, found {cell!r}")
    return [Span(*map(int, pair.split(" "))) for pair in cell.split(";")]


def _probability(cells: Mapping[str, str]) -> dict[str, Any]:
    calibration = cells.get("calibration", "")
    found: dict[str, Any] = {"calibration": "" if calibration == UNCALIBRATED else calibration}
    if cell := cells.get("probability", ""):
        try:
            found["probability"] = float(cell.replace(",", "."))  # as most of Europe writes it
        except ValueError:
            raise ValueError(f"expected a probability from 0 to 1, found {cell!r}") from None
    return found
