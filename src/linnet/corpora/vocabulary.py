"""A corpus as a source of concepts: its labels, with their surface forms as names, for want of a terminology.

What names a corpus is a path, a pattern, or a corpus known by name with its split or splits: ``bc5cdr:train,dev``, and
with its layout if that is not the first that is there: ``bc5cdr/bioc:train``.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from linnet.corpora import read
from linnet.corpora.catalog import CORPORA, corpus_files, corpus_named, read_corpus, splits_of
from linnet.corpora.faults import STOP, Faults
from linnet.corpora.sources import find
from linnet.data import Concept, Document
from linnet.errors import LinnetError, did_you_mean
from linnet.frozen import EMPTY
from linnet.text.remote import is_url
from linnet.vocabularies.corpus_concepts import read_corpus_concepts

__all__ = ["corpus_paths", "documents", "gold_ids", "known_corpus", "read_corpus_vocabulary"]

A_CORPUS = re.compile(r"([A-Za-z]\w*(?:/[\w-]+)?)(:[\w, ]*)?")  # with its splits or without


def documents(
    source: str | Path,
    *,
    format: str | None = None,
    data: str | Path | None = None,
    faults: Faults = STOP,
    options: Mapping[str, Any] = EMPTY,
) -> Iterator[Document]:
    """Yield the documents of a path, or of a known corpus written ``name:split`` or ``name:split,split``.

    Args:
        source: the path, pattern or known corpus; the one split of a corpus that has no other may be left out.
        format: of the files of a path; None finds it out.
        data: the data folder of the known corpora; None takes the environment variable LINNET_DATA.
        faults: what is done about annotations that cannot be read.
        options: other keywords of the reader of `format`.

    Raises:
        LinnetError: a corpus or split that there is not, or no data folder.
        FormatError: files that are not there or cannot be read.
    """
    name = known_corpus(source)
    if not name:
        _refuse_unknown(str(source))
        return read(source, format=format, on_error=faults, options=options)
    found = [read_corpus(name, split=item, data=data, faults=faults) for item in _splits(name, source)]
    return itertools.chain.from_iterable(map(faults.guard_file, found))


def corpus_paths(source: str | Path, *, data: str | Path | None = None) -> list[Path]:
    """Return the files, or the one folder, that `documents` reads; arguments and errors are the same."""
    name = known_corpus(source)
    if name:
        splits = _splits(name, source)
        return [path for split in splits for path in corpus_files(name, split=split, data=data)]
    if is_url(source):
        return []  # nothing here
    return [Path(source)] if Path(source).exists() else [found.path for found in find(source, ())]


def _splits(name: str, source: str | Path) -> list[str]:
    """Return the splits of the known corpus `name` that `source` names."""
    splits = str(source).partition(":")[2].split(",")
    if splits == [""]:
        splits = list(splits_of(name))
        if len(splits) != 1 or str(source).endswith(":"):
            raise LinnetError(f"say which split of {name}: {', '.join(f'{name}:{item}' for item in splits)}")
    return [split.strip() for split in splits]


def _refuse_unknown(source: str) -> None:
    """Refuse what names no file and was meant for a known corpus: it has a split behind it, or is one word."""
    meant = A_CORPUS.fullmatch(source)
    if meant is None or ("/" in source and not meant[2]) or Path(source).exists():
        return
    name = meant[1].partition("/")[0]
    hint = did_you_mean(name.lower(), CORPORA) or f"; there are: {', '.join(CORPORA)}"
    raise LinnetError(f"{source}: there is no such file, and no corpus {name!r} is known{hint}")


def known_corpus(source: str | Path) -> str:
    """Return the name of the known corpus that `source` means, ``""`` if it is a path.

    With a split behind it an unknown layout belongs to the name too: reading it says which layouts there are.

    >>> known_corpus("bc5cdr:train"), known_corpus("bc5cdr/bioc:dev"), known_corpus("notes.jsonl")
    ('bc5cdr', 'bc5cdr/bioc', '')
    >>> known_corpus("bc5cdr/bio:dev"), known_corpus("bc5cdr/bio")
    ('bc5cdr/bio', '')
    """
    name, _, split = str(source).partition(":")
    known = corpus_named(name) or (split and corpus_named(name.partition("/")[0]))
    return name if known and not Path(source).exists() else ""


def read_corpus_vocabulary(
    path: str | Path, *, min_count: int = 1, format: str | None = None, data: str | Path | None = None
) -> Iterator[Concept]:
    """Yield the concepts that people annotated in a corpus (`linnet.vocabularies.corpus_concepts`).

    Args:
        path: a file, folder or pattern of annotated documents, or a known corpus: ``bc5cdr:train``.
        min_count: leave out surface forms seen less often, except a concept's most frequent one.
        format: the corpus format of the files; found out by default.
        data: the data folder of the known corpora; LINNET_DATA by default.

    Raises:
        LinnetError: `min_count` is less than 1, an unknown split, or no mention has a concept.
        FormatError: files that are not there or cannot be read.
    """
    return read_corpus_concepts(documents(path, format=format, data=data), min_count=min_count)


def gold_ids(docs: Iterable[Document]) -> Counter[str]:
    """Return how often each concept was annotated by people, in every answer that a mention allows.

    >>> from linnet.data import Mention
    >>> gold_ids([Document("d", "Fits.", mentions=(Mention(0, 4, source="gold", concepts=("HP:0001250",)),))])
    Counter({'HP:0001250': 1})
    """
    found: Counter[str] = Counter()
    for doc in docs:
        for mention in doc.mentions or ():
            if mention.source != "pred":
                found.update(dict.fromkeys(itertools.chain(mention.concepts or (), *mention.alternatives), 1))
    return found
