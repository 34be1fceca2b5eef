"""MeSH in XML as NLM publishes it: descriptor (``desc20xx.xml``) and supplementary (``supp20xx.xml``) records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from linnet.data import Name, Scope
from linnet.errors import FormatError
from linnet.text.files import shown
from linnet.text.xml_files import elements
from linnet.vocabularies.malformed import Malformed
from linnet.vocabularies.mesh_record import NAME_SOURCES, SCOPES, UI, MeshRecord, registry_xref

__all__ = ["xml_records"]

INVERSE: dict[Scope, Scope] = {"narrow": "broad", "broad": "narrow"}


class _Layout(NamedTuple):
    """The elements that differ between the two kinds of file."""

    ui: str
    name: str


LAYOUTS = {
    "DescriptorRecord": _Layout("DescriptorUI", "DescriptorName/String"),
    "SupplementalRecord": _Layout("SupplementalRecordUI", "SupplementalRecordName/String"),
}


def xml_records(path: str | Path, bad: Malformed, *, brief: bool = False) -> Iterator[MeshRecord]:
    """Yield the records of a MeSH XML file, plain or gzip; held is one record.

    Args:
        path: the file.
        bad: gets the records without an id or a name.
        brief: only id, preferred name, tree numbers: for a first pass.

    Raises:
        FormatError: XML that is not well-formed or cut off, entity declarations, or no record.
    """
    count = 0
    for element in elements(path, LAYOUTS, kind="MeSH"):
        count += 1
        bad.read += 1
        record = _record(element, bad, brief=brief)
        if record is not None:
            yield record
    if not count:
        problem = f"holds no record (no element {' or '.join(LAYOUTS)}): is it desc20xx or supp20xx?"
        raise FormatError(shown(path), problem)


def _record(element: etree._Element, bad: Malformed, *, brief: bool) -> MeshRecord | None:
    layout = LAYOUTS[str(element.tag)]
    line: Any = element.sourceline
    ui, name = _text(element, layout.ui), _text(element, layout.name)
    if not UI.fullmatch(ui) or not name:
        bad.add(line, f"{ui} has no name" if UI.fullmatch(ui) else f"{layout.ui} is {ui!r}, expected D or C and digits")
        return None
    record = MeshRecord("D" if element.tag == "DescriptorRecord" else "C", ui, (Name(name),), line=line)
    record.trees = tuple(_texts(element, "TreeNumberList/TreeNumber"))
    if brief:
        return record
    concepts = element.findall("ConceptList/Concept")
    preferred = next((one for one in concepts if one.get("PreferredConceptYN") == "Y"), None)
    record.names = tuple(_names(name, concepts, preferred))
    if preferred is not None:
        record.definition = _text(preferred, "ScopeNote")
        record.xrefs = tuple(_xrefs(preferred))
    record.definition = record.definition or _text(element, "Note")
    record.headings = _headings(element)
    record.scr_class = str(element.get("SCRClass") or "")
    path = "ConceptList/Concept/SemanticTypeList/SemanticType/SemanticTypeUI"
    record.semantic_types = tuple(dict.fromkeys(_texts(element, path)))
    return record


def _text(element: etree._Element, path: str) -> str:
    return " ".join((element.findtext(path) or "").split())


def _texts(element: etree._Element, path: str) -> Iterator[str]:
    for found in element.iterfind(path):
        if text := " ".join((found.text or "").split()):
            yield text


def _headings(element: etree._Element) -> tuple[str, ...]:
    """Return the ids a supplementary record is mapped to, those with a star (major) first."""
    found = list(_texts(element, "HeadingMappedToList/HeadingMappedTo/DescriptorReferredTo/DescriptorUI"))
    return tuple(ui.lstrip("*") for ui in sorted(found, key=lambda ui: not ui.startswith("*")))


def _xrefs(concept: etree._Element) -> Iterator[str]:
    for path in ("RegistryNumber", "RegistryNumberList/RegistryNumber"):  # alone up to 2022, in a list since
        for number in _texts(concept, path):
            if xref := registry_xref(number):
                yield xref


def _names(name: str, concepts: list[etree._Element], preferred: etree._Element | None) -> Iterator[Name]:
    """Yield the record's name, then the terms of its own concept, then of the others; no text twice."""
    scopes = {} if preferred is None else _scopes(preferred)
    seen = {name}
    yield Name(name)
    for concept in sorted(concepts, key=lambda one: one is not preferred):
        scope = "exact" if concept is preferred else scopes.get(_text(concept, "ConceptUI"), "related")
        for term in concept.iterfind("TermList/Term"):
            text = _text(term, "String")
            if text and text not in seen:
                seen.add(text)
                yield Name(text, scope, source=_source(term))


def _scopes(preferred: etree._Element) -> dict[str, Scope]:
    """Return concept -> how it relates to the preferred one; a relation tells what its second is to its first."""
    own = _text(preferred, "ConceptUI")
    found: dict[str, Scope] = {}
    for relation in preferred.iterfind("ConceptRelationList/ConceptRelation"):
        scope = SCOPES.get(str(relation.get("RelationName")), "related")
        first, second = _text(relation, "Concept1UI"), _text(relation, "Concept2UI")
        if second == own:
            first, second, scope = second, first, INVERSE.get(scope, scope)
        if first == own:
            found[second] = scope
    return found


def _source(term: etree._Element) -> str:
    tag = NAME_SOURCES.get(str(term.get("LexicalTag")), "")
    return tag or ("permuted" if term.get("IsPermutedTermYN") == "Y" else "")
