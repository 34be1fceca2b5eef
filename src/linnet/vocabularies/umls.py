"""The UMLS Metathesaurus to concepts: a release folder in Rich Release Format (RRF), plain or gzip.

The UMLS is licensed by the U.S. National Library of Medicine (https://www.nlm.nih.gov/research/umls): a personal
licence, annual reports, and for many source vocabularies restrictions of their own. Linnet ships none of it, and a
knowledge base made of it must not be passed on to people without a licence.

How rows become `Concept` records (`UMLS:C0024660`):

- MRCONSO gives names. The preferred one is that of the first language asked for whose TS is P, STT is PF and ISPREF
  is Y, as far as there is one; the others follow in that order. Names that differ in case alone are one. A suppressed
  name (if `suppress` lets it in) has the scope "related". `Name.source` is the SAB, `Name.language` ISO 639-1. Codes
  in the source vocabularies are cross-references (``MESH:D008288``).
- MRSTY gives types (their names), MRDEF one definition: of an atom that was kept, MeSH's and the NCI's first.
- MRREL gives parents: PAR, with its mirror CHD; relations on circles are left out (`linnet.vocabularies.umls_files`).
- MRCUI gives retired ids: SY (merged) leads to its successor. A broader, narrower or related concept is not the same
  and no successor; neither is DEL. Ids merged into a concept that the filters leave out are left out too.

Files are read in step, concept by concept, as they are published: sorted by CUI. Held in memory are one concept,
one bit a CUI and eight bytes a parent relation (some sixty for a moment at the start).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from linnet.data import Concept, Name, Scope
from linnet.errors import FormatError, LinnetError, did_you_mean
from linnet.kb.curies import curie
from linnet.reporter import warn
from linnet.vocabularies.release_rows import Groups, Numbers, ReleaseRows, Row
from linnet.vocabularies.umls_files import LAYOUTS, MIRRORS, Hierarchy, cui, groups, number, release_file, row_counts

__all__ = ["ST21PV_SOURCES", "ST21PV_TYPES", "read_umls"]

# MedMentions ST21pv (Mohan & Li, AKBC 2019): concepts of one of 21 semantic types or its descendants that come from
# one of 18 vocabularies. TUI -> tree number in the Semantic Network, by which MRSTY tells descendants.
ST21PV_TYPES = {
    "T005": "A1.1.4", "T007": "A1.1.2", "T017": "A1.2", "T022": "A2.1.4.1", "T031": "A1.4.2", "T033": "A2.2",
    "T037": "B2.3", "T038": "B2.2.1", "T058": "B1.3.1", "T062": "B1.3.2", "T074": "A1.3.1", "T082": "A2.1.5",
    "T091": "A2.6.1", "T092": "A2.7", "T097": "A2.9.1", "T098": "A2.9.2", "T103": "A1.4.1", "T168": "A1.4.3",
    "T170": "A2.4", "T201": "A2.3.1", "T204": "A1.1.3",
}  # fmt: skip
ST21PV_SOURCES = frozenset(
    {
        *("CPT", "FMA", "GO", "HGNC", "HPO", "ICD10", "ICD10CM", "ICD9CM", "MDR", "MSH", "MTH", "NCBI", "NCI"),
        *("NDDF", "NDFRT", "OMIM", "RXNORM", "SNOMEDCT_US"),
    }
)
SUBSETS = ("st21pv",)
LANGUAGES = {
    "ENG": "en", "ARA": "ar", "BAQ": "eu", "CHI": "zh", "CZE": "cs", "DAN": "da", "DUT": "nl", "EST": "et",
    "FIN": "fi", "FRE": "fr", "GER": "de", "GRE": "el", "HEB": "he", "HUN": "hu", "ITA": "it", "JPN": "ja",
    "KOR": "ko", "LAV": "lv", "NOR": "no", "POL": "pl", "POR": "pt", "RUS": "ru", "SCR": "hr", "SPA": "es",
    "SWE": "sv", "TUR": "tr", "UKR": "uk",
}  # fmt: skip
SUPPRESS = ("N", "O", "E", "Y")
DEFINERS = ("MSH", "NCI")
# vocabularies whose codes are known under another prefix; "" = the code is the Metathesaurus' own
PREFIXES = {"MTH": "", "MDR": "MEDDRA", "LNC": "LOINC", "NCBI": "NCBITaxon", "HCPT": "CPT"}


class _Filters(NamedTuple):
    languages: dict[str, int]  # LAT -> how much it is preferred
    sources: frozenset[str] | None
    suppress: frozenset[str]
    types: frozenset[str] | None  # TUIs and names, names in lower case
    subset: str


def read_umls(
    folder: str | Path,
    *,
    languages: Sequence[str] = ("ENG",),
    sources: Collection[str] | None = None,
    suppress: Collection[str] = ("N",),
    types: Collection[str] | None = None,
    subset: str | None = None,
    parents: Sequence[str] = ("PAR",),
) -> Iterator[Concept]:
    """Yield the concepts of a UMLS release by CUI, then its retired CUIs.

    Args:
        folder: holds MRCONSO.RRF and MRSTY.RRF, and MRDEF, MRREL, MRCUI and MRFILES where they are wanted.
        languages: of names, by UMLS code ("ENG") or ISO 639-1 ("en"); the preferred name is of the first.
        sources: source vocabularies (SAB) whose names, definitions and relations are taken; None takes all.
        suppress: flags of names to take: N not suppressed, O obsolete, E by an editor, Y by NLM.
        types: take only concepts of one of these semantic types, by TUI ("T047") or name, exactly these.
        subset: "st21pv" takes the concepts of MedMentions' ST21pv, with all their names.
        parents: relations that give parents, "PAR" and "RB" (broader; seldom a real hierarchy).

    Raises:
        LinnetError: an option that there is not.
        FormatError: a file that is missing, truncated, unsorted or malformed beyond a limit, with its line; a type
            that no concept has; or filters that nothing passes.
    """
    codes = {iso: code for code, iso in LANGUAGES.items()}
    wanted = {codes.get(language.lower(), language.upper()): place for place, language in enumerate(languages)}
    if not wanted:
        raise LinnetError("languages is empty, expected at least one, such as 'ENG'")
    for flag in suppress:
        if flag not in SUPPRESS:
            raise LinnetError(f"suppress: {flag!r} is none of {', '.join(SUPPRESS)}")
    if subset is not None and subset.lower() not in SUBSETS:
        raise LinnetError(f"subset is {subset!r}, expected {' or '.join(SUBSETS)}{did_you_mean(subset, SUBSETS)}")
    filters = _Filters(
        wanted,
        None if sources is None else frozenset(sources),
        frozenset(suppress),
        None if types is None else frozenset(kind.lower() for kind in types),
        (subset or "").lower(),
    )
    if unknown := [relation for relation in parents if relation not in MIRRORS]:
        raise LinnetError(f"parents: {unknown[0]!r} is none of {', '.join(MIRRORS)}")
    release = _Release(Path(folder), filters, parents)
    yield from release.concepts()
    yield from release.retired()


class _Release:
    """The open files of one release."""

    def __init__(self, folder: Path, filters: _Filters, parents: Sequence[str]) -> None:
        self._folder, self._filters = folder, filters
        self._counts = row_counts(folder)
        self._atoms, self._types = groups(self._rows("MRCONSO")), groups(self._rows("MRSTY"))
        definitions = self._optional("MRDEF", "definitions")
        self._definitions = groups(definitions) if definitions else None
        relations = self._optional("MRREL", "parents")
        self._hierarchy = Hierarchy(relations, parents, filters.suppress, filters.sources) if relations else None
        history = self._optional("MRCUI", "retired concepts")
        self._history = groups(history) if history else None
        self._kept = Numbers()
        self._any = False
        self._met_types: dict[str, str] = {}

    def _rows(self, name: str) -> ReleaseRows:
        path = release_file(self._folder, name)
        if path is None:
            raise FormatError(self._folder / f"{name}.RRF", "there is no such file; give the folder of the .RRF files")
        return ReleaseRows(path, LAYOUTS[name], self._counts.get(name))

    def _optional(self, name: str, what: str) -> ReleaseRows | None:
        if release_file(self._folder, name) is None:
            warn(f"{self._folder} has no {name}.RRF: there will be no {what}")
            return None
        return self._rows(name)

    def concepts(self) -> Iterator[Concept]:
        for id, rows in self._atoms:
            types = self._types.take(id)
            kept = self._kept_types(types)
            atoms = self._kept_atoms(rows) if kept else []
            if not atoms or not self._in_subset(types, atoms):
                continue
            self._kept.add(id)
            self._any = True
            yield self._concept(id, rows[0][0], atoms, types)
        self._types.finish()
        if self._definitions:
            self._definitions.finish()
        self._check_types()
        if not self._any:
            raise FormatError(self._atoms.rows.path, f"nothing passes the filters {self._filters}")

    def _kept_types(self, rows: list[Row]) -> bool:
        for _, row in rows:
            self._met_types[row[1]] = row[3]
        wanted = self._filters.types
        return wanted is None or any(row[1].lower() in wanted or row[3].lower() in wanted for _, row in rows)

    def _check_types(self) -> None:
        met = {name.lower(): name for tui, kind in self._met_types.items() for name in (tui, kind)}
        for kind in self._filters.types or ():
            if kind not in met:
                hint = did_you_mean(kind, met)
                raise FormatError(self._types.rows.path, f"no concept has the semantic type {kind!r}{hint}")

    def _kept_atoms(self, rows: list[Row]) -> list[Row]:
        languages, sources, suppress = self._filters.languages, self._filters.sources, self._filters.suppress
        kept = []
        for atom in rows:
            row = atom[1]
            if row[1] in languages and row[16] in suppress and (sources is None or row[11] in sources):
                if row[14].strip():
                    kept.append(atom)
                else:
                    self._atoms.rows.malformed(atom[0], "has an empty name")
        if len(kept) > 1:
            kept.sort(key=self._worth)
        return kept

    def _worth(self, atom: Row) -> tuple[object, ...]:
        row = atom[1]
        language = self._filters.languages[row[1]]
        return (row[16] != "N", language, row[2] != "P", row[4] != "PF", row[6] != "Y")

    def _in_subset(self, types: list[Row], atoms: list[Row]) -> bool:
        if not self._filters.subset:
            return True
        return any(row[11] in ST21PV_SOURCES for _, row in atoms) and any(_is_st21pv(row[2]) for _, row in types)

    def _concept(self, id: int, line: int, atoms: list[Row], types: list[Row]) -> Concept:
        names: dict[tuple[str, str], Name] = {}
        for _, row in atoms:
            key = (row[14].casefold(), row[1])
            if key not in names:
                scope: Scope = "exact" if row[16] == "N" else "related"
                language = LANGUAGES.get(row[1], row[1].lower())
                names[key] = Name(" ".join(row[14].split()), scope, language, row[11])
        return Concept(
            f"UMLS:{cui(id)}",
            tuple(names.values()),
            tuple(dict.fromkeys([row[3] for _, row in types])),
            self._definition(id, atoms),
            tuple([f"UMLS:{cui(parent)}" for parent in self._hierarchy.parents(id)]) if self._hierarchy else (),
            _xrefs(atoms),
            origin=f"{self._atoms.rows.name}:{line}",
        )

    def _definition(self, id: int, atoms: list[Row]) -> str:
        rows = self._definitions.take(id) if self._definitions else []
        if not rows:
            return ""
        auis = {row[7] for _, row in atoms}
        kept = [row for _, row in rows if row[1] in auis and row[6] in self._filters.suppress]
        kept.sort(key=lambda row: DEFINERS.index(row[4]) if row[4] in DEFINERS else len(DEFINERS))
        return " ".join(kept[0][5].split()) if kept else ""

    def retired(self) -> Iterator[Concept]:
        """Yield the retired CUIs; those that were merged into a concept that was not kept are left out."""
        if self._history is None:
            return
        for id, rows in self._history:
            if id in self._kept:
                continue
            line = rows[0][0]
            merged = _merged(rows, self._history)
            kept = [successor for successor in merged if successor in self._kept]
            if kept or not merged:
                successor = f"UMLS:{cui(kept[0])}" if kept else ""
                origin = f"{self._folder / 'MRCUI.RRF'}:{line}"
                yield Concept(f"UMLS:{cui(id)}", replaced_by=successor, origin=origin)


def _merged(rows: list[Row], history: Groups) -> list[int]:
    """Return the numbers of the concepts that a retired one was merged into."""
    found = []
    for line, row in rows:
        if row[2] == "SY":
            try:
                found.append(number(row[5]))
            except ValueError as error:
                history.rows.malformed(line, str(error))
    return found


def _is_st21pv(tree: str) -> bool:
    return any(tree == root or tree.startswith(root + ".") for root in ST21PV_TYPES.values())


def _xrefs(atoms: list[Row]) -> tuple[str, ...]:
    """Return the codes that the source vocabularies have for a concept, as CURIEs."""
    found = []
    for _, row in atoms:
        source, code = row[11], row[13]
        prefix = PREFIXES.get(source, source)
        if prefix and code and code != "NOCODE":
            found.append(curie(code if ":" in code else f"{prefix}:{code}"))
    return tuple(dict.fromkeys(found))
