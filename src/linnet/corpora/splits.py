"""Splits of a corpus known by name, or of a folder of one's own annotated files: ``train.jsonl``, ``dev.jsonl``."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from linnet.corpora import read
from linnet.corpora.catalog import CORPORA, corpus_named, read_corpus, splits_of
from linnet.corpora.sources import stem
from linnet.data import Document
from linnet.errors import FormatError, LinnetError, did_you_mean
from linnet.home import expanded
from linnet.text.normalise import one_line

__all__ = [
    "dev_documents",
    "folds",
    "has_split",
    "own_documents",
    "repeated",
    "split",
    "split_documents",
    "taught",
    "training_texts",
    "with_dev",
]


def split(docs: Sequence[Document], shares: Mapping[str, float], *, seed: int = 13) -> dict[str, list[Document]]:
    """Return documents by split; within a split they stay in their order.

    Documents are ranked by a hash of seed and id, and the ranking is cut at the shares, so that sizes are exact
    (rounded down, the rest goes to the first split) and a document's rank does not depend on the others. Documents of
    one text, whatever its blanks and line ends, have the rank of the first of them, and stay together where a cut would
    part them: what is measured on one split must not have been learned from another.

    Args:
        docs: documents with unique ids.
        shares: split -> share; they add up to 1.
        seed: another seed is another split.

    Raises:
        LinnetError: shares that do not add up to 1 or are negative, or an id that stands twice.

    >>> parts = split([Document.of(f"x {i}") for i in range(10)], {"train": 0.8, "dev": 0.2})
    >>> {name: len(part) for name, part in parts.items()}
    {'train': 8, 'dev': 2}
    """
    _check_shares(shares)
    sizes = {name: int(share * len(docs) + 1e-9) for name, share in shares.items()}
    sizes[next(iter(sizes))] += len(docs) - sum(sizes.values())
    names, cuts = list(sizes), list(accumulate(sizes.values()))
    where: dict[tuple[str, str], str] = {}
    for place, doc in enumerate(_ranked(docs, seed)):
        where.setdefault(_text(doc), names[bisect_right(cuts, place)])
    return {name: [doc for doc in docs if where[_text(doc)] == name] for name in shares}


def with_dev(
    docs: Sequence[Document], dev: Sequence[Document], share: float, *, seed: int
) -> tuple[list[Document], list[Document]]:
    """Return documents to train on and to choose on: a share of the former where there are none of the latter.

    It is a share of those that people have annotated; the others stay to be trained on.

    >>> docs = [Document(f"{i}", f"x {i}", mentions=()) for i in range(10)]
    >>> [len(part) for part in with_dev([*docs, Document.of("y")], [], 0.2, seed=13)]
    [9, 2]
    """
    if dev or not share:
        return list(docs), list(dev)
    annotated = [doc for doc in docs if doc.mentions is not None]
    kept = split(annotated, {"train": 1 - share, "dev": share}, seed=seed)["dev"]
    ids = {doc.id for doc in kept}
    return [doc for doc in docs if doc.mentions is None or doc.id not in ids], kept


def folds(docs: Sequence[Document], count: int, *, seed: int = 13) -> list[list[Document]]:
    """Return documents in so many parts of about one size, each in one of them; documents of one text stay together.

    Raises:
        LinnetError: an id that stands twice, or fewer texts than parts.

    >>> [len(part) for part in folds([Document.of(f"x {i}") for i in range(11)], 4)]
    [3, 3, 3, 2]
    """
    sizes = dict.fromkeys(range(count), 0)
    where: dict[tuple[str, str], int] = {}
    for doc in _ranked(docs, seed):
        sizes[where.setdefault(_text(doc), min(sizes, key=sizes.__getitem__))] += 1
    if not all(sizes.values()):
        raise LinnetError(f"{len(where):,} documents of different text are too few for {count} folds")
    return [[doc for doc in docs if where[_text(doc)] == part] for part in sizes]


def _ranked(docs: Sequence[Document], seed: int) -> list[Document]:
    """Return documents by a hash of seed and id, those of one text behind the first of them."""
    ids = [doc.id for doc in docs]
    if len(set(ids)) < len(ids):
        counts = Counter(ids)
        twice = next(id for id in ids if counts[id] > 1)
        raise LinnetError(f"document id {twice!r} stands twice; a split needs unique ids")
    ranks = {name: hashlib.blake2b(f"{seed}:{name}".encode()).digest() for name in ids}
    first: dict[tuple[str, str], bytes] = {}
    for doc in docs:
        first[_text(doc)] = min(first.get(_text(doc), ranks[doc.id]), ranks[doc.id])
    return sorted(docs, key=lambda doc: (first[_text(doc)], ranks[doc.id]))


def repeated(docs: Sequence[Document]) -> int:
    """Return how many documents have the text of an earlier one, whatever its blanks and line ends."""
    return len(docs) - len({_text(doc) for doc in docs})


def _text(doc: Document) -> tuple[str, str]:
    """Return what documents of one text have in common; one without text is like no other."""
    text = one_line(doc.text)
    return text, "" if text else doc.id


def _check_shares(shares: Mapping[str, float]) -> None:
    total = sum(shares.values())
    if any(share < 0 for share in shares.values()) or abs(total - 1) > 1e-9:
        found = ", ".join(f"{name}={share:g}" for name, share in shares.items())
        expected = "shares must be at least 0 and add up to 1, such as train=0.8,dev=0.2"
        raise LinnetError(f"{expected}; {found} add up to {total:g}")


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
    yield from map(taught, read(places[0]))


def training_texts(
    corpora: Sequence[str], beside: Sequence[Document] = (), *, data: str | Path | None = None
) -> list[Document]:
    """Return the training documents of corpora without what people marked in them.

    One whose id or text is that of an earlier one, or of one of `beside`, is left out.

    Raises:
        LinnetError: an unknown corpus.
        FormatError: its files are not there, or damaged.
    """
    ids, texts = {doc.id for doc in beside}, {one_line(doc.text) for doc in beside}
    made = []
    for doc in (doc for corpus in corpora for doc in split_documents(corpus, split="train", data=data)):
        if doc.id not in ids and one_line(doc.text) not in texts:
            ids.add(doc.id)
            texts.add(one_line(doc.text))
            made.append(replace(doc, mentions=None, reviewed=None))
    return made


def own_documents(source: str | Path) -> Iterator[Document]:
    """Yield the documents of a file, or of a folder of files, with the mentions that people marked.

    Raises:
        FormatError: it is not there or cannot be read.
    """
    return map(taught, read(source))


def taught(doc: Document) -> Document:
    """Return a document with what people marked, mentions None where nobody has looked at it.

    >>> from linnet.data import Mention
    >>> doc = Document("a", "Fits, fever.", mentions=(Mention(0, 4, source="gold"), Mention(6, 11)))
    >>> len(taught(doc).mentions), taught(Document("a", "Fits.", mentions=(Mention(0, 4),))).mentions
    (1, None)
    """
    theirs = tuple(mention for mention in doc.mentions or () if mention.source != "pred")
    unseen = doc.mentions is None or (doc.mentions and not theirs and doc.reviewed is None)
    return replace(doc, mentions=None if unseen else theirs)


def dev_documents(corpus: str, *, data: str | Path | None = None) -> Iterator[Document]:
    """Yield the dev documents of a corpus, none where it has no such split; see `split_documents`."""
    if has_split(corpus, "dev"):
        yield from split_documents(corpus, split="dev", data=data)


def _folder(corpus: str) -> Path:
    folder = expanded(corpus)
    if not folder.is_dir():
        if folder.is_file():
            ways = "linnet corpus split makes one, linnet train --folds takes a file"
            raise LinnetError(f"corpus {corpus!r} is a file, expected a folder: {ways}")
        if folder.suffix:
            beside = [found.name for found in folder.parent.iterdir()] if folder.parent.is_dir() else []
            raise LinnetError(f"there is no file {corpus!r}{did_you_mean(folder.name, beside)}")
        hint = did_you_mean(corpus, CORPORA) or f"; known are {', '.join(sorted(CORPORA))};"
        hint += " of your own documents, linnet corpus split makes a folder"
        raise LinnetError(f"corpus {corpus!r} is neither a known corpus nor a folder{hint}")
    return folder


def _places(folder: Path, split: str) -> list[Path]:
    """Return the files and folders of a split, hidden ones and brat's annotations beside their texts left out."""
    return sorted(place for place in folder.iterdir() if stem(place) == split and place.suffix != ".ann")
