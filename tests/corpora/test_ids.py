"""Ids of corpora and CURIEs: every form there and back, separators, and what does not fit in a field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.corpora.ids import from_curie, ids_in, ids_out, read_ids, to_curie, write_ids
from linnet.errors import DataError

FORMS = [
    ("D014262", "", "MESH:D014262"),
    ("D000077330", "Chemical", "MESH:D000077330"),
    ("C535342", "", "MESH:C535342"),
    ("C000614959", "", "MESH:C000614959"),
    ("C0024660", "T047", "UMLS:C0024660"),
    ("6528", "Gene", "NCBIGene:6528"),
    ("6528", "GeneOrGeneProduct", "NCBIGene:6528"),
    ("6528", "FamilyName", "NCBIGene:6528"),
    ("6528", "DomainMotif", "NCBIGene:6528"),
    ("9606", "Species", "NCBITaxon:9606"),
    ("9606", "OrganismTaxon", "NCBITaxon:9606"),
    ("rs334", "SequenceVariant", "DBSNP:rs334"),
    ("CVCL_0030", "CellLine", "Cellosaurus:CVCL_0030"),
    ("OMIM:217000", "", "OMIM:217000"),
    ("HP:0000316", "", "HP:0000316"),
    ("p|SUB|V|600|E", "SequenceVariant", "p|SUB|V|600|E"),
]
UNKNOWN = ["6528", "D1", "C01234", "C00246601", "10510452_139", "p.G593S", "rs", "CVCL", "D0142622", "X:ß"]


@pytest.mark.parametrize(("raw", "type", "curie"), FORMS)
def test_forms_of_the_field(raw: str, type: str, curie: str) -> None:
    assert to_curie(raw, type) == curie
    assert from_curie(curie) == raw
    assert to_curie(from_curie(curie), type) == curie
    assert to_curie(f" {raw} ", type) == curie
    assert to_curie(curie, type) == curie


@pytest.mark.parametrize("raw", UNKNOWN)
def test_unknown_forms_stay(raw: str) -> None:
    assert to_curie(raw) == raw
    assert from_curie(raw) == raw


def test_prefixes_get_one_spelling() -> None:
    assert to_curie("MSH:D006394") == "MESH:D006394"
    assert to_curie("MIM:217000") == "OMIM:217000"
    assert read_ids("hp:0001945|orpha:558|EntrezGene:672")[0] == ("HP:0001945", "Orphanet:558", "NCBIGene:672")
    assert write_ids(("HP:0001945", "NCBIGene:672"), "Gene") == "HP:0001945|672"


@pytest.mark.parametrize("type", ["Genetic disorder", "Generic", "Disease", "", "Speciesist", "Genus_x"])
def test_a_number_of_another_type_stays(type: str) -> None:
    assert to_curie("6528", type) == ("NCBITaxon:6528" if type == "Genus_x" else "6528")


@pytest.mark.parametrize(
    "curie", ["MESH:x", "UMLS:C1", "NCBIGene:ENSG1", "DBSNP:ss1", "Cellosaurus:1", "MESH:C0024660"]
)
def test_a_prefix_that_the_form_does_not_tell_is_kept(curie: str) -> None:
    assert from_curie(curie) == curie


KEY = "tmVar:p|SUB|V|600|E;HGVS:p.V600E;VariantGroup:0;CorrespondingGene:673;RS#:113488022;CA#:123643"  # PubTator3's


@pytest.mark.parametrize(
    ("field", "type", "concepts", "meta"),
    [
        ("D001943|D010051", "", ("MESH:D001943", "MESH:D010051"), {}),
        (" D015862+D058499", "", ("MESH:D015862", "MESH:D058499"), {"separator": "+"}),
        ("OMIM:1,OMIM:2", "", ("OMIM:1", "OMIM:2"), {"separator": ","}),
        ("1;2;3", "Gene", ("NCBIGene:1", "NCBIGene:2", "NCBIGene:3"), {"separator": ";"}),
        ("1,2;3,4", "Gene", ("NCBIGene:1", "NCBIGene:2", "NCBIGene:3", "NCBIGene:4"), {"separator": ",;,"}),
        ("MESH:D1,-", "", ("MESH:D1",), {"separator": ",", "ids": "MESH:D1,-"}),
        ("-1|-1", "", (), {"ids": "-1|-1"}),
        ("D000001|D000001", "", ("MESH:D000001", "MESH:D000001"), {}),
        ("c|SUB|G|-9|A", "SequenceVariant", ("c|SUB|G|-9|A",), {}),
        ("c|Allele|T|IVS9+217", "SequenceVariant", ("c|Allele|T|IVS9+217",), {}),
        ("|DEL|46|S", "SequenceVariant", ("|DEL|46|S",), {}),
        ("rs1,|DEL|46|S", "SequenceVariant", ("DBSNP:rs1", "|DEL|46|S"), {"separator": ","}),
        (KEY, "Mutation", ("DBSNP:rs113488022",), {"ids": KEY}),
        ("RS#:1,2;HGVS:p.L5M", "Variant", ("DBSNP:rs1", "DBSNP:rs2"), {"ids": "RS#:1,2;HGVS:p.L5M"}),
        ("tmVar:p|SUB|V|6|E;HGVS:p.V6E", "", ("p|SUB|V|6|E",), {"ids": "tmVar:p|SUB|V|6|E;HGVS:p.V6E"}),
        ("tmVar:p|SUB|V|6|E", "", ("p|SUB|V|6|E",), {"ids": "tmVar:p|SUB|V|6|E"}),
        ("tmVar:c|SUB|A|6|G;OriginalGene:7", "", ("c|SUB|A|6|G",), {"ids": "tmVar:c|SUB|A|6|G;OriginalGene:7"}),
        ("HGVS:p.L5M;CorrespondingGene:5", "", ("p.L5M",), {"ids": "HGVS:p.L5M;CorrespondingGene:5"}),
        ("CorrespondingGene:5;VariantGroup:0", "", (), {"ids": "CorrespondingGene:5;VariantGroup:0"}),
        ("", "", (), {}),
        ("-", "", (), {}),
        (" -1 ", "", (), {}),
    ],
)
def test_fields(field: str, type: str, concepts: tuple[str, ...], meta: dict[str, str]) -> None:
    assert read_ids(field, type) == (concepts, meta)
    written = write_ids(concepts, type, meta=meta)
    assert read_ids(written, type) == (concepts, meta)
    if concepts:
        assert written.replace("MESH:", "") == field.strip().replace("MESH:", "")


def test_the_field_as_written_counts_only_while_it_agrees() -> None:
    assert write_ids(("MESH:D000009",), meta={"ids": "D000001|-1"}) == "D000009"
    assert write_ids(("MESH:D000001",), meta={"ids": 3, "separator": 4}) == "D000001"


def test_variants_take_commas() -> None:
    assert write_ids(("p|SUB|V|600|E", "DBSNP:rs113488022")) == "p|SUB|V|600|E,rs113488022"


@pytest.mark.parametrize("concepts", [("a|b",), ("a|b", "c+d,e;f"), ("a\tb",), ("a\n",), ("-1",), ("-111",), ("",)])
def test_what_does_not_fit_is_refused(concepts: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match="do not fit in one field"):
        write_ids(concepts)


@given(st.text(max_size=12), st.sampled_from(["", "Gene", "Species"]))
def test_any_id_survives(raw: str, type: str) -> None:
    curie = to_curie(raw, type)
    assert to_curie(curie, type) == curie
    assert to_curie(from_curie(curie), type) == curie or type == ""


@given(st.lists(st.sampled_from(["hp", "HP", "CHEBI", "Entrez Gene", "x", "", "1", " "]), max_size=5))
def test_any_prefixes_survive(parts: list[str]) -> None:
    curie = to_curie(":".join(parts))
    assert to_curie(curie) == curie


@given(st.text(alphabet="D0123456789|+,;- :cSUB", max_size=20), st.sampled_from(["", "Gene"]))
def test_any_field_survives(field: str, type: str) -> None:
    concepts, meta = read_ids(field, type)
    try:
        written = write_ids(concepts, type, meta=meta)
    except DataError:
        return
    assert read_ids(written, type)[0] == concepts


def test_a_gene_without_a_record_has_no_id() -> None:
    assert ids_in("-111", "Gene", "NCBIGene") == read_ids("-111", "Gene") == ((), {"ids": "-111"})
    assert read_ids("7157,-111", "Gene")[0] == ("NCBIGene:7157",)
    assert write_ids((), meta={"ids": "-111"}) == "-111"
    assert ids_out((), "Gene", {"ids": "-111"}) == "-111"
