"""How many errors people would still find: in documents that nobody has read, and in those that two have read."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.annotate.unread import predicted
from linnet.data import Document, Mention, Span
from linnet.errors import DataError

__all__ = ["ErrorsLeft", "Missed", "Round", "count_errors", "errors_left", "missed_by_both"]

Floats = npt.NDArray[np.float64]

FEWEST = 5  # documents; of fewer, the scatter says nothing
SCATTER, WEIGHT = 2.5, 4.0  # variance of e_d − ê_d by the mean of e_d (NCBI Disease: 1.1 to 3.1); documents it counts


def count_errors(read: Document, found: Document, *, live: Callable[[str], str] = str) -> int:
    """Return how many corrections a predicted document needed, e_d: each is one mention deleted, changed or added.

    A predicted mention is right if a person's mention of the same spans accepts its concepts, or says nothing about
    concepts. A mention that a person made elsewhere is an error too, unless it shares characters with a wrong one that
    stands for no other: then that one was moved, which is one correction.

    Args:
        read: with what people say, all of it gone through.
        found: as predicted before it was read.
        live: leads retired ids to their successors.

    >>> text, gold = "Gout, ague.", (Mention(0, 4, source="user", concepts=("X:1",)), Mention(6, 10, source="user"))
    >>> moved, wrong = Mention(5, 10, concepts=("X:2",)), Mention(0, 4, concepts=("X:3",))
    >>> count_errors(Document("d", text, mentions=gold), Document("d", text, mentions=(wrong, moved)))
    2
    """
    theirs: dict[tuple[Span, ...], list[Mention]] = {}
    for mention in read.mentions or ():
        if mention.source != "pred":
            theirs.setdefault(mention.spans, []).append(mention)
    ours = predicted(found)
    wrong = sum(not _accepted(mention, theirs.get(mention.spans, ()), live) for mention in ours)
    elsewhere = [mention for mention in ours if mention.spans not in theirs]
    places = {mention.spans for mention in ours}
    missing = 0
    for spans in (spans for spans in theirs if spans not in places):
        moved = next((at for at, mention in enumerate(elsewhere) if _meet(mention.spans, spans)), None)
        if moved is None:
            missing += 1
        else:
            elsewhere.pop(moved)
    return wrong + missing


def _accepted(mention: Mention, theirs: Sequence[Mention], live: Callable[[str], str]) -> bool:
    said = frozenset(map(live, mention.concepts or ()))
    return any(
        mention.concepts is None
        or one.concepts is None
        or any(said == frozenset(map(live, answer)) for answer in (one.concepts, *one.alternatives))
        for one in theirs
    )


def _meet(spans: Sequence[Span], others: Sequence[Span]) -> bool:
    return any(a < d and c < b for a, b in spans for c, d in others)


@dataclass(frozen=True, eq=False)
class Round:
    """One drawing of random documents, and what people found since.

    Args:
        expected: id -> ê_d, the errors that the model expects, of every document P that was unread when the random ones
            were drawn (`linnet.annotate.unread.Unread.expected_errors`), from a calibration not fitted on these.
        found: id -> e_d, the errors that people found in its predictions (`count_errors`), of all documents of P that
            have been read until now, random or not.
        random: the ids R of the random documents among these.

    Raises:
        DataError: a document was read that was not in the pool, is random and was not read, or is named twice; or a
            number is negative or endless.
    """

    expected: Mapping[str, float]
    found: Mapping[str, float]
    random: Sequence[str]

    def __post_init__(self) -> None:
        if stray := sorted(self.found.keys() - self.expected.keys()):
            raise DataError(f"errors left: document {stray[0]!r} was read but was not in the pool of its round")
        if unread := sorted(set(self.random) - self.found.keys()):
            raise DataError(f"errors left: random document {unread[0]!r} was not read; leave it out until it is")
        if len(set(self.random)) < len(self.random):
            raise DataError("errors left: a random document is named twice")
        for name, values in (("expected", self.expected), ("found", self.found)):
            if wrong := [id for id, value in values.items() if not 0 <= value < math.inf]:
                raise DataError(f"errors left: {values[wrong[0]]} errors {name} in {wrong[0]!r}; a count is 0 or more")

    @functools.cached_property
    def unread(self) -> frozenset[str]:
        """The ids of the documents that nobody has read."""
        return frozenset(self.expected.keys() - self.found.keys())

    def differences(self) -> Floats:
        """Return e_d − ê_d of the random documents, (|R|,), in the order of their ids."""
        return np.array([self.found[id] - self.expected[id] for id in sorted(self.random)])

    def estimate(self) -> float:
        """Return the difference estimator of the errors in the unread documents."""
        scaled = len(self.expected) * float(self.differences().mean())
        return math.fsum(self.expected.values()) + scaled - math.fsum(self.found.values())


class ErrorsLeft(NamedTuple):
    """How many errors are in the documents that nobody has read, with an interval.

    ``value`` is unbiased and may for that reason fall below 0. The ends are infinite where fewer than five ``random``
    documents tell how far it may be off.
    """

    value: float
    low: float
    high: float
    random: int


def errors_left(rounds: Sequence[Round], *, level: float = 0.95) -> ErrorsLeft:
    """Return how many errors the unread documents hold, by the difference estimator (Cochran 1977, ch. 7).

    Ê = Σ_{d∈P} ê_d + (|P| / |R|) Σ_{d∈R} (e_d − ê_d) − Σ_{d∈P read} e_d is unbiased even if the model is not
    calibrated; good probabilities make it precise.

    Rounds are pooled by inverse variance, which is |P|² (1 − |R| / |P|) s² / |R| (Cochran 1977, ch. 2). One s² holds
    for all: one from the few documents of each round alone would favour rounds in which few errors happened to be
    found. Rounds of earlier, worse models say how many errors these would have left.

    The interval is Student's, with an s² that counts four documents of the scatter that errors usually have: few random
    documents may happen to hold next to none of the errors, and no resampling of them shows that.

    Args:
        rounds: that left the same documents unread; those of which no random document was read are skipped.
        level: how often the true number is to lie inside, between 0 and 1.

    Raises:
        DataError: no random document was read, rounds of other documents, or a wrong level.

    >>> pool = {f"d{number}": 1.0 for number in range(10)}
    >>> errors_left([Round(pool, {"d0": 2.0, "d1": 4.0}, ["d0", "d1"])]).value  # 10 + 10 / 2 · (1 + 3) - 6
    24.0
    """
    if not 0.0 < level < 1.0:
        raise DataError(f"errors left: level {level}: 0.95 is usual")
    rounds = [one for one in rounds if one.random]
    if not rounds:
        raise DataError("errors left: no random document was read; only these stand for the unread ones")
    if len({one.unread for one in rounds}) > 1:
        raise DataError("errors left: rounds left different documents unread; pool those since the last upload alone")
    count = sum(len(one.random) for one in rounds)
    if not rounds[0].unread:
        return ErrorsLeft(0.0, 0.0, 0.0, count)
    spreads = np.array([_spread(one) for one in rounds])
    weights = spreads**-2 / (spreads**-2).sum()
    value = float(weights @ [one.estimate() for one in rounds])
    off = float(np.linalg.norm(weights * spreads)) * _widest(rounds, level)
    return ErrorsLeft(value, value - off, value + off, count)


def _spread(one: Round) -> float:
    """Return the standard error of a round's estimate, in units of s."""
    pool, drawn = len(one.expected), len(one.random)
    return pool * math.sqrt((1.0 - drawn / pool) / drawn)


