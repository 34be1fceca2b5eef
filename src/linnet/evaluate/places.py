"""The ranks of an answer's ids among the candidates of a mention.

Nothing is sorted: the place of a concept is 1 plus the number of candidates that come before it, in the canonical
order of score descending, then NIL, then row (ids that the knowledge base lacks, and all ids without one, by id). So
candidates that tie may stand in any order. A concept that stands twice counts where it stands first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates
from linnet.errors import MismatchError, UnknownConceptError
from linnet.kb import KnowledgeBase
from linnet.kb.successors import row_of

__all__ = ["places"]

Ints = npt.NDArray[np.int64]
NIL = -1
BLOCK = 1 << 20  # candidates compared at once: a few tens of megabytes


def places(
    lists: Sequence[Candidates | None],
    at: npt.NDArray[np.integer],
    wanted: Sequence[str | None],
    *,
    kb: KnowledgeBase | None,
    where: Sequence[str],
) -> Ints:
    """Return the ranks of the wanted ids, 1 for the first candidate, 0 for ids that are absent; int64 (wanted,).

    Args:
        lists: the candidates of each mention; None = none were looked for, which is as good as an empty list.
        at: int (wanted,), ascending: in which of the lists each id is looked for.
        wanted: live ids; None = NIL.
        kb: turns rows into ids; None = the candidates must hold their ids.
        where: the id of the document of each list, for messages.

    Raises:
        MismatchError: candidates are rows of a knowledge base and `kb` is None or does not have these rows.

    >>> cough = Candidates([-1, -1, -1], [0.9, 0.7, 0.7], ids=("HP:2", "HP:3", "HP:1"))
    >>> places([cough, None], np.array([0, 0, 1]), ["HP:1", "HP:4", "HP:1"], kb=None, where=["a", "a"]).tolist()
    [2, 0, 0]
    """
    codes = _Codes(lists, wanted, kb)
    targets = np.fromiter((codes.of_id[id] for id in wanted), np.int64, len(wanted))
    found = np.zeros(len(targets), np.int64)
    sizes = np.fromiter((0 if c is None else len(c) for c in lists), np.int64, len(lists))
    for first, last in _blocks(sizes):
        low, high = np.searchsorted(at, (first, last))
        if low < high and sizes[first:last].any():
            code, score = codes.of_lists(lists[first:last], where[first:last])
            starts = np.cumsum(sizes[first:last]) - sizes[first:last]
            here = at[low:high] - first
            found[low:high] = _count(code, score, starts[here], sizes[first:last][here], targets[low:high])
    return found


def _blocks(sizes: Ints) -> Iterator[tuple[int, int]]:
    """Yield borders between which there are about `BLOCK` candidates."""
    total = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        before = total[first] - sizes[first]
        last = max(int(np.searchsorted(total, before + BLOCK, side="right")), first + 1)
        yield first, last
        first = last


def _count(code: Ints, score: npt.NDArray[np.float32], starts: Ints, sizes: Ints, targets: Ints) -> Ints:
    """Return the places of `targets` among the candidates from `starts` on, `sizes` many for each; all of one block."""
    found = np.zeros(len(targets), np.int64)
    [some] = sizes.nonzero()
    if not len(some):
        return found
    starts, sizes, targets = starts[some], sizes[some], targets[some]
    begins = np.cumsum(sizes) - sizes
    at = np.arange(sizes.sum()) + np.repeat(starts - begins, sizes)
    code, score, target = code[at], score[at], np.repeat(targets, sizes)
    own = np.maximum.reduceat(np.where(code == target, score, np.float32(-np.inf)), begins)
    best = np.repeat(own, sizes)
    before = (score > best) | ((score == best) & (code < target))
    found[some] = np.where(np.isneginf(own), 0, 1 + np.add.reduceat(before, begins, dtype=np.int64))
    return found


class _Codes:
    """Numbers for concepts: rows of the knowledge base, and beyond them, by id, what it does not hold; -1 is NIL."""

    def __init__(
        self, lists: Sequence[Candidates | None], wanted: Sequence[str | None], kb: KnowledgeBase | None
    ) -> None:
        named = {id for candidates in lists if candidates is not None for id in candidates.ids}
        ids = sorted({id for id in named.union(wanted) if id is not None})
        self.live = None if kb is None else _live_rows(kb)
        held = {} if kb is None else {id: row for id in ids if (row := row_of(kb)(id)) is not None}
        beyond = 0 if kb is None else len(kb)
        unheld = (id for id in ids if id not in held)
        self.of_id: dict[str | None, int] = {None: NIL}
        self.of_id.update(held)
        self.of_id.update((id, beyond + n) for n, id in enumerate(unheld))

    def of_lists(
        self, lists: Sequence[Candidates | None], where: Sequence[str]
    ) -> tuple[Ints, npt.NDArray[np.float32]]:
        """Return the codes and scores of all candidates, one list after the other."""
        present = [(c, id) for c, id in zip(lists, where, strict=True) if c is not None]
        ends = np.cumsum([len(c) for c, _ in present])
        rows = np.concatenate([c.rows for c, _ in present]).astype(np.int64)
        named = [(c.ids, slice(end - len(c), end)) for (c, _), end in zip(present, ends.tolist(), strict=True) if c.ids]
        for _, own in named:
            rows[own] = NIL
        rows_known = 0 if self.live is None else len(self.live) - 1
        [stray] = ((rows < NIL) | (rows >= rows_known)).nonzero()
        if len(stray):
            document = present[int(np.searchsorted(ends, stray[0], side="right"))][1]
            way_out = (
                "give it" if self.live is None else f"this one has {rows_known} rows: give the one it was made with"
            )
            raise MismatchError(
                f"document {document!r} has row {rows[stray[0]]} of a knowledge base among its candidates; {way_out}"
            )
        codes = rows if self.live is None else self.live[rows]  # row -1, NIL, is the last one
        for ids, own in named:
            codes[own] = [self.of_id[id] for id in ids]
        return codes, np.concatenate([c.scores for c, _ in present])


def _live_rows(kb: KnowledgeBase) -> Ints:
    """Return for each row that of the live concept (itself or its successor), int64 (rows + 1,); the last is NIL's."""
    rows = np.append(np.arange(len(kb)), NIL)
    for retired in (~kb.mask().array).nonzero()[0].tolist():
        try:
            rows[retired] = kb.row(kb.id(retired))
        except UnknownConceptError:  # without a successor, or a gap in the rows
            continue
    return rows
