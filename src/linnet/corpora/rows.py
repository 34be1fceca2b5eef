"""Rows of tables and databases as documents: which column is the text, which the id; the others are kept as meta."""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from linnet.corpora.hospital import DATE, PATIENT, folded
from linnet.data import JSON, Document
from linnet.errors import FormatError, did_you_mean
from linnet.reporter import warn

__all__ = ["Columns", "choose_columns", "object_documents", "row_documents"]

TEXTS = ("text", "note", "note_text", "document_text", "abstract", "body", "content", "report")
IDS = ("id", "doc_id", "document_id", "document", "note_id", "pmid", "pmcid")
KEYS = {"patient": PATIENT[0], "date": DATE[0]}  # beside text and id -> what is kept of their columns under
DEEPEST = 50  # lists in lists of a cell


class Columns(NamedTuple):
    """Where the text and the id of a document stand in a row, -1 where there is no id; what the others are in meta."""

    names: tuple[str, ...]
    text: int
    id: int


def choose_columns(names: Sequence[str], given: Mapping[str, str] | str, where: str) -> Columns:
    """Return which columns hold text and id: those that were `given`, else those whose name says so.

    Names are compared as `folded` has them. Columns given as patient and date are called patient_id and note_date.

    Args:
        names: of all columns, in order.
        given: ``text``, ``id``, ``patient`` and ``date``, each with the name of a column.
        where: what messages call the table.

    Raises:
        FormatError: a column that is not there or comes twice, another key, a second patient or date, or no column that
            is called like a text.

    >>> choose_columns(["Note ID", "Abstract", "MRN"], {"patient": "MRN"}, "f")
    Columns(names=('Note ID', 'Abstract', 'patient_id'), text=1, id=0)
    """
    if isinstance(given, str):  # as the command line has them, in Python
        raise FormatError(where, f"columns are {given!r}, expected a dictionary: {{'id': 'ID', 'text': 'NOTE'}}")
    there = f"its columns are {', '.join(map(repr, names)) or 'none'}"
    for key in given:
        if key not in ("text", "id", *KEYS):
            known = "columns are given for text, id, patient and date"
            raise FormatError(where, f"{known}, not for {key!r}: --columns id=ID,text=NOTE")
    for key, name in given.items():
        if names.count(name) != 1:
            problem = f"has no column {name!r}" if name not in names else f"has several columns {name!r}"
            raise FormatError(where, f"{problem} (for the {key}); {there}{did_you_mean(name, names)}")
    text = names.index(given["text"]) if "text" in given else _first(TEXTS, names)
    if text < 0:
        raise FormatError(where, f"which column is the text? {there}; say it: --columns text=NAME")
    id = names.index(given["id"]) if "id" in given else _first(IDS, names)
    return Columns(tuple(_renamed(names, given, where)), text, id)


def _first(wanted: Sequence[str], names: Sequence[str]) -> int:
    found = [folded(name) for name in names]
    return next((found.index(name) for name in map(folded, wanted) if name in found), -1)


def _renamed(names: Sequence[str], given: Mapping[str, str], where: str) -> Iterator[str]:
    """Yield the names of columns, that of a patient or date that was given as readers of `meta` look for it."""
    new = {given[key]: kept for key, kept in KEYS.items() if key in given}
    for name in names:
        if name not in new and folded(name) in map(folded, new.values()):
            problem = f"has a column {name!r} beside the one that --columns gives for that"
            raise FormatError(where, f"{problem}: rename it, or leave --columns patient= or date= out")
        yield new.get(name, name)


def _warn_without_id(columns: Columns, name: str, where: str) -> None:
    """Say which columns nothing reads where none is called like an id."""
    known = {folded(one) for one in (*PATIENT, *DATE)}
    unused = [one for place, one in enumerate(columns.names) if place != columns.text and folded(one) not in known]
    if columns.id < 0 and unused:
        said = f"no column is called like an id, documents are called {name}:1, {name}:2 …"
        others = ", ".join(map(repr, unused))
        warn(f"{where}: {said}; {others} only go into the metadata: name the id with --columns id=NAME")


