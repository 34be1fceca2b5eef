"""Linking as classification of words or mentions (Wiatrak and Iso-Sipila 2020): recognition, typing, linking at once.

    per token (PT)    every word gets a concept, or Nil
    per entity (PE)   recognition finds mentions; the mean of their words gets a concept

with a network for each task (``single``), one for all (``multi``), or one in which each task reads what the task below
it says (``hierarchical``). The network is in `linnet.joint.hierarchical_network`, its training in
`linnet.joint.hierarchical_training`.

Beyond the paper the output layer may consist of the vectors of names, so that concepts which training never met are
linked too; whole documents are read at once; and mentions carry candidates with scores, like those of any retriever.

Nothing here imports torch before a network is needed, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field

from linnet.data import Document, Span
from linnet.errors import RecipeError
from linnet.index.name_vectors import NameVectors, SearchedNames
from linnet.joint.reading import NEUTRAL, Found, JointNetwork, NegativesArgs
from linnet.kb import KbName, KnowledgeBase
from linnet.kb.successors import retired, row_of
from linnet.pipeline.aliases import Aliases
from linnet.pipeline.learner import made_once
from linnet.retrieve.name_searcher import NameSearcher
from linnet.text.windows import Text, Window, sentence_windows, windows
from linnet.text.word_scores import decoded
from linnet.text.words import label_names, words_in
from linnet.train.network import NetworkComponent

if TYPE_CHECKING:
    from linnet.joint.hierarchical_network import HierarchicalNetwork, Outputs

__all__ = ["Hierarchical", "HierarchicalArgs"]

Floats = npt.NDArray[np.float32]
Positive = Annotated[float, Field(ge=1e-4, le=1e4)]

FEWEST_TOKENS = 8
NARROWEST = 16  # word pieces of a window
OVERLAP = 128  # word pieces that two windows share, at most a quarter of one
FEW_TYPES = 5  # up to so many, typing of words has BILOU labels too (§2.1)


class HierarchicalArgs(NegativesArgs):
    """What the training of a hierarchical model is told beside `linnet.train.args.TrainArgs`.

    Args:
        nil_weight: of the class Nil in the loss of linking words; .125 or .01 as published.
        temperature: cosines are divided by it; of rows that are tied to names or begin as names.
        recognition_weight: of the loss of recognition beside that of linking.
        typing_weight: of the loss of typing.
        dropout: share of numbers that are forgotten in training, of the words that readers and BiLSTMs give.
        head_lr_multiplier: how many times the learning rate of the encoder the layers around it have, which begin with
            nothing.
        row_lr_multiplier: the same for the rows of the output layer, each of which few steps change.
        encode_batch: names that are encoded at once; a batch of any size needs memory for so many alone (0 = all).

    `mined` and `positive` are of ``rows = "tied"``: classes beside those of the batch, and the names that stand for
    classes. `random` classes are drawn from all concepts; where rows are learned, from those of the documents.
    """

    SOURCE: ClassVar[str] = "hierarchical"

    nil_weight: float = Field(default=0.125, gt=0, le=100)
    temperature: Positive = 0.05
    recognition_weight: float = Field(default=1.0, ge=0, le=100)
    typing_weight: float = Field(default=1.0, ge=0, le=100)
    dropout: float = Field(default=0.1, ge=0, le=0.9)
    head_lr_multiplier: float = Field(default=10.0, ge=0, le=1000)
    row_lr_multiplier: float = Field(default=10.0, ge=0, le=10_000)
    encode_batch: int = Field(default=0, ge=0)


@dataclass(kw_only=True)
class Hierarchical(JointNetwork["HierarchicalNetwork"]):
    """Finds mentions, their types and concepts by classifying words or mentions; must be trained.

    Args:
        kb: the knowledge base.
        k: how many candidates at most.
        variant: per token (``pt``) or per entity (``pe``), and how the tasks share: ``single``, ``multi`` or
            ``hierarchical``.
        rows: of the output layer: ``tied`` to the vectors of names, which one encoder makes; learned for each concept,
            which begin as the vectors of ``names``; or ``plain`` ones, as published, which begin with nothing.
        find: mentions are looked for; else those that are given are linked.
        decoding: mentions are what ``recognition`` finds; or, per token, words in a row with the same concept,
            ``labels``, as published. ``auto``: ``labels`` for ``pt_single``, which shares nothing with recognition.
        encoder: ``minilm``, which needs no download, a folder, or the name of a Hugging Face model on this machine.
        context: what is read with a sentence: nothing (``none``), the ``sentences`` before and after it, as published,
            or the whole ``document`` in windows that overlap.
        lstm: size of the BiLSTM of each task of a ``hierarchical`` variant, each way.
        layers: of each BiLSTM.
        shortcuts: each BiLSTM sees the reader's words beside what the task below says.
        residual: the reader's words are added to the vectors that the BiLSTM of linking makes, so that it learns from
            few documents; else it links by its own alone, as published. Rows that begin as names always have it.
        names: a vector for ``all`` names of a concept, or for the ``preferred`` one.
        name_pooling: of a name's tokens: ``cls``, the mean, or the mean of its own tokens, ``span``.
        name_tokens: word pieces of a name.
        threshold: mentions less probable are left out; None = the best on dev, learned in training.
        dictionary: words of names of the knowledge base are marked as such for the network.
        window: word pieces that are read at once; 0 = as many as the encoder reads, 128 as published.
        aliases: surfaces of training mentions are names too, of ``tied`` rows; they have the name row -1.
        index: how names are searched, as of ``dense``.

    Scores are cosines, of ``plain`` rows dot products. ``signals["detect"]`` is how probable the mention is, calibrated
    on dev (Platt 1999).
    """

    kb: KnowledgeBase
    k: int = 64
    variant: Literal["pt_single", "pt_multi", "pt_hierarchical", "pe_single", "pe_hierarchical"] = "pe_hierarchical"
    rows: Literal["tied", "names", "plain"] = "tied"
    find: bool = True
    decoding: Literal["auto", "recognition", "labels"] = "auto"
    encoder: str = "minilm"
    context: Literal["none", "sentences", "document"] = "document"
    lstm: int = 192
    layers: int = 2
    shortcuts: bool = True
    residual: bool = True
    names: Literal["all", "preferred"] = "all"
    name_pooling: Literal["cls", "mean", "span"] = "span"
    name_tokens: int = 50
    threshold: float | None = None
    dictionary: bool = True
    window: int = 0
    aliases: bool = True
    index: Literal["auto", "flat", "hnsw", "ivf"] = "auto"
    learned: Aliases = field(default_factory=Aliases.none, init=False, repr=False, compare=False)
    marks: tuple[str, ...] = field(default=(), init=False, repr=False, compare=False)  # of dictionary matches, in order
    types: tuple[str, ...] = field(default=(), init=False)
    curve: tuple[float, float] = field(default=NEUTRAL, init=False)
    cutoff: float = field(default=-np.inf, init=False)  # log odds, the best on dev

    TRAINING = "linnet.joint.hierarchical_training"
    ARGS = HierarchicalArgs
    LEARNED = frozenset({
        "variant", "rows", "encoder", "context", "lstm", "layers", "shortcuts", "residual",
        "name_pooling", "dictionary",
    })  # fmt: skip

    def __post_init__(self) -> None:
        problems = [
            f"{name}: {value} must be at least {least}"
            for name, value, least in (
                ("k", self.k, 1), ("name_tokens", self.name_tokens, FEWEST_TOKENS), ("lstm", self.lstm, 1),
                ("layers", self.layers, 1),
            )
            if value < least
        ]  # fmt: skip
        if 0 != self.window < NARROWEST:
            problems.append(f"window: {self.window} must be 0, or {NARROWEST} at least")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            problems.append(f"threshold: {self.threshold} must be from 0 to 1")
        if self.decoding == "labels" and not self.per_token:
            problems.append(f"decoding: 'labels' is of variants per token, not of {self.variant!r}")
        if problems:
            raise RecipeError("hierarchical", problems)

    @property
    def per_token(self) -> bool:
        """Whether words are classified; else mentions are."""
        return self.variant.startswith("pt")

    @property
    def by_labels(self) -> bool:
        """Whether mentions are words in a row with the same concept."""
        return self.decoding == "labels" or (self.decoding == "auto" and self.variant == "pt_single")

    @property
    def cosine(self) -> bool:
        """Whether scores are cosines."""
        return self.rows != "plain"

    @property
    def needs(self) -> frozenset[str]:
        """What `JointNetwork` needs, and sentences if they are read one by one."""
        return super().needs | (frozenset() if self.context == "document" else frozenset({"sentences"}))

    @property
    def type_labels(self) -> list[str]:
        """The labels of typing: types of mentions; per token those of words; none where there is one type alone."""
        if len(self.types) < 2:
            return []
        if not self.per_token:
            return list(self.types)
        return label_names(self.types, "BILOU") if len(self.types) <= FEW_TYPES else ["O", *self.types]

    # --- network -----------------------------------------------------------------------------------------------------

    def read_network(self, folder: Path | None) -> HierarchicalNetwork:
        """Return the network of a folder, else one around the pre-trained encoder."""
        from linnet.joint.hierarchical_network import LINKING, TASKS, TYPING, Between, HierarchicalNetwork  # noqa: PLC0415
        from linnet.nn.device import choose_device  # noqa: PLC0415 - imports torch
        from linnet.nn.encoder import Encoder  # noqa: PLC0415 - imports torch

        mention, names = self.encoders(folder)
        sharing = self.variant.partition("_")[2]
        encoders = {LINKING: Encoder.load(mention)}
        if sharing == "single":
            alone = [task for task in TASKS if task != LINKING and (task != TYPING or self.type_labels)]
            encoders |= {task: Encoder.load(mention if folder is None else folder / task) for task in alone}
        network = HierarchicalNetwork(
            encoders,
            Encoder.load(names) if self.rows == "names" else None,
            name_pooling=self.name_pooling,
            sharing=sharing,  # type: ignore[arg-type]
            typing_labels=len(self.type_labels),
            features=len(self.marks),
            between=Between(self.lstm, self.layers, self.shortcuts, self.residual),
            concepts=self._concepts(folder) if self.rows != "tied" else (),
        )
        if max(self.window, self.name_tokens) > network.mention.window:
            problem = f"window, name_tokens: {self.window} and {self.name_tokens} must be at most"
            raise RecipeError("hierarchical", [f"{problem} {network.mention.window}, which is what the encoder reads"])
        if folder is not None:
            network.restore(folder)
        return network.to(choose_device()).eval()

    def _concepts(self, folder: Path | None) -> list[str]:
        """Return the ids of the concepts that have rows: of a trained network those that it was trained with."""
        from linnet.joint.hierarchical_network import read_concepts  # noqa: PLC0415 - imports torch

        return [self.kb.id(row) for row in range(len(self.kb))] if folder is None else read_concepts(folder)

    @made_once
    def names_index(self) -> SearchedNames:
        """The vectors of names; of rows that are learned one for each concept, with its preferred name."""
        if self.rows == "tied":
            return NameSearcher.names_index.make(self)
        network = self.network
        assert network.rows is not None  # noqa: S101 - only tied rows have none
        learned = network.rows.weight.detach().float().cpu().numpy()
        places = {concept: place for place, concept in enumerate(network.concepts)}
        named = [name for name in self.kb.names() if name.preferred]
        own = np.array([places.get(self.kb.id(name.concept), -1) for name in named], np.int64)
        late = list(self._inherited(named, set(own.tolist()), learned))
        names, rows = [name for name, _ in late], learned[[place for _, place in late]]
        if self.rows == "names":
            vectors = np.where(own[:, None] >= 0, learned[own], np.float32(0)) + self.name_vectors(named)
            vectors = np.concatenate([vectors, rows + self.encode_names([name.text for name in names])])
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-12)
        else:  # a plain row that was never there says nothing
            held = np.flatnonzero(own >= 0)
            named, vectors = [named[place] for place in held], np.concatenate([learned[own[held]], rows])
        pairs = np.array([(name.concept, name.row) for name in (*named, *names)], np.int32).reshape(-1, 2)
        return NameVectors(vectors, pairs[:, 0], pairs[:, 1], {"kb": self.kb.version})

    def _inherited(self, named: Sequence[KbName], held: Set[int], learned: Floats) -> Iterator[tuple[KbName, int]]:
        """Yield for each learned row of a retired concept, which none of `held` is, its name as one of its successor.

        One that the successor does not have counts as its preferred name.
        """
        preferred = {name.concept: name for name in named}
        for place, concept in enumerate(self.network.concepts):
            if place not in held and learned[place].any():
                row = row_of(self.kb)(concept)
                if row in preferred:
                    first = next((one.name for one in retired(self.kb, concept) if one.id == concept), "")
                    known = self.kb.name_row(row, first)
                    kept = preferred[row]
                    yield (kept._replace(row=known, text=first) if known >= 0 else kept), place

    def name_vectors(self, named: Sequence[KbName]) -> Floats:
        """Return the vectors of names by the encoder of names, float32 (names, d)."""
        found = self.names_file.searched("flat")
        found = found if isinstance(found, NameVectors) else self.names_file.in_memory()
        order = np.argsort(found.name_rows, kind="stable")
        places = np.searchsorted(found.name_rows, [name.row for name in named], sorter=order)
        vectors: Floats = found.vectors[order[places]]
        return vectors

    def with_network(self, other: Self) -> Self:
        """Return the same component with what another one's training made of the network, and the types it knows."""
        made = super().with_network(other)
        made.types = other.types
        return made

    def save(self, folder: Path) -> None:
        """Write the component; if it was trained the network, and the vectors of names where rows are tied to them."""
        if self.rows == "tied":
            super().save(folder)
        else:
            NetworkComponent.save(self, folder)

    # --- reading -----------------------------------------------------------------------------------------------------

    def windows(self, doc: Document, text: Text) -> list[Window]:
        """Return the windows that a document is read in: sentences with what is around them, or longer stretches."""
        size = (self.window or self.reads.window) - 2  # start and end of a sequence
        if self.context == "document":
            return windows(text, size, min(OVERLAP, size // 4))
        return sentence_windows(text, doc.sentences or (), size, around=int(self.context == "sentences"))

    def read_documents(self, docs: Sequence[Document], texts: Sequence[Text], *, find: bool) -> list[Outputs]:
        """Return what the network says of the words of documents; without `find` of their concepts alone."""
        from linnet.joint.hierarchical_network import LINKING, RECOGNITION, TYPING, read_documents  # noqa: PLC0415

        tasks = {LINKING, *([TYPING] if find else []), *([RECOGNITION] if find and not self.by_labels else [])}
        windows = [self.windows(doc, text) for doc, text in zip(docs, texts, strict=True)]
        return read_documents(self.network, texts, windows, tasks)

    def mention_vectors(self, doc: Document, text: Text, said: Outputs, mentions: Sequence[Sequence[Span]]) -> Floats:  # noqa: ARG002
        """Return the vectors of mentions, given as their parts, float32 (mentions, d)."""
        from linnet.joint.hierarchical_network import mean_of_words, normal  # noqa: PLC0415 - imports torch

        words = [_words_of(text, parts) for parts in mentions]
        found: Floats = normal(mean_of_words(said.linking, words), cosine=self.cosine).numpy()
        return found

    def find_mentions(self, texts: Sequence[Text], said: Sequence[Outputs]) -> list[list[Found]]:  # noqa: ARG002
        """Return the mentions of texts with their log odds, in reading order."""
        from linnet.joint.hierarchical_network import BILOU  # noqa: PLC0415 - imports torch

        if self.by_labels:
            return [self._runs(one) for one in said]
        chunks = decoded([one.recognition.numpy() for one in said], self.network.rules.arrays(), BILOU)
        return [[Found(chunk.first, chunk.last, odds) for chunk, odds in some] for some in chunks]

    def _runs(self, said: Outputs) -> list[Found]:
        """Return words in a row whose best class is the same concept, with how much better than Nil it is."""
        from linnet.joint.hierarchical_network import normal  # noqa: PLC0415 - imports torch

        read = said.linking.abs().sum(dim=1).numpy() > 0
        vectors = normal(said.linking, cosine=self.cosine)
        nil = (vectors @ normal(self.network.nil.detach().float().cpu(), cosine=self.cosine)).numpy()
        best = self.search(vectors.numpy(), 1)
        gain = np.array([float(one.scores[0]) if len(one.rows) else -np.inf for one in best]) - nil
        rows = [int(one.rows[0]) if gain[word] > 0 and read[word] else -1 for word, one in enumerate(best)]
        made, first = [], 0
        for row, some in groupby(rows):
            last = first + len(list(some)) - 1
            if row >= 0:
                made.append(Found(first, last, float(gain[first : last + 1].mean())))
            first = last + 1
        return made

    def type_of(self, said: Outputs, found: Found) -> str:
        """Return the most probable type of a mention."""
        if not self.type_labels:
            return self.types[0] if self.types else ""
        scores = said.typing[found.first : found.last + 1]
        if self.per_token:  # the probability of a type is that of all its labels
            scores = scores.log_softmax(dim=1).exp()
            kinds = [label[2:] if len(self.types) <= FEW_TYPES else label for label in self.type_labels]
            of_types = [scores[:, [kind == label for label in kinds]].sum(dim=1).log().sum() for kind in self.types]
            return self.types[int(np.argmax(of_types))]
        return self.types[int(scores.mean(dim=0).argmax())]

    # --- learning ----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Forget what was learned beside the network."""
        super().begin()
        self.cutoff = -np.inf

    def learned_values(self) -> dict[str, Any]:
        """Return its features, types, and what it learned of probabilities."""
        return {**super().learned_values(), "types": self.types}

    def restore_values(self, values: Mapping[str, Any]) -> None:
        """Take what `learned_values` gave."""
        super().restore_values(values)
        self.types = tuple(map(str, values["types"]))


def _words_of(text: Text, parts: Sequence[Span]) -> npt.NDArray[np.int64]:
    """Return the words that a mention, given as its parts, shares a character with, in reading order."""
    stretches = [words_in(text.words, part) for part in parts]
    return np.array(sorted({word for first, last in stretches for word in range(first, last + 1)}), np.int64)
