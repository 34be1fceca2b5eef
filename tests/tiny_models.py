"""Encoders small enough to be made on the spot: random weights, a vocabulary of a few words and all letters."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = ["WORDS", "tiny_bert", "tiny_model"]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("seizure", "seizures", "short", "stature", "cleft", "palate", "renal", "cyst", "heart", "attack", "and", "of")


KINDS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "bert": ("Bert", {}),
    "deberta": (
        "DebertaV2",
        {
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "position_buckets": 32,
            "max_relative_positions": 64,
        },
    ),
    "longformer": ("Longformer", {"attention_window": 16}),
    "modernbert": ("ModernBert", {"local_attention": 16}),
    "mpnet": ("MPNet", {}),
    "roberta": ("Roberta", {}),
}
BEHIND_PADDING = ("longformer", "mpnet", "roberta")  # count positions from there: from 1 here


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
    return tiny_model(folder, "bert", words=words, layers=layers, size=size, window=window, seed=seed)


def tiny_model(folder: Path, kind: str, *, words: Sequence[str] = WORDS, window: int = 512, **more: int) -> Path:
    """Write an encoder of another class as `tiny_bert` does: ``modernbert``, ``longformer`` and so on.

    Where attention is local, a token sees 8 tokens on each side.
    """
    import torch
    import transformers

    from linnet.nn.quiet import quietly

    layers, size, seed = more.get("layers", 2), more.get("size", 32), more.get("seed", 13)
    name, options = KINDS[kind]
    with quietly(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        tokenizer = _tokenizer(words, window)
        config = getattr(transformers, f"{name}Config")(
            vocab_size=len(tokenizer), hidden_size=size, num_hidden_layers=layers, num_attention_heads=4,
            intermediate_size=2 * size, max_position_embeddings=window + (kind in BEHIND_PADDING),
            initializer_range=0.3, pad_token_id=0, **options,
        )  # fmt: skip
        getattr(transformers, f"{name}Model")(config).save_pretrained(folder)
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
