"""One spelling for the prefixes of identifiers: the many in use become the Bioregistry's preferred ones.

Ids without a prefix whose form tells their vocabulary are given it (`known_form`).
"""

from __future__ import annotations

import functools
import re

from linnet.vocabularies.addresses import REGISTERED, of_address

__all__ = ["curie", "known_form"]

# only prefixes that mean one thing wherever they are met; compared in lower case, without blanks, "_", "-" and without
# a release date at the end
PREFIXES = REGISTERED | {
    "entrez": "NCBIGene",
    "entrezgene": "NCBIGene",
    "entrezgeneid": "NCBIGene",
    "geneid": "NCBIGene",
    "hgnc": "HGNC",
    "hpo": "HP",
    "icd9": "ICD9",
    "icd9cm": "ICD9CM",
    "icdo": "ICDO",
    "medra": "MEDDRA",
    "msh": "MESH",
    "ncbigeneid": "NCBIGene",
    "ncbitaxid": "NCBITaxon",
    "ncbitaxonomy": "NCBITaxon",
    "nci": "NCIT",
    "ncithesaurus": "NCIT",
    "ordo": "Orphanet",
    "orpha": "Orphanet",
    "sctid": "SNOMEDCT",
    "snomed": "SNOMEDCT",
    "snomedctus": "SNOMEDCT",
    "taxid": "NCBITaxon",
    "taxon": "NCBITaxon",
    "umlscui": "UMLS",
}
KNOWN = frozenset(PREFIXES.values())
# MeSH grew from six digits to nine; a C with seven is UMLS, so that the two never meet
BARE = re.compile(r"(?P<MESH>[DC](?:\d{6}|\d{9}))|(?P<UMLS>C\d{7})|(?P<DBSNP>rs\d+)|(?P<Cellosaurus>CVCL_\w+)")
IGNORED = re.compile(r"[\s_-]")
RELEASE = re.compile(r"_?(?:19|20)\d\d(?:_\d\d?_\d\d?|_\d\d[a-z]|)$", re.IGNORECASE)


def _prefix(prefix: str) -> str:
    return PREFIXES.get(IGNORED.sub("", RELEASE.sub("", prefix)).lower(), prefix)


@functools.lru_cache(maxsize=1 << 14)  # the same ids come again and again
def curie(id: str) -> str:
    """Return `id` with the preferred spelling of its prefix; ids without a known prefix stay as they are.

    A known prefix that stands twice, as registries have it, is taken once. An address on the web becomes the CURIE that
    it stands for (`linnet.vocabularies.addresses`).

    >>> curie("MSH:D006394"), curie("SNOMEDCT_2010_1_31:33176006"), curie("UMLS_CUI:C0018923"), curie("EFO:1")
    ('MESH:D006394', 'SNOMEDCT:33176006', 'UMLS:C0018923', 'EFO:1')
    >>> curie("hp:0001945"), curie("EntrezGene:672"), curie("ORPHA:558"), curie("chebi:CHEBI:1"), curie("x:1")
    ('HP:0001945', 'NCBIGene:672', 'Orphanet:558', 'CHEBI:1', 'x:1')
    """
    prefix, colon, local = id.partition(":")
    if local.startswith("//"):
        return of_address(id)
    if not colon:
        return id
    prefix = _prefix(prefix)
    while prefix in KNOWN and ":" in local and _prefix(local.partition(":")[0]) == prefix:
        local = local.partition(":")[2]
    return f"{prefix}:{local}"


def known_form(id: str) -> str:
    """Return the CURIE of an id without prefix whose form tells its vocabulary; others stay as they are.

    >>> known_form("D014262"), known_form("C0024660"), known_form("rs334"), known_form("6528")
    ('MESH:D014262', 'UMLS:C0024660', 'DBSNP:rs334', '6528')
    """
    match = BARE.fullmatch(id)
    return f"{match.lastgroup}:{id}" if match else id
