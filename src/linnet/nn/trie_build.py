"""Building the prefix tree of names: sequences of tokens are sorted, then become nodes level by level.

All steps are NumPy's, over all names at once: one for each place in a sequence that more than one name reaches, and one
for each level of the tree. Building takes about 320 bytes of memory a name of a dozen tokens.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError
from linnet.reporter import warn

__all__ = ["SPACING", "Pieces", "TokenNames", "build", "collect", "ranges"]

Ints = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]
Pieces = Callable[[Sequence[str]], list[list[int]]]

CHUNK = 16_384  # names that become tokens at once
BLOCK = 1 << 20  # slices of tokens that are copied at once
SPACING = 512  # nodes between two of which it is known how many branch before
SAME = -1  # tokens shared with the sequence before: all
SHOWN = 3  # names without tokens that a warning shows


class TokenNames(NamedTuple):
    """Names as tokens: those of all names one behind the other, each with its end token.

    ``tokens`` (t,) are uint16 where the vocabulary allows it, else uint32; ``ends`` (n,) say where the tokens of a name
    end; ``rows`` and ``concepts`` (n,) are rows of the knowledge base.
    """

    tokens: npt.NDArray[Any]
    ends: Places
    rows: Ints
    concepts: Ints


def ranges(starts: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> Places:
    """Return ``start, start + 1 …`` for each of some starts, so many as its size says, one behind the other.

    >>> ranges(np.array([7, 1]), np.array([3, 2])).tolist()
    [7, 8, 9, 1, 2]
    """
    after = np.cumsum(sizes, dtype=np.int64)
    flat: Places = np.arange(after[-1] if len(after) else 0) + np.repeat(starts - (after - sizes), sizes)
    return flat


# --- names to tokens -------------------------------------------------------------------------------------------------


def collect(
    names: Iterable[tuple[int, int, str]],
    pieces: Pieces,
    *,
    end: int,
    vocabulary: int,
    form: Callable[[str], str] = str,
) -> TokenNames:
    """Return names as tokens, without those that have none; a warning tells how many these are.

    Args:
        names: of each its row, its concept's row and its text.
        pieces: from texts to the tokens of each, without special tokens.
        end: the token that ends every name.
        vocabulary: how many tokens there are.
        form: from a name to how it is written.

    Raises:
        DataError: a token is not one of the vocabulary, or that of the end stands in a name.
    """
    if not 0 <= end < vocabulary:
        raise DataError(f"end is {end}, expected a token from 0 to {vocabulary - 1:,}")
    kind = np.uint16 if vocabulary <= 1 << 16 else np.uint32
    tokens, sizes, rows, concepts = [np.empty(0, kind)], [np.empty(0, np.int64)], [], []
    count = 0
    skipped: list[str] = []
    remaining = iter(names)
    while chunk := list(itertools.islice(remaining, CHUNK)):
        found = pieces([form(text) for _, _, text in chunk])
        lacking = [text for (_, _, text), own in zip(chunk, found, strict=True) if not own]
        count, skipped = count + len(lacking), (skipped + lacking)[:SHOWN]
        chunk, found = [name for name, own in zip(chunk, found, strict=True) if own], [own for own in found if own]
        lengths = np.fromiter(map(len, found), np.int64, len(found))
        flat = np.fromiter(itertools.chain.from_iterable(found), np.int64, int(lengths.sum()))
        _check(flat, lengths, chunk, end, vocabulary)
        tokens.append(np.insert(flat.astype(kind), np.cumsum(lengths), kind(end)))
        sizes.append(lengths + 1)
        rows.append(np.array([row for row, _, _ in chunk], np.int32))
        concepts.append(np.array([concept for _, concept, _ in chunk], np.int32))
    if count:
        warn(f"{count:,} names have no tokens and cannot be generated: " + ", ".join(map(repr, skipped)))
    none = np.empty(0, np.int32)
    return TokenNames(
        np.concatenate(tokens), np.cumsum(np.concatenate(sizes)), np.concatenate([none, *rows]),
        np.concatenate([none, *concepts]),
    )  # fmt: skip


def _check(flat: Places, lengths: Places, names: Sequence[tuple[int, int, str]], end: int, vocabulary: int) -> None:
    wrong = np.flatnonzero((flat == end) | (flat < 0) | (flat >= vocabulary))
    if not len(wrong):
        return
    text = names[int(np.searchsorted(np.cumsum(lengths), wrong[0], side="right"))][2]
    token = int(flat[wrong[0]])
    if token == end:
        raise DataError(f"the name {text[:60]!r} holds the token {end}, which is to end names: choose another end")
    raise DataError(f"the name {text[:60]!r} holds the token {token}, expected 0 to {vocabulary - 1:,}")


# --- tokens to a tree ------------------------------------------------------------------------------------------------


class _Level(NamedTuple):
    """Nodes of one level, in order (n,), and how many of them each node that branches in the level above has (b,).

    ``keys`` is the first sequence below a node; its label is what stands in that from ``begins`` to ``stops``;
    ``branch`` says whether there is more than one.
    """

    keys: Places
    begins: Places
    stops: Places
    branch: npt.NDArray[np.bool_]
    counts: Places


def build(names: TokenNames, end: int) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of the tree of some names; see `linnet.nn.trie.Trie` for what they are.

    >>> names = TokenNames(np.array([5, 6, 1, 5, 1]), np.array([3, 5]), np.array([0, 1]), np.array([7, 8]))
    >>> {name: values.tolist() for name, values in build(names, end=1).items()}["tokens"]
    [0, 5, 6, 1]
    """
    zero = np.zeros(1, np.int64)
    starts = np.concatenate([zero, names.ends[:-1]])[: len(names.ends)]
    order, shared = _sort(names.tokens, starts, end)
    firsts = np.flatnonzero(shared != SAME)  # of each sequence that is another than the one before
    of = order[firsts]
    levels = list(_levels(shared[firsts], (names.ends - starts)[of]))
    keys, begins, stops, branch, counts = (np.concatenate(column) for column in zip(*levels, strict=True))
    starts, sizes = starts[of[keys]] + begins, stops - begins
    more = np.diff(firsts, append=len(order))[keys[~branch]]
    listed = order[ranges(firsts[keys[~branch]], more)]
    root = np.array([int(end == 0)], names.tokens.dtype)
    labels = np.concatenate([root, _slices(names.tokens, starts[branch], sizes[branch])])
    tails, places = _share_ends(_slices(names.tokens, starts[~branch], sizes[~branch]), sizes[~branch], end)
    turns = np.cumsum(np.concatenate([zero, sizes[branch]]))
    starts[branch], starts[~branch] = turns[:-1] + 1, len(labels) + places
    kind = np.int32 if len(labels) + len(tails) < np.iinfo(np.int32).max else np.int64
    branches = np.concatenate([[True], branch])
    return {
        "tokens": np.concatenate([labels, tails]),
        "starts": np.concatenate([zero, starts]).astype(kind),
        "turns": turns.astype(kind),
        "children": (np.concatenate([zero, np.cumsum(counts)]) + 1).astype(kind),
        "branches": np.packbits(branches),
        "ranks": np.concatenate([zero, np.cumsum(branches)])[: len(branches) : SPACING].astype(np.int32),
        "levels": np.cumsum([1, *(level.branch.sum() for level in levels[:-1])], dtype=np.int64),
        "name_rows": names.rows[listed],
        "concepts": names.concepts[listed],
        "extras": np.repeat(np.arange(len(more), dtype=np.int32), more - 1),
    }


