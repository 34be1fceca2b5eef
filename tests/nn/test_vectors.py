from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch

from linnet.errors import DataError, FormatError
from linnet.nn.encoder import Encoder
from linnet.nn.pooling import Pool, Pooling
from linnet.nn.texts import framed, padded
from linnet.nn.vectors import encode, open_vectors
from linnet.text.token_batches import TokenText

NAMES = ["seizure", "short stature", "cleft palate", "renal cyst and heart attack", "zebra", "heart", "", "attack"]


@pytest.fixture(params=get_args(Pooling))
def pool(request: pytest.FixtureRequest, encoder: Encoder) -> Pool:
    return Pool(request.param, encoder.size)


def test_one_at_a_time_is_the_same_as_all_at_once(encoder: Encoder, pool: Pool) -> None:
    texts = framed(encoder, NAMES)
    whole = encode(encoder, pool, texts, bf16=False)
    single = [encode(encoder, pool, [text], bf16=False)[0] for text in texts]
    assert whole.shape == (len(NAMES), encoder.size)
    assert whole.dtype == np.float32
    np.testing.assert_allclose(whole, single, atol=1e-5)
    small = encode(encoder, pool, texts, tokens=8, bf16=False)
    np.testing.assert_allclose(small, whole, atol=1e-5)


def test_it_is_the_plain_forward_pass(encoder: Encoder) -> None:
    texts = framed(encoder, NAMES)
    found = encode(encoder, Pool("mean", encoder.size), texts, bf16=False)
    for text, vector in zip(texts, found, strict=True):
        with torch.no_grad():
            hidden = encoder.backbone(input_ids=torch.tensor([text.ids])).last_hidden_state
        np.testing.assert_allclose(hidden[0].mean(dim=0).numpy(), vector, atol=1e-5)


def test_bf16_is_near(encoder: Encoder) -> None:
    texts = framed(encoder, NAMES)
    pool = Pool("mean", encoder.size)
    exact = encode(encoder, pool, texts, normalise=True, bf16=False)
    near = encode(encoder, pool, texts, normalise=True, bf16=True)
    assert near.dtype == np.float32
    assert (exact * near).sum(axis=1).min() > 0.999


def test_vectors_of_length_one(encoder: Encoder) -> None:
    found = encode(encoder, Pool("span", encoder.size), framed(encoder, NAMES), normalise=True)
    lengths = np.linalg.norm(found, axis=1)
    np.testing.assert_allclose(lengths, [float(bool(name)) for name in NAMES], atol=1e-5)  # nothing stays nothing


def test_dropout_is_off_and_training_goes_on(tiny: Path) -> None:
    encoder = Encoder.load(tiny)
    encoder.train()
    encoder.embeddings.eval()
    pool = Pool("ends", encoder.size)
    texts = framed(encoder, NAMES)
    np.testing.assert_array_equal(encode(encoder, pool, texts), encode(encoder, pool, texts))
    assert encoder.training
    assert encoder.backbone.training
    assert not encoder.embeddings.training
    assert pool.training
    assert all(parameter.grad is None for parameter in encoder.parameters())


def test_training_around_it_keeps_its_gradients(tiny: Path) -> None:
    encoder, pool = Encoder.load(tiny), Pool("mean", 32)
    texts = framed(encoder, NAMES)
    ids, mask, _ = padded(texts, padding=0)
    gradients = []
    for mine in (False, True):  # vectors are asked for in the midst of a training step
        encoder.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            if mine:
                encode(encoder, pool, texts, bf16=True)
            encoder(ids, mask).float().square().sum().backward()
        gradients.append([parameter.grad for parameter in encoder.parameters()])
    torch.testing.assert_close(*gradients)


