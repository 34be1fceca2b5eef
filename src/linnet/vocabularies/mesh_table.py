"""Tables of MeSH records (``id name synonyms``) that others have compiled, with types and parents from other files.

The table has an id, a name and synonyms joined by ``|`` in its first three columns, separated by tabs, with or
without a header. What such tables leave out comes from two more files:

- tree numbers give descriptors their types (`linnet.vocabularies.mesh.mesh_tree_types`) and parents;
- a list of diseases gives supplementary records, which have no tree number, theirs: "Disease" if it holds them, else
  "Chemical", which nearly all others are. Descriptors without a tree number are typed by it only if it holds them.

Reading streams; held are tree numbers, the ids of diseases, and the ids met (about 30 MB for all of MeSH).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from linnet.data import Concept, Name
from linnet.errors import FormatError
from linnet.text.files import open_text, shown
from linnet.vocabularies.ctd import read_ctd
from linnet.vocabularies.malformed import Malformed
from linnet.vocabularies.mesh import PREFIX, mesh_tree_types, tree_parents
from linnet.vocabularies.mesh_record import UI
from linnet.vocabularies.oddities import Oddities

__all__ = ["read_mesh_table", "read_mesh_trees"]

COLUMNS = 3


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
        FormatError: a truncated file, or too many malformed rows (`linnet.vocabularies.malformed`).
    """
    name = shown(path)
    bad, odd = Malformed(name), Oddities(name)
    context = _Context(trees, diseases, odd)
    seen: dict[str, int] = {}
    text = "\n"
    for line, text in enumerate(open_text(path, keep_ends=True), 1):
        cells = [" ".join(cell.split()) for cell in text.rstrip("\r\n").split("\t")]
        if not any(cells) or (line == 1 and cells[0].lower() == "id"):
            continue
        bad.read += 1
        ui = cells[0].removeprefix(PREFIX)
        if problem := _problem(cells, ui, seen):
            if not text.endswith("\n"):
                raise FormatError(name, f"{problem}; the file is truncated: fetch it again", line=line)
            bad.add(line, problem)
            continue
        seen[ui] = line
        yield context.concept(ui, cells, f"{name}:{line}", line)
    if not bad.read:
        raise FormatError(name, "holds no rows: expected id, name and synonyms")
    if not text.endswith("\n"):
        odd.add("the last line has no line break; the file may be incomplete", line, "")
    bad.finish()
    odd.warn()


def _problem(cells: list[str], ui: str, seen: Mapping[str, int]) -> str:
    """Return what is wrong with a row, or ``""``."""
    if len(cells) < COLUMNS:
        return f"has {len(cells)} columns, expected id, name and synonyms"
    if not UI.fullmatch(ui):
        return f"the id is {cells[0]!r}, expected D or C and digits"
    if not cells[1]:
        return f"the name of {ui} is empty"
    return f"the id {ui} stands in line {seen[ui]} already" if ui in seen else ""


class _Context:
    """What other files know of the rows of a table."""

    def __init__(
        self,
        trees: str | Path | Mapping[str, tuple[str, ...]] | None,
        diseases: str | Path | Iterable[str] | None,
        odd: Oddities,
    ) -> None:
        self._trees = read_mesh_trees(trees) if isinstance(trees, (str, Path)) else trees or {}
        self._parents = tree_parents(self._trees, odd)
        if isinstance(diseases, (str, Path)):
            diseases = (concept.id for concept in read_ctd(diseases))
        self._diseases = None if diseases is None else {id.removeprefix(PREFIX) for id in diseases}
        self._odd = odd

    def concept(self, ui: str, cells: list[str], origin: str, line: int) -> Concept:
        name = cells[1]
        synonyms = (text.strip() for text in cells[2].split("|"))
        names = dict.fromkeys(text for text in (name, *synonyms) if text)
        key = ui if ui in self._trees else name
        return Concept(
            PREFIX + ui,
            tuple(Name(text) for text in names),
            self._types(ui, key, line),
            parents=tuple(PREFIX + parent for parent in self._parents.get(ui, ())),
            origin=origin,
        )

    def _types(self, ui: str, key: str, line: int) -> tuple[str, ...]:
        if types := mesh_tree_types(self._trees.get(key, ())):
            return types
        if self._diseases is not None and ui in self._diseases:
            return ("Disease",)
        if ui.startswith("C"):
            return () if self._diseases is None else ("Chemical",)
        if self._trees:
            self._odd.add("descriptor without a tree number, left without a type", line, ui)
        return ()
