"""Concepts out in the layouts of licensed terminologies, so that their readers can be tested at any size.

What a layout cannot hold is left out; types, definitions, parents, sources and retired ids survive. The rows have all
columns in their published order; identifiers that only the original has (atoms, strings, relations) are numbered.
Writing streams; `write_mesh` holds one tree number a concept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape

from linnet.bench.synthetic import TYPES
from linnet.data import Concept
from linnet.vocabularies.snomed import ASSOCIATIONS, DIALECTS, FULLY_SPECIFIED, IS_A, PREFERRED
from linnet.vocabularies.snomed import FILES as RF2
from linnet.vocabularies.umls import LANGUAGES
from linnet.vocabularies.umls_files import LAYOUTS

__all__ = ["write_mesh", "write_rf2", "write_rrf"]

FILES = ("MRCONSO", "MRSTY", "MRDEF", "MRREL", "MRCUI")
LATS = {iso: lat for lat, iso in LANGUAGES.items()}
TREE = {name: (tui, tree) for tui, tree, name in TYPES}


def write_rrf(concepts: Iterable[Concept], folder: str | Path) -> dict[str, int]:
    """Write concepts as a UMLS release in Rich Release Format and return how many rows each file has.

    The concepts must come sorted by id, their ids be CUIs behind any prefix, their types those of `synthetic`. Names
    of another scope than "exact" are written as obsolete (SUPPRESS O). The first name of each language is preferred.

    >>> import tempfile
    >>> from linnet.bench.synthetic import synthetic
    >>> from linnet.vocabularies.umls import read_umls
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = write_rrf(synthetic(50), folder)
    ...     sum(concept.replaced_by is None for concept in read_umls(folder))
    50
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        files = {name: stack.enter_context((folder / f"{name}.RRF").open("w", encoding="utf-8")) for name in FILES}
        writer = _Rrf(files)
        for concept in concepts:
            writer.write(concept)
        writer.end()
    with (folder / "MRFILES.RRF").open("w", encoding="utf-8") as out:
        for name in FILES:
            columns = LAYOUTS[name].columns
            size = (folder / f"{name}.RRF").stat().st_size
            out.write(f"{name}.RRF|{name}|{','.join(columns)}|{len(columns)}|{writer.rows[name]}|{size}|\n")
    return writer.rows


class _Rrf:
    """The files being written, and the counters that number atoms and relations."""

    def __init__(self, files: Mapping[str, TextIO]) -> None:
        self._files = files
        self.rows = dict.fromkeys(FILES, 0)
        self._atom = self._relation = 0
        self._retired: list[str] = []  # they are few, come in between and have a file of their own, sorted

    def _put(self, name: str, row: str) -> None:
        self._files[name].write(row)
        self.rows[name] += 1

    def write(self, concept: Concept) -> None:
        id = _local(concept.id)
        if concept.replaced_by is not None:
            successor = _local(concept.replaced_by)
            how = f"SY|||{successor}|Y" if successor else "DEL||||"
            self._retired.append(f"{id}|2020AA|{how}|\n")
            return
        first = self._atom + 1
        for row in self._names(id, concept):
            self._put("MRCONSO", row)
        for kind in concept.types:
            tui, tree = TREE[kind]
            self._put("MRSTY", f"{id}|{tui}|{tree}|{kind}|AT{self.rows['MRSTY']:08d}||\n")
        if concept.definition:
            ids = f"A{first:07d}|AT{self.rows['MRDEF']:08d}"
            self._put("MRDEF", f"{id}|{ids}||{concept.names[0].source}|{concept.definition}|N||\n")
        for parent in concept.parents:
            self._put_relation(id, "PAR", _local(parent), concept.names[0].source)
            self._put_relation(_local(parent), "CHD", id, concept.names[0].source)

    def _names(self, id: str, concept: Concept) -> Iterator[str]:
        languages: set[str] = set()
        for name in concept.names:
            self._atom += 1
            atom = self._atom
            lat = LATS.get(name.language, name.language.upper())
            flags = f"P|L{atom:07d}|PF" if lat not in languages else f"S|L{atom:07d}|VO"
            suppress = "N" if name.scope == "exact" else "O"
            source = name.source or "MTH"
            code = f"{flags}|S{atom:07d}|Y|A{atom:07d}||||{source}|PT|{source[0]}{atom:07d}"
            languages.add(lat)
            yield f"{id}|{lat}|{code}|{name.text}|0|{suppress}||\n"

    def _put_relation(self, first: str, relation: str, second: str, source: str) -> None:
        self._relation += 1
        rela = "inverse_isa" if relation == "PAR" else "isa"
        ids = f"R{self._relation:08d}||{source}|{source}||"
        self._put("MRREL", f"{first}||CUI|{relation}|{second}||CUI|{rela}|{ids}|N||\n")

    def end(self) -> None:
        for row in sorted(self._retired):
            self._put("MRCUI", row)


