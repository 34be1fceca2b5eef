"""OMOP CDM 5.4: rows of NOTE_NLP (``omop``) and of NOTE (``omop_note``) as CSV, in the order of the CDM; only written.

NOTE_NLP has a row for each concept of a mention, one for each standard concept where a code maps to several. Concept
ids come from a folder of Athena (`linnet.corpora.athena`); without one they are 0. The code itself is always in
term_modifiers, with what the CDM has no column for: ``code=HP:0001250;Negation=true;probability=0.97``.

note_id is what ``meta["note_id"]`` or else the document's id says, if that is a whole number; else a number of 63 bits
that depends on the id alone, which needs a column of BIGINT: term_modifiers (``document=``) and NOTE's
note_source_value have the id. A spreadsheet's guards against formulas are not for databases: there are none here.

term_exists, term_temporal and the names Negation, Subject, Conditional, Uncertain and History follow OHDSI's
conventions. These count a term that is somewhat uncertain as existing; here it is "N", for what our rules call so
goes down to "rule out".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TextIO

from linnet import __version__
from linnet.corpora.athena import UNMAPPED, Athena, Mapped
from linnet.corpora.hospital import PATIENT, Faulty, clean, day_of, folded, moment, stated, surface, unread_day
from linnet.corpora.said import NO_RELATIVE, said
from linnet.data import Document, Mention
from linnet.errors import LinnetError
from linnet.frozen import EMPTY
from linnet.reporter import warn
from linnet.text.cells import csv_writer

__all__ = ["NOTE", "NOTE_NLP", "carried", "carried_note", "note_number", "write", "write_notes"]

NOTE_NLP = (
    "note_nlp_id", "note_id", "section_concept_id", "snippet", "offset", "lexical_variant", "note_nlp_concept_id",
    "note_nlp_source_concept_id", "nlp_system", "nlp_date", "nlp_datetime", "term_exists", "term_temporal",
    "term_modifiers",
)  # fmt: skip
NOTE = (
    "note_id", "person_id", "note_date", "note_datetime", "note_type_concept_id", "note_class_concept_id", "note_title",
    "note_text", "encoding_concept_id", "language_concept_id", "provider_id", "visit_occurrence_id", "visit_detail_id",
    "note_source_value", "note_event_id", "note_event_field_concept_id",
)  # fmt: skip
# Of the CDM's vocabulary: "EHR note" and "UTF-8"; 0 where nobody knows.
GIVEN = {"note_type_concept_id": "32831", "encoding_concept_id": "32678"}
GIVEN |= dict.fromkeys(("note_class_concept_id", "language_concept_id"), "0")
SEPARATORS = re.compile(r"[;\s]+")  # of modifiers
WHOLE = re.compile(r"0|[1-9][0-9]{0,17}")
NUMBER = "note_id"
HASHED = 1 << 62  # numbers from here on are hashes: nobody numbers so many notes
LONGEST, MODIFIERS, SOURCE_VALUE = 250, 2000, 50  # characters that columns hold
DECIMALS = 4
# what the text says -> term_exists, term_temporal, and what of it term_modifiers says
TOLD: dict[str, tuple[str, str, str]] = {
    "": ("", "", ""),
    "affirmed": ("Y", "Present", ""),
    "negated": ("N", "Present", "Negation=true"),
    "uncertain": ("N", "Present", "Uncertain=true"),
    "family": ("N", "", "Subject=family"),
    NO_RELATIVE: ("N", "", "Negation=true;Subject=family"),
    "hypothetical": ("N", "", "Conditional=true"),
    "historical": ("Y", "Past", "History=true"),
}


def note_number(doc: Document) -> int:
    """Return the note_id of a document.

    >>> note_number(Document("17", "")), note_number(Document("a", "", meta={"note_id": 4}))
    (17, 4)
    >>> note_number(Document("letter", "")) == note_number(Document("letter", "")) > 2**62
    True
    """
    told = next((text for text in (stated(doc, (NUMBER,)), doc.id) if WHOLE.fullmatch(text)), "")
    if told:
        return int(told)
    digest = hashlib.blake2b(doc.id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return HASHED | int.from_bytes(digest) >> 2


def carried(doc: Document, **_options: object) -> Document:
    """Return `doc` with the mentions and meta that rows of NOTE_NLP have a place for."""
    return replace(
        doc,
        meta={key: value for key, value in doc.meta.items() if folded(key) == folded(NUMBER)},
        mentions=tuple(mention for mention in doc.mentions or () if mention.concepts is not None),
    )


def carried_note(doc: Document, **_options: object) -> Document:
    """Return `doc` with the meta that a row of NOTE has a place for."""
    kept = {folded(name) for name in (*NOTE, *PATIENT, "date")}
    return replace(doc, meta={key: value for key, value in doc.meta.items() if folded(key) in kept})


def write(
    docs: Iterable[Document],
    out: TextIO,
    *,
    made_by: str = "",
    date: str = "",
    first: int = 1,
    snippet: int = 100,
    vocabulary: Path | None = None,
    vocabularies: Mapping[str, str] = EMPTY,
) -> int:
    """Write rows of NOTE_NLP with a header, and return how many documents there were.

    Mentions that nobody linked have no row; NIL has one, with concept 0.

    Args:
        docs: the documents.
        out: the open file.
        made_by: what nlp_system names beside Linnet; `linnet link` names its pipeline.
        date: when the notes were read, in place of now: 2026-01-31 or 2026-01-31T08:00:00Z.
        first: note_nlp_id of the first row, the others count on: one more than the table holds.
        snippet: characters of text at each side of a mention that the column snippet shows; 0 leaves it empty.
        vocabulary: the folder of Athena's CONCEPT.csv and CONCEPT_RELATIONSHIP.csv, or of a SOURCE_TO_CONCEPT_MAP.csv.
        vocabularies: vocabulary_id of further prefixes, HP=HPO.

    Raises:
        LinnetError: a date or number that is none.
        FormatError: files of the vocabulary that are missing or damaged.
    """
    if first < 0 or snippet < 0:
        raise LinnetError(f"first and snippet are numbers from 0 on, found {min(first, snippet)}")
    known = None if vocabulary is None else Athena(vocabulary, vocabularies)
    maker = _Rows(made_by, moment(date), snippet, known)
    table = csv_writer(out)
    table.writerow(NOTE_NLP)
    number, count = first, 0
    for doc in docs:
        for row in maker.rows(doc):
            table.writerow([number, *row])
            number += 1
        count += 1
    _warn_of_numbers(maker.hashed)
    if maker.unlinked:
        warn(f"{maker.unlinked:,} mentions that are not linked have no row in NOTE_NLP")
    if known is not None and maker.unmapped:
        shown = ", ".join(sorted(maker.unmapped)[:3])
        warn(f"{len(maker.unmapped):,} concepts have no standard concept in {vocabulary}, such as {shown}: they are 0")
    return count


class _Rows:
    """Makes rows of NOTE_NLP, without their numbers."""

    def __init__(self, made_by: str, when: datetime, snippet: int, vocabulary: Athena | None) -> None:
        system = f"Linnet {__version__}" + (f"; {clean(made_by)}" if made_by else "")
        self._system, self._when, self._reach, self._vocabulary = _cut(system), when, snippet, vocabulary
        self.unlinked = self.hashed = 0
        self.unmapped: set[str] = set()

    def rows(self, doc: Document) -> Iterator[list[object]]:
        """Yield the rows of a document."""
        note = note_number(doc)
        named = doc.id if note >= HASHED else ""
        self.hashed += note >= HASHED
        for mention in doc.mentions or ():
            if mention.concepts is None:
                self.unlinked += 1
                continue
            for id in mention.concepts or ("",):
                mapped = self._mapped(id)
                for standard in mapped.standard:
                    yield self._row(doc, mention, note, _modifiers(mention, id, named), mapped.source, standard)

    def _mapped(self, id: str) -> Mapped:
        if not id or self._vocabulary is None:
            return UNMAPPED
        mapped = self._vocabulary[id]
        if mapped.standard == UNMAPPED.standard:
            self.unmapped.add(id)
        return mapped

    def _row(
        self, doc: Document, mention: Mention, note: int, modifiers: str, source: int, standard: int
    ) -> list[object]:
        exists, temporal, _ = TOLD[said(mention)]
        day, time = self._when.date().isoformat(), self._when.strftime("%Y-%m-%d %H:%M:%S")
        system, snippet = self._system, self._snippet(doc, mention)
        variant = surface(doc, mention)
        variant = variant if len(variant) <= LONGEST else _cut(" ".join(variant.split()) or variant)
        concepts = [standard, source]
        return [
            note, 0, snippet, mention.start, variant, *concepts, system, day, time, exists, temporal, modifiers
        ]  # fmt: skip

    def _snippet(self, doc: Document, mention: Mention) -> str:
        if not self._reach:
            return ""
        room = (LONGEST - mention.end + mention.start) // 2  # at each side: what the column has no room for is context
        reach = max(0, min(self._reach, room))
        text = doc.text[max(0, mention.start - reach) : mention.end + reach]
        return _cut(" ".join(clean(text).split()))


def _modifiers(mention: Mention, id: str, document: str) -> str:
    """Return what the CDM has no column for, as NAME=VALUE, with semicolons between."""
    probability = "" if mention.probability is None else f"{round(mention.probability, DECIMALS):g}"
    told = {
        "code": id,
        "terminology": mention.terminology,
        "probability": probability,
        "calibration": mention.calibration or ("uncalibrated" if probability else ""),
        "source": "" if mention.source == "pred" else mention.source,
        "document": document,
        "parts": ",".join(f"{start}-{end}" for start, end in mention.parts),  # last, for there may be too many
    }
    pairs = [f"{name}={SEPARATORS.sub(' ', clean(value))}" for name, value in told.items() if value]
    asserted = TOLD[said(mention)][2]
    return _cut(";".join([*filter(None, [asserted]), *pairs]), MODIFIERS)


def _warn_of_numbers(hashed: int) -> None:
    if hashed:
        warn(f"{hashed:,} notes have no whole number as id or note_id: their note_id is a hash, for a column of BIGINT")


def _cut(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


# --- the notes -------------------------------------------------------------------------------------------------------


def write_notes(docs: Iterable[Document], out: TextIO) -> int:
    """Write rows of NOTE, with the texts, and a header, and return how many documents there were.

    Columns that the documents' meta has under their own names are taken from there; person_id and note_date also from
    its other names (`linnet.corpora.hospital`). Warnings say what NOTE demands and does not get: a person, a day, whole
    numbers. An empty note has a blank as its text, for in a CSV databases take nothing for NULL.
    """
    table = csv_writer(out)
    table.writerow(NOTE)
    checks = _Checks()
    for doc in docs:
        row = dict.fromkeys(NOTE, "") | GIVEN
        row |= {name: told for name in NOTE if (told := stated(doc, (name,)))}
        row |= {
            NUMBER: str(note_number(doc)),
            "person_id": row["person_id"] or stated(doc, PATIENT),
            "note_date": day_of(doc),
            "note_datetime": _time(row["note_datetime"]),
            "note_title": _cut(row["note_title"]),
            "note_text": clean(doc.text) or " ",
            "note_source_value": (row["note_source_value"] or clean(doc.id))[:SOURCE_VALUE],
        }
        checks.see(doc, row)
        table.writerow(row.values())
    checks.tell()
    return checks.count


def _time(text: str) -> str:
    """Return a time as every database reads it, as the clock showed it; nothing if it is none."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None).isoformat(" ", "seconds")
    except ValueError:
        return ""


