"""A network of Transformers with its tokenizer: word pieces of text, files, and what tells one from another.

What may be read is the same for all of them: a folder of Transformers' layout (`linnet.nn.checkpoints`), weights as
safetensors that are finite numbers, a tokenizer of the fast kind, and no code but that of Transformers.
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
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from linnet.errors import LinnetError
from linnet.nn.checkpoints import weights_of
from linnet.nn.quiet import quietly
from linnet.nn.weights import check_finite, writing
from linnet.text.word_pieces import Special, WordPieces, plain

__all__ = ["TextNetwork", "first_position", "has_decoder", "load_parts", "read_config", "window_of"]

OPTIONS: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
CALLED = {"cls_token_id": "start", "sep_token_id": "end", "eos_token_id": "end", "pad_token_id": "padding"}
FRAME = ("cls_token_id", "sep_token_id", "pad_token_id")
UNLIMITED = 1 << 30
NOISE = 0.1  # of new embeddings, as a share of the spread of the known ones


class TextNetwork(nn.Module, WordPieces):
    """A network and its tokenizer.

    Attributes:
        backbone: the network; its weights are float32.
        tokenizer: of the fast kind.
        size: numbers in a vector, d.
        window: the most tokens of one text, start and end included.
    """

    backbone: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    size: int
    window: int

    def __init__(self, backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
        super().__init__()
        self.backbone, self.tokenizer = backbone, tokenizer
        self.size = int(_reader(backbone).hidden_size)
        self.window = window_of(backbone, tokenizer, first=first_position(backbone))
        self.eval()

    @property
    def embeddings(self) -> nn.Embedding:
        """The vectors of word pieces, one row each."""
        return cast("nn.Embedding", self.backbone.get_input_embeddings())

    @property
    def backend(self) -> Any:
        """The tokenizer without Transformers around it."""
        return self.tokenizer.backend_tokenizer

    @property
    def special(self) -> Special:
        """The ids of special tokens."""
        tokens, begin, end = self.tokenizer, self.tokenizer.cls_token_id, self.tokenizer.sep_token_id
        start = tokens.bos_token_id if begin is None else begin
        return Special(start, tokens.eos_token_id if end is None else end, tokens.pad_token_id, tokens.mask_token_id)

    def add_markers(self, markers: Sequence[str]) -> None:
        """Add special tokens such as ``[MS]``; those that the tokenizer has are kept.

        The embedding of a new one is the mean of all, plus a little noise that depends on its text alone. PyTorch's
        random state is left as it was.
        """
        known = self.tokenizer.get_vocab()
        size = len(self.tokenizer)
        tokens = [AddedToken(token, special=True, normalized=False) for token in markers]
        self.tokenizer.add_tokens(tokens, special_tokens=True)
        new = [token for token in dict.fromkeys(markers) if token not in known]
        old = self.embeddings.weight.detach()
        if len(self.tokenizer) > len(old):  # some checkpoints have rows to spare
            with quietly(), torch.random.fork_rng(devices=[]):  # the new rows are drawn, though not kept
                self.backbone.resize_token_embeddings(len(self.tokenizer), mean_resizing=False)
        weight = self.embeddings.weight
        mean, spread = old[:size].mean(dim=0), old[:size].std(dim=0)
        with torch.no_grad():
            for token in new:
                row = self.tokenizer.convert_tokens_to_ids(token)
                weight[row] = mean + NOISE * spread * _noise(token, len(mean))

    def save(self, folder: Path) -> None:
        """Write ``config.json``, ``model.safetensors`` and the tokenizer's files to `folder`, made if needed.

        Weights that were rounded to two bytes a number are written so.

        Raises:
            OSError: they cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        plain(self.tokenizer.backend_tokenizer)
        with quietly(), writing():
            self.backbone.save_pretrained(folder, state_dict=_smallest(self.backbone.state_dict()))
            self.tokenizer.save_pretrained(folder)

    def fingerprint(self) -> str:
        """Return a hash of weights and tokenizer (32 hexadecimal digits), to tell what vectors were made with."""
        digest = hashlib.sha256(type(self.backbone).__name__.encode())
        for name, tensor in sorted(self.backbone.state_dict().items()):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        digest.update(self._rules())
        return digest.hexdigest()[:32]

    def tokenizer_fingerprint(self) -> str:
        """Return a hash of the tokenizer alone (32 hexadecimal digits), to tell what word pieces were made with."""
        return hashlib.sha256(self._rules()).hexdigest()[:32]

    def _rules(self) -> bytes:
        tokenizer = json.loads(self.tokenizer.backend_tokenizer.to_str())
        rules = {key: value for key, value in tokenizer.items() if key not in ("truncation", "padding")}
        return json.dumps(rules, sort_keys=True).encode()


