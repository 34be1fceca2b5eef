"""Corpora known by name: where their files lie as published, how they are split, and what is wrong with them.

``read_corpus("bc5cdr", split="train")`` looks for the published files under the data folder (``LINNET_DATA``), in
``corpora/<folder>``, ``<folder>`` or the data folder itself, unpacked or as ``.gz``. What a corpus is known to have
wrong is handled by the `RULES` that its entry names.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from linnet.corpora.bioc_fold import like_pubtator
from linnet.data import Document, FrozenDict
from linnet.errors import FormatError, LinnetError, LinnetWarning, did_you_mean
from linnet.frozen import EMPTY
from linnet.text.files import open_text

__all__ = ["CORPORA", "RULES", "Corpus", "Counts", "Layout", "corpus_files", "read_corpus"]

VARIABLE = "LINNET_DATA"
READERS = {
    "pubtator": "linnet.corpora.pubtator:read",
    "bioc_xml": "linnet.corpora.bioc_xml:read",
    "gsc": "linnet.corpora.gsc:read",
}
RULES = {
    "repair-offsets": "a mention whose offsets do not give its text is put where its text stands nearby, and counted",
    "drop-copies": "of documents with the same id and text only the first is kept, and the others are named",
    "fold-composites": "annotations of the conjuncts of a composite mention are folded into it; what the PubTator file "
    "of the same corpus does not say is left out, so that both layouts give equal documents",
}


class Counts(NamedTuple):
    """What a split holds, read by its rules."""

    documents: int
    mentions: int


@dataclass(frozen=True, slots=True)
class Layout:
    """One of the forms a corpus is published in.

    ``splits`` gives for each split a file, as a pattern below the corpus's folder. Where one file holds all splits,
    ``ids`` gives for each a file with the ids of its documents, one a line.
    """

    format: str
    splits: Mapping[str, str]
    ids: Mapping[str, str] = EMPTY
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Corpus:
    """A published corpus: its layouts (the first is the usual one), terms of use, source, and counts by split.

    >>> CORPORA["ncbi_disease"].layouts["pubtator"].rules
    ('repair-offsets', 'drop-copies')
    """

    name: str
    folder: str
    about: str
    licence: str
    citation: str
    layouts: Mapping[str, Layout]
    counts: Mapping[str, Counts] = EMPTY

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits of the usual layout."""
        return tuple(next(iter(self.layouts.values())).splits)


PUBLIC_DOMAIN = "a work of the United States Government, in the public domain"
NOT_STATED = "not stated in the copies that go round: ask its authors"


def _splits(pattern: str, **names: str) -> Mapping[str, str]:
    """Return the pattern of each split, made by putting its name in place of ``{}``."""
    return FrozenDict({split: pattern.format(name) for split, name in names.items()})


def _layouts(**layouts: Layout) -> Mapping[str, Layout]:
    return FrozenDict(layouts)


def _pubtator(pattern: str, *rules: str, **names: str) -> Mapping[str, Layout]:
    return _layouts(pubtator=Layout("pubtator", _splits(pattern, **names), rules=rules))


def _medmentions(kind: str) -> Mapping[str, Layout]:
    file = f"**/{kind}/data/corpus_pubtator.txt"
    return _layouts(pubtator=Layout("pubtator", FrozenDict(dict.fromkeys(PMIDS, file)), ids=PMIDS))


