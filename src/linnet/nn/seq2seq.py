"""A Hugging Face encoder with a decoder (T5, BART …) and its tokenizer: text in, scores of what follows out."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoModelForSeq2SeqLM, PreTrainedModel, PreTrainedTokenizerFast
from transformers.modeling_outputs import BaseModelOutput

from linnet.errors import LinnetError
from linnet.nn.checkpoints import checkpoint
from linnet.nn.text_network import TextNetwork, has_decoder, load_parts, read_config

__all__ = ["Seq2Seq"]

ENDS = ("eos_token_id", "pad_token_id")  # tokens that every tokenizer of these has; T5's has none for the start
WHAT = "an encoder with a decoder"


class Seq2Seq(TextNetwork):
    """An encoder with a decoder and their tokenizer, which has tokens for end and padding; `load` makes one.

    Attributes:
        start: the id that the decoder begins with.
    """

    start: int

    def __init__(self, backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, *, start: int) -> None:
        super().__init__(backbone, tokenizer)
        self.start = start

    @classmethod
    def load(cls, name: str | Path, *, download: bool = False) -> Seq2Seq:
        """Return the network of a checkpoint, in evaluation mode, on the CPU.

        Args:
            name: as of `linnet.nn.checkpoints.checkpoint`.
            download: whether a name at Hugging Face may be fetched.

        Raises:
            LinnetError: no such checkpoint, or none of an encoder with a decoder and a fast tokenizer.
            FormatError: a weight is no finite number.
        """
        folder = checkpoint(str(name), download=download)
        config = read_config(folder, WHAT)
        if not has_decoder(config):
            raise LinnetError(
                f"{folder}: {config.model_type} has no decoder, expected {WHAT}; linnet.nn.encoder.Encoder reads it"
            )
        # a bias that a checkpoint lacks is made of zeros
        spare = ("final_logits_bias",)
        backbone, tokenizer = load_parts(AutoModelForSeq2SeqLM, folder, config, WHAT, needs=ENDS, spare=spare)
        told = (backbone.config, backbone.generation_config)
        starts = [start for one in told if (start := getattr(one, "decoder_start_token_id", None)) is not None]
        if not starts:
            raise LinnetError(f"{folder}: config.json has no decoder_start_token_id, which the decoder begins with")
        return cls(backbone, tokenizer, start=int(starts[0]))

    def encode(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the encoder's last hidden states (texts, tokens, size) of token ids (texts, tokens).

        Args:
            ids: token ids, (texts, tokens).
            mask: 1 for tokens, 0 for padding, (texts, tokens).
        """
        encoder = self.backbone.get_encoder()
        hidden: Tensor = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return hidden

    def logits(self, encoded: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        """Return the scores of what may stand at each place of a text that follows, (texts, targets, vocabulary).

        The decoder is told the right tokens before each place (teacher forcing), none behind it, so that padding at
        the end changes nothing.

        Args:
            encoded: what `encode` gave, (texts, tokens, size).
            mask: of these texts, (texts, tokens).
            targets: token ids of what follows, (texts, targets), without the id that the decoder begins with.
        """
        shown = torch.cat([torch.full_like(targets[:, :1], self.start), targets[:, :-1]], dim=1)
        outputs = BaseModelOutput(last_hidden_state=encoded)
        found = self.backbone(encoder_outputs=outputs, attention_mask=mask, decoder_input_ids=shown, use_cache=False)
        logits: Tensor = found.logits
        return logits
