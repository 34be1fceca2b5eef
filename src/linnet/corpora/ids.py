"""Concept ids as corpora write them, to CURIEs and back.

Corpora of the field leave the vocabulary out where the form or the type of the mention tells it: ``D014262`` is MeSH,
``C0024660`` UMLS, ``6528`` of a gene is NCBI Gene. `to_curie` and `from_curie` turn one id, `read_ids` and `write_ids`
a whole field with several ids and a separator.

BioC files keep the ids of an annotation in the infons that the field uses.

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

The first such infon in the file's order gives the ids, any other stays an infon. ``-1``, ``-111``, ``-``, ``None`` and
an empty value mean: looked for, no id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest

from linnet.corpora.plain_text import BREAKING
from linnet.data import JSON, FrozenDict
from linnet.errors import DataError
from linnet.frozen import EMPTY
from linnet.kb.curies import curie, known_form

__all__ = [
    "MISSING",
    "VARIANT",
    "from_curie",
    "ids_in",
    "ids_out",
    "joined",
    "prefix_of",
    "read_ids",
    "short",
    "to_curie",
    "variant",
    "write_ids",
]

NO_GENE = "-111"  # what NLM-Gene has for a gene without an id
MISSING = frozenset({"", "-", "-1", NO_GENE})  # what stands where an annotator found no id

# "Gene" and "GeneOrGeneProduct" but not "Genetic"; NLM-Gene gives families and domains the ids of their genes
NUMBERED = (
    (re.compile(r"[Gg]enes?(?![a-z])|GENE|FamilyName\b|DomainMotif\b"), "NCBIGene"),
    (re.compile(r"(?:[Ss]pecies|[Oo]rganism|[Tt]axon|Strain|Genus)(?![a-z])|SPECIES"), "NCBITaxon"),
)
WITHOUT_PREFIX = frozenset({"MESH", "UMLS", "DBSNP", "Cellosaurus", "NCBIGene", "NCBITaxon"})

# tmVar's notation holds "|", "+" and ";" inside one id: p|SUB|V|600|E, or |DEL|46|S where the level is not known
VARIANT = re.compile(r"(?:^|,)(?:tmVar:)?[cgmnpr]?\|[A-Za-z]{2,}\|")
# tmVar's field of a variant: tmVar:p|SUB|V|600|E;HGVS:p.V600E;VariantGroup:0;CorrespondingGene:673;RS#:113488022
FIELDS = re.compile(r"(?:^|;)(?:tmVar|RS#|HGVS|Va[r1]iantGroup|CorrespondingGene):")
RS = re.compile(r"(?:DBSNP:|RS#:)?(?:rs)?(\d+)", re.IGNORECASE)
SEPARATORS = ("|", "+", ",", ";")
USUAL = "|"
SEPARATOR = re.compile(r"[|+,;]")
COMMA = re.compile(",")
CACHED = 1 << 16


def to_curie(raw: str, type: str = "") -> str:
    """Return the CURIE of an id as a corpus writes it; an id of unknown form stays as it is.

    Args:
        raw: the id, blanks around it do not count.
        type: the type of the mention, which tells what a bare number is.

    >>> to_curie("D014262"), to_curie("C000614959"), to_curie("C0024660"), to_curie("rs334"), to_curie("MIM:217000")
    ('MESH:D014262', 'MESH:C000614959', 'UMLS:C0024660', 'DBSNP:rs334', 'OMIM:217000')
    >>> to_curie("6528", "GeneOrGeneProduct"), to_curie("9606", "OrganismTaxon"), to_curie("6528")
    ('NCBIGene:6528', 'NCBITaxon:9606', '6528')
    """
    raw = raw.strip()
    if ":" in raw:
        return curie(raw)
    if raw.isdecimal():
        for pattern, prefix in NUMBERED:
            if pattern.match(type):
                return f"{prefix}:{raw}"
        return raw
    return known_form(raw)


@lru_cache(CACHED)
def from_curie(curie: str) -> str:
    """Return the id as corpora write it: without prefix for MeSH, UMLS, NCBI, dbSNP and Cellosaurus, else unchanged.

    ``to_curie(from_curie(id), type) == id`` wherever form or type tell the vocabulary.

    >>> from_curie("MESH:D014262"), from_curie("NCBIGene:6528"), from_curie("OMIM:217000")
    ('D014262', '6528', 'OMIM:217000')
    """
    prefix, _, local = curie.partition(":")
    if prefix in ("NCBIGene", "NCBITaxon") and local.isdecimal():
        return local
    return local if prefix in WITHOUT_PREFIX and to_curie(local) == curie else curie


def read_ids(field: str, type: str = "") -> tuple[tuple[str, ...], Mapping[str, JSON]]:
    """Return the CURIEs in a field of one or several ids, and what a mention's ``meta`` must keep of it.

    Ids are separated by ``|``, ``+``, ``,`` or ``;``. Of tmVar's fields of a variant (`variant`) the numbers in dbSNP
    are the ids, without one its notation. In meta stands ``separator`` where it is not ``|`` (one
    character, or, where a field mixes them, one for each gap), and ``ids``, the field as written, where a part of it
    is no id, or all of it says "no id" in NLM-Gene's way.

    Args:
        field: the field; ``-1``, ``-111``, ``-`` and nothing mean no id.
        type: the type of the mention.

    >>> read_ids("D001943|D010051")
    (('MESH:D001943', 'MESH:D010051'), {})
    >>> read_ids("780;4921,780", "Gene")
    (('NCBIGene:780', 'NCBIGene:4921', 'NCBIGene:780'), {'separator': ';,'})
    >>> read_ids("D002544|-1"), read_ids("-1")
    ((('MESH:D002544',), {'ids': 'D002544|-1'}), ((), {}))
    >>> read_ids("-111")
    ((), {'ids': '-111'})
    """
    field = field.strip()
    if field in MISSING:
        return (), FrozenDict({"ids": field}) if field == NO_GENE else EMPTY
    if FIELDS.search(field):
        numbers, others = variant(field)
        named = others.get("tmVar") or others.get("HGVS")
        return numbers or ((named,) if named else ()), FrozenDict({"ids": field})
    separator = COMMA if VARIANT.search(field) else SEPARATOR
    parts = separator.split(field)
    if len(parts) == 1:
        return (to_curie(field, type),), EMPTY
    present = tuple(to_curie(part, type) for part in parts if part.strip() not in MISSING)
    meta: dict[str, JSON] = {}
    used = "".join(separator.findall(field))
    if set(used) != {USUAL}:
        meta["separator"] = used[0] if len(set(used)) == 1 else used
    if len(present) < len(parts):
        meta["ids"] = field
    return present, FrozenDict(meta) if meta else EMPTY


def variant(field: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the dbSNP ids in tmVar's field of a variant, and what else it says, by name.

    >>> variant("tmVar:p|SUB|V|600|E;CorrespondingGene:673;RS#:113488022")
    (('DBSNP:rs113488022',), {'tmVar': 'p|SUB|V|600|E', 'CorrespondingGene': '673'})
    """
    numbers: list[str] = []
    others: dict[str, str] = {}
    for part in field.split(";"):
        key, colon, value = part.partition(":")
        if key in ("RS#", "DBSNP") or part.lower().startswith("rs"):
            found = (RS.fullmatch(item.strip()) for item in (value if colon else part).split(","))
            numbers += [f"DBSNP:rs{match[1]}" for match in found if match]
        elif part:
            others[key.replace("Va1iant", "Variant") if colon else "tmVar"] = value if colon else part
    return tuple(dict.fromkeys(numbers)), others


