"""Reranking by reading mention and candidates together (Sanz-Cruzado & Lever 2025): one network, five packings.

A sequence holds text, mentions and candidates, a [MASK] for each pair (`linnet.text.packing`); the network classifies
each [MASK] (`linnet.rerank.cross_network`):

    pieces of documents -> sequences (sequences, tokens) -> [MASK] vectors (pairs, d) -> two logits a pair (pairs, 2)

What differs from the paper: what the stage before said of a candidate counts too, the candidates of a mention compete
with each other and with none of them, and may be kept from seeing each other; a candidate may be more than its name;
mentions that the stage before is sure of are left. Training is in `linnet.rerank.cross_training`.

Nothing here imports torch before a network is needed, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveInt

from linnet.codec import resolve
from linnet.data import Candidates, Document, Span
from linnet.errors import PipelineError, RecipeError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Component, Reranker
from linnet.pipeline.learner import inner_of, made_once
from linnet.reporter import tell, warn
from linnet.text.packing import MASK, Asked, Frame, Packed, Packing, Text, frame_of, pack, too_long
from linnet.text.queries import query_texts
from linnet.text.token_batches import token_batches
from linnet.text.word_pieces import WordPieces
from linnet.train.args import PartArgs
from linnet.train.network import NetworkComponent

if TYPE_CHECKING:
    from linnet.rerank.cross_graph import GraphCross
    from linnet.rerank.cross_network import CrossNetwork

__all__ = ["FEATURES", "CandidateText", "CrossArgs", "CrossEncoder", "Read", "Reader", "features"]

CandidateText = Literal["name", "matched", "definition"]
Floats = npt.NDArray[np.float32]

FEATURES = ("score", "log", "gap", "rank")  # what the stage before says of a candidate
LEAST = 1e-6
NAMES = 1 << 18  # texts of candidates that are kept as word pieces
BEFORE = "before"  # the feature that keeps the scores of the stage before; a second cross-encoder's is "before2"
LOWEST = -60.0  # a logit below the highest that still tells candidates apart
BEHIND = 0.5  # of the lowest score of a candidate that was read, at most, for one that was not


# --- what its training is told ----------------------------------------------------------------------------------------


class CrossArgs(PartArgs):
    """What the training of a cross-encoder is told beside `linnet.train.args.TrainArgs`.

    Args:
        top_k: candidates of a mention that it learns from, the first ones of the stage before.
        loss: ``pairs``, cross-entropy of each pair as published, or ``list``, of the right candidate among those of its
            mention and none of them.
        add_gold: put the right concept behind the candidates where the stage before has not found it.
        max_accuracy_loss: how much accuracy on the dev documents may be lost by leaving mentions that the stage before
            is sure of as they are; from how sure, `CrossEncoder.skip_threshold`, is fitted on these documents. None
            reads all.
        held_out: share of the documents that the network does not learn from: on them is fitted how much is heard of
            it and of the stage before, if that is heard at all.
        dropout: share of numbers that the encoder forgets while it learns; None leaves it what its checkpoint says.
    """

    SOURCE: ClassVar[str] = "cross_encoder"

    top_k: PositiveInt = 5
    loss: Literal["pairs", "list"] = "list"
    add_gold: bool = False
    max_accuracy_loss: float | None = Field(default=None, ge=0, le=1)
    held_out: float = Field(default=0.1, gt=0, le=0.5)
    dropout: float | None = Field(default=None, ge=0, lt=1)


# --- what it reads ----------------------------------------------------------------------------------------------------


class Read(NamedTuple):
    """A document as it is packed.

    Attributes:
        texts: joined sentences with their mentions, in order; those without mentions are left out.
        asked: the mentions, those without candidates too.
        features: float32 (candidates, `FEATURES`) of each mention.
    """

    texts: list[Text]
    asked: list[Asked]
    features: list[npt.NDArray[np.float32]]


class Reader:
    """Turns documents into word pieces.

    Args:
        encoder: whose word pieces they are.
        kb: the knowledge base of the candidates.
        candidate: what stands for a candidate: its preferred ``name``; the name that ``matched``, with the preferred
            one behind it where that is another; or the name with types and ``definition``.
        long_forms: abbreviations that the document defines are written out as mentions.
    """

    def __init__(self, encoder: WordPieces, kb: KnowledgeBase, *, candidate: CandidateText, long_forms: bool) -> None:
        self.encoder, self.kb, self.candidate, self.long_forms = encoder, kb, candidate, long_forms
        self._pieces = lru_cache(maxsize=NAMES)(self._read_candidate)

    def read(self, doc: Document, lists: Sequence[Candidates]) -> Read:
        """Return a document with the candidates `lists`, one for each of its mentions."""
        mentions = doc.mentions or ()
        surfaces = query_texts(doc) if self.long_forms else [doc.surface(mention) for mention in mentions]
        asked = [
            Asked(tuple(pieces), tuple(self._candidates(found)))
            for pieces, found in zip(self.encoder.pieces(surfaces), lists, strict=True)
        ]
        return Read(self._texts(doc), asked, [features(found) for found in lists])

    def _texts(self, doc: Document) -> list[Text]:
        groups = _joined(doc)
        if not groups:
            return []
        spans = [span for span, _ in groups]
        starts = [passage.start for passage in sorted(doc.passages, key=lambda passage: passage.start)]
        encoded = self.encoder.located([doc.text[span.start : span.end] for span in spans])
        texts = []
        for (span, numbers), (pieces, offsets) in zip(groups, encoded, strict=True):
            begins, ends = [begin for begin, _ in offsets], [end for _, end in offsets]
            places = []
            for number in numbers:
                mention = (doc.mentions or ())[number]
                places.append(_place(begins, ends, mention.start - span.start, mention.end - span.start))
            texts.append(Text(pieces, tuple(numbers), tuple(places), bisect.bisect_right(starts, span.start)))
        return texts

    def _candidates(self, found: Candidates) -> list[tuple[int, ...]]:
        names = found.names if found.names is not None and self.candidate == "matched" else [-1] * len(found)
        return [self._pieces(int(row), int(name)) for row, name in zip(found.rows, names, strict=True)]

    def _read_candidate(self, row: int, name: int) -> tuple[int, ...]:
        (pieces,) = self.encoder.pieces([self._candidate_text(row, name)])
        return tuple(pieces)

    def _candidate_text(self, row: int, name: int) -> str:
        if row < 0:
            return ""
        concept = self.kb[row]
        if self.candidate == "definition":
            return "; ".join(filter(None, (concept.name, ", ".join(concept.types), concept.definition)))
        matched = self.kb.name(name).text if name >= 0 else concept.name
        return matched if matched.casefold() == concept.name.casefold() else f"{matched} ({concept.name})"


def _joined(doc: Document) -> list[tuple[Span, list[int]]]:
    """Return the sentences that hold mentions, those that one mention crosses as one, with the mentions' numbers."""
    sentences = sorted(doc.sentences or (), key=lambda span: span.start) or [Span(0, len(doc.text))]
    starts = [span.start for span in sentences]
    joined: list[tuple[int, int, list[int]]] = []  # first and last sentence
    mentions = doc.mentions or ()
    for number in sorted(range(len(mentions)), key=lambda place: mentions[place].start):
        mention = mentions[number]
        first = max(0, bisect.bisect_right(starts, mention.start) - 1)
        last = max(first, bisect.bisect_left(starts, mention.end) - 1)
        if joined and first <= joined[-1][1]:
            before = joined[-1]
            joined[-1] = (before[0], max(before[1], last), [*before[2], number])
        else:
            joined.append((first, last, [number]))
    spans = []
    for first, last, numbers in joined:
        end = max(sentences[last].end, *(mentions[number].end for number in numbers))
        start = min(sentences[first].start, *(mentions[number].start for number in numbers))
        spans.append((Span(start, end), numbers))
    return spans


