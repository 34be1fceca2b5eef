"""The files of a UMLS release in Rich Release Format: their columns, streamed in step by concept."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from linnet.kb.cycles import on_circles
from linnet.reporter import warn
from linnet.vocabularies.release_rows import Groups, Layout, ReleaseRows, whole

__all__ = ["LAYOUTS", "MIRRORS", "Hierarchy", "cui", "groups", "number", "release_file", "row_counts"]

COLUMNS = {
    "MRCONSO": "CUI LAT TS LUI STT SUI ISPREF AUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF",
    "MRSTY": "CUI TUI STN STY ATUI CVF",
    "MRDEF": "CUI AUI ATUI SATUI SAB DEF SUPPRESS CVF",
    "MRREL": "CUI1 AUI1 STYPE1 REL CUI2 AUI2 STYPE2 RELA RUI SRUI SAB SL RG DIR SUPPRESS CVF",
    "MRCUI": "CUI1 VER REL RELA MAPREASON CUI2 MAPIN",
    "MRFILES": "FIL DES FMT CLS RWS BTS",
}
LAYOUTS = {name: Layout(columns.split(), "|", "|") for name, columns in COLUMNS.items()}
SORT = "the rows must be sorted by their first column, as published: LC_ALL=C sort -t'|' -k1,1 -o FILE FILE"
MIRRORS = {"PAR": "CHD", "RB": "RN"}  # every relation stands twice, once from either side
CUI = re.compile(r"C([0-9]{7})|CL([0-9]{6}|[1-9][0-9]{6,7})")
NCI_METATHESAURUS = 10_000_000  # its own concepts, CL and six digits or more, are numbered from here


def number(cui: str) -> int:
    """Return a CUI as a number that sorts as the CUI does.

    Raises:
        ValueError: it is no CUI.

    >>> number("C0024660"), number("CL000017")
    (24660, 10000017)
    """
    found = CUI.fullmatch(cui)
    if found is None:
        raise ValueError(f"{cui[:40]!r} is no CUI")
    return int(found[1]) if found[1] else NCI_METATHESAURUS + int(found[2])


def cui(number: int) -> str:
    """Return the CUI of a number.

    >>> cui(24660), cui(10000017)
    ('C0024660', 'CL000017')
    """
    return f"C{number:07d}" if number < NCI_METATHESAURUS else f"CL{number - NCI_METATHESAURUS:06d}"


def release_file(folder: Path, name: str) -> Path | None:
    """Return the file of a release, plain or gzip, None if it is not there."""
    return next((path for path in (folder / f"{name}.RRF", folder / f"{name}.RRF.gz") if path.is_file()), None)


def row_counts(folder: Path) -> dict[str, int]:
    """Return how many rows MRFILES says each file has; empty without an MRFILES.

    Raises:
        FormatError: a damaged MRFILES.
    """
    path = release_file(folder, "MRFILES")
    if path is None:
        return {}
    counts: dict[str, int] = {}
    rows = ReleaseRows(path, LAYOUTS["MRFILES"])
    for line, row in rows:
        count = whole(row[4])
        if count is None:
            rows.malformed(line, f"says that {row[0][:40]} has {row[4][:40]!r} rows")
        else:
            counts[row[0].removesuffix(".RRF")] = count
    return counts


def groups(rows: ReleaseRows) -> Groups:
    """Return the rows of one file by concept."""
    return Groups(rows, number, SORT)


class Hierarchy:
    """Parents out of MRREL, eight bytes a relation, some sixty while they are put in order.

    A row says what its second concept is to its first: in ``C1|…|PAR|C2``, C2 is the parent of C1, in ``CHD`` the
    child. Concepts of the Metathesaurus join atoms of many hierarchies, so that some are their own ancestors:
    relations between two concepts that are each other's ancestors are left out, since they order nothing.
    """

    def __init__(
        self, rows: ReleaseRows, relations: Sequence[str], suppress: Collection[str], sources: Collection[str] | None
    ) -> None:
        self.rows = rows
        up, down = set(relations), {MIRRORS[relation] for relation in relations}
        children, parents = array("i"), array("i")
        for line, row in self.rows.only([f"|{relation}|" for relation in up | down]):
            if row[3] not in up and row[3] not in down:
                continue  # the marker stood in another column
            if row[14] not in suppress or (sources is not None and row[10] not in sources) or row[0] == row[4]:
                continue
            try:
                first, second = number(row[0]), number(row[4])
            except ValueError as error:
                self.rows.malformed(line, str(error))
                continue
            children.append(first if row[3] in up else second)
            parents.append(second if row[3] in up else first)
        self._order(np.frombuffer(children, np.int32), np.frombuffer(parents, np.int32))

    def _order(self, children: npt.NDArray[np.int32], parents: npt.NDArray[np.int32]) -> None:
        pairs = np.unique(children.astype(np.int64) << 32 | parents)
        children, parents = (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)
        circular = on_circles(children, parents)
        if circular.any():
            first = int(np.flatnonzero(circular)[0])
            example = f"{cui(int(children[first]))} under {cui(int(parents[first]))}"
            told = f"{int(circular.sum()):,} parents that are descendants too, left out: for example {example}"
            warn(f"{self.rows.name}: {told}")
            children, parents = children[~circular], parents[~circular]
        self._children, self._parents = children, parents

    def parents(self, child: int) -> list[int]:
        """Return the numbers of the parents of `child`."""
        first, end = np.searchsorted(self._children, np.array([child, child + 1], np.int32))
        found: list[int] = self._parents[first:end].tolist()
        return found
