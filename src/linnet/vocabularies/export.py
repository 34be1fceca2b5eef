"""Concepts out to files: ``.jsonl`` keeps them whole; ``.tsv``, ``.csv`` and ``.xlsx`` are for people; losses are told.

A table has a row for each language of a concept's names, the one of its preferred name first. All cells of a sheet of
Excel (``.xlsx``, extra ``xlsx``) are text, so that ``000021`` and ``MAR1`` stay what they are and nothing is run.
``.texoo`` is the form in which TrainX keeps a terminology: names, first types and definitions. What falls away is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from linnet.data import Concept, Name
from linnet.errors import FormatError
from linnet.reporter import warn
from linnet.text.cells import csv_writer, quote_formula
from linnet.text.files import STDIO, replacing
from linnet.text.workbook import write_texts
from linnet.vocabularies.concepts import write_concepts
from linnet.vocabularies.texoo_terms import write_texoo

__all__ = ["write_table"]

NOT_IN_TSV: Mapping[str, Callable[[Concept], int]] = {
    "scopes and sources of names": lambda concept: sum(
        (name.scope, name.source) != ("exact", "") for name in concept.names
    ),
    "bars in names, types and cross-references": lambda concept: sum(
        "|" in text for text in (*(name.text for name in concept.names), *concept.types, *concept.xrefs)
    ),
}
NOT_IN_TEXOO: Mapping[str, Callable[[Concept], int]] = {
    "scopes and sources of names": NOT_IN_TSV["scopes and sources of names"],
    "languages of names": lambda concept: sum(name.language != "en" for name in concept.names),
    "further types": lambda concept: len(concept.types[1:]),
    "parents": lambda concept: len(concept.parents),
    "cross-references": lambda concept: len(concept.xrefs),
    "retired ids": lambda concept: concept.replaced_by is not None,
}
COLUMNS = ("id", "name", "synonyms", "types", "definition", "parents", "xrefs", "replaced_by", "language")
WIDTHS = (16, 40, 60, 20, 60, 24, 30, 16, 10)  # of the columns of a sheet, in characters
TABLES = ("tsv", "csv", "xlsx")
BOM = "\ufeff"  # by it spreadsheets know UTF-8


def write_table(concepts: Iterable[Concept], path: str | Path) -> int:
    """Write concepts to `path` in the format its suffix says and return how many; ``-`` is JSON Lines on stdout.

    ``.jsonl`` is read back by the vocabulary ``concepts``, ``.tsv``, ``.csv`` and ``.xlsx`` by ``table``, ``.texoo`` by
    ``texoo`` (ids, names, first types and definitions of live concepts); all may end in ``.gz``.

    Raises:
        FormatError: another suffix, or a place that cannot be written to.
        DataError: more rows than a sheet of Excel has, or a text that is too long for a cell.
        MissingExtraError: a sheet of Excel, and openpyxl is not installed.
    """
    ending = "".join(Path(path).suffixes[-2:]).removesuffix(".gz").rpartition(".")[2]
    if str(path) == STDIO or ending == "jsonl":
        with replacing(path) as out:
            return write_concepts(concepts, out)
    if ending == "texoo":
        with replacing(path) as out:
            return write_texoo(_counted(concepts, ending, NOT_IN_TEXOO), out)
    if ending not in TABLES:
        known = ", ".join(f".{known}" for known in TABLES)
        known = f".jsonl (keeps concepts whole), {known}, .texoo or .sssom.tsv (cross-references)"
        raise FormatError(path, f"expected a name that ends in {known}, plain or .gz")
    with replacing(path) as out:
        return _write_rows(_counted(concepts, ending, NOT_IN_TSV), out, ending)


def _counted(
    concepts: Iterable[Concept], ending: str, kinds: Mapping[str, Callable[[Concept], int]]
) -> Iterator[Concept]:
    """Yield concepts, and at their end warn of how much of each kind they have, which such a file cannot hold."""
    lost: Counter[str] = Counter()
    for concept in concepts:
        lost.update({kind: int(count(concept)) for kind, count in kinds.items()})
        yield concept
    if lost := +lost:
        named = ", ".join(f"{kind} ({count:,})" for kind, count in sorted(lost.items()))
        warn(f".{ending} cannot hold, and was not given: {named}; .jsonl keeps concepts whole")


def _write_rows(concepts: Iterable[Concept], out: TextIO, ending: str) -> int:
    counts: Counter[str] = Counter()
    rows = _counted_rows(concepts, counts)
    if ending == "xlsx":
        columns = dict(zip(COLUMNS, WIDTHS, strict=True))
        write_texts(out, "concepts", columns, ([_unlike_quoted(cell) for cell in cells] for cells in rows))
    else:
        out.write(BOM)
        put = csv_writer(out).writerow if ending == "csv" else lambda cells: out.write("\t".join(cells) + "\n")
        put(COLUMNS)
        for cells in rows:
            put([quote_formula(cell) for cell in cells])
    if number := counts["names without a language"]:
        way = "build from the file with --option language= to keep it so, else they become English"
        warn(f"names without a language: {number:,}; {way}")
    return counts["concepts"]


def _counted_rows(concepts: Iterable[Concept], counts: Counter[str]) -> Iterator[Sequence[str]]:
    for concept in concepts:
        counts["concepts"] += 1
        counts["names without a language"] += sum(not name.language for name in concept.names)
        yield from _rows(concept)


def _unlike_quoted(text: str) -> str:
    """Return `text` so that reading does not take its apostrophe for one that was put before a formula."""
    return quote_formula(text) if text.startswith("'") else text


def _rows(concept: Concept) -> Iterator[Sequence[str]]:
    """Yield the cells of each row; those below the first hold nothing but names."""
    by_language: dict[str, list[Name]] = {}
    for name in concept.names:
        by_language.setdefault(name.language, []).append(name)
    rest = tuple(_rest(concept))
    for language, names in by_language.items() or [("", [])]:
        first, *others = [_plain(name.text) for name in names] or [""]
        yield (concept.id, first, "|".join(others), *rest, _plain(language))
        rest = ("",) * len(rest)


def _rest(concept: Concept) -> Iterator[str]:
    yield "|".join(_plain(kind) for kind in concept.types)
    yield " ".join(concept.definition.split())
    yield "|".join(concept.parents)
    yield "|".join(_plain(xref) for xref in concept.xrefs)
    yield "" if concept.replaced_by is None else concept.replaced_by or "-"


def _plain(text: str) -> str:
    """Return `text` without what would end its cell or its value."""
    return " ".join(text.replace("|", "/").split())
