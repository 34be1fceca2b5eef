"""Words in windows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.tiny_models import tiny_bert

from linnet.data import Document, Span
from linnet.nn.encoder import Encoder
from linnet.nn.windows import run_lstm
from linnet.text.windows import Text, read, windows


@given(st.lists(st.integers(1, 4), min_size=1, max_size=60), st.integers(8, 30))
def test_every_word_is_in_one_window_whole(lengths: list[int], size: int) -> None:
    owners = np.repeat(np.arange(len(lengths)), lengths)
    text = Text([Span(n, n + 1) for n in range(len(lengths))], owners, owners, owners, owners.reshape(-1, 1))
    found = windows(text, size, size // 2)
    assert [word for window in found for word in range(window.begin, window.end)] == list(range(len(lengths)))
    for window in found:
        assert window.last - window.first <= size
        held = owners[window.first : window.last]
        assert all((held == word).sum() == lengths[word] for word in range(window.begin, window.end))


def test_pieces_belong_to_the_word_they_begin_in(encoder: Encoder) -> None:
    [text] = read([Document.of("zincs, 5-H\u200bT of \U0001f600 gout")], encoder)
    words = [(start, end) for start, end in text.words]
    assert words == [(0, 5), (5, 6), (7, 8), (8, 9), (9, 12), (13, 15), (16, 17), (18, 22)]
    assert sorted(set(text.owners.tolist())) == list(dict.fromkeys(text.owners.tolist()))


def test_the_first_piece_of_a_word_may_hold_a_blank(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    folder = tiny_bert(tmp_path / "bytes", layers=1)
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(["the patient had gout and took zinc"], trainers.BpeTrainer(
        vocab_size=290, special_tokens=special, initial_alphabet=alphabet, show_progress=False))  # fmt: skip
    backend.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend, model_max_length=512, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)
    [text] = read([Document.of("the patient had gout")], Encoder.load(folder))
    assert sorted(set(text.owners.tolist())) == [0, 1, 2, 3]


def test_an_lstm_reads_padded_windows_as_packed_ones() -> None:
    torch.manual_seed(1)
    lstm = torch.nn.LSTM(6, 4, 2, bidirectional=True, batch_first=True)
    words, lengths = torch.randn(3, 7, 6, requires_grad=True), torch.tensor([5, 7, 1])
    packed = torch.nn.utils.rnn.pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
    wanted, _ = torch.nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True)
    learned = [words, *lstm.parameters()]
    gradients = torch.autograd.grad(wanted.square().sum(), learned)
    said = run_lstm(lstm, words, lengths)
    torch.testing.assert_close(said, wanted, atol=1e-6, rtol=0)
    found = torch.autograd.grad(said.square().sum(), learned)
    torch.testing.assert_close(found, gradients, atol=1e-5, rtol=1e-4)
    with torch.inference_mode():
        torch.testing.assert_close(run_lstm(lstm, words, lengths), wanted, atol=1e-6, rtol=0)
