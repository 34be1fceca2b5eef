"""What mentions ask, with their candidates as columns: candidate after candidate, mention after mention.

Whatever is computed of one mention's candidates is computed for those of many mentions at once, in few array
operations, and does not depend on which mentions stand beside it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates, Document
from linnet.text.normalise import basic
from linnet.text.queries import query_texts

__all__ = [
    "Asked", "Bools", "Floats", "Ints", "Question", "Rows", "is_among", "joined", "looked_up", "pairs", "ranges",
]  # fmt: skip

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]

NOTHING = Candidates.none()


class Question(NamedTuple):
    """A mention: which document it is of, what it stands for, what it says, the normal form of what it stands for."""

    document: int
    query: str
    surface: str
    key: str
    types: tuple[str, ...]
    candidates: Candidates


@dataclass(frozen=True, eq=False)
class Asked:
    """Questions that have concepts among their candidates, and these concepts.

    ``rows`` int32 (candidates); ``of`` int64 (candidates), the question that each is a candidate of; ``real`` bool
    (candidates of all mentions), which of them these are; ``lengths`` int64 (mentions), how many each mention has.
    """

    questions: list[Question]
    rows: Rows
    of: Ints
    real: Bools
    lengths: Ints

    @classmethod
    def by(cls, docs: Sequence[Document]) -> Asked:
        """Return what the mentions of documents ask; the documents need abbreviations."""
        questions = [one for number, doc in enumerate(docs) for one in _questions(number, doc)]
        lengths = np.array([len(one.candidates) for one in questions], np.int64)
        rows = joined([one.candidates.rows for one in questions], np.int32)
        real = rows >= 0
        places, of = np.unique(np.repeat(np.arange(len(questions)), lengths)[real], return_inverse=True)
        return cls([questions[place] for place in places.tolist()], rows[real], of, real, lengths)

    @functools.cached_property
    def starts(self) -> Ints:
        """Where the candidates of each question begin, int64 (questions)."""
        return np.searchsorted(self.of, np.arange(len(self.questions)))

    def column(self, value: Callable[[Candidates], Floats]) -> Floats:
        """Return what `value` gives of the candidates of each question, those that are concepts, (candidates,)."""
        lists = [value(one.candidates) for one in self.questions]
        reals = [one.candidates.rows >= 0 for one in self.questions]
        values: Floats = joined(lists, np.float32)[joined(reals, np.bool_)]
        return values

    def most(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the highest value of each question, (candidates,) -> (questions,)."""
        return np.maximum.reduceat(values, self.starts)

    def ranks(self, values: Floats) -> Ints:
        """Return how many candidates of the same question have a higher value, int64 (candidates)."""
        order = np.lexsort((-values, self.of))
        ordered, of = values[order], self.of[order]
        first = np.concatenate([[True], (ordered[1:] != ordered[:-1]) | (of[1:] != of[:-1])])
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.flatnonzero(first)[np.cumsum(first) - 1] - self.starts[of]
        return ranks

    def counted(self, tables: Sequence[Mapping[int, int]], of: Ints | None = None) -> Floats:
        """Return how often the row of each candidate is counted in the table of its question, float32 (candidates).

        With `of` (candidates) that says which table is asked for each candidate.
        """
        owners, rows, counts = pairs(tables)
        return looked_up((owners, rows), counts, (self.of if of is None else of, self.rows))


def _questions(number: int, doc: Document) -> Iterator[Question]:
    for mention, query in zip(doc.mentions or (), query_texts(doc), strict=True):
        candidates = NOTHING if mention.candidates is None else mention.candidates
        yield Question(number, query, doc.surface(mention), basic(query), mention.types, candidates)


def joined(arrays: Sequence[npt.NDArray[Any]], kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return arrays one after another, also if there are none."""
    return np.concatenate([np.empty(0, kind), *arrays])


def pairs(tables: Sequence[Mapping[int, int]]) -> tuple[Ints, Ints, Floats]:
    """Return of everything counted in some tables which table it is in, what it is, and how often."""
    owners = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    rows = np.fromiter(itertools.chain.from_iterable(tables), np.int64, len(owners))
    counts = itertools.chain.from_iterable(table.values() for table in tables)
    return owners, rows, np.fromiter(counts, np.float32, len(owners))


def ranges(begins: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Return all numbers of some ranges, which range each is of, and where each range begins among the numbers."""
    lengths = ends - begins
    firsts = np.cumsum(lengths) - lengths
    of = np.repeat(np.arange(len(begins)), lengths)
    return np.arange(len(of)) + (begins - firsts)[of], of, firsts


def looked_up(pairs: tuple[Ints, Ints], values: Floats, wanted: tuple[Ints, Ints | Rows]) -> Floats:
    """Return the values of wanted pairs of numbers, 0 of those that are not among `pairs`.

    >>> looked_up((np.array([0, 1]), np.array([7, 5])), np.array([2, 3], np.float32),
    ...           (np.array([0, 0, 1]), np.array([5, 7, 5]))).tolist()
    [0.0, 2.0, 3.0]
    """
    if not len(values):
        return np.zeros(len(wanted[0]), np.float32)
    width = int(max(pairs[1].max(), wanted[1].max(initial=0))) + 1
    keys, asked = pairs[0] * width + pairs[1], wanted[0] * width + wanted[1]
    order = np.argsort(keys)
    keys = keys[order]
    places = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    found: Floats = np.where(keys[places] == asked, values[order][places], np.float32(0))
    return found


def is_among(known: tuple[Ints, Ints], wanted: tuple[Ints, Ints | Rows]) -> Bools:
    """Say which of the wanted pairs of numbers are among those known."""
    return looked_up(known, np.ones(len(known[0]), np.float32), wanted) > 0
