"""A Hugging Face model for token classification, as somebody has trained it: text in, probabilities of labels out.

Texts of any length are read in windows that overlap. Each word piece is taken from the window in which it is farthest
from an edge, so that nothing is cut off and every piece is read with what stands around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from transformers import AutoModelForTokenClassification, PreTrainedModel, PreTrainedTokenizerFast

from linnet.data import Span
from linnet.nn.checkpoints import checkpoint
from linnet.nn.device import autocast, choose_device
from linnet.nn.quiet import quietly
from linnet.nn.text_network import first_position, load_parts, read_config, window_of
from linnet.nn.texts import padded, token_budget
from linnet.nn.weights import writing
from linnet.text.pieces import whole
from linnet.text.token_batches import TokenText, token_batches
from linnet.text.word_pieces import plain

__all__ = ["Aggregation", "Labelled", "TokenClassifier", "windows"]

Floats = npt.NDArray[np.float32]
Aggregation = Literal["first", "average", "pieces"]

WHAT = "a token classifier"
OVERLAP = 128  # word pieces that two windows share, at most half a window


class Labelled(NamedTuple):
    """The words of a text with the probabilities of their labels, float32 (words, labels)."""

    words: list[Span]
    probabilities: Floats


class TokenClassifier(nn.Module):
    """A network that gives every word piece a label, with its tokenizer; `load` makes one.

    Attributes:
        labels: by number, as the model's ``id2label`` calls them.
        window: the most word pieces of one window, start and end not counted.
    """

    def __init__(self, network: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
        super().__init__()
        self.network, self.tokenizer = network, tokenizer
        names = cast("dict[int, str]", network.config.id2label)
        self.labels = [names[number] for number in range(len(names))]
        backbone = network.base_model
        self.window = window_of(backbone, tokenizer, first=first_position(backbone)) - 2
        self.eval()

    @classmethod
    def load(cls, name: str | Path) -> TokenClassifier:
        """Return the model of a folder, or of a name in the local cache of Hugging Face, on the device to be used.

        Raises:
            LinnetError: no such checkpoint, or none of a model for token classification with a fast tokenizer.
        """
        folder = checkpoint(str(name))
        config = read_config(folder, WHAT)
        model, why = AutoModelForTokenClassification, "it was not trained to label tokens"
        network, tokenizer = load_parts(model, folder, config, WHAT, lacking=why)
        return cls(network, tokenizer).to(choose_device())

    def save(self, folder: Path) -> None:
        """Write configuration, ``model.safetensors`` and the tokenizer's files to `folder`, made if needed."""
        folder.mkdir(parents=True, exist_ok=True)
        plain(self.tokenizer.backend_tokenizer)
        with quietly(), writing():
            self.network.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

    def read(self, texts: Sequence[str], *, aggregation: Aggregation = "first") -> list[Labelled]:
        """Return the words of each text with their labels.

        Args:
            texts: whole documents, however long.
            aggregation: what a word of several pieces gets: the labels of its ``first``, as most models are trained,
                or the ``average``; ``pieces`` takes each piece for a word.
        """
        backend = self.tokenizer.backend_tokenizer
        plain(backend)
        encodings = backend.encode_batch(list(map(whole, texts)), add_special_tokens=False)
        logits = self._logits([encoding.ids for encoding in encodings])
        return [_words(one, given, aggregation) for one, given in zip(encodings, logits, strict=True)]

    def _logits(self, texts: Sequence[Sequence[int]]) -> list[Floats]:
        """Return probabilities (pieces, labels) of the word pieces of each text."""
        start, end, padding = (getattr(self.tokenizer, f"{name}_token_id") for name in ("cls", "sep", "pad"))
        out = [np.zeros((len(ids), len(self.labels)), np.float32) for ids in texts]
        parts = [(number, part) for number, ids in enumerate(texts) for part in windows(len(ids), self.window, OVERLAP)]
        rows = [TokenText((start, *texts[n][part.start : part.end], end), (0, 0)) for n, part in parts]
        device = self.network.device
        for batch in token_batches([len(row.ids) for row in rows], tokens=token_budget(device)):
            ids, mask, _ = padded([rows[place] for place in batch], padding=padding, device=device)
            with torch.inference_mode(), autocast(device):
                logits = self.network(input_ids=ids, attention_mask=mask).logits  # (windows, tokens, labels)
            shares = logits.float().softmax(dim=-1).cpu().numpy()
            for place, share in zip(batch, shares, strict=True):
                number, part = parts[place]
                out[number][part.first : part.last] = share[1 + part.first - part.start : 1 + part.last - part.start]
        return out


class TokenWindow(NamedTuple):
    """Word pieces ``[start, end)`` that are read at once, of which ``[first, last)`` are taken from here."""

    start: int
    end: int
    first: int
    last: int


def windows(count: int, most: int, overlap: int) -> list[TokenWindow]:
    """Return the windows of so many word pieces; each piece is taken from one of them.

    Args:
        count: pieces of a text.
        most: pieces of a window.
        overlap: pieces that neighbours share, at most half a window.

    >>> windows(10, 6, 2)
    [TokenWindow(start=0, end=6, first=0, last=5), TokenWindow(start=4, end=10, first=5, last=10)]
    """
    step = most - min(overlap, most // 2)
    starts = list(range(0, max(count - most, 0), step)) if count > most else []
    starts += [max(count - most, 0)] if count else []
    ends = [min(start + most, count) for start in starts]
    borders = [0, *((end + start) // 2 for end, start in zip(ends, starts[1:], strict=False)), count]
    return [TokenWindow(*row) for row in zip(starts, ends, borders, borders[1:], strict=False)]


def _words(encoding: Any, given: Floats, aggregation: Aggregation) -> Labelled:
    """Return the words of a text, put together from its pieces; pieces that hold no character are left out."""
    words: list[Span] = []
    owners: list[int] = []  # of each piece, its word, or -1
    before = None
    for (start, end), word in zip(encoding.offsets, encoding.word_ids, strict=True):
        if start == end:
            owners.append(-1)
            continue
        if words and word == before and word is not None and aggregation != "pieces":
            words[-1] = Span(words[-1].start, max(end, words[-1].end))
        else:
            words.append(Span(start, end))
        before = word
        owners.append(len(words) - 1)
    places = np.array(owners, np.intp)
    kept = np.flatnonzero(places >= 0)
    if aggregation == "average":
        sums = np.zeros((len(words), given.shape[1]), np.float32)
        np.add.at(sums, places[kept], given[kept])
        counts = np.bincount(places[kept], minlength=len(words)).astype(np.float32)
        return Labelled(words, sums / counts[:, None])
    _, first = np.unique(places[kept], return_index=True)
    return Labelled(words, given[kept[first]])
