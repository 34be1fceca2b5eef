"""The network of a tagger (`linnet.detect.tagger`), and how it learns: its examples, losses and dev score.

Word pieces and what is known of words go in, a score of each label for each word comes out.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from linnet.data import Document
from linnet.detect.tagger_args import TaggerArgs
from linnet.errors import DataError
from linnet.kb import KnowledgeBase
from linnet.nn.attention import use_plain_steps
from linnet.nn.crf import Rules, log_partition, rules_of
from linnet.nn.device import autocast
from linnet.nn.encoder import Encoder
from linnet.nn.texts import token_budget
from linnet.nn.weights import restore_layers, save_layers
from linnet.nn.windows import Pieces, embed, mean_of_pieces, run_lstm
from linnet.pipeline.component import Component, Step, batches, blind
from linnet.reporter import tell
from linnet.text import chains
from linnet.text.chains import NEVER
from linnet.text.tagging import CONTINUES, Chunk, Scheme
from linnet.text.token_batches import token_batches
from linnet.text.windows import PaddedWindows, Text, Window
from linnet.text.word_scores import WordScorer
from linnet.text.words import SHAPES, UNKNOWN, Ints, gold_chunks, labels_of
from linnet.train.args import TrainArgs
from linnet.train.checkpoint import key_of
from linnet.train.loop import divided_groups, train
from linnet.train.network import tell_loss

if TYPE_CHECKING:
    from linnet.detect.tagger_graph import GraphTagger

__all__ = ["TaggerInTraining", "TaggerNetwork", "fit"]

logger = logging.getLogger(__name__)

HEAD = "head.safetensors"
SPREAD = 0.02  # of the weights that nothing has learned
FEW = 50  # mentions that nothing can be calibrated on
NEUTRAL = (1.0, 0.0)  # slope and shift that leave log odds as they are


class TaggerNetwork(nn.Module):
    """An encoder with what is known of words added to its input, and a layer that scores labels.

    Args:
        encoder: reads word pieces.
        labels: names of the labels, ``O`` first.
        scheme: of the labels, which says what may follow what.
        features: how many features matches of the dictionary have; 0 = there is no dictionary.
        crf: whether what follows what is learned as well.
        lstm: size of a bidirectional LSTM over the words, each way; 0 = none.
    """

    def __init__(
        self, encoder: Encoder, labels: Sequence[str], *, scheme: Scheme, features: int, crf: bool, lstm: int
    ) -> None:
        super().__init__()
        self.encoder = encoder
        use_plain_steps(encoder.backbone)
        size = encoder.size
        self.shapes = nn.Embedding(len(SHAPES), size)
        self.matches = nn.Embedding(features, size) if features else None
        with torch.random.fork_rng(devices=[]):  # the same each time, whatever was drawn before
            torch.manual_seed(13)
            self.lstm = nn.LSTM(size, lstm, bidirectional=True, batch_first=True) if lstm else None
            self.head = nn.Linear(2 * lstm or size, len(labels))
            for layer in (self.shapes, self.matches, self.head):
                if layer is not None:
                    nn.init.normal_(layer.weight, std=SPREAD)
            nn.init.zeros_(self.head.bias)
        self.dropout = nn.Dropout(0.0)
        allowed = rules_of(labels, scheme)
        self.allowed = allowed
        self.begin, self.follow, self.end = (nn.Parameter(torch.zeros_like(rule)) if crf else None for rule in allowed)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.head.weight.device

    @property
    def rules(self) -> Rules:
        """What labels may follow each other, and how gladly."""
        learned = (self.begin, self.follow, self.end)
        rules = (rule.to(self.device) for rule in self.allowed)
        return Rules(*(rule if more is None else rule + more for rule, more in zip(rules, learned, strict=True)))

    @property
    def budget(self) -> int:
        """How many tokens a batch should have at most, padding included."""
        return token_budget(self.device)

    @property
    def chain(self) -> chains.Rules:
        """What `rules` says, as arrays."""
        return self.rules.arrays()

    def score(self, batch: PaddedWindows, /) -> npt.NDArray[np.float32]:
        """Return the score of each label for each word, float32 (windows, words, labels)."""
        with torch.inference_mode(), autocast(self.device):
            found: npt.NDArray[np.float32] = self(Pieces.from_arrays(batch).to(self.device)).float().cpu().numpy()
        return found

    def as_graph(self) -> GraphTagger:
        """Return the same for ONNX Runtime, its encoder with weights of a byte each.

        Raises:
            LinnetError: its kind of encoder cannot be written as a graph.
        """
        from linnet.detect.tagger_graph import GraphTagger  # noqa: PLC0415 - needs the extra onnx
        from linnet.nn.onnx import as_graph  # noqa: PLC0415 - needs the extra onnx

        layers = {"shapes": self.shapes.weight, "head.weight": self.head.weight, "head.bias": self.head.bias}
        layers |= {"matches": self.matches.weight} if self.matches is not None else {}
        layers |= {f"lstm.{name}": each for name, each in self.lstm.named_parameters()} if self.lstm is not None else {}
        arrays = {name: each.detach().float().cpu().numpy() for name, each in layers.items()}
        return GraphTagger(as_graph(self.encoder, known=True), {**arrays, **self.chain._asdict()})

    def embedded(self, batch: Pieces) -> Tensor:
        """Return the input of the encoder, (windows, tokens, d)."""
        return embed(batch, self.encoder, self.shapes, self.matches)

    def forward(self, batch: Pieces, embedded: Tensor | None = None) -> Tensor:
        """Return the score of each label for each word, float32 (windows, words, labels)."""
        inputs = self.embedded(batch) if embedded is None else embedded
        hidden = self.encoder.backbone(inputs_embeds=inputs, attention_mask=batch.mask).last_hidden_state
        words = mean_of_pieces(hidden, batch)
        words = self.dropout(words)
        with torch.autocast(words.device.type, enabled=False):
            if self.lstm is not None:
                words = self.dropout(run_lstm(self.lstm, words, batch.counts))
            scores: Tensor = self.head(words)
        return scores

    def save(self, folder: Path) -> None:
        """Write the encoder and the layers around it."""
        self.encoder.save(folder)
        save_layers(self, folder / HEAD, encoders=[self.encoder])

    def restore(self, folder: Path) -> None:
        """Take the layers around the encoder that `save` wrote.

        Raises:
            FormatError: they are not those that are wanted.
        """
        restore_layers(self, folder / HEAD, encoders=[self.encoder])


# --- losses ----------------------------------------------------------------------------------------------------------


class Example(NamedTuple):
    """A window of a text with the labels (words,) that it learns."""

    text: Text
    window: Window
    labels: Ints


@dataclass
class Group:
    """Windows of like length with their labels, int64 (windows, words); `UNKNOWN` where nothing is learned."""

    pieces: Pieces
    labels: Tensor


@dataclass
class Batch:
    """Windows of a step, in groups, and how many of their words are learned from."""

    groups: list[Group]
    known: int


class TaggerTraining:
    """What the gradient loop needs to know of a tagger (`linnet.train.loop.Trainable`)."""

    def __init__(self, network: TaggerNetwork, args: TaggerArgs, examples: Sequence[Example]) -> None:
        self.module: nn.Module = network
        self.network, self.args = network, args
        self._examples = list(examples)
        for layer in network.modules():
            if isinstance(layer, nn.Dropout):
                layer.p = args.encoder_dropout
        network.dropout.p = args.dropout
        for parameter in _lowest(network, args.frozen):
            parameter.requires_grad_(False)
        weights = torch.ones(network.head.out_features)
        weights[0] = args.outside_weight
        self._weights = weights

    def groups(self, args: TrainArgs) -> list[dict[str, Any]]:
        """Return the parameters in groups; the layers around the encoder learn faster."""
        return divided_groups(self.module, args, self.args.head_lr_multiplier, encoders=[self.network.encoder])

    def examples(self, docs: Sequence[Document], *, epoch: int, rng: np.random.Generator) -> list[Example]:  # noqa: ARG002
        """Return the examples, windows of documents; each epoch the same."""
        return self._examples

    def collate(self, examples: Sequence[Example]) -> Batch:
        """Return a batch of windows, padded, those of like length together."""
        lengths = [one.window.last - one.window.first + 2 for one in examples]
        batches = token_batches(lengths, tokens=token_budget(self.network.device))
        groups = [self._group([examples[row] for row in rows]) for rows in batches]
        return Batch(groups, sum(int((group.labels != UNKNOWN).sum()) for group in groups))

    def _group(self, examples: Sequence[Example]) -> Group:
        pieces = Pieces.of([(one.text, one.window) for one in examples], self.network.encoder)
        labels = torch.full(tuple(pieces.shapes.shape), UNKNOWN)
        for row, (one, (begin, end)) in enumerate(zip(examples, pieces.own.tolist(), strict=True)):
            start = int(one.text.owners[one.window.first])
            labels[row, begin:end] = torch.from_numpy(one.labels[start + begin : start + end])
        return Group(pieces, labels)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Return the mean loss of words, and of the regularisation that is asked for."""
        sums: dict[str, Tensor] = {}
        for group in batch.groups:
            for name, value in self._losses(group).items():
                sums[name] = sums[name] + value if name in sums else value
        return {name: value / max(1, batch.known) for name, value in sums.items()}

    def _losses(self, group: Group) -> dict[str, Tensor]:
        """Return the sums of the losses over words."""
        embedded = self.network.embedded(group.pieces)
        scores = self.network(group.pieces, embedded)
        losses = {"tags": self._tags(scores, group)}
        if not self.network.training:
            return losses
        if self.args.regularisation == "r-drop":
            again = self.network(group.pieces)
            losses["tags"] = (losses["tags"] + self._tags(again, group)) / 2
            losses["disagreement"] = self.args.strength * _disagreement(scores, again, group.labels != UNKNOWN)
        if self.args.regularisation == "adversarial":
            (slope,) = torch.autograd.grad(losses["tags"], embedded, retain_graph=True)
            length = slope.float().norm(dim=2, keepdim=True).clamp(min=1e-12)
            move = self.args.strength * slope / length
            losses["adversarial"] = self._tags(self.network(group.pieces, embedded + move.detach()), group)
        return losses

    def _tags(self, scores: Tensor, group: Group) -> Tensor:
        known = group.labels != UNKNOWN
        if self.network.follow is not None:
            return _chain_loss(self.network, scores, group)
        weights = self._weights.to(scores.device)
        return functional.cross_entropy(scores[known], group.labels[known], weight=weights, reduction="sum")


