"""One spelling for the prefixes of identifiers: the many in use become the Bioregistry's preferred ones.

Ids without a prefix whose form tells their vocabulary are given it (`known_form`).
"""

from __future__ import annotations

import functools
import re

from linnet.text.wordlists import rows

__all__ = ["ADDRESSES", "curie", "known_form", "of_address"]

BEGIN = re.compile(r"https?://(?:www\.)?", re.IGNORECASE)
OBO = re.compile(r"purl\.obolibrary\.org/obo/([A-Za-z]+)_(\w+)")
REGISTRY = re.compile(r"(?:identifiers\.org|bioregistry\.io|n2t\.net)/([A-Za-z][\w.]*)[:/](.+)")
_TABLE = rows("linnet.kb", "prefixes.tsv")


def _prefixes(kind: str) -> dict[str, str]:
    return {name: prefix for of, prefix, names in _TABLE if of == kind for name in names.split()}


REGISTERED = _prefixes("registered")
PREFIXES = REGISTERED | _prefixes("spelled")
PLACES = [(prefix, re.compile(pattern)) for kind, prefix, pattern in _TABLE if kind == "place"]

# prefix -> what the addresses of its ids begin with
ADDRESSES = {prefix: begin for kind, prefix, begin in _TABLE if kind == "address"}


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
    it stands for (`linnet.kb.curies`).

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
