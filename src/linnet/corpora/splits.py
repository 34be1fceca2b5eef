"""Splits of a corpus by document, the same on every machine and in every order of the documents."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

from linnet.data import Document
from linnet.errors import LinnetError

__all__ = ["split"]


def split(docs: Sequence[Document], shares: Mapping[str, float], *, seed: int = 13) -> dict[str, list[Document]]:
    """Return documents by split; within a split they stay in their order.

    Documents are ranked by a hash of seed and id, and the ranking is cut at the shares, so that sizes are exact
    (rounded down, the rest goes to the first split) and a document's rank does not depend on the others.

    Args:
        docs: documents with unique ids.
        shares: split -> share; they add up to 1.
        seed: another seed is another split.

    Raises:
        LinnetError: shares that do not add up to 1 or are negative, or an id that stands twice.

    >>> parts = split([Document.of("x", str(i)) for i in range(10)], {"train": 0.8, "dev": 0.2})
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
    ranked = sorted(ids, key=lambda name: hashlib.blake2b(f"{seed}:{name}".encode()).digest())
    sizes = {name: int(share * len(ids) + 1e-9) for name, share in shares.items()}
    sizes[next(iter(sizes))] += len(ids) - sum(sizes.values())
    where: dict[str, str] = {}
    for name, size in sizes.items():
        where |= dict.fromkeys(ranked[len(where) : len(where) + size], name)
    return {name: [doc for doc in docs if where[doc.id] == name] for name in shares}
