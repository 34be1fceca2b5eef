"""Whether a network keeps isolated candidates apart: tried, as classes of networks differ in what masks they obey.

A few sequences of arbitrary word pieces say it: a text must be read as if it stood alone, and the [MASK] of a candidate
must be the same in any company and still see its own text and candidate.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from linnet.errors import RecipeError
from linnet.nn.encoder import Encoder
from linnet.nn.masks import takes_global
from linnet.nn.quiet import quietly
from linnet.nn.sequences import Sequences, token_vectors
from linnet.text.packing import Asked, Packed, Text, frame_of, pack

__all__ = ["require_apart"]

LONGEST = 128  # tokens of a text that is tried: more than near tokens are of ModernBERT
SAME = 1e-3  # of the largest number of a vector


def require_apart(encoder: Encoder, part: str) -> None:
    """Try whether an encoder can isolate candidates, for the component that is called `part`.

    Raises:
        RecipeError: they cannot.
    """
    kind = type(encoder.backbone).__name__
    try:
        with torch.inference_mode(), quietly():
            problem = _problem(encoder)
    except Exception as error:  # Transformers raises whatever its parts raise
        problem = f"it takes no mask of pairs ({(str(error).splitlines() or [type(error).__name__])[0]})"
    if problem:
        way_out = "set isolated to false, or take another encoder, such as a BERT"
        raise RecipeError(part, [f"isolated: {kind} cannot keep candidates apart: {problem}; {way_out}"])


def _problem(encoder: Encoder) -> str:
    """Return what is wrong with how a network reads isolated candidates, or nothing."""
    if takes_global(encoder):
        return "in most of its attention a token sees near ones whatever a mask says"
    size = min(LONGEST, encoder.window // 5)
    few = max(1, size // 8)
    text, other_text = _pieces(encoder, size, 0), _pieces(encoder, size, 1)
    mention, candidate, other = (_pieces(encoder, few, seed) for seed in (2, 3, 4))
    long = Asked(mention, (_pieces(encoder, size // 2, 5),))
    company = _pack(encoder, [other_text, text], [long, Asked(mention, (other, candidate))])
    whole, together = _read(encoder, company)
    _, alone = _read(encoder, _pack(encoder, [text], [Asked(mention, (candidate,))]))
    _, unlike = _read(encoder, _pack(encoder, [text], [Asked(mention, (other,))]))
    _, elsewhere = _read(encoder, _pack(encoder, [other_text], [Asked(mention, (candidate,))]))
    begin = company.texts.index(company.texts[-1])
    plain = torch.tensor([company.ids[begin : begin + 1 + size + 1]])  # [CLS] text [SEP]
    if not _like(whole[begin : begin + 1 + size + 1], encoder(plain, torch.ones_like(plain))[0]):
        return "it does not read a text as if that stood alone"
    if not _like(together, alone):
        return "their scores would depend on company"
    if _like(unlike, alone) or _like(elsewhere, alone):
        return "they would not see their text or themselves"
    return ""


def _pieces(encoder: Encoder, count: int, seed: int) -> tuple[int, ...]:
    """Return arbitrary word pieces, none of them special."""
    tokenizer = encoder.tokenizer
    ordinary = np.setdiff1d(np.arange(len(tokenizer)), tokenizer.all_special_ids)
    return tuple(np.random.default_rng(seed).choice(ordinary, count).tolist())


def _pack(encoder: Encoder, texts: list[tuple[int, ...]], asked: list[Asked]) -> Packed:
    """Return a sequence of texts with a mention each."""
    made = [Text(pieces, (number,), ((0, 1),)) for number, pieces in enumerate(texts)]
    return pack(made, asked, "document", frame_of(encoder), isolated=True)[-1]


def _read(encoder: Encoder, packed: Packed) -> tuple[Tensor, Tensor]:
    """Return the vectors (tokens, d) of a sequence, and that of its last [MASK]."""
    nothing = np.zeros((len(packed.slots), 0), np.float32)
    padding = encoder.tokenizer.pad_token_id
    batch = Sequences.of([packed], nothing, padding=padding, isolated=True, device=encoder.backbone.device)
    vectors = token_vectors(encoder, batch)[0]
    return vectors, vectors[packed.at[-1]]


def _like(one: Tensor, other: Tensor) -> bool:
    return bool((one - other).abs().max() <= SAME * other.abs().max())
