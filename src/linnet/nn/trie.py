"""All names of a knowledge base as one prefix tree over the tokens of a tokenizer, for decoding under constraint.

A network that writes names token by token may write those alone that there are (GENRE: De Cao et al. 2021; GenBioEL:
Yuan et al. 2022): `Trie.step` tells for many beginnings at once which tokens may follow. A name is its tokens and an
end token, so that names which begin other names are nothing special; several names may have the same tokens, and of
which concepts they are is told at their end. Nothing is cut: every name can be generated, and nothing else.

The tree is path-compressed: a node has a label, the tokens from where it branches off to where it branches itself or
ends. Labels of nodes that branch stand one behind the other, level by level, behind them those that end names, of which
one that ends another stands in that one. A state is the place of the token that was written last, and beside it the
node if that ends names.

The file stands beside the knowledge base (`linnet.kb.side_files`) and is made anew after every edit, in which the
tokenizer takes most of the time. It takes 20 to 30 bytes a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.arrays_file import ArraysWriter, Stored
from linnet.kb import KnowledgeBase, Mask
from linnet.kb.side_files import Earlier, SideFile
from linnet.nn.trie_build import SPACING, Pieces, build, collect, ranges

__all__ = ["Steps", "Trie", "TrieFile"]

FORMAT = 1
ARRAYS = (
    "tokens", "starts", "turns", "children", "branches", "ranks", "levels", "name_rows", "concepts", "extras",
)  # fmt: skip
NODE, PLACE = 32, (1 << 32) - 1  # the bits of a state from which its node stands, and those of its place

Bools = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]


class Steps(NamedTuple):
    """What may follow states: how many tokens each (states,), the tokens and the states behind them (all,).

    Those of one state stand behind those of the state before, by token.
    """

    counts: Places
    tokens: Places
    targets: Places


class Trie:
    """An open tree; its arrays may be memory-mapped, and threads and processes share what they read of them.

    Of n nodes, level by level and in the order of tokens, b branch and m end names; the root is the first and branches.

    Args:
        arrays: ``tokens`` (t,) of all labels, the first stands for the root; ``starts`` (n,) of labels in them;
            ``turns`` (b,), the last places of the labels of nodes that branch; ``children`` (b + 1,), the first child
            of each of these, whose last stands before the first one of the next; ``branches``, a bit for each node,
            and ``ranks``, how many of them are set before each 512th; ``levels``, how many nodes branch down to each
            level; ``name_rows`` and ``concepts`` (names,), in the order of the nodes that end them; ``extras``, which
            of these m nodes has one more name, ascending.
        end: the token that ends names.

    Attributes:
        root: the state in which nothing has been written.

    >>> letters = lambda texts: [[ord(letter) for letter in text] for text in texts]
    >>> trie = Trie.of([(0, 0, "cold"), (1, 1, "cold"), (2, 1, "colds")], letters, end=0, vocabulary=128)
    >>> cold = trie.find(letters(["cold"])[0])
    >>> counts, tokens, targets = trie.step(np.array([cold]))
    >>> counts.tolist(), tokens.tolist(), trie.names(targets[0]).tolist(), trie.concepts(targets[0]).tolist()
    ([2], [0, 115], [0, 1], [0, 1])
    """

    root = 0

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]], end: int) -> None:
        self._arrays, self._end = arrays, end
        self._tokens, self._starts = arrays["tokens"], arrays["starts"]
        self._turns, self._children = arrays["turns"], arrays["children"]
        self._allowed: Bools | None = None  # concepts
        self._open: Bools | None = None  # nodes below which there are any

    @classmethod
    def of(cls, names: Iterable[tuple[int, int, str]], pieces: Pieces, *, end: int, vocabulary: int) -> Trie:
        """Return the tree of names that stand in no knowledge base, in memory; arguments as of `collect`.

        Raises:
            DataError: a token is not one of the vocabulary, or that of the end stands in a name.
        """
        return cls(build(collect(names, pieces, end=end, vocabulary=vocabulary), end), end)

    # --- walking -----------------------------------------------------------------------------------------------------

    def step(self, states: npt.ArrayLike) -> Steps:
        """Return what may follow each of some states (states,), int64; nothing follows the end of a name.

        States are those that this tree, under the same restriction, has given.
        """
        at = np.asarray(states, np.int64)
        places = at & PLACE
        branches, splits = self._find_branches(places)
        low = np.where(splits, self._children[branches], 0)
        goes_on = self._tokens[places] != self._end
        counts = np.where(splits, self._children[branches + 1] - low, goes_on)
        of = np.repeat(np.arange(len(at)), counts)
        nodes = ranges(low, counts)
        if self._open is not None:
            chosen = np.flatnonzero(self._open[nodes] | ~splits[of])
            of, nodes = of[chosen], nodes[chosen]
            counts = np.bincount(of, minlength=len(at))
        children = self._starts[nodes].astype(np.int64)
        ending = np.flatnonzero(children > self._turns[-1])
        children[ending] |= nodes[ending] << NODE
        targets = np.where(splits[of], children, at[of] + 1)
        return Steps(counts.astype(np.int64), self._tokens[targets & PLACE].astype(np.int64), targets)

    def find(self, tokens: Iterable[int]) -> int | None:
        """Return the state in which these tokens have been written; None if nothing begins with them."""
        state = self.root
        for token in tokens:
            _, following, targets = self.step([state])
            place = int(np.searchsorted(following, token))
            if place == len(following) or following[place] != token:
                return None
            state = int(targets[place])
        return state

    def _find_branches(self, places: Places) -> tuple[Places, Bools]:
        """Return the node, counted among those that branch, whose label ends at each place, and if any does."""
        # of the type of the array, which would be converted as a whole otherwise
        found = np.searchsorted(self._turns, places.astype(self._turns.dtype))
        branches = np.minimum(found, len(self._turns) - 1)
        return branches, self._turns[branches] == places

    # --- what is written ---------------------------------------------------------------------------------------------

    def names(self, state: int) -> Places:
        """Return the rows of the names that end in a state, ascending; none unless its token is that of the end."""
        return self.named(state)[0]

    def concepts(self, state: int) -> Places:
        """Return the rows of the concepts of the names that end in a state, each once, ascending."""
        return np.unique(self.named(state)[1])

    def named(self, state: int) -> tuple[Places, Places]:
        """Return the rows of the names that end in a state, ascending, and for each the row of its concept."""
        place = self._find_names(state)
        rows, concepts = self._arrays["name_rows"][place], self._arrays["concepts"][place]
        kept = np.ones(len(rows), np.bool_) if self._allowed is None else self._allowed[concepts]
        return rows[kept].astype(np.int64), concepts[kept].astype(np.int64)

    def _find_names(self, state: int) -> slice:
        if self._tokens[state & PLACE] != self._end:
            return slice(0, 0)
        block, rest = divmod(int(state) >> NODE, SPACING)
        bits = self._arrays["branches"][block * SPACING // 8 : (block + 1) * SPACING // 8]
        # the node, counted among those that end names
        leaf = block * SPACING + rest - int(self._arrays["ranks"][block]) - int(np.unpackbits(bits)[:rest].sum())
        extras = self._arrays["extras"]
        before, after = np.searchsorted(extras, np.array([leaf, leaf + 1], extras.dtype)).tolist()
        return slice(leaf + before, leaf + 1 + after)

    # --- some concepts alone -----------------------------------------------------------------------------------------

    def allowing(self, mask: Mask) -> Trie:
        """Return the tree without the names of concepts that are not in a mask of the same version.

        It shares the arrays, and takes a byte of memory a node. Its states are states of the whole tree. Restricted
        again, it holds the concepts of both masks.
        """
        restricted = Trie(self._arrays, self._end)
        restricted._allowed = mask.array if self._allowed is None else self._allowed & mask.array
        restricted._open = self._reach(restricted._allowed)
        return restricted

    def _reach(self, allowed: Bools) -> Bools:
        """Return which nodes lead to names of allowed concepts (n,)."""
        names, extras = allowed[self._arrays["concepts"]], self._arrays["extras"]
        more = extras + np.arange(1, len(extras) + 1)  # behind the first name of its node and the extras before
        leaves = np.delete(names, more)
        leaves[extras[names[more]]] = True
        branches = np.unpackbits(self._arrays["branches"], count=len(self._starts)).view(np.bool_)
        open = np.zeros(len(self._starts), np.bool_)
        open[~branches] = leaves
        nodes, levels = np.flatnonzero(branches), self._arrays["levels"].tolist()
        for first, last in zip(levels[-2::-1], levels[:0:-1], strict=True):  # from the deepest up, but not the root
            children = self._children[first : last + 1]
            below = open[children[0] : children[-1]]
            open[nodes[first:last]] = np.logical_or.reduceat(below, children[:-1] - children[0])
        return open


class TrieFile(SideFile[Trie]):
    """The tree of all names of a knowledge base in its file.

    Args:
        kb: the knowledge base.
        pieces: from texts to the tokens of each, without special tokens and uncut; `TextNetwork.pieces` is one.
        end: the token that ends every name, which no name holds.
        vocabulary: how many tokens there are.
        fingerprint: tells tokenizer and form from others; each has a file of its own.
        form: from a name to how it is written; as it is if not given.
    """

    WHAT = "tree of names"
    SUFFIX = "trie"
    MAGIC = b"linnet trie\n"
    ARRAYS = ARRAYS

    def __init__(
        self,
        kb: KnowledgeBase,
        pieces: Pieces,
        *,
        end: int,
        vocabulary: int,
        fingerprint: str,
        form: Callable[[str], str] = str,
    ) -> None:
        super().__init__(kb, {"tokens": fingerprint, "end": end}, {"format": FORMAT})
        self.pieces, self.end, self.vocabulary, self.form = pieces, end, vocabulary, form

    def write(
        self,
        writer: ArraysWriter,
        concepts: Sequence[int] | None,
        earlier: Earlier[Trie] | None,  # noqa: ARG002 - a name that comes or goes moves the states of others
    ) -> dict[str, Any]:
        """Write the arrays of the tree.

        Raises:
            DataError: a token is not one of the vocabulary, or that of the end stands in a name.
        """
        names = ((name.row, name.concept, name.text) for name in self.kb.names(concepts))
        found = collect(names, self.pieces, end=self.end, vocabulary=self.vocabulary, form=self.form)
        for name, values in build(found, self.end).items():
            writer.put(name, values)
        return {}

    def read(self, stored: Stored) -> Trie:
        """Return the tree over the arrays of a file."""
        return Trie(stored.arrays, self.end)
