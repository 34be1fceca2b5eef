r"""CTD's vocabularies of diseases and chemicals, TSV or CSV as the Comparative Toxicogenomics Database publishes them.

The columns are named by the comment under ``# Fields:``; which of them a file has depends on its year:

- ``DiseaseName``, ``ChemicalName``: the preferred name; ``Synonyms``, ``MESHSynonyms``, ``CTDCuratedSynonyms``: more.
- ``DiseaseID``, ``ChemicalID``: the id; without a prefix it is MeSH's.
- ``AltDiseaseIDs``: MeSH and OMIM ids are the same disease in CTD's own terms, so they become retired ids that lead to
  the row's; ids of the Disease Ontology (``DO:DOID:…``), which several rows may share, become cross-references.
- ``ParentIDs``, ``Definition``.
- ``CasRN``, ``DrugBankIDs``, ``PubChemCID``, ``PubChemSID``, ``DTXSID``, ``InChIKey``: cross-references.
- ``SlimMappings`` and ``TreeNumbers``: on request, see `read_ctd`. ``ParentTreeNumbers`` repeats the parents.

Reading streams; held are the ids and the alternative ids, to tell duplicates and to keep live ids from being retired.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from linnet.data import Concept, Name
from linnet.errors import FormatError
from linnet.kb.curies import curie
from linnet.text.files import shown
from linnet.vocabularies.malformed import Lines, Malformed, Oddities

__all__ = ["read_ctd"]

NAME_COLUMNS = {"DiseaseName": "Disease", "ChemicalName": "Chemical"}
SYNONYM_COLUMNS = ("Synonyms", "MESHSynonyms", "CTDCuratedSynonyms")
XREF_COLUMNS = {
    "CasRN": "CAS",
    "DrugBankIDs": "DRUGBANK",
    "PubChemCID": "PUBCHEM.COMPOUND",
    "PubChemSID": "PUBCHEM.SUBSTANCE",
    "DTXSID": "COMPTOX",
    "InChIKey": "INCHIKEY",
}
TREE_PREFIX = "MESH.TREE"
SAME_DISEASE = ("MESH:", "OMIM:")  # vocabularies that CTD merged: their alternative ids are this very disease
ID = re.compile(r"[A-Za-z][\w.]*:[^\s|]+")


class _Layout(NamedTuple):
    """Which vocabulary a file holds, its columns, and what stands between them."""

    kind: str
    columns: tuple[str, ...]
    delimiter: str


def read_ctd(path: str | Path, *, slim: bool = False, tree_numbers: bool = False) -> Iterator[Concept]:
    """Yield the concepts of CTD_diseases or CTD_chemicals, plain or gzip, then the retired alternative ids.

    Args:
        path: the ``.tsv`` or ``.csv`` file; what it is, its header says.
        slim: add CTD's broad classes of diseases ("Nervous system disease", "Cancer") to the type "Disease".
        tree_numbers: keep tree numbers as cross-references (``MESH.TREE:C16.131.260``).

    Raises:
        FormatError: no CTD header, a truncated file, or too many malformed rows (`linnet.vocabularies.malformed`).
    """
    name = shown(path)
    lines = Lines(path)
    layout = _header(lines, name)
    table = _Table(name, layout, slim=slim, tree_numbers=tree_numbers)
    for line, cells in _rows(lines, layout, name):
        table.bad.read += 1
        if len(cells) == len(layout.columns):
            yield from table.concept(dict(zip(layout.columns, cells, strict=True)), line)
            continue
        problem = f"has {len(cells)} columns, expected {len(layout.columns)}: {', '.join(layout.columns)}"
        if not lines.last.endswith("\n"):
            raise FormatError(name, f"the last row {problem}; the file is truncated: fetch it again", line=line)
        table.bad.add(line, problem)
    if not lines.last.endswith("\n"):
        table.odd.add("the last line has no line break; the file may be incomplete", lines.number, "")
    yield from table.retired()
    table.finish()


def _header(lines: Lines, path: str) -> _Layout:
    for text in lines:
        bare = text.lstrip("#").strip()
        for column, kind in NAME_COLUMNS.items():
            if bare.startswith(column):
                delimiter = "\t" if "\t" in bare else ","
                return _Layout(kind, tuple(cell.strip() for cell in bare.split(delimiter)), delimiter)
        if bare and not text.startswith("#"):
            break
    wanted = " or ".join(NAME_COLUMNS)
    problem = f"expected CTD's comment header with a line of columns that begins with {wanted}"
    raise FormatError(path, f"{problem}; is it CTD_diseases or CTD_chemicals?", line=lines.number)


def _rows(lines: Lines, layout: _Layout, path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of every row below the header."""
    below = _below_comments(lines)
    if layout.delimiter == "\t":
        for text in below:
            yield lines.number, text.rstrip("\r\n").split("\t")
        return
    first = list(itertools.islice(below, 1))  # so that the line counted is the first row's, not the header's
    begin = lines.number
    reader = csv.reader(itertools.chain(first, below), strict=True)
    try:
        for cells in reader:
            yield begin, cells
            begin = lines.number + 1
    except csv.Error as error:
        problem = f"is not valid CSV: {error}; is the file truncated, or a quotation mark left open?"
        raise FormatError(path, problem, line=begin) from error


