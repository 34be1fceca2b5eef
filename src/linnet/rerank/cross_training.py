"""Training of the cross-encoder (`linnet.rerank.cross_encoder`): its examples, losses and dev score.

As published (Sanz-Cruzado & Lever 2025): the first five candidates of the stage before, cross-entropy of each pair.
Beyond: the candidates of a mention compete with each other and with none of them.

A network that learned beside the scores of a good first stage would learn little: what is already right teaches
nothing. So it learns alone, and when it has, the weights of both are fitted on documents that neither has seen (stacked
generalisation, Wolpert 1992), as a conditional logit over the candidates of each mention and none of them.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from linnet.data import Candidates, Document
from linnet.errors import DataError
from linnet.kb import KnowledgeBase
from linnet.nn.sequences import Sequences
from linnet.nn.texts import token_budget
from linnet.pipeline import Component, Step
from linnet.pipeline.component import align
from linnet.pipeline.pipeline import answered
from linnet.rerank.counts import answers
from linnet.rerank.cross_encoder import FEATURES, CrossArgs, CrossEncoder, Read
from linnet.rerank.cross_network import CrossNetwork
from linnet.rerank.logit import Lists, Logit
from linnet.text.packing import Packed, pack
from linnet.text.token_batches import token_batches
from linnet.train.args import TrainArgs
from linnet.train.checkpoint import key_of
from linnet.train.loop import parameter_groups, train
from linnet.train.network import tell_loss

if TYPE_CHECKING:
    from linnet.rerank.cross_graph import GraphCross

__all__ = ["Batch", "CrossTraining", "Example", "Learned", "fit", "fit_skip_threshold", "learned_documents", "weigh"]

logger = logging.getLogger(__name__)

RIGHT, WRONG, UNKNOWN = 1, 0, -1
PENALTY = 1.0  # what a squared weight of a standardised column costs, as of one mention
FASTER = 10.0  # the layers above the encoder begin with nothing, and learn so many times faster

Labels = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


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

    def __init__(self, cross: CrossEncoder, args: CrossArgs, learned: Sequence[Learned]) -> None:
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
        network: CrossNetwork = self.cross.network
        return network

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
        rows = token_batches([len(one) for one in packed], tokens=token_budget(cpu))
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
    cross: CrossEncoder, docs: Sequence[Document], *, before: Component, args: CrossArgs
) -> list[Learned]:
    """Return documents with the candidates that `before` gives their mentions, and which of them are right."""
    made = []
    for gold, seen in zip(docs, answered(docs, before=before, part=cross), strict=True):
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
    cross: CrossEncoder,
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    before: Component,
    kb: KnowledgeBase,  # noqa: ARG001 - the component's own
    args: Mapping[str, Any],
) -> Iterator[Step]:
    """Train the network on the mentions of `docs` with the candidates that `before` gives them; arguments as of `fit`.

    `before` must not know the answers of the documents it is given: `linnet.fit.fitting` sees to that.

    Raises:
        RecipeError: wrong arguments.
        DataError: no mention with a right candidate.
    """
    own, loop = CrossArgs.split({key: value for key, value in args.items() if key != "checkpoints"})
    cross.stand_behind(before)
    # what is measured or fitted is as it will be linked
    applied = own.model_copy(update={"add_gold": False, "top_k": cross.top_k})
    shown, held = _learned_and_held_out(cross, docs, before, own, applied, loop.seed)
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
    if cross.backend == "onnx" and judged:
        whole, small = accuracy(cross, judged), accuracy(cross, judged, network=cross.network.as_graph())
        tell_loss(cross.NAME, "accuracy", whole, small)
    if own.max_accuracy_loss is not None and judged:
        cross.skip_threshold = fit_skip_threshold(cross, judged, max_accuracy_loss=own.max_accuracy_loss)


def _learned_and_held_out(
    cross: CrossEncoder, docs: Sequence[Document], before: Component, own: CrossArgs, applied: CrossArgs, seed: int
) -> tuple[list[Learned], list[Learned]]:
    """Return what the network learns from, and what the weights of both stages are fitted on: none, if not needed."""
    if not cross.use_first_stage_scores:
        return learned_documents(cross, docs, before=before, args=own), []
    rest, out = _divided(docs, own, seed)
    shown = learned_documents(cross, rest, before=before, args=own)
    held = learned_documents(cross, out, before=before, args=applied) if out else []
    if _teaches(shown) and _teaches(held):
        return shown, held
    logger.warning("cross_encoder: too few documents to hold any out: its weight is fitted on all of them")
    shown = learned_documents(cross, docs, before=before, args=own)
    return shown, learned_documents(cross, docs, before=before, args=applied)


def _timed(cross: CrossEncoder, steps: Iterator[Step], *, mentions: int, batches: int) -> Iterator[Step]:
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


def _said(cross: CrossEncoder, held: Sequence[Learned]) -> Iterator[tuple[Floats, Floats, Labels]]:
    """Yield what was said before and what the network alone says of mentions of which something is known."""
    alone = cross.score([one.read for one in held], alone=True)
    for one, lists in zip(held, alone, strict=True):
        for said, margins, labels in zip(one.read.features, lists, one.labels, strict=True):
            if len(labels) and labels[0] != UNKNOWN:
                yield said, margins, labels


def accuracy(
    cross: CrossEncoder, judged: Sequence[Learned], *, alone: bool = False, network: GraphCross | None = None
) -> float:
    """Return the share of mentions with a concept of the knowledge base whose first candidate is right.

    `alone` while the network learns: how much is heard of it beside the stage before is fitted afterwards.
    """
    logits = cross.score([one.read for one in judged], alone=alone, network=network)
    right = sum(
        len(ours) > 0 and bool(labels[int(ours.argmax())] == RIGHT)
        for one, lists in zip(judged, logits, strict=True)
        for labels, ours in zip(one.labels, lists, strict=True)
    )
    return right / max(1, sum(one.reachable for one in judged))


def fit_skip_threshold(cross: CrossEncoder, judged: Sequence[Learned], *, max_accuracy_loss: float) -> float | None:
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


# --- the weights of both stages ---------------------------------------------------------------------------------------


def weigh(network: CrossNetwork, seen: Sequence[tuple[Floats, Floats, Labels]]) -> None:
    """Fit the weights of a network and of the stage before it.

    Args:
        network: its `heard`, `voice` and `none` are set.
        seen: of each mention, what the stage before says of its candidates (candidates, `FEATURES`), what the network
            alone says (candidates,), and whether they are right, 1 or 0; of some mention one is.
    """
    none = float(network.none.detach())
    tables = [_table(said, margins, none) for said, margins, _ in seen]
    rights = [np.append(labels == 1, not (labels == 1).any()) for _, _, labels in seen]
    lengths = np.array([len(table) for table in tables])
    lists = Lists(np.concatenate(tables), np.concatenate(rights), np.cumsum(lengths) - lengths, np.arange(len(tables)))
    fitted = Logit.fit(lists, penalty=PENALTY)
    weights = torch.from_numpy((fitted.weights / fitted.scales).astype(np.float32))
    count = len(FEATURES)
    with torch.no_grad():
        network.heard.copy_(weights[:count])
        network.voice.copy_(weights[count : count + 1])
        network.none.copy_(weights[count : count + 1] * none + weights[count + 1 :])


def _table(said: Floats, margins: Floats, none: float) -> Floats:
    """Return the columns of the candidates of a mention, with a last row for none of them."""
    table = np.zeros((len(margins) + 1, len(FEATURES) + 2), np.float32)
    table[:-1, : len(FEATURES)] = said
    table[:-1, -2] = margins
    table[-1, -2:] = none, 1.0
    return table