def _widest(rounds: Sequence[Round], level: float) -> float:
    """Return s times Student's t, endless where fewer than five random documents were read."""
    differences = [one.differences() for one in rounds]
    count = sum(map(len, differences))
    freedom = count - len(rounds)
    if count < FEWEST or not freedom:
        return math.inf
    found = sum(one.found[id] for one in rounds for id in one.random) / count
    expected = max(math.fsum(one.expected.values()) / len(one.expected) for one in rounds)
    usual = SCATTER * max(found, expected, 1 / count)  # that none was found and none expected does not mean none
    squares = sum(float(values.var()) * len(values) for values in differences)
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, and needed here alone

    scatter = math.sqrt((squares + WEIGHT * usual) / (freedom + WEIGHT))
    return scatter * float(stdtrit(freedom, (1 + level) / 2))


class Missed(NamedTuple):
    """Mentions that there are and those that both readers missed, as far as counts can tell; both are lower bounds."""

    there: float
    missed: float


def missed_by_both(first: int, second: int, both: int) -> Missed:
    """Return how many mentions two readers of the same documents missed, by Chapman's estimate (1951).

    N̂ = (n₁ + 1)(n₂ + 1) / (m + 1) − 1, of which n₁ + n₂ − m were found. It holds for readers who overlook mentions
    independently; real ones overlook the same difficult mentions, so that there are at least so many.

    Args:
        first: how many mentions the one found.
        second: how many the other found.
        both: how many of these are the same.

    Raises:
        DataError: counts that cannot be.

    >>> missed_by_both(9, 8, 8)
    Missed(there=9.0, missed=0.0)
    """
    if not 0 <= both <= min(first, second):
        raise DataError(
            f"{both} mentions found by both of two readers who found {first} and {second}: check the counts"
        )
    there = (first + 1) * (second + 1) / (both + 1) - 1
    return Missed(there, there - (first + second - both))
