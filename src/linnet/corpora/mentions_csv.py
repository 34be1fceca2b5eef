"""A CSV of mentions for spreadsheets: one row a mention, written only.

The columns are document, start, end, text, concepts, names, types, probability, calibration, source; several values in
a cell are joined by ``|``. Offsets are code points, half-open; of a discontinuous mention they are the hull.

Spreadsheets run a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break as a formula. Text cells that
do get an apostrophe in front, which spreadsheets hide; programs that read the file may strip it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from typing import TextIO

from linnet.data import Concept, Document, Mention, Rows
from linnet.errors import UnknownConceptError

__all__ = ["COLUMNS", "write"]

COLUMNS = ("document", "start", "end", "text", "concepts", "names", "types", "probability", "calibration", "source")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def write(docs: Iterable[Document], out: TextIO, *, rows: Rows | None = None) -> int:
    """Write the mentions of documents as CSV with a header and return how many documents there were.

    Args:
        docs: the documents.
        out: the open file.
        rows: a knowledge base for the preferred names; without one, or for ids it does not hold, they stay empty.
    """
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    name = _namer(rows)
    count = 0
    for doc in docs:
        table.writerows(_row(doc, mention, name) for mention in doc.mentions or ())
        count += 1
    return count


def _namer(rows: Rows | None) -> Callable[[str], str]:
    """Return a function from a concept's id to its preferred name that looks up every id once."""
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


def _row(doc: Document, mention: Mention, name: Callable[[str], str]) -> tuple[object, ...]:
    concepts = mention.concepts or ()
    names = [name(id) for id in concepts]
    calibration = mention.calibration or ("" if mention.probability is None else "uncalibrated")
    return (
        _safe(doc.id),
        mention.start,
        mention.end,
        _safe(doc.surface(mention)),
        _safe("|".join(concepts)),
        _safe("|".join(names) if any(names) else ""),
        _safe("|".join(mention.types)),
        "" if mention.probability is None else f"{mention.probability:.6g}",
        calibration,
        mention.source,
    )


def _safe(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) else text
