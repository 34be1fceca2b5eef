"""One spelling for the prefixes of identifiers: the many in use become the Bioregistry's preferred ones.

Ids without a prefix whose form tells their vocabulary are given it (`known_form`).
"""

from __future__ import annotations

import functools
import re

from linnet.vocabularies.addresses import of_address

__all__ = ["curie", "known_form"]

# only prefixes that mean one thing wherever they are met; compared in lower case, without a release date at the end
PREFIXES = {
    "icd-10": "ICD10",
    "icd-10-cm": "ICD10CM",
    "icd-9": "ICD9",
    "icd-9-cm": "ICD9CM",
    "icd-o": "ICDO",
    "medra": "MEDDRA",
    "mesh": "MESH",
    "mim": "OMIM",
    "msh": "MESH",
    "nci": "NCIT",
    "ncithesaurus": "NCIT",
    "omim": "OMIM",
    "sctid": "SNOMEDCT",
    "snomed": "SNOMEDCT",
    "snomed_ct": "SNOMEDCT",
    "snomedct": "SNOMEDCT",
    "snomedct_us": "SNOMEDCT",
    "umls": "UMLS",
    "umls_cui": "UMLS",
}
# MeSH grew from six digits to nine; a C with seven is UMLS, so that the two never meet
BARE = re.compile(r"(?P<MESH>[DC](?:\d{6}|\d{9}))|(?P<UMLS>C\d{7})|(?P<DBSNP>rs\d+)|(?P<Cellosaurus>CVCL_\w+)")
RELEASE = re.compile(r"_?(?:19|20)\d\d(?:_\d\d?_\d\d?|_\d\d[a-z]|)$", re.IGNORECASE)


@functools.lru_cache(maxsize=4096)
def _prefix(prefix: str) -> str:
    return PREFIXES.get(RELEASE.sub("", prefix).lower(), prefix)


def curie(id: str) -> str:
    """Return `id` with the preferred spelling of its prefix; ids without a known prefix stay as they are.

    An address on the web becomes the CURIE that it stands for (`linnet.vocabularies.addresses`).

    >>> curie("MSH:D006394"), curie("SNOMEDCT_2010_1_31:33176006"), curie("UMLS_CUI:C0018923"), curie("EFO:1")
    ('MESH:D006394', 'SNOMEDCT:33176006', 'UMLS:C0018923', 'EFO:1')
    """
    prefix, colon, local = id.partition(":")
    if local.startswith("//"):
        return of_address(id)
    return f"{_prefix(prefix)}:{local}" if colon else id


def known_form(id: str) -> str:
    """Return the CURIE of an id without prefix whose form tells its vocabulary; others stay as they are.

    >>> known_form("D014262"), known_form("C0024660"), known_form("rs334"), known_form("6528")
    ('MESH:D014262', 'UMLS:C0024660', 'DBSNP:rs334', '6528')
    """
    match = BARE.fullmatch(id)
    return f"{match.lastgroup}:{id}" if match else id
