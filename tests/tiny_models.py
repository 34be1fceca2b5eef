"""Encoders small enough to be made on the spot: random weights, a vocabulary of a few words and all letters."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = ["WORDS", "tiny_bert"]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("seizure", "seizures", "short", "stature", "cleft", "palate", "renal", "cyst", "heart", "attack", "and", "of")


def tiny_bert(
    folder: Path,
    *,
    words: Sequence[str] = WORDS,
    layers: int = 2,
    size: int = 32,
    window: int = 512,
    seed: int = 13,
) -> Path:
    """Write a BERT with random weights and its WordPiece tokenizer to `folder`, and return it.

    Lower-case `words` are pieces of their own; anything else falls into letters, digits and signs.
    """
    import torch
    from transformers import BertConfig, BertModel

    from linnet.nn.quiet import quietly

    with quietly(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        tokenizer = _tokenizer(words, window)
        config = BertConfig(
            vocab_size=len(tokenizer), hidden_size=size, num_hidden_layers=layers, num_attention_heads=4,
            intermediate_size=2 * size, max_position_embeddings=window, initializer_range=0.3,
        )  # fmt: skip
        BertModel(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(words: Sequence[str], window: int) -> PreTrainedTokenizerFast:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    signs = string.ascii_lowercase + string.digits + string.punctuation
    pieces = dict.fromkeys((*SPECIAL, *signs, *("##" + sign for sign in signs), *words))
    vocabulary = {piece: row for row, piece in enumerate(pieces)}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ends)
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    options = {"tokenizer_object": backend, "model_max_length": window, **dict(zip(names, SPECIAL, strict=True))}
    return PreTrainedTokenizerFast(**options)  # type: ignore[no-untyped-call]
