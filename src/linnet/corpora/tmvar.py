"""tmVar 3: variants of genes in PubTator's layout, whose last column holds fields of several kinds.

::

    tmVar:p|SUB|V|600|E;HGVS:p.V600E;VariantGroup:2;CorrespondingGene:673;RS#:113488022;CA#:123643

A variant's concepts are its numbers in dbSNP; without one it is NIL. The other fields stay in ``meta["variant"]``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from linnet.corpora.faults import STOP, Faults
from linnet.corpora.ids import variant
from linnet.corpora.pubtator import read as read_pubtator
from linnet.data import Document, FrozenDict, Mention

__all__ = ["read"]

VARIANT = re.compile(r"tmVar:|VariantGroup:|Va1iantGroup:|RS#:|HGVS:|[cgmnpr]?\|[A-Z]{2,}\||(?:DBSNP:)?rs\d")


def read(path: str | Path, *, faults: Faults = STOP) -> Iterator[Document]:
    """Yield the documents of the corpus.

    Args:
        path: the file, plain or gzip.
        faults: what is done about lines that cannot be read.

    Raises:
        FormatError: as PubTator.
    """
    for doc in read_pubtator(path, faults=faults):
        yield dataclasses.replace(doc, mentions=tuple(map(_mention, doc.mentions or ())))


def _mention(mention: Mention) -> Mention:
    field = _field(mention)
    if not VARIANT.match(field):
        return mention
    concepts, others = variant(field)
    meta = {key: value for key, value in mention.meta.items() if key not in ("separator", "ids")}
    if others:
        meta["variant"] = FrozenDict(others)
    return dataclasses.replace(mention, concepts=concepts, meta=meta)


def _field(mention: Mention) -> str:
    """Return the column that the concepts of a mention were read from."""
    ids, separator = mention.meta.get("ids"), mention.meta.get("separator", "|")
    concepts = mention.concepts or ()
    if isinstance(ids, str):
        return ids
    gaps = str(separator) if len(str(separator)) == len(concepts) - 1 else str(separator) * (len(concepts) - 1)
    return "".join(id + gap for id, gap in zip_longest(concepts, gaps, fillvalue=""))
