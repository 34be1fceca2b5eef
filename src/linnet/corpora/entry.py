"""What the catalog of corpora says of each: its layouts, splits, terms, counts, and where it is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from linnet.data import FrozenDict
from linnet.frozen import EMPTY

__all__ = ["RULES", "Corpus", "Counts", "Download", "Layout", "by_ids", "layouts", "splits"]

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


def splits(pattern: str, **names: str) -> Mapping[str, str]:
    """Return the pattern of each split, made by putting its name in place of ``{}``.

    >>> splits("**/{}.txt", train="Train")
    {'train': '**/Train.txt'}
    """
    return FrozenDict({split: pattern.format(name) for split, name in names.items()})


def by_ids(format: str, pattern: str, ids: Mapping[str, str], *rules: str, untested: bool = False) -> Layout:
    """Return a layout whose splits are one file, told apart by the ids of their documents."""
    return Layout(format, FrozenDict(dict.fromkeys(ids, pattern)), ids=ids, rules=rules, untested=untested)


def layouts(**made: Layout) -> Mapping[str, Layout]:
    """Return layouts by name."""
    return FrozenDict(made)
