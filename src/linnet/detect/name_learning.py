"""What annotated documents teach the dictionary: surfaces that mean concepts, and how often what is found is marked.

How often a surface that is found was marked is a share, smoothed by that of its concept, which is smoothed by that of
the concept's semantic types, and that by the share of all that is found: a surface that was never met is believed as
far as others of its concept or type are. All is counted by document, so that a document's own mentions can be left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from linnet.data import Document
from linnet.detect.name_search import Match, SurfaceSearch
from linnet.detect.name_table import MAX_WORDS, NameTable
from linnet.detect.name_words import name_codes
from linnet.kb import KbName, KnowledgeBase
from linnet.train.aliases import Aliases

__all__ = ["NO_NAME", "Learned", "Precision", "learned_matches", "surface_search"]

NO_NAME = -1  # the name row of a surface
PRIOR = 0.1  # how much more a surface counts that meant nothing but this concept in training
SMOOTHING = 1.0  # findings with the share of the level above that are added to those of each


@dataclass(frozen=True, eq=False)
class Learned:
    """Surfaces of mentions with their concepts, and what was found with its concept, in all and where it was marked."""

    surfaces: Aliases
    found: Aliases
    marked: Aliases

    @classmethod
    def none(cls) -> Self:
        """Return what is known before training."""
        return cls(Aliases.none(), Aliases.none(), Aliases.none())

    @classmethod
    def of(cls, docs: Iterable[Document], kb: KnowledgeBase) -> Self:
        """Return the surfaces of documents with gold mentions and abbreviations; nothing was found yet."""
        return cls(Aliases.of(docs, kb, form=_findable, unlinked=True), Aliases.none(), Aliases.none())

    def without(self, documents: Iterable[str]) -> Self:
        """Return the same without what these documents (ids) taught."""
        ids = frozenset(documents)
        return type(self)(self.surfaces.without(ids), self.found.without(ids), self.marked.without(ids))

    def rebound(self, kb: KnowledgeBase) -> Self:
        """Return the same on the edited knowledge base `kb`."""
        return type(self)(self.surfaces.rebound(kb), self.found.rebound(kb), self.marked.rebound(kb))

    def save(self, folder: Path, kb: KnowledgeBase) -> None:
        """Write one file of each."""
        for name, counts in vars(self).items():
            counts.save(folder / f"{name}.jsonl", kb)

    @classmethod
    def load(cls, folder: Path, kb: KnowledgeBase, *, partly: bool = False) -> Self:
        """Return what `save` wrote, with `partly` without what is of concepts that `kb` lacks.

        Raises:
            FormatError: a file cannot be read, or a line is not one of ours.
        """
        files = (folder / f"{name}.jsonl" for name in cls.__dataclass_fields__)
        return cls(*(Aliases.load(path, kb, partly=partly) for path in files))


def _findable(surface: str) -> str:
    """Return a surface, or nothing if it cannot be found in a text."""
    return surface if 0 < len(name_codes(surface, {})) <= MAX_WORDS else ""


def surface_search(surfaces: Aliases) -> SurfaceSearch:
    """Return what finds surfaces, those that are left out too; the name of a match is the place of its surface."""
    names = (
        KbName(place, row, text, "exact", "", "", preferred=True) for place, (text, row) in enumerate(surfaces.keys)
    )
    return SurfaceSearch(NameTable.of_names(names))


def learned_matches(names: Iterable[Match], surfaces: Iterable[Match], learned: Aliases) -> Iterator[Match]:
    """Yield matches of names and of surfaces, with scores that tell how often a surface meant its concept."""
    for match in names:
        yield match._replace(score=match.score / (1 + PRIOR))
    totals, shares = learned.totals.tolist(), learned.shares.tolist()
    for match in surfaces:
        if totals[match.name]:
            score = match.score * (1 + PRIOR * shares[match.name]) / (1 + PRIOR)
            yield match._replace(name=NO_NAME, score=score)


class Precision:
    """How likely what is found is marked, from what was found and marked in annotated documents.

    >>> found = Aliases.counted({("a", ("fever", 0)): 3, ("a", ("cold", 1)): 3})
    >>> marked = Aliases.counted({("a", ("fever", 0)): 3})
    >>> precision = Precision(found, marked, lambda row: ("Sign",))
    >>> [round(precision(*key), 2) for key in (("fever", 0), ("pyrexia", 0), ("cold", 1), ("ache", 2))]
    [0.97, 0.88, 0.03, 0.5]
    """

    def __init__(self, found: Aliases, marked: Aliases, types_of: Callable[[int], tuple[str, ...]]) -> None:
        self._types_of = types_of
        self._found, self._marked = (self._sums(counts) for counts in (found, marked))

    def __call__(self, text: str, row: int) -> float:
        """Return the share of what was found that was marked, for a text in normal form and its concept's row."""
        share = 0.5
        for level in self._levels(text, row):
            share = (self._marked[level] + SMOOTHING * share) / (self._found[level] + SMOOTHING)
        return share

    def _sums(self, counts: Aliases) -> Counter[tuple[object, ...]]:
        sums: Counter[tuple[object, ...]] = Counter()
        for (text, row), total in zip(counts.keys, counts.totals.tolist(), strict=True):
            sums.update(dict.fromkeys(self._levels(text, row), total))
        return sums

    def _levels(self, text: str, row: int) -> list[tuple[object, ...]]:
        """Return what a finding is counted as, from all findings to its own."""
        whole = (self._types_of(row) if row >= 0 else None, row, text)
        return [whole[:depth] for depth in range(len(whole) + 1)]