def _below_comments(lines: Lines) -> Iterator[str]:
    """Yield what follows the header; only there is a row that begins with # a comment."""
    in_header = True
    for text in lines:
        if in_header and text.startswith("#"):
            continue
        if text.strip():
            in_header = False
            yield text


class _Table:
    """One file being read: its options, the ids met, and what was odd in it."""

    def __init__(self, path: str, layout: _Layout, *, slim: bool, tree_numbers: bool) -> None:
        self._path, self._layout = path, layout
        self._slim, self._tree_numbers = slim, tree_numbers
        self._name_column = layout.columns[0]
        self._id_column = f"{layout.kind}ID"
        if self._id_column not in layout.columns:
            problem = f"there is no column {self._id_column!r}; the columns are {', '.join(layout.columns)}"
            raise FormatError(path, problem)
        self._seen: dict[str, int] = {}
        self._alternatives: dict[str, tuple[str, int]] = {}
        self.bad, self.odd = Malformed(path), Oddities(path)

    def concept(self, row: Mapping[str, str], line: int) -> Iterator[Concept]:
        """Yield the concept of one row, or note why there is none."""
        id, name = _id(row[self._id_column]), " ".join(row[self._name_column].split())
        if not name or not ID.fullmatch(id):
            self.bad.add(line, "the name is empty" if not name else f"{row[self._id_column]!r} is no id")
            return
        if id in self._seen:
            self.bad.add(line, f"the id {id} stands in line {self._seen[id]} already")
            return
        self._seen[id] = line
        synonyms = (text for column in SYNONYM_COLUMNS for text in _many(row, column))
        yield Concept(
            id,
            names=tuple(Name(text) for text in dict.fromkeys((name, *synonyms))),
            types=tuple(dict.fromkeys((self._layout.kind, *(_many(row, "SlimMappings") if self._slim else ())))),
            definition=" ".join(row.get("Definition", "").split()),
            parents=self._parents(row, id, line),
            xrefs=tuple(dict.fromkeys(self._xrefs(row, id, line))),
            origin=f"{self._path}:{line}",
        )

    def _parents(self, row: Mapping[str, str], id: str, line: int) -> tuple[str, ...]:
        parents = dict.fromkeys(_id(text) for text in _many(row, "ParentIDs"))
        if id in parents:
            self.odd.add("concept that is its own parent, left out", line, id)
        return tuple(parent for parent in parents if parent != id)

    def _xrefs(self, row: Mapping[str, str], id: str, line: int) -> Iterator[str]:
        for text in _many(row, "AltDiseaseIDs"):
            other = _id(text.removeprefix("DO:"))
            if not other.startswith(SAME_DISEASE):
                yield other
            elif self._alternatives.setdefault(other, (id, line))[0] != id:
                self.odd.add("alternative id of a second row, the first keeps it", line, other)
        for column, prefix in XREF_COLUMNS.items():
            for text in _many(row, column):
                yield curie(text) if ":" in text else f"{prefix}:{text}"
        if self._tree_numbers:
            yield from (f"{TREE_PREFIX}:{number}" for number in _many(row, "TreeNumbers"))

    def retired(self) -> Iterator[Concept]:
        """Yield the alternative ids that have no row of their own, as retired concepts."""
        for other, (id, line) in self._alternatives.items():
            if other not in self._seen:
                yield Concept(other, replaced_by=id, origin=f"{self._path}:{line}")
            elif other != id:
                self.odd.add("alternative id that has a row of its own, which stays", line, other)

    def finish(self) -> None:
        """Tell of everything odd, and refuse a file that holds nothing or too much of it."""
        if not self.bad.read:
            raise FormatError(self._path, "holds no rows below its header: is the file truncated?")
        self.bad.finish()
        self.odd.warn()


def _id(text: str) -> str:
    text = text.strip()
    return curie(text) if ":" in text or not text else f"MESH:{text}"


def _many(row: Mapping[str, str], column: str) -> Sequence[str]:
    return [" ".join(text.split()) for text in row.get(column, "").split("|") if text.strip()]
