r"""COMETA: terms of laypeople with the SNOMED CT concepts they mean, and a post of Reddit that each was found in.

A split is a table with tabs between its columns, among them ``ID``, ``Term``, ``Example`` and, for each of two
readings, ``General SNOMED ID`` and ``Specific SNOMED ID``: what the term means anywhere, and what it means there.
The document is the example, the mention the first place in it where the term stands as words, else as letters,
whatever its case. Where the term does not stand in the example, it is a document of its own.

AskAPatient: phrases of patients with the concept they mean, one a line, in ten folds.

::

    22253000   pain   aching all over        SNOMED CT or AMT, name of the concept, phrase, with tabs between

Files are Latin-1. A phrase is a document of its own, with one mention that is all of it; its id tells file and line,
so that the documents of all folds can be put together. The name of the concept stays in the meta of the mention. Ids
that are no numbers are the Australian Medicines Terminology's own, and get the prefix AMT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from linnet.corpora.separated import rows, table
from linnet.data import Document, Mention, Span
from linnet.errors import FormatError
from linnet.text.files import shown
from linnet.vocabularies.malformed import Oddities

__all__ = ["read_ask_a_patient", "read_general", "read_specific"]

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


def read_ask_a_patient(path: str | Path) -> Iterator[Document]:
    """Yield a document for each line of a file.

    Raises:
        FormatError: a line of another form, with its number.
    """
    stem = Path(path).name.removesuffix(".gz").removesuffix(".txt")
    for line, cells in rows(path, columns=3, encoding="latin-1"):
        id, name, text = (cell.strip() for cell in cells[:3])
        if len(cells) != 3 or not (id and text):
            problem = "expected an id, the name of a concept and a phrase, with tabs between"
            raise FormatError(shown(path), f"{problem}; found {cells}", line=line)
        concept = f"SNOMEDCT:{id}" if id.isascii() and id.isdecimal() else f"AMT:{id}"
        mention = Mention(0, len(text), source="gold", concepts=(concept,), meta={"name": name})
        yield Document(f"{stem}:{line}", text, mentions=(mention,))
