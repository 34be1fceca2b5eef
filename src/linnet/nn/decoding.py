"""What a decoder has read and may go on from: rows, each a text with what was written for it so far.

`Seq2Seq.begin` gives one. Rows are extended by a token each, and only those that are wanted are kept; several rows may
go on from the same one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional
from transformers.modeling_outputs import BaseModelOutput

__all__ = ["CachedDecoding", "Decoding", "PackedDecoding"]

IDLE = 0.5  # share of texts without rows at which the others are moved together
LOGITS = 1 << 21  # scores of the vocabulary at a time, that memory stays small
NOTHING = float("-inf")


class Decoding(Protocol):
    """Rows that a decoder goes on from; at first one for each text, behind its prompt."""

    def log_probabilities(self, rows: Tensor, tokens: Tensor) -> Tensor:
        """Return the log probabilities of tokens behind rows, float32 (pairs,).

        Args:
            rows: int64 (pairs,), ascending.
            tokens: int64 (pairs,).
        """
        ...

    def extend(self, rows: Tensor, tokens: Tensor) -> None:
        """Go on from some rows with a token each; they are numbered anew, in this order, and the others forgotten.

        Args:
            rows: int64 (new rows,); those of a text stand together, and texts stay in their order.
            tokens: int64 (new rows,).
        """
        ...


class CachedDecoding:
    """Rows of any network of Transformers, by its own cache.

    Args:
        backbone: an encoder with a decoder.
        encoded: the texts as the encoder gives them, (texts, tokens, size).
        mask: of these, (texts, tokens).
        prompts: what the decoder reads first, as many tokens for each text.
    """

    def __init__(self, backbone: Any, encoded: Tensor, mask: Tensor, prompts: Sequence[Sequence[int]]) -> None:
        self._backbone, self._encoded, self._mask = backbone, encoded, mask
        self._texts = torch.arange(len(encoded), device=encoded.device)  # of rows
        self._cache: Any = None
        self._read(torch.tensor(prompts, device=encoded.device))

    def log_probabilities(self, rows: Tensor, tokens: Tensor) -> Tensor:
        """Return the log probabilities of tokens behind rows, as of `Decoding`."""
        return self._logs[rows, tokens]

    def extend(self, rows: Tensor, tokens: Tensor) -> None:
        """Go on from some rows, as of `Decoding`."""
        texts = self._texts[rows]
        self._cache.self_attention_cache.reorder_cache(rows)
        if not torch.equal(texts, self._texts):  # else the text of each row is the same, and stays
            self._cache.cross_attention_cache.reorder_cache(rows)
            self._encoded, self._mask, self._texts = self._encoded[rows], self._mask[rows], texts
        self._read(tokens[:, None])

    def _read(self, ids: Tensor) -> None:
        found = self._backbone(
            encoder_outputs=BaseModelOutput(last_hidden_state=self._encoded), attention_mask=self._mask,
            decoder_input_ids=ids, past_key_values=self._cache, use_cache=True,
        )  # fmt: skip
        self._cache = found.past_key_values
        self._logs = torch.log_softmax(found.logits[:, -1].float(), dim=-1)


class PackedDecoding:
    """Rows of a decoder of the kind of BERT, several times as fast.

    The layers are the same, but

    * a text is looked at by all its rows together, and never copied for each of them;
    * prompts may differ in length;
    * of the vocabulary's scores, which take half of the time, only their sum and those asked for are made.

    Args:
        decoder: a ``BertLMHeadModel`` that looks at an encoder.
        encoded, mask: as of `CachedDecoding`.
        prompts: what the decoder reads first.
    """

    def __init__(self, decoder: Any, encoded: Tensor, mask: Tensor, prompts: Sequence[Sequence[int]]) -> None:
        self._bert, self._head = decoder.bert, decoder.cls.predictions
        self._layers = list(decoder.bert.encoder.layer)
        self._heads = decoder.config.num_attention_heads
        self._scale = 1 / math.sqrt(decoder.config.hidden_size // self._heads)
        device = encoded.device
        self._texts = torch.arange(len(encoded), device=device)  # of rows
        self._shown = _additive(mask.bool(), encoded.dtype)[:, None]  # (texts, 1, tokens)
        self._seen = [self._keys_and_values(layer.crossattention.self, encoded) for layer in self._layers]
        self._lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
        self._mask = torch.empty(0)  # of what was written, (rows, tokens)
        self._written: list[tuple[Tensor, Tensor]] = []  # keys and values of it, layer by layer
        width = max(map(len, prompts))
        ids = torch.tensor([[*prompt, *[0] * (width - len(prompt))] for prompt in prompts], device=device)
        self._read_prompts(ids)

    def log_probabilities(self, rows: Tensor, tokens: Tensor) -> Tensor:
        """Return the log probabilities of tokens behind rows, as of `Decoding`."""
        found, step = [], max(1, LOGITS // self._head.decoder.out_features)
        bounds = torch.arange(0, len(self._hidden) + step, step, device=rows.device)
        places = torch.searchsorted(rows, bounds).tolist()
        for start, low, high in zip(bounds.tolist(), places, places[1:], strict=False):
            if high > low:
                logits = self._head(self._hidden[start : start + step]).float()
                own = rows[low:high] - start
                found.append(logits[own, tokens[low:high]] - logits.logsumexp(dim=-1)[own])
        return torch.cat(found)

    def extend(self, rows: Tensor, tokens: Tensor) -> None:
        """Go on from some rows, as of `Decoding`."""
        self._texts, positions = self._texts[rows], self._lengths[rows]
        self._lengths = positions + 1
        self._forget_texts()
        self._mask = functional.pad(self._mask[rows], (0, 1))
        places, width = self._places()
        hidden = self._embed(tokens, positions)
        for number, layer in enumerate(self._layers):
            own = layer.attention.self
            keys, values = (
                torch.cat([old[rows], new(hidden).view(len(rows), self._heads, 1, -1)], dim=2)
                for old, new in zip(self._written[number], (own.key, own.value), strict=True)
            )
            self._written[number] = keys, values
            query = own.query(hidden).view(len(rows), self._heads, 1, -1)
            hidden = layer.attention.output(self._attend(query, keys, values, self._mask[:, None]), hidden)
            query = layer.crossattention.self.query(hidden)
            grid = query.new_zeros(len(self._shown) * width, query.shape[1])
            grid[places] = query
            query = grid.view(len(self._shown), width, self._heads, -1).transpose(1, 2)
            found = self._attend(query, *self._seen[number], self._shown)[places]
            hidden = self._feed(layer, layer.crossattention.output(found, hidden))
        self._hidden = hidden

    # --- layers ------------------------------------------------------------------------------------------------------

    def _read_prompts(self, ids: Tensor) -> None:
        """Read the prompts (texts, tokens), of which those that are shorter are filled up at their ends."""
        count, width = ids.shape
        positions = torch.arange(width, device=ids.device)
        known = positions < self._lengths[:, None]
        self._mask = _additive(known, self._shown.dtype)
        causal = _additive(positions[:, None] >= positions, self._shown.dtype)
        hidden = self._embed(ids.ravel(), positions.repeat(count))
        for number, layer in enumerate(self._layers):
            own = layer.attention.self
            keys, values = self._keys_and_values(own, hidden.view(count, width, -1))
            self._written.append((keys, values))
            found = self._attend(self._split(own.query(hidden), count), keys, values, causal)
            hidden = layer.attention.output(found, hidden)
            query = self._split(layer.crossattention.self.query(hidden), count)
            found = self._attend(query, *self._seen[number], self._shown)
            hidden = self._feed(layer, layer.crossattention.output(found, hidden))
        self._hidden = hidden.view(count, width, -1)[torch.arange(count, device=ids.device), self._lengths - 1]

    def _embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        return self._bert.embeddings(input_ids=ids[:, None], position_ids=positions[:, None])[:, 0]  # type: ignore[no-any-return]

    def _feed(self, layer: Any, hidden: Tensor) -> Tensor:
        return layer.output(layer.intermediate(hidden), hidden)  # type: ignore[no-any-return]

    def _split(self, hidden: Tensor, count: int) -> Tensor:
        """Return vectors (count x tokens, size) as (count, heads, tokens, d)."""
        return hidden.view(count, -1, self._heads, hidden.shape[-1] // self._heads).transpose(1, 2)

    def _keys_and_values(self, attention: Any, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return what vectors (count, tokens, size) are found by and give, (count, heads, tokens, d) each."""
        made = (one(hidden).flatten(0, 1) for one in (attention.key, attention.value))
        keys, values = (self._split(one, len(hidden)).contiguous() for one in made)
        return keys, values

    def _attend(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Return what queries (count, heads, tokens, d) find, (count x tokens, size); `mask` is added to scores."""
        scores = torch.matmul(query * self._scale, keys.transpose(2, 3))
        scores += mask[:, None] if mask.dim() == 3 else mask  # else one for all
        return torch.matmul(scores.softmax(dim=-1), values).transpose(1, 2).flatten(2).flatten(0, 1)

    # --- texts of rows -----------------------------------------------------------------------------------------------

    def _places(self) -> tuple[Tensor, int]:
        """Return the place of each row in a table (texts, width), row by row of the table, and its width."""
        sizes = torch.bincount(self._texts, minlength=len(self._shown))
        width = int(sizes.max())
        ranks = torch.arange(len(self._texts), device=sizes.device) - (sizes.cumsum(0) - sizes)[self._texts]
        return self._texts * width + ranks, width

    def _forget_texts(self) -> None:
        """Forget texts without rows once they are many."""
        kept, places = torch.unique(self._texts, return_inverse=True)
        if len(kept) <= IDLE * len(self._shown):
            self._texts, self._shown = places, self._shown[kept]
            self._seen = [(keys[kept], values[kept]) for keys, values in self._seen]


def _additive(known: Tensor, dtype: torch.dtype) -> Tensor:
    """Return what is added to scores: nothing where something is known, minus infinity elsewhere."""
    return torch.zeros(known.shape, dtype=dtype, device=known.device).masked_fill(~known, NOTHING)
