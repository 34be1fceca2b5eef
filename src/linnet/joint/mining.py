"""Names that a joint network learns to tell apart: the right one of a mention, hard negatives, and random ones.

Hard negatives are what the network itself ranks high for a mention, mined anew each epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from linnet.data import Candidates
from linnet.index.name_vectors import NameVectors
from linnet.joint.reading import JointNetwork, NegativesArgs
from linnet.retrieve.dense_training import NamesToLearn
from linnet.text.words import Ints
from linnet.train.checkpoint import copied, put_weights, weights
from linnet.train.judge import CurrentVectors
from linnet.train.negatives import Spared, hard, random_rows

__all__ = ["Chosen", "Mined", "Miner"]

SPARED = 16  # more concepts are looked at for hard negatives than are wanted: some are right, or spared

Floats = npt.NDArray[np.float32]


class Mined(NamedTuple):
    """What the network finds for a mention, and the place of its nearest name of each right concept."""

    found: Candidates
    nearest: dict[int, int]


class Chosen(NamedTuple):
    """Places of names and rows of their concepts: the right one, `mined` hard negatives, random ones."""

    names: tuple[int, ...]
    rows: tuple[int, ...]
    mined: int


class Miner:
    """Chooses the names that mentions learn from, by the network of a component as it is.

    Args:
        part: the component.
        args: how many negatives of which kind.
    """

    def __init__(self, part: JointNetwork[Any], args: NegativesArgs) -> None:
        self.part, self.args = part, args
        self.spared = Spared(part.kb)
        self.names = NamesToLearn(part)
        self.current = CurrentVectors(lambda: part.names_file)
        self._pool: tuple[NameVectors, Ints] | None = None
        network: Any = part.network
        self._first = copied(weights(network)) if args.mining_pool else {}  # the weights that the pool is made with

    @property
    def wanted(self) -> bool:
        """Whether anything has to be mined."""
        return bool(self.args.mined) or self.args.positive == "nearest"

    def restore_pool(self, mine: Callable[[], object]) -> None:
        """Make the pool of a training that was interrupted as it was made in the first epoch.

        Args:
            mine: mines for all mentions, by the weights as they are.
        """
        if not self.args.mining_pool or self._pool is not None:
            return
        network: Any = self.part.network
        now = copied(weights(network))
        with torch.no_grad():
            put_weights(network, self._first, source=self.part.NAME)
            mine()
            put_weights(network, now, source=self.part.NAME)

    def mine(self, queries: Floats, rows: Sequence[frozenset[int]]) -> Iterator[Mined]:
        """Yield what the network finds for mentions.

        Args:
            queries: their vectors, float32 (mentions, d) of length 1.
            rows: the right concepts of each.
        """
        names = self.names_near(queries, rows)
        for one, vector, right in zip(names.search(queries, self.args.mined + SPARED), queries, rows, strict=True):
            own = {row: self.names.of(row) for row in right}
            nearest = {row: int(o[int(np.argmax(names.vectors[o] @ vector))]) for row, o in own.items() if len(o)}
            yield Mined(Candidates(*one[:2], names=one.names, kb=self.part.kb.version), nearest)

    def names_near(self, queries: Floats, rows: Sequence[frozenset[int]]) -> NameVectors:
        """Return the vectors of all names by the weights as they are.

        With a pool only the names in it are encoded anew; it is made when mentions are looked up for the first time.
        """
        if not self.args.mining_pool:
            return self.current.vectors()
        if self._pool is None:
            names = self.current.vectors()
            found = [
                Candidates(*one[:2], names=one.names, kb=self.part.kb.version)
                for one in names.search(queries, self.args.mining_pool)
            ]
            near = {self.names.matched(one, place) for one in found for place in range(len(one.rows))}
            own = {int(place) for right in rows for row in right for place in self.names.of(row)}
            self._pool, self._first = (names, np.array(sorted(near | own), np.int64)), {}
            return names
        earlier, pool = self._pool
        network: Any = self.part.network
        vectors = np.array(earlier.vectors)
        texts = [self.names.tokens(place) for place in pool.tolist()]
        vectors[pool] = network.encode_names(texts)
        return NameVectors(vectors, earlier.concepts, earlier.name_rows, earlier.about)

    def choose(self, rows: frozenset[int], mined: Mined | None, rng: np.random.Generator) -> Chosen | None:
        """Return the names that a mention learns from; None if its right concept has no name.

        Args:
            rows: the right concepts.
            mined: what `mine` gave for the mention; None = nothing was mined.
            rng: draws the rest.
        """
        args, names, spared = self.args, self.names, self.spared.of(rows)
        row = sorted(rows)[int(rng.integers(len(rows)))]
        if not len(names.of(row)):
            return None
        if mined is not None and args.positive == "nearest":
            chosen = [(row, mined.nearest[row])]
        else:
            chosen = [(row, names.some(row, rng, args.positive))]
        if mined is not None and args.mined:
            places = hard(mined.found.rows, spared, args.mined, above=rows if args.only_above else None)
            chosen += [(int(mined.found.rows[place]), names.matched(mined.found, place)) for place in places]
        hardest = len(chosen) - 1
        which = "preferred" if self.part.names == "preferred" else "random"
        drawn = random_rows(rng, names.concepts, spared, args.random)
        chosen += [(other, names.some(other, rng, which)) for other in drawn]
        return Chosen(tuple(place for _, place in chosen), tuple(row for row, _ in chosen), hardest)
