"""NCBI Gene and Taxonomy dumps: rows written for these tests in the exact published layout."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from linnet.data import Concept, Name
from linnet.errors import FormatError, LinnetWarning
from linnet.kb.build import build
from linnet.vocabularies.ncbi import read_ncbi_gene, read_ncbi_taxonomy

GENE_INFO = (
    "#tax_id\tGeneID\tSymbol\tLocusTag\tSynonyms\tdbXrefs\tchromosome\tmap_location\tdescription\ttype_of_gene\t"
    "Symbol_from_nomenclature_authority\tFull_name_from_nomenclature_authority\tNomenclature_status\t"
    "Other_designations\tModification_date\tFeature_type\n"
    "7\t5692769\tNEWENTRY\t-\t-\t-\t-\t-\tRecord to support submission of GeneRIFs.\tother\t-\t-\t-\t-\t20240101\t-\n"
    "9606\t6528\tSLC5A5\t-\tNIS|TDH1|slc5a5\tMIM:601843|HGNC:HGNC:11040|Ensembl:ENSG00000105641\t19\t19p13.11\t"
    "solute carrier family 5 member 5\tprotein-coding\tSLC5A5\tsolute carrier family 5 member 5\tO\t"
    "sodium/iodide cotransporter|Na(+)/I(-) cotransporter\t20240101\t-\n"
    "10090\t114479\tSlc5a5\t-\t-\tMGI:MGI:2149330\t8\t8 B3.3\tsolute carrier family 5\t-\t-\t-\t-\t-\t20240101\t-\n"
)
HISTORY = (
    "#tax_id\tGeneID\tDiscontinued_GeneID\tDiscontinued_Symbol\tDiscontinue_Date\n"
    "9606\t6528\t100001\tOLD1\t20100101\n"
    "9606\t-\t100002\t-\t20100101\n"
    "9606\t999\t100003\tOLD3\t20100101\n"
    "10090\t114479\t100004\tOld4\t20100101\n"
    "9606\t-\t6528\tSLC5A5\t20100101\n"
)


def genes(folder: Path, text: str = GENE_INFO, history: str | None = None, **options: object) -> list[Concept]:
    (folder / "gene_info").write_text(text)
    if history is not None:
        (folder / "gene_history").write_text(history)
        options["history"] = folder / "gene_history"
    return list(read_ncbi_gene(folder / "gene_info", **options))  # type: ignore[arg-type]


def test_genes(tmp_path: Path) -> None:
    human, mouse = genes(tmp_path)
    assert human == Concept(
        "NCBIGene:6528",
        (
            Name("SLC5A5"),
            Name("solute carrier family 5 member 5"),
            Name("NIS"),
            Name("TDH1"),
            Name("sodium/iodide cotransporter", "related"),
            Name("Na(+)/I(-) cotransporter", "related"),
        ),
        ("Gene", "protein-coding"),
        xrefs=("NCBITaxon:9606", "OMIM:601843", "HGNC:11040", "Ensembl:ENSG00000105641"),
    )
    assert human.origin == f"{tmp_path / 'gene_info'}:3"
    assert (mouse.types, mouse.xrefs) == (("Gene",), ("NCBITaxon:10090", "MGI:2149330"))


def test_taxa_and_history(tmp_path: Path) -> None:
    for taxa in ([9606], {"9606"}):
        concepts = genes(tmp_path, history=HISTORY, taxa=taxa)
        found = [(c.id.partition(":")[2], c.name, c.replaced_by) for c in concepts[1:]]
        assert found == [
            ("100001", "OLD1", "NCBIGene:6528"),
            ("100002", "NCBIGene:100002", ""),
            ("100003", "OLD3", ""),
        ]
    assert len(build(genes(tmp_path, history=HISTORY), tmp_path / "a.kb")) == 2
    with pytest.raises(FormatError, match="holds no gene of the taxa 4932"):
        genes(tmp_path, taxa=[4932])


def test_old_layout_and_gzip(tmp_path: Path) -> None:
    old = "".join(line.rpartition("\t")[0] + "\n" for line in GENE_INFO.splitlines())
    assert genes(tmp_path, old) == genes(tmp_path)
    (tmp_path / "g.gz").write_bytes(gzip.compress(GENE_INFO.encode()))
    assert list(read_ncbi_gene(tmp_path / "g.gz")) == genes(tmp_path)


def test_bad_gene_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r":1: expected the columns tax_id, GeneID.*found tax_id, GeneID, Disc"):
        genes(tmp_path, HISTORY)
    with pytest.raises(FormatError, match="gene_history:1: expected the columns tax_id, GeneID, Discontinued"):
        genes(tmp_path, history=GENE_INFO)
    with pytest.raises(FormatError, match=":4: the last row is incomplete: the file is truncated"):
        genes(tmp_path, GENE_INFO[:-12])
    with pytest.warns(LinnetWarning, match=r"left out \(1\): line 3 GeneID 'x' with symbol 'SLC5A5'"):
        assert len(genes(tmp_path, GENE_INFO.replace("\t6528\t", "\tx\t"))) == 1
    with pytest.warns(LinnetWarning, match="line 3 GeneID '-', discontinued 'x'"):
        genes(tmp_path, history=HISTORY.replace("100002", "x"))


NODES = [(1, 1, "no rank"), (2759, 1, "superkingdom"), (9605, 2759, "genus"), (9606, 9605, "species")]
NAMES = [
    (1, "root", "scientific name"),
    (2759, "eucaryotes", "blast name"),
    (2759, "Eukaryota", "scientific name"),
    (9605, "Homo", "scientific name"),
    (9606, "Homo sapiens Linnaeus, 1758", "authority"),
    (9606, "Homo sapiens", "scientific name"),
    (9606, "human", "genbank common name"),
    (9606, "Human", "common name"),
    (9606, "BMNH 1", "type material"),
]
REST = "\t".join(f"|\t{cell}" for cell in ["", "5", "1", "1", "1", "2", "1", "1", "0", ""])
DUMP = {
    "nodes": "".join(f"{id}\t|\t{parent}\t|\t{rank}\t{REST}\t|\n" for id, parent, rank in NODES),
    "names": "".join(f"{id}\t|\t{text}\t|\t\t|\t{kind}\t|\n" for id, text, kind in NAMES),
    "merged": "12\t|\t9606\t|\n74\t|\t2759\t|\n",
    "delnodes": "77\t|\n99\t|\n",
}


def dump(folder: Path, **changed: str | None) -> Path:
    for name, text in {**DUMP, **changed}.items():
        (folder / f"{name}.dmp").unlink(missing_ok=True)
        if text is not None:
            (folder / f"{name}.dmp").write_text(text)
    return folder


def test_taxa(tmp_path: Path) -> None:
    concepts = list(read_ncbi_taxonomy(dump(tmp_path)))
    assert [concept.id.partition(":")[2] for concept in concepts] == [
        "1",
        "2759",
        "9605",
        "9606",
        "12",
        "74",
        "77",
        "99",
    ]
    assert concepts[3] == Concept(
        "NCBITaxon:9606",
        (
            Name("Homo sapiens", source="scientific name"),
            Name("human", source="genbank common name"),
            Name("Homo sapiens Linnaeus, 1758", "related", source="authority"),
        ),
        ("species",),
        parents=("NCBITaxon:9605",),
    )
    assert (concepts[0].parents, concepts[0].types) == ((), ())
    assert [name.scope for name in concepts[1].names] == ["exact", "broad"]
    assert [c.replaced_by for c in concepts[4:]] == ["NCBITaxon:9606", "NCBITaxon:2759", "", ""]
    assert len(build(concepts, tmp_path / "a.kb")) == 4


@pytest.mark.parametrize("name", list(DUMP))
def test_bad_dumps(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match=rf"{name}\.dmp: there is no such file"):
        list(read_ncbi_taxonomy(dump(tmp_path, **{name: None})))
    with pytest.raises(FormatError, match=rf"{name}\.dmp:\d: the last row is incomplete: the file is truncated"):
        list(read_ncbi_taxonomy(dump(tmp_path, **{name: DUMP[name][:-2]})))


@pytest.mark.parametrize("name", ["nodes", "names"])
def test_unsorted_dumps(tmp_path: Path, name: str) -> None:
    lines = DUMP[name].splitlines(keepends=True)
    with pytest.raises(FormatError, match="taxon 1 stands after 9606"):
        list(read_ncbi_taxonomy(dump(tmp_path, **{name: "".join([*lines, lines[0]])})))


def test_malformed_dump_rows_are_told(tmp_path: Path) -> None:
    for changed, told in (
        ({"names": DUMP["names"].replace("9605\t", "x\t")}, "line 4 tax_id is 'x'|taxon 9605 has no name"),
        ({"merged": DUMP["merged"].replace("2759", "5")}, "'74' merged into '5', which is no taxon"),
        ({"delnodes": DUMP["delnodes"].replace("99", "x")}, "line 2 tax_id is 'x', expected a number"),
    ):
        row_is_last = "merged" in changed or "delnodes" in changed
        if row_is_last:
            changed = {name: text + text.splitlines()[0] + "\n" for name, text in changed.items()}  # noqa: PLW2901
        with pytest.warns(LinnetWarning, match=told):
            list(read_ncbi_taxonomy(dump(tmp_path, **changed)))


@pytest.mark.parametrize("id", ["9" * 30, "9" * 5000, "4294967296", "\u0663", "007"])
def test_numbers_that_are_no_ids(tmp_path: Path, id: str) -> None:
    with pytest.warns(LinnetWarning, match="line 3 GeneID"):
        assert len(genes(tmp_path, GENE_INFO.replace("\t6528\t", f"\t{id}\t", 1))) == 1
    with pytest.warns(LinnetWarning, match="line 3 GeneID '-', discontinued"):
        genes(tmp_path, history=HISTORY.replace("100002", id))
    with pytest.warns(LinnetWarning, match="which is no taxon"):
        list(read_ncbi_taxonomy(dump(tmp_path, merged=f"12\t|\t9606\t|\n{id}\t|\t2759\t|\n13\t|\t9606\t|\n")))
    with pytest.warns(LinnetWarning, match="tax_id is"):
        list(read_ncbi_taxonomy(dump(tmp_path, delnodes=f"77\t|\n{id}\t|\n99\t|\n")))


def test_a_byte_order_mark_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "gene_info").write_bytes(b"\xef\xbb\xbf")
    with pytest.raises(FormatError, match="expected the columns tax_id"):
        list(read_ncbi_gene(tmp_path / "gene_info"))
