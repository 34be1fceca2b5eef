"""Packed sequences on encoders of several classes, and whether these keep isolated candidates apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.tiny_models import tiny_model
from torch import Tensor

from linnet.errors import RecipeError
from linnet.nn import sequences
from linnet.nn.encoder import Encoder
from linnet.nn.isolation import require_apart
from linnet.nn.sequences import Sequences, token_vectors
from linnet.text.packing import Asked, Packed, Text, frame_of, pack

Masking = Callable[[Encoder, Tensor, Tensor], tuple[Tensor, Tensor]]


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoders")
    for kind in ("bert", "longformer", "modernbert", "roberta"):
        tiny_model(folder / kind, kind, window=1024)
    return folder


def batch_of(packed: list[Packed], *, isolated: bool = False) -> Sequences:
    nothing = np.zeros((sum(len(one.slots) for one in packed), 0), np.float32)
    return Sequences.of(packed, nothing, padding=0, isolated=isolated, device=torch.device("cpu"))


@pytest.mark.parametrize("kind", ["modernbert", "roberta"])
def test_a_pair_that_sees_all_of_itself_is_read_as_without_a_mask(encoders: Path, kind: str) -> None:
    encoder = Encoder.load(encoders / kind)
    packed = pack([Text((30,) * 40, (0,), ((0, 1),))], [Asked((31, 32), ((33, 34),))], "base", frame_of(encoder))
    plain, pairs = (batch_of(packed, isolated=isolated) for isolated in (False, True))
    pairs.mask[:] = True
    with torch.inference_mode():
        assert torch.allclose(token_vectors(encoder, pairs), token_vectors(encoder, plain), atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "broken", "why"),
    [
        ("modernbert", lambda encoder, seen, places: (seen, places), "as if that stood alone"),  # its near tokens lost
        ("roberta", lambda encoder, seen, places: (seen, places), "as if that stood alone"),  # positions of padding
        ("bert", lambda encoder, seen, places: (seen | True, places), "as if that stood alone"),
        ("bert", lambda encoder, seen, places: (seen, torch.arange(places.shape[1])[None]), "as if that stood alone"),
        ("bert", lambda encoder, seen, places: (seen & seen.transpose(2, 3), places), "they would not see their text"),
    ],
)
def test_what_obeys_no_mask_is_noticed(
    encoders: Path, kind: str, broken: Masking, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = Encoder.load(encoders / kind)
    require_apart(encoder, "cross")
    monkeypatch.setattr(sequences, "masked", broken)
    with pytest.raises(RecipeError, match=why):
        require_apart(encoder, "cross")


def test_masks_of_a_longformer_see_all_and_are_seen(encoders: Path) -> None:
    encoder = Encoder.load(encoders / "longformer")
    layers: Any = encoder.backbone.encoder
    del layers.layer[1:]
    text, frame = Text(tuple(range(20, 80)), (0,), ((0, 1),)), frame_of(encoder)
    changed = text._replace(pieces=(90, *text.pieces[1:]))
    asked = [Asked((31, 32), ((33, 34), (35,)))]
    with torch.inference_mode():
        one, other = (
            token_vectors(encoder, batch_of(pack([some], asked, "parallel", frame)))[0] for some in (text, changed)
        )
    [packed] = pack([text], asked, "parallel", frame)
    differs = (one - other).abs().amax(dim=1) > 1e-6
    far = {0, *packed.at}  # of one layer, these alone see a token far away
    assert {place for place in range(20, len(packed)) if differs[place]} == far - {0}
    assert all(differs[place] for place in range(10))
