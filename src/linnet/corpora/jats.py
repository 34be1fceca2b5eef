"""JATS, the XML of PubMed Central's articles: title, abstract and sections as passages; tables and figures behind them.

=====================================  ==============================================================================
passage                                holds
=====================================  ==============================================================================
``title``                              the article's title
``abstract``                           one for each section of the abstract
``section``                            the paragraphs of a section of the body, without those of its subsections
``table`` ``figure``                   label and caption, for tables their rows with tabs between cells; at the end, so
                                       that the running text holds none of them
=====================================  ==============================================================================

Titles of sections are no text but ``meta["section"]`` of the passage, those of subsections behind a ``/``; its kind
(``methods``), where one is given, is ``meta["category"]``. References, footnotes, formulas in TeX and citations in
superscript are left out. Paragraphs have line breaks between, blanks inside run together.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from linnet.corpora.sources import stem
from linnet.data import Document, Passage
from linnet.errors import FormatError
from linnet.text.files import shown
from linnet.text.xml_files import elements

__all__ = ["read"]

FLOATS = {"table-wrap": "table", "fig": "figure"}
LEFT_OUT = frozenset({"fn", "tex-math", "annotation", "graphic", "inline-graphic", "object-id", "ref-list", *FLOATS})
# what ends a line of text where it stands between others
BLOCKS = frozenset({"p", "list", "list-item", "disp-quote", "disp-formula", "title", "def-item", "td", "th", "label"})
IDS = ("pmc", "pmcid", "pmid", "doi", "publisher-id")
Part = tuple[str, str, dict[str, Any]]  # kind, text and meta of a passage


def read(path: str | Path, *, name: str = "") -> Iterator[Document]:
    """Yield the articles of a JATS file, plain or gzip; a document's id is its PMC id, else its PMID or DOI.

    All ids stay in ``meta["ids"]``. Articles may stand in the name space of JATS or in none.

    Args:
        path: the file.
        name: the id of an article without any; the file's stem when empty.

    Raises:
        FormatError: no well-formed XML (with the line), entity declarations, or no article.
    """
    count = 0
    for article in elements(path, ("{*}article", "article"), kind="JATS"):
        count += 1
        for element in article.iter("{*}*"):
            element.tag = etree.QName(element).localname
        try:
            yield _document(article, name or stem(path))
        except RecursionError as error:
            raise FormatError(shown(path), "its elements are nested too deeply") from error
    if not count:
        raise FormatError(shown(path), "holds no article (no element article): is it JATS, as PubMed Central has it?")


def _document(article: etree._Element, name: str) -> Document:
    ids = {
        str(id.get("pub-id-type", "")): " ".join("".join(map(str, id.itertext())).split())
        for id in article.findall("front/article-meta/article-id")
    }
    number = next((ids[kind] for kind in IDS if ids.get(kind)), name)
    if ids.get("pmc") == number and number.isdecimal():
        number = f"PMC{number}"
    passages, start = [], 0
    parts = [part for part in _parts(article) if part[1]]
    for kind, text, meta in parts:
        passages.append(Passage(start, start + len(text), kind, meta))
        start += len(text) + 1
    text = "\n".join(text for _, text, _ in parts)
    return Document(number, text, passages=tuple(passages), meta={"ids": ids} if ids else {})


def _parts(article: etree._Element) -> Iterator[Part]:
    title = article.find("front/article-meta/title-group/article-title")
    if title is not None:
        yield "title", _text(title), {}
    for abstract in article.findall("front/article-meta/abstract"):
        yield from _sections(abstract, "abstract", [])
    for body in article.findall("body"):
        yield from _sections(body, "section", [])
    for element in article.iter(*FLOATS):
        yield _float(element)


def _sections(section: etree._Element, kind: str, above: list[str]) -> Iterator[Part]:
    """Yield what stands in a section itself, then its subsections."""
    heading = section.find("title")
    titles = above if heading is None else [*above, _text(heading)]
    meta: dict[str, Any] = {"section": " / ".join(titles)} if titles else {}
    if category := section.get("sec-type") or section.get("abstract-type"):
        meta["category"] = str(category)
    inside = [child for child in section if child.tag not in ("sec", "title", "label")]
    yield kind, "\n".join(filter(None, map(_text, inside))), meta
    for child in section.findall("sec"):
        yield from _sections(child, kind, titles)


def _float(element: etree._Element) -> Part:
    """Return a table or figure: label and caption, then the rows, a line each."""
    caption = [_text(child) for child in element if child.tag in ("label", "caption")]
    rows = ["\t".join(_text(cell) for cell in row if cell.tag in ("td", "th")) for row in element.iter("tr")]
    lines = [" ".join(filter(None, caption)), *(row for row in rows if row.strip())]
    return FLOATS[str(element.tag)], "\n".join(filter(None, lines)), {}


# --- text ------------------------------------------------------------------------------------------------------------


def _text(element: etree._Element) -> str:
    """Return the text of an element, its markup dropped, blanks run together."""
    if element.tag in LEFT_OUT:
        return ""
    return " ".join("".join(_pieces(element)).split())


def _pieces(element: etree._Element) -> Iterator[str]:
    yield str(element.text or "")
    for child in element:
        block = " " if child.tag in BLOCKS else ""
        if not _is_left_out(child):
            yield block
            yield from _pieces(child)
        yield block + str(child.tail or "")


def _is_left_out(element: etree._Element) -> bool:
    citations = element.findall("xref[@ref-type='bibr']") if element.tag == "sup" else []
    return element.tag in LEFT_OUT or bool(citations)