def row_documents(rows: Iterable[Sequence[Any]], columns: Columns, *, name: str, where: str) -> Iterator[Document]:
    """Yield a document for each row that has a text; how many have none is a warning at the end.

    Args:
        rows: values in the order of the columns.
        columns: which is which.
        name: rows without an id are called so, with their number: ``notes:7``.
        where: what messages call the table.

    Raises:
        FormatError: a text that is none, with the number of its row.

    >>> columns = Columns(("id", "note", "year"), 1, 0)
    >>> [doc] = row_documents([(7, "Fits.", 2020)], columns, name="n", where="f")
    >>> doc.id, doc.text, dict(doc.meta)
    ('7', 'Fits.', {'year': 2020})
    """
    _warn_without_id(columns, name, where)
    yield from _documents(((row, columns) for row in rows), name=name, where=where)


def object_documents(
    objects: Iterable[Mapping[str, Any]], given: Mapping[str, str], *, name: str, where: str
) -> Iterator[Document]:
    """Yield a document for each object that has a text, as `row_documents` does; their keys may differ.

    Args:
        objects: values by column.
        given: as for `choose_columns`; the keys of the first object say which is which.
        name: as for `row_documents`.
        where: what messages call the file.

    Raises:
        FormatError: as `choose_columns` and `row_documents`.

    >>> objects = [{"note_id": 7, "note": "Fits.", "year": 2020}, {"note": "Cough.", "ward": "3"}]
    >>> [(doc.id, doc.text, dict(doc.meta)) for doc in object_documents(objects, {}, name="n", where="f")]
    [('7', 'Fits.', {'year': 2020}), ('n:2', 'Cough.', {'ward': '3'})]
    """
    rest = iter(objects)
    if (first := next(rest, None)) is None:
        warn(f"{where}: is empty, it gives no documents")
        return
    chosen = choose_columns(list(first), given, where)
    _warn_without_id(chosen, name, where)
    wanted = [chosen.names[place] for place in (chosen.text, chosen.id) if place >= 0]
    called = dict(zip(first, chosen.names, strict=True))
    named = ({called.get(key, key): value for key, value in one.items()} for one in chain([first], rest))
    whole = ({**dict.fromkeys(wanted), **one} for one in named)
    id = len(wanted) - 1 if chosen.id >= 0 else -1  # text and id come first now
    yield from _documents(((list(one.values()), Columns(tuple(one), 0, id)) for one in whole), name=name, where=where)


def _documents(rows: Iterable[tuple[Sequence[Any], Columns]], *, name: str, where: str) -> Iterator[Document]:
    """Yield a document for each row, with its columns, that has a text; see `row_documents`."""
    without = 0
    for number, (row, columns) in enumerate(rows, 1):
        text = row[columns.text]
        if text is None or (isinstance(text, float) and math.isnan(text)):
            without += 1
            continue
        meta = {
            key: value
            for place, (key, cell) in enumerate(zip(columns.names, row, strict=True))
            if place not in (columns.text, columns.id) and (value := _json(cell)) is not None
        }
        given = None if columns.id < 0 else _json(row[columns.id])
        id = f"{name}:{number}" if given is None or given == "" else _named(given)
        yield Document(id, _text(text, where, number), meta=meta)
    if without:
        warn(f"{where}: {without:,} rows without a text were left out")


def _named(given: JSON) -> str:
    """Return an id as text; a column that lacks some ids may have made 17.0 of 17."""
    return str(int(given)) if isinstance(given, float) and given.is_integer() else str(given)


def _text(value: Any, where: str, number: int) -> str:
    if isinstance(value, (bytes, memoryview)):
        try:
            value = bytes(value).decode()
        except UnicodeDecodeError as error:
            raise FormatError(where, f"row {number:,}: the text is not UTF-8: {error}") from error
    if not isinstance(value, str):
        kind = type(value).__name__
        raise FormatError(where, f"row {number:,}: the text is of type {kind}, expected a text; name another column")
    return value


def _json(value: Any, depth: int = 0) -> JSON:
    """Return a cell as JSON holds it: dates as ISO 8601, bytes as base64, what is no number as None."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth < DEEPEST and isinstance(value, Mapping):
        return {str(key): _json(item, depth + 1) for key, item in value.items()}
    if depth < DEEPEST and isinstance(value, (list, tuple)):
        return [_json(item, depth + 1) for item in value]
    return _written(value)


def _written(value: Any) -> str:
    if isinstance(value, (bytes, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    return str(value.isoformat() if isinstance(value, (dt.date, dt.time)) else value)
