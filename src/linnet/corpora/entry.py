"""What the catalog of corpora (``corpora.toml``) says of each: layouts, splits, terms, counts, where to find it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, NamedTuple

from linnet.data import FrozenDict
from linnet.frozen import EMPTY, freeze

__all__ = ["RULES", "Corpus", "Counts", "Download", "Layout", "read_entries"]

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

    >>> from linnet.corpora.catalog import CORPORA
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


def read_entries() -> Mapping[str, Corpus]:
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
