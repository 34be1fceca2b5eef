"""The network of a cross-encoder: the [MASK] of every pair, classified.

As published (Sanz-Cruzado & Lever 2025) a linear layer gives each [MASK] two classes, and the score is the probability
of the second. Beyond: what the stage before said of a candidate is added to that class, with weights that are fitted
when the network has been trained (`weigh` in `linnet.rerank.cross_training`); and the candidates of a mention compete
with each other and with none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from linnet.nn.attention import use_plain_steps
from linnet.nn.device import autocast
from linnet.nn.encoder import Encoder
from linnet.nn.sequences import Sequences, token_vectors
from linnet.nn.texts import token_budget
from linnet.nn.weights import restore_layers, save_layers
from linnet.text.packing import Packed

if TYPE_CHECKING:
    from linnet.rerank.cross_graph import GraphCross

__all__ = ["CrossNetwork"]

Floats = npt.NDArray[np.float32]

HEAD = "head.safetensors"
SPREAD = 0.02  # of the weights that nothing has learned
TRUST = 1.0  # in the logarithm of an earlier score, before weights are fitted


class CrossNetwork(nn.Module):
    """An encoder, and what makes two classes of the vector of each [MASK].

    Args:
        encoder: reads the sequences.
        features: what the stage before says of a candidate, `linnet.rerank.cross_encoder.FEATURES`; none if it is not
            heard.
    """

    def __init__(self, encoder: Encoder, *, features: Sequence[str]) -> None:
        super().__init__()
        self.encoder = encoder
        use_plain_steps(encoder.backbone)
        self.head = nn.Linear(encoder.size, 2)
        with torch.no_grad():  # the same each time, whatever was drawn before
            nn.init.normal_(self.head.weight, std=SPREAD, generator=torch.Generator().manual_seed(13))
            self.head.bias.zero_()
        self.none = nn.Parameter(torch.zeros(1))  # what stands for no candidate where they compete
        self.heard = nn.Parameter(torch.zeros(len(features)), requires_grad=False)
        self.voice = nn.Parameter(torch.ones(1 if features else 0), requires_grad=False)  # of the network, beside these
        if features:
            self.heard[features.index("log")] = TRUST

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.head.weight.device

    @property
    def budget(self) -> int:
        """How many tokens a batch should have at most, padding included."""
        return token_budget(self.device)

    @property
    def none_logit(self) -> float:
        """What stands for no candidate where they compete."""
        return float(self.none.detach())

    def speak_alone(self) -> None:
        """Leave the stage before unheard from now on."""
        self.heard.data.zero_()
        self.voice.data.fill_(1.0)

    def margins(self, packed: Sequence[Packed], features: Floats, *, isolated: bool) -> Floats:
        """Return by how much the right candidate's logit is the higher one, float32 (slots,).

        Args:
            packed: sequences that are read together.
            features: what the stage before says of their slots, float32 (slots, n).
            isolated: candidates are kept apart.
        """
        padding = self.encoder.special.padding
        with torch.inference_mode(), autocast(self.device):
            logits = self(Sequences.of(packed, features, padding=padding, isolated=isolated, device=self.device))
            found: Floats = (logits[:, 1] - logits[:, 0]).float().cpu().numpy()
        return found

    def as_graph(self) -> GraphCross:
        """Return the same for ONNX Runtime, its encoder with weights of a byte each.

        Raises:
            LinnetError: its kind of encoder cannot be written as a graph.
        """
        from linnet.nn.onnx import as_graph  # noqa: PLC0415 - needs the extra onnx
        from linnet.rerank.cross_graph import GraphCross  # noqa: PLC0415 - needs the extra onnx

        inside = {id(weight) for weight in self.encoder.parameters()}
        layers = {name: each for name, each in self.named_parameters() if id(each) not in inside}
        arrays = {name: each.detach().float().cpu().numpy() for name, each in layers.items()}
        return GraphCross(as_graph(self.encoder), arrays)

    def forward(self, batch: Sequences) -> Tensor:
        """Return two logits of each slot, float32 (slots, 2), of which the second is for the right candidate."""
        masks = token_vectors(self.encoder, batch)[batch.at[:, 0], batch.at[:, 1]]
        with torch.autocast(masks.device.type, enabled=False):  # which would let candidates tie
            logits: Tensor = self.head(masks.float())
        if batch.features.shape[1]:
            heard = (batch.features * self.heard).sum(dim=1, keepdim=True)  # (slots, 1)
            return logits * self.voice + nn.functional.pad(heard, (1, 0))
        return logits

    def save(self, folder: Path) -> None:
        """Write the encoder and the layers above it."""
        self.encoder.save(folder)
        save_layers(self, folder / HEAD, encoders=[self.encoder])

    @classmethod
    def load(cls, folder: Path, *, features: Sequence[str]) -> CrossNetwork:
        """Return what `save` wrote.

        Raises:
            FormatError: the layers above the encoder are not those that are wanted.
        """
        network = cls(Encoder.load(folder), features=features)
        restore_layers(network, folder / HEAD, encoders=[network.encoder])
        return network
