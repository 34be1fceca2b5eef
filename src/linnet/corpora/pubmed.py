"""PubMed and MEDLINE XML: one document a citation, title and abstract sections as passages.

The text is the title, then each section of the abstract, with line breaks between; blanks inside run together. The
label of a section ("METHODS") is not part of the text but of the passage's ``meta``, with NLM's category. Citations
without an abstract give their title. Parsing streams and never loads a DTD, resolves an entity or opens a connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from lxml import etree

from linnet.data import JSON, Document, Passage
from linnet.errors import FormatError
from linnet.text.files import open_bytes, shown

__all__ = ["read"]

CITATIONS = ("MedlineCitation", "BookDocument")
WRAPPERS = ("PubmedArticle", "PubmedBookArticle", "DeleteCitation", "DeleteDocument")


def read(path: str | Path) -> Iterator[Document]:
    """Yield the citations of a PubMed XML file, plain or gzip; a document's id is the PMID.

    Raises:
        FormatError: no well-formed XML (with the line), entity declarations, no citation, or one without PMID.
    """
    name = shown(path)
    count = 0
    with open_bytes(path) as stream:
        events = etree.iterparse(
            stream,
            events=("start", "end"),
            tag=(*CITATIONS, *WRAPPERS),
            load_dtd=False,
            no_network=True,
            resolve_entities=False,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
        )
        try:
            for event, element in events:
                if event == "start":
                    if not count:
                        _refuse_entities(element, name)
                    continue
                if element.tag in CITATIONS:
                    yield _document(element, name)
                    count += 1
                _forget(element)
        except etree.XMLSyntaxError as error:
            raise FormatError(name, f"no well-formed XML: {error.msg}", line=error.lineno) from error
    if not count:
        raise FormatError(name, f"holds no citation (no element {' or '.join(CITATIONS)}): is it PubMed XML?")


def _refuse_entities(element: etree._Element, name: str) -> None:
    dtd: Any = element.getroottree().docinfo.internalDTD
    if dtd is not None and dtd.entities():
        raise FormatError(name, "declares XML entities, which PubMed files do not: refused as unsafe")


def _forget(element: etree._Element) -> None:
    """Free an element that has been read and all that stands before it, so that memory stays flat."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _document(citation: etree._Element, name: str) -> Document:
    id = (citation.findtext("PMID") or "").strip()
    if not id:
        raise FormatError(name, "this citation has no PMID", line=cast("int | None", citation.sourceline))
    article = citation.find("Article")
    article = citation if article is None else article
    parts: list[tuple[str, str, dict[str, JSON]]] = []
    title = article.find("ArticleTitle")
    if title is not None:
        parts.append(("title", _text(title), {}))
    for section in article.findall("Abstract/AbstractText"):
        meta: dict[str, JSON] = {}
        for key, attribute in (("label", "Label"), ("category", "NlmCategory")):
            if value := section.get(attribute):
                meta[key] = str(value)
        parts.append(("abstract", _text(section), meta))
    passages, start = [], 0
    parts = [part for part in parts if part[1]]
    for kind, text, meta in parts:
        passages.append(Passage(start, start + len(text), kind, meta))
        start += len(text) + 1
    return Document(id, "\n".join(text for _, text, _ in parts), passages=tuple(passages))


def _text(element: etree._Element) -> str:
    """Return the text of an element, markup such as superscripts dropped, blanks run together."""
    return " ".join("".join(str(piece) for piece in element.itertext()).split())
