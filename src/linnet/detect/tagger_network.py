"""The network of a tagger: word pieces and what is known of words in, a score of each label for each word out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from linnet.errors import FormatError
from linnet.nn.attention import use_plain_steps
from linnet.nn.crf import Rules, rules_of
from linnet.nn.encoder import Encoder
from linnet.nn.weights import read_weights, write_weights
from linnet.nn.windows import Pieces
from linnet.text.tagging import Scheme
from linnet.text.words import SHAPES

__all__ = ["TaggerNetwork"]

HEAD = "head.safetensors"
SPREAD = 0.02  # of the weights that nothing has learned


class TaggerNetwork(nn.Module):
    """An encoder with what is known of words added to its input, and a layer that scores labels.

    Args:
        encoder: reads word pieces.
        labels: names of the labels, ``O`` first.
        scheme: of the labels, which says what may follow what.
        features: how many features matches of the dictionary have; 0 = there is no dictionary.
        crf: whether what follows what is learned as well.
        lstm: size of a bidirectional LSTM over the words, each way; 0 = none.
    """

    def __init__(
        self, encoder: Encoder, labels: Sequence[str], *, scheme: Scheme, features: int, crf: bool, lstm: int
    ) -> None:
        super().__init__()
        self.encoder = encoder
        use_plain_steps(encoder.backbone)
        size = encoder.size
        self.shapes = nn.Embedding(len(SHAPES), size)
        self.matches = nn.Embedding(features, size) if features else None
        with torch.random.fork_rng(devices=[]):  # the same each time, whatever was drawn before
            torch.manual_seed(13)
            self.lstm = nn.LSTM(size, lstm, bidirectional=True, batch_first=True) if lstm else None
            self.head = nn.Linear(2 * lstm or size, len(labels))
            for layer in (self.shapes, self.matches, self.head):
                if layer is not None:
                    nn.init.normal_(layer.weight, std=SPREAD)
            nn.init.zeros_(self.head.bias)
        self.dropout = nn.Dropout(0.0)
        allowed = rules_of(labels, scheme)
        self.allowed = allowed
        self.begin, self.follow, self.end = (nn.Parameter(torch.zeros_like(rule)) if crf else None for rule in allowed)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.head.weight.device

    @property
    def rules(self) -> Rules:
        """What labels may follow each other, and how gladly."""
        learned = (self.begin, self.follow, self.end)
        rules = (rule.to(self.device) for rule in self.allowed)
        return Rules(*(rule if more is None else rule + more for rule, more in zip(rules, learned, strict=True)))

    def embedded(self, batch: Pieces) -> Tensor:
        """Return the input of the encoder, (windows, tokens, d)."""
        windows, count = batch.shapes.shape
        known = self.shapes(batch.shapes)  # (windows, words, d)
        if self.matches is not None and len(batch.matches):
            places = batch.matches[:, 0] * count + batch.matches[:, 1]
            flat = known.reshape(windows * count, -1)
            known = flat.index_add(0, places, self.matches(batch.matches[:, 2])).reshape(windows, count, -1)
        padded = nn.functional.pad(known, (0, 0, 0, 1))  # what stands for no word knows nothing
        of_pieces = padded.gather(1, batch.words[:, :, None].expand(-1, -1, padded.shape[2]))
        embedded: Tensor = self.encoder.embeddings(batch.ids) + of_pieces
        return embedded

    def forward(self, batch: Pieces, embedded: Tensor | None = None) -> Tensor:
        """Return the score of each label for each word, float32 (windows, words, labels)."""
        inputs = self.embedded(batch) if embedded is None else embedded
        hidden = self.encoder.backbone(inputs_embeds=inputs, attention_mask=batch.mask).last_hidden_state
        windows, count = batch.shapes.shape
        places = batch.words + torch.arange(windows, device=hidden.device)[:, None] * (count + 1)
        flat = hidden.float().reshape(-1, hidden.shape[2])
        sums = flat.new_zeros(windows * (count + 1), flat.shape[1]).index_add(0, places.reshape(-1), flat)
        pieces = flat.new_zeros(windows * (count + 1)).index_add(0, places.reshape(-1), torch.ones_like(flat[:, 0]))
        words = (sums / pieces.clamp(min=1)[:, None]).reshape(windows, count + 1, -1)[:, :count]
        words = self.dropout(words)
        with torch.autocast(words.device.type, enabled=False):
            if self.lstm is not None:
                words = self.dropout(self._around(words, batch.counts))
            scores: Tensor = self.head(words)
        return scores

    def _around(self, words: Tensor, counts: Tensor) -> Tensor:
        """Return what the LSTM says of words, (windows, words, 2 lstm), which does not read padding."""
        assert self.lstm is not None  # noqa: S101 - the caller looked
        packed = nn.utils.rnn.pack_padded_sequence(words, counts.cpu(), batch_first=True, enforce_sorted=False)
        read, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=words.shape[1])
        return read

    def save(self, folder: Path) -> None:
        """Write the encoder and the layers around it."""
        self.encoder.save(folder)
        weights = {key: value for key, value in self.state_dict().items() if not key.startswith("encoder.")}
        write_weights(weights, folder / HEAD)

    def restore(self, folder: Path) -> None:
        """Take the layers around the encoder that `save` wrote.

        Raises:
            FormatError: they are not those that are wanted.
        """
        wanted = {key: value.shape for key, value in self.state_dict().items() if not key.startswith("encoder.")}
        path = folder / HEAD
        found = read_weights(path)
        if {key: value.shape for key, value in found.items()} != wanted:
            raise FormatError(path, "holds no layers that fit: leave the options as they were when it was trained")
        self.load_state_dict(found, strict=False)