def _chain_loss(network: TaggerNetwork, scores: Tensor, batch: Group) -> Tensor:
    """Return the sum over windows of -log of the probability of all rows of labels that agree with those known."""
    begin, end = batch.pieces.own[:, 0], batch.pieces.own[:, 1]
    lengths = (end - begin).clamp(min=1)
    count = int(lengths.max())
    places = (begin[:, None] + torch.arange(count, device=scores.device)).clamp(max=scores.shape[1] - 1)
    own = scores.gather(1, places[:, :, None].expand(-1, -1, scores.shape[2]))
    labels = batch.labels.gather(1, places)
    wrong = functional.one_hot(labels.clamp(min=0), scores.shape[2]) == 0
    agreeing = own + NEVER * (wrong & (labels != UNKNOWN)[:, :, None])
    both = log_partition(own, lengths, network.rules) - log_partition(agreeing, lengths, network.rules)
    return both.sum()


def _disagreement(one: Tensor, other: Tensor, known: Tensor) -> Tensor:
    """Return the sum over words of the Kullback-Leibler divergences of two rows of scores (Liang et al. 2021)."""
    a, b = torch.log_softmax(one[known], dim=1), torch.log_softmax(other[known], dim=1)
    return ((a.exp() - b.exp()) * (a - b)).sum(dim=1).sum() / 2


