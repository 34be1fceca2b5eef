r"""Knowtator's XML, in the forms of its versions 1 and 2, as annotations with their concept and spans.

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

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

from lxml import etree

from linnet.corpora.separated import number
from linnet.errors import FormatError
from linnet.text.files import shown
from linnet.text.xml_files import elements

__all__ = ["Annotation", "read_annotations"]

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
