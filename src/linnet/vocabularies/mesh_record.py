"""One record of a MeSH file, whichever layout it was read from, and the words both layouts share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from linnet.data import Name, Scope

__all__ = ["NAME_SOURCES", "SCOPES", "UI", "MeshRecord", "registry_xref"]

UI = re.compile(r"[DC]\d{6,9}")
# How a concept inside a record relates to the record's own: narrower, broader, related; EQV is the same.
SCOPES: Mapping[str, Scope] = {"EQV": "exact", "NRW": "narrow", "BRD": "broad", "REL": "related"}
# Lexical tags worth keeping, as `Name.source`; the X forms are the same in another word order.
NAME_SOURCES = {
    "ABB": "abbreviation",
    "ABX": "abbreviation",
    "ACR": "abbreviation",
    "ACX": "abbreviation",
    "EPO": "eponym",
    "LAB": "laboratory number",
    "TRD": "trade name",
}
REGISTRIES = (
    ("CAS:", re.compile(r"\d{2,7}-\d\d-\d")),
    ("UNII:", re.compile(r"(?=[A-Z0-9]*\d)[A-Z0-9]{10}")),
    ("EC:", re.compile(r"EC (\d[\d.\-n]*)")),
    ("NCBITaxon:", re.compile(r"txid(\d+)")),
)


@dataclass(slots=True)
class MeshRecord:
    """A descriptor or supplementary record.

    ``headings`` are what a supplementary record is mapped to, the major ones first: ids in XML, heading names in ASCII
    (with or without a qualifier). ``scr_class`` is NLM's class of supplementary records, "" where the layout has none.
    """

    kind: Literal["D", "C"]
    id: str
    names: tuple[Name, ...] = ()
    definition: str = ""
    trees: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    scr_class: str = ""
    semantic_types: tuple[str, ...] = ()
    xrefs: tuple[str, ...] = ()
    line: int | None = None


def registry_xref(number: str) -> str:
    """Return the cross-reference of a registry number (CAS, UNII, enzyme, taxon), or ``""``.

    >>> registry_xref("52665-69-7"), registry_xref("37H9VM9WZL"), registry_xref("EC 3.1.1.7"), registry_xref("0")
    ('CAS:52665-69-7', 'UNII:37H9VM9WZL', 'EC:3.1.1.7', '')
    """
    for prefix, pattern in REGISTRIES:
        if match := pattern.fullmatch(number.strip()):
            return prefix + match[match.lastindex or 0]
    return ""
