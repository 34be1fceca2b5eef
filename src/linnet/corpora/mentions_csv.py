"""A CSV of mentions for spreadsheets: one row a mention, written, and read back with the texts they belong to.

The columns are document, start, end, text, concepts, names, types, probability, calibration, source, parts,
terminology; several values in a cell are joined by ``|``. Offsets are code points, half-open; of a discontinuous
mention they are the hull, and parts says ``0 4;10 14``. A further column, document_text, may hold the whole text in the
first row of each document: such a file can be read alone, and has a row without offsets for a document without
mentions.

A text that a spreadsheet would run as a formula has an apostrophe in front (`linnet.text.cells`). Probabilities have
four decimals.

Other columns are kept in a mention's ``meta["columns"]``, names (of concepts) are not read. A mention whose cell of
concepts is empty has none (``()``), in a file without that column nobody said (None).
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from linnet.corpora.faults import STOP, Faults
from linnet.corpora.ids import to_curie
from linnet.corpora.layout import hull
from linnet.corpora.names import namer
from linnet.data import Document, Mention, Rows, Span
from linnet.errors import DataError, FormatError, did_you_mean
from linnet.text.cells import DELIMITERS, check_columns, column_places, csv_rows, quote_formula, unquote_formula
from linnet.text.files import open_text, shown

__all__ = ["COLUMNS", "DOCUMENT_TEXT", "read", "read_mentions", "write"]

COLUMNS = (
    "document",
    "start",
    "end",
    "text",
    "concepts",
    "names",
    "types",
    "probability",
    "calibration",
    "source",
    "parts",
    "terminology",
)
DOCUMENT_TEXT = "document_text"
REQUIRED = ("document", "start", "end")
DECIMALS = 4  # of probabilities: what a spreadsheet shows, without the noise of single precision
UNCALIBRATED = "uncalibrated"  # how a person reads the record's ""
PARTS = re.compile(r"[0-9]{1,12} [0-9]{1,12}(?:;[0-9]{1,12} [0-9]{1,12})+")
NUMBER = re.compile(r"[0-9]{1,12}")

# --- writing ---------------------------------------------------------------------------------------------------------


def write(docs: Iterable[Document], out: TextIO, *, rows: Rows | None = None, texts: bool = False) -> int:
    """Write the mentions of documents as CSV with a header and return how many documents there were.

    Args:
        docs: the documents.
        out: the open file.
        rows: a knowledge base for the preferred names; without one, or for ids it does not hold, they stay empty.
        texts: add the column document_text, so that `read` can read the file alone.

    Raises:
        DataError: NUL characters.
    """
    table = csv.writer(_Terminated(out), lineterminator="\r\n")
    table.writerow((*COLUMNS, DOCUMENT_TEXT) if texts else COLUMNS)
    name = namer(rows)
    count = 0
    for doc in docs:
        cells = [_row(doc, mention, name) for mention in doc.mentions or ()]
        if texts:
            cells = cells or [(quote_formula(doc.id), *[""] * (len(COLUMNS) - 1))]
            cells = [(*row, "" if place else quote_formula(doc.text)) for place, row in enumerate(cells)]
        table.writerows(cells)
        count += 1
    return count


def carried(doc: Document) -> Document:
    """Return `doc` with the probabilities that a CSV gives back."""
    if all(mention.probability is None for mention in doc.mentions or ()):
        return doc
    return replace(doc, mentions=tuple(map(_rounded, doc.mentions or ())))


def _rounded(mention: Mention) -> Mention:
    probability = mention.probability
    return mention if probability is None else replace(mention, probability=round(probability, DECIMALS))


class _Terminated:
    r"""Ends rows with ``\n`` for a csv writer that believes in ``\r\n`` and so quotes cells that hold either."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, row: str, /) -> None:
        if "\0" in row:
            raise DataError(f"the row {row[:80]!r} holds NUL characters, which no text file can")
        self._out.write(row.removesuffix("\r\n") + "\n")


def _row(doc: Document, mention: Mention, name: Callable[[str], str]) -> tuple[object, ...]:
    concepts = mention.concepts or ()
    names = [name(id) for id in concepts]
    calibration = mention.calibration or ("" if mention.probability is None else UNCALIBRATED)
    return (
        quote_formula(doc.id),
        mention.start,
        mention.end,
        quote_formula(doc.surface(mention)),
        quote_formula(_join(concepts)),
        quote_formula(_join(names) if any(names) else ""),
        quote_formula(_join(mention.types)),
        "" if mention.probability is None else str(round(mention.probability, DECIMALS)),
        calibration,
        mention.source,
        ";".join(f"{start} {end}" for start, end in mention.parts),
        quote_formula(mention.terminology),
    )


