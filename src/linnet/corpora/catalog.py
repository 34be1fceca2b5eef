"""Corpora known by name: where their files lie as published, how they are split, and what is wrong with them.

``read_corpus("bc5cdr", split="train")`` looks for the published files under the data folder (``LINNET_DATA``), in
``corpora/<folder>``, ``<folder>``, those of the corpus's name, or the data folder itself, unpacked or as ``.gz``, then
among those that were downloaded (``LINNET_HOME/corpora/<name>``). What a corpus is known to have wrong is handled by
the `RULES` that its entry names.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from linnet.corpora.bioc_fold import like_pubtator
from linnet.corpora.faults import LEFT_OUT, STOP, Faults
from linnet.corpora.formats import resolve
from linnet.corpora.misplaced import MISPLACED
from linnet.corpora.sources import visible
from linnet.data import Document, FrozenDict
from linnet.errors import FormatError, LinnetError, did_you_mean
from linnet.frozen import EMPTY, freeze
from linnet.home import home
from linnet.reporter import warn
from linnet.text.files import open_text
from linnet.vocabularies.malformed import Oddities

__all__ = [
    "CORPORA",
    "RULES",
    "Corpus",
    "Counts",
    "Download",
    "Layout",
    "corpora_folder",
    "corpus_files",
    "corpus_named",
    "read_corpus",
    "splits_of",
]

VARIABLE = "LINNET_DATA"
READERS = {
    "pubtator": "pubtator:read",
    "bioc_xml": "bioc_xml:read",
    "gsc": "gsc:read",
    "ask_a_patient": "laypeople:read_ask_a_patient",
    "bioid": "bioc_loose:read_bioid",
    "cometa_general": "laypeople:read_general",
    "cometa_specific": "laypeople:read_specific",
    "craft": "craft:read",
    "craft_extended": "craft:read_extended",
    "gnormplus": "bioc_loose:read_gnormplus",
    "linnaeus": "species:read_linnaeus",
    "nlm_gene": "bioc_loose:read_nlm_gene",
    "s800": "species:read_s800",
    "tmvar": "pubtator:read_tmvar",
}
ASKING = ("pubtator", "bioc_xml", "gsc", "tmvar")  # readers that take `Faults`; the others place annotations themselves
RULES = {
    "repair-offsets": "a mention whose offsets do not give its text is put where its text stands nearby, and counted",
    "drop-copies": "of documents with the same id and text only the first is kept, and the others are named",
    "place-annotations": "a mention is put where its text stands near its offsets, or left out where that is nowhere "
    "near; both are counted",
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
    ``ids`` gives for each a file with the ids of its documents, one a line. ``untested`` says that no published file of
    it was ever read: its reader is written to descriptions, and tested on excerpts made by hand.
    """

    format: str
    splits: Mapping[str, str]
    ids: Mapping[str, str] = EMPTY
    rules: tuple[str, ...] = ()
    untested: bool = False

    def fold(self, number: int) -> Layout:
        """Return the layout with the number of a fold in place of ``{}``."""
        return replace(self, splits=FrozenDict({key: file.format(number) for key, file in self.splits.items()}))


