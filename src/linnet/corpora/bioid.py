"""Bio-ID (BioCreative VI, track 1): captions of figures in BioC, their annotations in ``annotations.csv`` beside them.

A caption is a document, its id the article's in PubMed Central and the name of the figure. The annotations are read
from the table alone, because those in the BioC files stand beside their texts. What an annotation means is the
column ``obj``: ids such as ``NCBI gene:9341``, ``Uniprot:P05201|Uniprot:P05202`` (all of them hold), ``CVCL_0030``, or
only a kind with what it is called, ``protein:GFP``, which is NIL.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from linnet.corpora.bioc_bare import BareDocument, bare_documents
from linnet.corpora.misplaced import Places
from linnet.corpora.separated import number, table
from linnet.corpora.sources import visible
from linnet.data import Document, Mention, Passage
from linnet.errors import FormatError
from linnet.text.files import shown
from linnet.vocabularies.malformed import Oddities

__all__ = ["read"]

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


def read(path: str | Path) -> Iterator[Document]:
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
            found = [_mention(cell, bare, places, path) for cell in by_figure.get((article, figure), [])]
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


def _mention(cell: _Cell, bare: BareDocument, places: Places, path: str | Path) -> Mention | None:
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
