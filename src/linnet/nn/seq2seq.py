"""A Hugging Face encoder with a decoder (T5, BART …) and its tokenizer: text in, scores of what follows out.

Where there is none, a pair is made of one encoder: both sides begin with its weights and share its vocabulary, only
what looks from the decoder to the encoder is new (Rothe et al. 2020).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    AutoModelForSeq2SeqLM,
    BertLMHeadModel,
    EncoderDecoderConfig,
    EncoderDecoderModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.modeling_outputs import BaseModelOutput

from linnet.errors import LinnetError
from linnet.nn.checkpoints import checkpoint
from linnet.nn.decoding import CachedDecoding, Decoding, PackedDecoding
from linnet.nn.encoder import Encoder
from linnet.nn.quiet import quietly
from linnet.nn.text_network import TextNetwork, first_position, has_decoder, load_parts, read_config
from linnet.nn.weights import names_of_weights, writing
from linnet.text.word_pieces import plain

__all__ = ["Seq2Seq"]

ENDS = ("eos_token_id", "pad_token_id")  # tokens that every tokenizer of these has; T5's has none for the start
WHAT = "an encoder with a decoder"
PAIR = "encoder-decoder"  # what Transformers calls a pair
PAIRED = "bert"  # the kind of encoders that pairs are made of
SHARED = "decoder.bert.embeddings.word_embeddings."  # the vocabulary of a pair's decoder, which is its encoder's
TIED = (SHARED, "decoder.cls.predictions.decoder.")  # what reads and writes it


class Seq2Seq(TextNetwork):
    """An encoder with a decoder and their tokenizer, which has tokens for end and padding; `load` makes one.

    Attributes:
        start: the id that the decoder begins with.
        end: the id that ends texts.
    """

    start: int
    end: int

    def __init__(self, backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, *, start: int) -> None:
        super().__init__(backbone, tokenizer)
        if backbone.config.model_type == PAIR:  # its window is so far that of the encoder
            decoder: Any = backbone.decoder
            self.window = min(self.window, decoder.config.max_position_embeddings - first_position(decoder.base_model))
        self.start = start
        self.end = int(tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id)

    @classmethod
    def load(cls, name: str | Path, *, markers: Sequence[str] = (), download: bool = False) -> Seq2Seq:
        """Return the network of a checkpoint, in evaluation mode, on the CPU.

        Args:
            name: as of `linnet.nn.checkpoints.checkpoint`.
            markers: special tokens to add, as of `linnet.nn.encoder.Encoder.load`.
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
        pair = config.model_type == PAIR
        # a bias that a checkpoint lacks is made of zeros, a vocabulary that is shared stands in the file once
        spare = (*TIED, "encoder.pooler.") if pair else ("final_logits_bias",)
        needs = ("sep_token_id", "pad_token_id") if pair else ENDS
        backbone, tokenizer = load_parts(AutoModelForSeq2SeqLM, folder, config, WHAT, needs=needs, spare=spare)
        if pair:
            backbone.encoder.pooler = None
            if not any(name.startswith(SHARED) for name in names_of_weights(folder)):
                _share_vocabulary(backbone)
        told = (backbone.config, backbone.generation_config)
        starts = [start for one in told if (start := getattr(one, "decoder_start_token_id", None)) is not None]
        if not starts:
            raise LinnetError(f"{folder}: config.json has no decoder_start_token_id, which the decoder begins with")
        made = cls(backbone, tokenizer, start=int(starts[0]))
        made.add_markers(markers)
        return made

    @classmethod
    def pair(cls, name: str | Path, *, markers: Sequence[str] = (), download: bool = False) -> Seq2Seq:
        """Return an encoder with a decoder, both begun with the weights of one encoder, in evaluation mode.

        The weights that are new are drawn with a fixed seed; PyTorch's random state is left as it was. What writes
        tokens passes on what the last layer gives, until training changes it.

        Args:
            name: of an encoder of the kind of BERT, as of `linnet.nn.checkpoints.checkpoint`.
            markers: special tokens to add.
            download: whether a name at Hugging Face may be fetched.

        Raises:
            LinnetError: no such checkpoint, or an encoder of another kind.
            FormatError: a weight is no finite number.
        """
        begun = Encoder.load(name, markers=markers, download=download)
        if begun.backbone.config.model_type != PAIRED:
            raise LinnetError(
                f"{name}: {begun.backbone.config.model_type}, but pairs are made of encoders of the kind of BERT; give "
                f"one of these, or {WHAT}"
            )
        config: Any = copy.deepcopy(begun.backbone.config)
        config.is_decoder = config.add_cross_attention = True
        with quietly(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            decoder = BertLMHeadModel(config)
            decoder.bert.load_state_dict(begun.backbone.state_dict(), strict=False)
            nn.init.eye_(decoder.cls.predictions.transform.dense.weight)
            told: Any = EncoderDecoderConfig.from_encoder_decoder_configs(begun.backbone.config, config)
            told.decoder_start_token_id = begun.tokenizer.cls_token_id
            told.pad_token_id = begun.tokenizer.pad_token_id
            backbone = EncoderDecoderModel(config=told, encoder=begun.backbone, decoder=decoder)
        _share_vocabulary(backbone)
        return cls(backbone, begun.tokenizer, start=int(begun.tokenizer.cls_token_id))

    def encode(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the encoder's last hidden states (texts, tokens, size) of token ids (texts, tokens).

        Args:
            ids: token ids, (texts, tokens).
            mask: 1 for tokens, 0 for padding, (texts, tokens).
        """
        encoder = self.backbone.get_encoder()
        hidden: Tensor = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return hidden

    def logits(self, encoded: Tensor, mask: Tensor, targets: Tensor, at: Tensor | None = None) -> Tensor:
        """Return the scores of what may stand at each place of a text that follows, (texts, targets, vocabulary).

        The decoder is told the right tokens before each place (teacher forcing), none behind it, so that padding at
        the end changes nothing.

        Args:
            encoded: what `encode` gave, (texts, tokens, size).
            mask: of these texts, (texts, tokens).
            targets: token ids of what follows, (texts, targets), without the id that the decoder begins with.
            at: bool (texts, targets): the places that are asked for; their scores come as (places, vocabulary), at the
                cost of these alone. None = all.
        """
        shown = torch.cat([torch.full_like(targets[:, :1], self.start), targets[:, :-1]], dim=1)
        if at is None:
            return self._decode(encoded, mask, shown).logits  # type: ignore[no-any-return]
        backbone: Any = self.backbone
        hook = backbone.get_output_embeddings().register_forward_pre_hook(lambda _, given: (given[0][at],))
        try:
            return self._decode(encoded, mask, shown).logits.flatten(0, -2)  # type: ignore[no-any-return]
        finally:
            hook.remove()

    @property
    def packed(self) -> bool:
        """Whether prompts of several lengths may be read together."""
        decoder = getattr(self.backbone, "decoder", None)
        return isinstance(decoder, BertLMHeadModel) and not hasattr(self.backbone, "enc_to_dec_proj")

    def begin(self, encoded: Tensor, mask: Tensor, prompts: Sequence[Sequence[int]]) -> Decoding:
        """Return what the decoder goes on from behind prompts.

        Args:
            encoded: what `encode` gave, (texts, tokens, size).
            mask: of these texts, (texts, tokens).
            prompts: of each text, its first token the one that the decoder begins with; as many for each unless
                the network is `packed`.
        """
        if self.packed:
            return PackedDecoding(self.backbone.decoder, encoded, mask, prompts)
        return CachedDecoding(self.backbone, encoded, mask, prompts)

    def _decode(self, encoded: Tensor, mask: Tensor, ids: Tensor) -> Any:
        outputs = BaseModelOutput(last_hidden_state=encoded)
        return self.backbone(encoder_outputs=outputs, attention_mask=mask, decoder_input_ids=ids, use_cache=False)

    def save(self, folder: Path) -> None:
        """Write ``config.json``, ``model.safetensors`` and the tokenizer's files to `folder`, made if needed.

        Raises:
            OSError: they cannot be written.
        """
        if not _shares_vocabulary(self.backbone):
            super().save(folder)
            return
        folder.mkdir(parents=True, exist_ok=True)
        plain(self.tokenizer.backend_tokenizer)
        weights = {key: value for key, value in self.backbone.state_dict().items() if not key.startswith(TIED)}
        with quietly(), writing():
            self.backbone.save_pretrained(folder, state_dict=weights)
            self.tokenizer.save_pretrained(folder)


def _shares_vocabulary(backbone: Any) -> bool:
    """Return whether it is a pair whose decoder has the vectors of word pieces of its encoder."""
    if backbone.config.model_type != PAIR:
        return False
    return backbone.decoder.get_input_embeddings() is backbone.encoder.get_input_embeddings()


def _share_vocabulary(backbone: Any) -> None:
    """Let the decoder of a pair read and write with the vectors of word pieces that its encoder reads with."""
    backbone.decoder.set_input_embeddings(backbone.encoder.get_input_embeddings())
    backbone.decoder.tie_weights()
