r"""LINNAEUS as its authors give it: the folder ``txt`` and a table of tags beside it.

::

    species:ncbi:4932   pmcA102792   75   80   yeast   ...      id, document, start, end, text, with tabs between

Offsets are code points, half-open. The first line names the columns. Of a mention with several ids (``a|b``) the
annotators could not tell which is meant: the first is its concept, each other one an alternative. Documents without
tags have no mentions.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from linnet.corpora.places import Places
from linnet.corpora.separated import Row, number, rows
from linnet.corpora.sources import visible
from linnet.data import Document, Mention
from linnet.errors import FormatError
from linnet.text.files import read_text, shown

__all__ = ["read"]

ID = re.compile(r"species:ncbi:(\d+)(?:\?[\d.]+)?")  # after a ? stands how probable each of several is


def read(path: str | Path) -> Iterator[Document]:
    """Yield the documents whose tags are in the file `path`, by name.

    Raises:
        FormatError: no texts, a tag of a document without text, an id or offset of another form; with the line.
    """
    texts = {file.stem: file for file in sorted(visible(Path(path).parent / "txt", "*.txt"))}
    if not texts:
        raise FormatError(shown(path), "there are no texts: expected files txt/*.txt beside it")
    tags: dict[str, list[Row]] = defaultdict(list)
    for row in rows(path, columns=5, head=True):
        if row.cells[1] not in texts:
            raise FormatError(shown(path), f"there is no text txt/{row.cells[1][:60]}.txt", line=row.line)
        tags[row.cells[1]].append(row)
    places = Places(shown(path))
    for name, file in texts.items():
        text = read_text(file)
        found = [_mention(row, text, places, path) for row in tags[name]]
        mentions = sorted((mention for mention in found if mention), key=lambda mention: mention.span)
        yield Document(name, text, mentions=tuple(mentions))
    places.odd.warn()


def _mention(row: Row, text: str, places: Places, path: str | Path) -> Mention | None:
    start, end = (number(cell, path, row.line) for cell in row.cells[2:4])
    ids = [ID.fullmatch(part.strip()) for part in row.cells[0].split("|")]
    concepts = [f"NCBITaxon:{match[1]}" for match in ids if match]
    if len(concepts) < len(ids):
        raise FormatError(
            shown(path), f"expected ids such as species:ncbi:4932, found {row.cells[0][:60]!r}", line=row.line
        )
    span = places.span(text, start, end, row.cells[4], line=row.line)
    if span is None:
        return None
    first, *others = dict.fromkeys(concepts)
    return Mention(
        *span, types=("Species",), source="gold", concepts=(first,), alternatives=tuple((id,) for id in others)
    )
