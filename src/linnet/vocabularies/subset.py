"""A part of a knowledge base as a knowledge base of its own: the same concepts, in new rows.

Which concepts, a `Mask` says. Retired ids that lead to a kept concept stay, so that old annotations still resolve;
parents that are not kept are dropped, or bridged to the nearest ancestors that are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError, UnknownConceptError
from linnet.home import real_path
from linnet.kb import KnowledgeBase, Mask
from linnet.kb.build import build
from linnet.kb.cycles import ends_of
from linnet.vocabularies.stored import Edges, edges, retired_by_id, retired_chains

__all__ = ["mask_of", "select", "subset", "widened"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def mask_of(kb: KnowledgeBase, ids: Iterable[str]) -> tuple[Mask, list[str]]:
    """Return the concepts that `ids` lead to, retired ones to their successors, and the ids that lead to none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kb = build([Concept("X:1", (Name("one"),))], f"{folder}/small.kb")
    ...     mask, unknown = mask_of(kb, ["X:1", "X:2"])
    >>> len(mask), unknown
    (1, ['X:2'])
    """
    array = np.zeros(len(kb), np.bool_)
    unknown = []
    for id in ids:
        try:
            array[kb.row(id)] = True
        except UnknownConceptError:
            unknown.append(id)
    return Mask(array, kb.version), unknown


def widened(kb: KnowledgeBase, mask: Mask, *, ancestors: bool = False, descendants: bool = False) -> Mask:
    """Return `mask` with all ancestors or all descendants of its concepts, or both (neither of the added ones)."""
    hierarchy = edges(kb)
    array = mask.array.copy()
    if ancestors:
        array |= _reached(mask.array, hierarchy.children, hierarchy.above)
    if descendants:
        array |= _reached(mask.array, hierarchy.above, hierarchy.children)
    return Mask(array, kb.version)


def _reached(array: Bools, here: Ints, there: Ints) -> Bools:
    """Return which rows are those of `array`, or can be reached from them by edges from `here` to `there`."""
    from scipy.sparse import coo_array, csgraph  # noqa: PLC0415 - slow to import, and few come here

    size, starts = len(array), np.flatnonzero(array)  # to which edges lead from one row more than there are
    pairs = np.concatenate([here, np.full(len(starts), size)]), np.concatenate([there, starts])
    graph = coo_array((np.ones(len(pairs[0]), np.int8), pairs), shape=(size + 1, size + 1)).tocsr()
    found = np.zeros(size + 1, np.bool_)
    found[csgraph.breadth_first_order(graph, size, return_predecessors=False)] = True
    return found[:size]


def select(kb: KnowledgeBase, mask: Mask, *, bridge: bool = False) -> Iterator[Concept]:
    """Yield the concepts of `mask` by row, then the retired ids that lead to them.

    Args:
        kb: the knowledge base.
        mask: what to keep of it.
        bridge: put the nearest kept ancestors in the place of a parent that is not kept; otherwise it is dropped.

    Raises:
        KnowledgeBaseError: `mask` belongs to another version.
    """
    if mask.kb != kb.version:
        raise KnowledgeBaseError(f"a mask of version {mask.kb}, but {kb.path.name} has version {kb.version}")
    hierarchy = edges(kb)
    ends: dict[int, int] = {}
    for row in np.flatnonzero(mask.array).tolist():
        above = _kept_above(row, hierarchy, mask, ends, bridge=bridge)
        yield replace(kb[row], parents=tuple(kb.id(parent) for parent in above))
    last = ends_of(retired_chains(kb))
    for old in retired_by_id(kb):
        try:
            row = kb.row(last.get(old.id, old.id))
        except UnknownConceptError:
            continue
        if row in mask:
            yield Concept(old.id, (Name(old.name),) if old.name else (), replaced_by=old.successor)


def _end(row: int, hierarchy: Edges, mask: Mask, ends: dict[int, int]) -> int:
    """Return `row`, or the first above it that is kept or has not one parent; `ends` remembers what was found."""
    way = []
    while row not in mask and row not in ends and len(parents := hierarchy.parents(row)) == 1:
        ends[row] = row  # where a circle would end
        way.append(row)
        row = parents[0]
    row = ends.get(row, row)
    ends.update(dict.fromkeys(way, row))
    return row


def _kept_above(row: int, hierarchy: Edges, mask: Mask, ends: dict[int, int], *, bridge: bool) -> list[int]:
    """Return the kept parents of `row`; with `bridge`, instead of those not kept, the first kept on every way up."""
    found: dict[int, None] = {}
    seen: set[int] = set()
    waiting = hierarchy.parents(row)[::-1]
    while waiting:
        parent = _end(waiting.pop(), hierarchy, mask, ends) if bridge else waiting.pop()
        if parent in seen:
            continue
        seen.add(parent)
        if parent in mask:
            found[parent] = None
        elif bridge:
            waiting += hierarchy.parents(parent)[::-1]
    return list(found)


def subset(
    kb: KnowledgeBase,
    mask: Mask,
    path: str | Path,
    *,
    conditions: Mapping[str, str],
    bridge: bool = False,
    progress: Callable[[int], None] | None = None,
) -> KnowledgeBase:
    """Build the knowledge base `path` from the concepts of `mask`; see `select`.

    Args:
        kb: the knowledge base.
        mask: what to keep of it.
        path: the file to make.
        conditions: what `mask` stands for, kept in the provenance, before the sources of `kb`.
        bridge: see `select`.
        progress: called with the number of concepts done.

    Raises:
        KnowledgeBaseError: nothing is kept, or `path` is `kb` itself or something else already.
    """
    if real_path(path) == real_path(kb.path):
        raise KnowledgeBaseError(f"{path} would be replaced by a part of itself: give the subset another name")
    if not len(mask):
        told = ", ".join(f"{name} {value}" for name, value in conditions.items())
        raise KnowledgeBaseError(f"no concept of {kb.path.name} is in the subset: {told or 'no conditions'}")
    made_of = {"vocabulary": "subset", "of": kb.info["name"], "version": kb.version, "concepts": f"{len(mask)}"}
    sources = [{**made_of, **conditions}, *kb.sources]
    return build(select(kb, mask, bridge=bridge), path, sources=sources, progress=progress)
