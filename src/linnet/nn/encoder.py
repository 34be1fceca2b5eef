"""A Hugging Face encoder with its tokenizer: word pieces in, one vector a token out.

Everything that reads text with a network holds one of these. The backbone is any encoder that Transformers knows
(BERT, RoBERTa, ModernBERT, Longformer …), without its pooling layer, which no paper here uses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard, cast

import torch
from tokenizers import AddedToken
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast

from linnet.errors import LinnetError
from linnet.nn.checkpoints import checkpoint, weights_of
from linnet.nn.quiet import quietly
from linnet.nn.weights import check_finite, writing
from linnet.text.pieces import whole

__all__ = ["Encoder", "fast_tokenizer", "first_position", "load_parts", "plain", "window_of"]

NOISE = 0.1  # of new embeddings, as a share of the spread of the known ones
FRAME = ("cls_token_id", "sep_token_id", "pad_token_id")


class Encoder(nn.Module):
    """An encoder and its tokenizer; `load` makes one.

    Attributes:
        backbone: the network; its weights are float32.
        tokenizer: of the fast kind, with tokens for start, end and padding.
        size: numbers in a vector, d.
        window: the most tokens of one text, start and end included.
        first_position: the position of a text's first token; RoBERTa and its like count from behind the padding's.
    """

    backbone: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    size: int
    window: int
    first_position: int

    def __init__(self, backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
        super().__init__()
        self.backbone, self.tokenizer = backbone, tokenizer
        self.size = int(backbone.config.hidden_size)
        self.first_position = first_position(backbone)
        self.window = window_of(backbone, tokenizer, first=self.first_position)
        self.eval()

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
        """
        folder = checkpoint(str(name), download=download)
        with torch.random.fork_rng(devices=[]):  # weights that a checkpoint lacks are drawn, though not kept
            encoder = cls(*_loaded(folder))
            if markers:
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

    @property
    def embeddings(self) -> nn.Embedding:
        """The vectors of word pieces, one row each."""
        return cast("nn.Embedding", self.backbone.get_input_embeddings())

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of each text, without special tokens and uncut, however long it is.

        Text is nothing but text: a ``[SEP]`` in it becomes ordinary pieces; `marker` gives the ids of special tokens.
        """
        backend = self.tokenizer.backend_tokenizer
        plain(backend)
        found = backend.encode_batch_fast(list(map(whole, texts)), add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def located(self, texts: Sequence[str]) -> list[tuple[tuple[int, ...], list[tuple[int, int]]]]:
        """Return the word pieces of each text as `pieces` does, and the characters ``[start, end)`` of each.

        Some tokenizers put the blank before a word into its first piece: characters begin behind it.
        """
        backend = self.tokenizer.backend_tokenizer
        plain(backend)
        found = backend.encode_batch(list(map(whole, texts)), add_special_tokens=False)
        return [
            (tuple(encoding.ids), [_behind_blanks(text, *span) for span in encoding.offsets])
            for text, encoding in zip(texts, found, strict=True)
        ]

    def marker(self, token: str) -> int:
        """Return the id of a special token.

        Raises:
            LinnetError: the tokenizer has no such special token.
        """
        found: int | None = self.tokenizer.get_added_vocab().get(token)
        if found is None:
            raise LinnetError(f"special token {token!r}: the tokenizer has none such; load the encoder with markers")
        return found

    def save(self, folder: Path) -> None:
        """Write ``config.json``, ``model.safetensors`` and the tokenizer's files to `folder`, made if needed.

        Raises:
            OSError: they cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        plain(self.tokenizer.backend_tokenizer)
        with quietly(), writing():
            self.backbone.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

    def fingerprint(self) -> str:
        """Return a hash of weights and tokenizer (32 hexadecimal digits), to tell what vectors were made with."""
        digest = hashlib.sha256(type(self.backbone).__name__.encode())
        for name, tensor in sorted(self.backbone.state_dict().items()):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        tokenizer = json.loads(self.tokenizer.backend_tokenizer.to_str())
        rules = {key: value for key, value in tokenizer.items() if key not in ("truncation", "padding")}
        digest.update(json.dumps(rules, sort_keys=True).encode())
        return digest.hexdigest()[:32]

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


def _behind_blanks(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    return start, end


def _loaded(folder: Path) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Return the network and the tokenizer of a folder, checked to be whole and of the right kind."""
    try:
        with quietly():
            backbone, tokenizer, report = load_parts(AutoModel, folder)
    except Exception as error:  # Transformers raises whatever its parts raise
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise LinnetError(f"{folder}: cannot be loaded as an encoder: {reason[0]}") from error
    missing = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise LinnetError(
            f"{folder}: {len(missing)} weights of {type(backbone).__name__} are missing from model.safetensors, such "
            f"as {missing[0]!r}: config.json and weights do not belong together"
        )
    if getattr(backbone.config, "is_encoder_decoder", False):
        raise LinnetError(f"{folder}: {type(backbone).__name__} is an encoder with a decoder, expected an encoder")
    if not fast_tokenizer(tokenizer):
        raise LinnetError(f"{folder}: needs a fast tokenizer (tokenizer.json) with tokens for start, end and padding")
    if getattr(backbone, "pooler", None) is not None:
        backbone.pooler = None
    check_finite(backbone.named_parameters(), weights_of(folder))
    return backbone, tokenizer


def load_parts(model: Any, folder: Path) -> tuple[Any, Any, dict[str, Any]]:
    """Return the network, the tokenizer and what was missing of a folder, made by the code of Transformers alone.

    How the network attends is left to Transformers: the file might name a kernel, code that would be fetched and run.
    """
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = AutoTokenizer.from_pretrained(folder, **options)
    config = AutoConfig.from_pretrained(folder, **options)
    config._attn_implementation = None
    network, report = model.from_pretrained(
        folder, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **options
    )
    return network, tokenizer, report


def fast_tokenizer(tokenizer: object) -> TypeGuard[PreTrainedTokenizerFast]:
    """Return whether a tokenizer is of the fast kind, with tokens for start, end and padding."""
    return isinstance(tokenizer, PreTrainedTokenizerFast) and all(getattr(tokenizer, key) is not None for key in FRAME)


def window_of(backbone: nn.Module, tokenizer: PreTrainedTokenizerFast, *, first: int) -> int:
    """Return the most tokens that positions and tokenizer allow."""
    limits = [int(tokenizer.model_max_length)]
    positions = getattr(backbone.config, "max_position_embeddings", None)
    if positions is not None and positions > 0:
        limits.append(positions - first)
    return min(limits)


def first_position(backbone: nn.Module) -> int:
    """Return the position of a text's first token."""
    table = getattr(getattr(backbone, "embeddings", None), "position_embeddings", None)
    padding: int | None = getattr(table, "padding_idx", None)
    return 0 if padding is None else padding + 1


def plain(backend: Any) -> None:
    """Take from a tokenizer what its file may bring along: cutting, padding, special tokens found in text."""
    if backend.truncation is not None:
        backend.no_truncation()
    if backend.padding is not None:
        backend.no_padding()
    if not backend.encode_special_tokens:
        backend.encode_special_tokens = True


def _noise(token: str, size: int) -> Tensor:
    """Return numbers (size,) of a standard normal distribution that depend on `token` alone."""
    seed = int.from_bytes(hashlib.blake2b(token.encode(), digest_size=7).digest(), "big")
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))
