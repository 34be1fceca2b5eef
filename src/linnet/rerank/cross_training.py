"""Training of the cross-encoder (`linnet.rerank.cross_encoder`): its examples, losses and dev score.

As published (Sanz-Cruzado & Lever 2025): the first five candidates of the stage before, cross-entropy of each pair.
Beyond: the candidates of a mention compete with each other and with none of them.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from linnet.data import Candidates, Document
from linnet.errors import DataError
from linnet.kb import KnowledgeBase
from linnet.nn.sequences import Sequences, batched
from linnet.nn.texts import token_budget
from linnet.pipeline import Component, Pipeline, Step
from linnet.pipeline.component import align, blind
from linnet.rerank.counts import answers
from linnet.rerank.cross_args import CrossArgs
from linnet.rerank.cross_network import CrossNetwork
from linnet.rerank.cross_texts import FEATURES, Read, Reader
from linnet.rerank.cross_weights import weigh
from linnet.text.packing import Frame, Packed, Packing, pack
from linnet.train.args import TrainArgs
from linnet.train.key import key_of
from linnet.train.loop import parameter_groups, train

__all__ = ["RerankerInTraining", "fit"]

logger = logging.getLogger(__name__)

RIGHT, WRONG, UNKNOWN = 1, 0, -1
FASTER = 10.0  # the layers above the encoder begin with nothing, and learn so many times faster

Labels = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class RerankerInTraining(Component, Protocol):
    """A component of this network: how it reads mentions with their candidates, and what its training finds out."""

    kb: KnowledgeBase
    packing: Packing
    isolated: bool
    top_k: int
    use_first_stage_scores: bool
    compete: bool
    pace: dict[str, float]
    skip_threshold: float | None

    @property
    def network(self) -> CrossNetwork:
        """Its network."""
        ...

    @property
    def frame(self) -> Frame:
        """The tokens that hold a sequence together."""
        ...

    @property
    def reader(self) -> Reader:
        """What turns documents into word pieces."""
        ...

    def config(self) -> dict[str, Any]:
        """Return its keywords."""
        ...

    def resolved(self, doc: Document) -> list[Candidates]:
        """Return the candidates of each mention as rows of its knowledge base, in the order of the stage before."""
        ...

    def score(self, reads: Sequence[Read], *, alone: bool = False) -> list[list[Floats]]:
        """Return the logits of the read candidates of each mention, float32 (candidates,)."""
        ...


class Learned(NamedTuple):
    """A document to learn from: what is packed, and whether each candidate of each mention is right."""

    read: Read
    labels: list[Labels]
    reachable: int  # mentions whose concept the knowledge base has


class Example(NamedTuple):
    """Sequences that hold all candidates of some mentions: with features, labels and mention numbers of their slots."""

    packed: list[Packed]
    features: npt.NDArray[np.float32]
    labels: Labels
    mentions: Labels


@dataclass
class Batch:
    """Groups of sequences of like length with their labels (slots,) and the mentions (slots,) they are of."""

    groups: list[Sequences]
    labels: Tensor
    mentions: Tensor


class CrossTraining:
    """What the gradient loop needs to know of a cross-encoder (`linnet.train.loop.Trainable`)."""

    def __init__(self, cross: RerankerInTraining, args: CrossArgs, learned: Sequence[Learned]) -> None:
        self.cross, self.args = cross, args
        self.module: nn.Module = cross.network
        self._examples = [example for one in learned for example in self._of(one)]
        if args.dropout is not None:
            for layer in self.network.encoder.modules():
                if isinstance(layer, nn.Dropout):
                    layer.p = args.dropout

    @property
    def network(self) -> CrossNetwork:
        """The network."""
        return self.cross.network

    def groups(self, args: TrainArgs) -> list[dict[str, Any]]:
        """Return the parameters in groups; the layers above the encoder learn faster."""
        groups = parameter_groups(self.module, args)
        above = [parameter for name, parameter in self.module.named_parameters() if not name.startswith("encoder.")]
        own = {id(parameter) for parameter in above}
        for group in groups:
            group["params"] = [parameter for parameter in group["params"] if id(parameter) not in own]
        return [*groups, {"params": above, "weight_decay": 0.0, "lr": args.lr * FASTER}]

    def examples(self, docs: Sequence[Document], *, epoch: int, rng: np.random.Generator) -> list[Example]:  # noqa: ARG002
        """Return the examples: mentions, sentences, passages or documents, by the packing; each epoch the same."""
        return self._examples

    def batches(self, args: TrainArgs) -> int:
        """Return how many there are in an epoch."""
        return -(-len(self._examples) // args.batch)

    def _of(self, learned: Learned) -> Iterator[Example]:
        """Yield the sequences of a document, those that share a mention together."""
        packed = pack(
            learned.read.texts, learned.read.asked, self.cross.packing, self.cross.frame, isolated=self.cross.isolated
        )
        group: list[Packed] = []
        for one in packed:
            if group and group[-1].slots[-1].mention != one.slots[0].mention:
                yield self._example(group, learned)
                group = []
            group.append(one)
        if group:
            yield self._example(group, learned)

    def _example(self, packed: list[Packed], learned: Learned) -> Example:
        slots = [slot for one in packed for slot in one.slots]
        return Example(
            packed,
            np.zeros((len(slots), 0), np.float32),  # the network learns to speak alone
            np.array([learned.labels[slot.mention][slot.candidate] for slot in slots], np.int64),
            np.array([slot.mention for slot in slots], np.int64),
        )

    def collate(self, examples: Sequence[Example]) -> Batch:
        """Return a batch: sequences of like length together, slots in the order of these."""
        packed = [one for example in examples for one in example.packed]
        features, labels, mentions = [], [], []
        for number, example in enumerate(examples):
            ends = np.cumsum([len(one.slots) for one in example.packed])[:-1]
            features += np.split(example.features, ends)
            labels += np.split(example.labels, ends)
            mentions += np.split(example.mentions + (number << 32), ends)
        cpu = torch.device("cpu")
        rows = list(batched(packed, cpu, tokens=token_budget(cpu)))
        padding = self.network.encoder.tokenizer.pad_token_id
        groups = [
            Sequences.of(
                [packed[row] for row in some], np.concatenate([features[row] for row in some]), padding=padding,
                isolated=self.cross.isolated, device=cpu,
            )
            for some in rows
        ]  # fmt: skip
        order = [row for some in rows for row in some]
        _, numbers = np.unique(np.concatenate([mentions[row] for row in order]), return_inverse=True)
        return Batch(
            groups, torch.from_numpy(np.concatenate([labels[row] for row in order])), torch.from_numpy(numbers)
        )

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Return the mean cross-entropy of pairs, or of mentions."""
        logits = torch.cat([self.network(group) for group in batch.groups])
        known = batch.labels != UNKNOWN
        if self.args.loss == "pairs":
            if not known.any():
                return {"pairs": logits.sum() * 0.0}
            return {"pairs": functional.cross_entropy(logits[known], batch.labels[known])}
        return {"list": _listwise(logits[:, 1] - logits[:, 0], batch, self.network.none)}


