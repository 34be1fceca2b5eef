"""A whole document in one pass: its mentions are found and linked together (Bhowmik, Stratos and de Melo 2021).

    document  ``[CLS] pieces [SEP]``   one pass      -> a vector for each mention, a score for each span
    name      ``[CLS] name [SEP]``     encoded once  -> (names, d), searched by `linnet.index`

The network is in `linnet.joint.collective_network`, its training in `linnet.joint.collective_training`. A document that
is longer than the encoder's window is read in windows that overlap. The cost of a mention is a mean of vectors and a
search, whatever their number.

Nothing here imports torch before a network is needed, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeInt

from linnet.data import Candidates, Document, Mention, Span, mention_id
from linnet.detect.dictionary import Dictionary
from linnet.errors import PipelineError, RecipeError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Joint, Pipeline
from linnet.pipeline.aliases import Aliases
from linnet.pipeline.learner import made_once
from linnet.retrieve.name_searcher import NameSearcher, with_margins
from linnet.text.short_forms import ShortForms
from linnet.text.words import KINDS, stretch_of
from linnet.train.args import PartArgs

if TYPE_CHECKING:
    from torch import Tensor

    from linnet.joint.collective_network import CollectiveNetwork, Found
    from linnet.nn.windows import Text, Window

__all__ = ["Collective", "CollectiveArgs", "Pieces"]

Floats = npt.NDArray[np.float32]
Pieces = list[tuple[int, int]]  # stretches [start, end) of word pieces that a mention is made of

FEWEST_TOKENS = 8
NARROWEST = 16  # word pieces of a window
OVERLAP = 128  # word pieces that two windows share, at most a quarter of one
AT_ONCE = 200_000  # characters of documents whose vectors are held at the same time
NEUTRAL = (1.0, 0.0)  # slope and shift that leave log odds as they are
Positive = Annotated[float, Field(ge=1e-4, le=1e4)]


class CollectiveArgs(PartArgs):
    """What the training of a collective dual encoder is told beside `linnet.train.args.TrainArgs`.

    Args:
        similarity: ``dot`` product as published, or ``cosine``.
        temperature: similarities are divided by it.
        positive: which name of the right concept is the positive: the ``nearest`` so far, a ``random`` one, or the
            ``preferred`` one as published.
        mined: hard negatives a mention, from what the network itself ranks first, mined anew each epoch.
        random: negatives a mention drawn from all concepts.
        only_above: hard negatives are only taken from above the right concept, as published.
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
    positive: Literal["nearest", "random", "preferred"] = "nearest"
    mined: NonNegativeInt = 3
    random: NonNegativeInt = 0
    only_above: bool = False
    in_batch: bool = True
    distinct: bool = True
    detection_weight: float = Field(default=1.0, ge=0, le=100)
    dropout: float = Field(default=0.1, ge=0, le=0.9)
    head_lr_multiplier: float = Field(default=10.0, ge=0, le=1000)
    encode_batch: NonNegativeInt = 0


