r"""LINNAEUS as its authors give it: the folder ``txt`` and a table of tags beside it.

::

    species:ncbi:4932   pmcA102792   75   80   yeast   ...      id, document, start, end, text, with tabs between

Offsets are code points, half-open. The first line names the columns. Of a mention with several ids (``a|b``) the
annotators could not tell which is meant: the first is its concept, each other one an alternative. Documents without
tags have no mentions.

Species-800 as its authors give it: the folder ``abstracts``, and the table ``S800.tsv`` beside it.

::

    4932   sacch001:12345678   75   79   yeast        taxon, name and PMID of the document, start, end, text

with tabs between. The end is the offset of the last character. A document's id is its PMID; its name stays in its meta,
and so does what ``pubmedid.tsv`` says of it where that is there. The first line of a text is the title.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from linnet.corpora.misplaced import Places
from linnet.corpora.separated import Row, number, rows
from linnet.corpora.sources import visible
from linnet.data import JSON, Document, Mention, Passage
from linnet.errors import FormatError
from linnet.text.files import read_text, shown

__all__ = ["read_linnaeus", "read_s800"]

ID = re.compile(r"species:ncbi:(\d+)(?:\?[\d.]+)?")  # after a ? stands how probable each of several is


def read_linnaeus(path: str | Path) -> Iterator[Document]:
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


def read_s800(path: str | Path) -> Iterator[Document]:
    """Yield the documents of ``S800.tsv``, by name; those without mentions too, where ``pubmedid.tsv`` is there.

    Raises:
        FormatError: a text that is missing, a row of another form; with the line.
    """
    folder = Path(path).parent
    tags: dict[str, list[Row]] = defaultdict(list)
    about: dict[str, Mapping[str, JSON]] = {}
    pmids: dict[str, str] = {}
    for name, pmid, row in _documents(folder / "pubmedid.tsv"):
        pmids[name] = pmid
        about[name] = {"category": row.cells[2].strip()} if len(row.cells) > 2 else {}
    for row in rows(path, columns=5):
        name, _, pmid = row.cells[1].partition(":")
        if not (name.strip() and pmid.strip()) or "/" in name:
            raise FormatError(shown(path), f"expected NAME:PMID, found {row.cells[1][:60]!r}", line=row.line)
        pmids.setdefault(name, pmid.strip())
        tags[name].append(row)
    places = Places(shown(path))
    for name, pmid in sorted(pmids.items()):
        text = read_text(folder / "abstracts" / f"{name}.txt")
        found = [_mention_of_s800(row, text, places, path) for row in tags[name]]
        mentions = sorted((mention for mention in found if mention), key=lambda mention: mention.span)
        meta = {"name": name, **about.get(name, {})}
        yield Document(pmid, text, passages=_passages(text), mentions=tuple(mentions), meta=meta)
    places.odd.warn()


def _documents(path: Path) -> Iterator[tuple[str, str, Row]]:
    """Yield name, PMID and row of each document that the table of documents lists, if it is there."""
    if path.exists():
        for row in rows(path, columns=2):
            name, pmid = row.cells[0].strip(), row.cells[1].strip().removeprefix("PMID:")
            if not name or not pmid or "/" in name:
                raise FormatError(shown(path), f"expected a name and a PMID, found {row.cells[:2]}", line=row.line)
            yield name, pmid, row


def _mention_of_s800(row: Row, text: str, places: Places, path: str | Path) -> Mention | None:
    taxon = row.cells[0].strip()
    if not (taxon.isascii() and taxon.isdecimal()):
        raise FormatError(shown(path), f"expected the number of a taxon, found {taxon[:60]!r}", line=row.line)
    start, last = (number(cell, path, row.line) for cell in row.cells[2:4])
    span = places.span(text, start, last + 1, row.cells[4], line=row.line)
    concepts = (f"NCBITaxon:{taxon}",)
    return Mention(*span, types=("Species",), source="gold", concepts=concepts) if span else None


def _passages(text: str) -> tuple[Passage, ...]:
    title, _, rest = text.partition("\n")
    begin = len(text) - len(rest.lstrip("\n"))
    parts = [(0, len(title), "title"), (begin, len(text.rstrip()), "abstract")]
    return tuple(Passage(start, end, kind) for start, end, kind in parts if start < end)
