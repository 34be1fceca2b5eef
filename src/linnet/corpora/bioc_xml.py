"""BioC XML, the exchange format of biomedical text mining: read and written one document at a time.

How elements become documents is told in `linnet.corpora.bioc_read`, how documents become elements in
`linnet.corpora.bioc_write`, Linnet's own infons in `linnet.corpora.bioc`, the infons with ids in
`linnet.corpora.bioc_ids`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO, cast

from lxml import etree

from linnet.corpora.bioc import (
    DIGITS,
    BioCAnnotation,
    BioCCollection,
    BioCDocument,
    BioCPassage,
    BioCRelation,
    BioCSentence,
    Infons,
    Location,
    Node,
)
from linnet.corpora.bioc_read import Reader
from linnet.corpora.bioc_write import ILLEGAL, Writer
from linnet.corpora.faults import STOP, Faults
from linnet.data import Document, Rows
from linnet.errors import DataError, FormatError
from linnet.text.files import shown
from linnet.text.xml_files import elements

__all__ = ["read", "write"]

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n'
HEADER = ("source", "date", "key", "version")


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
                header = header or self._collection(root)
                yield from self._reader.documents(self._document(element), header)
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

    def _collection(self, root: etree._Element) -> BioCCollection:
        collection = BioCCollection()
        for child in root:
            if child.tag in HEADER:
                setattr(collection, child.tag, self._text(child))
            elif child.tag == "infon":
                self._infon(child, collection.infons)
            elif child.tag != "document":
                self._unknown(child)
        return collection

    def _document(self, element: etree._Element) -> BioCDocument:
        document = BioCDocument(line=_line(element))
        for child in element:
            if child.tag == "id":
                document.id = self._text(child)
            elif child.tag == "passage":
                document.passages.append(self._passage(child))
            else:
                self._common(child, document)
        if not document.id:
            raise self._fault("this document has no id", element)
        return document

    def _passage(self, element: etree._Element) -> BioCPassage:
        passage = BioCPassage(offset=-1, line=_line(element))
        for child in element:
            if child.tag == "annotation":
                passage.annotations += self._reader.faults.make_each(self._annotation, [child])
            elif child.tag == "offset":
                passage.offset = self._number(child.text, child)
            elif child.tag == "text":
                passage.text = self._text(child)
            elif child.tag == "sentence":
                passage.sentences.append(self._sentence(child))
            else:
                self._common(child, passage)
        if passage.offset < 0:
            raise self._fault("this passage has no offset", element)
        return passage

    def _sentence(self, element: etree._Element) -> BioCSentence:
        sentence = BioCSentence(offset=-1, line=_line(element))
        for child in element:
            if child.tag == "offset":
                sentence.offset = self._number(child.text, child)
            elif child.tag == "text":
                sentence.text = self._text(child)
            else:
                self._common(child, sentence)
        if sentence.offset < 0:
            raise self._fault("this sentence has no offset", element)
        return sentence

    def _common(self, element: etree._Element, owner: BioCDocument | BioCPassage | BioCSentence) -> None:
        """Read what documents, passages and sentences alike may hold."""
        if element.tag == "infon":
            self._infon(element, owner.infons)
        elif element.tag == "annotation":
            owner.annotations += self._reader.faults.make_each(self._annotation, [element])
        elif element.tag == "relation":
            owner.relations.append(self._relation(element))
        else:
            self._unknown(element)

    def _annotation(self, element: etree._Element) -> BioCAnnotation:
        annotation = BioCAnnotation(element.get("id") or "", line=_line(element))
        for child in element:
            tag = child.tag
            if tag == "infon":
                self._infon(child, annotation.infons)
            elif tag == "location":
                offset, length = self._number(child.get("offset"), child), self._number(child.get("length"), child)
                annotation.locations.append(Location(offset, length))
            elif tag == "text":
                annotation.text = self._text(child)
            else:
                self._unknown(child)
        return annotation

    def _relation(self, element: etree._Element) -> BioCRelation:
        relation = BioCRelation(element.get("id") or "")
        for child in element:
            if child.tag == "infon":
                self._infon(child, relation.infons)
            elif child.tag == "node":
                refid = child.get("refid")
                if not refid:
                    raise self._fault("a node without refid", child)
                relation.nodes.append(Node(refid, child.get("role") or ""))
            else:
                self._unknown(child)
        return relation


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
        text = "".join(_document(writer.document(doc)))
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


def _element(tag: str, text: str) -> str:
    return f"<{tag}>{_escaped(text)}</{tag}>"


def _infons(infons: Infons) -> Iterator[str]:
    for key, value in infons.items():
        yield f'<infon key="{_quoted(key)}">{_escaped(str(value))}</infon>'


def _head(header: BioCCollection) -> str:
    parts = [_element("source", header.source), _element("date", header.date), _element("key", header.key)]
    parts += [_element("version", header.version)] if header.version else []
    return "".join(["<collection>", *parts, *_infons(header.infons), "\n"])


def _document(document: BioCDocument) -> Iterator[str]:
    yield "<document>" + _element("id", document.id)
    yield from _infons(document.infons)
    for passage in document.passages:
        yield "<passage>"
        yield from _infons(passage.infons)
        yield f"<offset>{passage.offset}</offset>" + _element("text", passage.text or "")
        for annotation in passage.annotations:
            yield from _annotation(annotation)
        yield "</passage>"
    for relation in document.relations:
        yield f'<relation id="{_quoted(relation.id)}">' if relation.id else "<relation>"
        yield from _infons(relation.infons)
        for refid, role in relation.nodes:
            yield f'<node refid="{_quoted(refid)}" role="{_quoted(role)}"/>'
        yield "</relation>"
    yield "</document>\n"


def _annotation(annotation: BioCAnnotation) -> Iterator[str]:
    yield f'<annotation id="{_quoted(annotation.id)}">'
    yield from _infons(annotation.infons)
    for offset, length in annotation.locations:
        yield f'<location offset="{offset}" length="{length}"/>'
    yield _element("text", annotation.text) + "</annotation>"
