"""Where BioC files keep the ids of an annotation: the infons the field uses.

===================================================================== ================================================
infon (case, blanks, ``_``, ``-`` and a final "identifier" aside)     its ids
===================================================================== ================================================
``identifier``, ``concept_id``, ``ID``                                CURIEs, or bare ids whose form and type tell
``MESH``, ``MeSH``                                                    MeSH
``OMIM``, ``MIM``                                                     OMIM
``NCBI Gene``, ``NCBIGene``, ``Entrez Gene``, ``Entrez``, ``GeneID``  NCBI Gene
``NCBI Taxonomy``, ``NCBITaxon``, ``Taxonomy``, ``TaxID``             NCBI Taxonomy
``UMLS``, ``UMLS CUI``, ``CUI``                                       UMLS
``dbSNP``, ``RSID``                                                   dbSNP
``HP``, ``HPO``; ``CHEBI``; ``Cellosaurus``; ``GO``; ``DOID``         the terminology they name
===================================================================== ================================================

The first such infon in the file's order gives the ids, any other stays an infon. How several ids are separated is
`linnet.corpora.ids`' matter. ``-1``, ``-111``, ``-``, ``None`` and an empty value mean: looked for, no id.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from linnet.corpora.ids import MISSING, joined, read_ids, short, to_curie
from linnet.data import JSON
from linnet.frozen import EMPTY

__all__ = ["ids_in", "ids_out", "prefix_of"]

PREFIXES = {
    "": "",
    "id": "",
    "conceptid": "",
    "mesh": "MESH",
    "omim": "OMIM",
    "mim": "OMIM",
    "ncbigene": "NCBIGene",
    "entrezgene": "NCBIGene",
    "entrez": "NCBIGene",
    "geneid": "NCBIGene",
    "ncbitaxonomy": "NCBITaxon",
    "ncbitaxon": "NCBITaxon",
    "taxonomy": "NCBITaxon",
    "taxid": "NCBITaxon",
    "umls": "UMLS",
    "umlscui": "UMLS",
    "cui": "UMLS",
    "dbsnp": "DBSNP",
    "rsid": "DBSNP",
    "hp": "HP",
    "hpo": "HP",
    "chebi": "CHEBI",
    "cellosaurus": "Cellosaurus",
    "go": "GO",
    "doid": "DOID",
}
IGNORED = re.compile(r"[\s_-]")
ID = re.compile(r"[^|+,;]+")  # between the separators of several ids
SHORT = re.compile(r"(?<![^|+,;])(?:NCBIGene|NCBITaxon):\d+(?![^|+,;])")
CACHED = 1 << 16


@functools.lru_cache(4096)
def prefix_of(key: str) -> str | None:
    """Return the prefix of the ids that the infon `key` holds, ``""`` if they say it themselves, None if no ids.

    >>> prefix_of("MeSH"), prefix_of("NCBI Gene identifier"), prefix_of("identifier"), prefix_of("note")
    ('MESH', 'NCBIGene', '', None)
    """
    plain = IGNORED.sub("", key.lower())
    return PREFIXES.get(plain.removesuffix("identifier")) if plain else None


@functools.lru_cache(CACHED)
def ids_in(value: str, type: str, prefix: str = "") -> tuple[tuple[str, ...], Mapping[str, JSON]]:
    """Return the CURIEs in an id infon, and what the mention's ``meta`` must keep of it, as `read_ids` does.

    >>> ids_in("D007674|D056486", "Disease", "MESH")
    (('MESH:D007674', 'MESH:D056486'), {})
    >>> ids_in("217000", "Disease", "OMIM"), ids_in("MESH:D1,MESH:D2", "Chemical")
    ((('OMIM:217000',), {}), (('MESH:D1', 'MESH:D2'), {'separator': ','}))
    """
    if value == "None":
        return (), EMPTY
    if prefix and not ("|" in value and prefix == "DBSNP"):
        value = ID.sub(lambda match: _prefixed(match[0].strip(), type, prefix), value)
    return read_ids(value, type)


def _prefixed(id: str, type: str, prefix: str) -> str:
    return id if id in MISSING or ":" in to_curie(id, type) else f"{prefix}:{id}"


def ids_out(concepts: tuple[str, ...], type: str, meta: Mapping[str, JSON] = EMPTY) -> str | None:
    """Return concepts as the value of an ``identifier`` infon, in the form that `meta` remembers.

    Genes and species are written as bare numbers where the type tells what they are, all others as CURIEs, as
    PubTator's own BioC files have them. None means that the value would not be read as the same concepts.

    >>> ids_out(("MESH:D1", "MESH:D2"), "Disease", {"separator": "+"})
    'MESH:D1+MESH:D2'
    >>> ids_out(("NCBIGene:6528",), "Gene"), ids_out((), ""), ids_out(("a|b",), "")
    ('6528', '-1', None)
    """
    separator, written = meta.get("separator"), meta.get("ids")
    value = joined(concepts, separator if isinstance(separator, str) and separator else "|") or "-1"
    if isinstance(written, str) and read_ids(written, type)[0] == concepts:
        value = written
    value = SHORT.sub(lambda match: short(match[0], type), value)
    return value if ids_in(value, type)[0] == concepts else None
