r"""Tables to concepts: TSV, CSV, JSON Lines or the first sheet of Excel files; a row for each concept, or a language.

====================  ==========================================================================================
column                holds
====================  ==========================================================================================
``id``                the concept's id; must be there and unique, but for rows in other languages right below
``name``              the preferred name; must be there, may be empty only for retired concepts
``synonyms``          further names, separated (``a|b``)
``types``             types, separated
``definition``        one text
``parents``           ids, separated
``xrefs``             ids in other terminologies, separated
``replaced_by``       for retired concepts: the successor's id, or ``-`` when there is none; empty for live ones
``retired``           yes, 1, x, retired, withdrawn, obsolete, deleted, zurückgezogen and the like: retired, without a
                      successor if ``replaced_by`` is missing or empty; no, 0, active, aktiv and the like, or empty:
                      as ``replaced_by`` says; what is neither is told and retires nothing
``language``          of the names in this row; the option ``language`` where the column is missing or empty
``scope``             of the synonyms: exact, broad, narrow, related; exact where the column is missing or empty
====================  ==========================================================================================

Other columns are ignored. The first row names the columns, in any order; upper and lower case are the same. CSV is
quoted as usual; in TSV a quotation mark is a character like any other. The apostrophe before a formula is taken off
(`linnet.text.cells`). In JSON Lines each line is an object whose values are texts or lists of texts. Of a workbook
(``.xlsx``, extra ``xlsx``) the first sheet is read, the others are named; in it numbers have no leading zeros, but
texts keep them.
"""

from __future__ import annotations

import itertools
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from linnet.data import SCOPES, Concept, Name
from linnet.errors import FormatError, LinnetError, did_you_mean
from linnet.kb.curies import curie
from linnet.reporter import warn
from linnet.strict_json import parse
from linnet.text.cells import check_columns, column_places, csv_rows, delimiter_of, unquote_formula
from linnet.text.files import shown
from linnet.text.workbook import cell_text, column_names, is_workbook, sheet_rows
from linnet.vocabularies.malformed import Lines, Malformed
from linnet.vocabularies.table_doubts import Doubts

__all__ = ["COLUMNS", "read_table"]

logger = logging.getLogger(__name__)

COLUMNS = (
    *("id", "name", "synonyms", "types", "definition", "parents", "xrefs"),
    *("replaced_by", "retired", "language", "scope"),
)
REQUIRED = ("id", "name")
NO_SUCCESSOR = "-"
ONE_ROW = "give each concept one row, or rows in several languages one below the other"
PREFIXED = re.compile(r"[A-Za-z][\w.-]*:\S")

Row: TypeAlias = Mapping[str, "str | Sequence[str]"]  # our column -> what the cell holds


class _Source(NamedTuple):
    """Where rows come from and how their cells are to be understood."""

    path: str
    columns: Mapping[str, str]
    header: Sequence[str]
    separator: str
    prefix: str
    language: str
    lines: Lines
    bad: Malformed
    doubts: Doubts

    def leave_out(self, line: int, problem: str) -> None:
        """Count a row that is none, or refuse the file: the last line of one that was cut off is no row either."""
        if not self.lines.last.endswith("\n"):
            raise FormatError(self.path, f"{problem}; the file is truncated: fetch it again", line=line)
        self.bad.add(line, problem)


def read_table(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    header: Sequence[str] = (),
    delimiter: str | None = None,
    separator: str = "|",
    prefix: str = "",
    language: str = "en",
) -> Iterator[Concept]:
    """Yield the concepts of a table, or of the first sheet of a workbook, plain or gzip, in the file's order.

    Args:
        path: the file.
        columns: our column -> the file's, where they differ: ``{"id": "MeSH ID"}``.
        header: the names of the columns, of a file whose first row does not name them.
        delimiter: between cells; None takes that of tab, comma and semicolon that suits the names in the first row
            (`linnet.text.cells.delimiter_of`). A file whose first character is ``{`` is JSON Lines.
        separator: between the values of one cell; empty for cells that hold one value.
        prefix: put before ids, parents and successors that have none: "MESH" makes D000001 MESH:D000001.
        language: of the names in rows that do not say it.

    Raises:
        LinnetError: `columns` names a column of ours that there is not.
        FormatError: a missing column, a truncated file, or too many malformed rows (`linnet.vocabularies.malformed`):
            of another length, with an empty or repeated id, with an empty name, their own parent or successor.
    """
    wanted = dict(columns or {})
    check_columns(wanted, COLUMNS)
    if delimiter is not None and len(delimiter) != 1:
        raise LinnetError(f"delimiter is {delimiter!r}, expected one character, such as a tab or a comma")
    name = shown(path)
    doubts = Doubts(name, separator)
    source = _Source(name, wanted, header, separator, prefix, language, Lines(path), Malformed(name), doubts)
    rows = _workbook_rows(path, source) if is_workbook(path) else _text_rows(source, delimiter)
    seen: dict[str, int] = {}
    last: Concept | None = None  # waits for rows of the same concept in other languages
    for line, row in rows:
        try:
            concept = _concept(row, line, source)
        except FormatError as error:
            source.bad.add(line, error.problem)
            continue
        if concept.id not in seen:
            if last is not None:
                yield last
            seen[concept.id], last = line, concept
        elif last is not None and last.id == concept.id and _is_in_another_language(concept, last):
            last = _joined(last, concept)
        else:
            source.bad.add(line, f"the id {concept.id} stands in line {seen[concept.id]} already; {ONE_ROW}")
    if last is not None:
        yield last
    source.bad.finish()
    if not seen:
        raise FormatError(source.path, "holds no rows below its header")
    doubts.tell(seen)


