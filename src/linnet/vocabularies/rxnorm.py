"""RxNorm to concepts: drugs of the United States, a release folder in Rich Release Format, plain or gzip.

The Current Prescribable Content is a work of the U.S. National Library of Medicine that needs no licence
(https://www.nlm.nih.gov/research/umls/rxnorm/docs/prescribe.html); the full release holds other publishers' names and
needs one of the UMLS. Both have these files.

Concepts (``RXNORM:29046``) are what a letter names: ingredients, their salts and esters ("precise ingredients"),
ingredients together, brand names; with `kinds` also clinical drugs ("lisinopril 10 MG Oral Tablet") and dose forms.

- RXNCONSO gives names: RxNorm's own, then FDA's names of substances (MTHSPL), whose UNIIs are cross-references; those
  of other publishers are left out, and so are suppressed ones. Names that differ in case alone are one.
- RXNREL gives parents: the ingredient of a precise one and of a brand.

Names and relations of the kinds that are taken are held in memory: some 20 MB.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from linnet.data import Concept, Name
from linnet.errors import FormatError, LinnetError, did_you_mean
from linnet.vocabularies.release_rows import Layout, ReleaseRows, Row, whole

__all__ = ["KINDS", "read_rxnorm"]

COLUMNS = {
    "RXNCONSO": "RXCUI LAT TS LUI STT SUI ISPREF RXAUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF",
    "RXNREL": "RXCUI1 RXAUI1 STYPE1 REL RXCUI2 RXAUI2 STYPE2 RELA RUI SRUI SAB SL RG DIR SUPPRESS CVF",
}
FOLDERS = (".", "rrf", "prescribe/rrf")  # of the files in a release
OWN, FDA, SUBSTANCE = "RXNORM", "MTHSPL", "SU"
KINDS = {
    "IN": "Ingredient",
    "PIN": "Precise ingredient",
    "MIN": "Ingredients together",
    "BN": "Brand name",
    "DF": "Dose form",
    "SCD": "Clinical drug",
    "SBD": "Branded drug",
}  # RxNorm's term types of concepts -> our types
LETTERS = ("IN", "PIN", "MIN", "BN")
UNSUPPRESSED = "N"
RELATIONS = ("tradename_of", "form_of")  # what the second concept of a row is to the first


def read_rxnorm(folder: str | Path, *, kinds: Collection[str] = LETTERS) -> Iterator[Concept]:
    """Yield the concepts of an RxNorm release, in the order of RXNCONSO.

    Args:
        folder: holds RXNCONSO.RRF, and RXNREL.RRF where parents are wanted, or a folder ``rrf`` with these.
        kinds: RxNorm's term types of the concepts to take: IN PIN MIN BN DF SCD SBD.

    Raises:
        LinnetError: an unknown kind, or none.
        FormatError: a file that is missing, truncated or malformed beyond a limit, with its line, or no such concept.
    """
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise LinnetError(f"kinds: {unknown[0]!r} is none of {', '.join(KINDS)}{did_you_mean(unknown[0], KINDS)}")
    names = _rows(Path(folder), "RXNCONSO")
    if names is None:
        raise FormatError(Path(folder) / "RXNCONSO.RRF", "there is no such file; give the folder of the .RRF files")
    kept: dict[str, list[Row]] = {}
    for line, row in names:
        if row[16] != UNSUPPRESSED:
            continue
        if whole(row[0]) is None or not row[14].strip():
            names.malformed(line, f"has the id {row[0][:40]!r} and the name {row[14][:40]!r}")
        elif row[11] in (OWN, FDA):
            kept.setdefault(row[0], []).append((line, row))
    types = {id: kind for id, rows in kept.items() if (kind := _kind(rows)) in kinds}
    if not types:
        raise FormatError(names.path, f"holds no concept of the kinds {', '.join(kinds)}")
    parents = _parents(_rows(Path(folder), "RXNREL"), types)
    for id, kind in types.items():
        yield _concept(id, kind, kept[id], parents.get(id, {}), names.name)


def _rows(folder: Path, name: str) -> ReleaseRows | None:
    places = (folder / inner / f"{name}{suffix}" for inner in FOLDERS for suffix in (".RRF", ".RRF.gz"))
    path = next((place for place in places if place.is_file()), None)
    return None if path is None else ReleaseRows(path, Layout(COLUMNS[name].split(), "|", "|"))


def _kind(rows: list[Row]) -> str:
    """Return the term type that says what a concept is; its other names are synonyms, "" if it has none."""
    return next((row[12] for _, row in rows if row[11] == OWN and row[12] in KINDS), "")


def _parents(rows: ReleaseRows | None, types: dict[str, str]) -> dict[str, dict[str, None]]:
    """Return the ingredients of brands and of precise ingredients."""
    found: dict[str, dict[str, None]] = {}
    for _, row in rows.only([f"|{relation}|" for relation in RELATIONS]) if rows is not None else ():
        above, below = row[0], row[4]
        its = types.get(above) == "IN" and types.get(below) in ("BN", "PIN")
        if row[7] in RELATIONS and its:
            found.setdefault(below, {})[above] = None
    return found


def _concept(id: str, kind: str, rows: list[Row], parents: dict[str, None], file: str) -> Concept:
    rows = sorted(rows, key=lambda item: (item[1][11] != OWN, item[1][12] != kind))
    names: dict[str, Name] = {}
    for _, row in rows:
        text = " ".join(row[14].split())
        if row[11] == OWN or row[12] == SUBSTANCE:  # the others are of products
            names.setdefault(text.casefold(), Name(text, source=row[11]))
    return Concept(
        f"RXNORM:{id}",
        tuple(names.values()),
        (KINDS[kind],),
        parents=tuple(f"RXNORM:{parent}" for parent in parents),
        xrefs=tuple(dict.fromkeys(f"UNII:{row[13]}" for _, row in rows if row[12] == SUBSTANCE and row[13])),
        origin=f"{file}:{rows[0][0]}",
    )
