"""BioC XML of corpora whose offsets cannot be relied upon: GNormPlus, NLM-Gene and Bio-ID as their authors give them.

`linnet.corpora.bioc_xml` reads BioC as it should be and refuses what contradicts itself. These corpora do: their
passages begin where the one before has not ended, or their annotations stand beside the text. So texts and annotations
are taken as they are, and placed with `linnet.corpora.misplaced`.

GNormPlus: ``<infon key="type">Gene</infon><infon key="Gene">7157(Tax:9606),7158</infon>``, and likewise
``FamilyName`` and ``DomainMotif``. NLM-Gene: ``<infon key="NCBI Gene identifier">12458,12772</infon>``; a file holds
one document, and a list of PMIDs tells which files make up a split. Other copies call the infon otherwise: what
`linnet.corpora.ids` knows as ids of NCBI Gene (``NCBI Gene``, ``NCBIGene``, ``identifier`` …) is read too.
Several ids by ``,``, ``;`` or ``|`` all hold. What is no positive number says why there is no gene, and stays in
``meta["ids"]``; without any infon of ids the mention is not linked (None). Taxa stay in ``meta["taxa"]``, other infons
in ``meta["infons"]``.

Bio-ID (BioCreative VI, track 1): captions of figures, their annotations in ``annotations.csv`` beside them. A caption
is a document, its id the article's in PubMed Central and the name of the figure. The annotations are read from the
table alone, because those in the BioC files stand beside their texts. What an annotation means is the column ``obj``:
ids such as ``NCBI gene:9341``, ``Uniprot:P05201|Uniprot:P05202`` (all of them hold), ``CVCL_0030``, or only a kind
with what it is called, ``protein:GFP``, which is NIL.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from lxml import etree

from linnet.corpora.ids import prefix_of
from linnet.corpora.layout import lined_up
from linnet.corpora.misplaced import Places
from linnet.corpora.separated import number, table
from linnet.corpora.sources import visible
from linnet.data import JSON, Document, Mention, Passage
from linnet.errors import FormatError
from linnet.frozen import EMPTY
from linnet.text.files import open_text, shown
from linnet.text.xml_files import elements
from linnet.vocabularies.malformed import Oddities

__all__ = ["read_bioid", "read_gnormplus", "read_nlm_gene"]


class BareAnnotation(NamedTuple):
    """An annotation with its first location, as the file has it."""

    id: str
    infons: Mapping[str, str]
    start: int
    end: int
    text: str
    line: int


class BareDocument(NamedTuple):
    """A document whose passages are joined by a line break each."""

    id: str
    infons: Mapping[str, str]
    text: str
    passages: tuple[Passage, ...]
    annotations: list[BareAnnotation]


def bare_documents(path: str | Path) -> Iterator[BareDocument]:
    """Yield the documents of a BioC file; annotations without location or text are left out.

    Raises:
        FormatError: no well-formed XML, no BioC, a document without id, a location that is none; with the line.
    """
    none = True
    for element in elements(path, ("document",), kind="BioC"):
        none = False
        yield _document(element, shown(path))
    if none:
        raise FormatError(shown(path), "is no BioC XML: expected the elements <collection> and <document>")


def _document(element: etree._Element, path: str) -> BareDocument:
    id = (element.findtext("id") or "").strip()
    if not id:
        raise FormatError(path, "this document has no id", line=_line(element))
    found = list(element.iterfind("passage"))
    parts = [(_infons(one).get("type", ""), one.findtext("text") or "", EMPTY) for one in found]
    text, passages = lined_up([part for part in parts if part[1]])
    return BareDocument(
        id, _infons(element), text, passages, [each for one in found for each in _annotations(one, path)]
    )


def _annotations(passage: etree._Element, path: str) -> Iterator[BareAnnotation]:
    for element in passage.iterfind("annotation"):
        location, text = element.find("location"), element.findtext("text") or ""
        if location is not None and text:
            start, length = (number(location.get(name) or "", path, _line(element)) for name in ("offset", "length"))
            infons = _infons(element)
            yield BareAnnotation(element.get("id") or "", infons, start, start + length, text, _line(element))


def _infons(element: etree._Element) -> dict[str, str]:
    return {infon.get("key") or "": (infon.text or "").strip() for infon in element.iterfind("infon")}


def _line(element: etree._Element) -> int:
    return cast("int | None", element.sourceline) or 0


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
        yield _gene_document(bare, places)
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
            yield _gene_document(bare, places)
    places.odd.warn()


def _gene_document(bare: BareDocument, places: Places) -> Document:
    found = [_gene(annotation, bare.text, places) for annotation in bare.annotations]
    return Document(bare.id, bare.text, passages=bare.passages, mentions=tuple(one for one in found if one))


def _gene(annotation: BareAnnotation, text: str, places: Places) -> Mention | None:
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


COLUMNS = ("don_article", "figure", "first left", "last right", "text", "obj")
UNMATCHED = "rows whose don_article and figure are those of no caption in caption_bioc, left out"


class Database(NamedTuple):
    """What the ids of a database get as prefix, and what they are ids of."""

    prefix: str
    type: str


DATABASES = {
    "bao": Database("BAO", "assay"),
    "chebi": Database("CHEBI", "molecule"),
    "cl": Database("CL", "cell"),
    "cellosaurus": Database("Cellosaurus", "cell"),
    "corum": Database("CORUM", "protein"),
    "go": Database("GO", "subcellular"),
    "ncbi gene": Database("NCBIGene", "gene"),
    "ncbi taxon": Database("NCBITaxon", "organism"),
    "pubchem": Database("PubChem.compound", "molecule"),
    "rfam": Database("Rfam", "miRNA"),
    "uberon": Database("UBERON", "tissue"),
    "uniprot": Database("UniProt", "protein"),
}


class _Cell(NamedTuple):
    line: int
    cells: Mapping[str, str]


def read_bioid(path: str | Path) -> Iterator[Document]:
    """Yield the captions whose annotations are in the table `path`, by article, with those that have none.

    Rows of a caption that is not there are counted in one warning.

    Raises:
        FormatError: no captions, a column that is missing, an offset that is none (with the line), or rows none of
            which belongs to a caption.
    """
    captions = sorted(visible(Path(path).parent / "caption_bioc", "*.xml"))
    if not captions:
        raise FormatError(shown(path), "there are no captions: expected files caption_bioc/*.xml beside it")
    by_figure: dict[tuple[str, str], list[_Cell]] = defaultdict(list)
    for line, cells in table(path, wanted=COLUMNS, separator=","):
        by_figure[cells["don_article"].strip(), _figure(cells["figure"])].append(_Cell(line, cells))
    places = Places(shown(path))
    met: dict[tuple[str, str], str] = {}  # the captions and their files
    for file in captions:
        for bare in bare_documents(file):
            article = bare.infons.get("pmc_id", file.stem)
            figure = _figure(bare.infons.get("sourcedata_figure_dir") or bare.infons.get("figure", ""))
            met[article, figure] = file.name
            found = [_figure_mention(cell, bare, places, path) for cell in by_figure.get((article, figure), [])]
            mentions = sorted((one for one in found if one), key=lambda one: one.span)
            passages = (Passage(0, len(bare.text), "figure caption"),) if bare.text else ()
            meta = {"infons": bare.infons}
            yield Document(f"{article}:{figure}", bare.text, passages=passages, mentions=tuple(mentions), meta=meta)
    _tell_unmatched(by_figure, met, places.odd, path)
    places.odd.warn()


def _tell_unmatched(
    by_figure: Mapping[tuple[str, str], list[_Cell]],
    met: Mapping[tuple[str, str], str],
    odd: Oddities,
    path: str | Path,
) -> None:
    """Count rows whose caption is nowhere; when that is all of them, the two do not belong together."""
    lost = [(key, cell) for key, cells in by_figure.items() if key not in met for cell in cells]
    if lost and met and len(lost) == sum(map(len, by_figure.values())):
        (article, figure), cell = lost[0]
        (known, other), file = next(iter(met.items()))
        problem = f"none of its {len(lost):,} rows belongs to a caption: don_article and figure are {article!r} and "
        problem += f"{figure!r} here, pmc_id and sourcedata_figure_dir {known!r} and {other!r} in caption_bioc/{file}; "
        raise FormatError(shown(path), f"{problem}are the two of one release of the corpus?", line=cell.line)
    for (article, figure), cell in lost:
        odd.add(UNMATCHED, cell.line, f"{article} {figure}")


def _figure(name: str) -> str:
    return name.strip().replace(" ", "_")


def _figure_mention(cell: _Cell, bare: BareDocument, places: Places, path: str | Path) -> Mention | None:
    line, cells = cell
    start, end = (number(cells[column].removesuffix(".0"), path, line) for column in ("first left", "last right"))
    span = places.span(bare.text, start, end, cells["text"], line=line)
    if span is None:
        return None
    found = [_linked(id.strip()) for id in cells["obj"].split("|") if id.strip()]
    concepts = tuple(dict.fromkeys(concept for concept, _ in found if concept))
    types = tuple(dict.fromkeys(type for _, type in found if type))[:1]
    meta = {} if concepts else {"obj": cells["obj"]}
    return Mention(*span, types=types, source="gold", concepts=concepts, meta=meta)


def _linked(id: str) -> tuple[str, str]:
    """Return concept and type of one id of the column ``obj``; the concept is empty where there is only a kind."""
    if id.startswith("CVCL_"):
        return f"Cellosaurus:{id}", "cell"
    source, colon, local = id.partition(":")
    known = DATABASES.get(source.strip().lower())
    if known is None or not local.strip():
        return "", source.strip() if colon else ""
    return f"{known.prefix}:{local.rpartition(':')[2].strip()}", known.type
