"""From scores of words to mentions: windows put together, the best labels, and how probable each mention is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from linnet.nn.crf import Rules, backward, best, forward
from linnet.nn.device import autocast
from linnet.nn.encoder import Encoder
from linnet.nn.texts import token_batches, token_budget
from linnet.nn.windows import Pieces, Text, Window
from linnet.reporter import tell
from linnet.text.tagging import CONTINUES, Chunk, decode

__all__ = ["HasRules", "WordScorer", "decoded", "emissions"]

CHAINS = 1 << 16  # words that are decoded at once, padding included
SUREST = 30.0  # log odds

Floats = npt.NDArray[np.float32]


class HasRules(Protocol):
    """A network that knows what labels may follow each other."""

    @property
    def rules(self) -> Rules:
        """What labels may follow each other, and how gladly."""
        ...


class WordScorer(HasRules, Protocol):
    """A network that scores labels of words."""

    @property
    def encoder(self) -> Encoder:
        """Whose word pieces it reads."""
        ...

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        ...

    def __call__(self, batch: Pieces, /) -> Tensor:
        """Return the score of each label for each word, float32 (windows, words, labels)."""
        ...


def emissions(
    texts: Sequence[Text], windows: Sequence[Sequence[Window]], networks: Sequence[WordScorer]
) -> list[Floats]:
    """Return the score of each label for each word of each text, float32 (words, labels): the mean of all networks.

    Words without word pieces, control characters say, are no mentions at the ends of a text.
    """
    labels = len(networks[0].rules.begin)
    out = [np.zeros((len(text.words), labels), np.float32) for text in texts]
    for scores in out:
        scores[:, 0] = SUREST  # what nobody reads is no mention
    parts = [(number, window) for number, some in enumerate(windows) for window in some if window.last > window.first]
    device = networks[0].device
    done = 0
    with torch.inference_mode(), autocast(device):
        for rows in token_batches([w.last - w.first + 2 for _, w in parts], tokens=token_budget(device)):
            some = [parts[row] for row in rows.tolist()]
            batch = Pieces.of([(texts[number], window) for number, window in some], networks[0].encoder).to(device)
            scores = torch.stack([network(batch) for network in networks]).mean(dim=0).float().cpu().numpy()
            for (number, window), (begin, end), found in zip(some, batch.own.tolist(), scores, strict=True):
                start = int(texts[number].owners[window.first])
                out[number][start + begin : start + end] = found[begin:end]
            done += len(some)
            tell("windows of text", done, len(parts))
    return out


def decoded(
    scores: Sequence[Floats], networks: Sequence[HasRules], labels: Sequence[str]
) -> list[list[tuple[Chunk, float]]]:
    """Return the chunks of the best labels of each text with their log odds.

    Args:
        scores: of each text, float32 (words, labels).
        networks: whose rules hold, their mean.
        labels: names of the labels.
    """
    with torch.inference_mode():
        all_rules = [network.rules for network in networks]
        rules = Rules(*(torch.stack(rule).mean(dim=0).double().cpu() for rule in zip(*all_rules, strict=True)))
        found: list[list[tuple[Chunk, float]]] = [[] for _ in scores]
        for rows in token_batches([len(one) for one in scores], tokens=CHAINS):
            some = [row for row in rows.tolist() if len(scores[row])]
            if some:
                for row, chunks in zip(some, _chains([scores[row] for row in some], rules, labels), strict=True):
                    found[row] = chunks
    return found


def _chains(scores: Sequence[Floats], rules: Rules, labels: Sequence[str]) -> Iterator[list[tuple[Chunk, float]]]:
    lengths = torch.tensor([len(one) for one in scores])
    # in float64: a share of all rows is a difference of sums that grow with the text
    padded = torch.zeros(len(scores), int(lengths.max()), len(labels), dtype=torch.float64)
    for row, one in enumerate(scores):
        padded[row, : len(one)] = torch.from_numpy(one)
    padded = padded.log_softmax(dim=2)  # which changes no probability, and keeps sums of many words exact
    paths = best(padded, lengths, rules)
    ahead, behind = forward(padded, rules), backward(padded, lengths, rules)
    for row, path in enumerate(paths):
        chunks = decode(labels[label] for label in path)
        length = len(path)
        whole = float(torch.logsumexp(ahead[row, length - 1] + rules.end, dim=0))
        ends = _ends(padded[row, :length], behind[row, :length], rules, labels)
        logs = [_log(chunk, path, padded[row], ahead[row], ends, rules) - whole for chunk in chunks]
        yield [(chunk, _odds(log)) for chunk, log in zip(chunks, logs, strict=True)]


def _ends(own: Tensor, behind: Tensor, rules: Rules, labels: Sequence[str]) -> Tensor:
    """Return the log of the sum of all rows behind each word in which a mention that holds it ends there, (T, L)."""
    new = torch.tensor([label[0] not in CONTINUES for label in labels])
    after = (own[1:] + behind[1:])[:, new]  # (T - 1, labels that begin something)
    inner = torch.logsumexp(rules.follow[:, new] + after[:, None, :], dim=2)
    return torch.cat([inner, rules.end[None]])


def _log(chunk: Chunk, path: Sequence[int], own: Tensor, ahead: Tensor, ends: Tensor, rules: Rules) -> float:
    """Return the log of the sum of all rows in which these labels, and no more, are one mention."""
    total = float(ahead[chunk.first, path[chunk.first]])
    for word in range(chunk.first + 1, chunk.last + 1):
        total += float(rules.follow[path[word - 1], path[word]] + own[word, path[word]])
    return total + float(ends[chunk.last, path[chunk.last]])


def _odds(log: float) -> float:
    """Return the log odds of a log probability."""
    log = min(log, -1e-12)
    return float(np.clip(log - np.log(-np.expm1(log)), -SUREST, SUREST))
