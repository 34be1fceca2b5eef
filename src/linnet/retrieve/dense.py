"""Retrieval by vectors: the concepts whose names lie nearest to the mention in its context (TrainX; Wu et al. 2020).

What becomes a vector says `linnet.retrieve.bi_encoder`; it is trained on synonyms (`linnet.retrieve.sapbert`), on the
mentions of documents (`linnet.retrieve.dense_training`), or on these after those. A concept has one vector, of its
preferred name and its definition, or one for each of its names, of which the nearest counts.
Similarity is the normalised dot product; how names are searched say `linnet.index` and the option ``index``.
"""

from __future__ import annotations

import copy
import functools
import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates, Document, Mention
from linnet.errors import LinnetWarning, RecipeError
from linnet.index.flat import Flat, Found
from linnet.kb import KnowledgeBase, Mask
from linnet.pipeline import Allow, Component, Step
from linnet.retrieve.dense_args import ALIGN, FINETUNE, AlignArgs, DenseArgs
from linnet.retrieve.dense_vectors import VECTORS, SearchedNames, files_beside, make, name_vectors
from linnet.retrieve.queries import IndexedRetriever
from linnet.text.contexts import InContext, in_context
from linnet.train.aliases import Aliases

if TYPE_CHECKING:
    from linnet.retrieve.bi_encoder import BiEncoder

__all__ = ["Dense"]

logger = logging.getLogger(__name__)

Floats = npt.NDArray[np.float32]

NO_NAME = -1  # the name row of an alias
ALIASES = "aliases.jsonl"
MODEL, ALIGNED = "model", "aligned"  # folders of a network; of one that was aligned alone
FEWEST_TOKENS = 8
POOLINGS = ("cls", "mean", "span", "ends", "markers")


