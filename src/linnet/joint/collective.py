"""A whole document in one pass: its mentions are found and linked together (Bhowmik, Stratos and de Melo 2021).

    document  ``[CLS] pieces [SEP]``   one pass      -> a vector for each mention, a score for each span
    name      ``[CLS] name [SEP]``     encoded once  -> (names, d), searched by `linnet.index`

The network is in `linnet.joint.collective_network`, its training in `linnet.joint.collective_training`. A document that
is longer than the encoder's window is read in windows that overlap. The cost of a mention is a mean of vectors and a
search, whatever their number.

Nothing here imports torch before a network is needed, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeInt

from linnet.data import Document, Span
from linnet.errors import RecipeError
from linnet.joint.reading import NEUTRAL, Found, JointNetwork, NegativesArgs
from linnet.kb import KnowledgeBase
from linnet.pipeline.aliases import Aliases
from linnet.text.short_forms import ShortForms
from linnet.text.windows import Text, Window, windows
from linnet.text.words import stretch_of

if TYPE_CHECKING:
    from linnet.joint.collective_graph import GraphCollective
    from linnet.joint.collective_network import CollectiveNetwork

__all__ = ["Collective", "CollectiveArgs", "Pieces"]

Floats = npt.NDArray[np.float32]
Pieces = list[tuple[int, int]]  # stretches [start, end) of word pieces that a mention is made of

FEWEST_TOKENS = 8
NARROWEST = 16  # word pieces of a window
OVERLAP = 128  # word pieces that two windows share, at most a quarter of one
Positive = Annotated[float, Field(ge=1e-4, le=1e4)]


class CollectiveArgs(NegativesArgs):
    """What the training of a collective dual encoder is told beside `linnet.train.args.TrainArgs`.

    Args:
        similarity: ``dot`` product as published, or ``cosine``.
        temperature: similarities are divided by it.
        in_batch: the names of all mentions of a batch are negatives; else a mention's own ones alone, as published.
        distinct: mentions of a document that say the same and mean the same have one set of negatives, and count once.
        detection_weight: of the loss of finding mentions beside that of linking them.
        dropout: share of numbers of the vectors of word pieces that are forgotten in training.
        head_lr_multiplier: how many times the learning rate of the encoder the layers around it have, which begin with
            nothing.
        encode_batch: names that are encoded at once; a batch of any size needs memory for so many alone (0 = all).
    """

    SOURCE: ClassVar[str] = "collective"

    similarity: Literal["cosine", "dot"] = "cosine"
    temperature: Positive = 0.05
    in_batch: bool = True
    distinct: bool = True
    detection_weight: float = Field(default=1.0, ge=0, le=100)
    dropout: float = Field(default=0.1, ge=0, le=0.9)
    head_lr_multiplier: float = Field(default=10.0, ge=0, le=1000)
    encode_batch: NonNegativeInt = 0


@dataclass(kw_only=True)
class Collective(JointNetwork[Any]):
    """Finds the mentions of a document and their concepts in one pass; must be trained.

    Args:
        kb: the knowledge base.
        k: how many candidates at most.
        mode: ``spans``, every span of up to `widest` words is scored; ``bio``, every word gets a label; ``gold``, given
            mentions are linked, and none is looked for.
        encoder: ``minilm``, which needs no download, a folder, the name of a Hugging Face model on this machine, or the
            folder of a trained ``dense`` or ``tagger``, with whose encoder training begins.
        shared: one encoder for documents and names; else two, which training takes apart.
        pooling: the vector of a mention: the ``mean`` of its word pieces, or its ``ends``, a linear layer over the
            first and last.
        name_pooling: of a name: ``cls`` as published, or the mean of its own tokens, ``span``.
        names: a vector for ``all`` names of a concept, of which the nearest counts, or for the ``preferred`` one.
        name_tokens: word pieces of a name.
        widest: words of the longest mention that ``spans`` looks for.
        overlaps: of mentions found, ``nested`` ones may lie inside others or overlap; of ``flat`` ones the most
            probable is kept where they do.
        threshold: mentions less probable are left out; None = the best on dev, learned in training.
        dictionary: words of names of the knowledge base are marked as such for the network, where mentions are looked
            for.
        window: word pieces that are read at once; 0 = as many as the encoder reads.
        long_forms: abbreviations that the document defines are read where they are written out, too.
        aliases: surfaces of training mentions are names too; they have the name row -1.
        index: how names are searched, as of ``dense``.
        backend: what runs the encoders once they are trained: ``torch``, or ``onnx``, ONNX Runtime with a byte a number
            (extra ``onnx``), which needs no PyTorch.

    Scores are cosines. ``signals["detect"]`` is how probable the mention is, calibrated on dev (Platt 1999).
    """

    kb: KnowledgeBase
    k: int = 64
    mode: Literal["gold", "spans", "bio"] = "spans"
    encoder: str = "minilm"
    shared: bool = True
    pooling: Literal["mean", "ends"] = "mean"
    name_pooling: Literal["cls", "mean", "span"] = "span"
    names: Literal["all", "preferred"] = "all"
    name_tokens: int = 50
    widest: int = 10
    overlaps: Literal["flat", "nested"] = "flat"
    threshold: float | None = None
    dictionary: bool = True
    window: int = 0
    long_forms: bool = True
    aliases: bool = True
    index: Literal["auto", "flat", "hnsw", "ivf"] = "auto"
    backend: Literal["torch", "onnx"] = "torch"
    learned: Aliases = field(default_factory=Aliases.none, init=False, repr=False, compare=False)
    marks: tuple[str, ...] = field(default=(), init=False, repr=False, compare=False)  # of dictionary matches, in order
    find: bool = field(default=True, init=False, repr=False, compare=False)
    curve: tuple[float, float] = field(default=NEUTRAL, init=False)
    cutoff: float = field(default=0.0, init=False)  # log odds, the best on dev

    TRAINING = "linnet.joint.collective_training"
    ARGS = CollectiveArgs
    LEARNED = frozenset({"encoder", "shared", "mode", "pooling", "name_pooling", "dictionary", "long_forms"})

    def __post_init__(self) -> None:
        self.find = self.mode != "gold"
        problems = [
            f"{name}: {value} must be at least {least}"
            for name, value, least in (
                ("k", self.k, 1), ("name_tokens", self.name_tokens, FEWEST_TOKENS), ("widest", self.widest, 1),
            )
            if value < least
        ]  # fmt: skip
        if 0 != self.window < NARROWEST:
            problems.append(f"window: {self.window} must be 0, or {NARROWEST} at least")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            problems.append(f"threshold: {self.threshold} must be from 0 to 1")
        if problems:
            raise RecipeError("collective", problems)

    @property
    def needs(self) -> frozenset[str]:
        """What `JointNetwork` needs, and abbreviations if they are read."""
        return super().needs | (frozenset({"abbreviations"}) if self.long_forms else frozenset())

    # --- network -----------------------------------------------------------------------------------------------------

    def read_network(self, folder: Path | None) -> CollectiveNetwork | GraphCollective:
        """Return the network of a folder, else one around the pre-trained encoder."""
        if (graphs := self.graphs) is not None:
            from linnet.joint.collective_graph import GraphCollective  # noqa: PLC0415 - needs the extra onnx

            options: dict[str, Any] = {"ends": self.pooling == "ends", "finds": self.find, "features": len(self.marks)}
            graph = GraphCollective.load(graphs, name_pooling=self.name_pooling, **options)
            self._check_window(min(graph.mention.window, graph.entity.window))
            return graph
        network = self._read_torch(folder)
        return network.as_graph() if self.backend == "onnx" and self.folder is not None else network

    def _read_torch(self, folder: Path | None) -> CollectiveNetwork:
        from linnet.joint.collective_network import CollectiveNetwork  # noqa: PLC0415 - imports torch
        from linnet.nn.device import choose_device  # noqa: PLC0415 - imports torch
        from linnet.nn.encoder import Encoder  # noqa: PLC0415 - imports torch

        reads, names = self.encoders(folder)
        mention = Encoder.load(reads)
        entity = mention if self.shared else Encoder.load(names)
        pools: dict[str, Any] = {"pooling": self.pooling, "name_pooling": self.name_pooling}
        network = CollectiveNetwork(mention, entity, finds=self.find, features=len(self.marks), **pools)
        self._check_window(min(mention.window, entity.window))
        if folder is not None:
            network.restore(folder)
        return network.to(choose_device()).eval()

    def _check_window(self, window: int) -> None:
        if max(self.window, self.name_tokens) > window:
            problem = f"window, name_tokens: {self.window} and {self.name_tokens} must be at most {window}"
            raise RecipeError("collective", [f"{problem}, which is what the encoder {self.encoder!r} reads"])

    # --- reading -----------------------------------------------------------------------------------------------------

    def windows(self, text: Text) -> list[Window]:
        """Return the windows that a text is read in."""
        size = (self.window or self.reads.window) - 2  # start and end of a sequence
        return windows(text, size, min(OVERLAP, size // 4))

    def hidden(self, texts: Sequence[Text]) -> list[Any]:
        """Return the vectors of the word pieces of texts, each (pieces, d), tensors if PyTorch runs the network."""
        windows = [self.windows(text) for text in texts]
        if self._by_graph:
            return self.network.read_documents(texts, windows)  # type: ignore[no-any-return]
        from linnet.joint.collective_network import read_documents  # noqa: PLC0415 - imports torch

        return list(read_documents(self.network, texts, windows))

    @property
    def _by_graph(self) -> bool:
        return self.network.is_graph  # type: ignore[no-any-return]

    def pieces(self, doc: Document, text: Text, mentions: Sequence[Sequence[Span]]) -> list[Pieces]:
        """Return the word pieces that mentions, given as their parts, are made of.

        An abbreviation has those of its long form in front of its own, or in their place where ends count.
        """
        forms = ShortForms.of(doc) if self.long_forms else None
        written = {doc.text[slice(*pair.long)]: pair.long for pair in doc.abbreviations or ()} if forms else {}
        borders = [sentence.start for sentence in doc.sentences or ()]
        made = []
        for parts in mentions:
            long = None
            if forms and len(parts) == 1:
                long = written.get(forms.meaning(doc.text, *parts[0], borders=borders) or "")
            spans = [] if long is None else [long]
            if long is None or self.pooling == "mean":
                spans += parts
            made.append([stretch_of(text.words, text.owners, span) for span in spans])
        return made

    def read_documents(self, docs: Sequence[Document], texts: Sequence[Text], *, find: bool) -> list[Any]:  # noqa: ARG002
        """Return the vectors of the word pieces of documents, each (pieces, d)."""
        return self.hidden(texts)

    def mention_vectors(self, doc: Document, text: Text, said: Any, mentions: Sequence[Sequence[Span]]) -> Floats:
        """Return the vectors of mentions, given as their parts, float32 (mentions, d) of length 1."""
        return self.vectors(said, self.pieces(doc, text, mentions))

    def vectors(self, hidden: Any, mentions: Sequence[Pieces]) -> Floats:
        """Return the vectors of mentions of one text, float32 (mentions, d) of length 1; 0 for one without pieces."""
        if self._by_graph:
            return self.network.vectors(hidden, mentions)  # type: ignore[no-any-return]
        import torch  # noqa: PLC0415 - slow to import

        from linnet.joint.collective_network import Places, pool  # noqa: PLC0415 - imports torch

        device = self.network.device
        with torch.inference_mode():
            places = Places(*(each.to(device) for each in Places.of(mentions)))
            found = pool(self.network, hidden.to(device), places, len(mentions))
            normal: Floats = torch.nn.functional.normalize(found, dim=1).cpu().numpy()
        return normal

    def find_mentions(self, texts: Sequence[Text], said: Sequence[Any]) -> list[list[Found]]:
        """Return the mentions of texts, probable or not; of overlapping ones as `overlaps` says."""
        if self._by_graph:
            return self._find_by_graph(texts, said)
        from linnet.joint.collective_network import find_chunks, find_spans  # noqa: PLC0415 - imports torch

        if self.mode == "bio":
            return find_chunks(self.network, texts, said)
        return [
            find_spans(self.network, text, own, self.widest, self.overlaps)
            for text, own in zip(texts, said, strict=True)
        ]

    def _find_by_graph(self, texts: Sequence[Text], said: Sequence[Floats]) -> list[list[Found]]:
        network: GraphCollective = self.network
        if self.mode == "bio":
            return network.find_chunks(texts, said)
        pairs = zip(texts, said, strict=True)
        return [network.find_spans(text, own, self.widest, self.overlaps) for text, own in pairs]

    # --- learning ----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Forget what was learned beside the network."""
        super().begin()
        self.cutoff = 0.0 if self.mode == "spans" else -np.inf  # the best labels are mentions, whatever their odds
