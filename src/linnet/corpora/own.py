"""Splits of a corpus known by name, or of a folder of one's own annotated files: ``train.jsonl``, ``dev.jsonl``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from linnet.corpora import read
from linnet.corpora.catalog import CORPORA, corpus_named, read_corpus, splits_of
from linnet.corpora.sources import stem
from linnet.data import Document
from linnet.errors import FormatError, LinnetError, did_you_mean
from linnet.home import expanded

__all__ = ["dev_documents", "has_split", "split_documents"]


def has_split(corpus: str, split: str) -> bool:
    """Return whether a corpus has a split.

    Args:
        corpus: a name of `linnet.corpora.catalog.CORPORA`, or a folder.
        split: mostly train, dev and test.

    Raises:
        LinnetError: neither a known corpus nor a folder.
    """
    return split in splits_of(corpus) if corpus_named(corpus) else bool(_places(_folder(corpus), split))


def split_documents(corpus: str, *, split: str, data: str | Path | None = None) -> Iterator[Document]:
    """Yield the documents of a split, with the mentions that people marked: predictions teach nothing.

    One that holds predictions alone is taken for one that nobody has looked at: its mentions are None.

    Args:
        corpus: a name of `linnet.corpora.catalog.CORPORA`, or a folder that holds, for each split, a file of any format
            or a folder of files that is called so; ``linnet corpus split`` writes such files.
        split: mostly train, dev and test.
        data: the folder of known corpora; None takes the environment variable LINNET_DATA.

    Raises:
        LinnetError: neither a known corpus nor a folder; an unknown split.
        FormatError: no such split in the folder, several files of it, or damage.
    """
    if corpus_named(corpus):
        yield from read_corpus(corpus, split=split, data=data)
        return
    folder = _folder(corpus)
    places = _places(folder, split)
    if len(places) != 1:
        found = ", ".join(place.name for place in places) or "nothing so called"
        wanted = f"expected one file or folder called {split}, such as {split}.jsonl"
        raise FormatError(folder, f"{wanted}, found {found}; linnet corpus split makes them of one set of documents")
    for doc in read(places[0]):
        theirs = tuple(mention for mention in doc.mentions or () if mention.source != "pred")
        unseen = doc.mentions is None or (doc.mentions and not theirs and doc.reviewed is None)
        yield replace(doc, mentions=None if unseen else theirs)


def dev_documents(corpus: str, *, data: str | Path | None = None) -> Iterator[Document]:
    """Yield the dev documents of a corpus, none where it has no such split; see `split_documents`."""
    if has_split(corpus, "dev"):
        yield from split_documents(corpus, split="dev", data=data)


def _folder(corpus: str) -> Path:
    folder = expanded(corpus)
    if not folder.is_dir():
        hint = did_you_mean(corpus, CORPORA) or f"; known are {', '.join(sorted(CORPORA))}"
        raise LinnetError(f"corpus {corpus!r} is neither a known corpus nor a folder{hint}")
    return folder


def _places(folder: Path, split: str) -> list[Path]:
    """Return the files and folders of a split, hidden ones and brat's annotations beside their texts left out."""
    return sorted(place for place in folder.iterdir() if stem(place) == split and place.suffix != ".ann")
