"""JATS, the XML of PubMed Central's articles: title, abstract and sections as passages; tables and figures behind them.

=====================================  ==============================================================================
passage                                holds
=====================================  ==============================================================================
``title``                              the article's title; one more for each subtitle
``abstract``                           one for each section of the abstract
``section``                            the paragraphs of a section of the body, without those of its subsections; those
                                       behind a subsection are one more
``appendix``                           the same of the appendices
``table`` ``figure`` ``supplement``    label and caption, for tables their rows with tabs between cells; at the end, so
                                       that the running text holds none of them, wherever in the article they stand
=====================================  ==============================================================================

Titles of sections are no text but ``meta["section"]`` of the passage, those of subsections behind a ``/``; its kind
(``methods``), where one is given, is ``meta["category"]``, that of an abstract (``graphical``) too. Cited works are no
text but ``meta["references"]`` of the document, by ``id`` and ``text``. Footnotes and their marks, formulas in TeX and
citations in superscript are left out; so are keywords, translated abstracts, what else stands behind the body beside
appendices (acknowledgements, notes, glossaries) and the article's letters. Paragraphs, items of lists, lines of verse
and the like have line breaks between, in cells of tables blanks; blanks inside run together. Characters may have the
names that HTML gives them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.entities import html5
from pathlib import Path
from typing import Any, BinaryIO

from lxml import etree

from linnet.corpora.layout import lined_up
from linnet.corpora.sources import stem
from linnet.data import Document
from linnet.errors import FormatError
from linnet.text.files import open_bytes, shown
from linnet.text.xml_files import elements_of

__all__ = ["articles", "read"]

FLOATS = {"table-wrap": "table", "fig": "figure", "supplementary-material": "supplement"}
FLOATED = ("front", "body", "back", "floats-group", "floats-wrap")  # not in letters, whose text is not read
APPENDICES = "back//app"
FOOTNOTES = ("fn", "table-fn")
MARK = re.compile(r"\W*\w{0,2}\W*")  # of a footnote, where words would be part of the text
LEFT_OUT = frozenset(
    {"fn", "tex-math", "annotation", "graphic", "inline-graphic", "object-id", "ref-list", "index-term", *FLOATS}
)
# what stands on lines of its own, wherever it is met
LINES = frozenset(
    {"p", "list", "list-item", "def-list", "def-item", "term", "def", "title", "subtitle", "sec", "boxed-text"}
    | {"disp-quote", "attrib", "verse-group", "verse-line", "speech", "speaker", "statement", "preformat", "tr"}
)
# what has blanks around it, as the sentence goes on behind it
BLOCKS = frozenset({"disp-formula", "td", "th", "label", "break", "code"})
# stand for borders of both kinds, for what parts a label from its line and for a citation that is left out: no XML
# holds them
LINE, BLOCK, LABELLED, CITATION = "\v", "\f", "\x01", "\0"
AFTER_LABEL = re.compile(rf"{LABELLED}[^\S{LINE}]*{LINE}?[^\S{LINE}]*")  # the line that the label is of begins there
BLANKS = " \t\r\n"
BETWEEN = f"{BLANKS},;-‐‑–—"  # what stands between citations
BEFORE, BEHIND = f"{BLANKS},;[(", f"{BLANKS},;])"  # and between them and the other text of a superscript
YEARS = ("front/article-meta/pub-date/year", "front/article-meta/history/date/year")
IDS = ("pmc", "pmcid", "pmid", "doi", "publisher-id")
Part = tuple[str, str, dict[str, Any]]  # kind, text and meta of a passage


def read(path: str | Path, *, name: str = "") -> Iterator[Document]:
    """Yield the articles of a JATS file, plain or gzip; a document's id is its PMC id, else its PMID or DOI.

    All ids stay in ``meta["ids"]``. Articles may stand in the name space of JATS or in none.

    Raises:
        FormatError: no well-formed XML (with the line), entity declarations, or no article.
    """
    with open_bytes(path) as stream:
        yield from articles(stream, name or stem(path), where=shown(path))


def articles(stream: BinaryIO, name: str, *, where: str) -> Iterator[Document]:
    """Yield the articles of JATS that a stream gives, as `read` does of a file; messages call it `where`."""
    count = 0
    for article in elements_of(stream, ("{*}article", "article"), name=where, kind="JATS"):
        count += 1
        for element in article.iter("{*}*"):
            element.tag = element.tag.rpartition("}")[2].rpartition(":")[2]  # a prefix may be declared nowhere
        try:
            yield _document(article, name)
        except RecursionError as error:
            raise FormatError(where, "its elements are nested too deeply") from error
    if not count:
        raise FormatError(where, "holds no article (no element article): is it JATS, as PubMed Central has it?")


def _document(article: etree._Element, name: str) -> Document:
    ids = {
        str(id.get("pub-id-type", "")): " ".join("".join(map(str, id.itertext())).split())
        for id in article.findall("front/article-meta/article-id")
    }
    number = next((ids[kind] for kind in IDS if ids.get(kind)), name)
    if ids.get("pmc") == number and number.isdecimal():
        number = f"PMC{number}"
    text, passages = lined_up([part for part in _parts(article) if part[1]])
    more: dict[str, Any] = {"ids": ids} if ids else {}
    if years := [int(year) for path in YEARS if (year := (article.findtext(path) or "").strip()).isdecimal()]:
        more["year"] = min(years)
    if references := list(_references(article)):
        more["references"] = references
    return Document(number, text, passages=passages, meta=more)


def _references(article: etree._Element) -> Iterator[dict[str, str]]:
    """Yield the cited works, each as the text that its elements make, with blanks between."""
    for reference in article.iterfind("back//ref"):
        text = " ".join(" ".join(map(str, reference.itertext())).split())
        yield {"id": str(reference.get("id", "")), "text": text}


def _parts(article: etree._Element) -> Iterator[Part]:
    for title in ("article-title", "subtitle"):
        for element in article.findall(f"front/article-meta/title-group/{title}"):
            yield "title", _line(element), {}
    for abstract in article.findall("front/article-meta/abstract"):
        yield from _sections(abstract, "abstract", [], str(abstract.get("abstract-type", "")))
    for body in article.findall("body"):
        yield from _sections(body, "section", [])
    for appendix in article.findall(APPENDICES):
        yield from _sections(appendix, "appendix", [])
    for part in FLOATED:
        for element in article.iterfind(part):
            yield from map(_float, element.iter(*FLOATS))


def _sections(section: etree._Element, kind: str, above: list[str], category: str = "") -> Iterator[Part]:
    """Yield what stands in a section itself and its subsections, in reading order; `category` stands in for its own."""
    heading = section.find("title")
    titles = [*above, title] if heading is not None and (title := _line(heading)) else above
    meta: dict[str, Any] = {"section": " / ".join(titles)} if titles else {}
    if own := section.get("sec-type") or category:
        meta["category"] = str(own)
    inside: list[str] = []
    for child in section:
        if child.tag == "sec":
            yield kind, "\n".join(filter(None, inside)), meta
            inside = []
            yield from _sections(child, kind, titles, category)
        elif child.tag not in ("title", "label"):
            inside.append(_text(child))
    yield kind, "\n".join(filter(None, inside)), meta


def _float(element: etree._Element) -> Part:
    """Return a table or figure: label and caption, then the rows, a line each."""
    caption = [_text(child) for child in element if child.tag in ("label", "caption")]
    rows = ["\t".join(_line(cell) for cell in row if cell.tag in ("td", "th")) for row in _rows(element)]
    lines = [" ".join(filter(None, caption)), *(row for row in rows if row.strip())]
    return FLOATS[str(element.tag)], "\n".join(filter(None, lines)), {}


def _rows(element: etree._Element) -> Iterator[etree._Element]:
    """Yield the rows of a table itself, not those of tables in its cells or caption and of floats inside it."""
    for child in element:
        if child.tag == "tr":
            yield child
        elif child.tag not in ("label", "caption", *FLOATS):
            yield from _rows(child)


# --- text ------------------------------------------------------------------------------------------------------------


def _text(element: etree._Element) -> str:
    """Return the lines of text of an element, its markup dropped, blanks run together."""
    if element.tag in LEFT_OUT:
        return ""
    first, *others = "".join(_pieces(element)).split(CITATION)
    text = AFTER_LABEL.sub(" ", "".join([first, *_without_separators(others)]))
    lines = (" ".join(line.split()) for line in text.split(LINE))
    return "\n".join(filter(None, lines))


def _line(element: etree._Element) -> str:
    """Return the text of an element that is one line, whatever it holds."""
    return " ".join(_text(element).split())


def _without_separators(behind: list[str]) -> Iterator[str]:
    """Yield the texts behind citations, but for what does no more than part a citation from the next."""
    for place, text in enumerate(behind, 1):
        if place == len(behind) or text.strip(BETWEEN):
            yield text


def _pieces(element: etree._Element, inside: str = "") -> Iterator[str]:
    """Yield the texts in an element, which is in a superscript (``sup``), in a citation (``bibr``) or neither."""
    yield _own(element)
    for child in element:
        block = LINE if child.tag in LINES else BLOCK if child.tag in BLOCKS else ""
        around = "bibr" if child.tag == "xref" and child.get("ref-type") == "bibr" else str(child.tag)
        if {inside, around} == {"sup", "bibr"} or _is_mark(child):
            yield CITATION
        elif around == "sup":
            yield _superscript("".join(_pieces(child, around)))
        elif child.tag not in LEFT_OUT:
            yield block
            yield from _pieces(child, around if around == "bibr" else inside)
        labelled = LABELLED if child.tag == "label" and child.getnext() is not None else ""
        yield block + labelled + str(child.tail or "")


def _is_mark(element: etree._Element) -> bool:
    """Return whether an element is the mark of a footnote, such as ``*``."""
    if element.tag != "xref" or element.get("ref-type") not in FOOTNOTES:
        return False
    return MARK.fullmatch("".join(_pieces(element))) is not None


def _superscript(text: str) -> str:
    """Return the text of a superscript without what sets citations apart from the rest of it."""
    first, *others = text.split(CITATION)
    if not others:
        return text
    *between, last = _without_separators(others)
    return CITATION.join([first.rstrip(BEFORE), "".join(between) + last.lstrip(BEHIND)])


def _own(element: etree._Element) -> str:
    """Return the text at the start of an element; of a character that is named, the character.

    Files with a DTD of their publisher name characters (``&alpha;``) that only the DTD defines, which is never loaded.
    """
    text = str(element.text or "")
    return html5.get(text.removeprefix("&"), text) if element.tag is etree.Entity else text