class _Checks:
    """Counts the notes, and what of their rows NOTE does not take."""

    def __init__(self) -> None:
        self.count = self._hashed = 0
        self._missing = dict.fromkeys(("person_id", "note_date"), 0)
        self._undated = Faulty()
        self._strange: dict[str, Faulty] = {}

    def see(self, doc: Document, row: Mapping[str, str]) -> None:
        self.count += 1
        self._hashed += note_number(doc) >= HASHED
        undated = unread_day(doc)
        self._undated.add(undated)
        self._missing["person_id"] += not row["person_id"]
        self._missing["note_date"] += not row["note_date"] and not undated
        for name in NOTE:
            if name.endswith("_id") and row[name] and not WHOLE.fullmatch(row[name]) and name != NUMBER:
                self._strange.setdefault(name, Faulty()).add(row[name])

    def tell(self) -> None:
        _warn_of_numbers(self._hashed)
        end = "fill the column in before loading"
        for name, many in self._missing.items():
            if many:
                warn(f"{many:,} notes have no {name} in their meta, which NOTE demands: {end}")
        if self._undated.count:
            said = f"{self._undated.count:,} notes have a date that cannot be read, such as {self._undated.example!r}"
            warn(f"{said}: their note_date, which NOTE demands, is empty; give it as 2026-01-31")
        for name, faulty in self._strange.items():
            said = f"{faulty.count:,} notes have a {name} that is no whole number, such as {faulty.example!r}"
            warn(f"{said}: put the ids of your CDM there before loading")
