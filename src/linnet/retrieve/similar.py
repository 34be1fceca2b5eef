"""Concept search for people that goes on to similar names: typing errors, and parts of words."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

from linnet.kb import KnowledgeBase
from linnet.kb.search import ANY_WORD, Hit
from linnet.retrieve.ngram_file import NgramFile
from linnet.retrieve.ngram_index import NgramIndex
from linnet.retrieve.ngram_text import Analysis
from linnet.text.normalise import basic

__all__ = ["SIMILAR", "by_tier", "search"]

SIMILAR = "similar name"  # the tier of hits beside those of `linnet.kb.search`
SHORTEST = 3  # letters of what similar names are looked up for
LIKE = 0.3  # cosine that a similar name reaches: "siezure" and seizure have 0.36, nonsense up to 0.28

_opened = weakref.WeakKeyDictionary[KnowledgeBase, NgramIndex]()  # a service searches the same one again and again


def search(
    kb: KnowledgeBase, text: str, *, types: Sequence[str] = (), under: Sequence[str] = (), limit: int = 20
) -> list[Hit]:
    """Return what `KnowledgeBase.search` finds; where no name has all the words, the most similar names come first.

    Names are similar that share character n-grams. Their index beside the knowledge base is made where there is none.
    """
    hits = kb.search(text, types=types, under=under, limit=limit)
    if (hits and hits[0].tier != ANY_WORD) or len(basic(text)) < SHORTEST:
        return hits
    allowed = kb.mask(types or None, under=under or None)
    rows, scores, names = _index(kb).search(text, limit, allowed)
    found = zip(rows[scores >= LIKE].tolist(), names[scores >= LIKE].tolist(), strict=True)
    near = {row: Hit(row, kb.id(row), kb[row].name, kb.name(name).text, SIMILAR) for row, name in found}
    return [*near.values(), *(hit for hit in hits if hit.row not in near)][:limit]


def by_tier(hit: Hit) -> int:
    """Return the place of a hit among those of several knowledge bases: what lacks words that were asked for is last.

    >>> [by_tier(Hit(0, "X:1", "Seizure", "Seizure", tier)) for tier in ("exact", "prefix", SIMILAR)]
    [0, 1, 2]
    """
    return 0 if hit.tier in ("id", "exact") else 2 if hit.tier in (SIMILAR, ANY_WORD) else 1


def _index(kb: KnowledgeBase) -> NgramIndex:
    if kb not in _opened:
        _opened[kb] = NgramFile(kb, Analysis()).current()
    return _opened[kb]