def _listwise(margins: Tensor, batch: Batch, none: Tensor) -> Tensor:
    """Return the mean over mentions of -log of the share of right candidates, or of none where none is right."""
    count = int(batch.mentions.max()) + 1
    known = batch.labels != UNKNOWN
    mentions = batch.mentions[known]
    right = batch.labels[known] == RIGHT
    each = torch.full((count,), float("-inf"), device=margins.device).scatter_reduce(
        0, mentions, margins[known], reduce="amax"
    )
    asked = torch.zeros(count, dtype=torch.bool, device=margins.device).index_fill_(0, mentions, True)
    if not asked.any():
        return margins.sum() * 0.0
    high = torch.maximum(each, none).detach()
    powers = torch.exp(margins[known] - high[mentions])
    total = torch.zeros(count, device=margins.device).index_add(0, mentions, powers) + torch.exp(none - high)
    zeros = torch.zeros(count, device=margins.device)
    good = zeros.index_add(0, mentions, torch.where(right, powers, torch.zeros_like(powers)))
    found = zeros.index_add(0, mentions, right.float()) > 0
    good = torch.where(found, good, torch.exp(none - high))
    shares = torch.log(good.clamp(min=1e-30)) - torch.log(total)
    return -shares[asked].mean()


# --- what is learned from --------------------------------------------------------------------------------------------


