"""Training of hierarchical models (`linnet.joint.hierarchical`): examples, losses and dev score.

Three losses are summed: recognition of words as BILOU, typing and linking, of words or of mentions (Wiatrak and
Iso-Sipila 2020, §2.1 and §3.1). Linking is cross-entropy over the classes present in the batch alone, so that a step
touches as many rows of the output layer as its documents hold concepts. Beyond the paper: other classes may join those
of the batch, hard negatives that the network mines itself where rows are tied to names, and random ones.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from linnet.data import Document
from linnet.joint.hierarchical import FEW_TYPES, Hierarchical, HierarchicalArgs
from linnet.joint.hierarchical_network import BILOU, HierarchicalNetwork, mean_of_words, normal
from linnet.joint.mining import Chosen, Mined, Miner
from linnet.joint.training import read_blind, right_rows, spans_of, train_joint
from linnet.kb import KnowledgeBase
from linnet.nn.texts import padded, token_budget
from linnet.nn.vectors import encode_to_learn
from linnet.nn.windows import Pieces
from linnet.pipeline import Component, Step
from linnet.pipeline.aliases import Aliases
from linnet.text.tagging import Chunk, encode_chunks
from linnet.text.token_batches import token_batches
from linnet.text.windows import Text, Window
from linnet.text.words import UNKNOWN, Ints, flat_mentions, labels_of
from linnet.train.args import TrainArgs
from linnet.train.loop import divided_groups
from linnet.train.negatives import Spared, collisions, random_rows

__all__ = ["HierarchicalTraining", "LearnedDocument", "fit", "learned_documents"]

logger = logging.getLogger(__name__)

NIL = 0  # the first class of words


def fit(
    part: Hierarchical,
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    before: Component,  # noqa: ARG001
    kb: KnowledgeBase,
    args: Mapping[str, Any],
) -> Iterator[Step]:
    """Train the network of a component in place; learn the types of `docs`, and with tied rows their aliases.

    Raises:
        RecipeError: wrong arguments.
        DataError: no mention of `docs` has a concept of `kb`.
    """
    own, loop = HierarchicalArgs.split({key: value for key, value in args.items() if key != "checkpoints"})
    part.begin()
    part.types = _types(docs)
    part.learned = Aliases.of(docs, kb) if part.aliases and part.rows == "tied" else Aliases.none()
    seen = learned_documents(part, docs)
    if lost := sum(doc.lost for doc in seen):
        logger.warning(
            "hierarchical: %d mentions overlap longer ones and are not learned: BILOU cannot hold them", lost
        )
    training = HierarchicalTraining(part, own, seen)
    yield from train_joint(training, learned_documents(part, dev), [*docs, *dev], loop=loop, args=args)


def _types(docs: Sequence[Document]) -> tuple[str, ...]:
    """Return the types that mentions have, in order."""
    return tuple(sorted({mention.types[0] for doc in docs for mention in doc.mentions or () if mention.types}))


# --- what is learned from --------------------------------------------------------------------------------------------


class LearnedMention(NamedTuple):
    """A mention of a training document: its first and last word, the right concepts, and the place of its type."""

    words: tuple[int, int]
    rows: frozenset[int]
    type: int
    text: str


class LearnedDocument(NamedTuple):
    """A training document as the network reads it.

    ``recognition`` and ``typing`` (words,) are labels of words, `UNKNOWN` where nobody has looked, ``known`` bool
    (words,) says where somebody has. ``lost`` mentions overlap longer ones.
    """

    doc: Document
    text: Text
    mentions: list[LearnedMention]
    recognition: Ints
    typing: Ints
    known: npt.NDArray[np.bool_]
    lost: int

    @property
    def answers(self) -> dict[tuple[int, int], frozenset[int]]:
        """The right concepts of each mention, by its first and last word."""
        return {mention.words: mention.rows for mention in self.mentions}


def learned_documents(part: Hierarchical, docs: Sequence[Document]) -> list[LearnedDocument]:
    """Return documents as a component learns from them."""
    return [_learned(part, doc, text) for doc, text in read_blind(part, docs)]


def _learned(part: Hierarchical, doc: Document, text: Text) -> LearnedDocument:
    held = flat_mentions(doc.mentions or (), text.words)
    places = {kind: place for place, kind in enumerate(part.types)}
    mentions = []
    for mention, first, last in held:
        kind = places.get(next(iter(mention.types), ""), UNKNOWN)
        mentions.append(LearnedMention((first, last), right_rows(part.kb, mention), kind, doc.surface(mention)))
    recognition = labels_of(doc, text.words, BILOU, "BILOU")
    typing = np.where(recognition == UNKNOWN, UNKNOWN, 0)
    if part.per_token and part.type_labels:
        names = {name: place for place, name in enumerate(part.type_labels)}
        chunks = [Chunk(*one.words, part.types[one.type]) for one in mentions if one.type >= 0]
        tags = encode_chunks(len(text.words), chunks, "BILOU")
        own = [names[tag if len(part.types) <= FEW_TYPES or tag == "O" else tag[2:]] for tag in tags]
        typing = np.where(recognition == UNKNOWN, UNKNOWN, np.array(own, np.int64))
        for one in mentions:
            if one.type < 0:
                typing[one.words[0] : one.words[1] + 1] = UNKNOWN
    lost = len(doc.mentions or ()) - len(held)
    return LearnedDocument(doc, text, mentions, recognition, typing, recognition != UNKNOWN, lost)


class Linking(NamedTuple):
    """A mention of a window to be linked: the rows that are no negatives of it, and the classes that it learns from.

    ``chosen`` are names with tied rows, else concepts; None of a mention without a concept.
    """

    mention: LearnedMention
    spared: frozenset[int]
    chosen: Chosen | None


class Example(NamedTuple):
    """A window of a document: the words from `begin` up to `end` are learned, with the mentions inside."""

    doc: LearnedDocument
    window: Window
    begin: int
    end: int
    linking: list[Linking]


@dataclass
class Batch:
    """Windows of a step in groups of like length, and what their own words and mentions are.

    Attributes:
        groups: the windows.
        recognition: labels of words, int64 (words,).
        typing: labels of words per token, int64 (words,), else of mentions, int64 (mentions,).
        targets: per token the class of each word, 0 = Nil; else of each mention, int64.
        owners: of which mention each word is; their number for a word of none, int64 (words,).
        mentions: the words of each mention.
        out: bool (mentions + 1, classes), which classes a mention's loss leaves out; the last row is of no mention.
        classes: rows of the output layer, int64 (classes,), or ids, mask and spans of names.
    """

    groups: list[Pieces]
    recognition: Tensor
    typing: Tensor
    targets: Tensor
    owners: Tensor
    mentions: list[Ints]
    out: Tensor
    classes: tuple[Tensor, ...]


class HierarchicalTraining:
    """What the gradient loop needs to know of a hierarchical model (`linnet.train.loop.Trainable`)."""

    def __init__(self, part: Hierarchical, args: HierarchicalArgs, docs: Sequence[LearnedDocument]) -> None:
        self.part, self.args, self.docs = part, args, docs
        self.network: HierarchicalNetwork = part.network
        self.module: nn.Module = self.network
        self.network.dropout.p = args.dropout
        self.spared = Spared(part.kb)
        self.miner = Miner(part, args) if part.rows == "tied" else None
        self.mines = self.miner is not None and self.miner.wanted  # examples depend on the weights
        met = {row for doc in docs for mention in doc.mentions for row in mention.rows}
        self.met = np.array(sorted(met), np.int32)  # no other row learns anything
        self.begun: Tensor | None = None
        if part.rows == "names":
            self.network.entity.requires_grad_(False)
            named = [name for name in part.kb.names() if name.preferred]  # with which the rows are searched, too
            self.begun = torch.zeros(len(part.kb), self.network.entity.size)
            self.begun[[name.concept for name in named]] = torch.from_numpy(part.name_vectors(named))

    def groups(self, args: TrainArgs) -> list[dict[str, Any]]:
        """Return the parameters in groups; the layers around the encoders learn faster, rows by rows."""
        table = None if self.network.rows is None else self.network.rows.weight
        made = []
        for group in divided_groups(self.module, args, self.args.head_lr_multiplier, encoders=self.network.encoders):
            own = [one for one in group["params"] if one is not table]
            made += [{**group, "params": own}] if own else []
            if len(own) < len(group["params"]):
                made.append({**group, "params": [table], "lr": args.lr * self.args.row_lr_multiplier, "rows": True})
        return made

    # --- examples ----------------------------------------------------------------------------------------------------

    def examples(self, docs: Sequence[Document], *, epoch: int, rng: np.random.Generator) -> list[Example]:  # noqa: ARG002
        """Return the windows of all documents, their mentions with the classes that they learn to tell apart."""
        mined: Sequence[Sequence[Mined | None]] = [[None] * len(doc.mentions) for doc in self.docs]
        if self.mines and self.miner is not None:
            if epoch:
                self.miner.restore_pool(self._mined)
            mined = self._mined()
        made = []
        for doc, found in zip(self.docs, mined, strict=True):
            linking = self._linking(doc, found, rng)
            made += [one for window in self.part.windows(doc.doc, doc.text) for one in _example(doc, window, linking)]
        return made

    def _mined(self) -> list[list[Mined]]:
        """Return what the network finds for the mentions of each document."""
        assert self.miner is not None  # noqa: S101 - the caller looked
        said = self.part.read_documents([doc.doc for doc in self.docs], [doc.text for doc in self.docs], find=False)
        queries = [
            self.part.mention_vectors(doc.doc, doc.text, one, spans_of(doc.text, [m.words for m in doc.mentions]))
            for one, doc in zip(said, self.docs, strict=True)
        ]
        rows = [mention.rows for doc in self.docs for mention in doc.mentions]
        found = self.miner.mine(np.concatenate(queries), rows)
        return [list(itertools.islice(found, len(doc.mentions))) for doc in self.docs]

    def _linking(self, doc: LearnedDocument, mined: Sequence[Mined | None], rng: np.random.Generator) -> list[Linking]:
        """Return the mentions of a document; those that say and mean the same learn from the same names."""
        alike: dict[Any, Chosen | None] = {}
        made = []
        for mention, found in zip(doc.mentions, mined, strict=True):
            key = mention.text, mention.rows
            if key not in alike:
                alike[key] = self._choose(mention.rows, found, rng)
            made.append(Linking(mention, self.spared.of(mention.rows), alike[key]))
        return made

    def _choose(self, rows: frozenset[int], mined: Mined | None, rng: np.random.Generator) -> Chosen | None:
        if not rows:
            return None
        if self.miner is not None:
            return self.miner.choose(rows, mined, rng)
        row = sorted(rows)[int(rng.integers(len(rows)))]
        chosen = (row, *random_rows(rng, self.met, self.spared.of(rows), self.args.random))
        return Chosen(chosen, chosen, 0)

    # --- batches -----------------------------------------------------------------------------------------------------

    def collate(self, examples: Sequence[Example]) -> Batch:
        """Return tensors of windows, those of like length together."""
        lengths = [one.window.last - one.window.first + 2 for one in examples]
        groups = [g.tolist() for g in token_batches(lengths, tokens=token_budget(self.network.device))]
        ordered = [examples[place] for group in groups for place in group]
        read = [
            Pieces.of([(examples[p].doc.text, examples[p].window) for p in group], self.network.mention)
            for group in groups
        ]
        linking, words, owners = _mentions(ordered)
        recognition = np.concatenate([_labels(one, one.doc.recognition) for one in ordered])
        classes, places, out = self._classes(linking)
        own = np.array([UNKNOWN if one.chosen is None else places[one.chosen.names[0]] for one in linking], np.int64)
        if self.part.per_token:
            typing = np.concatenate([_labels(one, one.doc.typing) for one in ordered])
            # behind the classes of mentions: that of words of none
            targets = np.append(np.where(own >= 0, own + 1, UNKNOWN), NIL)[owners]
            targets[recognition == UNKNOWN] = UNKNOWN
        else:
            typing, targets = np.array([one.mention.type for one in linking], np.int64), own
        labels = [torch.from_numpy(array) for array in (recognition, typing, targets, owners)]
        return Batch(read, labels[0], labels[1], labels[2], labels[3], words, out, classes)

    def _classes(self, linking: Sequence[Linking]) -> tuple[tuple[Tensor, ...], dict[int, int], Tensor]:
        """Return the classes of a batch, their places by name or row, and which are left out for which mention."""
        rows = {
            name: row
            for one in linking if one.chosen is not None
            for name, row in zip(one.chosen.names, one.chosen.rows, strict=True)
        }  # fmt: skip
        places = {name: place for place, name in enumerate(rows)}
        out = collisions([*(one.spared for one in linking), frozenset()], list(rows.values()))
        for number, one in enumerate(linking):
            if one.chosen is not None:
                out[number, places[one.chosen.names[0]]] = False
        if self.miner is None:
            classes: tuple[Tensor, ...] = (torch.tensor(list(rows), dtype=torch.int64),)
        else:
            names = [self.miner.names.tokens(name) for name in rows]
            classes = padded(names, padding=self.network.entity.tokenizer.pad_token_id) if names else ()
        return classes, places, torch.from_numpy(out)

    # --- losses ------------------------------------------------------------------------------------------------------

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Return the losses of linking, recognition and typing."""
        recognition, typing, linking = self.network.say([self.network.read(group) for group in batch.groups])
        losses = {
            "linking": self._link(batch, linking),
            "recognition": self.args.recognition_weight * _mean_loss(recognition, batch.recognition),
        }
        if typing.shape[1]:
            of_mentions = typing if self.part.per_token else mean_of_words(typing, batch.mentions)
            losses["typing"] = self.args.typing_weight * _mean_loss(of_mentions, batch.typing)
        return losses

    def _link(self, batch: Batch, words: Tensor) -> Tensor:
        """Return the mean loss of words, in which Nil weighs less, or of mentions."""
        if not batch.out.shape[1]:
            return words.sum() * 0.0
        classes = self._vectors(batch.classes)
        cosine, temperature = self.part.cosine, self.args.temperature if self.part.cosine else 1.0
        if self.part.per_token:
            classes = torch.cat([self.network.nil[None], classes])
            out = functional.pad(batch.out, (1, 0))[batch.owners]  # Nil is never left out
        else:
            words, out = mean_of_words(words, batch.mentions), batch.out[:-1]
        known = batch.targets != UNKNOWN
        if not known.any():
            return words.sum() * 0.0
        scores = normal(words[known], cosine=cosine) @ normal(classes, cosine=cosine).T / temperature
        lost = functional.cross_entropy(
            scores.masked_fill(out[known], float("-inf")), batch.targets[known], reduction="none"
        )
        if self.part.per_token:
            lost = torch.where(batch.targets[known] == NIL, self.args.nil_weight * lost, lost)
        return lost.mean()

    def _vectors(self, classes: tuple[Tensor, ...]) -> Tensor:
        """Return the vectors of classes, float32 (classes, d)."""
        if self.network.rows is None:
            ids, mask, spans = classes
            return encode_to_learn(self.network.names, (ids, mask, spans), chunk=self.args.encode_batch).float()
        found: Tensor = self.network.rows(classes[0])
        return found if self.begun is None else found + self.begun.to(found.device)[classes[0]]

    # --- searching ---------------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Let the component search by the weights as they are."""
        if self.miner is not None:
            self.part.show(self.miner.current.vectors())
        else:
            self.part.hide()