@dataclass(kw_only=True)
class Collective(NameSearcher["CollectiveNetwork"], Joint):
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
    KEPT = frozenset({"network", "_tokens"})
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
        """Mentions where none are looked for, abbreviations if they are read, and what the dictionary needs."""
        own = super().needs | (frozenset({"abbreviations"}) if self.long_forms else frozenset())
        return own | self._names.needs if self._asks_dictionary else own

    @property
    def _asks_dictionary(self) -> bool:
        return self.find and self.dictionary

    @made_once
    def _names(self) -> Dictionary:
        return Dictionary(kb=self.kb)

    @property
    def index_files(self) -> list[Path]:
        """The vectors of names beside the knowledge base, and the table of names, if the dictionary is asked."""
        return [*super().index_files, *(self._names.index_files if self._asks_dictionary else [])]

    # --- network -----------------------------------------------------------------------------------------------------

    def read_network(self, folder: Path | None) -> CollectiveNetwork:
        """Return the network of a folder, else one around the pre-trained encoder."""
        from linnet.joint.collective_network import CollectiveNetwork  # noqa: PLC0415 - imports torch
        from linnet.nn.device import choose_device  # noqa: PLC0415 - imports torch
        from linnet.nn.encoder import Encoder  # noqa: PLC0415 - imports torch

        reads, names = self._encoders(folder)
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

    def _encoders(self, folder: Path | None) -> tuple[str | Path, str | Path]:
        """Return what the encoders of documents and of names are read from."""
        begin = Path(self.encoder) if folder is None else folder
        for inside in ("mention", "model/mention", "model/model-0"):
            if (begin / inside).is_dir():
                entity = (begin / inside).with_name("entity")
                return begin / inside, entity if entity.is_dir() else begin / inside
        return self.encoder, self.encoder

    @made_once
    def _tokens(self) -> Any:
        from linnet.nn.encoder import Encoder  # noqa: PLC0415 - imports torch

        return Encoder.load(self._encoders(self.folder)[0])

    @property
    def _reading(self) -> Any:
        made = self.made.get("network")
        return made.mention if made is not None else self._tokens

    # --- reading -----------------------------------------------------------------------------------------------------

    def read(self, docs: Sequence[Document]) -> list[Text]:
        """Return documents as words and word pieces, with what the dictionary says of them."""
        from linnet.nn.windows import read  # noqa: PLC0415 - imports torch

        known = None
        if self._asks_dictionary:
            asked = list(docs)
            for part in Pipeline(self._names).front:
                asked = part(asked)
            known = self._names.detect(asked)
        return read(docs, self._reading, known=known, features={name: place for place, name in enumerate(self.marks)})

    def windows(self, text: Text) -> list[Window]:
        """Return the windows that a text is read in."""
        from linnet.nn.windows import windows  # noqa: PLC0415 - imports torch

        size = (self.window or self._reading.window) - 2  # start and end of a sequence
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

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return `docs` with mentions, candidates, and the margin of the first before the second among the signals."""
        return [with_margins(doc) for doc in super().__call__(docs, allow=allow)]

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:
        """Return the mentions of each document, in reading order, with candidates.

        Raises:
            PipelineError: nothing has been learned, or the mode is ``gold``.
        """
        self.require_trained()
        if not self.find:
            raise PipelineError("collective: in mode 'gold' it finds no mentions; put it behind what does")
        found: list[list[Mention]] = []
        for some in _portions(docs):
            texts = self.read(some)
            hidden = self.hidden(texts)
            for doc, text, own, spans in zip(some, texts, hidden, self.spans(texts, hidden), strict=True):
                mentions = [one for each in sorted(spans) if (one := self._mention(doc.id, text, each)) is not None]
                lists = self._candidates(doc, text, own, mentions, allow)
                found.append([replace(m, candidates=c) for m, c in zip(mentions, lists, strict=True)])
        return found

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        """Return candidates for each mention that the documents hold."""
        self.require_trained()
        found = []
        for some in _portions(docs):
            texts = self.read(some)
            for doc, text, own in zip(some, texts, self.hidden(texts), strict=True):
                found.append(self._candidates(doc, text, own, doc.mentions or (), allow))
        return found

    def _mention(self, document: str, text: Text, found: Found) -> Mention | None:
        slope, shift = self.curve
        probability = float(1 / (1 + np.exp(-np.clip(slope * found.odds + shift, -30, 30))))
        if self.threshold is not None:
            left_out = probability < self.threshold
        else:  # the best labels are mentions, whatever their odds
            left_out = self.mode == "spans" and found.odds < self.cutoff
        if left_out:
            return None
        span = Span(text.words[found.first].start, text.words[found.last].end)
        return Mention(*span, id=mention_id(document, [span], ()), signals={"detect": probability})

    def _candidates(
        self, doc: Document, text: Text, hidden: Tensor, mentions: Sequence[Mention], allow: Allow | None
    ) -> list[Candidates]:
        pieces = self.pieces(doc, text, [mention.spans for mention in mentions])
        masks = {types: allow.mask(self.kb, types) if allow else None for types in {m.types for m in mentions}}
        vectors = self.vectors(hidden, pieces)
        found = self.search(vectors, self.k, [masks[mention.types] for mention in mentions]) if mentions else []
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
        """Forget what was learned beside the network; say which matches of the dictionary it will know."""
        self.curve, self.cutoff = NEUTRAL, 0.0
        known = sorted(self.kb.types() or ("",)) if self._asks_dictionary else ()
        self.marks = tuple(f"{place}-{kind}" for kind in known for place in KINDS)

    def learned_values(self) -> dict[str, Any]:
        """Return its features, and what it learned of probabilities."""
        return {**super().learned_values(), "marks": self.marks, "curve": self.curve, "cutoff": self.cutoff}

    def restore_values(self, values: Mapping[str, Any]) -> None:
        """Take what `learned_values` gave."""
        super().restore_values(values)
        self.marks = tuple(map(str, values["marks"]))
        slope, shift, cutoff = (*map(float, values["curve"]), float(values["cutoff"]))
        if not np.isfinite([slope, shift, cutoff]).all():
            raise ValueError(f"the curve {values['curve']} or the cutoff {values['cutoff']} is no finite number")
        self.curve, self.cutoff = (slope, shift), cutoff


def _portions(docs: Sequence[Document]) -> Iterator[list[Document]]:
    """Yield documents some at a time, so that the vectors of not too many are held."""
    portion: list[Document] = []
    size = 0
    for doc in docs:
        if portion and size + len(doc.text) > AT_ONCE:
            yield portion
            portion, size = [], 0
        portion.append(doc)
        size += len(doc.text)
    if portion:
        yield portion
