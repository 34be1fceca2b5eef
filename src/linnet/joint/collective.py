"""A whole document in one pass: its mentions are found and linked together (Bhowmik, Stratos and de Melo 2021).

    document  ``[CLS] pieces [SEP]``   one pass      -> a vector for each mention, a score for each span
    name      ``[CLS] name [SEP]``     encoded once  -> (names, d), searched by `linnet.index`

The network is in `linnet.joint.collective_network`, its training in `linnet.joint.collective_training`. A document that
is longer than the encoder's window is read in windows that overlap. The cost of a mention is a mean of vectors and a
search, whatever their number.

Nothing here imports torch before a network is needed, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeInt

from linnet.data import Candidates, Document, Mention, Span
from linnet.errors import PipelineError, RecipeError
from linnet.joint.reading import NEUTRAL, JointNetwork, NegativesArgs, masks_of, mention_at, portions, with_lists
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow
from linnet.pipeline.aliases import Aliases
from linnet.text.short_forms import ShortForms
from linnet.text.words import stretch_of

if TYPE_CHECKING:
    from torch import Tensor

    from linnet.joint.collective_network import CollectiveNetwork
    from linnet.joint.dev_score import Found
    from linnet.nn.windows import Text, Window

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
class Collective(JointNetwork["CollectiveNetwork"]):
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
    learned: Aliases = field(default_factory=Aliases.none, init=False, repr=False, compare=False)
    marks: tuple[str, ...] = field(default=(), init=False, repr=False, compare=False)  # of dictionary matches, in order
    find: bool = field(default=True, init=False, repr=False, compare=False)
    curve: tuple[float, float] = field(default=NEUTRAL, init=False)
    cutoff: float = field(default=0.0, init=False)  # log odds, the best on dev

    TRAINING = "linnet.joint.collective_training"
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

    def read_network(self, folder: Path | None) -> CollectiveNetwork:
        """Return the network of a folder, else one around the pre-trained encoder."""
        from linnet.joint.collective_network import CollectiveNetwork  # noqa: PLC0415 - imports torch
        from linnet.nn.device import choose_device  # noqa: PLC0415 - imports torch
        from linnet.nn.encoder import Encoder  # noqa: PLC0415 - imports torch

        reads, names = self.encoders(folder)
        mention = Encoder.load(reads)
        entity = mention if self.shared else Encoder.load(names)
        pools: dict[str, Any] = {"pooling": self.pooling, "name_pooling": self.name_pooling}
        network = CollectiveNetwork(mention, entity, finds=self.find, features=len(self.marks), **pools)
        if max(self.window, self.name_tokens) > (window := min(mention.window, entity.window)):
            problem = f"window, name_tokens: {self.window} and {self.name_tokens} must be at most {window}"
            raise RecipeError("collective", [f"{problem}, which is what the encoder {self.encoder!r} reads"])
        if folder is not None:
            network.restore(folder)
        return network.to(choose_device()).eval()

    # --- reading -----------------------------------------------------------------------------------------------------

    def windows(self, text: Text) -> list[Window]:
        """Return the windows that a text is read in."""
        from linnet.nn.windows import windows  # noqa: PLC0415 - imports torch

        size = (self.window or self.reads.window) - 2  # start and end of a sequence
        return windows(text, size, min(OVERLAP, size // 4))

    def hidden(self, texts: Sequence[Text]) -> list[Tensor]:
        """Return the vectors of the word pieces of texts, each (pieces, d)."""
        from linnet.joint.collective_network import read_documents  # noqa: PLC0415 - imports torch

        return read_documents(self.network, texts, [self.windows(text) for text in texts])

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

    def vectors(self, hidden: Tensor, mentions: Sequence[Pieces]) -> Floats:
        """Return the vectors of mentions of one text, float32 (mentions, d) of length 1; 0 for one without pieces."""
        import torch  # noqa: PLC0415 - slow to import

        from linnet.joint.collective_network import Places, pool  # noqa: PLC0415 - imports torch

        device = self.network.device
        with torch.inference_mode():
            places = Places(*(each.to(device) for each in Places.of(mentions)))
            found = pool(self.network, hidden.to(device), places, len(mentions))
            normal: Floats = torch.nn.functional.normalize(found, dim=1).cpu().numpy()
        return normal

    def spans(self, texts: Sequence[Text], hidden: Sequence[Tensor]) -> list[list[Found]]:
        """Return the mentions of texts, probable or not, best first; of overlapping ones as `overlaps` says."""
        from linnet.joint.collective_network import find_chunks, find_spans  # noqa: PLC0415 - imports torch

        if self.mode == "bio":
            return find_chunks(self.network, texts, hidden)
        return [
            find_spans(self.network, text, own, self.widest, self.overlaps)
            for text, own in zip(texts, hidden, strict=True)
        ]

    # --- answering ---------------------------------------------------------------------------------------------------

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:
        """Return the mentions of each document, in reading order, with candidates.

        Raises:
            PipelineError: nothing has been learned, or the mode is ``gold``.
        """
        self.require_trained()
        if not self.find:
            raise PipelineError("collective: in mode 'gold' it finds no mentions; put it behind what does")
        found: list[list[Mention]] = []
        for some in portions(docs):
            texts = self.read(some)
            hidden = self.hidden(texts)
            for doc, text, own, spans in zip(some, texts, hidden, self.spans(texts, hidden), strict=True):
                mentions = [one for each in sorted(spans) if (one := self._mention(doc.id, text, each)) is not None]
                lists = self._candidates(doc, text, own, mentions, allow)
                found.append(with_lists(mentions, lists))
        return found

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        """Return candidates for each mention that the documents hold."""
        self.require_trained()
        found = []
        for some in portions(docs):
            texts = self.read(some)
            for doc, text, own in zip(some, texts, self.hidden(texts), strict=True):
                found.append(self._candidates(doc, text, own, doc.mentions or (), allow))
        return found

    def _mention(self, document: str, text: Text, found: Found) -> Mention | None:
        probability = self.probability(found.odds)
        if self.threshold is not None:
            left_out = probability < self.threshold
        else:  # the best labels are mentions, whatever their odds
            left_out = self.mode == "spans" and found.odds < self.cutoff
        return None if left_out else mention_at(document, text, (found.first, found.last), probability)

    def _candidates(
        self, doc: Document, text: Text, hidden: Tensor, mentions: Sequence[Mention], allow: Allow | None
    ) -> list[Candidates]:
        pieces = self.pieces(doc, text, [mention.spans for mention in mentions])
        vectors = self.vectors(hidden, pieces)
        found = self.search(vectors, self.k, masks_of(self, mentions, allow)) if mentions else []
        nothing = Candidates.none(self.kb.version)  # for a mention of control characters, say
        return [
            one if any(end > start for start, end in own) else nothing for one, own in zip(found, pieces, strict=True)
        ]

    # --- learning ----------------------------------------------------------------------------------------------------

    @classmethod
    def check(cls, args: Mapping[str, Any]) -> None:
        """Refuse wrong arguments of `fit` before anything is trained.

        Raises:
            RecipeError: all that is wrong with them.
        """
        CollectiveArgs.split(args)

    def begin(self) -> None:
        """Forget what was learned beside the network."""
        super().begin()
        self.cutoff = 0.0

    def learned_values(self) -> dict[str, Any]:
        """Return its features, and what it learned of probabilities."""
        return {**super().learned_values(), "cutoff": self.cutoff}

    def restore_values(self, values: Mapping[str, Any]) -> None:
        """Take what `learned_values` gave."""
        super().restore_values(values)
        self.cutoff = float(values["cutoff"])
        if not np.isfinite(self.cutoff):
            raise ValueError(f"the cutoff {self.cutoff} is no finite number")
