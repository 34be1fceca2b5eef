"""COMETA: terms of laypeople with the SNOMED CT concepts they mean, and a post of Reddit that each was found in.

A split is a table with tabs between its columns, among them ``ID``, ``Term``, ``Example`` and, for each of two
readings, ``General SNOMED ID`` and ``Specific SNOMED ID``: what the term means anywhere, and what it means there.
The document is the example, the mention the first place in it where the term stands as words, else as letters,
whatever its case. Where the term does not stand in the example, it is a document of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from linnet.corpora.separated import table
from linnet.data import Document, Mention, Span
from linnet.errors import FormatError
from linnet.text.files import shown
from linnet.vocabularies.oddities import Oddities

__all__ = ["read_general", "read_specific"]

ALONE = "terms that do not stand in their example, taken as documents without context"


def _read(path: str | Path, *, reading: str) -> Iterator[Document]:
    """Yield a document for each term.

    Raises:
        FormatError: a column that is missing, an id that is no number; with the line.
    """
    odd, column = Oddities(shown(path)), f"{reading} SNOMED ID"
    for line, cells in table(path, wanted=("ID", "Term", "Example", column), separator="\t"):
        term, text, id = cells["Term"].strip(), cells["Example"], cells[column].strip()
        if not (term and cells["ID"].strip() and id.isascii() and id.isdecimal()):
            problem = f"expected an ID, a term and a number as {column}"
            found = f"{cells['ID'][:20]!r}, {term[:40]!r} and {id[:40]!r}"
            raise FormatError(shown(path), f"{problem}; found {found}", line=line)
        span = _found(term, text)
        if span is None:
            odd.add(ALONE, line, repr(term[:60]))
            text, span = term, Span(0, len(term))
        label = cells.get(f"{reading} SNOMED Label", "").strip()
        meta = {"name": label} if label else {}
        mention = Mention(*span, source="gold", concepts=(f"SNOMEDCT:{id}",), meta=meta)
        yield Document(cells["ID"].strip(), text, mentions=(mention,))
    odd.warn()


read_general = partial(_read, reading="General")
read_specific = partial(_read, reading="Specific")


def _found(term: str, text: str) -> Span | None:
    """Return the first place where `term` stands in `text`, as whole words if there is one."""
    sought = r"\s+".join(map(re.escape, term.split()))
    for pattern in (rf"(?<!\w){sought}(?!\w)", sought):
        if match := re.search(pattern, text, re.IGNORECASE):
            return Span(*match.span())
    return None