def _lowest(network: TaggerNetwork, layers: int) -> Iterator[nn.Parameter]:
    """Yield the parameters of the embeddings and the lowest layers of the encoder."""
    if layers:
        for name, parameter in network.encoder.named_parameters():
            numbers = [int(part) for part in name.split(".") if part.isdigit()]
            if "embeddings" in name or (numbers and numbers[0] < layers):
                yield parameter


# --- what is learned from --------------------------------------------------------------------------------------------


def _examples(tagger: TaggerInTraining, docs: Sequence[Document]) -> Iterator[Example]:
    """Yield the windows of documents, with borders where no mention is cut in two."""
    going_on = np.array([label[0] in CONTINUES for label in tagger.labels])
    for doc, text in _texts(tagger, docs):
        labels = labels_of(doc, text.words, tagger.labels, tagger.scheme)
        # is word n in one mention with the word before it?
        joined = np.append((labels >= 0) & going_on[labels.clip(min=0)], False)
        border = 0
        for window in tagger.windows(text) if len(text.pieces) else ():
            begin, border, read = border, window.end, int(text.owners[window.last - 1]) + 1
            while joined[border] and border < read:
                border += 1
            own = labels
            if joined[border]:  # a mention as long as that is learned in neither window
                own = labels.copy()
                own[_around(joined, border)] = UNKNOWN
            while joined[begin]:
                begin += 1
            if (own[begin:border] != UNKNOWN).any():
                yield Example(text, window._replace(begin=begin, end=border), own)


def _texts(tagger: TaggerInTraining, docs: Sequence[Document]) -> Iterator[tuple[Document, Text]]:
    """Yield documents with their words and word pieces, and tell how many are read."""
    done = 0
    for some in batches(docs):
        yield from zip(some, tagger.read(blind(some, tagger)), strict=True)
        done += len(some)
        tell("texts read", done, len(docs))


def _around(joined: npt.NDArray[np.bool_], word: int) -> slice:
    """Return the words of the mention that a word goes on with."""
    first = last = word
    while joined[first]:
        first -= 1
    while joined[last]:
        last += 1
    return slice(first, last)


# --- training --------------------------------------------------------------------------------------------------------


