"""PubMed and MEDLINE XML: one document a citation, title and abstract sections as passages.

The text is the title, then each section of the abstract, with line breaks between; blanks inside run together. The
label of a section ("METHODS") is not part of the text but of the passage's ``meta``, with NLM's category. Citations
without an abstract give their title.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

from lxml import etree

from linnet.corpora.layout import lined_up
from linnet.data import JSON, Document
from linnet.errors import FormatError
from linnet.text.files import shown
from linnet.text.xml_files import elements

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
    for element in elements(path, (*CITATIONS, *WRAPPERS), kind="PubMed"):
        if element.tag in CITATIONS:
            yield _document(element, name)
            count += 1
    if not count:
        raise FormatError(name, f"holds no citation (no element {' or '.join(CITATIONS)}): is it PubMed XML?")


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
    text, passages = lined_up([part for part in parts if part[1]])
    return Document(id, text, passages=passages)


def _text(element: etree._Element) -> str:
    """Return the text of an element, markup such as superscripts dropped, blanks run together."""
    return " ".join("".join(str(piece) for piece in element.itertext()).split())