def _local(id: str) -> str:
    return id.partition(":")[2] or id


# --- SNOMED CT -------------------------------------------------------------------------------------------------------

DAY, MODULE = "20200101", "900000000000207008"
DEFINED, CASE = "900000000000074008", "900000000000448009"
SYNONYM, ACCEPTABLE, DEFINITION = "900000000000013009", "900000000000549004", "900000000000550004"
INFERRED, SOME = "900000000000011006", "900000000000451002"


def write_rf2(concepts: Iterable[Concept], folder: str | Path) -> None:
    """Write concepts as a SNOMED CT snapshot in Release Format 2, with their numbers as identifiers.

    The first type becomes the semantic tag of the fully specified name; scopes, sources and languages are left out.

    >>> import tempfile
    >>> from linnet.vocabularies.snomed import read_snomed
    >>> from linnet.bench.synthetic import synthetic
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rf2(synthetic(50), folder)
    ...     sum(concept.replaced_by is None for concept in read_snomed(folder))
    50
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        files: dict[str, TextIO] = {}
        for stem, columns in RF2.items():
            name = f"{stem.format(language='en')}_INT_{DAY}.txt"
            files[stem] = stack.enter_context((folder / name).open("w", encoding="utf-8", newline=""))
            files[stem].write("\t".join(columns) + "\r\n")
        writer = _Rf2(files)
        for concept in concepts:
            writer.write(concept)


class _Rf2:
    """The files being written, and the counter that numbers descriptions and relationships."""

    def __init__(self, files: Mapping[str, TextIO]) -> None:
        self._files = dict(
            zip(("concept", "term", "definition", "relation", "language", "history"), files.values(), strict=True)
        )
        self._number = 0

    def _put(self, file: str, active: bool, *cells: str) -> str:
        self._number += 1
        id = str(self._number)
        self._files[file].write("\t".join([id, DAY, str(int(active)), MODULE, *cells]) + "\r\n")
        return id

    def write(self, concept: Concept) -> None:
        id, live = _digits(concept.id), concept.replaced_by is None
        self._files["concept"].write("\t".join([id, DAY, str(int(live)), MODULE, DEFINED]) + "\r\n")
        if concept.replaced_by:
            self._put("history", True, ASSOCIATIONS[0], id, _digits(concept.replaced_by))
        if concept.names:
            tag = f" ({concept.types[0]})" if concept.types else ""
            self._put("term", True, id, "en", FULLY_SPECIFIED, concept.name + tag, CASE)
        for place, name in enumerate(concept.names):
            term = self._put("term", True, id, "en", SYNONYM, name.text, CASE)
            self._put("language", True, DIALECTS["en-us"], term, ACCEPTABLE if place else PREFERRED)
        if concept.definition:
            self._put("definition", True, id, "en", DEFINITION, concept.definition, CASE)
        for parent in concept.parents:
            self._put("relation", True, id, _digits(parent), "0", IS_A, INFERRED, SOME)


def _digits(id: str) -> str:
    return str(int("".join(filter(str.isdecimal, _local(id)))))


# --- MeSH ------------------------------------------------------------------------------------------------------------

CATEGORY = "C"  # concepts without parents go here; the tree decides what type the readers give
DOCTYPE = "https://www.nlm.nih.gov/databases/dtd/nlmdescriptorrecordset_20200101.dtd"
RELATIONS = {"narrow": "NRW", "broad": "BRD", "related": "REL"}
FLAGS = 'ConceptPreferredTermYN="{}" IsPermutedTermYN="N" LexicalTag="NON" RecordPreferredTermYN="{}"'


def write_mesh(concepts: Iterable[Concept], path: str | Path, *, replaced: str | Path | None = None) -> int:
    """Write concepts as a file of MeSH descriptors in XML and return how many there are.

    Parents must come before their children. Ids become D and nine digits. Names of another scope than "exact" become
    concepts of their own inside the record; every parent gives a tree number below the parent's first one, all in the
    tree of diseases. Types, sources, languages and cross-references are left out.

    Args:
        concepts: live and retired ones.
        path: the file.
        replaced: gets the retired ids and their successors, separated by tabs: MeSH itself does not tell them.

    >>> import tempfile
    >>> from linnet.vocabularies.mesh import read_mesh
    >>> from linnet.bench.synthetic import synthetic
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_mesh(synthetic(50), f"{folder}/desc2020.xml")
    ...     sum(1 for _ in read_mesh(f"{folder}/desc2020.xml"))
    50
    50
    """
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(Path(path).open("w", encoding="utf-8"))
        table = None if replaced is None else stack.enter_context(Path(replaced).open("w", encoding="utf-8"))
        out.write(f'<?xml version="1.0"?>\n<!DOCTYPE DescriptorRecordSet SYSTEM "{DOCTYPE}">\n')
        out.write('<DescriptorRecordSet LanguageCode="eng">\n')
        writer = _Mesh(out)
        for concept in concepts:
            if concept.replaced_by is None:
                writer.write(concept)
            elif table is not None:
                table.write(f"{_ui(concept.id)}\t{_ui(concept.replaced_by) if concept.replaced_by else ''}\n")
        out.write("</DescriptorRecordSet>\n")
    return writer.count


class _Mesh:
    """The file being written, the first tree number of each concept and how many children it has so far."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._trees: dict[str, str] = {}
        self._children: dict[str, int] = {}
        self._number = self.count = 0

    def write(self, concept: Concept) -> None:
        self.count += 1
        trees = [self._tree(self._trees[parent]) for parent in concept.parents] or [self._tree("")]
        self._trees[concept.id] = trees[0]
        texts = [name.text for name in concept.names if name.scope == "exact" or name is concept.names[0]]
        others = [name for name in concept.names[1:] if name.scope != "exact"]
        own, *more = (f"M{self._next():09d}" for _ in range(1 + len(others)))
        relations = "".join(
            f'<ConceptRelation RelationName="{RELATIONS[name.scope]}"><Concept1UI>{own}</Concept1UI>'
            f"<Concept2UI>{other}</Concept2UI></ConceptRelation>"
            for name, other in zip(others, more, strict=True)
        )
        note = f"<ScopeNote>{escape(concept.definition)}</ScopeNote>" if concept.definition else ""
        note += f"<ConceptRelationList>{relations}</ConceptRelationList>" if relations else ""
        title = f"<String>{escape(concept.name)}</String>"
        self._out.write(
            f'<DescriptorRecord DescriptorClass="1">\n <DescriptorUI>{_ui(concept.id)}</DescriptorUI>\n'
            f" <DescriptorName>{title}</DescriptorName>\n <TreeNumberList>"
            + "".join(f"<TreeNumber>{tree}</TreeNumber>" for tree in trees)
            + "</TreeNumberList>\n <ConceptList>\n"
            + self._concept(own, texts, note, preferred=True)
            + "".join(
                self._concept(ui, [name.text], "", preferred=False) for name, ui in zip(others, more, strict=True)
            )
            + " </ConceptList>\n</DescriptorRecord>\n"
        )

    def _concept(self, ui: str, texts: list[str], note: str, *, preferred: bool) -> str:
        terms = []
        for place, text in enumerate(texts):
            flags = FLAGS.format("N" if place else "Y", "Y" if preferred and not place else "N")
            terms.append(f"<Term {flags}><TermUI>T{self._next():09d}</TermUI><String>{escape(text)}</String></Term>\n")
        name = f"<ConceptName><String>{escape(texts[0])}</String></ConceptName>"
        return (
            f'  <Concept PreferredConceptYN="{"Y" if preferred else "N"}"><ConceptUI>{ui}</ConceptUI>{name}{note}'
            f"<TermList>\n{''.join(terms)}</TermList></Concept>\n"
        )

    def _tree(self, parent: str) -> str:
        self._children[parent] = self._children.get(parent, 0) + 1
        return f"{parent}.{self._children[parent]:03d}" if parent else f"{CATEGORY}{self._children[parent]:02d}"

    def _next(self) -> int:
        self._number += 1
        return self._number


def _ui(id: str) -> str:
    return f"D{int(_digits(id)):09d}"