def _smallest(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights in half precision if all of them are the same in it, else as they are.

    >>> [weights["w"].dtype for weights in map(_smallest, ({"w": torch.tensor([0.5])}, {"w": torch.tensor([0.1])}))]
    [torch.float16, torch.float32]
    """
    floats = [values for values in weights.values() if values.is_floating_point()]
    if not all(torch.equal(values.half().to(values.dtype), values) for values in floats):
        return dict(weights)
    return {name: values.half() if values.is_floating_point() else values for name, values in weights.items()}


def _noise(token: str, size: int) -> Tensor:
    """Return numbers (size,) of a standard normal distribution that depend on `token` alone."""
    seed = int.from_bytes(hashlib.blake2b(token.encode(), digest_size=7).digest(), "big")
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


# --- loading ---------------------------------------------------------------------------------------------------------


def read_config(folder: Path, what: str) -> PreTrainedConfig:
    """Return the configuration of a folder, by the code of Transformers alone; `what` it is to be is for the message.

    How the network attends is left to Transformers: the file might name a kernel, code that would be fetched and run.

    Raises:
        LinnetError: it is none.
    """
    try:
        with quietly():
            config: PreTrainedConfig = AutoConfig.from_pretrained(folder, **OPTIONS)
    except Exception as error:  # Transformers raises whatever its parts raise
        raise _unread(folder, what, error) from error
    config._attn_implementation = None
    return config


def has_decoder(config: PreTrainedConfig) -> bool:
    """Return whether a network of this configuration is an encoder with a decoder."""
    return bool(getattr(config, "is_encoder_decoder", False))


def load_parts(
    model: Any,
    folder: Path,
    config: PreTrainedConfig,
    what: str,
    *,
    needs: Sequence[str] = FRAME,
    spare: tuple[str, ...] = (),
    lacking: str = "config.json and weights do not belong together",
) -> tuple[Any, PreTrainedTokenizerFast]:
    """Return the network and the tokenizer of a folder. PyTorch's random state is left as it was.

    Args:
        model: a class of Transformers that makes the network.
        folder: as `linnet.nn.checkpoints.checkpoint` gives it.
        config: as `read_config` gives it.
        what: the network is, for messages.
        needs: special tokens that the tokenizer must have.
        spare: how the names of weights begin that may be missing.
        lacking: what it means that others are missing.

    Raises:
        LinnetError: they cannot be read, weights are missing, or the tokenizer is not of the fast kind.
        FormatError: a weight is no finite number.
    """
    try:
        with quietly(), torch.random.fork_rng(devices=[]):  # weights that a checkpoint lacks are drawn
            tokenizer: object = AutoTokenizer.from_pretrained(folder, **OPTIONS)
            network, report = model.from_pretrained(
                folder, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **OPTIONS
            )
    except Exception as error:  # Transformers raises whatever its parts raise
        raise _unread(folder, what, error) from error
    if missing := sorted(key for key in report["missing_keys"] if not key.startswith(spare)):
        raise LinnetError(
            f"{folder}: {len(missing)} weights of {type(network).__name__} are missing from model.safetensors, such as "
            f"{missing[0]!r}: {lacking}"
        )
    if not _is_fast(tokenizer, needs):
        *names, last = (CALLED[key] for key in needs)
        tokens = f"{', '.join(names)} and {last}"
        raise LinnetError(f"{folder}: needs a fast tokenizer (tokenizer.json) with tokens for {tokens}")
    used = ((name, weight) for name, weight in network.named_parameters() if not name.startswith(spare))
    check_finite(used, weights_of(folder))
    return network, tokenizer


def _unread(folder: Path, what: str, error: Exception) -> LinnetError:
    reason = str(error).strip().splitlines() or [type(error).__name__]
    return LinnetError(f"{folder}: cannot be loaded as {what}: {reason[0]}")


def _is_fast(tokenizer: object, needs: Sequence[str]) -> TypeGuard[PreTrainedTokenizerFast]:
    return isinstance(tokenizer, PreTrainedTokenizerFast) and all(getattr(tokenizer, key) is not None for key in needs)


def window_of(backbone: nn.Module, tokenizer: PreTrainedTokenizerFast, *, first: int) -> int:
    """Return the most tokens that positions and tokenizer allow."""
    limits = [min(int(tokenizer.model_max_length), UNLIMITED)]  # 1e30 where a tokenizer says nothing
    positions = getattr(_reader(backbone), "max_position_embeddings", None)
    if positions is not None and positions > 0:
        limits.append(positions - first)
    return min(limits)


def _reader(backbone: Any) -> Any:
    """Return the configuration of what reads: of a pair its encoder's."""
    return getattr(backbone.config, "encoder", backbone.config)


def first_position(backbone: nn.Module) -> int:
    """Return the position of a text's first token."""
    table = getattr(getattr(backbone, "embeddings", None), "position_embeddings", None)
    padding: int | None = getattr(table, "padding_idx", None)
    return 0 if padding is None else padding + 1