def learned_documents(
    cross: RerankerInTraining, docs: Sequence[Document], *, before: Component, args: CrossArgs
) -> list[Learned]:
    """Return documents with the candidates that `before` gives their mentions, and which of them are right."""
    made = []
    answered: Sequence[Document] = before(blind(docs, before))
    for part in Pipeline(cross).front:
        answered = part(answered)
    for gold, seen in zip(docs, answered, strict=True):
        right: dict[int, set[int]] = {}
        for theirs, ours in align(gold, seen):
            if theirs is not None and ours is not None:
                right[id(ours)] = {rows[0] for rows in answers(theirs, cross.kb) if len(rows) == 1}
        lists, labels = [], []
        for mention, found in zip(seen.mentions or (), cross.resolved(seen), strict=True):
            rows = right.get(id(mention), set())
            some = _first(found, args.top_k, rows if args.add_gold else set())
            lists.append(some)
            labels.append(_labels(some, rows))
        made.append(Learned(cross.reader.read(seen, lists), labels, sum(map(bool, right.values()))))
    return made


def _first(found: Candidates, count: int, wanted: set[int]) -> Candidates:
    """Return the first candidates, with the wanted ones behind them that are not among these."""
    rows = found.rows[:count]
    more = sorted(wanted - set(rows.tolist()))[:1] if not wanted & set(rows.tolist()) else []
    least = float(found.scores[:count].min()) if len(rows) else 0.0
    names = None if found.names is None else np.append(found.names[:count], [-1] * len(more)).astype(np.int32)
    return Candidates(
        np.append(rows, more).astype(np.int32),
        np.append(found.scores[:count], [least] * len(more)).astype(np.float32),
        names=names,
        kb=found.kb,
    )


def _labels(found: Candidates, right: set[int]) -> Labels:
    """Return for each candidate whether it is right, which is unknown where nothing is known of the mention."""
    if not right:
        return np.full(len(found), UNKNOWN, np.int64)
    return np.where(np.isin(found.rows, list(right)), RIGHT, WRONG).astype(np.int64)


def fit(
    cross: RerankerInTraining,
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    before: Component,
    args: Mapping[str, Any],
) -> Iterator[Step]:
    """Train the network of a component in place; `linnet.rerank.cross_encoder.CrossEncoder.fit` says how it is called.

    Raises:
        RecipeError: wrong arguments.
        DataError: no mention with a right candidate.
    """
    own, loop = CrossArgs.split({key: value for key, value in args.items() if key != "checkpoints"})
    applied = own.model_copy(
        update={"add_gold": False, "top_k": cross.top_k}
    )  # what is measured or fitted is as it will be linked
    rest, out = _divided(docs, own, loop.seed) if cross.use_first_stage_scores else (docs, [])
    shown = learned_documents(cross, rest, before=before, args=own)
    held = learned_documents(cross, out, before=before, args=applied) if out else []
    if cross.use_first_stage_scores and not (_teaches(shown) and _teaches(held)):
        logger.warning("cross_encoder: too few documents to hold any out: its weight is fitted on all of them")
        shown = learned_documents(cross, docs, before=before, args=own)
        held = learned_documents(cross, docs, before=before, args=applied)
    if not _teaches(shown):
        problem = "cross_encoder: no mention of the training documents has a right candidate to learn from"
        raise DataError(f"{problem}: a detector before it that has learned too little finds none of them")
    judged = learned_documents(cross, dev, before=before, args=applied) if dev else []
    cross.compete = own.loss == "list"
    score = (lambda _: accuracy(cross, judged, alone=cross.use_first_stage_scores)) if judged else None
    training = CrossTraining(cross, own, shown)
    told = [cross.config(), vars(own), cross.kb.version, cross.network.encoder.fingerprint()]
    read = (pair for one in shown for pair in zip(one.read.asked, one.read.features, strict=True))
    key = key_of(told, [*docs, *dev], (repr(asked).encode() + said.tobytes() for asked, said in read))
    steps = train(training, docs, dev, score=score, args=loop, folder=args.get("checkpoints"), key=key)
    mentions = sum(1 for one in shown for labels in one.labels if len(labels) and labels[0] != UNKNOWN)
    yield from _timed(cross, steps, mentions=mentions, batches=training.batches(loop))
    if cross.use_first_stage_scores:
        weigh(cross.network, list(_said(cross, held)))
    if own.max_accuracy_loss is not None and judged:
        cross.skip_threshold = fit_skip_threshold(cross, judged, max_accuracy_loss=own.max_accuracy_loss)