def _sort(tokens: npt.NDArray[Any], starts: Places, end: int) -> tuple[Ints, Ints]:
    """Return the order of sequences by their tokens, and how many tokens each shares with the one before.

    Equal ones stay in their order, and have `SAME`. The sequences that are not yet told apart are sorted by their next
    token, within their groups, until none are left.
    """
    order = np.arange(len(starts), dtype=np.int32)
    shared = np.full(len(starts), SAME, np.int32)
    shared[:1] = 0
    places, groups, depth = np.arange(len(starts)), np.zeros(len(starts), np.int64), 0
    while len(places):
        own = order[places]
        keys = groups << 32 | tokens[starts[own] + depth].astype(np.int64)
        sorting = np.argsort(keys, kind="stable")
        order[places] = own[sorting]
        keys = keys[sorting]
        new = np.concatenate([[True], keys[1:] != keys[:-1]])
        within = np.concatenate([[False], groups[1:] == groups[:-1]])
        shared[places[new & within]] = depth
        groups = np.cumsum(new) - 1
        open = (np.bincount(groups)[groups] > 1) & (keys & 0xFFFFFFFF != end)
        places, groups, depth = places[open], groups[open], depth + 1
    return order, shared


def _levels(shared: Ints, lengths: Places) -> Iterator[_Level]:
    """Yield the levels below the root.

    Args:
        shared: how many tokens each of the sorted, distinct sequences shares with the one before (m,).
        lengths: of these (m,).
    """
    # of the nodes that branch in the level above: how many sequences each has, and how many tokens these have in common
    sizes, turns = np.array([len(shared)]), np.zeros(1, np.int32)
    keys, values = np.arange(len(shared)), shared.copy()
    while len(sizes):
        of = np.repeat(np.arange(len(sizes)), sizes)
        firsts = np.flatnonzero(values == turns[of])  # a child begins wherever no more than that is shared
        counts = np.bincount(of[firsts], minlength=len(sizes))
        lows, begins = keys[firsts], turns[of[firsts]]
        each = np.diff(firsts, append=len(keys))
        branch = each > 1
        values[firsts] = np.iinfo(np.int32).max
        inside = np.repeat(branch, each)
        keys, values, sizes = keys[inside], values[inside], each[branch]
        starts = np.cumsum(sizes) - sizes
        turns = np.minimum.reduceat(values, starts) if len(starts) else turns[:0]
        values[starts] = turns
        stops = lengths[lows]
        stops[branch] = turns
        yield _Level(lows, begins.astype(np.int64), stops, branch, counts)


