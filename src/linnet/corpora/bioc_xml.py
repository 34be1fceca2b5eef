"""BioC XML, the exchange format of biomedical text mining: read and written one document at a time.

How elements become documents is told in `linnet.corpora.bioc_read`, how documents become elements in
`linnet.corpora.bioc_write`, Linnet's own infons in `linnet.corpora.bioc`, the infons with ids in
`linnet.corpora.ids`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO, cast

from lxml import etree

from linnet.corpora.bioc import DIGITS, KINDS, LISTS, NUMBERS, BioCCollection, Infons, Kind
from linnet.corpora.bioc_read import Reader
from linnet.corpora.bioc_write import ILLEGAL, Writer
from linnet.corpora.faults import STOP, Faults
from linnet.data import Document, Rows
from linnet.errors import DataError, FormatError
from linnet.text.files import shown
from linnet.text.xml_files import elements

__all__ = ["read", "write"]

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n'
OPTIONAL = ("version", "relation")  # what is not written where it is empty: an element, the id of another


def read(
    path: str | Path, *, rows: Rows | None = None, fold_composites: bool = False, faults: Faults = STOP
) -> Iterator[Document]:
    """Yield the documents of a BioC XML file, plain or gzip, holding one at a time.

    Args:
        path: the file.
        rows: a knowledge base that turns the ids of stored candidates into rows; without it they stay ids.
        fold_composites: fold BC5CDR's individual mentions into their composites (`linnet.corpora.bioc_fold`).
        faults: what is done about annotations that cannot be read.

    Raises:
        FormatError: no well-formed XML, no BioC, entity declarations, offsets that contradict each other or the text;
            with the line.
    """
    reader = Reader(shown(path), rows=rows, fold_composites=fold_composites, faults=faults)
    yield from _Elements(reader).documents(path)
    reader.odd.warn()


class _Elements:
    """Builds BioC's elements from XML's; elements that BioC does not have are left out, with a warning."""

    def __init__(self, reader: Reader) -> None:
        self._reader, self._path, self._odd = reader, reader.path, reader.odd

    def documents(self, path: str | Path) -> Iterator[Document]:
        root: etree._Element | None = None
        header: BioCCollection | None = None
        for element in elements(path, ("collection", "document"), kind="BioC"):
            if root is None:
                root = element.getroottree().getroot()
                self._check_root(root)
            if element.tag == "document":
                if element.getparent() is not root:
                    raise self._fault("a document that is not a child of the collection", element)
                header = header or self._made(root)
                yield from self._reader.documents(self._made(element), header)
        if root is None:
            raise FormatError(self._path, "is no BioC XML: expected the element <collection>")

    def _check_root(self, root: etree._Element) -> None:
        if root.tag != "collection":
            raise self._fault("is no BioC XML: expected the element <collection> around all others", root)

    def _fault(self, problem: str, element: etree._Element) -> FormatError:
        return FormatError(self._path, problem, line=_line(element))

    def _text(self, element: etree._Element) -> str:
        if len(element):
            found = element[0].tag if isinstance(element[0].tag, str) else "an undeclared entity"
            raise self._fault(f"<{element.tag}> holds {found}, expected only text", element)
        return cast("str", element.text) or ""

    def _number(self, value: Any, element: etree._Element) -> int:
        text = str(value or "").strip()
        if text.isdecimal() and text.isascii() and len(text) <= DIGITS:
            return int(text)
        raise self._fault(f"expected a number that is not negative as an offset or length, found {text!r}", element)

    def _infon(self, element: etree._Element, infons: Infons) -> None:
        key = element.get("key")
        if key is None:
            raise self._fault("an infon without key", element)
        value = self._text(element)
        before: Any = infons.get(key)
        if isinstance(before, list):
            before.append(value)
        else:
            infons[key] = value if before is None else [before, value]

    def _unknown(self, element: etree._Element) -> None:
        if not isinstance(element.tag, str):
            raise self._fault("an undeclared entity, expected an element of BioC", element)
        self._odd.add("element that BioC does not have, left out", _line(element) or 0, f"<{element.tag}>")

    def _made(self, element: etree._Element) -> Any:
        """Return an element with all that is in it; of a collection without its documents."""
        kind = KINDS[str(element.tag)]
        found: dict[str, Any] = {}
        for name in kind.attributes:
            value = element.get(name)
            found[name] = self._number(value, element) if name in NUMBERS else value or ""
        if kind.children:
            found["line"] = _line(element)
            for child in element:
                self._take(child, kind, found)
        if kind.needs and found.get(kind.needs, "") == "":
            raise self._fault(kind.lacks, element)
        return kind.make(**found)

    def _take(self, child: etree._Element, kind: Kind, found: dict[str, Any]) -> None:
        """Put what a child of an element holds into what was `found` of it."""
        name = str(child.tag)
        if name == "infon" and "infons" in kind.children:
            self._infon(child, found.setdefault("infons", {}))
        elif f"{name}s" in LISTS and f"{name}s" in kind.children:
            guarded = self._reader.faults.make_each if name == "annotation" else map
            found.setdefault(f"{name}s", []).extend(guarded(self._made, [child]))
        elif name in kind.children:
            found[name] = self._number(child.text, child) if name in NUMBERS else self._text(child)
        elif name != "document":
            self._unknown(child)


def _line(element: etree._Element) -> int | None:
    return cast("int | None", element.sourceline)


# --- writing ---------------------------------------------------------------------------------------------------------


def write(docs: Iterable[Document], out: TextIO, *, rows: Rows | None = None) -> int:
    """Write documents as BioC XML, one at a time and without indentation, and return how many.

    Raises:
        DataError: a character that XML 1.0 cannot hold, with document and offset; candidates of another knowledge base
            than `rows`, or rows without one.
    """
    writer = Writer(native=False, rows=rows)
    count = 0
    for doc in docs:
        if not count:
            out.write(HEAD + _head(writer.begin(doc)))
        text = "".join(_xml("document", writer.document(doc))) + "\n"
        if ILLEGAL.search(text):
            raise _illegal(doc, text)
        out.write(text)
        count += 1
    if not count:
        out.write(HEAD + _head(writer.begin(None)))
    out.write("</collection>\n")
    return count


def _illegal(doc: Document, xml: str) -> DataError:
    found = ILLEGAL.search(doc.text)
    where = f"at offset {found.start()} of its text" if found else "in its id, or in an id, type, kind or relation"
    found = found or ILLEGAL.search(xml)
    code = f"U+{ord(found[0]):04X}" if found else "a character"
    return DataError(
        f"document {doc.id!r}: XML cannot hold {code}, {where}; write BioC JSON or JSON Lines, or replace it"
    )


def _escaped(text: str) -> str:
    if "&" in text:
        text = text.replace("&", "&amp;")
    if "<" in text:
        text = text.replace("<", "&lt;")
    if ">" in text:
        text = text.replace(">", "&gt;")
    return text.replace("\r", "&#13;") if "\r" in text else text  # a parser would make it a line feed


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")


def _head(header: BioCCollection) -> str:
    return "".join(_xml("collection", header)).removesuffix("</collection>") + "\n"


def _xml(tag: str, value: Any) -> Iterator[str]:
    """Yield the pieces of an element with all that is in it."""
    kind = KINDS[tag]
    said = {name: str(getattr(value, name)) for name in kind.attributes}
    attributes = [f' {name}="{_quoted(text)}"' for name, text in said.items() if text or tag not in OPTIONAL]
    yield f"<{tag}{''.join(attributes)}{'>' if kind.children else '/>'}"
    for name in kind.children:
        item = getattr(value, name)
        if name == "infons":
            for key, infon in item.items():
                yield f'<infon key="{_quoted(key)}">{_escaped(str(infon))}</infon>'
        elif name in LISTS:
            for one in item:
                yield from _xml(LISTS[name], one)
        elif item or name not in OPTIONAL:
            yield f"<{name}>{_escaped('' if item is None else str(item))}</{name}>"
    if kind.children:
        yield f"</{tag}>"
