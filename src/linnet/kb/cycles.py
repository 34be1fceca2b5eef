"""Hierarchies that run in circles: which edges to leave out so that they no longer do; and where chains of ids end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["SHOWN", "closing_edges", "ends_of", "on_circles", "shown_circle"]

SHOWN = 10  # concepts of a circle that a message names


def on_circles(children: npt.NDArray[np.integer], parents: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Return which edges, int (n,) and (n,), lie on circles: those between nodes that are each other's ancestors.

    >>> on_circles(np.array([1, 2, 0, 3]), np.array([0, 1, 2, 2])).tolist()
    [True, True, True, False]
    """
    from scipy.sparse import coo_array, csgraph  # noqa: PLC0415 - slow to import, and few come here

    size = int(max(children.max(initial=-1), parents.max(initial=-1))) + 1
    if not size:
        return np.zeros(0, np.bool_)
    graph = coo_array((np.ones(len(children), np.int32), (children, parents)), shape=(size, size))
    component = csgraph.connected_components(graph, connection="strong")[1]
    return np.asarray(component[children] == component[parents])


def shown_circle(ids: Sequence[str], length: int) -> str:
    """Return how messages show a circle of `length` concepts, of which `ids` are the first.

    >>> shown_circle(["X:1", "X:2"], 2), shown_circle(["X:1", "X:2"], 3)
    ('X:1 -> X:2 -> X:1', 'X:1 -> X:2 -> … (1 more) -> X:1')
    """
    rest = [f"… ({length - len(ids)} more)"] if length > len(ids) else []
    return " -> ".join([*ids, *rest, ids[0]])


def closing_edges(edges: Sequence[tuple[int, int]] | npt.NDArray[np.int64]) -> list[int]:
    """Return the positions of the (child, parent) `edges` that close a circle, when taken in their order.

    An edge is left out if the edges before it, less those left out, already lead from its parent up to its child; so
    what comes first stays. An edge from a node to itself closes one.

    Args:
        edges: int64 (n, 2), numbers of nodes from 0 upwards.

    >>> closing_edges([(1, 0), (2, 1), (0, 2), (3, 2)])
    [2]
    """
    array = np.asarray(edges, np.int64).reshape(-1, 2)
    kept: dict[int, list[int]] = {}
    closing = []
    for place in np.flatnonzero(on_circles(array[:, 0], array[:, 1])).tolist():
        child, parent = array[place].tolist()
        if _leads(parent, child, kept):
            closing.append(place)
        else:
            kept.setdefault(child, []).append(parent)
    return closing


def ends_of(successors: Mapping[str, str]) -> dict[str, str]:
    """Return where the chain of `successors` ends that begins at each of them; what is on a circle ends at itself.

    >>> ends_of({"a": "b", "b": "c", "x": "y", "y": "z", "z": "y"})
    {'a': 'c', 'b': 'c', 'y': 'y', 'z': 'z', 'x': 'y'}
    """
    ends: dict[str, str] = {}
    for first in successors:
        way: dict[str, None] = {}
        id = first
        while id in successors and id not in ends and id not in way:
            way[id] = None
            id = successors[id]
        path = list(way)
        circle = path.index(id) if id in way else len(path)
        ends.update((one, one) for one in path[circle:])
        ends.update(dict.fromkeys(path[:circle], ends.get(id, id)))
    return ends


def _leads(start: int, end: int, parents: dict[int, list[int]]) -> bool:
    """Return whether `end` is `start` or lies above it."""
    seen, stack = {start}, [start]
    while stack:
        node = stack.pop()
        if node == end:
            return True
        new = [parent for parent in parents.get(node, ()) if parent not in seen]
        seen.update(new)
        stack += new
    return False