@dataclass(kw_only=True)
class Dense(IndexedRetriever):
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
    folder: Path | None = field(default=None, init=False, repr=False, compare=False)
    trained: bool = field(default=False, init=False, repr=False, compare=False)  # in memory, nowhere to be read again
    stage: str = field(default="", init=False, repr=False, compare=False)  # of training, that it went through last
    # what fine-tuning begins with: a BiEncoder, which only imports with torch, or the folder of one
    aligned: Any = field(default=None, init=False, repr=False, compare=False)

    MADE = ("module", "names_index", "alias_vectors", "alias_index")
    FOLDS: ClassVar[int] = 2  # the network is trained again for so many parts of the documents (`linnet.fitting`)
    RESUMES = True  # `fit` keeps checkpoints in the folder ``args["checkpoints"]``
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

    @functools.cached_property
    def module(self) -> BiEncoder:
        """The network, read at first use: what was trained, else what was aligned, else the pre-trained encoder."""
        from linnet.nn.device import choose_device  # noqa: PLC0415 - imports torch
        from linnet.retrieve.bi_encoder import BiEncoder  # noqa: PLC0415 - imports torch

        pools: dict[str, Any] = {"pooling": self.pooling, "name_pooling": self.name_pooling}
        begun = self.folder or self.aligned
        if isinstance(begun, Path):
            module = BiEncoder.load(begun, **pools)
        elif begun is not None:  # fine-tuning leaves it as it is: copies of the component begin with it too
            module = begun if self.stage == ALIGN else copy.deepcopy(begun)
        else:
            module = BiEncoder.of(self.encoder, shared=self.shared, **pools)
        if max(self.tokens, self.name_tokens) > (window := min(module.mention.window, module.entity.window)):
            problem = f"tokens, name_tokens: {self.tokens} and {self.name_tokens} must be at most {window}"
            raise RecipeError("dense", [f"{problem}, which is what the encoder {self.encoder!r} reads"])
        if self.backend == "onnx" and not (self.stage and self.folder is None):  # not while it is trained
            return module.with_onnx().eval()
        return module.to(choose_device()).eval()

    def __getstate__(self) -> dict[str, Any]:
        kept = {"module": self.module} if self.trained else {}
        return {**super().__getstate__(), **kept}

    @property
    def parameters(self) -> int:
        """The weights of the network."""
        return sum(weight.numel() for weight in self.module.parameters())

    @functools.cached_property
    def names_index(self) -> SearchedNames:
        """The vectors of all names, opened or made at first use."""
        return name_vectors(self)

    @functools.cached_property
    def alias_vectors(self) -> Floats:
        """The vectors of all aliases, also of those that are left out."""
        return self.encode_names([text for text, _ in self.learned.keys])

    @functools.cached_property
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

        module = self.module
        texts, cut = self.templates.names(names, module.entity, descriptions)
        return encode(module.entity, module.name_pool, texts, normalise=True), cut

    def encode_mentions(self, mentions: Sequence[InContext]) -> Floats:
        """Return the vectors of mentions in their contexts, float32 (mentions, d) of length 1.

        Equal ones are encoded once.
        """
        from linnet.nn.vectors import encode  # noqa: PLC0415 - imports torch

        module = self.module
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
            message = f"{count:,} {what} are longer than {tokens} word pieces: only their ends were compared"
            warnings.warn(message, LinnetWarning, stacklevel=3)

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

    def fit(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],
        /,
        *,
        before: Component,
        kb: KnowledgeBase,
        args: Mapping[str, Any],
    ) -> Iterator[Step]:
        """Train the encoders on the mentions of `train`, and learn these as aliases; `dev` says when to stop.

        With ``stage = "align"`` in `args` the encoder is aligned on the synonyms of `kb` instead, and `train` is not
        looked at. That begins with the pre-trained encoder, and so does training on mentions unless one was aligned,
        with which it goes on; whatever else was learned before is forgotten.

        Raises:
            RecipeError: `args` that neither this training nor the loop knows.
            DataError: no mention of `train` has a concept of `kb`, or no concept has synonyms to be aligned.
        """
        import linnet.nn  # noqa: F401, PLC0415 - says what to install where torch is missing
        from linnet.retrieve.dense_training import fit  # noqa: PLC0415 - imports torch

        if args.get("stage") == ALIGN:
            from linnet.retrieve.sapbert import fit as align  # noqa: PLC0415 - imports torch

            self.aligned = None
            self._begin(ALIGN)
            self.aligned = self.module  # which is trained in place
            yield from align(self, dev, args=args)
            return
        self._begin(FINETUNE)
        self.learned = Aliases.of(train, kb) if self.aliases else Aliases.none()
        _ = self.module
        self.trained = True
        yield from fit(self, train, dev, before=before, args=args)

    @staticmethod
    def check(args: Mapping[str, Any]) -> None:
        """Refuse wrong arguments of `fit` before anything is trained.

        Raises:
            RecipeError: all that is wrong with them.
        """
        (AlignArgs if args.get("stage") == ALIGN else DenseArgs).split(args)

    def _begin(self, stage: str) -> None:
        """Forget what was learned except by alignment; a copy gets a network of its own, beside its original's."""
        self.learned = Aliases.none()
        self.folder, self.stage, self.trained = None, stage, False
        self._forget()

    def owes_nothing(self, args: Mapping[str, Any]) -> bool:
        """Return whether a stage of training learned from no document, and its result is still there to go on with.

        Cross-fitting asks for it: that stage need not be trained again without some of the documents.
        """
        return args.get("stage") == ALIGN and self.aligned is not None

    def goes_on_from(self, earlier: Self) -> None:
        """Take from what this was before its last stage of training what a folder of that stage does not hold."""
        self.aligned = self.aligned or earlier.aligned

    def show(self, vectors: SearchedNames) -> None:
        """Take these vectors for those of all names; those of aliases are made again."""
        self.__dict__["names_index"] = vectors
        for made in ("alias_vectors", "alias_index"):
            self.__dict__.pop(made, None)

    def hide(self) -> None:
        """Forget the vectors of names and aliases, which are made again where they are needed."""
        for made in ("names_index", "alias_vectors", "alias_index"):
            self.__dict__.pop(made, None)

    def with_network(self, other: Self) -> Self:
        """Return the same component with what another one's training made of the network."""
        made = copy.copy(self)
        made.folder, made.trained = other.folder, other.trained
        made.__dict__.update(module=other.module, names_index=other.names_index)
        return made

    def without(self, documents: Iterable[str]) -> Self:
        """Return the same component without the aliases that these documents (ids) gave it: for cross-fitting.

        Its network has seen them all the same; `with_network` puts another in its place.
        """
        fewer = copy.copy(self)
        fewer.learned = self.learned.without(documents)
        fewer.__dict__.update(module=self.module, names_index=self.names_index)
        if len(self.learned):
            fewer.__dict__["alias_vectors"] = self.alias_vectors
        return fewer

    def save(self, folder: Path) -> None:
        """Write the component; if it was trained the network, the vectors of all names, and the aliases."""
        super().save(folder)
        if "module" in self.__dict__ or self.folder is not None or self.aligned is not None:
            self.module.save(folder / (ALIGNED if self.stage == ALIGN else MODEL))
            self._shown(folder).save(folder / VECTORS)
        if len(self.learned):
            self.learned.save(folder / ALIASES, self.kb)

    def _shown(self, folder: Path) -> SearchedNames:
        """Return the vectors of all names by what will run the network that was saved in `folder`."""
        if self.backend == "torch" or self.folder is not None:
            return self.names_index
        ready = copy.copy(self)
        ready.folder, ready.trained = folder / (ALIGNED if self.stage == ALIGN else MODEL), False
        ready.hide()
        ready.__dict__.pop("module", None)
        return make(ready)

    @property
    def index_files(self) -> list[Path]:
        """The files beside the knowledge base that the names are searched in."""
        return files_beside(self)

    @classmethod
    def load(cls, folder: Path, *, kb: KnowledgeBase | None = None, partly: bool = False) -> Self:
        """Return the component that `save` wrote; with `partly` without aliases of concepts that `kb` lacks."""
        folder = folder.absolute()  # the network is read later on, maybe from another folder
        loaded = super().load(folder, kb=kb)
        if (folder / MODEL).is_dir():
            loaded.folder = folder / MODEL
        if (folder / ALIGNED).is_dir():
            loaded.folder = loaded.aligned = folder / ALIGNED
            loaded.stage = ALIGN
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