CDR = {"train": "Training", "dev": "Development", "test": "Test"}
PMIDS = _splits("**/corpus_pubtator_pmids_{}.txt", train="trng", dev="dev", test="test")
MEDMENTIONS = "Mohan & Li, MedMentions: a large biomedical corpus annotated with UMLS concepts, AKBC 2019"
ALL = (
    Corpus(
        "bc5cdr",
        "bc5cdr",
        "PubMed abstracts with chemicals and diseases (MeSH) and the relations between them; composite mentions",
        PUBLIC_DOMAIN,
        "Li et al., BioCreative V CDR task corpus: a resource for chemical disease relation extraction, Database 2016",
        _layouts(
            pubtator=Layout("pubtator", _splits("**/CDR_{}Set.PubTator.txt", **CDR)),
            bioc=Layout("bioc_xml", _splits("**/CDR_{}Set.BioC.xml", **CDR), rules=("fold-composites",)),
        ),
        FrozenDict(train=Counts(500, 9_385), dev=Counts(500, 9_591)),
    ),
    Corpus(
        "ncbi_disease",
        "ncbi_disease",
        "PubMed abstracts with diseases (MEDIC: MeSH or OMIM); | and + both join ids that all hold, meta says which",
        PUBLIC_DOMAIN,
        "Doğan, Leaman & Lu, NCBI disease corpus: a resource for disease name recognition and concept normalization, "
        "Journal of Biomedical Informatics 2014",
        _pubtator(
            "**/NCBI{}set_corpus.txt", "repair-offsets", "drop-copies", train="train", dev="develop", test="test"
        ),
        FrozenDict(train=Counts(592, 5_134), dev=Counts(100, 787)),
    ),
    Corpus(
        "biored",
        "biored",
        "PubMed abstracts with genes, diseases, chemicals, variants, species and cell lines, and relations",
        NOT_STATED,
        "Luo et al., BioRED: a rich biomedical relation extraction dataset, Briefings in Bioinformatics 2022",
        _pubtator("**/*{}.PubTator", train="Train", dev="Dev", test="Test"),
        FrozenDict(train=Counts(400, 13_351), dev=Counts(100, 3_533)),
    ),
    Corpus(
        "nlm_chem",
        "nlm_chem",
        "Full texts from PubMed Central with chemicals (MeSH); the dev split in PubTator is half of the test articles",
        "published by the NCBI for everyone's use",
        "Islamaj et al., NLM-Chem, a new resource for chemical entity recognition in PubMed full text literature, "
        "Scientific Data 2021",
        _layouts(
            pubtator=Layout("pubtator", _splits("**/NLMChem_{}.PubTator", train="Train", dev="dev_half", test="Test")),
            bioc=Layout(
                "bioc_xml", _splits("**/BC7T2-NLMChem-corpus-{}.BioC.xml", train="train", dev="dev", test="test")
            ),
        ),
        FrozenDict(dev=Counts(25, 7_027)),
    ),
    Corpus(
        "medmentions",
        "medmentions",
        "PubMed abstracts with concepts of the whole UMLS; types are semantic types (T047)",
        "CC0",
        MEDMENTIONS,
        _medmentions("full"),
    ),
    Corpus(
        "medmentions_st21pv",
        "medmentions",
        "MedMentions with the 21 semantic types and 18 sources chosen for information retrieval",
        "CC0",
        MEDMENTIONS,
        _medmentions("st21pv"),
    ),
    Corpus(
        "medmentions_st21pv_derived",
        "medmentions_st21pv_derived",
        "MedMentions ST21pv tokenised, abbreviations expanded, sentences without mentions left out, types unknown: "
        "for training; scores on it do not compare with published ones",
        "CC0",
        MEDMENTIONS,
        _pubtator("**/{}_corpus_pubtator.txt", train="train", dev="dev"),
        FrozenDict(train=Counts(2_135, 98_644), dev=Counts(500, 23_355)),
    ),
    Corpus(
        "gsc_plus",
        "gsc_plus",
        "PubMed abstracts with phenotypes (Human Phenotype Ontology of 2016); nested mentions",
        "MIT (the copy)",
        "Groza et al., Automatic concept recognition using the Human Phenotype Ontology reference and test suite "
        "corpora, Database 2015; Lobo et al., Identifying human phenotype terms by combining machine learning and "
        "validation rules, BioMed Research International 2017",
        FrozenDict(gsc=Layout("gsc", _splits("**/GSCplus_{}_gold.tsv", dev="dev", test="test"))),
        FrozenDict(dev=Counts(22, 173)),
    ),
    Corpus(
        "nlm_gene",
        "other",
        "PubMed abstracts with genes of many species (NCBI Gene); ids joined by , or ;, cells and domains without",
        NOT_STATED,
        "Islamaj et al., NLM-Gene, a richly annotated gold standard dataset for gene entities that addresses ambiguity "
        "and multi-species gene recognition, Journal of Biomedical Informatics 2021",
        _pubtator("**/NLM[Gg]ene_{}.PubTator", "repair-offsets", train="Train", test="Test"),
        FrozenDict(train=Counts(450, 13_797)),
    ),
    Corpus(
        "linnaeus",
        "other",
        "Full texts from PubMed Central with species (NCBI Taxonomy)",
        NOT_STATED,
        "Gerner, Nenadic & Bergman, LINNAEUS: a species name identification system for biomedical literature, "
        "BMC Bioinformatics 2010",
        _pubtator("**/Linnaeus_{}.PubTator", train="Train", test="Test"),
        FrozenDict(train=Counts(80, 2_321)),
    ),
    Corpus(
        "species",
        "other",
        "PubMed abstracts with species and higher taxa (NCBI Taxonomy)",
        NOT_STATED,
        "Pafilis et al., The SPECIES and ORGANISMS resources for fast and accurate identification of taxonomic names "
        "in text, PLoS ONE 2013",
        _pubtator("**/SPECIES_{}.PubTator", train="Train", test="Test"),
        FrozenDict(train=Counts(639, 3_053)),
    ),
)
CORPORA: Mapping[str, Corpus] = FrozenDict({corpus.name: corpus for corpus in ALL})