def _example(doc: LearnedDocument, window: Window, linking: Sequence[Linking]) -> Iterator[Example]:
    """Yield the window as an example, if it has words of its own."""
    if window.last <= window.first:
        return
    first, behind = int(doc.text.owners[window.first]), int(doc.text.owners[window.last - 1]) + 1
    begin, end = max(window.begin, first), min(window.end, behind)
    if begin < end:
        inside = [one for one in linking if begin <= one.mention.words[0] and one.mention.words[1] < end]
        yield Example(doc, window, begin, end, inside)


def _labels(example: Example, labels: Ints) -> Ints:
    """Return the labels of the words of a window; nothing is learned of a mention that goes beyond it."""
    own = labels[example.begin : example.end].copy()
    for mention in example.doc.mentions:
        first, last = mention.words
        if first < example.begin <= last or first < example.end <= last:
            own[max(first - example.begin, 0) : last + 1 - example.begin] = UNKNOWN
    return own


def _mentions(examples: Sequence[Example]) -> tuple[list[Linking], list[Ints], Ints]:
    """Return the mentions of windows that stand one behind the other, their words, and of which each word is."""
    linking = [one for example in examples for one in example.linking]
    words: list[Ints] = []
    owners = []
    start = 0
    for example in examples:
        own = np.full(example.end - example.begin, len(linking))
        for one in example.linking:
            first, last = (place - example.begin for place in one.mention.words)
            own[first : last + 1] = len(words)
            words.append(np.arange(start + first, start + last + 1))
        owners.append(own)
        start += len(own)
    return linking, words, np.concatenate(owners)


def _mean_loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy of those whose label is known."""
    known = labels != UNKNOWN
    return functional.cross_entropy(scores[known], labels[known]) if known.any() else scores.sum() * 0.0
