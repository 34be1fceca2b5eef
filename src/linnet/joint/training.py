"""How joint networks are trained: from what people marked to weights, a cutoff, and probabilities of mentions."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from linnet.data import Document, Mention, Span
from linnet.errors import DataError
from linnet.joint.reading import NEUTRAL, Found, JointNetwork
from linnet.kb import KnowledgeBase
from linnet.pipeline import Step
from linnet.pipeline.component import blind
from linnet.pipeline.pipeline import prepared
from linnet.text.windows import Text
from linnet.train.args import TrainArgs
from linnet.train.checkpoint import key_of
from linnet.train.loop import Trainable, train
from linnet.train.network import tell_loss

__all__ = [
    "JointTraining", "Judged", "Judgement",
    "best_cutoff", "calibrate", "find", "judge", "link", "read_blind", "right_rows", "spans_of", "train_joint",
]  # fmt: skip

logger = logging.getLogger(__name__)

FEW = 50  # mentions that nothing can be calibrated on


class Judged(Protocol):
    """A document with the mentions that should be found in it."""

    @property
    def doc(self) -> Document:
        """The document."""
        ...

    @property
    def text(self) -> Text:
        """The document as the network reads it."""
        ...

    @property
    def answers(self) -> dict[tuple[int, int], frozenset[int]]:
        """The right concepts of each mention, by its first and last word; none of one without a concept."""
        ...

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which words somebody has looked at, bool (words,)."""
        ...


class JointTraining(Trainable, Protocol):
    """What the gradient loop needs to know of a joint network, and what it is of."""

    @property
    def part(self) -> JointNetwork[Any]:
        """The component."""
        ...

    @property
    def args(self) -> Any:
        """What its training is told beside the loop."""
        ...

    @property
    def docs(self) -> Sequence[Judged]:
        """What is learned from."""
        ...

    def show(self) -> None:
        """Let the component search by the weights as they are."""
        ...


# --- what is learned from --------------------------------------------------------------------------------------------


def read_blind(part: JointNetwork[Any], docs: Sequence[Document]) -> list[tuple[Document, Text]]:
    """Return documents with what a component needs, and as its network reads them without what people marked."""
    seen = prepared(docs, part)
    return list(zip(seen, part.read(blind(seen, part)), strict=True))


def right_rows(kb: KnowledgeBase, mention: Mention) -> frozenset[int]:
    """Return the rows of the concepts that are right alone."""
    answers = [mention.concepts or (), *mention.alternatives]
    return frozenset(kb.row(answer[0]) for answer in answers if len(answer) == 1 and answer[0] in kb)


def spans_of(text: Text, mentions: Sequence[tuple[int, int]]) -> list[list[Span]]:
    """Return the spans of mentions of one part, given by their first and last words."""
    return [[Span(text.words[first].start, text.words[last].end)] for first, last in mentions]


# --- training --------------------------------------------------------------------------------------------------------


def train_joint(
    training: JointTraining,
    dev: Sequence[Judged],
    docs: Sequence[Document],
    *,
    loop: TrainArgs,
    args: Mapping[str, Any],
) -> Iterator[Step]:
    """Train the network of a component in place; `dev` chooses its weights and cutoff, and calibrates it.

    Args:
        training: the component, and what it learns from.
        dev: documents that are not learned from.
        docs: all documents of both, as they were given.
        loop: what the gradient loop is told.
        args: as of `fit`, where checkpoints are kept.

    Raises:
        DataError: no mention that is learned from has a concept of the knowledge base.
    """
    part = training.part
    if not any(rows for doc in training.docs for rows in doc.answers.values()):
        problem = "no mention of the training documents has a concept of the knowledge base"
        raise DataError(f"{part.NAME}: {problem}")
    network: Any = part.network
    told = [part.config(), part.learned_values(), vars(training.args), part.kb.version, network.mention.fingerprint()]

    def score(_: object) -> float:
        training.show()
        return _score(part, dev)

    judged = score if _can_judge(part, dev) else None
    seen = [doc.doc for doc in training.docs]
    try:
        yield from train(
            training, seen, [doc.doc for doc in dev], score=judged, args=loop,
            folder=args.get("checkpoints"), key=key_of(told, docs),
        )  # fmt: skip
    finally:
        network.requires_grad_(True).eval()
        part.hide()
    training.show()
    if not dev:
        return
    by = part
    if part.backend == "onnx":
        by = part.by_graph
        what = "F1 of mentions with their concepts" if part.find else "accuracy"
        tell_loss(part.NAME, what, _score(part, dev), _score(by, dev))
    if part.find:
        found = find(by, dev)
        judgement = judge(dev, found)
        if judgement.right.any():  # else what is kept without dev documents is
            part.cutoff = best_cutoff(judgement)[1]
        kept = [[(one, None) for one, _ in some if one.odds >= part.cutoff] for some in found]
        part.curve = calibrate(judge(dev, kept), part.NAME)