# --- reading ---------------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """One row: our columns by name, the others, and the line it begins in."""

    line: int
    cells: dict[str, str]
    others: dict[str, str]


def _join(values: Sequence[str]) -> str:
    r"""Return several values as one cell; a bar or backslash inside a value gets a backslash in front.

    >>> _split(_join(["c|DEL|13|", "a\\b"]))
    ('c|DEL|13|', 'a\\b')
    """
    return "|".join(value.replace("\\", "\\\\").replace("|", "\\|") for value in values)


def _split(cell: str) -> tuple[str, ...]:
    if "\\" not in cell:
        return tuple(cell.split("|"))
    values = [""]
    characters = iter(cell)
    for character in characters:
        if character == "|":
            values.append("")
        else:
            values[-1] += next(characters, "") if character == "\\" else character
    return tuple(values)


def read(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    header: Sequence[str] = (),
    rows: Rows | None = None,  # noqa: ARG001 - as in every format
    faults: Faults = STOP,
) -> Iterator[Document]:
    """Yield the documents of a CSV that has their texts in a column document_text; rows of a document stand together.

    Args:
        path: the file, plain or gzip, with commas, semicolons or tabs between cells.
        columns: our column -> the file's, where they differ: ``{"document": "pmid", "document_text": "abstract"}``.
        header: the names of the columns, of a file whose first row does not name them.
        rows: not used; readers and writers of a format have the same keywords.
        faults: what is done about mentions that cannot be read.

    Raises:
        LinnetError: `columns` names a column of ours that there is not.
        FormatError: no such column, a document whose first row has no text, or as `read_mentions`.
    """
    check_columns(columns or {}, (*COLUMNS, DOCUMENT_TEXT))
    found = _rows(path, columns or {}, (*REQUIRED, DOCUMENT_TEXT), header)
    return _read(shown(path), found, faults)


def _read(path: str, rows: Iterator[_Row], faults: Faults) -> Iterator[Document]:
    seen: set[str] = set()
    for id, group in itertools.groupby(rows, lambda row: row.cells["document"]):
        first = next(group)
        if id in seen:
            raise FormatError(path, f"rows of document {id!r} stand further up: put them together", line=first.line)
        seen.add(id)
        text = first.cells[DOCUMENT_TEXT]
        marked = []
        for row in itertools.chain([first], group):
            if row.cells[DOCUMENT_TEXT] not in ("", text):
                problem = f"has another {DOCUMENT_TEXT} for document {id!r} than line {first.line}"
                raise FormatError(path, problem, line=row.line)
            if row.cells["start"] or row.cells["end"]:
                marked.append(row)
        mentions = faults.make_each(partial(_mention, text=text, path=path, faults=faults), marked)
        yield Document(id, text, mentions=tuple(mentions))


def read_mentions(
    path: str | Path, texts: Iterable[Document], *, columns: Mapping[str, str] | None = None
) -> Iterator[Document]:
    """Yield the documents `texts` with the mentions that a CSV has for them, after those they have already.

    The mentions of the whole file are held in memory; texts stream. Rows are in any order; a document without rows
    has no mentions (``()``).

    Args:
        path: the file, plain or gzip, with commas, semicolons or tabs between cells.
        texts: the documents; their ids are what the column document says.
        columns: our column -> the file's, where they differ: ``{"document": "pmid", "concepts": "MeSH"}``.

    Raises:
        LinnetError: `columns` names a column of ours that there is not.
        FormatError: a missing column, a row of another length, offsets that are outside the text or say another one,
            what is no number or source, rows of a document that `texts` does not hold; with the line.
        DataError: two of the texts have the same id.
    """
    check_columns(columns or {}, (*COLUMNS, DOCUMENT_TEXT))
    rows = _rows(path, columns or {}, REQUIRED)
    return _attach(shown(path), rows, texts)


def _attach(path: str, rows: Iterator[_Row], texts: Iterable[Document]) -> Iterator[Document]:
    waiting: dict[str, list[_Row]] = {}
    for row in rows:
        waiting.setdefault(row.cells["document"], []).append(row)
    seen: set[str] = set()
    for doc in texts:
        if doc.id in seen:
            raise DataError(f"two of the texts are document {doc.id!r}: the mentions of {path} cannot tell them apart")
        seen.add(doc.id)
        found = [row for row in waiting.pop(doc.id, ()) if row.cells["start"] or row.cells["end"]]
        yield replace(doc, mentions=(*(doc.mentions or ()), *(_mention(row, doc.text, path, STOP) for row in found)))
    for id, [first, *_] in waiting.items():
        problem = f"there is no text for document {id!r}, nor for {len(waiting) - 1:,} others"
        raise FormatError(path, problem + did_you_mean(id, itertools.islice(seen, 10_000)), line=first.line)


