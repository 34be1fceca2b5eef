"""SNOMED CT to concepts: the snapshot of a release in Release Format 2 (RF2).

SNOMED CT is owned by SNOMED International (https://www.snomed.org): free of charge in its member countries under the
terms of the national release centre, and under an affiliate licence elsewhere. Linnet ships none of it.

How rows become `Concept` records (``SNOMEDCT:22298006``):

- The preferred name is the description that the dialect's language reference set calls preferred; other active
  synonyms follow, and the fully specified name without its semantic tag if it says something else.
- The semantic tag at the end of the fully specified name, "(disorder)", is the type.
- Active is-a relationships give parents, active text definitions the definition.
- Inactive concepts are retired: SAME AS leads to their successor, else REPLACED BY; other historical associations
  (POSSIBLY EQUIVALENT TO, MOVED TO, …) name no successor. A successor that is itself inactive is followed.

RF2 files are sorted by component and not by concept, so that terms and parents are held in memory, put together to one
text a concept: about 1 KB a concept at most, half a gigabyte for the International Edition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from sys import intern

from linnet.data import Concept, Name
from linnet.errors import FormatError, LinnetError
from linnet.text.files import shown
from linnet.vocabularies.malformed import Oddities
from linnet.vocabularies.release_rows import Layout, ReleaseRows, Row

__all__ = ["DIALECTS", "read_snomed"]

COMMON = "id effectiveTime active moduleId"
DESCRIPTION = f"{COMMON} conceptId languageCode typeId term caseSignificanceId".split()
# file name without its end, * for what only some releases have in it -> columns; an underscore, the edition and the
# date follow
FILES = {
    "sct2_Concept_Snapshot": f"{COMMON} definitionStatusId".split(),
    "sct2_Description_Snapshot-{language}": DESCRIPTION,
    "sct2_TextDefinition_Snapshot-{language}": DESCRIPTION,
    "sct2_Relationship_Snapshot": (
        f"{COMMON} sourceId destinationId relationshipGroup typeId characteristicTypeId modifierId".split()
    ),
    "der2_cRefset_LanguageSnapshot-{language}": f"{COMMON} refsetId referencedComponentId acceptabilityId".split(),
    "der2_cRefset_Association*Snapshot": f"{COMMON} refsetId referencedComponentId targetComponentId".split(),
}
OPTIONAL = ("sct2_TextDefinition_Snapshot-{language}",)
FULLY_SPECIFIED = "900000000000003001"
PREFERRED = "900000000000548007"
IS_A = "116680003"
ASSOCIATIONS = ("900000000000527005", "900000000000526001")  # SAME AS, REPLACED BY: in order of preference
# language reference sets by dialect
DIALECTS = {"en-us": "900000000000509007", "en-gb": "900000000000508004"}
PREFIX = "SNOMEDCT"
RANKS = FIRST, FULL, OTHER = "012"
TAG = re.compile(r"\s*\(([^()]+)\)$")


def read_snomed(folder: str | Path, *, language: str = "en", dialect: str = "en-us") -> Iterator[Concept]:
    """Yield the concepts of an RF2 snapshot in the order of its concept file, the inactive ones as retired.

    Args:
        folder: the unpacked release, or any folder with the snapshot files somewhere below it.
        language: of the description files, as in their names ("en").
        dialect: which language reference set says what is preferred: "en-us", "en-gb" or the reference set's id.

    Raises:
        LinnetError: a dialect that is neither known nor an id.
        FormatError: a file that is missing, there twice, truncated or malformed beyond a limit, with its line.
    """
    refset = DIALECTS.get(dialect.lower(), dialect)
    if not refset.isdecimal():
        raise LinnetError(f"dialect is {dialect!r}, expected {', '.join(DIALECTS)} or the id of a language refset")
    yield from _Snapshot(Path(folder), language, refset).concepts()


class _Snapshot:
    """What has to be known of all files before one concept can be told."""

    def __init__(self, folder: Path, language: str, refset: str) -> None:
        self._folder, self._language = folder, language
        rows = self._rows("sct2_Concept_Snapshot")
        self._concepts = [(line, intern(row[0]), row[2] == "1") for line, row in rows]
        self._active = {id for _, id, active in self._concepts if active}
        self._preferred = {
            row[5]
            for _, row in self._rows("der2_cRefset_LanguageSnapshot-{language}")
            if row[2] == "1" and row[4] == refset and row[6] == PREFERRED
        }
        if not self._preferred:
            raise FormatError(folder, f"its language reference set has no preferred terms for the dialect {refset}")
        self._terms = self._by_concept("sct2_Description_Snapshot-{language}")
        self._preferred.clear()
        self._definitions = self._by_concept("sct2_TextDefinition_Snapshot-{language}")
        self._parents = self._is_a()
        self._successors = self._associations()

    def _path(self, name: str) -> Path | None:
        stem = name.format(language=self._language)
        found = sorted(self._folder.rglob(f"{stem}_*.txt")) + sorted(self._folder.rglob(f"{stem}_*.txt.gz"))
        if len(found) > 1:
            raise FormatError(found[1], f"there is {found[0]} too; give the folder of one release")
        if not found and name not in OPTIONAL:
            raise FormatError(self._folder, f"has no {stem}_*.txt in it or below: is it an RF2 release with snapshots?")
        return found[0] if found else None

    def _rows(self, name: str) -> Iterator[Row]:
        path = self._path(name)
        if path is None:
            return
        rows = ReleaseRows(path, Layout(FILES[name], "\t", header=True))
        for line, row in rows:
            if row[2] in ("0", "1") and row[0]:
                yield line, row
            else:
                rows.malformed(line, f"active is {row[2]!r}, expected 0 or 1")

    def _by_concept(self, name: str) -> dict[str, str]:
        """Return concept -> its active terms, a line each, before each one of `RANKS`."""
        found: dict[str, str] = {}
        for _, row in self._rows(name):
            if row[2] == "1" and row[7].strip():
                rank = FULL if row[6] == FULLY_SPECIFIED else FIRST if row[0] in self._preferred else OTHER
                concept = intern(row[4])
                found[concept] = f"{found.get(concept, '')}{rank}{' '.join(row[7].split())}\n"
        return found

    def _is_a(self) -> dict[str, str]:
        """Return concept -> its parents, separated by blanks."""
        odd = Oddities(shown(self._path("sct2_Relationship_Snapshot") or ""))
        found: dict[str, str] = {}
        for line, row in self._rows("sct2_Relationship_Snapshot"):
            if row[2] != "1" or row[7] != IS_A or row[4] not in self._active:
                continue
            if row[5] in self._active:
                concept = intern(row[4])
                found[concept] = f"{found[concept]} {row[5]}" if concept in found else intern(row[5])
            else:
                odd.add("is-a of a concept that is not active, left out", line, f"{row[4]} is a {row[5]}")
        odd.warn()
        return found

    def _associations(self) -> dict[str, str]:
        best: dict[str, tuple[int, str]] = {}
        for _, row in self._rows("der2_cRefset_Association*Snapshot"):
            if row[2] == "1" and row[4] in ASSOCIATIONS:
                found = (ASSOCIATIONS.index(row[4]), row[6])
                best[row[5]] = min(best.get(row[5], found), found)
        return {id: successor for id, (_, successor) in best.items()}

    def _successor(self, id: str) -> str:
        seen: set[str] = set()
        while id not in self._active and id in self._successors and id not in seen:
            seen.add(id)
            id = self._successors[id]
        # an active concept without a description is left out, and nothing can lead to it
        return f"{PREFIX}:{id}" if id in self._active and id in self._terms else ""

    def concepts(self) -> Iterator[Concept]:
        path = shown(self._path("sct2_Concept_Snapshot") or "")
        odd = Oddities(path)
        for line, id, live in self._concepts:
            names, types = self._names(self._terms.get(id, "").splitlines())
            if live and not names:
                odd.add(f"active concept without a description in {self._language!r}, left out", line, id)
                continue
            definition = self._definitions.get(id, "").partition("\n")[0][1:]
            parents = dict.fromkeys(self._parents.get(id, "").split())
            yield Concept(
                f"{PREFIX}:{id}",
                names,
                types if live else (),
                definition if live else "",
                tuple([f"{PREFIX}:{parent}" for parent in parents]) if live else (),
                replaced_by=None if live else self._successor(id),
                origin=f"{path}:{line}",
            )
        odd.warn()

    def _names(self, terms: Sequence[str]) -> tuple[tuple[Name, ...], tuple[str, ...]]:
        """Return names, the preferred one first, and the semantic tag.

        Without a preferred synonym the fully specified name comes first; otherwise it is the next best.
        """
        tags: list[str] = []
        unique: dict[str, str] = {}
        for ranked in sorted(terms, key=itemgetter(0)):
            term = ranked[1:]
            if ranked[0] == FULL:
                tag = TAG.search(term)
                tags += [tag[1]] if tag else []
                term = TAG.sub("", term) or term
            unique.setdefault(term.casefold(), term)
        return tuple([Name(term, language=self._language) for term in unique.values()]), tuple(dict.fromkeys(tags))