@dataclass(frozen=True, slots=True)
class Download:
    """A file of a corpus on the web: an archive that is unpacked, or a file put at `place` below the corpus's folder.

    ``only`` are patterns of the files wanted from an archive. ``sha256`` is what the file had when others pinned it;
    where none is known, the one met first is remembered (`linnet.corpora.corpus_download`). ``begins`` is a regular
    expression for the first line of a file that is no archive: what portals send instead would be remembered too.
    """

    url: str
    place: str = ""
    only: tuple[str, ...] = ()
    sha256: str = ""
    begins: str = ""
    name: str = ""  # what it is kept as, if not as its address ends

    @property
    def kept_as(self) -> str:
        """The name of the file."""
        return self.name or self.url.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A published corpus: its layouts (the first is the usual one), terms of use, source, and counts by split.

    ``page`` is where people find it, ``downloads`` what may be fetched without asking anybody, ``terminologies`` what
    its concepts are, as ``linnet kb build --from NAME --download`` names them. ``folds`` lists the layouts that are
    the folds of a cross-validation.

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
    page: str = ""
    downloads: tuple[Download, ...] = ()
    terminologies: tuple[str, ...] = ()
    folds: tuple[str, ...] = ()

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits of all layouts, those of the usual one first."""
        return tuple(dict.fromkeys(split for layout in self.layouts.values() for split in layout.splits))

    @property
    def untested(self) -> tuple[str, ...]:
        """The layouts that are untested on published files, as they are named: the corpus alone where all are."""
        found = [name for name, layout in self.layouts.items() if layout.untested]
        return (self.name,) if len(found) == len(self.layouts) else tuple(f"{self.name}/{name}" for name in found)


def _entries() -> Mapping[str, Corpus]:
    """Return the corpora of ``corpora.toml`` by name.

    A corpus's folder is called as it is unless the file says otherwise. ``folds = 10`` there makes of the layout
    ``fold-{}`` the layouts fold-0 to fold-9, with the number for ``{}`` in its patterns.
    """
    text = resources.files("linnet.corpora").joinpath("corpora.toml").read_text(encoding="utf-8")
    return FrozenDict({name: _corpus(name, freeze(table)) for name, table in tomllib.loads(text).items()})


def _corpus(name: str, table: Mapping[str, Any]) -> Corpus:
    layouts = {key: Layout(**layout) for key, layout in table["layouts"].items()}
    if folds := table.get("folds", 0):
        [(named, one)] = layouts.items()
        layouts = {named.format(fold): one.fold(fold) for fold in range(folds)}
    made = {
        "folder": name,
        **table,
        "layouts": FrozenDict(layouts),
        "counts": FrozenDict({split: Counts(*found) for split, found in table.get("counts", EMPTY).items()}),
        "downloads": tuple(Download(**download) for download in table.get("downloads", ())),
        "folds": tuple(layouts) if folds else (),
    }
    return Corpus(name, **made)


CORPORA = _entries()


def read_corpus(
    name: str, *, split: str, data: str | Path | None = None, layout: str | None = None, faults: Faults = STOP
) -> Iterator[Document]:
    """Yield the documents of one split of a corpus known by name.

    Args:
        name: one of `CORPORA`, with ``/LAYOUT`` behind it if that is to be one in particular.
        split: one of its splits: mostly train, dev and test.
        data: the data folder; None takes the environment variable LINNET_DATA.
        layout: one of the forms it is published in; None takes the first that is there.
        faults: what is done about annotations that cannot be read, beside the rules of the corpus.

    Raises:
        LinnetError: a corpus, split or layout that is not known, or no data folder.
        FormatError: the files are not there (with the places looked at), or not what they should be.

    >>> read_corpus("bc5cdr", split="dve")
    Traceback (most recent call last):
    linnet.errors.LinnetError: unknown split of bc5cdr 'dve', expected one of train, dev, test; did you mean 'dev'?
    """
    chosen, (path, *ids) = _chosen(name, split, data, layout)
    docs = _documents(path, chosen, _ids(ids[0]) if ids else None, faults)
    corpus = CORPORA[name.partition("/")[0]]
    counted = chosen.format == next(iter(corpus.layouts.values())).format  # other forms hold other mentions
    return _compared(docs, corpus.counts[split], path) if counted and split in corpus.counts else docs


def corpus_files(
    name: str, *, split: str, data: str | Path | None = None, layout: str | None = None
) -> tuple[Path, ...]:
    """Return the files that `read_corpus` reads: the documents', and that of their ids where it holds other splits too.

    Arguments and errors are the same.
    """
    return _chosen(name, split, data, layout)[1]


def corpus_named(name: str) -> Corpus | None:
    """Return the corpus of a name, or one with the layout alone that stands behind it; None if there is no such.

    >>> found = map(corpus_named, ["gnormplus", "linnaeus/tags", "nobody"])
    >>> [corpus and corpus.splits for corpus in found]
    [('train', 'test', 'nlmiat'), ('all',), None]
    """
    name, slash, layout = name.partition("/")
    corpus = CORPORA.get(name)
    if corpus is None or not slash:
        return corpus
    if layout not in corpus.layouts:
        return None
    return replace(corpus, layouts=FrozenDict({layout: corpus.layouts[layout]}))


def splits_of(name: str) -> tuple[str, ...]:
    """Return the splits of a corpus, with its layout or without; none of a corpus that is not known."""
    corpus = corpus_named(name)
    return corpus.splits if corpus else ()


def _chosen(name: str, split: str, data: str | Path | None, layout: str | None) -> tuple[Layout, tuple[Path, ...]]:
    """Return the layout that is asked for, or the first that is there, and its files."""
    name, _, said = name.partition("/")
    corpus = CORPORA[_expected("corpus", name, CORPORA)]
    if layout := layout or said:
        wanted = [corpus.layouts[_expected(f"layout of {name}", layout, corpus.layouts)]]
    else:
        wanted = list(corpus.layouts.values())
    _expected(f"split of {name}", split, {part: one for one in wanted for part in one.splits})
    usual, *others = (one for one in wanted if split in one.splits)
    for one in (usual, *others):
        try:
            return one, _files(corpus, one, split, data)
        except FormatError:
            continue
    return usual, _files(corpus, usual, split, data)  # says what is missing


def _files(corpus: Corpus, layout: Layout, split: str, data: str | Path | None) -> tuple[Path, ...]:
    wanted = (layout.splits[split], layout.ids[split]) if layout.ids else (layout.splits[split],)
    return tuple(_find(corpus, data, pattern, split) for pattern in wanted)


def _expected(what: str, value: str, known: Mapping[str, object]) -> str:
    if value not in known:
        names = sorted(known) if what == "corpus" else list(known)
        raise LinnetError(f"unknown {what} {value!r}, expected one of {', '.join(names)}{did_you_mean(value, names)}")
    return value


def corpora_folder() -> Path:
    """Return the folder of the corpora that were downloaded; it need not exist yet."""
    return home() / "corpora"


def _places(corpus: Corpus, data: str | Path | None) -> Iterator[tuple[Path, bool]]:
    """Yield the folders where a corpus may lie, and whether it may lie deeper down in them."""
    place = data if data is not None else os.environ.get(VARIABLE, "")
    downloaded = corpora_folder() / corpus.name
    if place:
        folder = Path(place)
        if not folder.is_dir():
            raise LinnetError(f"the data folder {folder} does not exist; set --data, data=… or {VARIABLE}")
        for called in dict.fromkeys((corpus.folder, corpus.name)):
            yield from ((folder / "corpora" / called, True), (folder / called, True))
        yield folder, False
    elif not downloaded.is_dir():
        means = f"--data DIR, data=… or {VARIABLE}, a folder with corpora/bc5cdr …"
        raise LinnetError(f"say where the corpora are: {means}{_fetching(corpus)}")
    yield downloaded, True


def _fetching(corpus: Corpus) -> str:
    """Return how a corpus is fetched, "" for one that nobody may fetch, or that was fetched already."""
    fetched = not corpus.downloads or (corpora_folder() / corpus.name).is_dir()
    return "" if fetched else f"; or fetch it: linnet corpus prepare {corpus.name} --download -o DIR"


def _find(corpus: Corpus, data: str | Path | None, pattern: str, split: str) -> Path:
    """Return the file that `pattern` names below the corpus's folder, or lies by itself in the data folder."""
    file = pattern.rpartition("/")[2]
    places = list(_places(corpus, data))
    for folder, deep in places:
        wanted = pattern if deep else file
        for name in (wanted, f"{wanted}.gz"):
            # a file nearer to the folder goes before one deeper down
            found = sorted(visible(folder, name), key=lambda path: (len(path.parts), path))
            if found:
                return found[0]
    folder, deep = next(place for place in places if place[0].is_dir())
    problem = f"the {split} split of {corpus.name} is not there; expected the published file {file} (or {file}.gz)"
    where = "in this folder or one below it" if deep else f"here, or below a folder {corpus.folder}"
    raise FormatError(folder / (pattern.removeprefix("**/") if deep else file), f"{problem} {where}{_fetching(corpus)}")


