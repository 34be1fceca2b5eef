r"""NCBI Gene and NCBI Taxonomy to concepts: their daily dumps as published, plain or gzip.

Both are works of the U.S. National Library of Medicine and may be used freely; NCBI asks to be named as the source
(https://www.ncbi.nlm.nih.gov/home/about/policies).

Genes (``gene_info``, ``gene_history``; ids ``NCBIGene:6528``): the symbol is the preferred name; the full name of the
nomenclature authority, the description and the synonyms follow; other designations are "related". Types are "Gene"
and the type of gene ("protein-coding"). The species is a cross-reference (``NCBITaxon:9606``) beside those of other
databases. Rows with the symbol NEWENTRY stand for genes that nobody has described yet and are left out.

Taxa (``names.dmp``, ``nodes.dmp``, ``merged.dmp``, ``delnodes.dmp``; ids ``NCBITaxon:9606``): the scientific name is
preferred, the rank is the type, type strains are no names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from linnet.data import Concept, Name, Scope
from linnet.errors import FormatError
from linnet.kb.curies import curie
from linnet.text.files import shown
from linnet.vocabularies.release_rows import Groups, Layout, Numbers, ReleaseRows, Row, whole

__all__ = ["read_ncbi_gene", "read_ncbi_taxonomy"]

COLUMNS = {
    "gene_info": (
        "tax_id GeneID Symbol LocusTag Synonyms dbXrefs chromosome map_location description type_of_gene "
        "Symbol_from_nomenclature_authority Full_name_from_nomenclature_authority Nomenclature_status "
        "Other_designations Modification_date Feature_type"
    ),
    "gene_history": "tax_id GeneID Discontinued_GeneID Discontinued_Symbol Discontinue_Date",
    "nodes": (
        "tax_id parent_tax_id rank embl_code division_id inherited_div_flag genetic_code_id inherited_GC_flag "
        "mitochondrial_genetic_code_id inherited_MGC_flag GenBank_hidden_flag hidden_subtree_root_flag comments"
    ),
    "names": "tax_id name_txt unique_name name_class",
    "merged": "old_tax_id new_tax_id",
    "delnodes": "tax_id",
}
OPTIONAL = "Feature_type"  # gene_info has it since 2017
SORT = "the rows must be sorted by tax_id, as published: sort -n"
NONE = "-"
NEW_ENTRY = "NEWENTRY"
SCIENTIFIC = "scientific name"
# name classes that are not simply other names of the taxon; "" = no name of it
SCOPES: dict[str, Scope | None] = {
    "blast name": "broad",
    "in-part": "broad",
    "includes": "narrow",
    "authority": "related",
    "type material": None,
}


def read_ncbi_gene(
    path: str | Path, *, taxa: Collection[int | str] | None = None, history: str | Path | None = None
) -> Iterator[Concept]:
    """Yield the genes of a ``gene_info`` file in its order, then the retired ids of a ``gene_history`` file.

    Args:
        path: the file; `taxa` out of all species' 60 million rows, or one of the files by species.
        taxa: take only genes of these species, by NCBI Taxonomy id (9606 is human).
        history: the ``gene_history`` file; a discontinued id leads to the gene that took its place if that is taken.

    Raises:
        FormatError: a file with other columns, truncated, or malformed beyond a limit; no gene of `taxa`.
    """
    wanted = None if taxa is None else frozenset(map(str, taxa))
    kept, any_gene = Numbers(), False
    rows = _with_header(Path(path), "gene_info")
    for line, row in rows:
        if (wanted is not None and row[0] not in wanted) or row[2] == NEW_ENTRY:
            continue
        id = whole(row[1])
        if id is None or row[2] in ("", NONE):
            rows.malformed(line, f"GeneID {row[1][:40]!r} with symbol {row[2][:40]!r}")
            continue
        kept.add(id)
        any_gene = True
        yield _gene(row, f"{rows.name}:{line}")
    if not any_gene:
        which = f" of the taxa {', '.join(sorted(wanted))}" if wanted else ""
        raise FormatError(path, f"holds no gene{which}")
    if history is not None:
        yield from _gene_history(Path(history), wanted, kept)


def _with_header(path: Path, kind: str) -> ReleaseRows:
    return ReleaseRows(path, Layout(COLUMNS[kind].split(), "\t", header=True, optional=OPTIONAL))


def _gene(row: list[str], origin: str) -> Concept:
    synonyms = [row[11], row[8], *row[4].split("|")]
    names = {row[2].casefold(): Name(row[2])}
    for texts, scope in ((synonyms, "exact"), (row[13].split("|"), "related")):
        for text in (" ".join(text.split()) for text in texts):
            if text not in ("", NONE):
                names.setdefault(text.casefold(), Name(text, scope))  # type: ignore[arg-type]
    # a value may repeat its database: HGNC:HGNC:1100
    xrefs = (value if ":" in (value := xref.partition(":")[2]) else xref for xref in row[5].split("|") if xref != NONE)
    return Concept(
        f"NCBIGene:{row[1]}",
        tuple(names.values()),
        ("Gene",) if row[9] in ("", NONE) else ("Gene", row[9]),
        xrefs=tuple(dict.fromkeys([f"NCBITaxon:{row[0]}", *map(curie, xrefs)])),
        origin=origin,
    )


def _gene_history(path: Path, wanted: frozenset[str] | None, kept: Numbers) -> Iterator[Concept]:
    rows = _with_header(path, "gene_history")
    for line, row in rows:
        if wanted is not None and row[0] not in wanted:
            continue
        id, old = whole(row[1]), whole(row[2])
        if old is None or (id is None and row[1] != NONE):
            rows.malformed(line, f"GeneID {row[1][:40]!r}, discontinued {row[2][:40]!r}")
        elif old not in kept:
            found = id is not None and id in kept
            name = () if row[3] in ("", NONE, NEW_ENTRY) else (Name(row[3]),)
            successor = f"NCBIGene:{row[1]}" if found else ""
            yield Concept(f"NCBIGene:{row[2]}", name, replaced_by=successor, origin=f"{rows.name}:{line}")


def read_ncbi_taxonomy(folder: str | Path) -> Iterator[Concept]:
    """Yield the taxa of an unpacked taxonomy dump by id, then the merged and the deleted ids.

    ``names.dmp`` and ``nodes.dmp`` are read in step, sorted by taxon as they are published; one taxon is held.

    Raises:
        FormatError: a file that is missing, truncated, unsorted or malformed beyond a limit, with its line.
    """
    folder = Path(folder)
    names, nodes = (Groups(_dump(folder, name), _taxon, SORT, "taxon ") for name in ("names", "nodes"))
    kept = Numbers()
    for taxon, rows in nodes:
        line, row = rows[0]
        found = _taxon_names(names.take(taxon))
        if not found:
            nodes.rows.malformed(line, f"taxon {taxon} has no name in names.dmp")
            continue
        kept.add(taxon)
        parents = () if row[1] == row[0] else (f"NCBITaxon:{row[1]}",)  # the root is its own parent
        types = () if row[2] == "no rank" else (row[2],)
        yield Concept(f"NCBITaxon:{taxon}", found, types, parents=parents, origin=f"{nodes.rows.name}:{line}")
    names.finish()
    yield from _retired_taxa(folder, kept)


def _dump(folder: Path, name: str) -> ReleaseRows:
    paths = [folder / f"{name}.dmp", folder / f"{name}.dmp.gz"]
    found = [path for path in paths if path.is_file()]
    if not found:
        raise FormatError(paths[0], "there is no such file; give the folder of an unpacked taxdump")
    return ReleaseRows(found[0], Layout(COLUMNS[name].split(), "\t|\t", "\t|"))


def _taxon(id: str) -> int:
    number = whole(id)
    if number is None:
        raise ValueError(f"tax_id is {id[:40]!r}, expected a number")
    return number


def _taxon_names(rows: list[Row]) -> tuple[Name, ...]:
    unique: dict[str, Name] = {}
    for _, row in sorted(rows, key=lambda row: (row[1][3] != SCIENTIFIC, row[1][3] in SCOPES)):
        scope = SCOPES.get(row[3], "exact")
        if scope and row[1].strip():
            unique.setdefault(row[1].casefold(), Name(" ".join(row[1].split()), scope, source=row[3]))
    return tuple(unique.values())


def _retired_taxa(folder: Path, kept: Numbers) -> Iterator[Concept]:
    merged = _dump(folder, "merged")
    for line, (old, new) in merged:
        successor = whole(new)
        if whole(old) is not None and successor is not None and successor in kept:
            yield Concept(f"NCBITaxon:{old}", replaced_by=f"NCBITaxon:{new}", origin=f"{merged.name}:{line}")
        else:
            merged.malformed(line, f"{old[:40]!r} merged into {new[:40]!r}, which is no taxon")
    deleted = _dump(folder, "delnodes")
    for line, (old,) in deleted:
        if whole(old) is not None:
            yield Concept(f"NCBITaxon:{old}", replaced_by="", origin=f"{shown(deleted.path)}:{line}")
        else:
            deleted.malformed(line, f"tax_id is {old[:40]!r}, expected a number")
