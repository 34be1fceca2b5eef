r"""MEDIC and other dictionaries in BioSyn's layout: ``id|alternative id…||name|synonym…``, one row a concept.

A bare ``C538288`` or ``D003110`` becomes a MeSH id, digits become an OMIM id, ids with a prefix keep it. Rows with the
same first id are one concept, wherever they stand: the first row's first name is the preferred one. Alternative ids
are the same concept and become retired ids that lead to it, unless they have a row of their own, which stays.

Because rows of one concept may lie far apart, the whole dictionary is held while reading (about 10 MB for MEDIC).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from linnet.data import Concept, Name
from linnet.errors import FormatError
from linnet.kb.curies import curie
from linnet.text.files import open_text, shown
from linnet.vocabularies.malformed import Malformed, Oddities

__all__ = ["read_medic"]

MESH_ID = re.compile(r"[CD]\d*")  # MEDIC calls its root just "C"
ID = re.compile(r"[A-Za-z][\w.]*:[^\s|:]\S*")


@dataclass(slots=True)
class _Entry:
    """What the rows of one id say; the names and alternative ids are keys, for their order."""

    line: int
    names: dict[str, None] = field(default_factory=dict)
    others: dict[str, None] = field(default_factory=dict)


def read_medic(path: str | Path, *, type: str = "Disease") -> Iterator[Concept]:
    """Yield the concepts of a dictionary in the file's order, then the retired alternative ids.

    Args:
        path: the file, plain or gzip.
        type: the type of all its concepts; empty for none.

    Raises:
        FormatError: a truncated file, or too many malformed rows (`linnet.vocabularies.malformed`).
    """
    name = shown(path)
    bad, odd = Malformed(name), Oddities(name)
    entries = _entries(path, bad, odd)
    if not entries and not bad.read:
        raise FormatError(name, "holds no rows: expected id|alternative id||name|synonym")
    bad.finish()
    for id, entry in entries.items():
        names = tuple(Name(text) for text in entry.names)
        yield Concept(id, names, (type,) if type else (), origin=f"{name}:{entry.line}")
    owners: dict[str, str] = {}
    for id, entry in entries.items():
        for other in entry.others:
            if other in entries:
                odd.add("alternative id that has a row of its own, which stays", entry.line, f"{id}|{other}")
            elif owners.setdefault(other, id) != id:
                odd.add("alternative id of a second concept, the first keeps it", entry.line, f"{id}|{other}")
            else:
                yield Concept(other, replaced_by=id, origin=f"{name}:{entry.line}")
    odd.warn()


def _entries(path: str | Path, bad: Malformed, odd: Oddities) -> dict[str, _Entry]:
    """Return the rows of each id, merged."""
    entries: dict[str, _Entry] = {}
    text = "\n"
    line = 0
    for line, text in enumerate(open_text(path, keep_ends=True), 1):
        if not text.strip():
            continue
        bad.read += 1
        ids, mark, rest = text.strip().partition("||")
        curies = [_id(part) for part in ids.split("|")]
        names = [" ".join(part.split()) for part in rest.split("|")]
        if problem := _problem(curies, mark, names):
            if not text.endswith("\n"):
                raise FormatError(shown(path), f"{problem}; the file is truncated: fetch it again", line=line)
            bad.add(line, problem)
            continue
        entry = entries.setdefault(curies[0], _Entry(line))
        entry.names.update(dict.fromkeys(name for name in names if name))
        entry.others.update(dict.fromkeys(other for other in curies[1:] if other != curies[0]))
    if not text.endswith("\n"):
        odd.add("the last line has no line break; the file may be incomplete", line, "")
    return entries


def _problem(ids: list[str], mark: str, names: list[str]) -> str:
    """Return what is wrong with a row, or ``""``."""
    if not mark:
        return "expected ids||names, found no '||'"
    wrong = [id for id in ids if not ID.fullmatch(id)]
    if wrong:
        return f"{wrong[0]!r} is no id: expected C…, D…, digits or PREFIX:…"
    return "" if any(names) else "the name is empty"


def _id(text: str) -> str:
    text = text.strip()
    if MESH_ID.fullmatch(text):
        return f"MESH:{text}"
    return f"OMIM:{text}" if text.isascii() and text.isdigit() else curie(text)
