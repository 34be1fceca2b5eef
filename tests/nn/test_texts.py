from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from linnet.errors import DataError
from linnet.nn.encoder import Encoder
from linnet.nn.texts import framed, padded
from linnet.text.token_batches import TokenText, token_batches


@given(st.lists(st.integers(0, 40)), st.integers(1, 100), st.integers(1, 5))
def test_batches_hold_every_text_once_and_keep_to_the_budget(lengths: list[int], tokens: int, most: int) -> None:
    batches = token_batches(lengths, tokens=tokens, most=most)
    assert sorted(row for batch in batches for row in batch.tolist()) == list(range(len(lengths)))
    before = np.inf
    for batch in batches:
        sizes = [lengths[row] for row in batch]
        assert len(batch) == 1 or len(batch) * max(sizes) <= tokens
        assert 1 <= len(batch) <= most
        assert max(sizes) <= before
        before = min(sizes)
    again = token_batches(lengths, tokens=tokens, most=most)
    assert [batch.tolist() for batch in again] == [batch.tolist() for batch in batches]


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(DataError, match="tokens: 0"):
        token_batches([1], tokens=0)


def test_no_texts_make_an_empty_batch() -> None:
    ids, mask, spans = padded([], padding=0)
    assert (ids.shape, mask.shape, spans.shape) == ((0, 0), (0, 0), (0, 2))


def test_padding_has_the_id_it_is_given() -> None:
    texts = [TokenText((5, 6), (0, 1)), TokenText((), (0, 0)), TokenText((7,), (0, 1))]
    ids, mask, spans = padded(texts, padding=9, device=torch.device("cpu"))
    assert ids.tolist() == [[5, 6], [9, 9], [7, 9]]
    assert mask.tolist() == [[1, 1], [0, 0], [1, 0]]
    assert spans.dtype == ids.dtype == mask.dtype == torch.int64


def test_framed_texts_begin_and_end_as_the_tokenizer_has_it(encoder: Encoder) -> None:
    texts = ["short stature", "", "cleft palate and renal cyst"]
    made = framed(encoder, texts)
    assert [list(text.ids) for text in made] == encoder.tokenizer(texts)["input_ids"]
    assert [text.span for text in made] == [(1, 3), (1, 1), (1, 6)]
    cut = framed(encoder, texts, most=4)
    assert [len(text.ids) for text in cut] == [4, 2, 4]
    assert cut[2].ids[-1] == encoder.tokenizer.sep_token_id
    with pytest.raises(DataError, match="most: 2"):
        framed(encoder, texts, most=2)
