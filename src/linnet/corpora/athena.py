"""Concept ids of OMOP, out of the files that Athena gives: a code's own concept, and the standard ones it maps to.

A folder holds CONCEPT.csv and CONCEPT_RELATIONSHIP.csv, and may hold SOURCE_TO_CONCEPT_MAP.csv, the CDM's table of a
site's own mappings, which is asked first and knows vocabularies that Athena has not, such as the HPO. A vocabulary is
read when the first code of it comes: of 10 million rows its own are kept, about 200 bytes each.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from linnet.corpora.hospital import TERMINOLOGIES, prefix_of
from linnet.errors import FormatError
from linnet.frozen import EMPTY
from linnet.text.files import open_text

__all__ = ["UNMAPPED", "Athena", "Mapped"]

CONCEPT, RELATION, OWN = "CONCEPT.csv", "CONCEPT_RELATIONSHIP.csv", "SOURCE_TO_CONCEPT_MAP.csv"
MAPS_TO = "Maps to"
MAY_LACK = "source_concept_id"  # of a site's own mappings
WHOLE = re.compile("[0-9]{1,18}")


class Mapped(NamedTuple):
    """The concept of a code, 0 if there is none, and the standard concepts that it maps to."""

    source: int
    standard: tuple[int, ...]


UNMAPPED = Mapped(0, (0,))


class Athena:
    """Maps ids of concepts to those of OMOP.

    Args:
        folder: holds the files.
        vocabularies: prefix -> vocabulary_id, where they differ from what `hospital.tsv` says.

    Raises:
        FormatError: the folder has neither CONCEPT.csv nor SOURCE_TO_CONCEPT_MAP.csv.
    """

    def __init__(self, folder: Path, vocabularies: Mapping[str, str] = EMPTY) -> None:
        self._folder, self._vocabularies = folder, vocabularies
        self._known: dict[str, dict[str, Mapped]] = {}
        if not any((folder / name).is_file() for name in (CONCEPT, OWN)):
            raise FormatError(folder, f"holds neither {CONCEPT} nor {OWN}: unpack a download of Athena there")

    def __getitem__(self, id: str) -> Mapped:
        """Return what OMOP has for the concept `id`, `UNMAPPED` if it has nothing."""
        prefix, code = prefix_of(id)
        known = TERMINOLOGIES.get(prefix)
        vocabulary = self._vocabularies.get(prefix) or (known.vocabulary if known else "-")
        vocabulary = prefix if vocabulary == "-" else vocabulary
        if vocabulary not in self._known:
            self._known[vocabulary] = self._read(vocabulary)
        codes = self._known[vocabulary]
        return codes.get(code) or codes.get(id) or UNMAPPED

    def _read(self, vocabulary: str) -> dict[str, Mapped]:
        """Return the codes of one vocabulary."""
        sources = {row[0]: int(row[1]) for row in self._of(CONCEPT, "concept_code concept_id", vocabulary)}
        ids = frozenset(sources.values())
        targets: dict[int, list[int]] = defaultdict(list)
        columns = "concept_id_1 concept_id_2 relationship_id invalid_reason"
        for one, two, kind, invalid in self._rows(RELATION, columns) if ids else ():
            if kind == MAPS_TO and not invalid and int(one) in ids:
                targets[int(one)].append(int(two))
        found = {code: Mapped(id, tuple(sorted(targets.get(id, ()))) or (0,)) for code, id in sources.items()}
        return found | self._own(vocabulary)

    def _own(self, vocabulary: str) -> dict[str, Mapped]:
        sources: dict[str, int] = {}
        targets: dict[str, list[int]] = defaultdict(list)
        columns = "source_code source_concept_id target_concept_id invalid_reason"
        for code, source, target, invalid in self._of(OWN, columns, vocabulary, of="source_vocabulary_id"):
            if not invalid:
                sources[code] = int(source or 0)
                targets[code].append(int(target))
        return {code: Mapped(id, tuple(sorted(set(targets[code])))) for code, id in sources.items()}

    def _of(self, file: str, columns: str, vocabulary: str, of: str = "vocabulary_id") -> Iterator[list[str]]:
        for row in self._rows(file, f"{of} {columns}"):
            if row[0] == vocabulary:
                yield row[1:]

    def _rows(self, file: str, columns: str) -> Iterator[list[str]]:
        """Yield these columns of a file; of one that is not there nothing."""
        path = self._folder / file
        if not path.is_file():
            return
        lines = open_text(path, by_line=True)
        header = next(lines, "").rstrip("\r\n").removeprefix("\ufeff")
        parted = _parter(header)
        named = [name.strip().lower() for name in parted(header)]
        wanted = columns.split()
        if missing := [name for name in wanted if name not in named]:
            raise FormatError(path, f"has no column {missing[0]}", line=1)
        places = [named.index(name) for name in wanted]
        for number, line in enumerate(lines, 2):
            cells = parted(line.rstrip("\r\n"))
            if len(cells) <= max(places):
                raise FormatError(path, f"has {len(cells)} columns, the header has {len(named)}", line=number)
            row = [cells[place] for place in places]
            if not all(_is_number(cell, name) for name, cell in zip(wanted, row, strict=True) if "concept_id" in name):
                raise FormatError(path, f"expected whole numbers as concept ids, found {row!r:.80}", line=number)
            yield row


def _is_number(cell: str, column: str) -> bool:
    return bool(WHOLE.fullmatch(cell)) or (column == MAY_LACK and not cell)


def _parter(header: str) -> Callable[[str], list[str]]:
    """Return what cuts a line: Athena has tabs and quotes nothing; a table that a database wrote has commas."""
    if "\t" in header:
        return lambda line: line.split("\t")
    return lambda line: next(islice(csv.reader([line]), 1), [])