def _can_judge(part: JointNetwork[Any], dev: Sequence[Judged]) -> bool:
    """Return whether there is anything to find, or to link: else the first weights would be as good as the last."""
    return any(rows or part.find for doc in dev for rows in doc.answers.values())


def _score(part: JointNetwork[Any], dev: Sequence[Judged]) -> float:
    """Return how much of what should be found and linked is, F1, or which share of given mentions is linked right."""
    return best_cutoff(judge(dev, find(part, dev)))[0] if part.find else _share_right(part, dev)


# --- what is found on dev --------------------------------------------------------------------------------------------


def find(part: JointNetwork[Any], docs: Sequence[Judged]) -> list[list[tuple[Found, int]]]:
    """Return the mentions that may be in documents, each with the row of its first concept, -1 for none."""
    texts = [doc.text for doc in docs]
    said = part.read_documents([doc.doc for doc in docs], texts, find=True)
    found = part.find_mentions(texts, said)
    words = [[(one.first, one.last) for one in some] for some in found]
    return [list(zip(*pair, strict=True)) for pair in zip(found, link(part, docs, said, words), strict=True)]


def link(
    part: JointNetwork[Any], docs: Sequence[Judged], said: Sequence[Any], mentions: Sequence[Sequence[tuple[int, int]]]
) -> list[list[int]]:
    """Return the row of the first concept of mentions, -1 for none.

    Args:
        part: the component.
        docs: which hold the mentions.
        said: what the network says of the documents.
        mentions: of each document, by first and last word.
    """
    vectors = [
        part.mention_vectors(doc.doc, doc.text, own, spans_of(doc.text, some))
        for doc, own, some in zip(docs, said, mentions, strict=True)
    ]
    found = iter(part.search(np.concatenate(vectors), 1))
    return [[int(one.rows[0]) if len(one.rows) else -1 for one in itertools.islice(found, len(v))] for v in vectors]


def _share_right(part: JointNetwork[Any], docs: Sequence[Judged]) -> float:
    """Return the share of given mentions that are linked right."""
    said = part.read_documents([doc.doc for doc in docs], [doc.text for doc in docs], find=False)
    wanted = [{words: rows for words, rows in doc.answers.items() if rows} for doc in docs]
    firsts = link(part, docs, said, [list(some) for some in wanted])
    rows = [right for some in wanted for right in some.values()]
    right = [row in own for row, own in zip(itertools.chain.from_iterable(firsts), rows, strict=True)]
    return sum(right) / max(1, len(right))


class Judgement(NamedTuple):
    """Found mentions where somebody has looked: their log odds, whether each is right, and how many there should be."""

    odds: npt.NDArray[np.float64]
    right: npt.NDArray[np.bool_]
    wanted: int


def judge(docs: Sequence[Judged], answers: Sequence[Sequence[tuple[Found, int | None]]]) -> Judgement:
    """Return whether what was found is right: the span, and its first concept, whose row comes with it.

    Args:
        docs: what should be found.
        answers: what was, each with the row of its first concept, -1 for none; None = the span alone counts.
    """
    odds, right, wanted = [], [], 0
    for doc, found in zip(docs, answers, strict=True):
        wanted += len(doc.answers)
        for one, row in found:
            if doc.known[one.first : one.last + 1].all():
                rows = doc.answers.get((one.first, one.last))
                odds.append(one.odds)
                right.append(rows is not None and (row is None or row in rows or not rows))
    return Judgement(np.array(odds), np.array(right, np.bool_), wanted)


def best_cutoff(judgement: Judgement) -> tuple[float, float]:
    """Return the best F1, and the log odds from which on mentions are to be kept for it; 0 where none is right.

    >>> best_cutoff(Judgement(np.array([2.0, 1.0, -1.0]), np.array([True, True, False]), 2))
    (1.0, 0.0)
    """
    odds, right, wanted = judgement
    if not right.any():
        return 0.0, 0.0  # no cutoff is better than another
    order = np.argsort(-odds, kind="stable")
    kept = odds[order]
    f1 = 2 * np.cumsum(right[order]) / (np.arange(1, len(odds) + 1) + wanted)
    last = np.append(kept[1:] != kept[:-1], True)  # mentions of the same odds stay or go together
    best = int(np.argmax(np.where(last, f1, -1.0)))
    behind = kept[best + 1] if best + 1 < len(kept) else kept[best] - 1
    return float(f1[best]), float((kept[best] + behind) / 2)


def calibrate(judgement: Judgement, what: str) -> tuple[float, float]:
    """Return slope and shift such that log odds tell how often mentions are right (Platt 1999).

    Args:
        judgement: of spans.
        what: the component, for the message where there are too few.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - slow to import, needed for training alone

    odds, right, _ = judgement
    if len(right) < FEW or len(set(right.tolist())) < 2:
        logger.warning("%s: nothing to calibrate on in %d mentions, few or all alike", what, len(right))
        return NEUTRAL
    model = LogisticRegression(C=1e3).fit(odds[:, None], right)
    return float(model.coef_[0, 0]), float(model.intercept_[0])
