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
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from linnet.corpora.faults import Faults, Held
from linnet.corpora.layout import hull
from linnet.corpora.mention_changes import Changes, said_assertion
from linnet.corpora.mention_table import UNCALIBRATED, Row, clip, split
from linnet.corpora.said import understood
from linnet.corpora.written_concepts import WrittenConcepts
from linnet.data import Document, Mention, Rows, Span, by_position
from linnet.errors import DataError, FormatError, did_you_mean

__all__ = ["Table"]

PARTS = re.compile(r"[0-9]{1,12} [0-9]{1,12}(?:;[0-9]{1,12} [0-9]{1,12})+")
NUMBER = re.compile(r"[0-9]{1,12}")
WRITTEN_ID = re.compile(r"[:0-9]")  # what ids have and names seldom
YES = ("yes", "y", "true", "right", "correct", "ok", "1", "ja", "j", "richtig", "korrekt", "wahr")
NO = ("no", "n", "false", "wrong", "incorrect", "0", "nein", "falsch")
WHERE = ("start", "end", "text")


@dataclass(frozen=True)
class Table:
    """What the rows of a file have in common.

    Args:
        path: how messages name the file.
        faults: what is done about rows that cannot be read.
        corrected: people went through it: what it holds is gold, unless `found` shows that they touched nothing.
        kb: a knowledge base, or several, that know ids and names of concepts.
        found: rows with the columns `FOUND`, of what there was before; None where the file does not say.
    """

    path: str
    faults: Faults
    corrected: bool = False
    kb: Rows | None = None
    found: Sequence[Row] | None = None

    @cached_property
    def changes(self) -> Changes:
        """What people did."""
        return Changes(self.path, self.kb, self.found)

    def mentions(self, rows: Sequence[Row], doc: Document) -> tuple[Mention, ...]:
        """Return the mentions that rows say a document has."""
        marked = {place for row in rows if (place := _place(row))}
        given: set[object] = set()
        made = self.faults.make_each(partial(self._mention, doc=doc, marked=marked, given=given), rows)
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
        docs = table._attach(rows, texts)
        kept: Counter[str] = Counter()
        if self.found is not None:
            read = list(docs)  # the last row may be the first that was changed
            table.changes.tell_unmarked(read)
            docs = iter(read)
        for doc in docs:
            if table.changes.none:
                kept.update(mention.source for mention in doc.mentions or ())
            if not held.errors:
                yield _accepted(doc) if self.corrected and not table.changes.none else doc
        held.stop()
        if self.corrected:
            table.changes.say(kept)

    def _attach(self, rows: Iterable[Row], texts: Iterable[Document]) -> Iterator[Document]:
        waiting: dict[str, list[Row]] = {}
        for row in rows:
            waiting.setdefault(row.cells["document"], []).append(row)
        known = itertools.chain.from_iterable(waiting.values()) if self.found is None else self.found
        ids = (id for row in known for id in self.changes.ids(row.cells, row))
        self._ids_there.update(id for id in ids if self.found or WRITTEN_ID.search(id))
        seen: set[str] = set()
        for doc in texts:
            if doc.id in seen:
                problem = (
                    f"two of the texts are document {doc.id!r}: the mentions of {self.path} cannot tell them apart"
                )
                raise DataError(problem)
            seen.add(doc.id)
            marked = waiting.pop(doc.id, [])
            self.changes.count_deleted(doc.id, marked)
            found = self.mentions(marked, doc)
            yield replace(doc, mentions=found if self.corrected else (*(doc.mentions or ()), *found))
        for left, (id, [first, *_]) in zip(range(len(waiting) - 1, -1, -1), waiting.items(), strict=True):
            problem = f"there is no text for document {id!r}" + (f", nor for {left:,} others" if left else "")
            self.faults.leave_out(self.fault(first, problem + did_you_mean(id, itertools.islice(seen, 10_000))))

    def fault(self, row: Row, problem: str) -> FormatError:
        """Return the error of a row."""
        return FormatError(self.path, problem, line=row.line)

    def _mention(self, row: Row, doc: Document, marked: Collection[Span], given: set[object]) -> Mention | None:
        by_hand = row.cells.get("right_concept", "").strip()
        if not _is_marked(row):
            if by_hand:
                raise self.fault(row, f"says {by_hand!r} of nothing: fill in document and text, or delete the row")
            return None
        if self._is_wrong(row) and not by_hand:
            self.changes.done["rejected"] += 1
            return None
        try:
            spans, moved = self._spans(row, doc, marked)
            start, end, parts = hull(spans)
            concepts, told = self._concepts(row), _said(row.cells)
            mention = Mention(
                start,
                end,
                parts=parts,
                types=self._types(row, concepts),
                source=row.cells.get("source") or "gold",  # type: ignore[arg-type]  # checked by the record
                concepts=concepts,
                **_probability(row.cells),
                terminology=row.cells.get("terminology", "") or self._holder(concepts),
                assertion=told.get("assertion", ""),
                meta=told.get("meta", {}) | ({"columns": row.others} if row.others else {}),
            )
        except (DataError, ValueError) as error:
            raise self.fault(row, str(error)) from error
        if self.corrected and self.changes.is_repeated(row, mention, given):
            return None
        self.changes.count(row, mention, moved=moved)
        if by_hand or moved or self._is_typed(row):  # nobody said how probable that is
            return replace(mention, source="gold", probability=None, calibration="")
        return mention

    def _is_wrong(self, row: Row) -> bool:
        said = row.cells.get("correct", "").strip().casefold()
        if said and said not in YES + NO:
            expected = f"yes (or {', '.join(YES[1:])}), no (or {', '.join(NO[1:])}), or nothing"
            raise self.fault(row, f"column correct: expected {expected}, found {said!r}")
        return said in NO

    # --- concepts ----------------------------------------------------------------------------------------------------

    def _concepts(self, row: Row) -> tuple[str, ...] | None:
        type = next(iter(row.types), "")
        if by_hand := row.cells.get("right_concept", "").strip():
            return self._ids(row, "right_concept", split(by_hand), type)
        if "concepts" not in row.cells:
            return None
        ids = _listed(row)
        if not (ids or row.cells["start"]):
            raise self.fault(row, f"adds {row.cells['text']!r} without a concept: fill in right_concept, NIL for none")
        if self._is_typed(row):
            return self._ids(row, "concepts", ids, type)
        return self.changes.ids(row.cells, row)

    def _is_typed(self, row: Row) -> bool:
        """Return whether somebody wrote over concepts, as far as the table says: at least a name, or NIL."""
        if not self.corrected or self.found is None:
            return self.corrected and not all(map(WRITTEN_ID.search, _listed(row)))
        return not self._ids_there.issuperset(_listed(row))

    def _ids(self, row: Row, column: str, said: Sequence[str], type: str) -> tuple[str, ...]:
        """Return the ids that somebody wrote, or means by names."""
        try:
            return self._written.ids(said, type=type, terminology=row.cells.get("terminology", ""))
        except ValueError as error:
            raise self.fault(row, f"column {column}: {error}") from error

    @cached_property
    def _written(self) -> WrittenConcepts:
        return WrittenConcepts(self.kb, self._ids_there)

    @cached_property
    def _ids_there(self) -> set[str]:
        """The ids that the table had before people wrote any, as far as it says."""
        return set()

    def _types(self, row: Row, concepts: Sequence[str] | None) -> tuple[str, ...]:
        """Return the types of a row; those of a concept that people gave it are what the knowledge base says."""
        if not self.corrected or concepts is None or self.changes.keeps(row, concepts):
            return row.types
        if self.changes.is_added(row) or (self._kb_types and self._kb_types.isdisjoint(row.types)):
            return row.types or self._types_of(concepts)  # a tagger's are of the text, whatever its concept is
        return self._types_of(concepts)

    @cached_property
    def _kb_types(self) -> frozenset[str]:
        return frozenset(getattr(self.kb, "types", dict)())

    def _types_of(self, concepts: Sequence[str]) -> tuple[str, ...]:
        kb: Any = self.kb
        return tuple(dict.fromkeys(type for id in concepts if kb is not None and id in kb for type in kb[id].types))

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


def _accepted(doc: Document) -> Document:
    return replace(doc, mentions=tuple(replace(mention, source="gold") for mention in doc.mentions or ()))


def _is_marked(row: Row) -> bool:
    """Return whether a row marks something, and does not just name a document."""
    return any(row.cells.get(column, "").strip() for column in WHERE)


def _listed(row: Row) -> tuple[str, ...]:
    return split(row.cells["concepts"]) if row.cells.get("concepts") else ()


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


def _said(cells: Mapping[str, str]) -> dict[str, Any]:
    try:
        return understood(said_assertion(cells))
    except ValueError as error:
        raise ValueError(f"column assertion: {error}") from None


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
