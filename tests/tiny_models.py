"""Encoders small enough to be made on the spot: random weights, a vocabulary of a few words and all letters."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = ["WORDS", "tiny_bert", "tiny_model", "tiny_seq2seq", "tiny_spacy", "tiny_token_classifier"]

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
BART_LAYERS: Mapping[str, Any] = {"layers": 2, "ffn_dim": 64, "attention_heads": 4}
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


def tiny_seq2seq(folder: Path, kind: str, *, words: Sequence[str] = WORDS, window: int = 128) -> Path:
    """Write an encoder with a decoder and random weights, ``t5`` or ``bart``, to `folder`, and return it.

    Its tokenizer is that of `tiny_bert`, whose [SEP] ends texts; as T5's own it has no token for the start.
    """
    import torch
    from transformers import (
        BartConfig,
        BartForConditionalGeneration,
        PreTrainedTokenizerFast,
        T5Config,
        T5ForConditionalGeneration,
    )

    from linnet.nn.quiet import quietly

    with quietly(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(13)
        backend = _tokenizer(words, window).backend_tokenizer
        tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
            tokenizer_object=backend, model_max_length=window, pad_token="[PAD]", unk_token="[UNK]", eos_token="[SEP]"
        )
        size: dict[str, Any] = {"vocab_size": len(tokenizer), "d_model": 32, "pad_token_id": 0, "eos_token_id": 3}
        model: Any
        if kind == "t5":
            config: Any = T5Config(**size, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
            config.decoder_start_token_id = 0
            model = T5ForConditionalGeneration(config)
        else:
            layers = {f"{side}_{what}": n for side in ("encoder", "decoder") for what, n in BART_LAYERS.items()}
            config = BartConfig(
                **size, **layers, max_position_embeddings=window, init_std=0.3, bos_token_id=2,
                decoder_start_token_id=3, forced_eos_token_id=None,
            )  # fmt: skip
            model = BartForConditionalGeneration(config)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def tiny_token_classifier(folder: Path, labels: Sequence[str], *, says: Mapping[str, str] | None = None) -> Path:
    """Write a BERT with random weights that labels tokens, and return its folder.

    Args:
        folder: where to.
        labels: its ``id2label``.
        says: piece → the label that it gets wherever it stands, other pieces get ``O``; None leaves it to the weights.
    """
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    from linnet.nn.quiet import quietly

    tiny_bert(folder)
    with quietly(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(13)
        named = dict(enumerate(labels))
        model = AutoModelForTokenClassification.from_pretrained(folder, num_labels=len(named), id2label=named)
        torch.nn.init.normal_(model.classifier.weight)
        if says is not None:
            _say(model, AutoTokenizer.from_pretrained(folder).get_vocab(), labels, says)
        model.save_pretrained(folder)
    return folder


def _say(model: Any, vocabulary: Mapping[str, int], labels: Sequence[str], says: Mapping[str, str]) -> None:
    """Make the label of a piece depend on the piece alone: layers add nothing, an embedding is the label's own."""
    import torch

    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
        for layer in model.modules():
            if isinstance(layer, torch.nn.LayerNorm):
                layer.weight.fill_(1)
        table = model.get_input_embeddings().weight
        for piece, row in vocabulary.items():
            table[row, labels.index(says.get(piece, "O"))] = 1
        for place in range(len(labels)):
            model.classifier.weight[place, place] = 2


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


def tiny_spacy(folder: Path) -> Path:
    """Write a spaCy pipeline that has learned by heart that seizures and short stature are signs, and return it.

    ``ner`` finds them as SIGN, ``spancat`` gives them scores, and a ruler finds cysts.
    """
    import spacy.util
    from spacy.training import Example

    nlp: Any = spacy.blank("en")
    nlp.add_pipe("ner").add_label("SIGN")
    nlp.add_pipe("spancat", config={"spans_key": "sc"}).add_label("SIGN")
    texts = (
        "Short stature and recurrent seizures.",
        "No seizure.",
        "He had a seizure and short stature.",
        "x y",
        "A cold: nothing.",
    )
    signs = ("short stature", "seizures", "seizure")
    examples = []
    for text in texts:
        found = {sign: text.lower().find(sign) for sign in signs}
        spans = {at: (at, at + len(sign), "SIGN") for sign, at in reversed(found.items()) if at >= 0}
        gold = {"entities": list(spans.values()), "spans": {"sc": list(spans.values())}}
        examples.append(Example.from_dict(nlp.make_doc(text), gold))
    cast("Any", spacy.util).fix_random_seed(13)
    nlp.initialize(lambda: examples)
    for _ in range(30):
        nlp.update(examples)
    ruler = nlp.add_pipe("entity_ruler", before="ner")
    ruler.add_patterns([{"label": "CYST", "pattern": [{"LOWER": "renal"}, {"LOWER": "cyst"}]}])
    nlp.to_disk(folder)
    return folder
