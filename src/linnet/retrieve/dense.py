"""Retrieval by vectors: the concepts whose names lie nearest to the mention in its context (TrainX; Wu et al. 2020).

    mention  ``[CLS] left [MS] mention [ME] right [SEP]``       (mentions, tokens) -> (mentions, d)
    concept  ``[CLS] name [ENT] description [SEP]``             (names, tokens) -> (names, d)

The network is in `linnet.retrieve.dense_network`; it is trained on synonyms (SapBERT), on the mentions of documents, or
on these after those (`linnet.retrieve.dense_training`). A concept has one vector, of its preferred name and its
definition, or one for each of its names, of which the nearest counts. Similarity is the normalised dot product; for the
search of names see `linnet.index` and the option ``index``.

Nothing here imports torch before a network is needed, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeInt, PositiveInt

from linnet.data import Candidates, Document
from linnet.errors import RecipeError
from linnet.frozen import FrozenDict
from linnet.kb import KnowledgeBase, Mask
from linnet.pipeline import Allow
from linnet.pipeline.aliases import Aliases
from linnet.pipeline.learner import TrainingStage
from linnet.retrieve.name_searcher import NameSearcher, with_margins
from linnet.retrieve.queries import ContextRetriever
from linnet.text.contexts import InContext
from linnet.text.templates import Templates
from linnet.train.args import PartArgs

if TYPE_CHECKING:
    from linnet.retrieve.dense_graph import GraphBiEncoder
    from linnet.retrieve.dense_network import BiEncoder

__all__ = ["ALIGN", "FINETUNE", "AlignArgs", "Dense", "DenseArgs"]

Floats = npt.NDArray[np.float32]

FEWEST_TOKENS = 8
ALIGN: Literal["align"] = "align"  # the stages
FINETUNE: Literal["finetune"] = "finetune"
PUBLISHED = {"epochs": 1, "batch": 512, "lr": 2e-5, "schedule": "constant"}  # the loop's arguments for SapBERT
Positive = Annotated[float, Field(ge=1e-4, le=1e4)]


# --- what its training is told ----------------------------------------------------------------------------------------


class StageArgs(PartArgs):
    """What both stages have in common: the field that names them."""

    SOURCE: ClassVar[str] = "dense"

    stage: Literal["align", "finetune"] = FINETUNE


class DenseArgs(StageArgs):
    """What the training of a bi-encoder is told beside `linnet.train.args.TrainArgs`.

    Args:
        similarity: ``dot`` product as published, or ``cosine``.
        temperature: similarities are divided by it.
        positive: which name of the right concept is the positive: the ``nearest`` so far, a ``random`` one, or the
            ``preferred`` one as published.
        mined: hard negatives a mention, from what the network itself ranks first, mined anew each epoch.
        lexical: negatives a mention from the candidates that the pipeline before gives.
        random: negatives a mention drawn from all concepts.
        distill_k: candidates a mention of the pipeline before, whose scores as shares the network learns as well
            (Hinton et al. 2015): behind a slower ranker, its opinion. They are negatives too.
        only_above: hard negatives are only taken from above the right concept.
        spare_descendants: narrower concepts than the right one are no negatives.
        max_duplicates: mentions an epoch of the same words with the same concepts, drawn anew each epoch; 0 = all.
        max_mentions_per_epoch: mentions an epoch at most, drawn anew each epoch; 0 = all.
        synonyms: pairs of synonyms of the knowledge base, for each mention: 1 = as many.
        freeze_embeddings: leave the embeddings of tokens as they are before training, markers included.
        encode_batch: texts that are encoded at once; a batch of any size needs memory for so many alone (0 = all).
    """

    similarity: Literal["cosine", "dot"] = "cosine"
    temperature: Positive = 0.05
    positive: Literal["nearest", "random", "preferred"] = "nearest"
    mined: NonNegativeInt = 1
    lexical: NonNegativeInt = 0
    random: NonNegativeInt = 0
    distill_k: NonNegativeInt = 0
    only_above: bool = False
    spare_descendants: bool = False
    max_duplicates: NonNegativeInt = 0
    max_mentions_per_epoch: NonNegativeInt = 0
    synonyms: float = Field(default=0.0, ge=0, le=1e4)
    freeze_embeddings: bool = False
    encode_batch: NonNegativeInt = 0


class AlignArgs(StageArgs):
    """What self-alignment (SapBERT, `linnet.retrieve.dense_training`) is told beside `linnet.train.args.TrainArgs`.

    Defaults are those of SapBERT (Liu et al. 2021), for what the loop is told as well: one epoch, 512 pairs a batch, lr
    2e-5, constant.

    Args:
        margin: a triplet counts whose negative is not farther from the anchor than its positive by more than this,
            a difference of distances between vectors of length 1; 2 = all triplets count.
        alpha: sharpness of the loss for synonyms.
        beta: sharpness of the loss for names of different concepts.
        base: the cosine that both are compared with.
        pairs: of synonyms an epoch and concept, drawn anew each epoch, at most.
        tokens: word pieces of a name, special tokens included; the rest is cut off.
        relatives: parents, children and siblings of a concept whose pairs come in the same batch as one of its own, as
            negatives that are hard to tell apart; ``batch`` counts all of these as one.
        kinship: by how much nearer than strangers the names of parents and children may be, a difference of cosines.
        definitions: the definition of a concept is one of its names.
        encode_batch: texts that are encoded at once; a batch of any size needs memory for so many alone (0 = all).
        half: round the weights to two bytes a number in the end, which halves the file.
    """

    LOOP: ClassVar[Mapping[str, Any]] = MappingProxyType(PUBLISHED)

    margin: float = Field(default=0.2, ge=-2, le=2)
    alpha: Positive = 2.0
    beta: Positive = 50.0
    base: float = Field(default=0.5, ge=-1, le=1)
    pairs: PositiveInt = 50
    tokens: int = Field(default=25, ge=3)
    relatives: NonNegativeInt = 0
    kinship: float = Field(default=0.0, ge=0, le=1)
    definitions: bool = False
    encode_batch: NonNegativeInt = 0
    half: bool = False


# --- the component ----------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Dense(NameSearcher[Any], ContextRetriever):
    """Candidates are the concepts whose vectors are nearest to the mention's.

    Args:
        kb: the knowledge base.
        k: how many candidates at most.
        encoder: ``minilm``, which needs no download, a folder, or the name of a Hugging Face model on this machine.
        shared: one encoder for mentions and names; else two, which training takes apart.
        pooling: the vector of a mention: ``cls``, ``mean`` of all tokens, ``span``, the mean of the mention's own,
            ``ends``, a linear layer over its first and last, or ``markers``, the mean of [MS] and [ME].
        name_pooling: the vector of a name, where ``span`` is the mean of the name's own tokens.
        names: a vector for ``all`` names of a concept, of which the nearest counts, or for the ``preferred`` one.
        definitions: put the definition behind a preferred name, as far as the window reaches.
        markers: [MS] and [ME] around mentions, [ENT] before definitions.
        context: mentions are read with the text around them; else alone, and those of the same text are encoded once.
        tokens: word pieces of a mention with its context; the context is centred on the mention. Of a mention that is
            longer, beginning and end are compared, and a warning says of how many.
        name_tokens: word pieces of a name with its definition.
        long_forms: abbreviations that the document defines are written out.
        aliases: surfaces of training mentions are names too; they have the name row -1.
        backend: what runs the encoders once they are trained: ``torch``, or ``onnx``, ONNX Runtime with weights of a
            byte each (extra ``onnx``), which is faster on many processors, a little less exact, and needs no PyTorch.
        index: how names are searched: ``flat`` compares all, ``hnsw`` follows a graph, ``ivf`` looks into cells;
            ``auto`` takes flat up to 500,000 names, hnsw up to 5 million.

    Scores are cosines. ``signals["margin"]`` of a mention is by how much the first candidate's exceeds the second's,
    the confidence that TrainX samples by.
    """

    kb: KnowledgeBase
    k: int = 64
    encoder: str = "minilm"
    shared: bool = True
    pooling: Literal["cls", "mean", "span", "ends", "markers"] = "span"
    name_pooling: Literal["cls", "mean", "span"] = "span"
    names: Literal["all", "preferred"] = "all"
    definitions: bool = False
    markers: bool = True
    context: bool = True
    tokens: int = 50
    name_tokens: int = 50
    long_forms: bool = True
    aliases: bool = True
    backend: Literal["torch", "onnx"] = "torch"
    index: Literal["auto", "flat", "hnsw", "ivf"] = "auto"
    learned: Aliases = field(default_factory=Aliases.none, init=False, repr=False, compare=False)

    TRAINING = "linnet.retrieve.dense_training"
    STAGES = FrozenDict({ALIGN: TrainingStage(AlignArgs, documents=False), FINETUNE: TrainingStage(DenseArgs)})
    LEARNED = frozenset({"encoder", "shared", "pooling", "name_pooling", "markers", "context"})

    def __post_init__(self) -> None:
        problems = [] if self.k >= 1 else [f"k: {self.k} must be at least 1"]
        for name in ("tokens", "name_tokens"):
            value = getattr(self, name)
            problems += [] if value >= FEWEST_TOKENS else [f"{name}: {value} must be at least {FEWEST_TOKENS}"]
        if self.pooling == "markers" and not self.markers:
            problems.append("pooling: 'markers' needs markers")
        if self.definitions and self.names == "all":
            problems.append("definitions: stand behind preferred names alone; set names to 'preferred'")
        if problems:
            raise RecipeError("dense", problems)

    # --- vectors -----------------------------------------------------------------------------------------------------

    def read_network(self, folder: Path | None) -> BiEncoder | GraphBiEncoder:
        """Return the network of a folder, else one around the pre-trained encoder."""
        if (graphs := self.graphs) is not None:
            from linnet.retrieve.dense_graph import GraphBiEncoder  # noqa: PLC0415 - needs the extra onnx

            graph = GraphBiEncoder.load(graphs, pooling=self.pooling, name_pooling=self.name_pooling)
            self._check_tokens(min(graph.mention.window, graph.entity.window))
            return graph
        network = self._read_torch(folder)
        learns = bool(self.stage) and self.folder is None
        return network.as_graph() if self.backend == "onnx" and not learns else network

    def write_network(self, folder: Path) -> None:
        """Save the network, or, where nothing was learned, the pre-trained encoder that it was made of."""
        network: Any = self.network
        (self._read_torch(None) if network.is_graph else network).save(folder)

    def _read_torch(self, folder: Path | None) -> BiEncoder:
        from linnet.nn.device import choose_device  # noqa: PLC0415 - imports torch
        from linnet.retrieve.dense_network import BiEncoder  # noqa: PLC0415 - imports torch

        pools: dict[str, Any] = {"pooling": self.pooling, "name_pooling": self.name_pooling}
        if folder is not None:
            module = BiEncoder.load(folder, **pools)
        else:
            module = BiEncoder.of(self.encoder, shared=self.shared, **pools)
        self._check_tokens(min(module.mention.window, module.entity.window))
        return module.to(choose_device()).eval()

    def _check_tokens(self, window: int) -> None:
        if max(self.tokens, self.name_tokens) > window:
            problem = f"tokens, name_tokens: {self.tokens} and {self.name_tokens} must be at most {window}"
            raise RecipeError("dense", [f"{problem}, which is what the encoder {self.encoder!r} reads"])

    @property
    def templates(self) -> Templates:
        """How texts become tokens, a `linnet.text.templates.Templates`."""
        return Templates(tokens=self.tokens, name_tokens=self.name_tokens, markers=self.markers)

    def encode_mentions(self, mentions: Sequence[InContext]) -> Floats:
        """Return the vectors of mentions in their contexts, float32 (mentions, d) of length 1.

        Equal ones are encoded once.
        """
        module = self.network
        places = {mention: place for place, mention in enumerate(dict.fromkeys(mentions))}
        texts, cut = self.templates.mentions(list(places), module.mention)
        self.warn_of_cut(cut, "mentions", self.tokens)
        vectors: Floats = module.encode_mentions(texts)
        return vectors[[places[mention] for mention in mentions]]

    # --- looking up --------------------------------------------------------------------------------------------------

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return `docs` with candidates, and the margin of the first before the second among the signals."""
        return [with_margins(doc) for doc in super().__call__(docs, allow=allow)]

    def find(self, mentions: Sequence[InContext], masks: Sequence[Mask | None]) -> list[Candidates]:
        """Return the concepts nearest to mentions, each among the rows of its mask (None = all)."""
        return self.search(self.encode_mentions(mentions), self.k, masks)