def read_corpus(
    name: str, *, split: str, data: str | Path | None = None, layout: str | None = None
) -> Iterator[Document]:
    """Yield the documents of one split of a corpus known by name.

    Args:
        name: one of `CORPORA`.
        split: one of its splits: mostly train, dev and test.
        data: the data folder; None takes the environment variable LINNET_DATA.
        layout: one of the forms it is published in; None takes the usual one.

    Raises:
        LinnetError: a corpus, split or layout that is not known, or no data folder.
        FormatError: the files are not there (with the places looked at), or not what they should be.

    >>> read_corpus("bc5cdr", split="dve")
    Traceback (most recent call last):
    linnet.errors.LinnetError: unknown split of bc5cdr 'dve', expected one of train, dev, test; did you mean 'dev'?
    """
    path, *ids = corpus_files(name, split=split, data=data, layout=layout)
    return _documents(path, _layout(CORPORA[name], layout), _ids(ids[0]) if ids else None)


def corpus_files(
    name: str, *, split: str, data: str | Path | None = None, layout: str | None = None
) -> tuple[Path, ...]:
    """Return the files that `read_corpus` reads: the documents', and that of their ids where it holds other splits too.

    Arguments and errors are the same.
    """
    corpus = CORPORA[_known("corpus", name, CORPORA)]
    chosen = _layout(corpus, layout)
    pattern = chosen.splits[_known(f"split of {name}", split, chosen.splits)]
    folder = _data_folder(data)
    wanted = (pattern, chosen.ids[split]) if chosen.ids else (pattern,)
    return tuple(_find(corpus, folder, file, split) for file in wanted)


def _layout(corpus: Corpus, layout: str | None) -> Layout:
    usual = next(iter(corpus.layouts))
    return corpus.layouts[_known(f"layout of {corpus.name}", layout or usual, corpus.layouts)]


def _known(what: str, value: str, known: Mapping[str, object]) -> str:
    if value not in known:
        names = sorted(known) if what == "corpus" else list(known)
        raise LinnetError(f"unknown {what} {value!r}, expected one of {', '.join(names)}{did_you_mean(value, names)}")
    return value


def _data_folder(data: str | Path | None) -> Path:
    place = data if data is not None else os.environ.get(VARIABLE, "")
    if not place:
        raise LinnetError(
            f"say where the corpora are: --data DIR, data=… or {VARIABLE}, a folder with corpora/bc5cdr …"
        )
    folder = Path(place)
    if not folder.is_dir():
        raise LinnetError(f"the data folder {folder} does not exist; set --data, data=… or {VARIABLE}")
    return folder


def _find(corpus: Corpus, data: Path, pattern: str, split: str) -> Path:
    """Return the file that `pattern` names below the corpus's folder, or lies by itself in the data folder."""
    file = pattern.rpartition("/")[2]
    for folder, wanted in ((data / "corpora" / corpus.folder, pattern), (data / corpus.folder, pattern), (data, file)):
        for name in (wanted, f"{wanted}.gz"):
            # a file nearer to the folder goes before one deeper down
            found = sorted(folder.glob(name), key=lambda path: (len(path.parts), path))
            if found:
                return found[0]
    expected = f"{data / 'corpora' / corpus.folder}/{pattern.removeprefix('**/')}"
    problem = f"the {split} split of {corpus.name} is not there; expected the published file {file} (or {file}.gz)"
    raise FormatError(expected, f"{problem} in this folder or one below it")


def _ids(path: Path) -> frozenset[str]:
    return frozenset(line.strip() for line in open_text(path) if line.strip())


def _documents(path: Path, layout: Layout, ids: frozenset[str] | None) -> Iterator[Document]:
    module, _, function = READERS[layout.format].partition(":")
    read: Callable[..., Iterator[Document]] = getattr(importlib.import_module(module), function)
    options: dict[str, Any] = {}
    if "repair-offsets" in layout.rules:
        options["repair"] = True
    docs = read(path, **options)
    if "fold-composites" in layout.rules:
        docs = map(like_pubtator, docs)
    if "drop-copies" in layout.rules:
        docs = _without_copies(docs, path)
    return docs if ids is None else _only(docs, ids, path)


def _without_copies(docs: Iterator[Document], path: Path) -> Iterator[Document]:
    seen: dict[str, int] = {}  # a hash of each text: the texts themselves would not stay within memory
    copies: list[str] = []
    for doc in docs:
        text = hash(doc.text)
        if doc.id not in seen:
            seen[doc.id] = text
            yield doc
        elif seen[doc.id] == text:
            copies.append(doc.id)
        else:
            raise FormatError(path, f"document {doc.id!r} stands twice with different texts; only copies are expected")
    if copies:
        told = f"documents that stand twice with the same text, the copy dropped ({len(copies):,}): {', '.join(copies)}"
        warnings.warn(f"{path}: {told}", LinnetWarning, stacklevel=2)


def _only(docs: Iterator[Document], ids: frozenset[str], path: Path) -> Iterator[Document]:
    missing = set(ids)
    for doc in docs:
        if doc.id in ids:
            missing.discard(doc.id)
            yield doc
    if missing:
        few = ", ".join(sorted(missing)[:5])
        raise FormatError(path, f"{len(missing):,} documents of the split are not in it, such as {few}")
