"""Mention detection that learns: each word gets a label, from an encoder that reads the whole document.

See `linnet.text.windows` for words and windows, `linnet.detect.tagger_network` for the network and its training.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from linnet.data import Document, Mention, Span, mention_id
from linnet.detect.dictionary import Dictionary
from linnet.detect.silver import silver
from linnet.detect.tagger_args import TaggerArgs
from linnet.errors import DataError, RecipeError, did_you_mean
from linnet.frozen import EMPTY, FrozenDict
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Component, Detector, Step
from linnet.pipeline.component import batches, blind
from linnet.pipeline.learner import made_once
from linnet.reporter import tell
from linnet.text.chains import Rules
from linnet.text.windows import Text, Window, read, windows
from linnet.text.word_pieces import WordPieces
from linnet.text.word_scores import WordScorer, decoded, emissions
from linnet.text.words import KINDS, label_names
from linnet.train.network import NetworkComponent, count_parameters

if TYPE_CHECKING:
    from linnet.detect.tagger_graph import GraphTagger
    from linnet.detect.tagger_network import TaggerNetwork
    from linnet.text.tagging import Chunk

__all__ = ["Tagger"]

OVERLAP = 128  # word pieces that two windows share, at most a quarter of one
NARROWEST = 16  # word pieces of a window
NEUTRAL = (1.0, 0.0)
FEWEST_MATCHES = 1000  # of names, that teach a tagger what names are like

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Tagger(NetworkComponent[list[Any]], Detector):
    """Finds mentions as it has learned to from marked documents; must be trained.

    Args:
        kb: the knowledge base, whose names are looked for with `dictionary`.
        encoder: ``minilm``, which needs no download, a folder, or the name of a Hugging Face model on this machine.
        scheme: labels of words: ``BIO``, ``BIOES`` or ``BILOU``.
        decoding: ``viterbi``, the best labels that the scheme allows, or ``crf``, which learns what follows what.
        dictionary: words of names of the knowledge base are marked as such for the network.
        names: keywords of that dictionary (`linnet.Dictionary`), and of the one that teaches where ``supervision`` is
            ``names``: ``{under = ["HP:0000118"]}``.
        typed: learn the types of mentions, or whether there is one alone.
        lstm: size of a bidirectional LSTM above the encoder, each way; 0 = none.
        window: word pieces that are read at once; 0 = as many as the encoder reads.
        min_probability: mentions less probable than this are left out.
        backend: what runs the network once it is trained: ``torch``, or ``onnx``, ONNX Runtime with a byte a number
            (extra ``onnx``), which needs no PyTorch to find mentions.

    ``signals["detect"]`` is the probability of exactly this span and type: the share of all labellings of the document
    that have it, calibrated on the dev documents (Platt 1999).
    """

    kb: KnowledgeBase
    encoder: str = "minilm"
    scheme: Literal["BIO", "BIOES", "BILOU"] = "BIOES"
    decoding: Literal["viterbi", "crf"] = "viterbi"
    dictionary: bool = True
    names: Mapping[str, Any] = EMPTY
    typed: bool = True
    lstm: int = 0
    window: int = 0
    min_probability: float = 0.0
    backend: Literal["torch", "onnx"] = "torch"
    types: tuple[str, ...] = field(default=(), init=False)
    marks: tuple[str, ...] = field(default=(), init=False, repr=False, compare=False)  # of dictionary matches, in order
    curve: tuple[float, float] = field(default=NEUTRAL, init=False)
    supervision: str = field(default="gold", init=False)

    ARGS = TaggerArgs
    TABLES = FrozenDict({"names": "dictionary"})
    KEPT = frozenset({"network", "_tokens"})
    LEARNED = frozenset({"encoder", "scheme", "dictionary", "names", "typed", "lstm"})

    def __post_init__(self) -> None:
        narrow = 0 != self.window < NARROWEST
        problems = [f"window: {self.window} must be 0, or {NARROWEST} at least"] if narrow else []
        if not 0 <= self.min_probability <= 1:
            problems.append(f"min_probability: {self.min_probability} must be from 0 to 1")
        problems += [] if self.lstm >= 0 else [f"lstm: {self.lstm} must be 0 or more"]
        self.names = FrozenDict(self.names)
        known = [one.name for one in fields(Dictionary) if one.init and one.name != "kb"]
        unknown = [name for name in self.names if name not in known]
        problems += [f"names.{name}: unknown field{did_you_mean(name, known)}" for name in unknown]
        if self.names and not unknown:
            try:
                Dictionary(kb=self.kb, **self.names)  # which is asked long after the recipe is read
            except DataError as error:
                problems.append(f"names: {str(error).removeprefix('dictionary: ')}")
        if problems:
            raise RecipeError("tagger", problems)

    @property
    def needs(self) -> frozenset[str]:
        """What the dictionary needs, if it is asked."""
        return self._names.needs if self.dictionary else frozenset()

    @made_once
    def _names(self) -> Dictionary:
        return Dictionary(kb=self.kb, **self.names)

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
        self._check_window(network.encoder)
        if folder is not None:
            network.restore(folder)
        return network.to(choose_device()).eval()

    def _check_window(self, encoder: WordPieces) -> None:
        if self.window > encoder.window:
            problem = f"window: {self.window} must be at most {encoder.window}"
            raise RecipeError("tagger", [f"{problem}, which is what the encoder {self.encoder!r} reads"])

    def read_network(self, folder: Path | None) -> list[TaggerNetwork] | list[GraphTagger]:
        """Return the networks of a folder, in the order in which they were trained.

        Raises:
            PipelineError: nothing has been learned.
        """
        self.require_trained()
        if (graphs := self.graphs) is not None:
            from linnet.detect.tagger_graph import GraphTagger  # noqa: PLC0415 - needs the extra onnx

            sizes = {"labels": len(self.labels), "features": len(self.features)}
            numbers = range(len(list(graphs.iterdir())))
            read = [GraphTagger.load(graphs / str(number), **sizes) for number in numbers]
            self._check_window(read[0].encoder)
            return read
        count = len(list(folder.glob("model-*"))) if folder is not None else 0
        networks = [self.fresh(folder / f"model-{number}") for number in range(count) if folder is not None]
        return [network.as_graph() for network in networks] if self.backend == "onnx" else networks

    def write_network(self, folder: Path) -> None:
        """Save each network into a folder of its own."""
        for number, network in enumerate(self.network):
            network.save(folder / f"model-{number}")

    def write_graphs(self, folder: Path) -> None:
        """Write what ONNX Runtime runs, each network into a folder of its own."""
        for number, network in enumerate(self.network):
            network.as_graph().save(folder / str(number))

    @property
    def parameters(self) -> int:
        """The weights of all networks."""
        return sum(count_parameters(network) for network in self.network)

    @property
    def index_files(self) -> list[Path]:
        """The table of names, if the dictionary is asked."""
        return self._names.index_files if self.dictionary else []

    # --- reading -----------------------------------------------------------------------------------------------------

    def read(self, docs: Sequence[Document]) -> list[Text]:
        """Return documents as words and word pieces, with what the dictionary says of them."""
        known = self._names.read(docs) if self.dictionary else None
        return read(docs, self._reading, known=known, features=self.features)

    @property
    def _reading(self) -> WordPieces:
        made = self.made.get("network") or (self.network if self.graphs is not None else None)
        reading: WordPieces = made[0].encoder if made else self._tokens
        return reading

    @made_once
    def _tokens(self) -> Any:
        from linnet.nn.encoder import Encoder  # noqa: PLC0415 - imports torch

        return Encoder.load(self.folder / "model-0" if self.folder else self.encoder)

    def windows(self, text: Text) -> list[Window]:
        """Return the windows that a text is read in."""
        size = (self.window or self._reading.window) - 2  # start and end of a sequence
        return windows(text, size, min(OVERLAP, size // 4))

    def chunks(self, texts: Sequence[Text], networks: Sequence[WordScorer]) -> list[list[tuple[Chunk, float]]]:
        """Return the mentions of each text as chunks of words, each with the log odds of exactly that chunk."""
        if not texts:
            return []
        scores = emissions(texts, [self.windows(text) for text in texts], networks)
        return decoded(scores, Rules.mean([network.chain for network in networks]), self.labels)

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:  # noqa: ARG002
        """Return the mentions of each document, in reading order.

        Raises:
            PipelineError: nothing has been learned.
        """
        self.require_trained()
        networks = self.network
        texts = self.read(docs)
        found = self.chunks(texts, networks)
        return [
            [one for chunk, odds in chunks if (one := self._mention(doc.id, text, chunk, odds)) is not None]
            for doc, text, chunks in zip(docs, texts, found, strict=True)
        ]

    def _mention(self, document: str, text: Text, chunk: Chunk, odds: float) -> Mention | None:
        slope, shift = self.curve
        probability = float(1 / (1 + np.exp(-np.clip(slope * odds + shift, -30, 30))))
        if probability < self.min_probability:
            return None
        span = Span(text.words[chunk.first].start, text.words[chunk.last].end)
        types = (chunk.type,) if chunk.type else ()
        id = mention_id(document, [span], types)
        return Mention(span.start, span.end, id=id, types=types, signals={"detect": probability})

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(
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

        Where ``supervision`` is ``names``, nobody need have marked `train`, and `dev` is not looked at.

        Raises:
            RecipeError: `args` that neither this training nor the loop knows.
            DataError: no mention to learn from.
        """
        from linnet.detect.tagger_network import fit  # noqa: PLC0415 - imports torch

        own, _ = TaggerArgs.split({key: value for key, value in args.items() if key != "checkpoints"})
        self.supervision = own.supervision
        if own.supervision == "names":
            train, dev = self._silver(blind(train, self._names)), ()
        self.curve, self.network = NEUTRAL, []
        kinds = {mention.types[0] for doc in train for mention in doc.mentions or () if mention.types}
        self.types = tuple(sorted(kinds)) if self.typed else ()
        known = sorted(self.kb.types() or ("",)) if self.dictionary else ()
        self.marks = tuple(f"{place}-{kind}" for kind in known for place in KINDS)
        self.curve = yield from fit(self, train, dev, args=args)

    def _silver(self, docs: Sequence[Document]) -> list[Document]:
        """Return documents with what the names of the knowledge base say of them.

        Raises:
            RecipeError: the network would be told where these names are.
        """
        if self.dictionary:
            raise RecipeError("tagger", ["dictionary: false is needed for supervision = 'names', which it would copy"])
        found: list[list[Mention]] = []
        for some in batches(docs):
            found += self._names.read(some)
            tell("texts searched for names", len(found), len(docs))
        made = silver(docs, found, names=(name.text for name in self.kb.names()))
        count = sum(len(doc.mentions or ()) for doc in made)
        logger.info("tagger: %s matches of names teach, in %s texts", f"{count:,}", f"{len(made):,}")
        if count < FEWEST_MATCHES:
            logger.warning("tagger: %s matches of names teach little: more texts have more of them", f"{count:,}")
        return made

    @classmethod
    def needs_gold(cls, args: Mapping[str, Any]) -> bool:
        """Return whether people have to have marked the mentions of the documents that it learns from."""
        return args.get("supervision") != "names"

    @property
    def used_dev(self) -> bool:
        """Whether it has chosen or calibrated on the dev documents."""
        return self.supervision == "gold"

    def with_network(self, other: Self) -> Self:
        """Return the same component with another one's networks, which had no dev documents: for cross-fitting."""
        other.curve = self.curve
        return other

    def learned_values(self) -> dict[str, Any]:
        """Return the types it tells apart, its features, and how sure it is how often right."""
        return {
            **super().learned_values(),
            "types": self.types,
            "marks": self.marks,
            "curve": self.curve,
            "supervision": self.supervision,
        }

    def restore_values(self, values: Mapping[str, Any]) -> None:
        """Take what `learned_values` gave."""
        super().restore_values(values)
        self.types, self.marks = tuple(map(str, values["types"])), tuple(map(str, values["marks"]))
        self.supervision = str(values.get("supervision", "gold"))  # which older folders do not say
        slope, shift = map(float, values["curve"])
        if not np.isfinite([slope, shift]).all():
            raise ValueError(f"the curve {values['curve']} is no finite numbers")
        self.curve = slope, shift
