"""Addresses of concepts on the web, as ontologies and annotation tools write them, to CURIEs."""

from __future__ import annotations

import re

__all__ = ["REGISTERED", "of_address"]

BEGIN = re.compile(r"https?://(?:www\.)?", re.IGNORECASE)
# what an address without http:// and www. looks like; the group is the id
PLACES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (prefix, re.compile(pattern))
    for prefix, pattern in (
        ("MESH", r"id\.nlm\.nih\.gov/mesh/(?:\d{4}/)?([CDMQT]\d+)"),
        ("MESH", r"meshb(?:-prev)?\.nlm\.nih\.gov/(?:record/ui\?(?:.*&)?ui=|#?/?record/)([CDQ]\d+)"),
        ("MESH", r"purl\.bioontology\.org/ontology/MESH/([CDQ]\d+)"),
        ("SNOMEDCT", r"snomed\.info/(?:id|sct)/(\d+)"),
        ("SNOMEDCT", r"purl\.bioontology\.org/ontology/SNOMEDCT/(\d+)"),
        ("RXNORM", r"purl\.bioontology\.org/ontology/RXNORM/(\w+)"),
        ("LOINC", r"purl\.bioontology\.org/ontology/LNC/([\w-]+)"),
        ("LOINC", r"loinc\.org/(?:rdf/)?([\w-]*\d[\w-]*)"),
        ("UMLS", r"uts\.nlm\.nih\.gov/(?:uts/umls/concept|umls/concept)/(C\d+)"),
        ("UMLS", r"linkedlifedata\.com/resource/umls(?:/id|-concept)/(C\d+)"),
        ("EFO", r"ebi\.ac\.uk/efo/EFO_(\w+)"),
        ("Orphanet", r"orpha\.net/ORDO/Orphanet_(\w+)"),
        ("wikidata", r"wikidata\.org/(?:entity|wiki)/([QP]\d+)"),
        ("NCIT", r"ncicb\.nci\.nih\.gov/xml/owl/EVS/Thesaurus\.owl#(C\d+)"),
        ("NCBIGene", r"ncbi\.nlm\.nih\.gov/gene/(\d+)"),
        ("DBSNP", r"ncbi\.nlm\.nih\.gov/snp/(rs\d+)"),
        ("OMIM", r"omim\.org/entry/(\d+)"),
        ("UniProt", r"(?:purl\.)?uniprot\.org/uniprot(?:kb)?/(\w+)"),
    )
)
OBO = re.compile(r"purl\.obolibrary\.org/obo/([A-Za-z]+)_(\w+)")
REGISTRY = re.compile(r"(?:identifiers\.org|bioregistry\.io|n2t\.net)/([A-Za-z][\w.]*)[:/](.+)")
# what registries call vocabularies -> our prefixes; ids of an ontology may repeat its prefix
REGISTERED = {
    name.lower(): name
    for name in (
        *("CHEBI", "CL", "Cellosaurus", "DBSNP", "DOID", "EFO", "GO", "HP", "ICD10", "ICD10CM", "LOINC", "MEDDRA"),
        *("MESH", "MONDO", "NCBIGene", "NCBITaxon", "NCIT", "OMIM", "Orphanet", "PR", "RXNORM", "SNOMEDCT", "SO"),
        *("UBERON", "UMLS", "UniProt", "wikidata"),
    )
} | {"mim": "OMIM", "obi": "OBI", "orphanet.ordo": "Orphanet", "taxonomy": "NCBITaxon"}


def of_address(address: str) -> str:
    """Return the CURIE of the concept that has this address; addresses of other places stay as they are.

    >>> of_address("http://purl.obolibrary.org/obo/HP_0000107"), of_address("http://snomed.info/id/22298006")
    ('HP:0000107', 'SNOMEDCT:22298006')
    >>> of_address("https://identifiers.org/GO:0005634"), of_address("http://example.org/GO_1")
    ('GO:0005634', 'http://example.org/GO_1')
    """
    begin = BEGIN.match(address)
    if begin is None:
        return address
    place = address[begin.end() :].strip().removesuffix("/")
    if obo := OBO.fullmatch(place):
        return f"{obo[1]}:{obo[2]}"
    if (found := REGISTRY.fullmatch(place)) and (prefix := REGISTERED.get(found[1].lower())):
        local = re.sub(rf"{re.escape(prefix)}[:_]", "", found[2], count=1, flags=re.IGNORECASE)
        return f"{prefix}:{local}"
    told = ((prefix, pattern.fullmatch(place)) for prefix, pattern in PLACES)
    return next((f"{prefix}:{match[1]}" for prefix, match in told if match), address)
