"""Attention in plain steps against that of PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.tiny_models import tiny_bert
from torch import Tensor, nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward

import linnet.nn.attention
from linnet.nn.attention import attend, use_plain_steps
from linnet.nn.encoder import Encoder

TOKENS = 12


class _Layer(nn.Module):
    is_causal = False


def given(dtype: torch.dtype) -> list[Tensor]:
    chance = torch.Generator().manual_seed(3)
    return [torch.randn(3, 2, TOKENS, 8, generator=chance).to(dtype).requires_grad_() for _ in range(3)]


def masks() -> list[Tensor | None]:
    seen = torch.rand(3, 1, TOKENS, TOKENS, generator=torch.Generator().manual_seed(5)) > 0.5
    seen[:, :, range(TOKENS), range(TOKENS)] = True
    padding = (torch.arange(TOKENS) < torch.tensor([[5], [12], [1]]))[:, None, None]
    return [
        None,
        seen,
        padding.expand(3, 1, TOKENS, TOKENS),
        torch.zeros(3, 1, TOKENS, TOKENS).masked_fill(~seen, -1e9),
    ]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("which", range(4))
def test_it_is_what_pytorch_finds(dtype: torch.dtype, which: int) -> None:
    (query, key, value), mask = given(dtype), masks()[which]
    mask = mask.to(dtype) if mask is not None and mask.dtype != torch.bool else mask
    found = []
    for way in (attend, sdpa_attention_forward):
        out, _ = way(_Layer(), query, key, value, mask, dropout=0.0, scaling=0.35)
        found.append((out, *torch.autograd.grad(out.float().square().sum(), (query, key, value))))
    for ours, theirs in zip(*found, strict=True):
        assert torch.allclose(ours.float(), theirs.float(), atol=0.08 if dtype == torch.bfloat16 else 1e-5, rtol=0.02)


@pytest.mark.parametrize("cached", [1, 2 * 2 * TOKENS * TOKENS, 1 << 20])
@pytest.mark.parametrize("shift", [0.0, 60.0, -60.0])
def test_without_gradients_it_finds_the_same(shift: float, cached: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linnet.nn.attention, "CACHED", cached)
    query, key, value = given(torch.bfloat16)
    query = query + shift  # scores that are too large or too small for powers
    for mask in masks():
        own = mask.to(torch.bfloat16) if mask is not None and mask.dtype != torch.bool else mask
        with torch.no_grad():
            ours, _ = attend(_Layer(), query, key, value, own, dropout=0.0, scaling=0.35)
            theirs, _ = sdpa_attention_forward(_Layer(), query, key, value, own, dropout=0.0, scaling=0.35)
        assert torch.allclose(ours.float(), theirs.float(), atol=0.05 if not shift else 1.0)
        assert ours.isfinite().all()


def test_an_encoder_says_the_same_and_is_saved_as_it_was(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "tiny", words=("one", "two"), layers=2)
    plain, other = Encoder.load(folder), Encoder.load(folder)
    use_plain_steps(other.backbone)
    ids = torch.randint(5, len(plain.tokenizer), (2, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    mask[1, 4:] = 0
    for bf16 in (False, True):
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            ours, theirs = other(ids, mask).float(), plain(ids, mask).float()
        assert torch.allclose(ours[mask == 1], theirs[mask == 1], atol=0.1 if bf16 else 1e-6)
    other.save(tmp_path / "saved")
    assert "plain_steps" not in (tmp_path / "saved" / "config.json").read_text()
    assert Encoder.load(tmp_path / "saved").fingerprint() == plain.fingerprint()