def _is_in_another_language(concept: Concept, before: Concept) -> bool:
    new, known = ({name.language for name in one.names} for one in (concept, before))
    return bool(new) and bool(known) and new.isdisjoint(known)


def _joined(concept: Concept, other: Concept) -> Concept:
    """Return a concept with what a row in another language adds."""
    return replace(
        concept,
        names=(*concept.names, *other.names),
        types=tuple(dict.fromkeys((*concept.types, *other.types))),
        definition=concept.definition or other.definition,
        parents=tuple(dict.fromkeys((*concept.parents, *other.parents))),
        xrefs=tuple(dict.fromkeys((*concept.xrefs, *other.xrefs))),
    )


# --- rows ------------------------------------------------------------------------------------------------------------


def _text_rows(source: _Source, delimiter: str | None) -> Iterator[tuple[int, Row]]:
    first = next(source.lines, "")
    read = _json_rows if first.lstrip().startswith("{") else _delimited_rows
    return read(itertools.chain([first], source.lines), source, delimiter)


def _delimited_rows(lines: Iterator[str], source: _Source, delimiter: str | None) -> Iterator[tuple[int, Row]]:
    first = next(lines)
    names = () if source.header else (source.columns.get(ours, ours) for ours in COLUMNS)
    cut = delimiter or delimiter_of(first, names, columns=len(source.header))
    if not cut:
        problem = f"the first row should name the columns, found {first.strip()[:60]!r} with no tab or comma in it"
        raise FormatError(source.path, problem, line=1)
    table = _cells(itertools.chain([first], lines), source.path, cut)
    header = source.header or _titles(next(table, (1, []))[1])
    places = _places(header, source)
    for line, cells in table:
        source.bad.read += 1
        if len(cells) == len(header):
            yield line, {ours: unquote_formula(cells[place]) for ours, place in places.items()}
        else:
            source.leave_out(line, f"has {len(cells)} columns, the header has {len(header)}: {', '.join(header)}")
    if not source.lines.last.endswith("\n"):  # its last cell may be half of one
        warn(f"{source.path}:{source.lines.number}: the last line has no line break; the file may be incomplete")


def _workbook_rows(path: str | Path, source: _Source) -> Iterator[tuple[int, Row]]:
    [rows] = map(iter, sheet_rows(path).values())
    header = source.header or _titles(column_names(next(rows, (1, []))[1]))
    places = _places(header, source)
    for number, values in rows:
        source.bad.read += 1
        cells = {ours: values[place] for ours, place in places.items() if place < len(values)}
        try:
            texts = {ours: cell_text(value, ours, source.path, number) for ours, value in cells.items()}
        except FormatError as error:  # a date
            source.bad.add(number, error.problem)
        else:
            yield number, {ours: unquote_formula(text) for ours, text in texts.items()}


def _titles(cells: Sequence[str]) -> list[str]:
    return [cell.strip().removeprefix("#").strip() for cell in cells]


def _places(header: Sequence[str], source: _Source) -> dict[str, int]:
    """Return where our columns stand, and warn of those that are nearly ours."""
    cures = {
        ours: f" (say which it is: --column {ours}=…, or columns={{{ours!r}: …}}; of a file whose first row names no "
        "columns: --option header=id,name)"
        for ours in REQUIRED
    }
    places = column_places(header, source.path, source.columns, known=COLUMNS, cures=cures)
    _warn_unused(header, places, source)
    return places


