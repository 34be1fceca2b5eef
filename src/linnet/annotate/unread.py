"""Documents that a model has predicted and no person has read yet, and how sure the model is of them.

Only predicted mentions count (``source`` is ``pred``): what people annotated is certain. P(mention) is its
``probability``, P(span and concept right) behind a detector that was calibrated with it. Where a component gave none, a
mention that was found but not looked up is as probable as its ``signals["detect"]``; any other is even odds.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates, Document, Mention, Span
from linnet.errors import DataError

__all__ = [
    "NIL",
    "OTHER",
    "Outcome",
    "Unread",
    "detected",
    "disagreement",
    "entropy",
    "outcomes",
    "predicted",
    "probability",
    "surface_vector",
]

Floats = npt.NDArray[np.float64]
Outcome: TypeAlias = "int | str | None"
Place: TypeAlias = tuple[tuple[Span, ...], tuple[str, ...]]

NIL = None  # no concept fits, or the span is no mention
OTHER = ""  # a concept that is not among the candidates
EVEN = 0.5  # the probability of an answer of which nothing is known
LEAST = 0.05  # spans that are less probable to be mentions are too many to be worth a sum
DIMENSIONS = 256  # of vectors of surfaces
NEWTON = 50  # steps at most; a handful is usual
CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Unread:
    """A predicted document, and what else is known of it.

    Args:
        document: with the mentions that the model predicts.
        missed: probabilities that spans which the model does not predict are mentions nevertheless.
        earlier: the same document as the version of the model before predicted it.
        vector: (d,), the mean of the vectors of its mentions; None = made from their surfaces.

    Raises:
        DataError: a probability outside 0 … 1, or an earlier version of another text.
    """

    document: Document
    missed: tuple[float, ...] = ()
    earlier: Document | None = None
    vector: npt.ArrayLike | None = None

    def __post_init__(self) -> None:
        if wrong := [value for value in self.missed if not 0.0 <= value <= 1.0]:
            raise DataError(f"document {self.id!r}: {wrong[0]} is no probability of a missed span")
        if self.earlier is not None and self.earlier.text != self.document.text:
            raise DataError(f"document {self.id!r}: the earlier prediction is of another text; predict it again")

    @classmethod
    def of(cls, doc: Document, *, threshold: float, earlier: Document | None = None) -> Self:
        """Return a document that was predicted with a low threshold, the mentions below `threshold` taken apart.

        Args:
            doc: predicted by a detector that lets through whatever has ``signals["detect"]`` of 0.05 or more.
            threshold: mentions less probable are not predicted; they are `missed`, but for those that share characters
                with a predicted mention, whose own doubt covers them.
            earlier: the document as predicted by the version before.

        >>> sure, doubtful = (Mention(0, 4, signals={"detect": 0.9}), Mention(5, 9, signals={"detect": 0.2}))
        >>> unread = Unread.of(Document("d", "Ague? Gout.", mentions=(sure, doubtful)), threshold=0.5)
        >>> len(unread.document.mentions), unread.missed
        (1, (0.2,))
        """
        below = [m for m in predicted(doc) if detected(m) < threshold]
        left_out = {id(mention) for mention in below}
        kept = tuple(mention for mention in doc.mentions or () if id(mention) not in left_out)
        taken = [span for mention in kept for span in mention.spans]
        missed = (detected(m) for m in below if detected(m) >= LEAST and not _share(m.spans, taken))
        return cls(replace(doc, mentions=kept), tuple(missed), earlier)

    @property
    def id(self) -> str:
        """The id of the document."""
        return self.document.id

    @property
    def mentions(self) -> tuple[Mention, ...]:
        """The predicted mentions, which a person has to decide on."""
        return predicted(self.document)

    @property
    def expected_errors(self) -> float:
        """How many errors a reader will find, ê = Σ (1 − P_i) over mentions + Σ q_s over missed spans.

        >>> mentions = (Mention(0, 4, probability=0.9), Mention(6, 10, probability=0.5))
        >>> round(Unread(Document("d", "Ague, gout.", mentions=mentions), missed=(0.25,)).expected_errors, 2)
        0.85
        """
        return sum(1.0 - probability(mention) for mention in self.mentions) + sum(self.missed)

    def direction(self) -> Floats:
        """Return its vector with length 1, (d,), or zeros where it has no mentions."""
        given = surface_vector(self.document) if self.vector is None else np.asarray(self.vector, np.float64)
        if given.ndim != 1 or not np.isfinite(given).all():
            raise DataError(f"document {self.id!r}: its vector must be one row of finite numbers")
        length = float(np.linalg.norm(given))
        return np.asarray(given / length if length else given)


def predicted(doc: Document) -> tuple[Mention, ...]:
    """Return the mentions of a document that no person made."""
    return tuple(mention for mention in doc.mentions or () if mention.source == "pred")


def detected(mention: Mention) -> float:
    """Return how probable the span is, 0 … 1: ``signals["detect"]``, 1 where the span was given."""
    return min(max(float(mention.signals.get("detect", 1.0)), 0.0), 1.0)


def probability(mention: Mention) -> float:
    """Return how probable it is that nobody has to correct a predicted mention, 0 … 1.

    >>> probability(Mention(0, 4, probability=0.8)), probability(Mention(0, 4, signals={"detect": 0.7}))
    (0.8, 0.7)
    """
    if mention.probability is not None:
        return mention.probability
    return detected(mention) if mention.candidates is None and "detect" in mention.signals else EVEN


# --- what may be right -----------------------------------------------------------------------------------------------


def outcomes(mention: Mention) -> dict[Outcome, float]:
    """Return what may be right at a predicted mention -> how probable it is; all sum to 1.

    Calibration says how probable the first candidate is; the others share what is left as a softmax of their scores
    would that makes the first one just as probable, whatever the scale of the scores. Of what is left, `NIL` takes the
    probability that the span is no mention, and all of it where there is no other candidate. Where NIL itself is the
    first, or nothing was offered, `OTHER` takes what is left so.

    Returns:
        Rows of the knowledge base (ids where candidates were read without one), `NIL` and `OTHER` -> probability.

    >>> from linnet.data import Candidates
    >>> mention = Mention(0, 4, candidates=Candidates([7, 8, 9], [0.9, 0.6, 0.3]), probability=0.8)
    >>> {key: round(value, 2) for key, value in outcomes(mention).items()}
    {7: 0.8, None: 0.0, 8: 0.17, 9: 0.03}
    """
    sure, candidates = probability(mention), mention.candidates
    if candidates is None or not len(candidates):
        answer, otherwise = (OTHER, NIL) if candidates is None else (NIL, OTHER)
        return {answer: sure, otherwise: 1.0 - sure}
    keys = _keys(candidates)
    if mention.concepts == () and keys[0] is not NIL:  # rejected by a threshold
        return {keys[0]: 1.0 - sure, NIL: sure}
    rest, otherwise = 1.0 - sure, OTHER if keys[0] is NIL else NIL
    spare = rest
    if len(keys) > 1:
        spare = 0.0 if keys[0] is NIL else min(1.0 - detected(mention), rest)
    found = {keys[0]: sure, otherwise: spare}
    for key, share in zip(keys[1:], _shares(candidates.scores, sure, rest - spare).tolist(), strict=True):
        found[key] = found.get(key, 0.0) + share
    return found


def _keys(candidates: Candidates) -> list[Outcome]:
    if candidates.ids:
        return list(candidates.ids)
    return [row if row >= 0 else NIL for row in candidates.rows.tolist()]


def _shares(scores: npt.NDArray[np.float32], first: float, rest: float) -> Floats:
    """Return how `rest` is shared among the candidates after the first, (n - 1,).

    Shares are as exp(−β gap), with β ≥ 0 such that Σ exp(−β gap) = rest / first. Newton's method from β = 0 rises to it
    without overshooting, because log Σ exp(−β gap) is convex.
    """
    gaps = np.maximum(np.float64(scores[0]) - scores[1:].astype(np.float64), 0.0)
    if not len(gaps) or not gaps.any() or not first > 0 or not rest > 0:
        return np.full(len(gaps), max(rest, 0.0) / max(1, len(gaps)))
    gaps, sharpness, target = gaps / gaps.max(), 0.0, math.log(rest / first)
    weights, total = np.ones(len(gaps)), float(len(gaps))
    for _ in range(NEWTON):
        excess, slope = math.log(total) - target, float(weights @ gaps) / total
        if excess < CLOSE or slope < CLOSE:  # as sharp as needed, or only ties with the first are left
            break
        sharpness += excess / slope
        weights = np.exp(-sharpness * gaps)
        total = float(weights.sum())
    return np.asarray(rest / total * weights)


def entropy(probabilities: npt.ArrayLike) -> float:
    """Return the entropy −Σ p log p in nats (Shannon 1948), with 0 log 0 = 0.

    >>> round(entropy([0.5, 0.5, 0.0]), 3)
    0.693
    """
    values = np.asarray(probabilities, np.float64)
    values = values[values > 0]
    return abs(float(values @ np.log(values)))  # never -0.0


def disagreement(one: Document, other: Document) -> float:
    """Return by how much two versions of a model disagree on a document: the largest of its mentions, in nats.

    For each span with its types, the Jensen-Shannon divergence H((p + q) / 2) − (H(p) + H(q)) / 2 of the `outcomes`
    (Lin 1991), 0 … log 2. A version that does not predict the span says NIL with certainty.

    Raises:
        DataError: the candidates are rows of two versions of the knowledge base, or some rows and some ids.

    >>> old, new = (Document("d", "Gout.", mentions=(Mention(0, 4, probability=p),)) for p in (0.5, 1.0))
    >>> round(disagreement(old, new), 3), disagreement(old, old)
    (0.216, 0.0)
    """
    lists = [mention.candidates for doc in (one, other) for mention in predicted(doc)]
    if len({NIL if found.ids else found.kb for found in lists if found is not None and len(found)}) > 1:
        problem = "the candidates of its two predictions are rows of different knowledge bases"
        raise DataError(f"document {one.id!r}: {problem}; give all by id, or predict it with both models again")
    first, second = _by_place(one), _by_place(other)
    nothing: dict[Outcome, float] = {NIL: 1.0}
    places = first.keys() | second.keys()
    return max((_divergence(first.get(place, nothing), second.get(place, nothing)) for place in places), default=0.0)


def _by_place(doc: Document) -> dict[Place, dict[Outcome, float]]:
    return {(mention.spans, mention.types): outcomes(mention) for mention in predicted(doc)}


def _divergence(one: dict[Outcome, float], other: dict[Outcome, float]) -> float:
    keys = dict.fromkeys([*one, *other])
    p, q = (np.array([found.get(key, 0.0) for key in keys]) for found in (one, other))
    return max(0.0, entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2)


# --- vectors ---------------------------------------------------------------------------------------------------------


def surface_vector(doc: Document) -> Floats:
    """Return the mean of vectors of a document's predicted mentions, float64 (256,); zeros without mentions.

    The vector of a mention counts the three-letter pieces of its surface in places chosen by a hash (Weinberger et al.
    2009) and has length 1. It stands in for the vectors of a network where the pipeline has none.

    >>> docs = [Document("d", text, mentions=(Mention(0, len(text)),)) for text in ("Gout", "Gouty", "Ague")]
    >>> gout, gouty, ague = map(surface_vector, docs)
    >>> bool(gout @ gouty > gout @ ague)
    True
    """
    mentions = predicted(doc)
    total = np.zeros(DIMENSIONS)
    for mention in mentions:
        text = f"^{doc.surface(mention).lower()}$"
        pieces = [text[at : at + 3].encode("utf-8", "surrogatepass") for at in range(max(1, len(text) - 2))]
        counts = np.bincount([zlib.crc32(piece) % DIMENSIONS for piece in pieces], minlength=DIMENSIONS)
        total += counts / np.linalg.norm(counts)
    return total / max(1, len(mentions))


def _share(spans: Sequence[Span], others: Sequence[Span]) -> bool:
    """Return whether two lists of spans have a character in common."""
    return any(start < their_end and their_start < end for start, end in spans for their_start, their_end in others)
