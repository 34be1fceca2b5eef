"""Medical Subject Headings: NLM's descriptor and supplementary files in XML or ASCII, and tables made of them.

- Entry terms are names. A term of the record's own concept is exact; terms of the narrower, broader and related
  concepts that MeSH puts under the same heading have that scope. `Name.source` tells abbreviations, trade names,
  laboratory numbers, eponyms and permuted terms ("Abdomen, Acute") apart, where the layout does.
- The definition is the scope note, or the note of a supplementary record.
- The tree number C04.588.033 makes the descriptor with C04.588 a parent. Descriptors with several numbers can make
  circles, which no knowledge base can hold: the parent that closes one is left out with a warning.
- Types come from tree numbers (`mesh_tree_types`); for supplementary records from NLM's class, else from the headings
  they are mapped to, which are their parents, else from UMLS semantic types.
- Registry numbers (CAS, UNII, EC, taxon) are cross-references.
- No file of NLM's says by what a removed id was replaced; a table of your own can (`replaced`).

Files are read twice, first for ids, headings and tree numbers, which are held (about 20 MB for all of MeSH), then
record by record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from linnet.data import Concept
from linnet.errors import FormatError
from linnet.kb.cycles import closing_edges
from linnet.text.files import STDIO, head, open_text, shown
from linnet.vocabularies.malformed import Malformed, Oddities
from linnet.vocabularies.mesh_records import MARK, UI, MeshRecord, ascii_records, xml_records

__all__ = ["PREFIX", "mesh_tree_types", "read_mesh", "tree_parents"]

CATEGORIES = {
    "A": "Anatomy", "B": "Organism", "C": "Disease", "D": "Chemical", "E": "Technique or Equipment",
    "F": "Psychiatry and Psychology", "F03": "Disease", "G": "Phenomenon or Process",
    "H": "Discipline or Occupation", "I": "Social Phenomenon", "J": "Technology, Industry and Agriculture",
    "K": "Humanities", "L": "Information Science", "M": "Named Group", "N": "Health Care",
    "V": "Publication Characteristic", "Z": "Geographical Location",
}  # fmt: skip
# NLM's classes of supplementary records: substance, chemotherapy protocol, rare disease, and those added later
CLASSES = {"1": "Chemical", "2": "Chemical", "3": "Disease", "4": "Organism", "5": "Named Group", "6": "Anatomy"}
# UMLS semantic types of MeSH records that are diseases: anomalies, injuries, syndromes, dysfunctions, neoplasms, signs
DISEASE_TYPES = frozenset(
    {"T019", "T020", "T033", "T037", "T046", "T047", "T048", "T049", "T050", "T184", "T190", "T191"}
)
PREFIX = "MESH:"


def mesh_tree_types(numbers: Iterable[str]) -> tuple[str, ...]:
    """Return the types that tree numbers give, in their order, each once.

    C and F03 (mental disorders) are "Disease", D is "Chemical", every other tree has a category of its own.

    >>> mesh_tree_types(["C10.597.606", "F03.625.539", "G11.561"])
    ('Disease', 'Phenomenon or Process')
    """
    found = (CATEGORIES.get(number[:3]) or CATEGORIES.get(number[:1]) for number in numbers)
    return tuple(dict.fromkeys(kind for kind in found if kind))


def read_mesh(
    path: str | Path, *, descriptors: str | Path | None = None, replaced: str | Path | None = None
) -> Iterator[Concept]:
    """Yield the concepts of a MeSH file: ``desc20xx.xml``, ``supp20xx.xml``, ``d20xx.bin`` or ``c20xx.bin``.

    Args:
        path: the file, plain or gzip; what it is, its content says. It cannot be standard input if it holds
            descriptors, which are read twice.
        descriptors: for supplementary records, the descriptor file of the same year: gives the records of `path`
            types by heading and, in ASCII, which names headings instead of giving their ids, parents.
        replaced: a table of two columns without header, an old id and its successor (empty for none), separated by
            a tab or a comma: old ids become retired concepts.

    Raises:
        FormatError: another file, a damaged or truncated one, or too many malformed records
            (`linnet.vocabularies.malformed`).
    """
    index_path = descriptors
    if index_path is None and not _is_supplementary(path):
        if str(path) == STDIO:
            raise FormatError(shown(path), "descriptors are read twice: pass a file instead of standard input")
        index_path = path
    index = _Index(index_path)
    name = shown(path)
    bad, odd = Malformed(name, "records"), Oddities(name)
    seen: set[str] = set()
    for record in _records(path, bad):
        if record.id in seen:
            bad.add(record.line, f"the id {record.id} stands in the file twice")
            continue
        seen.add(record.id)
        yield index.concept(record, name, odd)
    bad.finish()
    if replaced is not None:
        yield from _replaced(replaced, seen)
    index.odd.warn()
    odd.warn()


def _begin(path: str | Path) -> bytes:
    return head(path).removeprefix(b"\xef\xbb\xbf").lstrip()


def _records(path: str | Path, bad: Malformed, *, brief: bool = False) -> Iterator[MeshRecord]:
    begin = _begin(path)
    if begin.startswith(b"<"):
        return xml_records(path, bad, brief=brief)
    if begin.startswith(MARK.encode()) or not begin:
        return ascii_records(path, bad)
    problem = f"expected XML, or ASCII that begins with {MARK}, found {begin[:40]!r}"
    raise FormatError(shown(path), f"{problem}: is it a MeSH file of NLM's?")


def _is_supplementary(path: str | Path) -> bool:
    begin = _begin(path)
    return b"<SupplementalRecord" in begin or b"RECTYPE = C" in begin


class _Index:
    """What is known of all descriptors before one is told: ids by heading, parents and types by id."""

    def __init__(self, path: str | Path | None) -> None:
        self.ids: dict[str, str] = {}
        self.types: dict[str, tuple[str, ...]] = {}
        self.parents: dict[str, tuple[str, ...]] = {}
        self.known = path is not None
        name = "" if path is None else shown(path)
        self.odd = Oddities(name)
        if path is None:
            return
        numbers: dict[str, tuple[str, ...]] = {}
        for record in _records(path, Malformed(name, "records"), brief=True):
            if record.kind == "D":
                numbers[record.id] = record.trees
                self.ids[record.names[0].text] = record.id
                self.types[record.id] = mesh_tree_types(record.trees)
        self.parents = tree_parents(numbers, self.odd)

    def concept(self, record: MeshRecord, path: str, odd: Oddities) -> Concept:
        if record.kind == "D":
            parents = self.parents.get(record.id, ())
            types = self.types.get(record.id) or mesh_tree_types(record.trees)
        else:
            parents = tuple(dict.fromkeys(self._headings(record, odd)))
            types = self._supplementary_types(record, parents)
        return Concept(
            PREFIX + record.id,
            record.names,
            types,
            record.definition,
            tuple(PREFIX + parent for parent in parents),
            record.xrefs,
            origin=path if record.line is None else f"{path}:{record.line}",
        )

    def _headings(self, record: MeshRecord, odd: Oddities) -> Iterator[str]:
        for heading in record.headings:
            if UI.fullmatch(heading):
                yield heading
                continue
            id = self.ids.get(heading) or self.ids.get(heading.partition("/")[0])
            if id:
                yield id
            else:
                cure = "heading that the descriptor file does not hold" if self.known else "heading without its id"
                hint = "" if self.known else " (give the descriptor file)"
                odd.add(f"{cure}, left out{hint}", record.line or 0, f"{record.id} {heading!r}")

    def _supplementary_types(self, record: MeshRecord, parents: tuple[str, ...]) -> tuple[str, ...]:
        if kind := CLASSES.get(record.scr_class):
            return (kind,)
        for parent in parents:
            if types := self.types.get(parent):
                return types
        if record.semantic_types:
            return ("Disease",) if DISEASE_TYPES.intersection(record.semantic_types) else ("Chemical",)
        return ()


def tree_parents(numbers: Mapping[str, tuple[str, ...]], odd: Oddities) -> dict[str, tuple[str, ...]]:
    """Return id -> the ids one level up its tree numbers (or further, where a level is missing), without circles.

    Args:
        numbers: id -> its tree numbers.
        odd: gets the parents that were left out.
    """
    owner = {number: id for id, own in numbers.items() for number in own}
    edges: dict[tuple[str, str], None] = {}
    for id, own in numbers.items():
        for number in own:
            above = number.rpartition(".")[0]
            while above and above not in owner:
                above = above.rpartition(".")[0]
            if above and owner[above] != id:
                edges[id, owner[above]] = None
    place = {id: at for at, id in enumerate(numbers)}
    pairs = list(edges)
    closing = closing_edges([(place[child], place[parent]) for child, parent in pairs])
    for at in closing:
        odd.add("parent that would close a circle, left out", 0, f"{pairs[at][0]} under {pairs[at][1]}")
        del edges[pairs[at]]
    found: dict[str, list[str]] = {}
    for child, parent in edges:
        found.setdefault(child, []).append(parent)
    return {child: tuple(above) for child, above in found.items()}


def _replaced(path: str | Path, live: set[str]) -> Iterator[Concept]:
    """Yield the old ids of a table of replacements; an id that is live needs no successor."""
    name = shown(path)
    for line, text in enumerate(open_text(path), 1):
        if not text.strip():
            continue
        old, _, new = (cell.strip().removeprefix(PREFIX) for cell in text.partition("\t" if "\t" in text else ","))
        if not UI.fullmatch(old) or (new and not UI.fullmatch(new)):
            raise FormatError(name, f"expected an old and a new MeSH id, found {text.strip()[:60]!r}", line=line)
        if old == new:
            raise FormatError(name, f"{old} is its own successor", line=line)
        if old not in live:
            yield Concept(PREFIX + old, replaced_by=PREFIX + new if new else "", origin=f"{name}:{line}")
