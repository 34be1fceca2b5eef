"""Mention detection that learns: each word gets a label, from an encoder that reads the whole document.

How documents become words and windows says `linnet.nn.windows`, what the network is `linnet.detect.tagger_network`, how
it learns `linnet.detect.tagger_training`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from linnet.data import Document, Mention, Span, mention_id
from linnet.detect.dictionary import Dictionary
from linnet.detect.tagger_args import TaggerArgs
from linnet.errors import FormatError, PipelineError, RecipeError
from linnet.home import read_json
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Component, Detector, Step
from linnet.text.words import KINDS, label_names

if TYPE_CHECKING:
    from linnet.detect.tagger_network import TaggerNetwork
    from linnet.nn.windows import Text, Window
    from linnet.text.tagging import Chunk

__all__ = ["Tagger"]

MODEL = "model"
LEARNED = "tagger.json"  # the types it tells apart, and how sure it is how often right
OVERLAP = 128  # word pieces that two windows share, at most a quarter of one
NARROWEST = 16  # word pieces of a window
NEUTRAL = (1.0, 0.0)


@dataclass(kw_only=True)
class Tagger(Detector):
    """Finds mentions as it has learned to from marked documents; must be trained.

    Args:
        kb: the knowledge base, whose names are looked for with `dictionary`.
        encoder: ``minilm``, which needs no download, a folder, or the name of a Hugging Face model on this machine.
        scheme: labels of words: ``BIO``, ``BIOES`` or ``BILOU``.
        decoding: ``viterbi``, the best labels that the scheme allows, or ``crf``, which learns what follows what.
        dictionary: words of names of the knowledge base are marked as such for the network.
        typed: learn the types of mentions, or whether there is one alone.
        lstm: size of a bidirectional LSTM above the encoder, each way; 0 = none.
        window: word pieces that are read at once; 0 = as many as the encoder reads.
        least: mentions less probable than this are left out.

    ``signals["detect"]`` is the probability of exactly this span and type: the share of all labellings of the document
    that have it, calibrated on the dev documents (Platt 1999).
    """

    kb: KnowledgeBase
    encoder: str = "minilm"
    scheme: Literal["BIO", "BIOES", "BILOU"] = "BIOES"
    decoding: Literal["viterbi", "crf"] = "viterbi"
    dictionary: bool = True
    typed: bool = True
    lstm: int = 0
    window: int = 0
    least: float = 0.0
    types: tuple[str, ...] = field(default=(), init=False)
    marks: tuple[str, ...] = field(default=(), init=False, repr=False, compare=False)  # of dictionary matches, in order
    curve: tuple[float, float] = field(default=NEUTRAL, init=False)
    folders: tuple[Path, ...] = field(default=(), init=False, repr=False, compare=False)

    FOLDS: ClassVar[int] = 2
    RESUMES = True
    LEARNED = frozenset({"encoder", "scheme", "dictionary", "typed", "lstm"})

    def __post_init__(self) -> None:
        narrow = 0 != self.window < NARROWEST
        problems = [f"window: {self.window} must be 0, or {NARROWEST} at least"] if narrow else []
        problems += [] if 0 <= self.least <= 1 else [f"least: {self.least} must be from 0 to 1"]
        problems += [] if self.lstm >= 0 else [f"lstm: {self.lstm} must be 0 or more"]
        if problems:
            raise RecipeError("tagger", problems)

    @property
    def needs(self) -> frozenset[str]:
        """What the dictionary needs, if it is asked."""
        return self._names.needs if self.dictionary else frozenset()

    @functools.cached_property
    def _names(self) -> Dictionary:
        return Dictionary(kb=self.kb)

    # --- network -----------------------------------------------------------------------------------------------------

    @property
    def labels(self) -> list[str]:
        """The labels of words."""
        return label_names(self.types or ("",), self.scheme)

    @property
    def features(self) -> dict[str, int]:
        """The features of dictionary matches by name."""
        return {name: number for number, name in enumerate(self.marks)}

    def fresh(self, folder: Path | None = None) -> TaggerNetwork:
        """Return a network of a saved folder, or one that has learned nothing."""
        import linnet.nn  # noqa: F401, PLC0415 - says what to install where torch is missing
        from linnet.detect.tagger_network import TaggerNetwork  # noqa: PLC0415 - imports torch
        from linnet.nn.device import choose_device  # noqa: PLC0415 - imports torch
        from linnet.nn.encoder import Encoder  # noqa: PLC0415 - imports torch

        network = TaggerNetwork(
            Encoder.load(self.encoder if folder is None else folder),
            self.labels,
            scheme=self.scheme,
            features=len(self.features),
            crf=self.decoding == "crf",
            lstm=self.lstm,
        )
        if self.window > network.encoder.window:
            problem = f"window: {self.window} must be at most {network.encoder.window}"
            raise RecipeError("tagger", [f"{problem}, which is what the encoder {self.encoder!r} reads"])
        if folder is not None:
            network.restore(folder)
        return network.to(choose_device()).eval()

    @functools.cached_property
    def networks(self) -> list[TaggerNetwork]:
        """The networks, read at first use.

        Raises:
            PipelineError: nothing has been learned.
        """
        if not self.folders:
            raise PipelineError("tagger has not been trained: run linnet train, and link with the folder it writes")
        return [self.fresh(folder) for folder in self.folders]

    @property
    def parameters(self) -> int:
        """The weights of the networks."""
        return sum(weight.numel() for network in self.networks for weight in network.parameters())

    @property
    def index_files(self) -> list[Path]:
        """The table of names, if the dictionary is asked."""
        return self._names.index_files if self.dictionary else []

    # --- reading -----------------------------------------------------------------------------------------------------

    def read(self, docs: Sequence[Document]) -> list[Text]:
        """Return documents as words and word pieces, with what the dictionary says of them."""
        from linnet.nn.windows import read  # noqa: PLC0415 - imports torch
        from linnet.pipeline import Pipeline  # noqa: PLC0415 - for its front

        known = None
        if self.dictionary:
            asked = list(docs)
            for part in Pipeline(self._names).front:
                asked = part(asked)
            known = self._names.detect(asked)
        return read(docs, self._reading, known=known, features=self.features)

    @property
    def _reading(self) -> Any:
        made = self.__dict__.get("networks")
        return made[0].encoder if made else self._tokens

    @functools.cached_property
    def _tokens(self) -> Any:
        from linnet.nn.encoder import Encoder  # noqa: PLC0415 - imports torch

        return Encoder.load(self.folders[0] if self.folders else self.encoder)

    def windows(self, text: Text) -> list[Window]:
        """Return the windows that a text is read in."""
        from linnet.nn.windows import windows  # noqa: PLC0415 - imports torch

        size = (self.window or self._reading.window) - 2  # start and end of a sequence
        return windows(text, size, min(OVERLAP, size // 4))

    def chunks(self, texts: Sequence[Text], networks: Sequence[TaggerNetwork]) -> list[list[tuple[Chunk, float]]]:
        """Return the mentions of each text as chunks of words, each with the log odds of exactly that chunk."""
        from linnet.nn.span_scores import decoded, emissions  # noqa: PLC0415 - imports torch

        if not texts:
            return []
        return decoded(emissions(texts, [self.windows(text) for text in texts], networks), networks, self.labels)

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:  # noqa: ARG002
        """Return the mentions of each document, in reading order.

        Raises:
            PipelineError: nothing has been learned.
        """
        networks = self.networks
        texts = self.read(docs)
        found = self.chunks(texts, networks)
        return [
            [one for chunk, odds in chunks if (one := self._mention(doc.id, text, chunk, odds)) is not None]
            for doc, text, chunks in zip(docs, texts, found, strict=True)
        ]

    def _mention(self, document: str, text: Text, chunk: Chunk, odds: float) -> Mention | None:
        slope, shift = self.curve
        probability = float(1 / (1 + np.exp(-np.clip(slope * odds + shift, -30, 30))))
        if probability < self.least:
            return None
        span = Span(text.words[chunk.first].start, text.words[chunk.last].end)
        types = (chunk.type,) if chunk.type else ()
        id = mention_id(document, [span], types)
        return Mention(span.start, span.end, id=id, types=types, signals={"detect": probability})

    # --- learning ----------------------------------------------------------------------------------------------------

    def fit(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],
        /,
        *,
        before: Component,  # noqa: ARG002
        kb: KnowledgeBase,  # noqa: ARG002
        args: Mapping[str, Any],
    ) -> Iterator[Step]:
        """Train the networks on the mentions of `train`; the probabilities are calibrated on `dev`, if there is any.

        Raises:
            RecipeError: `args` that neither this training nor the loop knows.
            DataError: no mention to learn from.
        """
        import linnet.nn  # noqa: F401, PLC0415 - says what to install where torch is missing
        from linnet.detect.tagger_training import fit  # noqa: PLC0415 - imports torch

        self.folders, self.curve = (), NEUTRAL
        for made in ("networks", "_tokens"):
            self.__dict__.pop(made, None)
        kinds = {mention.types[0] for doc in train for mention in doc.mentions or () if mention.types}
        self.types = tuple(sorted(kinds)) if self.typed else ()
        known = sorted(self.kb.types() or ("",)) if self.dictionary else ()
        self.marks = tuple(f"{place}-{kind}" for kind in known for place in KINDS)
        yield from fit(self, train, dev, args=args)

    @staticmethod
    def check(args: Mapping[str, Any]) -> None:
        """Refuse wrong arguments of `fit` before anything is trained.

        Raises:
            RecipeError: all that is wrong with them.
        """
        TaggerArgs.split(args)

    def calibrate(self, dev: Sequence[Document], texts: Sequence[Text]) -> None:
        """Fit how often a mention of some log odds is right (Platt 1999)."""
        from linnet.detect.tagger_training import calibrated  # noqa: PLC0415 - imports torch

        self.curve = calibrated(self, dev, texts)

    def with_network(self, other: Self) -> Self:
        """Return the same component with another one's networks, which had no dev documents: for cross-fitting."""
        other.curve = self.curve
        return other

    def without(self, documents: Any) -> Self:  # noqa: ARG002
        """Return the same component: what it knows of documents is in its networks alone."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in self.__dict__.items() if key in self.__dataclass_fields__}
        learned = "networks" in self.__dict__ and not self.folders
        return {**state, "networks": self.networks} if learned else state

    def save(self, folder: Path) -> None:
        """Write the component, and its networks if they were trained."""
        super().save(folder)
        if not self.folders and not self.__dict__.get("networks"):
            return
        for number, network in enumerate(self.networks):
            network.save(folder / f"{MODEL}-{number}")
        told = {"types": self.types, "marks": self.marks, "curve": self.curve, "networks": len(self.networks)}
        (folder / LEARNED).write_text(json.dumps(told), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, *, kb: KnowledgeBase | None = None) -> Self:
        """Return the component that `save` wrote."""
        folder = folder.absolute()  # the networks are read later on, maybe from another folder
        loaded = super().load(folder, kb=kb)
        if (folder / LEARNED).is_file():
            told = read_json(folder / LEARNED)
            try:
                loaded.types, loaded.marks = tuple(map(str, told["types"])), tuple(map(str, told["marks"]))
                slope, shift = told["curve"]
                loaded.curve = float(slope), float(shift)
                loaded.folders = tuple(folder / f"{MODEL}-{number}" for number in range(int(told["networks"])))
            except (KeyError, OverflowError, TypeError, ValueError) as error:
                raise FormatError(folder / LEARNED, f"no tagger that this Linnet can use ({error!r})") from error
            if not np.isfinite(loaded.curve).all():
                raise FormatError(folder / LEARNED, f"the curve {loaded.curve} is no finite numbers; train again")
        return loaded
