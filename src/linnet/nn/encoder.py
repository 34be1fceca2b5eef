"""A Hugging Face encoder with its tokenizer: word pieces in, one vector a token out.

Everything that reads text with a network holds one of these. The backbone is any encoder that Transformers knows
(BERT, RoBERTa, ModernBERT, Longformer …), without its pooling layer, which no paper here uses. Encoders with a decoder
are `linnet.nn.seq2seq`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken
from torch import Tensor
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerFast

from linnet.errors import LinnetError
from linnet.nn.checkpoints import checkpoint
from linnet.nn.quiet import quietly
from linnet.nn.text_network import TextNetwork, first_position, has_decoder, load_parts, read_config

__all__ = ["Encoder"]

NOISE = 0.1  # of new embeddings, as a share of the spread of the known ones


class Encoder(TextNetwork):
    """An encoder and its tokenizer, which has tokens for start, end and padding; `load` makes one.

    Attributes:
        first_position: the position of a text's first token; RoBERTa and its like count from behind the padding's.
    """

    first_position: int

    def __init__(self, backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
        super().__init__(backbone, tokenizer)
        self.first_position = first_position(backbone)

    @classmethod
    def load(cls, name: str | Path, *, markers: Sequence[str] = (), download: bool = False) -> Encoder:
        """Return the encoder of a checkpoint, in evaluation mode, on the CPU.

        Loading leaves PyTorch's random state as it was, and gives the same weights each time.

        Args:
            name: as of `linnet.nn.checkpoints.checkpoint`.
            markers: special tokens to add, such as ``[MS]``; those the tokenizer has are kept. The embedding of a new
                one is the mean of all, plus a little noise that depends on its text alone.
            download: whether a name at Hugging Face may be fetched.

        Raises:
            LinnetError: no such checkpoint, or none of an encoder with a fast tokenizer.
            FormatError: a weight is no finite number.
        """
        folder = checkpoint(str(name), download=download)
        encoder = cls(*_load(folder))
        if markers:
            with torch.random.fork_rng(devices=[]):  # their embeddings are drawn, though not kept
                encoder._add(markers)
        return encoder

    def forward(self, ids: Tensor, mask: Tensor | Mapping[str, Tensor], **extra: Any) -> Tensor:
        """Return the last hidden states (texts, tokens, size) of token ids (texts, tokens).

        Args:
            ids: token ids, (texts, tokens).
            mask: 1 for tokens, 0 for padding, (texts, tokens); or what `linnet.nn.masks.masked` returns.
            extra: what the backbone takes besides, such as ``position_ids`` or ``global_attention_mask``.
        """
        hidden: Tensor = self.backbone(input_ids=ids, attention_mask=mask, **extra).last_hidden_state
        return hidden

    def _add(self, markers: Sequence[str]) -> None:
        """Add special tokens with embeddings of their own."""
        known = self.tokenizer.get_vocab()
        size = len(self.tokenizer)
        tokens = [AddedToken(token, special=True, normalized=False) for token in markers]
        self.tokenizer.add_tokens(tokens, special_tokens=True)
        new = [token for token in dict.fromkeys(markers) if token not in known]
        old = self.embeddings.weight.detach()
        if len(self.tokenizer) > len(old):  # some checkpoints have rows to spare
            with quietly():
                self.backbone.resize_token_embeddings(len(self.tokenizer), mean_resizing=False)
        weight = self.embeddings.weight
        mean, spread = old[:size].mean(dim=0), old[:size].std(dim=0)
        with torch.no_grad():
            for token in new:
                row = self.tokenizer.convert_tokens_to_ids(token)
                weight[row] = mean + NOISE * spread * _noise(token, len(mean))


def _load(folder: Path) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Return the network and the tokenizer of a folder, checked to be whole and of the right kind."""
    config = read_config(folder, "an encoder")
    if has_decoder(config):
        raise LinnetError(
            f"{folder}: {config.model_type} is an encoder with a decoder, expected an encoder alone; "
            "linnet.nn.seq2seq.Seq2Seq reads both"
        )
    backbone, tokenizer = load_parts(AutoModel, folder, config, "an encoder", spare=("pooler.",))
    if getattr(backbone, "pooler", None) is not None:
        backbone.pooler = None
    return backbone, tokenizer


def _noise(token: str, size: int) -> Tensor:
    """Return numbers (size,) of a standard normal distribution that depend on `token` alone."""
    seed = int.from_bytes(hashlib.blake2b(token.encode(), digest_size=7).digest(), "big")
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))
