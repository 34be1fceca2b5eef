"""Records of MeSH as NLM publishes it: descriptors and supplementary records, in XML or ASCII.

A record in ASCII (``d20xx.bin``, ``c20xx.bin``) begins with ``*NEWRECORD``; each line is ``ELEMENT = value``, the last
its id. Entry terms may have subfields between bars, the last of which is a map that names the others: in
``A-23187|T109|LAB|NRW|UNK (19XX)|900308|abcdef`` c is the lexical tag and d the relation of the term's concept to the
record's. Entry terms without subfields are other word orders and plurals; which term they vary is not said, so they
count as exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree

from linnet.data import Name, Scope
from linnet.errors import FormatError
from linnet.text.files import open_text, shown
from linnet.text.xml_files import elements
from linnet.vocabularies.malformed import Malformed

__all__ = ["MARK", "UI", "MeshRecord", "ascii_records", "xml_records"]

UI = re.compile(r"[DC]\d{6,9}")
# How a concept inside a record relates to the record's own: narrower, broader, related; EQV is the same.
SCOPES: dict[str, Scope] = {"EQV": "exact", "NRW": "narrow", "BRD": "broad", "REL": "related"}
INVERSE: dict[Scope, Scope] = {"narrow": "broad", "broad": "narrow"}
# Lexical tags worth keeping, as `Name.source`; the X forms are the same in another word order.
NAME_SOURCES = {
    **dict.fromkeys(("ABB", "ABX", "ACR", "ACX"), "abbreviation"),
    "EPO": "eponym",
    "LAB": "laboratory number",
    "TRD": "trade name",
}
REGISTRIES = {
    "CAS:": re.compile(r"(\d{2,7}-\d\d-\d)"),
    "UNII:": re.compile(r"(?=[A-Z0-9]*\d)([A-Z0-9]{10})"),
    "EC:": re.compile(r"EC (\d[\d.\-n]*)"),
    "NCBITaxon:": re.compile(r"txid(\d+)"),
}
XML_NAMES = {"DescriptorRecord": "Descriptor", "SupplementalRecord": "SupplementalRecord"}
HEADINGS = "HeadingMappedToList/HeadingMappedTo/DescriptorReferredTo/DescriptorUI"
SEMANTIC_TYPES = "ConceptList/Concept/SemanticTypeList/SemanticType/SemanticTypeUI"
MARK = "*NEWRECORD"
ELEMENT = re.compile(r"([A-Z][A-Z0-9_ ]*?) *= ?(.*)")
MAP = re.compile(r"a[a-z]*")
NAME_ELEMENT = {"D": "MH", "C": "NM"}
TERM_ELEMENTS = ("PRINT ENTRY", "ENTRY", "SY")


@dataclass(slots=True)
class MeshRecord:
    """A descriptor (kind D) or supplementary record (kind C).

    ``headings`` are what a supplementary record is mapped to, the major ones first: ids in XML, heading names in ASCII
    (with or without a qualifier). ``scr_class`` is NLM's class of supplementary records, "" where the layout has none.
    """

    kind: str
    id: str
    names: tuple[Name, ...] = ()
    definition: str = ""
    trees: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    scr_class: str = ""
    semantic_types: tuple[str, ...] = ()
    xrefs: tuple[str, ...] = ()
    line: int | None = None


def _registry_xrefs(numbers: Iterable[str]) -> Iterator[str]:
    """Yield the cross-references of registry numbers: CAS, UNII, enzyme, taxon; others are left out.

    >>> list(_registry_xrefs(["52665-69-7", "37H9VM9WZL", "EC 3.1.1.7", "0"]))
    ['CAS:52665-69-7', 'UNII:37H9VM9WZL', 'EC:3.1.1.7']
    """
    for number in numbers:
        for prefix, pattern in REGISTRIES.items():
            if match := pattern.fullmatch(number.strip()):
                yield prefix + match[1]
                break


def _major_first(headings: Iterable[str]) -> tuple[str, ...]:
    """Return headings without their stars, those first that had one: on themselves or their qualifier."""
    return tuple(heading.replace("*", "") for heading in sorted(headings, key=lambda heading: "*" not in heading))


# --- XML -------------------------------------------------------------------------------------------------------------


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
    for element in elements(path, XML_NAMES, kind="MeSH"):
        count += 1
        bad.read += 1
        record = _xml_record(element, bad, brief=brief)
        if record is not None:
            yield record
    if not count:
        problem = f"holds no record (no element {' or '.join(XML_NAMES)}): is it desc20xx or supp20xx?"
        raise FormatError(shown(path), problem)


def _xml_record(element: etree._Element, bad: Malformed, *, brief: bool) -> MeshRecord | None:
    kind = XML_NAMES[str(element.tag)]
    line: Any = element.sourceline
    ui, name = _text(element, f"{kind}UI"), _text(element, f"{kind}Name/String")
    if not UI.fullmatch(ui) or not name:
        bad.add(line, f"{ui} has no name" if UI.fullmatch(ui) else f"{kind}UI is {ui!r}, expected D or C and digits")
        return None
    trees = tuple(_texts(element, "TreeNumberList/TreeNumber"))
    record = MeshRecord("D" if kind == "Descriptor" else "C", ui, (Name(name),), trees=trees, line=line)
    if brief:
        return record
    concepts = element.findall("ConceptList/Concept")
    preferred = next((one for one in concepts if one.get("PreferredConceptYN") == "Y"), None)
    record.names = tuple(_names(name, concepts, preferred))
    if preferred is not None:
        record.definition = _text(preferred, "ScopeNote")
        # alone up to 2022, in a list since
        numbers = [*_texts(preferred, "RegistryNumber"), *_texts(preferred, "RegistryNumberList/RegistryNumber")]
        record.xrefs = tuple(_registry_xrefs(numbers))
    record.definition = record.definition or _text(element, "Note")
    record.headings = _major_first(_texts(element, HEADINGS))
    record.scr_class = str(element.get("SCRClass") or "")
    record.semantic_types = tuple(dict.fromkeys(_texts(element, SEMANTIC_TYPES)))
    return record


def _text(element: etree._Element, path: str) -> str:
    return " ".join((element.findtext(path) or "").split())


def _texts(element: etree._Element, path: str) -> Iterator[str]:
    for found in element.iterfind(path):
        if text := " ".join((found.text or "").split()):
            yield text


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
                permuted = "permuted" if term.get("IsPermutedTermYN") == "Y" else ""
                yield Name(text, scope, source=NAME_SOURCES.get(str(term.get("LexicalTag")), permuted))


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


# --- ASCII -----------------------------------------------------------------------------------------------------------


class _Fields(dict[str, list[str]]):
    """The elements of one record: name -> values; under no name what is no element."""

    def first(self, element: str) -> str:
        return next(iter(self.get(element, ())), "")


def ascii_records(path: str | Path, bad: Malformed) -> Iterator[MeshRecord]:
    """Yield the records of an ASCII file, plain or gzip; held is one record.

    Args:
        path: the file.
        bad: gets the records that lack what each must have, or hold lines that are no elements.

    Raises:
        FormatError: a file that does not begin with ``*NEWRECORD``, or whose last record is cut off.
    """
    for line, fields in _ascii_fields(path):
        bad.read += 1
        if problem := _problem(fields):
            bad.add(line, problem)
        else:
            yield _ascii_record(fields, line)


def _ascii_fields(path: str | Path) -> Iterator[tuple[int, _Fields]]:
    """Yield the line at which a record begins, and its elements."""
    begin, fields = 0, _Fields()
    for line, text in enumerate(open_text(path), 1):
        stripped = text.strip()
        match = ELEMENT.fullmatch(stripped)
        if stripped == MARK:
            if begin:
                yield begin, fields
            begin, fields = line, _Fields()
        elif stripped and not begin:
            raise FormatError(shown(path), f"expected {MARK}, found {stripped[:60]!r}: is it ASCII MeSH?", line=line)
        elif match:
            fields.setdefault(match[1], []).append(match[2])
        elif stripped:
            fields.setdefault("", []).append(f"{stripped[:60]!r} in line {line}")
    if not UI.fullmatch(fields.first("UI")):
        problem = f"the last record: UI is {fields.first('UI')!r}; the file is truncated: fetch it again"
        raise FormatError(shown(path), problem, line=begin or None)
    yield begin, fields


def _problem(fields: _Fields) -> str:
    """Return what is wrong with a record, or ``""``."""
    kind, ui = fields.first("RECTYPE"), fields.first("UI")
    if kind not in NAME_ELEMENT:
        return f"RECTYPE is {kind!r}, expected D (descriptor) or C (supplementary record)"
    if not UI.fullmatch(ui):
        return f"UI is {ui!r}, expected D or C and digits"
    if not fields.first(NAME_ELEMENT[kind]).strip():
        return f"{ui} has no {NAME_ELEMENT[kind]}"
    return f"expected 'ELEMENT = value', found {fields.first('')}" if "" in fields else ""


def _ascii_record(fields: _Fields, line: int) -> MeshRecord:
    kind = fields.first("RECTYPE")
    name = " ".join(fields.first(NAME_ELEMENT[kind]).split())
    names = {name: Name(name)}
    for element in TERM_ELEMENTS:
        for term in map(_term, fields.get(element, ())):
            names.setdefault(term.text, term)
    names.pop("", None)
    return MeshRecord(
        kind,
        fields.first("UI"),
        tuple(names.values()),
        " ".join((fields.first("MS") or fields.first("NO")).split()),
        trees=tuple(fields.get("MN", ())),
        headings=_major_first(fields.get("HM", ())),
        semantic_types=tuple(fields.get("ST", ())),
        xrefs=tuple(_registry_xrefs(fields.get("RN", ()))),
        line=line,
    )


def _term(value: str) -> Name:
    parts = value.split("|")
    text = " ".join(parts[0].split())
    if len(parts) == 1 or len(parts) != len(parts[-1]) + 1 or not MAP.fullmatch(parts[-1]):
        return Name(text)
    subfields = dict(zip(parts[-1], parts, strict=False))  # of repeated subfields the last; those needed occur once
    scope = SCOPES.get(subfields.get("d", "EQV"), "related")
    return Name(text, scope, source=NAME_SOURCES.get(subfields.get("c", ""), ""))
