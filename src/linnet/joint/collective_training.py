"""Training of the collective dual encoder (`linnet.joint.collective`): its examples, losses and dev score.

Two losses are summed (Bhowmik et al. 2021, §3.3 and §3.4): cross-entropy of the right name among negatives for each
mention, and binary cross-entropy of all spans, or cross-entropy of labels. Negatives are drawn at random, and mined
anew each epoch: what the network itself ranks above the right concept. Beyond the paper: the names of a batch are
negatives of each other, similarities may be cosines over a temperature, and documents are not cut into pieces of eight
mentions.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from linnet.data import Document
from linnet.joint.collective import Collective, CollectiveArgs
from linnet.joint.collective import Pieces as Stretches
from linnet.joint.collective_network import (
    BIO,
    CollectiveNetwork,
    Places,
    Words,
    pool,
    span_scores,
    word_scores,
)
from linnet.joint.mining import Chosen, Mined, Miner
from linnet.joint.training import read_blind, right_rows, train_joint
from linnet.kb import KnowledgeBase
from linnet.nn.texts import padded, token_budget
from linnet.nn.vectors import encode_to_learn
from linnet.nn.windows import Pieces
from linnet.pipeline import Component, Step
from linnet.pipeline.aliases import Aliases
from linnet.text.token_batches import TokenText, token_batches
from linnet.text.windows import Text, Window
from linnet.text.words import UNKNOWN, Ints, labels_of, words_in
from linnet.train.args import TrainArgs
from linnet.train.loop import divided_groups
from linnet.train.negatives import collisions

__all__ = ["CollectiveTraining", "Example", "LearnedDocument", "fit", "learned_documents"]

logger = logging.getLogger(__name__)

KINDS = ("batch", "mined", "random")  # of negatives: of other mentions, the network's own errors, drawn from all names


def fit(
    part: Collective,
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    before: Component,  # noqa: ARG001
    kb: KnowledgeBase,
    args: Mapping[str, Any],
) -> Iterator[Step]:
    """Train the network of a component in place, and learn the mentions of `docs` as aliases.

    Raises:
        RecipeError: wrong arguments.
        DataError: no mention of `docs` has a concept of `kb`.
    """
    own, loop = CollectiveArgs.split({key: value for key, value in args.items() if key != "checkpoints"})
    part.begin()
    part.learned = Aliases.of(docs, kb) if part.aliases else Aliases.none()
    training = CollectiveTraining(part, own, learned_documents(part, docs))
    yield from train_joint(training, learned_documents(part, dev), [*docs, *dev], loop=loop, args=args)


# --- what is learned from --------------------------------------------------------------------------------------------


class LearnedMention(NamedTuple):
    """A mention of a training document: its words, the pieces that its vector is made of, and the right concepts."""

    words: tuple[int, int]
    pieces: Stretches
    rows: frozenset[int]
    text: str


class LearnedDocument(NamedTuple):
    """A training document as the network reads it.

    ``answers`` are the right concepts of each mention that is words in a row, by its first and last word; ``labels``
    (words,) are those of BIO, and ``known`` bool (words,) says which words somebody has looked at.
    """

    doc: Document
    text: Text
    mentions: list[LearnedMention]
    answers: dict[tuple[int, int], frozenset[int]]
    labels: Ints
    known: npt.NDArray[np.bool_]


def learned_documents(part: Collective, docs: Sequence[Document]) -> list[LearnedDocument]:
    """Return documents as a component learns from them."""
    made = []
    for doc, text in read_blind(part, docs):
        mentions = doc.mentions or ()
        pieces = part.pieces(doc, text, [mention.spans for mention in mentions])
        learned = [
            LearnedMention(words_in(text.words, mention.span), own, right_rows(part.kb, mention), doc.surface(mention))
            for mention, own in zip(mentions, pieces, strict=True)
        ]
        labels = labels_of(_continuous(doc), text.words, BIO, "BIO")
        answers: dict[tuple[int, int], frozenset[int]] = {}
        for one, mention in zip(learned, mentions, strict=True):  # a composite has one span
            if not mention.parts and one.words[0] <= one.words[1]:
                answers[one.words] = answers.get(one.words, frozenset()) | one.rows
        made.append(LearnedDocument(doc, text, learned, answers, labels, labels != UNKNOWN))
    return made


def _continuous(doc: Document) -> Document:
    """Return a document without its discontinuous mentions, whose hulls are no answers."""
    if doc.mentions is None:
        return doc
    return replace(doc, mentions=tuple(mention for mention in doc.mentions if not mention.parts))


class Linking(NamedTuple):
    """A mention to be linked: its pieces in the window, spared rows, and the names that it learns to tell apart.

    Several mentions that say and mean the same share these.
    """

    pieces: list[Stretches]
    spared: frozenset[int]
    chosen: Chosen


class Example(NamedTuple):
    """A window of a document with the mentions that it is to link."""

    doc: LearnedDocument
    window: Window
    linking: list[Linking]


@dataclass
class Batch:
    """Windows of a step in groups of like length, what they are to find, and what their mentions are to mean.

    Attributes:
        groups: the windows.
        words: of all windows, one behind the other.
        spans: whether a mention has this first word and width, float32 (words, widest); -1 where nobody has looked.
        labels: int64 (words,), `UNKNOWN` where nobody has looked.
        owners: the word of each piece, int64 (pieces,).
        places: the pieces of mentions.
        asked: which linking each mention is of, int64 (mentions,).
        names: ids, mask and spans of names.
        out: bool (linkings, names), names that are left out of a mention's loss.
        kinds: int8 (linkings, names), what a name is to a mention: a number of `KINDS`.
        own: the place of the right name, int64 (linkings,).
    """

    groups: list[Pieces]
    words: tuple[Tensor, ...]
    spans: Tensor
    labels: Tensor
    owners: Tensor
    places: tuple[Tensor, ...]
    asked: Tensor
    names: tuple[Tensor, Tensor, Tensor]
    out: Tensor
    kinds: Tensor
    own: Tensor


class CollectiveTraining:
    """What the gradient loop needs to know of a collective dual encoder (`linnet.train.loop.Trainable`)."""

    mines = True  # examples depend on the weights

    def __init__(self, part: Collective, args: CollectiveArgs, docs: Sequence[LearnedDocument]) -> None:
        self.part, self.args, self.docs = part, args, docs
        self.network: CollectiveNetwork = part.network
        self.module: nn.Module = self.network
        self.network.dropout.p = args.dropout
        self.miner = Miner(part, args)

    def groups(self, args: TrainArgs) -> list[dict[str, Any]]:
        """Return the parameters in groups; the layers around the encoders learn faster."""
        network = self.network
        encoders = [network.mention, network.entity]
        return divided_groups(self.module, args, self.args.head_lr_multiplier, encoders=encoders)

    # --- examples ----------------------------------------------------------------------------------------------------

    def examples(self, docs: Sequence[Document], *, epoch: int, rng: np.random.Generator) -> list[Example]:  # noqa: ARG002
        """Return the windows of all documents, their mentions with negatives mined by the network as it is."""
        mined: Sequence[Sequence[Mined | None]] = [[None] * len(doc.mentions) for doc in self.docs]
        if self.miner.wanted:
            if epoch:
                self.miner.restore_pool(self._mined)
            mined = self._mined()
        made = []
        for doc, found in zip(self.docs, mined, strict=True):
            windows = [window for window in self.part.windows(doc.text) if window.last > window.first]
            made += [Example(doc, window, list(self._linking(doc, window, found, rng))) for window in windows]
        return made

    def _mined(self) -> list[list[Mined]]:
        """Return what the network finds for the mentions of each document."""
        hidden = self.part.hidden([doc.text for doc in self.docs])
        queries = [
            self.part.vectors(vectors, [mention.pieces for mention in doc.mentions])
            for vectors, doc in zip(hidden, self.docs, strict=True)
        ]
        rows = [mention.rows for doc in self.docs for mention in doc.mentions]
        found = self.miner.mine(np.concatenate(queries), rows)
        return [list(itertools.islice(found, len(doc.mentions))) for doc in self.docs]

    def _linking(
        self, doc: LearnedDocument, window: Window, found: Sequence[Mined | None], rng: np.random.Generator
    ) -> Iterator[Linking]:
        """Yield the mentions of a window that have a concept; those that say and mean the same together."""
        alike: dict[Any, list[int]] = {}
        for number, mention in enumerate(doc.mentions):
            inside = [s for s in mention.pieces if window.first <= s[0] < s[1] <= window.last]
            if mention.rows and inside and window.begin <= mention.words[0] < window.end:
                key = (mention.text, mention.rows) if self.args.distinct else number
                alike.setdefault(key, []).append(number)
        for numbers in alike.values():
            mention = doc.mentions[numbers[0]]
            chosen = self.miner.choose(mention.rows, found[numbers[0]], rng)
            if chosen is None:
                continue
            shifted = [
                [(s - window.first, e - window.first) for s, e in doc.mentions[n].pieces
                 if window.first <= s < e <= window.last]
                for n in numbers
            ]  # fmt: skip
            yield Linking(shifted, self.miner.spared.of(mention.rows), chosen)

    # --- batches -----------------------------------------------------------------------------------------------------

    def collate(self, examples: Sequence[Example]) -> Batch:
        """Return tensors of windows, those of like length together."""
        lengths = [one.window.last - one.window.first + 2 for one in examples]
        groups = [g.tolist() for g in token_batches(lengths, tokens=token_budget(self.network.device))]
        ordered = [examples[place] for group in groups for place in group]
        sizes = [one.window.last - one.window.first for one in ordered]
        starts = (np.cumsum(sizes) - sizes).tolist()
        read = [
            Pieces.of([(examples[p].doc.text, examples[p].window) for p in group], self.network.mention)
            for group in groups
        ]
        places, asked, linking = _mentions(ordered, starts)
        names, out, kinds, own = self._named(linking)
        shown = padded(names, padding=self.network.entity.tokenizer.pad_token_id)
        return Batch(read, *self._wanted(ordered, starts), places, asked, shown, out, kinds, own)

    def _named(self, linking: Sequence[Linking]) -> tuple[list[TokenText], Tensor, Tensor, Tensor]:
        """Return the names of a batch, each once; which a mention's loss leaves out; their kinds; which is right."""
        chosen = [one.chosen for one in linking]
        concepts = {place: row for one in chosen for place, row in zip(one.names, one.rows, strict=True)}
        places = {place: number for number, place in enumerate(concepts)}
        own = np.array([places[one.names[0]] for one in chosen], np.int64)
        out = collisions([one.spared for one in linking], list(concepts.values()))
        if not self.args.in_batch:
            out[:] = True
            for number, one in enumerate(chosen):
                out[number, [places[name] for name in one.names]] = False
        out[np.arange(len(linking)), own] = False
        kinds = np.zeros(out.shape, np.int8)
        for number, one in enumerate(chosen):
            kinds[number, [places[name] for name in one.names[1 + one.mined :]]] = KINDS.index("random")
            kinds[number, [places[name] for name in one.names[1 : 1 + one.mined]]] = KINDS.index("mined")
        names = [self.miner.names.tokens(place) for place in concepts]
        return names, torch.from_numpy(out), torch.from_numpy(kinds), torch.from_numpy(own)

    def _wanted(
        self, examples: Sequence[Example], starts: Sequence[int]
    ) -> tuple[tuple[Tensor, ...], Tensor, Tensor, Tensor]:
        """Return the words of windows, which spans and labels they should have, and the word of each piece."""
        words: list[Words] = []
        spans, labels, owners, count = [], [], [], 0
        for example, start in zip(examples, starts, strict=True):
            doc, window = example.doc, example.window
            of = doc.text.owners[window.first : window.last]
            first, size = int(of[0]), int(of[-1]) + 1 - int(of[0])
            own = Words.of(of - first, size)
            words.append(Words(own.first + start, own.last + start, own.left))
            spans.append(_spans(doc, first, size, self.part.widest, window))
            named = np.full(size, UNKNOWN)
            begin, end = max(window.begin, first), min(window.end, first + size)
            named[begin - first : end - first] = doc.labels[begin:end]
            labels.append(named)
            owners.append(of - first + count)
            count += size
        arrays = [torch.from_numpy(np.concatenate(some)) for some in (spans, labels, owners)]
        joined = tuple(torch.cat(some) for some in zip(*words, strict=True))
        return joined, arrays[0], arrays[1], arrays[2]

    # --- losses ------------------------------------------------------------------------------------------------------

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Return the loss of linking, the mean of mentions, and that of finding, per mention to be found.

        Beside these, without a gradient, what linking would lose to negatives of one kind alone.
        """
        hidden = torch.cat([self.network(group) for group in batch.groups])  # (pieces, d)
        losses = self._link(batch, hidden)
        if self.network.head is not None:
            losses["detection"] = self.args.detection_weight * self._find(batch, self.network.head(hidden).float())
        return losses

    def _link(self, batch: Batch, hidden: Tensor) -> dict[str, Tensor]:
        wanted = dict(zip(KINDS, (self.args.in_batch, self.args.mined, self.args.random), strict=True))
        watched = [kind for kind in KINDS if wanted[kind]]
        if not len(batch.own):
            return dict.fromkeys(["nll", *(f"nll {kind}" for kind in watched)], hidden.sum() * 0.0)
        mentions = pool(self.network, hidden, Places(*batch.places), len(batch.asked))
        names = encode_to_learn(self.network.names, batch.names, chunk=self.args.encode_batch).float()
        if self.args.similarity == "cosine":
            mentions, names = functional.normalize(mentions, dim=-1), functional.normalize(names, dim=-1)
        scores = (mentions @ names.T) / self.args.temperature  # (mentions, names)
        own, kinds = batch.own[batch.asked], batch.kinds[batch.asked]
        shares = torch.bincount(batch.asked, minlength=len(batch.own))[batch.asked]  # those alike count as one
        scores = scores.masked_fill(batch.out[batch.asked], float("-inf"))

        def mean(left: Tensor) -> Tensor:
            return (functional.cross_entropy(left, own, reduction="none") / shares).sum() / len(batch.own)

        losses = {"nll": mean(scores)}
        with torch.no_grad():
            for kind in watched:
                others = kinds != KINDS.index(kind)
                others[torch.arange(len(own), device=own.device), own] = False
                losses[f"nll {kind}"] = mean(scores.masked_fill(others, float("-inf")))
        return losses

    def _find(self, batch: Batch, scores: Tensor) -> Tensor:
        """Return the loss of all spans, or of all words, over the number of mentions, as the loss of linking is."""
        if self.part.mode == "bio":
            words = word_scores(scores, batch.owners, len(batch.labels))
            loss = functional.cross_entropy(words, batch.labels, reduction="sum", ignore_index=UNKNOWN)
            return loss / (batch.labels == BIO.index("B")).sum().clamp(min=1)
        found = span_scores(scores, Words(*batch.words), self.part.widest)
        known = (batch.spans >= 0) & found.isfinite()
        loss = functional.binary_cross_entropy_with_logits(found[known], batch.spans[known], reduction="sum")
        return loss / batch.spans[known].sum().clamp(min=1)

    def show(self) -> None:
        """Let the component search by the weights as they are."""
        self.part.show(self.miner.current.vectors())


def _mentions(examples: Sequence[Example], starts: Sequence[int]) -> tuple[Places, Tensor, list[Linking]]:
    """Return the pieces of the mentions of windows whose pieces begin at `starts`, and which linking each is of."""
    pieces: list[Stretches] = []
    asked: list[int] = []
    linking: list[Linking] = []
    for start, example in zip(starts, examples, strict=True):
        for one in example.linking:
            pieces += [[(begin + start, end + start) for begin, end in parts] for parts in one.pieces]
            asked += [len(linking)] * len(one.pieces)
            linking.append(one)
    return Places.of(pieces), torch.tensor(asked, dtype=torch.int64), linking


def _spans(doc: LearnedDocument, first: int, size: int, widest: int, window: Window) -> npt.NDArray[np.float32]:
    """Return which spans of a window are mentions, float32 (words, widest); -1 where it is not the window's to say."""
    wanted = np.zeros((size, widest), np.float32)
    for begin, end in doc.answers:
        if first <= begin and end < first + size and end - begin < widest:
            wanted[begin - first, end - begin] = 1
    own = np.arange(first, first + size)
    wanted[(own < window.begin) | (own >= window.end)] = -1
    unknown = ~doc.known[first : first + size]
    for width in range(widest):  # no negative holds a word that nobody has looked at
        reach = np.array([unknown[word : word + width + 1].any() for word in range(size)])
        wanted[reach & (wanted[:, width] == 0), width] = -1
    return wanted