def _ids(path: Path) -> frozenset[str]:
    return frozenset(line.strip() for line in open_text(path) if line.strip())


def _documents(path: Path, layout: Layout, ids: frozenset[str] | None, faults: Faults) -> Iterator[Document]:
    read: Callable[..., Iterator[Document]] = resolve(READERS[layout.format])
    odd = Oddities(path)
    if "repair-offsets" in layout.rules and faults.on_error == "stop":
        faults = Faults("repair", partial(_count_moved, odd))
    docs = _with_warning(read(path, faults=faults) if layout.format in ASKING else read(path), odd)
    if "fold-composites" in layout.rules:
        docs = map(like_pubtator, docs)
    if "drop-copies" in layout.rules:
        docs = _without_copies(docs, path)
    return docs if ids is None else _only(docs, ids, path)


def _compared(docs: Iterator[Document], published: Counts, path: Path) -> Iterator[Document]:
    """Yield `docs`; warn at the end if they are not as many, with as many mentions, as the corpus has."""
    documents = mentions = 0
    for doc in docs:
        yield doc
        documents += 1
        mentions += len(doc.mentions or ())
    if (documents, mentions) != published:
        found = f"{documents:,} documents with {mentions:,} mentions were read"
        known = "the corpus has {:,} with {:,}".format(*published)
        warn(f"{path}: {found}, {known}: is it another corpus, or a part?")


def _count_moved(odd: Oddities, error: FormatError, done: str) -> None:
    if done == LEFT_OUT:
        raise error
    odd.add(MISPLACED, error.line or 0, error.problem.partition(";")[0])


def _with_warning(docs: Iterator[Document], odd: Oddities) -> Iterator[Document]:
    yield from docs
    odd.warn()


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
        warn(f"{path}: {told}")


def _only(docs: Iterator[Document], ids: frozenset[str], path: Path) -> Iterator[Document]:
    missing = set(ids)
    for doc in docs:
        if doc.id in ids:
            missing.discard(doc.id)
            yield doc
    if missing:
        few = ", ".join(sorted(missing)[:5])
        raise FormatError(path, f"{len(missing):,} documents of the split are not in it, such as {few}")