def test_progress_is_told(encoder: Encoder) -> None:
    told: list[int] = []
    encode(encoder, Pool("cls", encoder.size), framed(encoder, NAMES), tokens=8, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == len(NAMES)


def test_into_a_file(encoder: Encoder, pool: Pool, tmp_path: Path) -> None:
    texts = framed(encoder, NAMES)
    path = tmp_path / "vectors.npy"
    found = encode(encoder, pool, texts, into=path)
    assert isinstance(found, np.memmap)
    assert not found.flags.writeable
    np.testing.assert_array_equal(found, encode(encoder, pool, texts))
    np.testing.assert_array_equal(found, np.load(path))
    assert [file.name for file in tmp_path.iterdir()] == ["vectors.npy"]
    path.chmod(0o600)
    encode(encoder, pool, texts, into=path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_no_texts(encoder: Encoder, tmp_path: Path) -> None:
    pool = Pool("mean", encoder.size)
    assert encode(encoder, pool, []).shape == (0, encoder.size)
    assert encode(encoder, pool, [], into=tmp_path / "none.npy").shape == (0, encoder.size)


def test_a_failure_leaves_the_older_file(encoder: Encoder, tmp_path: Path) -> None:
    path, pool, texts = tmp_path / "vectors.npy", Pool("mean", encoder.size), framed(encoder, NAMES)
    before = encode(encoder, pool, texts, into=path).copy()

    def stop(_count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode(encoder, pool, texts[:3], into=path, progress=stop)
    np.testing.assert_array_equal(open_vectors(path, count=len(texts), size=encoder.size), before)
    assert [file.name for file in tmp_path.iterdir()] == ["vectors.npy"]


def test_a_folder_that_is_not_there_is_named(encoder: Encoder, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"vectors\.npy: cannot be written: No such file"):
        encode(encoder, Pool("mean", encoder.size), [], into=tmp_path / "nowhere" / "vectors.npy")


def test_a_text_longer_than_the_window_is_refused(encoder: Encoder) -> None:
    texts = framed(encoder, ["cleft", "cleft " * 511])
    with pytest.raises(DataError, match="text 1 has 513 tokens, the encoder reads at most 512; cut it, or read it in"):
        encode(encoder, Pool("mean", encoder.size), texts)
    assert encode(encoder, Pool("mean", encoder.size), framed(encoder, ["cleft " * 510])).shape == (1, encoder.size)


def test_a_span_outside_its_text_is_refused(encoder: Encoder) -> None:
    for ids, span in (((2, 5, 3), (1, 4)), ((2, 5, 3), (2, 1)), ((2, 5, 3), (-1, 1)), ((), (0, 0))):
        with pytest.raises(DataError, match="text 0: its span"):
            encode(encoder, Pool("span", encoder.size), [TokenText(ids, span)])
    for span in ((0, 1), (1, 3)):
        with pytest.raises(DataError, match="marker on each side"):
            encode(encoder, Pool("markers", encoder.size), [TokenText((2, 5, 3), span)])


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "vectors.npy"
    with pytest.raises(FormatError, match=r"vectors\.npy: there is no such file"):
        open_vectors(path, count=1, size=2)
    np.save(path, np.zeros((3, 2), np.float32))
    assert open_vectors(path, count=3, size=2).shape == (3, 2)
    with pytest.raises(FormatError, match="holds 3 × 2 float32 numbers, expected 4 vectors of 2"):
        open_vectors(path, count=4, size=2)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(FormatError, match="cut short"):
        open_vectors(path, count=3, size=2)
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="cut short"):
        open_vectors(path, count=3, size=2)
    for other in (np.zeros((3, 2)), np.zeros(6, np.float32), np.zeros((2, 3), np.float32).T):
        np.save(path, other)
        with pytest.raises(FormatError, match="expected 3 vectors of 2 float32"):
            open_vectors(path, count=3, size=2)


def test_minilm_knows_a_heart_attack() -> None:
    encoder = Encoder.load("minilm")
    assert (encoder.size, encoder.window) == (384, 512)
    texts = framed(encoder, ["myocardial infarction", "heart attack", "kidney stone"])
    infarction, attack, stone = encode(encoder, Pool("mean", encoder.size), texts, normalise=True)
    assert infarction @ attack > infarction @ stone + 0.3
