"""MeSH in ASCII as NLM publishes it: descriptor (``d20xx.bin``) and supplementary (``c20xx.bin``) records.

A record begins with ``*NEWRECORD``; each line is ``ELEMENT = value``. Entry terms may have subfields between bars, the
last of which is a map that names the others: in ``A-23187|T109|LAB|NRW|UNK (19XX)|900308|abcdef`` c is the lexical tag
and d the relation of the term's concept to the record's. Entry terms without subfields are other word orders and
plurals; which term they vary is not said, so they count as exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from linnet.data import Name
from linnet.errors import FormatError
from linnet.text.files import open_text, shown
from linnet.vocabularies.malformed import Malformed
from linnet.vocabularies.mesh_record import NAME_SOURCES, SCOPES, UI, MeshRecord, registry_xref

__all__ = ["MARK", "ascii_records"]

MARK = "*NEWRECORD"
ELEMENT = re.compile(r"([A-Z][A-Z0-9_ ]*?) *= ?(.*)")
MAP = re.compile(r"a[a-z]*")
NAME_ELEMENT = {"D": "MH", "C": "NM"}
TERM_ELEMENTS = ("PRINT ENTRY", "ENTRY", "SY")


class _Fields(dict[str, list[str]]):
    """The elements of one record: name -> values."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.problem = ""  # the first line that is no element

    def first(self, element: str) -> str:
        return next(iter(self.get(element, ())), "")


def ascii_records(path: str | Path, bad: Malformed) -> Iterator[MeshRecord]:
    """Yield the descriptors and supplementary records of an ASCII file, plain or gzip; held is one record.

    Raises:
        FormatError: a file that does not begin with ``*NEWRECORD``, or whose last record is cut off.
    """
    name = shown(path)
    faulty: tuple[_Fields, str] | None = None
    for fields in _records(path):
        if faulty is not None:
            bad.add(faulty[0].line, faulty[1])
        bad.read += 1
        found = _record(fields)
        faulty = (fields, found) if isinstance(found, str) else None
        if isinstance(found, MeshRecord):
            yield found
    if faulty is None:
        return
    fields, problem = faulty
    if not UI.fullmatch(fields.first("UI")):  # a record's last line, so this is how a file looks that stops too early
        raise FormatError(name, f"the last record: {problem}; the file is truncated: fetch it again", line=fields.line)
    bad.add(fields.line, problem)


def _records(path: str | Path) -> Iterator[_Fields]:
    fields: _Fields | None = None
    for line, text in enumerate(open_text(path), 1):
        stripped = text.strip()
        if stripped == MARK:
            if fields is not None:
                yield fields
            fields = _Fields(line)
        elif stripped and fields is None:
            raise FormatError(shown(path), f"expected {MARK}, found {stripped[:60]!r}: is it ASCII MeSH?", line=line)
        elif stripped and fields is not None:
            match = ELEMENT.fullmatch(stripped)
            if match:
                fields.setdefault(match[1], []).append(match[2])
            elif not fields.problem:
                fields.problem = f"expected 'ELEMENT = value', found {stripped[:60]!r} in line {line}"
    if fields is not None:
        yield fields


def _record(fields: _Fields) -> MeshRecord | str:
    """Return the record that the fields make, or what is wrong with them."""
    kind = fields.first("RECTYPE")
    if kind not in ("D", "C"):
        return f"RECTYPE is {kind!r}, expected D (descriptor) or C (supplementary record)"
    ui, name = fields.first("UI"), " ".join(fields.first(NAME_ELEMENT[kind]).split())
    if not UI.fullmatch(ui):
        return f"UI is {ui!r}, expected D or C and digits"
    if not name:
        return f"{ui} has no {NAME_ELEMENT[kind]}"
    if fields.problem:
        return fields.problem
    names = {name: Name(name)}
    for element in TERM_ELEMENTS:
        for value in fields.get(element, ()):
            term = _term(value)
            names.setdefault(term.text, term)
    names.pop("", None)
    xrefs = (registry_xref(number) for number in fields.get("RN", ()))
    return MeshRecord(
        "D" if kind == "D" else "C",
        ui,
        tuple(names.values()),
        " ".join((fields.first("MS") or fields.first("NO")).split()),
        trees=tuple(fields.get("MN", ())),
        headings=_headings(fields.get("HM", ())),
        semantic_types=tuple(fields.get("ST", ())),
        xrefs=tuple(xref for xref in xrefs if xref),
        line=fields.line,
    )


def _term(value: str) -> Name:
    parts = value.split("|")
    if len(parts) == 1 or len(parts) != len(parts[-1]) + 1 or not MAP.fullmatch(parts[-1]):
        return Name(" ".join(parts[0].split()))
    subfields = dict(zip(parts[-1], parts, strict=False))  # of repeated subfields the last; those needed occur once
    scope = SCOPES.get(subfields.get("d", "EQV"), "related")
    return Name(" ".join(parts[0].split()), scope, source=NAME_SOURCES.get(subfields.get("c", ""), ""))


def _headings(values: Sequence[str]) -> tuple[str, ...]:
    """Return the headings mapped to, those with a star (major, on the heading or its qualifier) first."""
    return tuple(value.replace("*", "") for value in sorted(values, key=lambda value: "*" not in value))
