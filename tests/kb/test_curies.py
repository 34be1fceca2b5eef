"""One spelling of prefixes, and what addresses of concepts stand for."""

from __future__ import annotations

import pytest

from linnet.corpora.ids import to_curie
from linnet.kb.curies import curie, of_address

KNOWN = {
    "http://purl.obolibrary.org/obo/NCIT_C3262": "NCIT:C3262",
    "http://id.nlm.nih.gov/mesh/D010051": "MESH:D010051",
    "http://id.nlm.nih.gov/mesh/2024/D010051": "MESH:D010051",
    "https://meshb.nlm.nih.gov/record/ui?ui=D010051": "MESH:D010051",
    "https://meshb.nlm.nih.gov/record/ui?name=Ovarian%20Neoplasms&ui=D010051": "MESH:D010051",
    "http://snomed.info/id/22298006": "SNOMEDCT:22298006",
    "http://www.ebi.ac.uk/efo/EFO_0000001": "EFO:0000001",
    "http://purl.bioontology.org/ontology/SNOMEDCT/22298006": "SNOMEDCT:22298006",
    "http://purl.bioontology.org/ontology/MESH/D010051": "MESH:D010051",
    "http://purl.bioontology.org/ontology/RXNORM/161": "RXNORM:161",
    "http://purl.bioontology.org/ontology/LNC/2339-0": "LOINC:2339-0",
    "https://uts.nlm.nih.gov/uts/umls/concept/C0018787": "UMLS:C0018787",
    "http://linkedlifedata.com/resource/umls/id/C0018787": "UMLS:C0018787",
    "http://www.wikidata.org/entity/Q12136": "wikidata:Q12136",
    "http://identifiers.org/mesh/D010051": "MESH:D010051",
    "https://identifiers.org/mesh:D010051": "MESH:D010051",
    "http://identifiers.org/hp/HP:0000107": "HP:0000107",
    "https://identifiers.org/taxonomy:9606": "NCBITaxon:9606",
    "http://www.orpha.net/ORDO/Orphanet_558": "Orphanet:558",
    "https://www.ncbi.nlm.nih.gov/snp/rs334": "DBSNP:rs334",
    "https://www.ncbi.nlm.nih.gov/gene/672": "NCBIGene:672",
}


@pytest.mark.parametrize(("address", "wanted"), KNOWN.items())
def test_known_places(address: str, wanted: str) -> None:
    assert of_address(address) == to_curie(address) == wanted


@pytest.mark.parametrize(
    "address",
    ["http://example.org/mesh/D010051", "http://identifiers.org/unheard/1", "http://snomed.info/id/", "ftp://x/1"],
)
def test_other_places_stay(address: str) -> None:
    assert to_curie(address) == address


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("UMLS:C1", "UMLS:C1"),
        ("NCI2009_04D:C3088", "NCIT:C3088"),
        ("SNOMEDCT_US:1", "SNOMEDCT:1"),
        ("MIM:1", "OMIM:1"),
        ("ICD-10:E1:2", "ICD10:E1:2"),
        ("hp:1", "HP:1"),
        ("ChEBI:CHEBI:1", "CHEBI:1"),
        ("hgnc:HGNC:Hgnc:1", "HGNC:1"),
        ("Entrez Gene:672", "NCBIGene:672"),
        ("Taxonomy:9606", "NCBITaxon:9606"),
        ("taxid:9606", "NCBITaxon:9606"),
        ("ORPHA:558", "Orphanet:558"),
        ("SNOMED CT:1", "SNOMEDCT:1"),
        ("dbSNP:rs1", "DBSNP:rs1"),
        ("mondo:1", "MONDO:1"),
        ("GO:", "GO:"),
        ("x:x:1", "x:x:1"),
        (":1", ":1"),
        ("D0001", "D0001"),
    ],
)
def test_curies(given: str, wanted: str) -> None:
    assert curie(given) == wanted
