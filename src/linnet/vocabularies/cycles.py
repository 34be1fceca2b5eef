"""Hierarchies that run in circles: which edges to leave out so that they no longer do; and where chains of ids end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["closing_edges", "ends_of"]


def closing_edges(edges: Sequence[tuple[int, int]] | npt.NDArray[np.int64]) -> list[int]:
    """Return the positions of the (child, parent) `edges` that close a circle, when taken in their order.

    An edge is left out if the edges before it, less those left out, already lead from its parent up to its child; so
    what comes first stays. An edge from a node to itself closes one.

    Args:
        edges: int64 (n, 2), numbers of nodes from 0 upwards.

    >>> closing_edges([(1, 0), (2, 1), (0, 2), (3, 2)])
    [2]
    """
    from scipy.sparse import coo_array, csgraph  # noqa: PLC0415 - slow to import, and few readers come here

    array = np.asarray(edges, np.int64).reshape(-1, 2)
    if not len(array):
        return []
    size = int(array.max()) + 1
    graph = coo_array((np.ones(len(array), np.int32), (array[:, 0], array[:, 1])), shape=(size, size))
    component = csgraph.connected_components(graph, connection="strong")[1]
    inside = np.flatnonzero(component[array[:, 0]] == component[array[:, 1]])
    kept: dict[int, list[int]] = {}
    closing = []
    for place in inside.tolist():
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