def _rows(
    path: str | Path, columns: Mapping[str, str], required: Sequence[str], header: Sequence[str] = ()
) -> Iterator[_Row]:
    name = shown(path)
    lines = open_text(path, keep_ends=True)
    first = next(lines)
    cut = next((mark for mark in DELIMITERS if mark in first), ",")
    table = csv_rows(itertools.chain([first], lines), name, cut)
    header = header or [cell.strip() for cell in next(table, (1, [""]))[1]]
    places = column_places(
        header, name, columns, known=(*COLUMNS, DOCUMENT_TEXT), cures={ours: _cure(ours) for ours in required}
    )
    ours = {place: column for column, place in places.items()}
    for line, row in table:
        if len(row) != len(header):
            problem = f"has {len(row)} columns, the header has {len(header)}: {', '.join(header)}"
            raise FormatError(name, problem, line=line)
        cells = {column: unquote_formula(row[place]) for column, place in places.items()}
        others = {header[place]: cell for place, cell in enumerate(row) if place not in ours and cell}
        yield _Row(line, cells, others)


def _cure(ours: str) -> str:
    """Return what to do about a column that is missing."""
    cure = f" (if it is there by another name: columns={{{ours!r}: ...}})"
    if ours != DOCUMENT_TEXT:
        return cure
    texts = "give the texts to linnet.corpora.mentions_csv.read_mentions(path, texts)"
    return f"; if linnet link wrote it, link again with -o x.jsonl, or {texts}{cure}"


# --- rows to mentions ------------------------------------------------------------------------------------------------


def _mention(row: _Row, text: str, path: str, faults: Faults) -> Mention:
    cells = row.cells
    if not (NUMBER.fullmatch(cells["start"]) and NUMBER.fullmatch(cells["end"])):
        problem = f"expected two numbers for start and end, found {cells['start']!r} and {cells['end']!r}"
        raise FormatError(path, problem, line=row.line)
    start, end = int(cells["start"]), int(cells["end"])
    if not start < end <= len(text):
        problem = f"the span {start}-{end} is empty or lies outside the text of {len(text)} characters"
        outside = FormatError(path, f"{problem} of document {cells['document']!r}", line=row.line)
        [(start, end)] = faults.move(outside, text, cells.get("text", ""), [Span(start, end)])
        cells = {**cells, "text": text[start:end]}
    types = _split(cells["types"]) if cells.get("types") else ()
    ids = _split(cells["concepts"]) if cells.get("concepts") else ()
    first = types[0] if types else ""
    try:
        mention = Mention(
            start,
            end,
            parts=_parts(cells.get("parts", "")),
            types=types,
            source=cells.get("source") or "gold",  # type: ignore[arg-type]  # checked by the record
            concepts=tuple(to_curie(id, first) for id in ids) if "concepts" in cells else None,
            **_probability(cells),
            terminology=cells.get("terminology", ""),
            meta={"columns": row.others} if row.others else {},
        )
    except (DataError, ValueError) as error:
        raise FormatError(path, str(error), line=row.line) from error
    surface = Document("", text).surface(mention)
    said = cells.get("text", surface)
    if said == surface:
        return mention
    problem = f"the offsets {start}-{end} of document {cells['document']!r} say {surface!r}"
    another = FormatError(path, f"{problem}, the row says {said!r}; offsets count code points", line=row.line)
    spans = sorted(faults.move(another, text, said, mention.spans))
    start, end, parts = hull(spans)
    return replace(mention, start=start, end=end, parts=parts)


def _parts(cell: str) -> tuple[Span, ...]:
    if not cell:
        return ()
    if not PARTS.fullmatch(cell):
        raise ValueError(f"expected parts such as 0 4;10 14, found {cell!r}")
    return tuple(Span(*map(int, pair.split(" "))) for pair in cell.split(";"))


def _probability(cells: Mapping[str, str]) -> dict[str, Any]:
    calibration = cells.get("calibration", "")
    found: dict[str, Any] = {"calibration": "" if calibration == UNCALIBRATED else calibration}
    if cell := cells.get("probability", ""):
        try:
            found["probability"] = float(cell)
        except ValueError:
            raise ValueError(f"expected a probability from 0 to 1, found {cell!r}") from None
    return found