def _place(begins: Sequence[int], ends: Sequence[int], start: int, end: int) -> tuple[int, int]:
    """Return which pieces stand for the characters from `start` to `end`, at least one if there is any.

    Args:
        begins: where the pieces begin.
        ends: where they end.
        start: of the characters.
        end: of the characters.
    """
    first = bisect.bisect_right(ends, start)
    last = bisect.bisect_left(begins, end)
    first = min(first, max(0, len(ends) - 1))
    return first, min(len(ends), max(last, first + 1))


def features(found: Candidates) -> npt.NDArray[np.float32]:
    """Return what the stage before says of candidates, float32 (candidates, `FEATURES`)."""
    scores = found.scores.astype(np.float32)
    if not len(scores):
        return np.zeros((0, len(FEATURES)), np.float32)
    logs = np.log(np.clip(scores, LEAST, None))
    ranks = np.log1p(np.arange(len(scores), dtype=np.float32))
    return np.stack([scores, logs, scores - scores.max(), ranks], axis=1).astype(np.float32)


# --- the component ----------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class CrossEncoder(NetworkComponent[Any], Reranker):
    """Reorders the first candidates of every mention by a network that reads them in their sentence; must be trained.

    Args:
        kb: the knowledge base of the candidates.
        encoder: ``minilm``, which needs no download, a folder, or the name of a Hugging Face model on this machine.
        packing: ``base``, ``parallel``, ``multi``, ``passage`` or ``document``.
        isolated: candidates see their text, their mention and themselves alone, if the encoder can be told so.
        top_k: candidates of a mention that are read; the others keep their order behind them.
        candidate: what stands for a candidate: ``name``, the name that ``matched``, or name, type and ``definition``.
        use_first_stage_scores: what the stage before says of a candidate is added to what the network says.
        long_forms: abbreviations that the document defines are written out as mentions.
        window: tokens of a sequence at most; 0 = as many as the encoder reads.
        skip_threshold: mentions whose first candidate has at least this score already are left as they are.
        backend: what runs the encoder once it is trained: ``torch``, or ``onnx``, ONNX Runtime with a byte a number
            (extra ``onnx``), which needs no PyTorch to link, and cannot keep candidates apart.

    Scores are probabilities: of a pair, or, if it was trained so that candidates compete, of a candidate among those
    of its mention and none of them.
    """

    kb: KnowledgeBase
    encoder: str = "minilm"
    packing: Packing = "parallel"
    isolated: bool = False
    top_k: int = 5
    candidate: CandidateText = "matched"
    use_first_stage_scores: bool = True
    long_forms: bool = True
    window: int = 0
    skip_threshold: float | None = None
    backend: Literal["torch", "onnx"] = "torch"
    compete: bool = field(default=False, init=False, repr=False, compare=False)  # as it was trained
    pace: dict[str, float] = field(default_factory=dict, init=False, repr=False, compare=False)  # of its training
    keeps: str = field(default=BEFORE, init=False, repr=False, compare=False)  # the feature of earlier scores

    NAME = "cross_encoder"
    ARGS = CrossArgs
    TRAINING = "linnet.rerank.cross_training"
    LEARNED = frozenset({"encoder", "packing", "isolated", "candidate", "use_first_stage_scores"})
    NEEDS = frozenset({"mentions", "sentences", "abbreviations", "candidates"})

    def __post_init__(self) -> None:
        problems = [] if self.top_k >= 1 else [f"top_k: {self.top_k} must be at least 1"]
        problems += [] if self.window >= 0 else [f"window: {self.window} must be 0 or more"]
        if self.isolated and self.backend == "onnx":
            problems.append("backend: onnx cannot keep candidates apart; set isolated to false, or backend to torch")
        if problems:
            raise RecipeError("cross_encoder", problems)

    # --- network -----------------------------------------------------------------------------------------------------

    def read_network(self, folder: Path | None) -> CrossNetwork | GraphCross:
        """Return the network of a folder, else the pre-trained encoder."""
        if (graphs := self.graphs) is not None:
            from linnet.rerank.cross_graph import GraphCross  # noqa: PLC0415 - needs the extra onnx

            graph = GraphCross.load(graphs, features=len(FEATURES) if self.use_first_stage_scores else 0)
            self._check_window(graph.encoder)
            return graph
        network = self._read_torch(folder)
        return network.as_graph() if self.backend == "onnx" and folder is not None else network

    def _read_torch(self, folder: Path | None) -> CrossNetwork:
        from linnet.nn.device import choose_device  # noqa: PLC0415 - imports torch
        from linnet.nn.encoder import Encoder  # noqa: PLC0415 - imports torch
        from linnet.nn.isolation import require_apart  # noqa: PLC0415 - imports torch
        from linnet.rerank.cross_network import CrossNetwork  # noqa: PLC0415 - imports torch

        heard = FEATURES if self.use_first_stage_scores else ()
        if folder is not None:
            network = CrossNetwork.load(folder, features=heard)
        else:
            network = CrossNetwork(Encoder.load(self.encoder, markers=[MASK]), features=heard)
        self._check_window(network.encoder)
        if self.isolated:
            require_apart(network.encoder, "cross_encoder")
        return network.to(choose_device()).eval()

    def _check_window(self, encoder: WordPieces) -> None:
        if self.window > encoder.window:
            problem = f"window: {self.window} must be at most {encoder.window}"
            raise RecipeError("cross_encoder", [f"{problem}, which is what the encoder {self.encoder!r} reads"])

    @made_once
    def reader(self) -> Reader:
        """What turns documents into word pieces."""
        return Reader(self.network.encoder, self.kb, candidate=self.candidate, long_forms=self.long_forms)

    @property
    def frame(self) -> Frame:
        """The tokens that hold a sequence together."""
        return frame_of(self.network.encoder, self.window)

    # --- reranking ---------------------------------------------------------------------------------------------------

    def rerank(self, docs: Sequence[Document], /) -> list[list[Candidates]]:
        """Return the candidates of each mention with new scores; the earlier ones are kept as a feature.

        Raises:
            PipelineError: the network was not trained, or the candidates are of another knowledge base version.
        """
        self.require_trained()
        lists = [self.resolved(doc) for doc in docs]
        first = [[self._read_lists(found) for found in own] for own in lists]
        logits = self.score([self.reader.read(doc, own) for doc, own in zip(docs, first, strict=True)])
        return [
            [self._scored(found, some) for found, some in zip(own, ours, strict=True)]
            for own, ours in zip(lists, logits, strict=True)
        ]

    def resolved(self, doc: Document) -> list[Candidates]:
        """Return the candidates of each mention as rows of this knowledge base, in the order of the stage before.

        Raises:
            PipelineError: they are of another version of it.
        """
        lists = []
        for mention in doc.mentions or ():
            found = mention.candidates or Candidates.none(self.kb.version)
            if found.kb and found.kb != self.kb.version:
                raise PipelineError(
                    f"candidates of knowledge base version {found.kb} cannot be reranked with {self.kb.version}"
                )
            lists.append(_as_before(resolve(found, self.kb), self.keeps))
        return lists

    def _read_lists(self, found: Candidates) -> Candidates:
        """Return the candidates that are read: none of a mention that the stage before is sure of."""
        if self.skip_threshold is not None and len(found) and found.scores[0] >= self.skip_threshold:
            return found.top(0)
        return found.top(self.top_k)

    def score(
        self,
        reads: Sequence[Read],
        *,
        tokens: int | None = None,
        alone: bool = False,
        network: CrossNetwork | GraphCross | None = None,
    ) -> list[list[Floats]]:
        """Return the logits of the read candidates of each mention, float32 (candidates,).

        Args:
            reads: documents with the candidates that are read.
            tokens: a batch at most, padding included; None chooses by the device.
            alone: what the network says, the stage before unheard.
            network: that judges; None = its own.
        """
        network = self.network if network is None else network
        packed, owners = self.packed(reads)
        out = [[np.zeros(len(one.candidates), np.float32) for one in read.asked] for read in reads]
        done, total = 0, sum(len(one.slots) for one in packed)
        for rows in token_batches([len(one) for one in packed], tokens=tokens or network.budget):
            slots = [(owners[row], slot) for row in rows for slot in packed[row].slots]
            features = self.features(reads, [] if alone else slots)
            margins = network.margins([packed[row] for row in rows], features, isolated=self.isolated)
            for (owner, slot), margin in zip(slots, margins, strict=True):
                out[owner][slot.mention][slot.candidate] = margin
            done += len(slots)
            tell("pairs of mention and candidate", done, total)
        return out

    def packed(self, reads: Sequence[Read]) -> tuple[list[Packed], list[int]]:
        """Return the token sequences of documents, and which document each is of."""
        packed: list[Packed] = []
        owners: list[int] = []
        if cut := sum(too_long(read.asked, self.frame) for read in reads):
            warn(f"{cut:,} mentions or candidates are too long for a window: their ends are not read")
        for number, read in enumerate(reads):
            some = pack(read.texts, read.asked, self.packing, self.frame, isolated=self.isolated)
            packed += some
            owners += [number] * len(some)
        return packed, owners

    def features(self, reads: Sequence[Read], slots: Sequence[tuple[int, Any]]) -> Floats:
        """Return what the stage before says of some slots, float32 (slots, n); nothing if it is not heard."""
        if not self.use_first_stage_scores or not slots:
            return np.zeros((len(slots), 0), np.float32)
        return np.stack([reads[owner].features[slot.mention][slot.candidate] for owner, slot in slots])

    def _scored(self, found: Candidates, logits: Floats) -> Candidates:
        """Return candidates with probabilities, those that were not read behind the others."""
        if not len(logits):
            return found
        scores = np.empty(len(found), np.float32)
        read = len(logits)
        none = self.network.none_logit
        if self.compete:
            high = max(float(logits.max()), none)
            shares = np.exp(np.maximum(logits - high, LOWEST))
            scores[:read] = shares / (shares.sum() + np.exp(none - high))
        else:
            scores[:read] = 1 / (1 + np.exp(np.minimum(none - logits, -LOWEST)))
        rest = np.arange(1, len(found) - read + 1)
        scores[read:] = scores[:read].min() * BEHIND / rest
        return replace(found, scores=scores, features={**found.features, self.keeps: found.scores}).sorted()

    # --- learning ----------------------------------------------------------------------------------------------------

    def stand_behind(self, before: Component) -> None:
        """Keep earlier scores by another name than cross-encoders before it, whose scores it would undo."""
        count = _count_cross(before)
        self.keeps = f"{BEFORE}{count + 1}" if count else BEFORE

    def learned_values(self) -> dict[str, Any]:
        """Return whether candidates competed in training, how fast it was, and where it keeps earlier scores."""
        return {**super().learned_values(), "compete": self.compete, "pace": self.pace, "keeps": self.keeps}

    def restore_values(self, values: Mapping[str, Any]) -> None:
        """Take what `learned_values` gave."""
        super().restore_values(values)
        self.compete, self.pace = bool(values["compete"]), dict(values["pace"])
        self.keeps = str(values.get("keeps", BEFORE))  # which older folders do not say


def _as_before(found: Candidates, kept: str) -> Candidates:
    """Return candidates as they were before they were reranked, if they were, by the scores `kept` by this name."""
    if kept not in found.features:
        return found
    rest = {name: values for name, values in found.features.items() if name != kept}
    return replace(found, scores=found.features[kept], features=rest).sorted()


def _count_cross(part: Component) -> int:
    """Return how many cross-encoders there are in a component."""
    return isinstance(part, CrossEncoder) + sum(map(_count_cross, inner_of(part)))
