"""Ways through the hierarchy of a knowledge base: up to a root, and over a common ancestor to another concept."""

from __future__ import annotations

from typing import NamedTuple

from linnet.kb.knowledge_base import KnowledgeBase

__all__ = ["Path", "path_between", "path_up"]


class Path(NamedTuple):
    """Rows of concepts from one end to the other, and the place of the highest one among them."""

    rows: tuple[int, ...]
    top: int


def path_up(kb: KnowledgeBase, row: int) -> Path:
    """Return the shortest way from a concept up to a root; of equally short ones that over parents listed first."""
    above = _above(kb, row)
    root = next((one for one in above if not len(kb.parents(one))), row)  # in circles there may be none
    rows = _way(above, root)
    return Path(rows, len(rows) - 1)


def path_between(kb: KnowledgeBase, start: int, end: int) -> Path | None:
    """Return the shortest way up from one concept to a common ancestor and down to another; None if there is none.

    Either may be the ancestor itself.
    """
    left, right = _above(kb, start), _above(kb, end)
    ways = ((_way(left, row), _way(right, row)) for row in left if row in right)
    best = min(ways, key=lambda both: (len(both[0]) + len(both[1]), len(both[0])), default=None)
    if best is None:
        return None
    up, down = best
    return Path((*up, *reversed(down[:-1])), len(up) - 1)


def _above(kb: KnowledgeBase, row: int) -> dict[int, int]:
    """Return a concept and all above it, nearest first, each with the one that it was reached from."""
    reached, todo = {row: row}, [row]
    for one in todo:
        for parent in kb.parents(one).tolist():
            if parent not in reached:
                reached[parent] = one
                todo.append(parent)
    return reached


def _way(reached: dict[int, int], top: int) -> tuple[int, ...]:
    """Return the way that leads up to `top`, its beginning first."""
    way = [top]
    while reached[way[-1]] != way[-1]:
        way.append(reached[way[-1]])
    return tuple(reversed(way))
