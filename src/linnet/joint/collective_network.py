"""The network of `linnet.joint.collective`: one pass over a document, a vector for each mention, a score for each span.

    document  ``[CLS] pieces [SEP]``, in windows that overlap      (windows, tokens) -> (pieces, d)
    span      w_s·h_first + w_e·h_last + the sum of w_m·h over its pieces      (pieces, 3) -> (words, widest)
    mention   the mean of its pieces, or W[h_first; h_last] + b                (mentions, d)
    name      ``[CLS] name [SEP]``                                             (names, tokens) -> (names, d)

Scores of spans are sums of numbers that each piece has, so that all of them take one pass over the pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from linnet.joint.found_spans import BIO, choose_spans, find_labelled
from linnet.joint.reading import Found
from linnet.nn.attention import use_plain_steps
from linnet.nn.crf import Rules, rules_of
from linnet.nn.device import autocast
from linnet.nn.encoder import Encoder
from linnet.nn.pooling import Pool, Pooling
from linnet.nn.texts import token_budget
from linnet.nn.vectors import EncodesNames
from linnet.nn.weights import restore_layers, save_layers
from linnet.nn.windows import Pieces, embed
from linnet.text.windows import Text, Window, read_pieces
from linnet.text.words import SHAPES

if TYPE_CHECKING:
    from linnet.joint.collective_graph import GraphCollective

__all__ = [
    "BIO", "CollectiveNetwork",
    "Places", "Words", "find_chunks", "find_spans", "pool", "read_documents",
    "span_scores", "word_scores",
]  # fmt: skip

Ints = npt.NDArray[np.int64]

HEADS = "heads.safetensors"
SPREAD = 0.02  # of the weights that nothing has learned
NEVER = float("-inf")


class CollectiveNetwork(nn.Module, EncodesNames):
    """An encoder of documents, one of names, and the layers that find mentions.

    Args:
        mention: reads documents.
        entity: reads names; the same object if it is shared.
        finds: mentions are looked for; else those that are given are linked alone.
        pooling: ``mean`` of a mention's pieces, or its ``ends``.
        name_pooling: of names.
        features: how many features matches of the dictionary have; 0 = there is no dictionary.
    """

    is_graph = False  # PyTorch runs it

    def __init__(
        self, mention: Encoder, entity: Encoder, *, finds: bool, pooling: Pooling, name_pooling: Pooling, features: int
    ) -> None:
        super().__init__()
        self.mention, self.entity = mention, entity
        use_plain_steps(mention.backbone)
        self.name_pool = Pool(name_pooling, entity.size)
        self.ends = Pool("ends", mention.size).both if pooling == "ends" else None
        with torch.random.fork_rng(devices=[]):  # the same each time, whatever was drawn before
            torch.manual_seed(13)
            self.shapes = nn.Embedding(len(SHAPES), mention.size) if finds else None
            self.matches = nn.Embedding(features, mention.size) if finds and features else None
            self.head = nn.Linear(mention.size, 3) if finds else None  # start, end, inside; or O, B, I
            for layer in (self.shapes, self.matches, self.head):
                if layer is not None:
                    nn.init.normal_(layer.weight, std=SPREAD)
        if self.head is not None:
            nn.init.zeros_(self.head.bias)
        self.dropout = nn.Dropout(0.0)
        self.allowed = rules_of(BIO, "BIO")

    @property
    def shared(self) -> bool:
        """Whether one encoder serves both sides."""
        return self.entity is self.mention

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    @property
    def rules(self) -> Rules:
        """What labels may follow each other."""
        return Rules(*(rule.to(self.device) for rule in self.allowed))

    def forward(self, batch: Pieces) -> Tensor:
        """Return the vectors of word pieces, one window after the other, (pieces, d)."""
        if self.shapes is None:
            hidden = self.mention(batch.ids, batch.mask)
        else:
            inputs = embed(batch, self.mention, self.shapes, self.matches)
            hidden = self.mention.backbone(inputs_embeds=inputs, attention_mask=batch.mask).last_hidden_state
        held = batch.words < batch.shapes.shape[1]  # neither start nor end nor padding
        found: Tensor = self.dropout(hidden[held])
        return found

    def names(self, ids: Tensor, mask: Tensor, spans: Tensor) -> Tensor:
        """Return vectors of names, (names, tokens) -> (names, d)."""
        vectors: Tensor = self.name_pool(self.entity(ids, mask), mask, spans)
        return vectors

    def as_graph(self) -> GraphCollective:
        """Return the same for ONNX Runtime, its encoders with weights of a byte each.

        Raises:
            LinnetError: their kind cannot be written as a graph.
        """
        from linnet.graphs.vectors import GraphPool  # noqa: PLC0415 - needs the extra onnx
        from linnet.joint.collective_graph import GraphCollective  # noqa: PLC0415 - needs the extra onnx
        from linnet.nn.onnx import as_graph  # noqa: PLC0415 - needs the extra onnx

        inside = {id(weight) for each in (self.mention, self.entity) for weight in each.parameters()}
        named = {name: each for name, each in self.named_parameters() if id(each) not in inside}
        layers = {name.removesuffix(".weight") if name.startswith(("shapes", "matches")) else name: each
                  for name, each in named.items()}  # fmt: skip
        mention = as_graph(self.mention, known=self.shapes is not None)
        same = self.shared and self.shapes is None
        return GraphCollective(
            mention,
            mention if same else as_graph(self.entity),
            name_pool=GraphPool(self.name_pool.how),
            layers={name: each.detach().float().cpu().numpy() for name, each in layers.items()},
        )

    def save(self, folder: Path) -> None:
        """Write the encoders and the layers around them."""
        self.mention.save(folder / "mention")
        if not self.shared:
            self.entity.save(folder / "entity")
        save_layers(self, folder / HEADS, encoders=[self.mention, self.entity])

    def restore(self, folder: Path) -> None:
        """Take the layers around the encoders that `save` wrote.

        Raises:
            FormatError: they are not those that are wanted.
        """
        restore_layers(self, folder / HEADS, encoders=[self.mention, self.entity])


# --- documents -------------------------------------------------------------------------------------------------------


def read_documents(
    network: CollectiveNetwork, texts: Sequence[Text], windows: Sequence[Sequence[Window]]
) -> list[Tensor]:
    """Return the vectors of the word pieces of each text, float32 (pieces, d), as `linnet.text.windows.read_pieces`."""

    def encode(some: list[tuple[Text, Window]]) -> list[npt.NDArray[np.float32]]:
        found = network(Pieces.of(some, network.mention).to(network.device)).float().cpu().numpy()
        return np.split(found, np.cumsum([window.last - window.first for _, window in some])[:-1])

    with torch.inference_mode(), autocast(network.device):
        tokens = token_budget(network.device)
        read = read_pieces(texts, windows, encode, size=network.mention.size, tokens=tokens)
    return [torch.from_numpy(vectors) for vectors in read]


# --- spans -----------------------------------------------------------------------------------------------------------


class Words(NamedTuple):
    """The words of texts that stand one behind the other, int64 (words,).

    ``first`` and ``last`` are the places of their first and last pieces, last < first for a word without any;
    ``left`` says how many words there are to the end of the text, with the word itself.
    """

    first: Tensor
    last: Tensor
    left: Tensor

    @classmethod
    def of(cls, owners: Ints, count: int) -> Words:
        """Return the words of one text: `owners` (pieces,) is the word of each piece, of `count` words."""
        words = np.arange(count)
        first, behind = np.searchsorted(owners, words), np.searchsorted(owners, words, side="right")
        return cls(*(torch.from_numpy(array) for array in (first, behind - 1, count - words)))


def span_scores(scores: Tensor, words: Words, widest: int) -> Tensor:
    """Return the log odds of all spans of up to `widest` words, float32 (words, widest), by first word and width - 1.

    Args:
        scores: of pieces as start, as end, and inside of a mention, (pieces, 3).
        words: whose pieces they are.
        widest: words of the longest span.

    -inf stands where there is no such span, or where it would begin or end with a word that has no pieces.
    """
    start, end, inside = scores.unbind(1)
    # in float64: a difference of sums that grow with the text
    sums = nn.functional.pad(inside.double().cumsum(0), (1, 0))
    widths = torch.arange(widest, device=scores.device)
    firsts = torch.arange(len(words.first), device=scores.device)[:, None]
    lasts = (firsts + widths).clamp(max=len(words.first) - 1)
    read = words.last >= words.first
    there = (widths < words.left[:, None]) & read[:, None] & read[lasts]
    first = words.first.clamp(max=len(scores) - 1)
    last = words.last.clamp(min=0)[lasts]
    found = start[first][:, None] + end[last] + (sums[last + 1] - sums[first][:, None]).float()
    return found.masked_fill(~there, NEVER)


def find_spans(
    network: CollectiveNetwork, text: Text, hidden: Tensor, widest: int, overlaps: Literal["flat", "nested"]
) -> list[Found]:
    """Return the spans of a text that may be mentions, best first; of ``flat`` ones none overlaps a better one."""
    if not len(hidden) or network.head is None:
        return []
    with torch.inference_mode():
        words = Words.of(text.owners, len(text.words))
        scores = span_scores(network.head(hidden.to(network.device)).float().cpu(), words, widest).numpy()
    return choose_spans(scores, overlaps)


def find_chunks(network: CollectiveNetwork, texts: Sequence[Text], hidden: Sequence[Tensor]) -> list[list[Found]]:
    """Return the mentions of the best labels of each text."""
    if network.head is None:
        return [[] for _ in texts]
    with torch.inference_mode():
        scores = [network.head(own.to(network.device)).float().cpu().numpy() for own in hidden]
    return find_labelled(texts, scores)


def word_scores(scores: Tensor, owners: Tensor, count: int) -> Tensor:
    """Return the scores of labels of `count` words, (words, labels): the mean of those of their pieces."""
    owners = owners.to(scores.device)
    sums = scores.new_zeros(count, scores.shape[1]).index_add(0, owners, scores)
    return sums / torch.bincount(owners, minlength=count).clamp(min=1)[:, None]


# --- mentions --------------------------------------------------------------------------------------------------------


class Places(NamedTuple):
    """Which pieces mentions are made of, int64 (places,): the number of the mention, and the place of the piece.

    In rising order of mentions; the pieces of one in reading order.
    """

    mentions: Tensor
    pieces: Tensor

    @classmethod
    def of(cls, mentions: Sequence[Sequence[tuple[int, int]]]) -> Places:
        """Return those of mentions that are given as stretches ``[start, end)`` of pieces."""
        pairs = [(number, piece) for number, parts in enumerate(mentions) for part in parts for piece in range(*part)]
        return cls(*torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T)


def pool(network: CollectiveNetwork, hidden: Tensor, places: Places, count: int) -> Tensor:
    """Return the vectors of `count` mentions, (mentions, d); one without pieces has the vector 0.

    Args:
        network: which says how.
        hidden: vectors of pieces, (pieces, d).
        places: the pieces of mentions.
        count: of mentions.
    """
    chosen = hidden[places.pieces].float()
    numbers = torch.bincount(places.mentions, minlength=count)
    if network.ends is None:
        sums = chosen.new_zeros(count, chosen.shape[1]).index_add(0, places.mentions, chosen)
        return sums / numbers.clamp(min=1)[:, None]
    behind = numbers.cumsum(0)
    has = numbers > 0
    ends = torch.cat([chosen[(behind - numbers)[has]], chosen[behind[has] - 1]], dim=1)
    vectors = chosen.new_zeros(count, chosen.shape[1])
    return vectors.index_put((torch.nonzero(has)[:, 0],), network.ends(ends).float())
