r"""CRAFT: full texts with the concepts of eleven ontologies, in the XML of Knowtator 1 and 2.

The corpus is a folder: texts are ``articles/txt/PMID.txt``, annotations
``concept-annotation/ONTOLOGY/SET/knowtator/PMID.txt.knowtator.xml`` (or ``knowtator-2``). The set ``CL`` holds the
concepts of the ontology itself, ``CL+extensions`` also the classes that CRAFT's authors made for its texts; a reader
takes one of the two of every ontology. The sets of MONDO are ``MONDO_without_genotype_annotations`` and
``MONDO_with_genotype_annotations``, which has also the diseases that alleles are named after (TTD in XpdTTD); its files
are called ``PMID.xml``, and its classes are addresses, read as CURIEs. A part without any text is none. A folder of
which nothing was read is told in a warning. The type of a mention is its ontology. Offsets are Java's, which count a
character beyond U+FFFF as two; they are converted.

Knowtator's XML, in the forms of its versions 1 and 2, as annotations with their concept and spans.

::

    <annotations textSource="1.txt">                                                           version 1
      <annotation><mention id="i1"/><span start="0" end="4"/><spannedText>lens ... cell</spannedText></annotation>
      <classMention id="i1"><mentionClass id="CL:0002224">lens epithelial cell</mentionClass></classMention>
    </annotations>
    <knowtator-project><document id="1" text-file="1.txt">                                     version 2
      <annotation id="i1"><class id="CL:0002224"/><span start="0" end="4">lens</span></annotation>
    </document></knowtator-project>

Version 1 joins the parts of a discontinuous mention by " ... ". An annotation without span or class is left out: the
annotators' program keeps such.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

from lxml import etree

from linnet.corpora.counting import utf16_units
from linnet.corpora.layout import hull
from linnet.corpora.misplaced import LOST, Places
from linnet.corpora.separated import number
from linnet.corpora.sources import visible
from linnet.data import Document, Mention, Span
from linnet.errors import FormatError
from linnet.kb.curies import of_address
from linnet.text.files import read_text, shown
from linnet.text.xml_files import elements

__all__ = ["read", "read_extended"]

SETS = ("{}", "{}_without_genotype_annotations")
EXTENDED = ("{}+extensions", "{}_with_genotype_annotations")
SUFFIXES = (".txt.knowtator.xml", ".xml")
FOLDERS = ("knowtator-2", "knowtator")
UNREAD = "folders of which nothing was read: there is no set of the layout, or no annotation of these texts in it"


def _read(path: str | Path, *, extended: bool) -> Iterator[Document]:
    """Yield the articles of the folder ``concept-annotation`` at `path`, by PMID.

    Raises:
        FormatError: no texts or annotations, XML of another kind; with the line.
    """
    folders = list(_sets(Path(path), extended=extended))
    texts = sorted(visible(Path(path).parent / "articles" / "txt", "*.txt"))
    if not texts or not folders:
        missing = "annotations: expected ONTOLOGY/SET/knowtator" if texts else "texts: expected ../articles/txt/*.txt"
        raise FormatError(shown(path), f"there are no {missing}")
    places = Places(shown(path))
    unread = {place.name for place in visible(Path(path), "*") if place.is_dir()}
    for file in texts:
        text = read_text(file)
        units = utf16_units(text)
        mentions: list[Mention] = []
        for ontology, folder in folders:
            sources = (folder / f"{file.stem}{suffix}" for suffix in SUFFIXES)
            source = next((source for source in sources if source.exists()), None)
            if source:  # an article without concepts of an ontology may have no file
                annotations = list(read_annotations(source))
                unread -= {ontology} if annotations else set()
                places.file = source.relative_to(path).as_posix()
                found = (_mention(one, ontology, text, units, places) for one in annotations)
                mentions += [one for one in found if one]
        mentions.sort(key=lambda one: (one.start, -one.end, one.types, one.id))
        yield Document(file.stem, text, mentions=tuple(mentions))
    for name in sorted(unread):
        places.odd.add(UNREAD, 0, name)
    places.odd.warn()


read = partial(_read, extended=False)
read_extended = partial(_read, extended=True)


def _sets(path: Path, *, extended: bool) -> Iterator[tuple[str, Path]]:
    """Yield each ontology and the folder of its annotations; the newer of two forms."""
    for ontology in sorted(visible(path, "*")):
        names = (name.format(ontology.name) for name in (EXTENDED if extended else SETS))
        folders = [ontology / name / form for name in names for form in FOLDERS]
        found = next((folder for folder in folders if any(visible(folder, "*.xml"))), None)
        if found:
            yield ontology.name, found


def _point(unit: int, units: Sequence[int]) -> int:
    """Return the code point that begins at a unit or has it within; past the end it stays as far past it."""
    return bisect_right(units, unit) - 1 + max(0, unit - units[-1])


def _mention(annotation: Annotation, ontology: str, text: str, units: Sequence[int], places: Places) -> Mention | None:
    spans: list[Span] = []
    for start, end, surface in annotation.spans:
        begin, stop = _point(start, units), _point(end, units)
        if begin == stop and not surface:
            continue
        said = text[begin:stop] if surface is None and begin < stop <= len(text) else surface or ""
        span = places.span(text, begin, stop, said, line=annotation.line)
        if span is None:
            return None
        spans.append(span)
    parts = _parts(spans)
    if parts is None:
        places.tell(LOST, annotation.line, annotation.id)
        return None
    return Mention(
        *hull(parts),
        id=annotation.id,
        types=(ontology,),
        source="gold",
        concepts=(of_address(annotation.concept),),
    )


def _parts(spans: list[Span]) -> tuple[Span, ...] | None:
    """Return spans in order, those that touch joined; None if there are none or they overlap."""
    made: list[Span] = []
    for span in sorted(spans):
        if made and span.start < made[-1].end:
            return None
        if made and span.start == made[-1].end:
            made[-1] = Span(made[-1].start, span.end)
        else:
            made.append(span)
    return tuple(made) or None


BETWEEN = " ... "


class Annotation(NamedTuple):
    """One annotation: its concept, and its spans with their texts (None: not told for this part)."""

    id: str
    concept: str
    spans: tuple[tuple[int, int, str | None], ...]
    line: int


def read_annotations(path: str | Path) -> Iterator[Annotation]:
    """Yield the annotations of a file, in its order.

    Raises:
        FormatError: no well-formed XML, none of the two forms, an offset that is no number; with the line.
    """
    name = shown(path)
    concepts: dict[str, str] = {}
    found: list[Annotation] = []
    root = ""
    for element in elements(path, ("annotations", "knowtator-project", "annotation", "classMention"), kind="Knowtator"):
        root = root or str(element.getroottree().getroot().tag)
        if element.tag == "classMention":
            kind = element.find("mentionClass")
            concepts[element.get("id") or ""] = "" if kind is None else (kind.get("id") or "").strip()
        elif element.tag == "annotation":
            found.append(_annotation(element, name))
    if root not in ("annotations", "knowtator-project"):
        raise FormatError(name, "is no Knowtator XML: expected <annotations> or <knowtator-project>")
    for one in found:
        concept = one.concept or concepts.get(one.id, "")  # in version 1 it stands behind
        if concept and one.spans:
            yield one._replace(concept=concept)


def _annotation(element: etree._Element, path: str) -> Annotation:
    mention, kind = element.find("mention"), element.find("class")
    id = (element if mention is None else mention).get("id") or ""
    line = cast("int | None", element.sourceline) or 0
    places = [
        (number(span.get("start") or "", path, line), number(span.get("end") or "", path, line))
        for span in element.iterfind("span")
    ]
    texts: list[str | None] = [span.text for span in element.iterfind("span")]
    whole = element.findtext("spannedText")
    if whole is not None:
        pieces = whole.split(BETWEEN) if len(places) > 1 else [whole]
        texts = list(pieces) if len(pieces) == len(places) else [None] * len(places)
    spans = tuple((start, end, text) for (start, end), text in zip(places, texts, strict=True))
    concept = "" if kind is None else (kind.get("id") or "").strip()
    return Annotation(id, concept, spans, line)
