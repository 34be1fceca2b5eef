"""What people type when they search for a concept, drawn from the names of a knowledge base with a fixed seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from linnet.text.normalise import basic

__all__ = ["FILTERS", "KINDS", "Asked", "draw"]

Asked = tuple[str, dict[str, Any]]  # what is typed, and the filters as keywords of `KnowledgeBase.search`
SAMPLE = 2_000  # concepts whose names say which words are frequent
MISSED = 100_000  # retired concepts drawn one after the other
FREQUENT = 100  # words that count as frequent: the first of the sample


def draw(kb: KnowledgeBase, queries: int, *, seed: int = 13) -> dict[str, list[Asked]]:
    """Return `queries` searches of every kind in `KINDS`, each with every filter in `FILTERS`: class -> searches.

    A search is drawn from a name of a concept drawn at random, so that frequent words occur as often as they do
    in names. The filters let that concept pass: one of its types; one of its ancestors, or itself where it has none.

    >>> from linnet.bench.queries import KINDS
    >>> list(KINDS)
    ['exact', 'prefix of 2 to 4 letters', 'two words', 'one frequent word', 'reordered words']
    """
    rng = np.random.default_rng(seed)
    frequent = _frequent(kb, rng)
    found: dict[str, list[Asked]] = {}
    for kind, make in KINDS.items():
        drawn = [pair for pair, _ in zip(_draw(kb, make, frequent, rng), range(queries), strict=False)]
        for name, options in FILTERS.items():
            found[f"{kind}, {name}" if name else kind] = [(text, options(kb, row, rng)) for row, text in drawn]
    return found


def _live(kb: KnowledgeBase, rng: np.random.Generator) -> Iterator[tuple[int, str]]:
    """Yield row and one name of live concepts drawn at random."""
    missed = 0
    while missed < MISSED:
        row = int(rng.integers(len(kb)))
        concept = kb[row]
        if concept.replaced_by is None and concept.names:
            missed = 0
            yield row, concept.names[int(rng.integers(len(concept.names)))].text
        missed += 1
    raise LinnetError(f"{kb.path} holds hardly any live concepts: there is nothing to search for")


def _frequent(kb: KnowledgeBase, rng: np.random.Generator) -> list[str]:
    names = (name for (_, name), _ in zip(_live(kb, rng), range(SAMPLE), strict=False))
    counts = Counter(word for name in names for word in set(basic(name).split()) if len(word) > 2)
    return sorted(counts, key=lambda word: (-counts[word], word))[:FREQUENT]


Make = Callable[[str, Sequence[str], np.random.Generator], str]


def _draw(
    kb: KnowledgeBase, make: Make, frequent: Sequence[str], rng: np.random.Generator
) -> Iterator[tuple[int, str]]:
    """Yield concepts with what is typed to find them; after many names that do not serve, whole names."""
    unfit = 0
    for row, name in _live(kb, rng):
        text = make(name, frequent, rng)
        unfit = 0 if text else unfit + 1
        if text or unfit > SAMPLE:
            yield row, text or name


def _prefix(name: str, _frequent: Sequence[str], rng: np.random.Generator) -> str:
    norm = basic(name)
    return norm[: int(rng.integers(2, 5))].strip() if len(norm) > 4 else ""


def _two_words(name: str, _frequent: Sequence[str], rng: np.random.Generator) -> str:
    words = list(dict.fromkeys(basic(name).split()))
    return " ".join(rng.permutation(words)[:2].tolist()) if len(words) > 2 else ""


def _frequent_word(_name: str, frequent: Sequence[str], rng: np.random.Generator) -> str:
    return frequent[int(rng.integers(len(frequent)))] if frequent else ""


def _reordered(name: str, _frequent: Sequence[str], rng: np.random.Generator) -> str:
    words = basic(name).split()
    turned: list[str] = rng.permutation(words).tolist()
    return " ".join(turned) if len(words) > 1 and turned != words else ""


KINDS: dict[str, Make] = {
    "exact": lambda name, _frequent, _rng: name,
    "prefix of 2 to 4 letters": _prefix,
    "two words": _two_words,
    "one frequent word": _frequent_word,
    "reordered words": _reordered,
}


def _types(kb: KnowledgeBase, row: int, rng: np.random.Generator) -> dict[str, Any]:
    types = kb.types_of(row)
    return {"types": [types[int(rng.integers(len(types)))]]} if types else {}


def _under(kb: KnowledgeBase, row: int, rng: np.random.Generator) -> dict[str, Any]:
    above = [*kb.ancestors(row).tolist(), row]
    return {"under": [kb.id(above[int(rng.integers(len(above)))])]}


FILTERS: dict[str, Callable[[KnowledgeBase, int, np.random.Generator], dict[str, Any]]] = {
    "": lambda _kb, _row, _rng: {},
    "of a type": _types,
    "under a concept": _under,
}
