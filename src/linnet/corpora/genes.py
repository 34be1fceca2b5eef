"""GNormPlus and NLM-Gene as the NCBI gives them: BioC XML whose annotations say the genes in infons of their own.

GNormPlus: ``<infon key="type">Gene</infon><infon key="Gene">7157(Tax:9606),7158</infon>``, and likewise
``FamilyName`` and ``DomainMotif``. NLM-Gene: ``<infon key="NCBI Gene identifier">12458,12772</infon>``; a file holds
one document, and a list of PMIDs tells which files make up a split. Other copies call the infon otherwise: what
`linnet.corpora.bioc_ids` knows as ids of NCBI Gene (``NCBI Gene``, ``NCBIGene``, ``identifier`` …) is read too.
Several ids by ``,``, ``;`` or ``|`` all hold. What is no positive number says why there is no gene, and stays in
``meta["ids"]``; without any infon of ids the mention is not linked (None). Taxa stay in ``meta["taxa"]``, other infons
in ``meta["infons"]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from linnet.corpora.bioc_bare import BareAnnotation, BareDocument, bare_documents
from linnet.corpora.bioc_ids import prefix_of
from linnet.corpora.misplaced import Places
from linnet.data import JSON, Document, Mention
from linnet.errors import FormatError
from linnet.text.files import open_text, shown

__all__ = ["read_gnormplus", "read_nlm_gene"]

SEPARATOR = re.compile(r"[,;|]")
GENE = re.compile(r"(?:NCBIGene:)?(\d+)\s*(?:\(\s*tax:(\d+)\s*\))?", re.IGNORECASE)
IDS = ("NCBIGene", "")  # what `prefix_of` makes of the infons that may hold genes
FILE = re.compile(r"[A-Za-z0-9_.-]+")


def read_gnormplus(path: str | Path) -> Iterator[Document]:
    """Yield the documents of one BioC file of GNormPlus.

    Raises:
        FormatError: no BioC; with the line.
    """
    places = Places(shown(path))
    for bare in bare_documents(path):
        yield _document(bare, places)
    places.odd.warn()


def read_nlm_gene(path: str | Path) -> Iterator[Document]:
    """Yield the documents of NLM-Gene that the list of PMIDs `path` names, from the folder ``FINAL`` beside it.

    Raises:
        FormatError: a line that is no PMID, a file that is missing, no BioC; with the line.
    """
    places = Places(shown(path))
    for line, text in enumerate(open_text(path), 1):
        pmid = text.strip()
        if not pmid:
            continue
        if not FILE.fullmatch(pmid):
            raise FormatError(shown(path), f"expected a PMID, found {pmid[:60]!r}", line=line)
        places.file = f"{pmid}.BioC.XML"
        for bare in bare_documents(Path(path).parent / "FINAL" / places.file):
            yield _document(bare, places)
    places.odd.warn()


def _document(bare: BareDocument, places: Places) -> Document:
    found = [_mention(annotation, bare.text, places) for annotation in bare.annotations]
    return Document(bare.id, bare.text, passages=bare.passages, mentions=tuple(one for one in found if one))


def _mention(annotation: BareAnnotation, text: str, places: Places) -> Mention | None:
    span = places.span(text, annotation.start, annotation.end, annotation.text, line=annotation.line)
    if span is None:
        return None
    type = annotation.infons.get("type", "")
    key = _key_of_ids(annotation.infons, type)
    others = {name: value for name, value in annotation.infons.items() if name not in ("type", key)}
    meta: dict[str, JSON] = {"infons": others} if others else {}
    types = (type,) if type else ()
    if key is None:
        return Mention(*span, id=annotation.id, types=types, source="gold", concepts=None, meta=meta)
    field = annotation.infons[key]
    parts = [part.strip() for part in SEPARATOR.split(field)]
    genes = [match for match in map(GENE.fullmatch, parts) if match]
    if len(genes) < len(parts) and field not in ("", "-", "-1"):
        meta["ids"] = field
    if taxa := _unique([match[2] for match in genes if match[2]]):
        meta["taxa"] = tuple(f"NCBITaxon:{taxon}" for taxon in taxa)
    concepts = tuple(f"NCBIGene:{gene}" for gene in _unique([match[1] for match in genes]))
    return Mention(*span, id=annotation.id, types=types, source="gold", concepts=concepts, meta=meta)


def _key_of_ids(infons: Mapping[str, str], type: str) -> str | None:
    """Return the infon that holds the genes: one that says something before an empty one, the type's own first."""
    keys = [key for key in infons if key != "type" and (key == type or prefix_of(key) in IDS)]
    return min(keys, key=lambda key: (not infons[key], key != type), default=None)


def _unique(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(values))