def _timed(cross: RerankerInTraining, steps: Iterator[Step], *, mentions: int, batches: int) -> Iterator[Step]:
    """Yield steps, and note on the component how fast they were; those behind which dev was scored do not count."""
    seconds, counted = 0.0, 0
    with contextlib.closing(cast("Generator[Step]", steps)):
        while True:
            began = time.perf_counter()
            step = next(steps, None)
            if step is None:
                break
            if step.score is None:
                seconds, counted = seconds + time.perf_counter() - began, counted + 1
                cross.pace = {"annotations/s": mentions * counted / batches / seconds, "seconds": seconds}
            yield step


def _divided(docs: Sequence[Document], args: CrossArgs, seed: int) -> tuple[list[Document], list[Document]]:
    """Return the documents that the network learns from, and those it does not."""
    order = np.random.default_rng([seed, len(docs)]).permutation(len(docs))
    out = set(order[: round(args.held_out * len(docs))].tolist())
    return [doc for n, doc in enumerate(docs) if n not in out], [doc for n, doc in enumerate(docs) if n in out]


def _teaches(learned: Sequence[Learned]) -> bool:
    return any((labels == RIGHT).any() for one in learned for labels in one.labels)


def _said(cross: RerankerInTraining, held: Sequence[Learned]) -> Iterator[tuple[Floats, Floats, Labels]]:
    """Yield what was said before and what the network alone says of mentions of which something is known."""
    alone = cross.score([one.read for one in held], alone=True)
    for one, lists in zip(held, alone, strict=True):
        for said, margins, labels in zip(one.read.features, lists, one.labels, strict=True):
            if len(labels) and labels[0] != UNKNOWN:
                yield said, margins, labels


def accuracy(cross: RerankerInTraining, judged: Sequence[Learned], *, alone: bool = False) -> float:
    """Return the share of mentions with a concept of the knowledge base whose first candidate is right.

    `alone` while the network learns: how much is heard of it beside the stage before is fitted afterwards.
    """
    logits = cross.score([one.read for one in judged], alone=alone)
    right = sum(
        len(ours) > 0 and bool(labels[int(ours.argmax())] == RIGHT)
        for one, lists in zip(judged, logits, strict=True)
        for labels, ours in zip(one.labels, lists, strict=True)
    )
    return right / max(1, sum(one.reachable for one in judged))


def fit_skip_threshold(
    cross: RerankerInTraining, judged: Sequence[Learned], *, max_accuracy_loss: float
) -> float | None:
    """Return the lowest score of a first candidate from which mentions need not be read; None if all must be.

    The share of right answers falls by no more than `max_accuracy_loss` if those with this score or more stay as they
    are.
    """
    rows = []
    for one, lists in zip(judged, cross.score([one.read for one in judged]), strict=True):
        for labels, ours, said in zip(one.labels, lists, one.read.features, strict=True):
            if len(ours) and labels[0] != UNKNOWN:
                score = float(said[0, FEATURES.index("score")])
                rows.append((score, int(labels[0] == RIGHT), int(labels[int(ours.argmax())] == RIGHT)))
    if not rows:
        return None
    rows.sort(reverse=True)
    scores, before, after = (np.array(column) for column in zip(*rows, strict=True))
    lost = np.cumsum(after - before) / max(1, sum(one.reachable for one in judged))
    last = np.append(scores[1:] != scores[:-1], True)  # mentions of one score stay or go together
    good = np.flatnonzero((lost <= max_accuracy_loss) & last)
    return float(scores[good[-1]]) if len(good) else None
