"""The n-gram index of a knowledge base as one memory-mapped file beside it, made anew after every edit."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import Any

from linnet.arrays_file import ArraysWriter, Stored
from linnet.kb import KnowledgeBase
from linnet.kb.side_files import Earlier, SideFile
from linnet.retrieve.ngram_build import build
from linnet.retrieve.ngram_index import ARRAYS, NgramIndex
from linnet.retrieve.ngram_text import Analysis

__all__ = ["NgramFile"]

FORMAT = 3


class NgramFile(SideFile[NgramIndex]):
    """The index of all names of a knowledge base with the options of an analysis."""

    WHAT = "n-gram index"
    SUFFIX = "ngrams"
    MAGIC = b"linnet ngrams\n"
    ARRAYS = ARRAYS

    def __init__(self, kb: KnowledgeBase, analysis: Analysis) -> None:
        super().__init__(kb, dataclasses.asdict(analysis), {"format": FORMAT, "rules": _rules()})
        self.analysis = analysis

    def write(
        self,
        writer: ArraysWriter,
        concepts: Sequence[int] | None,
        earlier: Earlier[NgramIndex] | None,  # noqa: ARG002 - what an n-gram weighs depends on all names
    ) -> dict[str, Any]:
        """Write the arrays of the index."""
        names = ((name.row, name.concept, name.text) for name in self.kb.names(concepts))
        for name, values in build(names, self.analysis).arrays.items():
            writer.put(name, values)
        return {}

    def read(self, stored: Stored) -> NgramIndex:
        """Return the index over the arrays of a file."""
        return NgramIndex(stored.arrays, self.analysis)


@functools.cache
def _rules() -> str:
    """Return a digest of the rules by which names become n-grams and weights: an index made under others is stale."""
    digest = hashlib.blake2b(digest_size=8)
    for package, module in (("text", "normalise"), ("retrieve", "ngram_text"), ("retrieve", "ngram_build")):
        digest.update((resources.files(f"linnet.{package}") / f"{module}.py").read_bytes())
    return digest.hexdigest()
