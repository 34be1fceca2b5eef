"""BioC JSON: the elements of BioC as objects, in the arrangements that are about.

Read are a collection object (``{"source": ..., "documents": [...]}``), documents one a line or one after the other as
PubTator Central gives them, PubTator 3's ``{"PubTator3": [...]}``, and arrays of any of these. Infons may hold any
JSON value; members that BioC does not have are kept in ``meta["fields"]`` of document,
passage or mention (those of sentences, relations, nodes and locations are left out, with a warning).

Memory: files with a document a line, and those that Linnet writes, are read one document at a time. Any other file is
one JSON text and held as a whole, about ten times its size; beyond `MAX_TEXT` bytes it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, TextIO

from linnet.corpora.bioc import (
    DIGITS,
    KINDS,
    LISTS,
    NUMBERS,
    BioCAnnotation,
    BioCCollection,
    BioCDocument,
    BioCPassage,
    BioCRelation,
    Infons,
)
from linnet.corpora.bioc_read import Reader
from linnet.corpora.bioc_write import Writer
from linnet.corpora.faults import STOP, Faults
from linnet.data import JSON, Document, Rows
from linnet.errors import FormatError
from linnet.text.files import open_text, shown
from linnet.text.json_files import dumps, loads, whole

__all__ = ["read", "write"]

EXPECTED = "a collection (with 'documents'), a document (with 'passages') or {\"PubTator3\": [...]}"


def read(
    path: str | Path, *, rows: Rows | None = None, fold_composites: bool = False, faults: Faults = STOP
) -> Iterator[Document]:
    """Yield the documents of a BioC JSON file, plain or gzip.

    Args:
        path: the file.
        rows: a knowledge base that turns the ids of stored candidates into rows; without it they stay ids.
        fold_composites: fold BC5CDR's individual mentions into their composites (`linnet.corpora.bioc_fold`).
        faults: what is done about annotations that cannot be read.

    Raises:
        FormatError: no JSON, no BioC, offsets that contradict each other or the text; with the line where the
            outermost value begins.
    """
    reader = Reader(shown(path), rows=rows, fold_composites=fold_composites, faults=faults)
    objects = _Objects(reader)
    for value, line, header in _values(open_text(path), shown(path)):
        for document, collection in objects.documents(value, line, objects.collection(header) if header else None):
            yield from reader.documents(document, collection)
    reader.odd.warn()


# --- JSON texts ------------------------------------------------------------------------------------------------------


def _values(lines: Iterator[str], path: str) -> Iterator[tuple[Any, int, dict[str, Any] | None]]:
    """Yield the JSON values in a file, each with its line, and with its collection where that was read before it."""
    for number, line in enumerate(lines, 1):
        if not line or line.isspace():
            continue
        try:
            value = loads(line)
        except ValueError:
            header = _opened(line)
            if header is None:
                for spread, begins in whole(line, lines, number, path):
                    yield spread, begins, None
            else:
                yield from _members(lines, header, number, path)
        else:
            yield value, number, None


def _opened(line: str) -> dict[str, Any] | None:
    """Return the collection whose documents follow a line each, if `line` opens one as `write` does."""
    if not line.rstrip().endswith('"documents":['):
        return None
    try:
        value = loads(line + "]}")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _members(
    lines: Iterator[str], header: dict[str, Any], number: int, path: str
) -> Iterator[tuple[Any, int, dict[str, Any] | None]]:
    """Yield the documents of an opened collection, up to the line that closes it."""
    expected = True  # whether a document must follow
    first = True
    for here, line in enumerate(lines, number + 1):
        text = line.strip()
        if text == "]}" and (first or not expected):
            return
        if not expected:
            raise FormatError(path, "expected ']}' after the last document of the collection", line=here)
        expected = text.endswith(",")
        first = False
        try:
            yield loads(text.removesuffix(",")), here, header
        except ValueError as error:
            raise FormatError(
                path, f"expected a document on this line, but it is not JSON: {error}", line=here
            ) from error
    raise FormatError(path, "ends before the collection is closed with ']}': fetch or copy it again")


# --- objects ---------------------------------------------------------------------------------------------------------


class _Objects:
    """Builds BioC's elements from JSON objects."""

    def __init__(self, reader: Reader) -> None:
        self._path, self._odd, self._faults = reader.path, reader.odd, reader.faults
        self._line = 0
        self._where = ""

    def documents(
        self, value: Any, line: int, collection: BioCCollection | None
    ) -> Iterator[tuple[BioCDocument, BioCCollection]]:
        """Yield the documents in one JSON value, each with its collection."""
        self._line, self._where = line, ""
        if isinstance(value, list):
            for item in value:
                yield from self.documents(item, line, collection)
        elif isinstance(value, dict) and "passages" in value:
            yield self._made("document", value), collection or BioCCollection()
        elif isinstance(value, dict) and isinstance(value.get("documents"), list):
            yield from self.documents(value["documents"], line, self.collection(value))
        elif isinstance(value, dict) and isinstance(value.get("PubTator3"), list):
            yield from self.documents(value["PubTator3"], line, collection)
        else:
            found = f"an object with {', '.join(map(repr, value)) or 'nothing'}" if isinstance(value, dict) else value
            raise self._fault(f"is no BioC JSON: expected {EXPECTED}, found {str(found)[:80]}")

    def collection(self, value: Mapping[str, Any]) -> BioCCollection:
        """Return what stands before the documents."""
        made: BioCCollection = self._made("collection", value)
        return made

    def _fault(self, problem: str) -> FormatError:
        where = f"{self._where}: " if self._where else ""
        return FormatError(self._path, where + problem, line=self._line)

    def _string(self, value: Mapping[str, Any], key: str) -> str:
        found = value.get(key)
        if found is None:
            return ""
        if isinstance(found, int) and not isinstance(found, bool) and key in ("id", "refid"):
            return str(found)
        if not isinstance(found, str):
            raise self._fault(f"{key!r}: expected a string, found {found!r:.80}")
        return found

    def _number(self, value: Mapping[str, Any], key: str) -> int:
        found = value.get(key)
        if isinstance(found, str) and found.isdecimal() and len(found) <= DIGITS:
            return int(found)
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            raise self._fault(f"{key!r}: expected a number that is not negative, found {found!r:.80}")
        return found

    def _infons(self, value: Mapping[str, Any]) -> Infons:
        found = value.get("infons")
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise self._fault(f"'infons': expected an object, found {found!r:.80}")
        return found

    def _each(self, value: Mapping[str, Any], key: str) -> list[Any]:
        found = value.get(key)
        if not found and (found is None or isinstance(found, list)):
            return []
        if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
            raise self._fault(f"{key!r}: expected a list of objects, found {found!r:.80}")
        make = partial(self._made, LISTS[key])
        return list(self._faults.make_each(make, found) if key == "annotations" else map(make, found))

    def _made(self, name: str, value: Mapping[str, Any]) -> Any:
        """Return the element called so, with all that is in it; of a collection without its documents."""
        kind = KINDS[name]
        known = _known(name)
        others = {} if value.keys() <= known else {key: item for key, item in value.items() if key not in known}
        for key in others if kind.strict else ():
            self._odd.add("member that BioC does not have, left out", self._line, repr(key))
        found: dict[str, Any] = {} if kind.strict else {"fields": others}
        if kind.children:
            found["line"] = self._line
        if name == "document":
            self._where = ""
        for key in (*kind.attributes, *kind.children):
            found[key] = self._member(value, key)
            if key == kind.needs and found[key] == "":
                raise self._fault(kind.lacks)
            if name == "document" and key == "id":
                self._where = f"document {found[key]!r}"
        return kind.make(**found)

    def _member(self, value: Mapping[str, Any], key: str) -> Any:
        if key == "infons":
            return self._infons(value)
        if key in LISTS:
            return self._each(value, key)
        return self._number(value, key) if key in NUMBERS else self._string(value, key)


