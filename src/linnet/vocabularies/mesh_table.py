"""Tables of MeSH records (``id name synonyms``) that others have compiled, with types and parents from other files.

The table has an id, a name and synonyms joined by ``|`` in its first three columns, separated by tabs, with or
without a header. What such tables leave out comes from two more files:

- tree numbers give descriptors their types (`linnet.vocabularies.mesh.mesh_tree_types`) and parents;
- a list of diseases gives supplementary records, which have no tree number, theirs: "Disease" if it holds them, else
  "Chemical", which nearly all others are. Descriptors without a tree number are typed by it only if it holds them.

Reading streams; held are tree numbers, the ids of diseases, and the ids met (about 30 MB for all of MeSH).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from linnet.data import Concept
from linnet.errors import FormatError
from linnet.text.files import head, open_text, shown
from linnet.vocabularies.ctd import read_ctd
from linnet.vocabularies.malformed import Malformed, Oddities
from linnet.vocabularies.mesh import PREFIX, mesh_tree_types, tree_parents
from linnet.vocabularies.mesh_records import UI
from linnet.vocabularies.table import read_table

__all__ = ["read_mesh_table", "read_mesh_trees"]

COLUMNS = ("id", "name", "synonyms")


def read_mesh_trees(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Return id -> tree numbers from a table, or heading -> tree numbers from NLM's ``mtrees20xx.bin``.

    A table has an id in the first column and a tree number in the last, separated by tabs, one pair a line, below a
    header; ``mtrees20xx.bin`` has lines such as ``Body Regions;A01``.

    Raises:
        FormatError: neither, or too many malformed rows (`linnet.vocabularies.malformed`).
    """
    name = shown(path)
    bad = Malformed(name)
    found: dict[str, list[str]] = {}
    for line, text in enumerate(open_text(path), 1):
        cells = text.split("\t") if "\t" in text else list(text.rpartition(";")[::2])
        key, number = cells[0].strip().removeprefix(PREFIX), cells[-1].strip()
        if line == 1 and "\t" in text and not UI.fullmatch(key):
            continue
        if not text.strip():
            continue
        bad.read += 1
        if key and mesh_tree_types([number]):
            found.setdefault(key, []).append(number)
        else:
            bad.add(line, f"expected an id or heading and a tree number, found {text.strip()[:60]!r}")
    if not bad.read:
        raise FormatError(name, "holds no tree numbers")
    bad.finish()
    return {key: tuple(numbers) for key, numbers in found.items()}


def read_mesh_table(
    path: str | Path,
    *,
    trees: str | Path | Mapping[str, tuple[str, ...]] | None = None,
    diseases: str | Path | Iterable[str] | None = None,
) -> Iterator[Concept]:
    """Yield the concepts of a table of MeSH records, plain or gzip.

    Args:
        path: the table.
        trees: a file that `read_mesh_trees` reads, or what it returns; without it descriptors have no parents.
        diseases: CTD's vocabulary of diseases, or the ids of diseases; without it supplementary records get no type.

    Raises:
        FormatError: a truncated file, too many malformed rows (`linnet.vocabularies.malformed`), or no id of MeSH's.
    """
    name = shown(path)
    odd = Oddities(name)
    numbers = read_mesh_trees(trees) if isinstance(trees, (str, Path)) else trees or {}
    parents = tree_parents(numbers, odd)
    if isinstance(diseases, (str, Path)):
        diseases = (concept.id for concept in read_ctd(diseases))
    known = None if diseases is None else {id.removeprefix(PREFIX) for id in diseases}
    further = head(path).partition(b"\n")[0].count(b"\t") + 1 - len(COLUMNS)
    header = [*COLUMNS, *(f"column {number}" for number in range(further))]
    found = False
    for concept in read_table(path, header=header, delimiter="\t", prefix="MESH"):
        ui = concept.id.removeprefix(PREFIX)
        line = int(concept.origin.rpartition(":")[2])
        if not UI.fullmatch(ui):
            if ui.lower() != "id":  # of a header
                odd.add("id that is not D or C and digits, left out", line, ui)
            continue
        found = True
        types = mesh_tree_types(numbers.get(ui) or numbers.get(concept.name) or ()) or _types_without_tree(ui, known)
        if not types and numbers and ui.startswith("D"):
            odd.add("descriptor without a tree number, left without a type", line, ui)
        above = tuple(PREFIX + parent for parent in parents.get(ui, ()))
        yield replace(concept, types=types, parents=above)
    if not found:
        raise FormatError(name, "holds no rows: expected id, name and synonyms")
    odd.warn()


def _types_without_tree(ui: str, diseases: Collection[str] | None) -> tuple[str, ...]:
    """Return the type of a record by the list of diseases."""
    if diseases is None:
        return ()
    return ("Disease",) if ui in diseases else ("Chemical",) if ui.startswith("C") else ()
