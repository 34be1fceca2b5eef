"""The network of a cross-encoder: the [MASK] of every pair, classified.

As published (Sanz-Cruzado & Lever 2025) a linear layer gives each [MASK] two classes, and the score is the probability
of the second. Beyond: what the stage before said of a candidate is added to that class, with weights that are fitted
when the network has been trained (`linnet.rerank.cross_weights`); and the candidates of a mention compete with each
other and with none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from linnet.errors import FormatError
from linnet.nn.attention import use_plain_steps
from linnet.nn.encoder import Encoder
from linnet.nn.masks import masked, seen_by_all, takes_global
from linnet.nn.quiet import quietly
from linnet.nn.texts import token_batches, token_budget
from linnet.nn.weights import read_weights, write_weights
from linnet.rerank.cross_texts import FEATURES
from linnet.rerank.packing import Frame, Packed, visible

__all__ = ["CrossNetwork", "Sequences", "batched", "frame_of"]

MASK = "[MASK]"
HEAD = "head.safetensors"
SPREAD = 0.02  # of the weights that nothing has learned
TRUST = 1.0  # in the logarithm of an earlier score, before weights are fitted


@dataclass
class Sequences:
    """Packed sequences as tensors.

    Attributes:
        ids: int64 (sequences, tokens).
        mask: bool (sequences, tokens), or (sequences, 1, tokens, tokens) of isolated candidates.
        positions: int64 (sequences, tokens), or (sequences, 0) where they count from 0.
        at: int64 (slots, 2), sequence and token of each [MASK].
        features: float32 (slots, `FEATURES`), or (slots, 0) while the network speaks alone.
    """

    ids: Tensor
    mask: Tensor
    positions: Tensor
    at: Tensor
    features: Tensor

    @classmethod
    def of(
        cls, packed: Sequence[Packed], features: Any, *, padding: int, isolated: bool, device: torch.device
    ) -> Sequences:
        """Return sequences as tensors; `features` float32 (slots, n) come in the order of their slots."""
        longest = max(map(len, packed), default=0)
        ids = np.full((len(packed), longest), padding, np.int64)
        lengths = np.array([len(one) for one in packed])
        filled = np.arange(longest) < lengths[:, None]
        ids[filled] = np.concatenate([one.ids for one in packed]) if packed else []
        positions = np.zeros((len(packed), longest if isolated else 0), np.int64)
        mask: Any = filled
        if isolated:
            positions[filled] = np.concatenate([one.positions for one in packed])
            mask = np.zeros((len(packed), 1, longest, longest), np.bool_)
            for place, one in enumerate(packed):
                mask[place, 0, : len(one), : len(one)] = visible(one)
            mask[:, 0, np.arange(longest), np.arange(longest)] = True  # padding sees itself: it must see something
        at = np.array([(place, token) for place, one in enumerate(packed) for token in one.at], np.int64).reshape(-1, 2)
        arrays = (ids, mask, positions, at, np.asarray(features, np.float32))
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))


class CrossNetwork(nn.Module):
    """An encoder, and what makes two classes of the vector of each [MASK].

    Args:
        encoder: reads the sequences.
        heard: whether the stage before is heard.
    """

    def __init__(self, encoder: Encoder, *, heard: bool) -> None:
        super().__init__()
        self.encoder = encoder
        use_plain_steps(encoder.backbone)
        self.global_attention = takes_global(encoder)  # if so, [CLS] and every [MASK] see all and are seen
        self.head = nn.Linear(encoder.size, 2)
        with torch.no_grad():  # the same each time, whatever was drawn before
            nn.init.normal_(self.head.weight, std=SPREAD, generator=torch.Generator().manual_seed(13))
            self.head.bias.zero_()
        self.none = nn.Parameter(torch.zeros(1))  # what stands for no candidate where they compete
        self.heard = nn.Parameter(torch.zeros(len(FEATURES) if heard else 0), requires_grad=False)
        self.voice = nn.Parameter(torch.ones(1 if heard else 0), requires_grad=False)  # of the network, beside these
        if heard:
            self.heard[FEATURES.index("log")] = TRUST

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.head.weight.device

    def forward(self, batch: Sequences) -> Tensor:
        """Return two logits of each slot, float32 (slots, 2), of which the second is for the right candidate."""
        masks = self.hidden(batch)[batch.at[:, 0], batch.at[:, 1]]
        with torch.autocast(masks.device.type, enabled=False):  # which would let candidates tie
            logits: Tensor = self.head(masks.float())
        if batch.features.shape[1]:
            heard = (batch.features * self.heard).sum(dim=1, keepdim=True)  # (slots, 1)
            return logits * self.voice + nn.functional.pad(heard, (1, 0))
        return logits

    def hidden(self, batch: Sequences) -> Tensor:
        """Return the vectors of all tokens, (sequences, tokens, d)."""
        mask: Tensor | Mapping[str, Tensor]
        extra = seen_by_all(batch.ids, batch.at) if self.global_attention else {}
        if batch.mask.ndim == 4:
            mask, extra["position_ids"] = masked(self.encoder, batch.mask, batch.positions)
        else:
            mask = batch.mask.long()
        with quietly() if self.global_attention else nullcontext():  # Longformer tells that it pads
            vectors: Tensor = self.encoder(batch.ids, mask, **extra)
        return vectors

    def save(self, folder: Path) -> None:
        """Write the encoder and the layers above it."""
        self.encoder.save(folder)
        weights = {key: value for key, value in self.state_dict().items() if not key.startswith("encoder.")}
        write_weights(weights, folder / HEAD)

    @classmethod
    def load(cls, folder: Path, *, heard: bool) -> CrossNetwork:
        """Return what `save` wrote.

        Raises:
            FormatError: the layers above the encoder are not those that are wanted.
        """
        network = cls(Encoder.load(folder), heard=heard)
        wanted = {key: value.shape for key, value in network.state_dict().items() if not key.startswith("encoder.")}
        path = folder / HEAD
        found = read_weights(path)
        if {key: value.shape for key, value in found.items()} != wanted:
            raise FormatError(path, "holds no layers that fit: leave the options as they were when it was trained")
        network.load_state_dict(found, strict=False)
        return network


def frame_of(encoder: Encoder, window: int = 0) -> Frame:
    """Return the tokens that hold a sequence together, of `window` tokens at most; 0 = as many as the encoder reads."""
    tokenizer = encoder.tokenizer
    mask = encoder.marker(MASK) if tokenizer.mask_token_id is None else tokenizer.mask_token_id
    return Frame(tokenizer.cls_token_id, tokenizer.sep_token_id, mask, window or encoder.window)


def batched(packed: Sequence[Packed], device: torch.device, *, tokens: int | None = None) -> Iterator[list[int]]:
    """Yield places of sequences of like length, as many at a time as are read fast."""
    lengths = [len(one) for one in packed]
    for rows in token_batches(lengths, tokens=tokens or token_budget(device)):
        yield rows.tolist()