@cache
def _known(name: str) -> frozenset[str]:
    """Return the members of an element that are its own, or not kept."""
    beside = ("bioctype", "documents") if name == "collection" else ("bioctype",)
    return frozenset((*beside, *KINDS[name].attributes, *KINDS[name].children))


# --- writing ---------------------------------------------------------------------------------------------------------


def write(docs: Iterable[Document], out: TextIO, *, rows: Rows | None = None) -> int:
    """Write documents as one BioC JSON collection, a document a line, and return how many.

    Raises:
        DataError: candidates of another knowledge base than `rows`, or rows without one; numbers that JSON lacks.
    """
    writer = Writer(native=True, rows=rows)
    count = 0
    for doc in docs:
        if not count:
            out.write(_head(writer.begin(doc)))
        out.write((",\n" if count else "\n") + dumps(_document(writer.document(doc)), f"document {doc.id!r}"))
        count += 1
    if not count:
        out.write(_head(writer.begin(None)))
    out.write("\n]}\n")
    return count


def _head(header: BioCCollection) -> str:
    value: dict[str, JSON] = {"source": header.source, "date": header.date, "key": header.key}
    value |= {"version": header.version} if header.version else {}
    opened = {**value, "infons": header.infons, **header.fields, "documents": []}
    return dumps(opened, "the collection").removesuffix("]}")


def _document(document: BioCDocument) -> dict[str, Any]:
    return {
        "id": document.id,
        "infons": document.infons,
        **document.fields,
        "passages": [_passage(passage) for passage in document.passages],
        "relations": [_relation(relation) for relation in document.relations],
    }


def _passage(passage: BioCPassage) -> dict[str, Any]:
    return {
        "offset": passage.offset,
        "infons": passage.infons,
        "text": passage.text or "",
        **passage.fields,
        "sentences": [],
        "annotations": [_annotation(annotation) for annotation in passage.annotations],
        "relations": [],
    }


def _annotation(annotation: BioCAnnotation) -> dict[str, Any]:
    return {
        "id": annotation.id,
        "infons": annotation.infons,
        "text": annotation.text,
        **annotation.fields,
        "locations": [{"offset": offset, "length": length} for offset, length in annotation.locations],
    }


def _relation(relation: BioCRelation) -> dict[str, Any]:
    nodes = [{"refid": refid, "role": role} for refid, role in relation.nodes]
    return {"id": relation.id, "infons": relation.infons, "nodes": nodes}
