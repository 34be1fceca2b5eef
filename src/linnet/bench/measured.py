"""What the benchmarks of a recipe's parts share: its knowledge base, documents of its corpus, and the time of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from linnet.corpora.splits import split_documents
from linnet.data import Document
from linnet.errors import RecipeError
from linnet.kb import KnowledgeBase
from linnet.recipes.recipe import Recipe

__all__ = ["MIB", "best_seconds", "dev_documents", "open_kb"]

MIB = 2**20


def open_kb(recipe: Recipe, source: str, *, data: Path | None) -> KnowledgeBase:
    """Return the knowledge base of a recipe that must name a corpus too.

    Raises:
        RecipeError: the recipe names no corpus or knowledge base.
    """
    kb = recipe.open_kb(data=data)
    if kb is None or not recipe.corpus:
        raise RecipeError(source, ["corpus or kb: missing; name the corpus and the knowledge base"])
    return kb


def dev_documents(recipe: Recipe, most: int, *, data: Path | None) -> list[Document]:
    """Return the first dev documents of a recipe's corpus that have mentions."""
    return [doc for doc in split_documents(recipe.corpus, split="dev", data=data) if doc.mentions][:most]


def best_seconds(run: Callable[[], object], times: int = 3) -> float:
    """Return the shortest of several runs, the first of which reads the network."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return min(seconds)
