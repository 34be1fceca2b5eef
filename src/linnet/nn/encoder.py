"""A Hugging Face encoder with its tokenizer: word pieces in, one vector a token out.

Everything that reads text with a network holds one of these. The backbone is any encoder that Transformers knows
(BERT, RoBERTa, ModernBERT, Longformer …), without its pooling layer, which no paper here uses. Encoders with a decoder
are `linnet.nn.seq2seq`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerFast

from linnet.errors import LinnetError
from linnet.nn.checkpoints import checkpoint
from linnet.nn.text_network import TextNetwork, first_position, has_decoder, load_parts, read_config

__all__ = ["Encoder"]


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
        encoder.add_markers(markers)
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
