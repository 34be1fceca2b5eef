"""PubMed and MEDLINE XML: one document a citation, title and abstract sections as passages.

The text is the title, then each section of the abstract, with line breaks between; blanks inside run together. The
label of a section ("METHODS") is not part of the text but of the passage's ``meta``, with NLM's category. Citations
without an abstract give their title. ``meta`` of the document holds ``year`` and ``journal``, where they are given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from lxml import etree

from linnet.corpora.layout import lined_up
from linnet.data import JSON, Document
from linnet.errors import FormatError
from linnet.text.files import shown
from linnet.text.xml_files import elements

__all__ = ["CITATIONS", "WRAPPERS", "citation_document", "read"]

CITATIONS = ("MedlineCitation", "BookDocument")
DATES = ("Article/Journal/JournalIssue/PubDate", "Book/PubDate", "Article/ArticleDate")
YEAR = re.compile(r"\b\d{4}\b")  # also of "1998 Dec-1999 Jan"
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
            yield citation_document(element, name)
            count += 1
    if not count:
        raise FormatError(name, f"holds no citation (no element {' or '.join(CITATIONS)}): is it PubMed XML?")


def citation_document(citation: etree._Element, name: str) -> Document:
    """Return the document of one citation; `name` is what messages call the file.

    Raises:
        FormatError: it has no PMID.
    """
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
    return Document(id, text, passages=passages, meta=_meta(citation))


def _meta(citation: etree._Element) -> dict[str, JSON]:
    """Return year and journal of a citation, as far as it tells them."""
    meta: dict[str, JSON] = {}
    date = next((found for path in DATES if (found := citation.find(path)) is not None), None)
    if date is not None and (year := YEAR.search(_text(date))):
        meta["year"] = int(year[0])
    if journal := (citation.findtext("Article/Journal/ISOAbbreviation") or "").strip():
        meta["journal"] = journal
    return meta


def _text(element: etree._Element) -> str:
    """Return the text of an element, markup such as superscripts dropped, blanks run together."""
    return " ".join("".join(str(piece) for piece in element.itertext()).split())