def write_ids(concepts: tuple[str, ...], type: str = "", *, meta: Mapping[str, JSON] = EMPTY) -> str:
    """Return the field that `read_ids` reads as `concepts`, in the form that `meta` remembers; ``-1`` for none.

    Raises:
        DataError: ids that hold separators, blanks at their ends, tabs or line breaks.

    >>> write_ids(("MESH:D030342", "MESH:D003638"), meta={"separator": "+"})
    'D030342+D003638'
    >>> write_ids(())
    '-1'
    """
    if meta is EMPTY:
        return _joined(concepts, type, USUAL)
    as_written, separator = meta.get("ids"), meta.get("separator")
    if isinstance(as_written, str) and not BREAKING.search(as_written) and read_ids(as_written, type)[0] == concepts:
        return as_written
    return _joined(concepts, type, separator if isinstance(separator, str) else USUAL)


@lru_cache(CACHED)
def _joined(concepts: tuple[str, ...], type: str, separator: str) -> str:
    if not concepts:
        return "-1"
    expected = tuple(to_curie(id, type) for id in concepts)
    for between in (separator, *SEPARATORS):
        field = joined([short(id, type) for id in concepts], between)
        if not BREAKING.search(field) and read_ids(field, type)[0] == expected:
            return field
    raise DataError(f"the ids {', '.join(map(repr, concepts))} do not fit in one field: one of them holds a separator")


def joined(ids: Sequence[str], separator: str = USUAL) -> str:
    """Return ids with a separator between: the same in all gaps, or one character for each."""
    gaps = separator if len(separator) == len(ids) - 1 else separator[:1] * (len(ids) - 1)
    return "".join(id + gap for id, gap in zip_longest(ids, gaps, fillvalue=""))


def short(id: str, type: str = "") -> str:
    """Return a CURIE without its prefix where reading gives it back."""
    bare = from_curie(id)
    return bare if to_curie(bare, type) == id else id


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
BETWEEN = re.compile(r"[^|+,;]+")  # between the separators of several ids
SHORT = re.compile(r"(?<![^|+,;])(?:NCBIGene|NCBITaxon):\d+(?![^|+,;])")


@lru_cache(4096)
def prefix_of(key: str) -> str | None:
    """Return the prefix of the ids that the infon `key` holds, ``""`` if they say it themselves, None if no ids.

    >>> prefix_of("MeSH"), prefix_of("NCBI Gene identifier"), prefix_of("identifier"), prefix_of("note")
    ('MESH', 'NCBIGene', '', None)
    """
    plain = IGNORED.sub("", key.lower())
    return PREFIXES.get(plain.removesuffix("identifier")) if plain else None


@lru_cache(CACHED)
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
        value = BETWEEN.sub(lambda match: _prefixed(match[0].strip(), type, prefix), value)
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
