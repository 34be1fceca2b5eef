"""Texts to vectors, many at once: the one place where an encoder runs over names, mentions and sentences."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from linnet.errors import DataError, FormatError
from linnet.home import permit
from linnet.nn.device import autocast
from linnet.nn.encoder import Encoder
from linnet.nn.pooling import Pool
from linnet.nn.quiet import quietly
from linnet.nn.texts import padded, token_budget
from linnet.text.token_batches import TokenText, token_batches

__all__ = ["EncodesNames", "encode", "encode_to_learn", "open_vectors"]

Floats = npt.NDArray[np.float32]


def encode(
    encoder: Encoder,
    pool: Pool,
    texts: Sequence[TokenText],
    *,
    tokens: int | None = None,
    normalise: bool = False,
    into: Path | None = None,
    progress: Callable[[int], None] | None = None,
    bf16: bool | None = None,
) -> Floats:
    """Return one vector a text (n, d), in the order of `texts`.

    Texts of like length are read together, on the device of the encoder, without gradients and in evaluation mode.

    Args:
        encoder: reads them.
        pool: makes one vector of those of the tokens.
        texts: token ids and spans; none longer than the encoder's window.
        tokens: tokens a batch, padding included; None stands for 2,048 on a CPU and 16,384 elsewhere.
        normalise: give vectors the length 1, so that their dot product is their cosine.
        into: write the vectors to this ``.npy`` file, which is there in full or not at all, and return them
            memory-mapped.
        progress: is told how many texts are done, after every batch.
        bf16: as of `linnet.nn.device.autocast`.

    Raises:
        DataError: a text is longer than the window, or its span is not inside it.
        FormatError: `into` cannot be written.
    """
    lengths = _lengths(encoder, pool, texts)
    device = next(encoder.parameters()).device
    padding = encoder.tokenizer.pad_token_id
    if tokens is None:
        tokens = token_budget(device)
    done = 0
    with (
        _matrix(into, len(texts), encoder.size) as vectors,
        _evaluating(encoder, pool),
        quietly(),
        _inferring(device, bf16=bf16),
    ):
        for rows in token_batches(lengths.tolist(), tokens=tokens):
            ids, mask, spans = padded([texts[row] for row in rows], padding=padding, device=device)
            found: Tensor = pool(encoder(ids, mask), mask, spans).float()
            vectors[rows] = (nn.functional.normalize(found, dim=1) if normalise else found).cpu().numpy()
            done += len(rows)
            if progress is not None:
                progress(done)
    return vectors if into is None else open_vectors(into, count=len(texts), size=encoder.size)


class EncodesNames:
    """A network with an encoder of names, ``entity``, and what pools their tokens, ``name_pool``."""

    entity: Encoder
    name_pool: Pool

    def encode_names(self, texts: Sequence[TokenText]) -> Floats:
        """Return vectors of names, float32 (names, d) of length 1, without gradients."""
        return encode(self.entity, self.name_pool, texts, normalise=True)


def encode_to_learn(encode: Callable[..., Tensor], texts: tuple[Tensor, Tensor, Tensor], *, chunk: int = 0) -> Tensor:
    """Return vectors of texts with gradients, those of like length encoded together, which saves most of the padding.

    Args:
        encode: from ids, mask and spans to vectors (texts, d).
        texts: ids, mask and spans, as `linnet.nn.texts.padded` makes them.
        chunk: 0, or how many texts are encoded at a time, whose insides are worked out again for the gradient; that is
            the one of the whole batch (the aim of Gao et al. 2021, by recomputing activations).
    """
    lengths = texts[1].sum(dim=1).tolist()
    tokens = token_budget(texts[0].device) // 2  # smaller groups waste less, and there are few texts
    groups = token_batches(lengths, tokens=tokens, most=chunk or len(lengths))
    parts = []
    for group in groups:
        rows = torch.from_numpy(group).to(texts[0].device)
        longest = lengths[group[0]]
        part = (texts[0][rows, :longest], texts[1][rows, :longest], texts[2][rows])
        again = bool(chunk) and len(groups) > 1
        parts.append(checkpoint(encode, *part, use_reentrant=False) if again else encode(*part))
    back = np.argsort(np.concatenate(groups))
    return torch.cat(parts)[torch.from_numpy(back).to(texts[0].device)]


def _lengths(encoder: Encoder, pool: Pool, texts: Sequence[TokenText]) -> npt.NDArray[np.int64]:
    """Return how many tokens each text has, all of them checked."""
    lengths = np.array([len(text.ids) for text in texts], np.int64)
    start, end = np.array([text.span for text in texts], np.int64).reshape(-1, 2).T
    if len(long := np.flatnonzero(lengths > encoder.window)):
        problem = f"text {long[0]} has {lengths[long[0]]:,} tokens, the encoder reads at most {encoder.window:,}"
        raise DataError(f"{problem}; cut it, or read it in windows ({len(long):,} of {len(texts):,} are too long)")
    room = 1 if pool.how == "markers" else 0  # for the markers
    wrong = np.flatnonzero((lengths == 0) | (start < room) | (end < start) | (end > lengths - room))
    if len(wrong):
        row = wrong[0]
        beside = " with a marker on each side" if room else ""
        raise DataError(f"text {row}: its span {texts[row].span} is not inside its {lengths[row]} tokens{beside}")
    return lengths


@contextlib.contextmanager
def _inferring(device: torch.device, *, bf16: bool | None) -> Iterator[None]:
    """Switch gradients off and bfloat16 on, in such a way that weights are turned into bfloat16 once, not each batch.

    Autocast keeps them until its outermost context ends, but not in inference mode. Inside somebody else's autocast
    they are not kept: not every version of PyTorch sees that they have no gradients when that one goes on training.
    """
    inside = torch.is_autocast_enabled(device.type)
    with torch.inference_mode() if inside else torch.no_grad(), autocast(device, bf16=bf16):
        yield


@contextlib.contextmanager
def _evaluating(*modules: nn.Module) -> Iterator[None]:
    """Switch dropout off, and back on where it was on."""
    training = [part for module in modules for part in module.modules() if part.training]
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True


@contextlib.contextmanager
def _matrix(path: Path | None, count: int, size: int) -> Iterator[Floats]:
    """Give an empty matrix (count, size), in memory or in a file that is there in full or not at all."""
    if path is None:
        yield np.empty((count, size), np.float32)
        return
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        vectors: Any = _create(part, path, (count, size))
        yield vectors
        vectors.flush()
        permit(part, path)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _create(part: Path, path: Path, shape: tuple[int, int]) -> Any:
    """Return a matrix mapped to the new file `part`, which will take the name `path`."""
    try:
        vectors = np.lib.format.open_memmap(part, mode="w+", dtype=np.float32, shape=shape)
        if hasattr(os, "posix_fallocate"):  # a mapped page for which the disk has no room would end the process
            with part.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, part.stat().st_size)
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror or error}") from error
    return vectors


def open_vectors(path: Path, *, count: int, size: int) -> Floats:
    """Return the vectors (count, size) in an ``.npy`` file, memory-mapped and read-only.

    Raises:
        FormatError: there is no such file, it is cut short, or holds something else.
    """
    try:
        vectors: Any = np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError as error:
        raise FormatError(path, "there is no such file; encode the texts again") from error
    except (OSError, ValueError) as error:
        problem = f"cannot be opened ({str(error) or type(error).__name__}): cut short, or no .npy file"
        raise FormatError(path, f"{problem}; encode the texts again") from error
    expected = f"expected {count:,} vectors of {size:,} float32 numbers"
    if vectors.dtype != np.float32 or vectors.shape != (count, size) or not vectors.flags.c_contiguous:
        shape = " × ".join(f"{extent:,}" for extent in vectors.shape)
        raise FormatError(path, f"holds {shape} {vectors.dtype} numbers, {expected}; encode the texts again")
    return vectors  # type: ignore[no-any-return]
