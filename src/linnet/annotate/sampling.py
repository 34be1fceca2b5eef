"""Which documents people read next: strategies by name, and batches that always hold some random documents.

A strategy puts unread documents in order, those first from which reading is expected to teach most (Settles 2009 is the
survey). P_i is the probability of mention i (`linnet.annotate.unread`), q_s that of a missed span, V(d) the expected
errors of a document a minute. Documents of equal value come in an order that depends on the seed and their ids alone,
so that a batch depends neither on the order of the pool nor on anything outside it.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from linnet.annotate.unread import Unread, detected, disagreement, entropy, outcomes, probability
from linnet.annotate.work_time import WorkTime
from linnet.data import Mention
from linnet.errors import DataError, did_you_mean
from linnet.frozen import EMPTY

__all__ = [
    "BY_CANDIDATES",
    "BY_CHANCE",
    "DEFAULT",
    "NIL_LINKS",
    "STRATEGIES",
    "STRATIFIED",
    "Batch",
    "Known",
    "Sample",
    "check_strategy",
    "confidence",
    "draw",
    "order",
]

Floats = npt.NDArray[np.float64]

DEFAULT = "expected_error"
RANDOM = "random"
STRATIFIED = "stratified"
BY_CHANCE = frozenset({RANDOM, STRATIFIED})
BY_CANDIDATES = frozenset(
    {"trainx", "margin", "entropy", "version_disagreement"}
)  # others ask no more than probabilities
NIL_LINKS = "NIL"  # what decisions that no concept fits are counted under
RANDOM_SHARE, FEWEST_RANDOM = 0.2, 2
BARE_SHARE = 0.1
CHANCES = 2**64
WIDEST = 2.0  # two cosines differ by no more


@dataclass(frozen=True, eq=False)
class Known:
    """What strategies know beside the unread documents.

    Args:
        time: how long documents take.
        links: concept (``live`` leads ids there) -> how often people linked it so far, `NIL_LINKS` where none fits.
        read: (documents, d), vectors of documents that were read before; those of the pool must be of the same kind.
        source: the entry of ``Document.meta`` that says where a document comes from.
    """

    time: WorkTime = field(default_factory=WorkTime)
    links: Mapping[str, int] = EMPTY
    live: Callable[[str], str] = str
    read: npt.ArrayLike = ()
    source: str = "source"


@dataclass(frozen=True)
class Sample:
    """A document to read, and why.

    Args:
        id: of the document.
        random: drawn by chance; only such documents stand for the others, in calibration, dev scores and stop signals.
        value: what the strategy says of it, more = read sooner, in the strategy's unit; None for random ones.
        suggestions: whether readers see what the model predicts.
    """

    id: str
    random: bool
    value: float | None = None
    suggestions: bool = True


@dataclass(frozen=True)
class Batch:
    """Documents to read in this order.

    Args:
        samples: the documents.
        strategy: the name of the strategy.
        seed: of all that was left to chance.
        pool: ids of all unread documents when the random ones were drawn, sorted: what these stand for.
    """

    samples: tuple[Sample, ...]
    strategy: str
    seed: int
    pool: tuple[str, ...]

    @property
    def random(self) -> tuple[str, ...]:
        """The ids of the random documents."""
        return tuple(sample.id for sample in self.samples if sample.random)


Value: TypeAlias = Callable[[Unread, Known], float]
Spread: TypeAlias = Callable[[Floats, Floats], Floats]
# (unread documents in a canonical order, how many, known, seed) -> places among them and their values
Picker: TypeAlias = Callable[[Sequence[Unread], int, Known, int], list[tuple[int, float]]]


# --- the value of a document -----------------------------------------------------------------------------------------


def confidence(mention: Mention) -> float:
    """Return TrainX's confidence in an annotation, p_NER + (cos₁ − cos₂), -1 … 3 (Oberhauser et al. 2020, §3).

    p_NER is ``signals["detect"]``, the cosines' difference ``signals["margin"]`` as `linnet.retrieve.dense` leaves it.
    Without that signal the first two scores take their place, cut to the range of cosines, and a missing one is 0.

    >>> confidence(Mention(0, 4, signals={"detect": 0.75, "margin": 0.125}))
    0.875
    """
    margin = mention.signals.get("margin")
    if margin is None:
        scores: list[float] = [] if mention.candidates is None else mention.candidates.scores.tolist()
        first, second, *_ = [*scores, 0.0, 0.0]
        margin = min(max(first - second, 0.0), WIDEST)
    return detected(mention) + margin


def _trainx(unread: Unread, _known: Known) -> float:
    return -min((confidence(mention) for mention in unread.mentions), default=1.0 + WIDEST)


def _least_confident(unread: Unread, _known: Known) -> float:
    return max((1.0 - probability(mention) for mention in unread.mentions), default=0.0)


def _margin(unread: Unread, _known: Known) -> float:
    best = (sorted(outcomes(mention).values())[-2:] for mention in unread.mentions)
    return max((1.0 - (first - second) for second, first in best), default=0.0)


def _entropy(unread: Unread, _known: Known) -> float:
    return max((entropy([*outcomes(mention).values()]) for mention in unread.mentions), default=0.0)


def _version_disagreement(unread: Unread, _known: Known) -> float:
    return 0.0 if unread.earlier is None else disagreement(unread.earlier, unread.document)


def _expected_error(unread: Unread, known: Known) -> float:
    return unread.expected_errors / known.time.minutes(unread)


def _coverage(unread: Unread, known: Known) -> float:
    concepts: list[str] = [id for mention in unread.mentions for id in mention.concepts or (NIL_LINKS,)]
    return _expected_error(unread, known) * sum(
        1.0 / math.sqrt(1 + known.links.get(known.live(id), 0)) for id in concepts
    )


# --- picking ---------------------------------------------------------------------------------------------------------


def _by_value(value: Value) -> Picker:
    """Return the picker of the documents of highest value."""

    def pick(pool: Sequence[Unread], n: int, known: Known, _seed: int) -> list[tuple[int, float]]:
        values = np.array([value(unread, known) for unread in pool])
        return [(at, float(values[at])) for at in np.argsort(-values, kind="stable")[:n].tolist()]

    return pick


def _apart(value: Value, spread: Spread, *, from_read: bool) -> Picker:
    """Return the picker that takes one document after the other, each unlike those before it.

    `spread` gets the values and how near each document is to the nearest one before, a cosine. Documents without
    mentions have no direction; they count as known and come last.
    """

    def pick(pool: Sequence[Unread], n: int, known: Known, _seed: int) -> list[tuple[int, float]]:
        values, vectors = np.array([value(unread, known) for unread in pool]), _directions(pool)
        nearest = np.where(vectors.any(axis=1), -1.0, 1.0)
        for vector in _read(known, vectors.shape[1]) if from_read else ():
            nearest = np.maximum(nearest, vectors @ vector)
        left, picked = np.ones(len(pool), np.bool_), list[tuple[int, float]]()
        for _ in range(min(n, len(pool))):
            gains = np.where(left, spread(values, np.minimum(nearest, 1.0)), -np.inf)
            at = int(np.argmax(gains))
            picked.append((at, float(gains[at])))
            left[at] = False
            nearest = np.maximum(nearest, vectors @ vectors[at])
        return picked

    return pick


def _directions(pool: Sequence[Unread]) -> Floats:
    """Return the vectors of length 1 of all documents, (documents, d)."""
    vectors = [unread.direction() for unread in pool]
    if len({len(vector) for vector in vectors}) > 1:
        raise DataError("sampling: vectors of documents differ in length; give all of one model, or none")
    return np.array(vectors)


def _read(known: Known, width: int) -> Floats:
    rows = np.asarray(known.read, np.float64)
    if not rows.size:
        return np.empty((0, width))
    if rows.ndim != 2 or rows.shape[1] != width:
        raise DataError(f"sampling: vectors of read documents have shape {rows.shape}, expected (documents, {width})")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def _stratified(pool: Sequence[Unread], n: int, known: Known, seed: int) -> list[tuple[int, float]]:
    """Pick every k-th document by source and length: each has the same chance, each source and length its share."""
    places = sorted(range(len(pool)), key=lambda at: (_source(pool[at], known), len(pool[at].document.text)))
    n, start = min(n, len(places)), _chance(seed, "start", "")
    # whole numbers: a fraction could be rounded up to one place too far
    return [(places[(at * CHANCES + start) * len(places) // (n * CHANCES)], 0.0) for at in range(n)]


def _source(unread: Unread, known: Known) -> str:
    return str(unread.document.meta.get(known.source, ""))


STRATEGIES: Mapping[str, Picker] = MappingProxyType(
    {
        # ρ(d), uniform
        RANDOM: _by_value(lambda _unread, _known: 0.0),
        # Systematic sampling over the documents sorted by source and length (Cochran 1977, ch. 8), before there is a
        # model worth asking; all of it is random.
        STRATIFIED: _stratified,
        # −min_i [p_NER + (cos₁ − cos₂)], -3 … 1 (Oberhauser et al. 2020); ascending in confidence as the paper says,
        # where its published code is descending and has a margin of 0
        "trainx": _by_value(_trainx),
        # max_i (1 − P_i), 0 … 1 (Lewis & Gale 1994)
        "least_confident": _by_value(_least_confident),
        # max_i 1 − (p₁ − p₂) over the two most probable outcomes, 0 … 1 (Scheffer et al. 2001)
        "margin": _by_value(_margin),
        # max_i −Σ_c p_c log p_c over candidates and NIL, in nats (Shannon 1948)
        "entropy": _by_value(_entropy),
        # max_i H(p̄) − ½ (H(p_t) + H(p_{t−1})) of the last two models, in nats (McCallum & Nigam 1998, with their
        # committee of models replaced by the versions of one)
        "version_disagreement": _by_value(_version_disagreement),
        # V(d) = [Σ_i (1 − P_i) + Σ_s q_s] / T̂(d), errors a minute: a sum over mentions favours long documents, time
        # takes that back (cost as in Settles, Craven & Friedland 2008)
        "expected_error": _by_value(_expected_error),
        # greedy argmax V(d) · (1 − max_{d' picked} cos(d, d')), errors a minute (as maximal marginal relevance,
        # Carbonell & Goldstein 1998)
        "diverse": _apart(
            _expected_error, lambda values, near: values * (1.0 - np.maximum(near, 0.0)), from_read=False
        ),
        # greedy argmax 1 − max cos over documents picked and read, 0 … 2: the farthest first (Sener & Savarese 2018)
        "k_centre": _apart(lambda _unread, _known: 0.0, lambda _values, near: 1.0 - near, from_read=True),
        # V(d) · Σ_i (1 + n_c)^(−1/2), where people linked the concept c of mention i n_c times so far, errors a minute
        "coverage": _by_value(_coverage),
    }
)


def check_strategy(name: str) -> None:
    """Refuse a strategy that there is not.

    Raises:
        DataError: it is none of `STRATEGIES`.
    """
    if name not in STRATEGIES:
        hint = did_you_mean(name, STRATEGIES) or f"; there are {', '.join(STRATEGIES)}"
        raise DataError(f"sampling: unknown strategy {name!r}{hint}")


def order(pool: Sequence[Unread], *, strategy: str = DEFAULT, seed: int, known: Known | None = None) -> list[str]:
    """Return the ids of all documents as a strategy orders them, with no random ones between.

    Raises:
        DataError: as `draw`.

    >>> from linnet.data import Document
    >>> sure, doubtful = (Mention(0, 4, probability=value) for value in (0.9, 0.3))
    >>> docs = [Document("a", "Gout.", mentions=(sure,)), Document("b", "Ague.", mentions=(doubtful,))]
    >>> order([Unread(doc) for doc in docs], seed=1)
    ['b', 'a']
    """
    pool = _checked(pool, strategy, seed)
    return [id for id, _ in _pick(pool, strategy, len(pool), known or Known(), seed)]


def draw(
    pool: Sequence[Unread],
    n: int,
    *,
    strategy: str = DEFAULT,
    seed: int,
    known: Known | None = None,
    random_share: float = RANDOM_SHARE,
    bare_share: float = BARE_SHARE,
) -> Batch:
    """Return the next `n` documents to read, or all where the pool holds fewer.

    Random ones are drawn first and from the whole pool, or they would not stand for it. Some of these, each with the
    chance `bare_share`, come without suggestions: what readers overlook elsewhere because suggestions lead them shows
    in the difference. Where a random document stands in the batch is left to chance, so that readers cannot tell.

    Args:
        pool: the unread documents, in any order.
        n: how many documents.
        strategy: one of `STRATEGIES`; ``random`` and ``stratified`` draw all documents by chance.
        seed: of all that is left to chance; a new one for each batch, or documents uploaded since are drawn too often.
        known: what strategies know beside the documents.
        random_share: of the documents at least, and two at least; 0 = none.
        bare_share: of the random documents, without suggestions.

    Raises:
        DataError: fewer than one document asked for, an id that occurs twice, an unknown strategy, a share outside
            0 … 1, or no earlier predictions for ``version_disagreement``.

    >>> from linnet.data import Document
    >>> batch = draw([Unread(Document.of(word, word)) for word in ("ague", "gout", "rickets")], 2, seed=5)
    >>> len(batch.samples), len(batch.random), batch.pool
    (2, 2, ('ague', 'gout', 'rickets'))
    """
    _check_numbers(n, random_share, bare_share)
    known, pool = known or Known(), _checked(pool, strategy, seed)
    n = min(n, len(pool))
    by_chance = strategy if strategy in BY_CHANCE else RANDOM
    count = n if strategy in BY_CHANCE else _count_random(n, random_share)
    drawn = _pick(sorted(pool, key=functools.partial(_shuffled, seed, "random")), by_chance, count, known, seed)
    randoms = [
        Sample(id, random=True, suggestions=_chance(seed, "bare", id) >= bare_share * CHANCES) for id, _ in drawn
    ]
    taken = {sample.id for sample in randoms}
    rest = [unread for unread in pool if unread.id not in taken]
    actives = [Sample(id, random=False, value=value) for id, value in _pick(rest, strategy, n - count, known, seed)]
    ids = tuple(sorted(unread.id for unread in pool))
    return Batch(_mix(actives, randoms, seed), strategy, seed, ids)


def _pick(pool: Sequence[Unread], strategy: str, n: int, known: Known, seed: int) -> list[tuple[str, float]]:
    """Return ids and values of the first `n` documents, of which there are so many."""
    return [(pool[at].id, value) for at, value in STRATEGIES[strategy](pool, n, known, seed)] if n else []


def _check_numbers(n: int, *shares: float) -> None:
    if n < 1:
        raise DataError(f"sampling: {n} documents asked for; ask for one or more")
    if wrong := [share for share in shares if not 0.0 <= share <= 1.0]:
        raise DataError(f"sampling: the share {wrong[0]} is not between 0 and 1")


def _checked(pool: Sequence[Unread], strategy: str, seed: int) -> list[Unread]:
    """Return the documents in the order that decides ties."""
    check_strategy(strategy)
    ids = [unread.id for unread in pool]
    if len(set(ids)) < len(ids):
        twice = next(id for id in ids if ids.count(id) > 1)
        raise DataError(f"sampling: document {twice!r} is in the pool twice; give each once")
    if strategy == "version_disagreement" and pool and all(unread.earlier is None for unread in pool):
        raise DataError(
            "sampling: version_disagreement compares two models; train twice first, or take another strategy"
        )
    return sorted(pool, key=functools.partial(_shuffled, seed, "ties"))


def _count_random(n: int, share: float) -> int:
    """Return how many of `n` documents are random: the share rounded up, two at least."""
    return min(n, max(FEWEST_RANDOM, math.ceil(share * n - 1e-9))) if share > 0 else 0


def _mix(actives: Sequence[Sample], randoms: Sequence[Sample], seed: int) -> tuple[Sample, ...]:
    """Return all samples, the active ones in their order, the random ones anywhere between."""
    size = len(actives) + len(randoms)
    places = set(sorted(range(size), key=lambda at: _chance(seed, "place", str(at)))[: len(randoms)])
    some, others = iter(randoms), iter(actives)
    return tuple(next(some if at in places else others) for at in range(size))


def _shuffled(seed: int, use: str, unread: Unread) -> tuple[int, str]:
    return _chance(seed, use, unread.id), unread.id


def _chance(seed: int, use: str, id: str) -> int:
    """Return a whole number from 0 to below `CHANCES`, equally probable, that depends on its arguments alone."""
    key = f"{seed}\0{use}\0{id}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")