def _cells(lines: Iterator[str], path: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of every row that is not blank; the line is where the row begins."""
    if delimiter == "\t":
        for number, text in enumerate(lines, 1):
            if text.strip():
                yield number, text.rstrip("\r\n").split("\t")
        return
    yield from (row for row in csv_rows(lines, path, delimiter) if any(cell.strip() for cell in row[1]))


def _warn_unused(header: Sequence[str], places: Mapping[str, int], source: _Source) -> None:
    """Say which columns are not read, and warn of those whose names are nearly ours: "synonym" means synonyms."""
    free = [ours for ours in COLUMNS if ours not in places]
    others = []
    for place, theirs in enumerate(header):
        if place in places.values() or not theirs:
            continue
        if hint := did_you_mean(theirs.casefold(), free):
            warn(f"{source.path}:1: the column {theirs!r} is not used{hint}")
        else:
            others.append(theirs)
    if others:
        logger.info("%s: columns that are not read: %s", source.path, ", ".join(others))


def _json_rows(lines: Iterator[str], source: _Source, _delimiter: str | None) -> Iterator[tuple[int, Row]]:
    met: set[str] = set()
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        source.bad.read += 1
        try:
            value = _json_object(text)
        except ValueError as error:
            source.leave_out(number, str(error))
            continue
        met.update(value)
        try:
            row = _json_row(value, source, number)
        except FormatError as error:
            source.bad.add(number, error.problem)
        else:
            yield number, row
    for theirs in source.columns.values():
        if theirs not in met:
            there = f"the fields are {', '.join(sorted(met))}"
            raise FormatError(source.path, f"no line has a field {theirs!r}; {there}{did_you_mean(theirs, met)}")


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = parse(text)
        if "\\u" in text:  # half a surrogate pair is valid JSON but no text
            json.dumps(value, ensure_ascii=False).encode()
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, found {type(value).__name__}")  # noqa: TRY004 - a malformed row
    return value


def _json_row(value: Mapping[str, Any], source: _Source, line: int) -> Row:
    row: dict[str, str | Sequence[str]] = {}
    for ours in COLUMNS:
        theirs = source.columns.get(ours, ours)
        if value.get(theirs) is not None:
            cell = str(value[theirs]) if ours == "retired" else value[theirs]  # true is usual there
            row[ours] = _json_cell(cell, theirs, source.path, line)
    for ours in REQUIRED:
        if ours not in row and (ours != "name" or _successor(row, line, source) is None):
            theirs = source.columns.get(ours, ours)
            problem = f"there is no field {theirs!r}; the fields are {', '.join(value)}"
            raise FormatError(source.path, problem + did_you_mean(theirs, value), line=line)
    return row


def _json_cell(value: Any, field: str, path: str, line: int) -> str | list[str]:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise FormatError(path, f"field {field!r}: expected a text or a list of texts, found {value!r:.60}", line=line)


# --- one concept -----------------------------------------------------------------------------------------------------


def _one(row: Row, column: str, line: int, source: _Source) -> str:
    value = row.get(column, "")
    if not isinstance(value, str):
        raise FormatError(source.path, f"column {column!r}: expected one text, found a list", line=line)
    return " ".join(value.split())


def _many(row: Row, column: str, source: _Source) -> tuple[str, ...]:
    value = row.get(column, "")
    if isinstance(value, str):
        value = value.split(source.separator) if source.separator else [value]
    texts = (" ".join(text.split()) for text in value)
    return tuple(dict.fromkeys(text for text in texts if text))


def _id(text: str, line: int, source: _Source, column: str = "id") -> str:
    if " " in text:
        theirs = source.columns.get(column, column)
        of = "" if column == "id" else f"; the column {theirs!r} holds ids of concepts, not their names"
        raise FormatError(source.path, f"the id {text!r} holds a blank{of}", line=line)
    return curie(f"{source.prefix}:{text}" if source.prefix and not PREFIXED.match(text) else text)


def _concept(row: Row, line: int, source: _Source) -> Concept:
    text = _one(row, "id", line, source)
    if not text:
        raise FormatError(source.path, "the id is empty", line=line)
    id = _id(text, line, source)
    replaced_by = _successor(row, line, source)
    parents = tuple(_id(parent, line, source, "parents") for parent in _many(row, "parents", source))
    if id in parents:
        raise FormatError(source.path, f"{id} is its own parent", line=line)
    if id == replaced_by:
        raise FormatError(source.path, f"{id} is its own successor", line=line)
    return Concept(
        id,
        names=_names(row, line, source, live=replaced_by is None),
        types=_many(row, "types", source),
        definition=_one(row, "definition", line, source),
        parents=parents,
        xrefs=tuple(curie(xref) for xref in _many(row, "xrefs", source)),
        replaced_by=replaced_by,
        origin=f"{source.path}:{line}",
    )


def _successor(row: Row, line: int, source: _Source) -> str | None:
    """Return the successor of a retired concept, "" if there is none; None of a live one."""
    successor = _one(row, "replaced_by", line, source)
    if successor not in ("", NO_SUCCESSOR):
        return _id(successor, line, source, "replaced_by")
    return "" if successor or source.doubts.is_retired(_one(row, "retired", line, source), line) else None


def _names(row: Row, line: int, source: _Source, *, live: bool) -> tuple[Name, ...]:
    language = _one(row, "language", line, source) or source.language
    scope = _one(row, "scope", line, source).lower() or "exact"
    if scope not in SCOPES:
        problem = f"the scope {scope!r} is none of {', '.join(SCOPES)}{did_you_mean(scope, SCOPES)}"
        raise FormatError(source.path, problem, line=line)
    name = _one(row, "name", line, source)
    if not name and live:
        raise FormatError(source.path, "the name is empty", line=line)
    names = [Name(name, language=language)] if name else []
    source.doubts.note_synonyms(row.get("synonyms"))
    synonyms = (Name(text, scope, language) for text in _many(row, "synonyms", source))
    return (*names, *(synonym for synonym in synonyms if synonym not in names))
