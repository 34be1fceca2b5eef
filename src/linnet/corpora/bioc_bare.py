"""BioC XML of corpora whose offsets cannot be relied upon: texts and annotations, nothing checked against the other.

`linnet.corpora.bioc_xml` reads BioC as it should be and refuses what contradicts itself. Some corpora do: their
passages begin where the one before has not ended, or their annotations stand beside the text. Their readers take what
is here and place it with `linnet.corpora.misplaced`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, cast

from lxml import etree

from linnet.corpora.layout import lined_up
from linnet.corpora.separated import number
from linnet.data import Passage
from linnet.errors import FormatError
from linnet.frozen import EMPTY
from linnet.text.files import shown
from linnet.text.xml_files import elements

__all__ = ["BareAnnotation", "BareDocument", "bare_documents"]


class BareAnnotation(NamedTuple):
    """An annotation with its first location, as the file has it."""

    id: str
    infons: Mapping[str, str]
    start: int
    end: int
    text: str
    line: int


class BareDocument(NamedTuple):
    """A document whose passages are joined by a line break each."""

    id: str
    infons: Mapping[str, str]
    text: str
    passages: tuple[Passage, ...]
    annotations: list[BareAnnotation]


def bare_documents(path: str | Path) -> Iterator[BareDocument]:
    """Yield the documents of a BioC file; annotations without location or text are left out.

    Raises:
        FormatError: no well-formed XML, no BioC, a document without id, a location that is none; with the line.
    """
    none = True
    for element in elements(path, ("document",), kind="BioC"):
        none = False
        yield _document(element, shown(path))
    if none:
        raise FormatError(shown(path), "is no BioC XML: expected the elements <collection> and <document>")


def _document(element: etree._Element, path: str) -> BareDocument:
    id = (element.findtext("id") or "").strip()
    if not id:
        raise FormatError(path, "this document has no id", line=_line(element))
    found = list(element.iterfind("passage"))
    parts = [(_infons(one).get("type", ""), one.findtext("text") or "", EMPTY) for one in found]
    text, passages = lined_up([part for part in parts if part[1]])
    return BareDocument(
        id, _infons(element), text, passages, [each for one in found for each in _annotations(one, path)]
    )


def _annotations(passage: etree._Element, path: str) -> Iterator[BareAnnotation]:
    for element in passage.iterfind("annotation"):
        location, text = element.find("location"), element.findtext("text") or ""
        if location is not None and text:
            start, length = (number(location.get(name) or "", path, _line(element)) for name in ("offset", "length"))
            infons = _infons(element)
            yield BareAnnotation(element.get("id") or "", infons, start, start + length, text, _line(element))


def _infons(element: etree._Element) -> dict[str, str]:
    return {infon.get("key") or "": (infon.text or "").strip() for infon in element.iterfind("infon")}


def _line(element: etree._Element) -> int:
    return cast("int | None", element.sourceline) or 0
