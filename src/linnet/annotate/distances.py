"""How far two links are apart: the same concept or not, steps in the hierarchy, or information in common.

Distances δ lie between 0 and 1, and similarities are 1 - δ. Between two concepts c and k:

* ``nominal``: 0 for the same one, else 1.
* ``steps``: 0 for the same one, ¼ for parent and child, ½ for siblings or grandparent and grandchild, ¾ for a common
  ancestor below the top two levels (or if one of them is such an ancestor), else 1. Of several parents the nearest way
  counts; a concept without parents is on the top level.
* ``information``: 1 - 2·IC(a)/(IC(c) + IC(k)) (Lin 1998), a = most informative common ancestor or self, with
  IC(c) = 1 - ln(1 + desc(c))/ln N from the hierarchy alone (Seco, Veale & Hayes 2004): desc(c) descendants of c among
  N live concepts. A root says nothing, a concept without children 1.

An id that the knowledge base does not hold is at distance 1 from every other. Retired ids are their successors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from linnet.data import Mention
from linnet.errors import DataError
from linnet.kb import KnowledgeBase
from linnet.kb.successors import row_of
from linnet.vocabularies.stored import edges

__all__ = ["KINDS", "MISSING", "NIL", "Hierarchy", "Kind", "Value", "similarities", "value_of"]

Kind = Literal["nominal", "steps", "information"]
Value = tuple[tuple[str, ...], ...]
Floats = npt.NDArray[np.float64]

KINDS: tuple[Kind, ...] = get_args(Kind)
NIL: Value = ((),)  # the one answer "no concept"
MISSING: Value = (("(missing)",),)  # the mention itself is not there; no concept has this id, so δ = 1 from all others


def value_of(mention: Mention, *, live: Callable[[str], str]) -> Value:
    """Return what a mention says it is: the answers that hold as well as each other, each a set of concepts.

    Args:
        mention: as an annotator left it; ``meta["unsure"]`` says that ``concepts`` are only a best guess.
        live: maps an id to the id to compare: itself, or its successor.

    Returns:
        Sorted answers of sorted ids; `NIL` if no concept fits; () = missing, not linked or unsure.

    >>> value_of(Mention(0, 9, concepts=("HP:2", "HP:1"), alternatives=(("HP:3",),)), live=str)
    (('HP:1', 'HP:2'), ('HP:3',))
    >>> value_of(Mention(0, 9, concepts=("HP:2",), meta={"unsure": True}), live=str)
    ()
    """
    if mention.concepts is None or mention.meta.get("unsure"):
        return ()
    return tuple(
        sorted({tuple(sorted(set(map(live, answer)))) for answer in (mention.concepts, *mention.alternatives)})
    )


def similarities(values: Sequence[Value], *, kind: Kind = "nominal", hierarchy: Hierarchy | None = None) -> Floats:
    """Return 1 - δ of all values, float64 (values, values), symmetric, 1 on the diagonal.

    Between two sets of concepts it is the sum of the best one-to-one similarities over the size of the larger set,
    between alternatives the largest. `NIL` has 0 with all other values. It takes 8 bytes for every two values.

    Args:
        values: different ones, none missing.
        kind: which δ of two concepts.
        hierarchy: of the knowledge base; only ``nominal`` does without.

    Raises:
        DataError: another kind, or no hierarchy for it.

    >>> similarities([NIL, (("HP:1",),), (("HP:1", "HP:2"),)]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    ids = sorted({id for value in values for answer in value for id in answer})
    place = {id: at for at, id in enumerate(ids)}
    base = _of_concepts(ids, kind, hierarchy)
    coded = [tuple(tuple(place[id] for id in answer) for answer in value) for value in values]
    single = np.array([at for at, value in enumerate(values) if [*map(len, value)] == [1]], np.intp)
    concept = np.array([coded[at][0][0] for at in single], np.intp)
    found = np.zeros((len(values), len(values)))
    found[np.ix_(single, single)] = base[np.ix_(concept, concept)]
    several = sorted(set(range(len(values))) - set(single.tolist()))
    for at in several:
        for answer in filter(None, coded[at]):
            found[at, single] = np.maximum(found[at, single], base[list(answer)].max(axis=0)[concept] / len(answer))
        found[single, at] = found[at, single]
    for at, other in itertools.combinations_with_replacement(several, 2):
        near = max(_of_sets(base, *pair) for pair in itertools.product(coded[at], coded[other]))
        found[at, other] = found[other, at] = near
    return found


def _of_sets(base: Floats, one: tuple[int, ...], other: tuple[int, ...]) -> float:
    if not one or not other:
        return float(one == other)
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - slow to import

    near = base[np.ix_(one, other)]
    return float(near[linear_sum_assignment(near, maximize=True)].sum()) / max(len(one), len(other))


def _of_concepts(ids: Sequence[str], kind: Kind, hierarchy: Hierarchy | None) -> Floats:
    if kind not in KINDS:
        raise DataError(f"distance {kind!r} is none of {', '.join(KINDS)}")
    found = np.eye(len(ids))
    if kind == "nominal":
        return found
    if hierarchy is None:
        raise DataError(f"distances by {kind} need the hierarchy of a knowledge base")
    known = [(at, row) for at, id in enumerate(ids) if (row := hierarchy.row(id)) is not None]
    held = np.array([at for at, _ in known], np.intp)
    compare = hierarchy.steps if kind == "steps" else hierarchy.information
    found[np.ix_(held, held)] = compare([row for _, row in known])
    return found


class Hierarchy:
    """Who is above whom in a knowledge base; any number of parents, no circles. It holds 32 bytes for every parent.

    Args:
        kb: the knowledge base; it is read once, whole.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.row = row_of(kb)
        self._concepts = int(kb.info["concepts"])
        self._up = edges(kb)
        order = np.argsort(self._up.above, kind="stable")
        self._above, self._children = self._up.above[order], self._up.children[order]
        self._depth: dict[int, int] = {}
        self._content: dict[int, float] = {}

    def depth(self, row: int) -> int:
        """Return how many parents lie between a concept and the nearest root: 0 for a root."""
        if row not in self._depth:
            rows, depth = {row}, 0
            while all(parents := [self._up.parents(one) for one in rows]):
                rows, depth = set[int]().union(*parents), depth + 1
            self._depth[row] = depth
        return self._depth[row]

    def content(self, row: int) -> float:
        """Return the information content of a concept, 0 (a root of all) … 1 (without children)."""
        if row not in self._content:
            size = math.log(max(2, self._concepts))
            self._content[row] = 1 - math.log(len(_reach(row, self._below))) / size
        return self._content[row]

    def _below(self, row: int) -> list[int]:
        first, end = np.searchsorted(self._above, [row, row + 1])
        found: list[int] = self._children[first:end].tolist()
        return found

    def steps(self, rows: Sequence[int]) -> Floats:
        """Return the similarity by steps of different concepts, float64 (rows, rows)."""
        found = np.zeros((len(rows), len(rows)))
        # what has a common ancestor on a level below the second has one on the third
        for row, below in self._families(rows).items():
            if self.depth(row) == 2:
                found[np.ix_(below, below)] = 0.25
        parents = [self._up.parents(row) for row in rows]
        for siblings in _invert(parents).values():
            found[np.ix_(siblings, siblings)] = 0.5
        place = {row: at for at, row in enumerate(rows)}
        over = [{above for parent in own for above in self._up.parents(parent)} for own in parents]
        for level, similarity in ((over, 0.5), (parents, 0.75)):
            pairs = [(at, place[row]) for at, above in enumerate(level) for row in above if row in place]
            for low, high in pairs:
                found[low, high] = found[high, low] = similarity
        np.fill_diagonal(found, 1.0)
        return found

    def information(self, rows: Sequence[int]) -> Floats:
        """Return the similarity by information of different concepts, float64 (rows, rows)."""
        families = self._families(rows)
        common = np.zeros((len(rows), len(rows)))
        for row in sorted(families, key=self.content):  # the more informative one has the last word
            common[np.ix_(families[row], families[row])] = self.content(row)
        own = np.array([self.content(row) for row in rows])
        both = own[:, None] + own[None, :]
        found: Floats = np.divide(2 * common, both, out=np.zeros_like(both), where=both > 0)
        np.fill_diagonal(found, 1.0)
        return found

    def _families(self, rows: Sequence[int]) -> dict[int, list[int]]:
        """Return, for all of `rows` and their ancestors, which places in `rows` are theirs or below them."""
        return _invert([_reach(row, self._up.parents) for row in rows])


def _reach(row: int, step: Callable[[int], list[int]]) -> set[int]:
    """Return a row and all that steps lead to from it."""
    found, waiting = {row}, [row]
    while waiting:
        new = set(step(waiting.pop())) - found
        found |= new
        waiting += new
    return found


def _invert(lists: Sequence[Iterable[int]]) -> dict[int, list[int]]:
    """Return for each number the places of the lists that hold it."""
    found: dict[int, list[int]] = {}
    for at, numbers in enumerate(lists):
        for number in numbers:
            found.setdefault(number, []).append(at)
    return found