def _share_ends(tails: npt.NDArray[Any], sizes: Places, end: int) -> tuple[npt.NDArray[Any], Places]:
    """Return sequences without those that others end with, and where each of all (m,) begins in them.

    Args:
        tails: the sequences, one behind the other, each with its end token.
        sizes: of these (m,).
        end: the token.
    """
    # read from behind, a sequence is followed by those that end with it if the end token is the first of all
    back = np.append(tails[-2::-1].astype(np.uint32) + np.uint32(1), np.uint32(0))
    back[back == end + 1] = 0
    order, shared = _sort(back, np.cumsum(sizes[::-1]) - sizes[::-1], 0)
    order = len(sizes) - 1 - order
    own, following = sizes[order], np.append(shared[1:], 0)
    kept = (following != SAME) & (following < own - 1)
    kept[-1:] = True
    stops = np.cumsum(own[kept])
    places = np.empty_like(sizes)
    places[order] = stops[np.cumsum(kept) - kept] - own
    return _slices(tails, (np.cumsum(sizes) - sizes)[order[kept]], own[kept]), places


def _slices(tokens: npt.NDArray[Any], starts: Places, sizes: Places) -> npt.NDArray[Any]:
    """Return some slices of `tokens`, one behind the other."""
    parts = [tokens[:0]]
    for first in range(0, len(starts), BLOCK):
        block = slice(first, first + BLOCK)
        parts.append(tokens[ranges(starts[block], sizes[block])])
    return np.concatenate(parts)
