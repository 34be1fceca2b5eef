"""Reranking by reading mention and candidates together (Sanz-Cruzado & Lever 2025): one network, five packings.

How sequences are made says `linnet.text.packing`, what the network is `linnet.rerank.cross_network`, how it learns
`linnet.rerank.cross_training`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from linnet.codec import resolve
from linnet.data import Candidates, Document
from linnet.errors import PipelineError, RecipeError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Component, Reranker, Step
from linnet.pipeline.learner import made_once
from linnet.reporter import tell, warn
from linnet.rerank.cross_args import CandidateText, CrossArgs
from linnet.text.packing import Frame, Packed, Packing, pack, too_long
from linnet.train.network import NetworkComponent

if TYPE_CHECKING:
    from linnet.rerank.cross_network import CrossNetwork
    from linnet.rerank.cross_texts import Read, Reader

__all__ = ["CrossEncoder"]

Floats = npt.NDArray[np.float32]

BEFORE = "before"  # the feature that keeps the scores of the stage before
LOWEST = -60.0  # a logit below the highest that still tells candidates apart
BEHIND = 0.5  # of the lowest score of a candidate that was read, at most, for one that was not


@dataclass(kw_only=True)
class CrossEncoder(NetworkComponent["CrossNetwork"], Reranker):
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
            (extra ``onnx``), which cannot keep candidates apart.

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

    NAME = "cross_encoder"
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

    def read_network(self, folder: Path | None) -> CrossNetwork:
        """Return the network of a folder, else the pre-trained encoder."""
        from linnet.nn.device import choose_device  # noqa: PLC0415 - imports torch
        from linnet.nn.encoder import Encoder  # noqa: PLC0415 - imports torch
        from linnet.nn.isolation import require_apart  # noqa: PLC0415 - imports torch
        from linnet.nn.sequences import MASK  # noqa: PLC0415 - imports torch
        from linnet.rerank.cross_network import CrossNetwork  # noqa: PLC0415 - imports torch

        if folder is not None:
            network = CrossNetwork.load(folder, use_first_stage_scores=self.use_first_stage_scores)
        else:
            network = CrossNetwork(
                Encoder.load(self.encoder, markers=[MASK]), use_first_stage_scores=self.use_first_stage_scores
            )
        if self.window > network.encoder.window:
            problem = f"window: {self.window} must be at most {network.encoder.window}"
            raise RecipeError("cross_encoder", [f"{problem}, which is what the encoder {self.encoder!r} reads"])
        if self.isolated:
            require_apart(network.encoder, "cross_encoder")
        if self.backend == "onnx" and folder is not None:
            from linnet.nn.onnx import OnnxEncoder  # noqa: PLC0415 - needs the extra onnx

            network.encoder = OnnxEncoder(network.encoder)
        else:
            network = network.to(choose_device())
        return network.eval()

    @made_once
    def reader(self) -> Reader:
        """What turns documents into word pieces."""
        from linnet.rerank.cross_texts import Reader  # noqa: PLC0415 - imports torch

        return Reader(self.network.encoder, self.kb, candidate=self.candidate, long_forms=self.long_forms)

    @property
    def frame(self) -> Frame:
        """The tokens that hold a sequence together."""
        from linnet.nn.sequences import frame_of  # noqa: PLC0415 - imports torch

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
            lists.append(_as_before(resolve(found, self.kb)))
        return lists

    def _read_lists(self, found: Candidates) -> Candidates:
        """Return the candidates that are read: none of a mention that the stage before is sure of."""
        if self.skip_threshold is not None and len(found) and found.scores[0] >= self.skip_threshold:
            return found.top(0)
        return found.top(self.top_k)

    def score(self, reads: Sequence[Read], *, tokens: int | None = None, alone: bool = False) -> list[list[Floats]]:
        """Return the logits of the read candidates of each mention, float32 (candidates,).

        Args:
            reads: documents with the candidates that are read.
            tokens: a batch at most, padding included; None chooses by the device.
            alone: what the network says, the stage before unheard.
        """
        import torch  # noqa: PLC0415 - slow to import

        from linnet.nn.device import autocast  # noqa: PLC0415 - imports torch
        from linnet.nn.sequences import Sequences, batched  # noqa: PLC0415 - imports torch

        network = self.network
        packed, owners = self.packed(reads)
        out = [[np.zeros(len(one.candidates), np.float32) for one in read.asked] for read in reads]
        padding = network.encoder.tokenizer.pad_token_id
        done, total = 0, sum(len(one.slots) for one in packed)
        with torch.inference_mode(), autocast(network.device):
            for rows in batched(packed, network.device, tokens=tokens):
                some = [packed[row] for row in rows]
                slots = [(owners[row], slot) for row in rows for slot in packed[row].slots]
                features = self.features(reads, [] if alone else slots)
                batch = Sequences.of(some, features, padding=padding, isolated=self.isolated, device=network.device)
                logits = network(batch)
                margins = (logits[:, 1] - logits[:, 0]).float().cpu().numpy()
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
        none = float(self.network.none.detach())
        if self.compete:
            high = max(float(logits.max()), none)
            shares = np.exp(np.maximum(logits - high, LOWEST))
            scores[:read] = shares / (shares.sum() + np.exp(none - high))
        else:
            scores[:read] = 1 / (1 + np.exp(np.minimum(none - logits, -LOWEST)))
        rest = np.arange(1, len(found) - read + 1)
        scores[read:] = scores[:read].min() * BEHIND / rest
        return replace(found, scores=scores, features={**found.features, BEFORE: found.scores}).sorted()

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],
        /,
        *,
        before: Component,
        kb: KnowledgeBase,  # noqa: ARG002
        args: Mapping[str, Any],
    ) -> Iterator[Step]:
        """Train the network on the mentions of `train` with the candidates that `before` gives them.

        `before` must not know the answers of the documents it is given: `linnet.fit.fitting` sees to that.

        Raises:
            RecipeError: `args` that neither this training nor the loop knows.
            DataError: no mention with a right candidate.
        """
        from linnet.rerank.cross_training import fit  # noqa: PLC0415 - imports torch

        yield from fit(self, train, dev, before=before, args=args)

    @classmethod
    def check(cls, args: Mapping[str, Any]) -> None:
        """Refuse wrong arguments of `fit` before anything is trained.

        Raises:
            RecipeError: all that is wrong with them.
        """
        CrossArgs.split(args)

    def learned_values(self) -> dict[str, Any]:
        """Return whether candidates competed in training, and how fast it was."""
        return {**super().learned_values(), "compete": self.compete, "pace": self.pace}

    def restore_values(self, values: Mapping[str, Any]) -> None:
        """Take what `learned_values` gave."""
        super().restore_values(values)
        self.compete, self.pace = bool(values["compete"]), dict(values["pace"])


def _as_before(found: Candidates) -> Candidates:
    """Return candidates as they were before they were reranked, if they were."""
    if BEFORE not in found.features:
        return found
    rest = {name: values for name, values in found.features.items() if name != BEFORE}
    return replace(found, scores=found.features[BEFORE], features=rest).sorted()
