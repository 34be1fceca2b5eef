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

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeInt, PositiveInt

from linnet.data import Candidates, Document, Mention
from linnet.errors import RecipeError
from linnet.frozen import FrozenDict
from linnet.index.flat import Flat, Found
from linnet.index.name_vectors import NameVectorsFile, SearchedNames
from linnet.kb import KbName, KnowledgeBase, Mask
from linnet.pipeline import Allow
from linnet.pipeline.aliases import Aliases
from linnet.pipeline.learner import TrainingStage, made_once
from linnet.reporter import warn
from linnet.retrieve.queries import IndexedRetriever
from linnet.text.contexts import InContext, in_context
from linnet.train.args import PartArgs
from linnet.train.network import MODEL, NetworkComponent

if TYPE_CHECKING:
    from linnet.retrieve.dense_network import BiEncoder

__all__ = ["ALIGN", "FINETUNE", "AlignArgs", "Dense", "DenseArgs"]

Floats = npt.NDArray[np.float32]

NO_NAME = -1  # the name row of an alias
ALIASES = "aliases.jsonl"
VECTORS = "names.vectors"  # in a trained folder
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
        encode_batch: texts that are encoded at once; a batch of any size needs memory for so many alone (0 = all).
    """

    LOOP: ClassVar[Mapping[str, Any]] = MappingProxyType(PUBLISHED)

    margin: float = Field(default=0.2, ge=-2, le=2)
    alpha: Positive = 2.0
    beta: Positive = 50.0
    base: float = Field(default=0.5, ge=-1, le=1)
    pairs: PositiveInt = 50
    tokens: int = Field(default=25, ge=3)
    encode_batch: NonNegativeInt = 0


# --- the component ----------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Dense(NetworkComponent["BiEncoder"], IndexedRetriever):
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
            byte each (extra ``onnx``), which is faster on many processors and a little less exact.
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

    def read_network(self, folder: Path | None) -> BiEncoder:
        """Return the network of a folder, else one around the pre-trained encoder."""
        from linnet.nn.device import choose_device  # noqa: PLC0415 - imports torch
        from linnet.retrieve.dense_network import BiEncoder  # noqa: PLC0415 - imports torch

        pools: dict[str, Any] = {"pooling": self.pooling, "name_pooling": self.name_pooling}
        if folder is not None:
            module = BiEncoder.load(folder, **pools)
        else:
            module = BiEncoder.of(self.encoder, shared=self.shared, **pools)
        if max(self.tokens, self.name_tokens) > (window := min(module.mention.window, module.entity.window)):
            problem = f"tokens, name_tokens: {self.tokens} and {self.name_tokens} must be at most {window}"
            raise RecipeError("dense", [f"{problem}, which is what the encoder {self.encoder!r} reads"])
        if self.backend == "onnx" and not (self.stage and self.folder is None):  # not while it is trained
            return module.with_onnx().eval()
        return module.to(choose_device()).eval()

    @made_once
    def names_index(self) -> SearchedNames:
        """The vectors of all names, opened or made at first use.

        Those of a trained folder stand in it, others beside the knowledge base; they are made where neither holds them
        for these weights, options and version.
        """
        trained = [self.folder.with_name(VECTORS)] if self.folder is not None else []
        return self.names_file.searched(self.index, *trained)

    @property
    def names_file(self) -> NameVectorsFile:
        """The file of the vectors of all names beside the knowledge base, by the network as it is."""
        entity = self.network.entity
        key = {
            "encoder": entity.fingerprint(), "pooling": self.name_pooling, "names": self.names,
            "definitions": self.definitions, "markers": self.markers, "name_tokens": self.name_tokens,
        }  # fmt: skip

        def encode(names: Sequence[KbName]) -> tuple[Floats, int]:
            descriptions = [self.kb[name.concept].definition for name in names] if self.definitions else None
            return self.encode_cut_names([name.text for name in names], descriptions)

        preferred = self.names == "preferred"
        return NameVectorsFile(self.kb, key, encode, size=entity.size, tokens=self.name_tokens, preferred=preferred)

    @made_once
    def alias_vectors(self) -> Floats:
        """The vectors of all aliases, also of those that are left out."""
        return self.encode_names([text for text, _ in self.learned.keys])

    @made_once
    def alias_index(self) -> Flat:
        """The aliases that are not left out, as names."""
        used = np.flatnonzero(self.learned.totals > 0)
        return Flat(self.alias_vectors[used], np.array([row for _, row in self.learned.keys], np.int32)[used])

    @property
    def templates(self) -> Any:
        """How texts become tokens, a `linnet.nn.templates.Templates`."""
        from linnet.nn.templates import Templates  # noqa: PLC0415 - imports torch

        return Templates(tokens=self.tokens, name_tokens=self.name_tokens, markers=self.markers)

    def encode_names(self, names: Sequence[str], descriptions: Sequence[str] | None = None) -> Floats:
        """Return the vectors of names, float32 (names, d) of length 1."""
        vectors, cut = self.encode_cut_names(names, descriptions)
        self.warn_of_cut(cut, "names", self.name_tokens)
        return vectors

    def encode_cut_names(self, names: Sequence[str], descriptions: Sequence[str] | None = None) -> tuple[Floats, int]:
        """Return the vectors of names, and how many names are longer than the window; for many that are told once."""
        from linnet.nn.vectors import encode  # noqa: PLC0415 - imports torch

        module = self.network
        texts, cut = self.templates.names(names, module.entity, descriptions)
        return encode(module.entity, module.name_pool, texts, normalise=True), cut

    def encode_mentions(self, mentions: Sequence[InContext]) -> Floats:
        """Return the vectors of mentions in their contexts, float32 (mentions, d) of length 1.

        Equal ones are encoded once.
        """
        from linnet.nn.vectors import encode  # noqa: PLC0415 - imports torch

        module = self.network
        places = {mention: place for place, mention in enumerate(dict.fromkeys(mentions))}
        texts, cut = self.templates.mentions(list(places), module.mention)
        self.warn_of_cut(cut, "mentions", self.tokens)
        return encode(module.mention, module.pool, texts, normalise=True)[[places[mention] for mention in mentions]]

    def contexts(self, doc: Document) -> list[InContext]:
        """Return the mentions of a document as they are read."""
        return in_context(doc, tokens=self.tokens, long_forms=self.long_forms, context=self.context)

    @staticmethod
    def warn_of_cut(count: int, what: str, tokens: int) -> None:
        """Say how many texts were too long to be compared in full."""
        if count:
            warn(f"{count:,} {what} are longer than {tokens} word pieces: only their ends were compared")

    # --- looking up --------------------------------------------------------------------------------------------------

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return `docs` with candidates, and the margin of the first before the second among the signals."""
        return [
            replace(doc, mentions=tuple(_with_margin(mention) for mention in doc.mentions or ()))
            for doc in super().__call__(docs, allow=allow)
        ]

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        """Return candidates for each mention of each document; equal mentions in equal contexts are looked up once."""
        asked = self._asked(docs, allow)
        wanted = list(dict.fromkeys(key for keys in asked for key in keys))
        masks = {types: allow.mask(self.kb, types) if allow else None for types in dict.fromkeys(t for _, t in wanted)}
        vectors = self.encode_mentions([mention for mention, _ in wanted])
        found = self.search(vectors, self.k, [masks[types] for _, types in wanted])
        known = dict(zip(wanted, found, strict=True))
        return [[known[key] for key in keys] for keys in asked]

    def _asked(self, docs: Sequence[Document], allow: Allow | None) -> list[list[tuple[InContext, tuple[str, ...]]]]:
        """Return what each mention asks for, and its types where these decide what is allowed."""
        asked = []
        for doc in docs:
            kinds = [mention.types if allow else () for mention in doc.mentions or ()]
            asked.append(list(zip(self.contexts(doc), kinds, strict=True)))
        return asked

    def search(self, vectors: Floats, k: int, masks: Sequence[Mask | None] | None = None) -> list[Candidates]:
        """Return the nearest concepts of vectors of mentions (mentions, d), by names and by aliases."""
        found = self.names_index.search(vectors, k, masks)
        version = self.kb.version
        if not (self.aliases and len(self.learned)):
            return [Candidates(rows, scores, names=names, kb=version) for rows, scores, names in found]
        by_alias = self.alias_index.search(vectors, k, masks)
        return [_merged(ours, theirs, k, version) for ours, theirs in zip(found, by_alias, strict=True)]

    # --- learning ----------------------------------------------------------------------------------------------------

    def show(self, vectors: SearchedNames) -> None:
        """Take these vectors for those of all names; those of aliases are made again."""
        self.hide()
        self.names_index = vectors

    def hide(self) -> None:
        """Forget the vectors of names and aliases, which are made again where they are needed."""
        self.forget("names_index", "alias_vectors", "alias_index")

    def with_network(self, other: Self) -> Self:
        """Return the same component with what another one's training made of the network."""
        made = copy.copy(self)
        made.folder, made.trained = other.folder, other.trained
        made.share(other, "network", "names_index")
        return made

    def without(self, documents: Iterable[str]) -> Self:
        """Return the same component without the aliases that these documents (ids) gave it: for cross-fitting.

        Its network has seen them all the same; `with_network` puts another in its place.
        """
        fewer = copy.copy(self)
        fewer.learned = self.learned.without(documents)
        fewer.share(self, "network", "names_index", *(["alias_vectors"] if len(self.learned) else []))
        return fewer

    def rebound(self, kb: KnowledgeBase) -> Self:
        """Return the same component on the edited knowledge base `kb`, with what it learned."""
        made = super().rebound(kb)
        made.learned = self.learned.rebound(kb)
        if [text for text, _ in made.learned.keys] == [text for text, _ in self.learned.keys]:
            made.made.update({name: value for name, value in self.made.items() if name == "alias_vectors"})
        return made

    @property
    def worth_saving(self) -> bool:
        """Whether there is a network to save: the pre-trained one too, if it was used."""
        return self.has_learned or "network" in self.made

    def save(self, folder: Path) -> None:
        """Write the component; if it was trained the network, the vectors of all names, and the aliases."""
        super().save(folder)
        if self.worth_saving:
            self._shown(folder / MODEL).save(folder / VECTORS)
        if len(self.learned):
            self.learned.save(folder / ALIASES, self.kb)

    def _shown(self, folder: Path) -> SearchedNames:
        """Return the vectors of all names by what will run the network that was saved in `folder`."""
        if self.backend == "torch" or self.folder is not None:
            return self.names_index
        ready = copy.copy(self)
        ready.folder, ready.trained = folder, False
        ready.forget()
        return ready.names_file.in_memory()

    @property
    def index_files(self) -> list[Path]:
        """The files beside the knowledge base that the names are searched in."""
        return self.names_file.files

    @classmethod
    def load(cls, folder: Path, *, kb: KnowledgeBase | None = None, partly: bool = False) -> Self:
        """Return the component that `save` wrote; with `partly` without aliases of concepts that `kb` lacks."""
        loaded = super().load(folder, kb=kb, partly=partly)
        if (folder / ALIASES).exists():
            loaded.learned = Aliases.load(folder / ALIASES, loaded.kb, partly=partly)
        return loaded


def _merged(names: Found, aliases: Found, k: int, version: str) -> Candidates:
    """Return the best concepts of those found by names and those found by aliases, a name before an equal alias."""
    rows = np.concatenate([names.rows, aliases.rows])
    scores = np.concatenate([names.scores, aliases.scores])
    which = np.concatenate([names.names, np.full(len(aliases.rows), NO_NAME, np.int32)])
    order = np.lexsort((rows, -scores))  # stable: of a concept's two entries with one score the name comes first
    _, firsts = np.unique(rows[order], return_index=True)
    kept = order[np.sort(firsts)][:k]
    return Candidates(rows[kept], scores[kept], names=which[kept], kb=version)


def _with_margin(mention: Mention) -> Mention:
    scores = mention.candidates.scores if mention.candidates is not None else np.empty(0, np.float32)
    if len(scores) < 2:
        return mention
    return replace(mention, signals={**mention.signals, "margin": float(scores[0] - scores[1])})
