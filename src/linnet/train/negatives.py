"""Negatives: concepts that a mention does not mean, drawn at random or because something takes them for the right one.

Whatever the source, a negative is never an accepted answer of the mention, nor a row that stands for the same concept
(a retired one and its successor); descendants of an answer can be spared too. Hard negatives are those ranked above
the right answer (Gillick et al. 2019); who ranks, a lexical retriever or the network that is trained, is the caller's.
Negatives shared by a batch are masked where they are right for another mention.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from linnet.kb import KnowledgeBase

__all__ = ["Spared", "collisions", "hard", "random_rows"]

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

TRIES = 20  # draws for one negative before it is given up


class Spared:
    """Which concepts are no negatives of a mention: its answers, those they replace, and, if asked, their descendants.

    >>> from linnet.data import Concept, Name
    >>> from linnet.kb.build import build
    >>> import tempfile, pathlib
    >>> concepts = [Concept("X:1", (Name("fever"),)), Concept("X:2", (Name("high fever"),), parents=("X:1",))]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kb = build(concepts, pathlib.Path(folder) / "x.kb")
    ...     sorted(Spared(kb).of([0])), sorted(Spared(kb, descendants=True).of([0]))
    ([0], [0, 1])
    """

    def __init__(self, kb: KnowledgeBase, *, descendants: bool = False) -> None:
        self.kb, self.descendants = kb, descendants
        self._known: dict[int, frozenset[int]] = {}

    def of(self, rows: Iterable[int]) -> frozenset[int]:
        """Return the rows spared for a mention whose accepted answers are `rows`."""
        return frozenset().union(*(self._one(int(row)) for row in rows))

    def _one(self, row: int) -> frozenset[int]:
        if row not in self._known:
            below = np.flatnonzero(self.kb.mask(under=[self.kb.id(row)]).array).tolist() if self.descendants else ()
            self._known[row] = frozenset((row, *below))
        return self._known[row]


def hard(
    ranked: Sequence[int] | Ints, spared: frozenset[int], count: int, *, above: frozenset[int] | None = None
) -> list[int]:
    """Return places in a ranked list of concepts that serve as `count` hard negatives, the best-ranked first.

    Args:
        ranked: rows of concepts, best first.
        spared: rows that are no negatives.
        count: how many at most.
        above: take none that is ranked below the first of these rows, the right ones; None fills up with the next ones.

    >>> hard([5, 7, 2, 9], frozenset({2}), 3), hard([5, 7, 2, 9], frozenset({2, 7}), 3, above=frozenset({2}))
    ([0, 1, 3], [0])
    """
    chosen: list[int] = []
    for place, row in enumerate(ranked):
        if len(chosen) == count or (above is not None and int(row) in above):
            break
        if row >= 0 and int(row) not in spared:
            chosen.append(place)
    return chosen


def random_rows(rng: np.random.Generator, rows: Ints, spared: frozenset[int], count: int) -> list[int]:
    """Return up to `count` different rows drawn from `rows`, none of them spared."""
    chosen: dict[int, None] = {}
    for _ in range(TRIES):
        if len(chosen) >= count or not len(rows):
            break
        drawn = rng.choice(rows, count)
        chosen.update(dict.fromkeys(row for row in drawn.tolist() if row not in spared))
    return list(chosen)[:count]


def collisions(answers: Sequence[frozenset[int]], columns: Sequence[int]) -> Bools:
    """Return which columns of a batch are right, or spared, for which mention, bool (mentions, columns).

    A network must not be told that the same concept, met twice in a batch, is wrong: these places, but for a mention's
    own positive, are left out of the loss.

    >>> collisions([frozenset({3}), frozenset({4, 5})], [3, 4, 3, 5]).astype(int).tolist()
    [[1, 0, 1, 0], [0, 1, 0, 1]]
    """
    return np.array([[column in own for column in columns] for own in answers], np.bool_).reshape(
        len(answers), len(columns)
    )
