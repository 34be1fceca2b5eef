"""Splits of a corpus by document, the same on every machine and in every order of the documents."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from linnet.data import Document
from linnet.errors import LinnetError

__all__ = ["repeated", "split"]


def split(docs: Sequence[Document], shares: Mapping[str, float], *, seed: int = 13) -> dict[str, list[Document]]:
    """Return documents by split; within a split they stay in their order.

    Documents are ranked by a hash of seed and id, and the ranking is cut at the shares, so that sizes are exact
    (rounded down, the rest goes to the first split) and a document's rank does not depend on the others. Documents of
    one text have the rank of the first of them, and stay together where a cut would part them: what is measured on one
    split must not have been learned from another.

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
    if any(share < 0 for share in shares.values()) or abs(sum(shares.values()) - 1) > 1e-9:
        raise LinnetError(f"shares must be at least 0 and add up to 1, found {dict(shares)}")
    ids = [doc.id for doc in docs]
    if len(set(ids)) < len(ids):
        counts = Counter(ids)
        twice = next(id for id in ids if counts[id] > 1)
        raise LinnetError(f"document id {twice!r} stands twice; a split needs unique ids")
    ranks = {name: hashlib.blake2b(f"{seed}:{name}".encode()).digest() for name in ids}
    first: dict[tuple[str, str], bytes] = {}
    for doc in docs:
        first[_text(doc)] = min(first.get(_text(doc), ranks[doc.id]), ranks[doc.id])
    ranked = sorted(docs, key=lambda doc: (first[_text(doc)], ranks[doc.id]))
    sizes = {name: int(share * len(ids) + 1e-9) for name, share in shares.items()}
    sizes[next(iter(sizes))] += len(ids) - sum(sizes.values())
    names, cuts = list(sizes), list(accumulate(sizes.values()))
    where: dict[tuple[str, str], str] = {}
    for place, doc in enumerate(ranked):
        where.setdefault(_text(doc), names[bisect_right(cuts, place)])
    return {name: [doc for doc in docs if where[_text(doc)] == name] for name in shares}


def repeated(docs: Sequence[Document]) -> int:
    """Return how many documents have the text of an earlier one."""
    return len(docs) - len({_text(doc) for doc in docs})


def _text(doc: Document) -> tuple[str, str]:
    """Return what documents of one text have in common; one without text is like no other."""
    return doc.text, "" if doc.text else doc.id