class TaggerInTraining(Component, Protocol):
    """A component of these networks: how it reads documents, and what its labels are."""

    kb: KnowledgeBase

    @property
    def labels(self) -> list[str]:
        """The labels of words."""
        ...

    @property
    def scheme(self) -> Scheme:
        """What may follow what."""
        ...

    @property
    def network(self) -> list[Any]:
        """Its networks."""
        ...

    @property
    def backend(self) -> str:
        """What runs them once they are trained."""
        ...

    def config(self) -> dict[str, Any]:
        """Return its keywords."""
        ...

    def fresh(self) -> TaggerNetwork:
        """Return a network that has learned nothing."""
        ...

    def read(self, docs: Sequence[Document]) -> list[Text]:
        """Return documents as words and word pieces."""
        ...

    def windows(self, text: Text) -> list[Window]:
        """Return the windows that a text is read in."""
        ...

    def chunks(self, texts: Sequence[Text], networks: Sequence[WordScorer]) -> list[list[tuple[Chunk, float]]]:
        """Return the mentions of each text as chunks of words, each with its log odds."""
        ...


def fit(
    tagger: TaggerInTraining, docs: Sequence[Document], dev: Sequence[Document], *, args: Mapping[str, Any]
) -> Generator[Step, None, tuple[float, float]]:
    """Train networks and add them to a component; return slope and shift that make probabilities of its log odds.

    Raises:
        RecipeError: wrong arguments.
        DataError: no mention to learn from.
    """
    own, loop = TaggerArgs.split({key: value for key, value in args.items() if key != "checkpoints"})
    examples = list(_examples(tagger, docs))
    if unseen := sum(doc.mentions is None for doc in docs):
        logger.warning("tagger: %d documents whose mentions nobody has marked teach nothing", unseen)
    if not any((example.labels > 0).any() for example in examples):
        raise DataError("tagger: the training documents have no mention to learn from")
    texts = tagger.read(blind(dev, tagger))
    for number in range(own.networks):
        network = tagger.fresh()
        training = TaggerTraining(network, own, examples)
        score = (lambda _, network=network: _recognition(tagger, dev, texts, [network])) if dev else None
        some = loop.model_copy(update={"seed": (loop.seed + number) % (1 << 32)})
        told = [tagger.config(), tagger.labels, vars(own), tagger.kb.version, network.encoder.fingerprint()]
        folder = args.get("checkpoints")
        place = folder if folder is None or number == 0 else folder.with_name(f"{folder.name}-{number}")
        tagger.network.append(network)
        try:
            yield from train(training, docs, dev, score=score, args=some, folder=place, key=key_of(told, [*docs, *dev]))
        finally:
            network.requires_grad_(True).eval()
    if not dev:
        return NEUTRAL
    networks: Sequence[WordScorer] = tagger.network
    if tagger.backend == "onnx":
        networks = [network.as_graph() for network in tagger.network]
        whole, small = (_recognition(tagger, dev, texts, some) for some in (tagger.network, networks))
        tell_loss("tagger", "F1 of recognition", whole, small)
    return _calibrated(tagger, dev, texts, networks)


def _recognition(
    tagger: TaggerInTraining, dev: Sequence[Document], texts: Sequence[Text], networks: Sequence[WordScorer]
) -> float:
    """Return F1 of spans with their types, as networks find them."""
    found = right = wanted = 0
    for doc, chunks, text in zip(dev, tagger.chunks(texts, networks), texts, strict=True):
        labels = labels_of(doc, text.words, tagger.labels, tagger.scheme)
        gold = set(gold_chunks(labels, tagger.labels))
        ours = {chunk for chunk, _ in chunks if (labels[chunk.first : chunk.last + 1] != UNKNOWN).all()}
        found, right, wanted = found + len(ours), right + len(ours & gold), wanted + len(gold)
    return 2 * right / max(1, found + wanted)


def _calibrated(
    tagger: TaggerInTraining, dev: Sequence[Document], texts: Sequence[Text], networks: Sequence[WordScorer]
) -> tuple[float, float]:
    """Return slope and shift such that the log odds of mentions tell how often they are right on `dev` (Platt 1999)."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - slow to import, needed for training alone

    odds, right = [], []
    for doc, chunks, text in zip(dev, tagger.chunks(texts, networks), texts, strict=True):
        labels = labels_of(doc, text.words, tagger.labels, tagger.scheme)
        gold = set(gold_chunks(labels, tagger.labels))
        for chunk, sure in chunks:
            if (labels[chunk.first : chunk.last + 1] != UNKNOWN).all():
                odds.append(sure)
                right.append(chunk in gold)
    if len(right) < FEW or len(set(right)) < 2:
        logger.warning(
            "tagger: nothing to calibrate on in %d mentions, few or all alike: probabilities stay as they are",
            len(right),
        )
        return NEUTRAL
    model = LogisticRegression(C=1e3).fit(np.array(odds)[:, None], right)
    return float(model.coef_[0, 0]), float(model.intercept_[0])
