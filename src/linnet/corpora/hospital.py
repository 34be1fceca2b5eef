"""What the two forms that hospitals load share: codes and code systems, what `meta` says of patient and note, times."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NamedTuple

from linnet.data import Document, Mention
from linnet.errors import LinnetError
from linnet.text.wordlists import rows

__all__ = [
    "DATE",
    "NONE",
    "PATIENT",
    "RESOURCES",
    "TERMINOLOGIES",
    "Faulty",
    "Terminology",
    "clean",
    "day_of",
    "folded",
    "moment",
    "prefix_of",
    "resource_of",
    "stated",
    "surface",
    "unread_day",
]

NONE = "none"
RESOURCES = ("Condition", "Observation", "MedicationStatement", NONE)
PATIENT = ("patient_id", "patient", "person_id", "person", "subject_id")  # names in meta, first one wins
DATE = ("note_date", "date", "note_datetime")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")  # of no text that others take
# Of ISO 8601, and of HL7 with a time behind it; ten digits are seconds, which date.fromisoformat takes for a day.
DAY = re.compile(r"([0-9]{4})(-?)([0-9]{2})\2([0-9]{2})([0-9]{4}|[0-9]{6})?(?![0-9])")
APART = re.compile(r"[\s_-]+")  # what names of columns differ in
TABLE = "hospital.tsv"


class Terminology(NamedTuple):
    """What a terminology is called elsewhere; the file's head says more."""

    system: str
    form: str
    resource: str
    vocabulary: str


TERMINOLOGIES = {row[1]: Terminology(*row[2:]) for row in rows("linnet.corpora", TABLE) if row[0] == "system"}
OF_TYPE = {row[2]: row[1] for row in rows("linnet.corpora", TABLE) if row[0] == "type"}


def prefix_of(id: str) -> tuple[str, str]:
    """Return the prefix of a concept's id and the code behind it.

    >>> prefix_of("MESH:D006394"), prefix_of("local")
    (('MESH', 'D006394'), ('', 'local'))
    """
    prefix, colon, local = id.partition(":")
    return (prefix, local) if colon else ("", id)


def resource_of(id: str, types: Sequence[str]) -> str:
    """Return the resource of FHIR that a concept with these types is, or `NONE`.

    >>> resource_of("HP:0001250", ()), resource_of("MESH:D1", ("Chemical",)), resource_of("NCBIGene:672", ())
    ('Observation', 'MedicationStatement', 'none')
    """
    told = [OF_TYPE[type.lower()] for type in types if type.lower() in OF_TYPE]
    if told:
        return next((one for one in told if one != NONE), NONE)
    known = TERMINOLOGIES.get(prefix_of(id)[0])
    return known.resource if known and known.resource != "-" else "Observation"


def clean(text: str) -> str:
    r"""Return `text` with U+FFFD for each control character, which neither FHIR nor databases take; offsets stay.

    >>> clean("a\0b\n")
    'a�b\n'
    """
    return CONTROL.sub("\ufffd", text)


@lru_cache(1024)
def folded(name: str) -> str:
    """Return the name of a column or key as names are compared: without case, blanks, hyphens and underscores.

    >>> folded("Note ID"), folded("note-id"), folded("NoteId"), folded("note_id")
    ('noteid', 'noteid', 'noteid', 'noteid')
    """
    return APART.sub("", name.casefold())


def stated(doc: Document, names: Sequence[str]) -> str:
    """Return what a document's meta says under the first of these names, `folded`, that holds a text or number.

    >>> stated(Document("1", "", meta={"Patient ID": 17.0}), PATIENT)
    '17'
    """
    found = {folded(key): text for key, value in doc.meta.items() if (text := _text_of(value))}
    return next((found[name] for name in map(folded, names) if name in found), "")


def _text_of(value: object) -> str:
    """Return a text or number as text; tables hold whole numbers as floats if some are missing, which are then NaN."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value) if math.isfinite(value) else ""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return ""
    return clean(str(value)).strip()


def day_of(doc: Document) -> str:
    """Return the day of a note by its meta, as YYYY-MM-DD, or nothing.

    >>> [day_of(Document("1", "", meta={"date": told})) for told in ("2020-02-30", "2020-02-03 09:15")]
    ['', '2020-02-03']
    """
    return next(filter(None, (_day(stated(doc, (name,))) for name in DATE)), "")


def _day(text: str) -> str:
    if not (found := DAY.match(text)):
        return ""
    try:
        return date(int(found[1]), int(found[3]), int(found[4])).isoformat()
    except ValueError:
        return ""


def unread_day(doc: Document) -> str:
    """Return what the meta of a note says instead of a day, or nothing if it has one or says nothing.

    >>> [unread_day(Document("1", "", meta={"date": told})) for told in ("05.03.2024", "2024-03-05", "")]
    ['05.03.2024', '', '']
    """
    return "" if day_of(doc) else stated(doc, DATE)


@dataclass
class Faulty:
    """Counts values that cannot be written, and keeps the first of them for the warning.

    >>> faulty = Faulty()
    >>> for text in ("", "05.03.2024", "6.3."):
    ...     faulty.add(text)
    >>> faulty
    Faulty(count=2, example='05.03.2024')
    """

    count: int = 0
    example: str = ""

    def add(self, text: str) -> None:
        """Count a value; an empty one is none."""
        self.count += bool(text)
        self.example = self.example or text


def moment(text: str) -> datetime:
    """Return the time that `text` says, or now; in UTC, to the second.

    Raises:
        LinnetError: it is neither a date nor a date and time of ISO 8601.

    >>> moment("2026-01-31T08:00:00+01:00").isoformat()
    '2026-01-31T07:00:00+00:00'
    """
    if not text:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        told = datetime.fromisoformat(text)
    except ValueError as error:
        raise LinnetError(f"date {text!r}: expected a date such as 2026-01-31, or 2026-01-31T08:00:00Z") from error
    return (told if told.tzinfo else told.replace(tzinfo=UTC)).astimezone(UTC).replace(microsecond=0)


def surface(doc: Document, mention: Mention) -> str:
    """Return the text of a mention on one line, as `clean` has it."""
    return re.sub(r"[\r\n\t\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", " ", clean(doc.surface(mention)))
