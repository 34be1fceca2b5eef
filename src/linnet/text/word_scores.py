"""From scores of words to mentions: windows put together, the best labels, and how probable each mention is.

Who scores the words, a network run by PyTorch or one run without it, does not matter here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from linnet.reporter import tell
from linnet.text.chains import Floats as Scores
from linnet.text.chains import Rules, backward, best, forward, log_sum
from linnet.text.tagging import CONTINUES, Chunk, decode
from linnet.text.token_batches import token_batches
from linnet.text.windows import PaddedWindows, Text, Window
from linnet.text.word_pieces import WordPieces

__all__ = ["WordScorer", "decoded", "emissions"]

CHAINS = 1 << 16  # words that are decoded at once, padding included
SUREST = 30.0  # log odds

Floats = npt.NDArray[np.float32]


class WordScorer(Protocol):
    """A network that scores labels of words."""

    @property
    def encoder(self) -> WordPieces:
        """Whose word pieces it reads."""
        ...

    @property
    def budget(self) -> int:
        """How many tokens a batch should have at most, padding included."""
        ...

    @property
    def chain(self) -> Rules:
        """What labels may follow each other, and how gladly."""
        ...

    def score(self, batch: PaddedWindows, /) -> Floats:
        """Return the score of each label for each word, float32 (windows, words, labels)."""
        ...


def emissions(
    texts: Sequence[Text], windows: Sequence[Sequence[Window]], networks: Sequence[WordScorer]
) -> list[Floats]:
    """Return the score of each label for each word of each text, float32 (words, labels): the mean of all networks.

    Words without word pieces, control characters say, are no mentions at the ends of a text.
    """
    first = networks[0]
    out = [np.zeros((len(text.words), len(first.chain.begin)), np.float32) for text in texts]
    for scores in out:
        scores[:, 0] = SUREST  # what nobody reads is no mention
    parts = [(number, window) for number, some in enumerate(windows) for window in some if window.last > window.first]
    done = 0
    for rows in token_batches([w.last - w.first + 2 for _, w in parts], tokens=first.budget):
        some = [parts[row] for row in rows.tolist()]
        batch = PaddedWindows.of([(texts[number], window) for number, window in some], first.encoder)
        mean = np.mean([network.score(batch) for network in networks], axis=0)
        for (number, window), (begin, end), found in zip(some, batch.own.tolist(), mean, strict=True):
            start = int(texts[number].owners[window.first])
            out[number][start + begin : start + end] = found[begin:end]
        done += len(some)
        tell("windows of text", done, len(parts))
    return out


def decoded(scores: Sequence[Floats], rules: Rules, labels: Sequence[str]) -> list[list[tuple[Chunk, float]]]:
    """Return the chunks of the best labels of each text with their log odds.

    Args:
        scores: of each text, float32 (words, labels).
        rules: what may follow what.
        labels: names of the labels.
    """
    exact = Rules.mean([rules])
    found: list[list[tuple[Chunk, float]]] = [[] for _ in scores]
    for rows in token_batches([len(one) for one in scores], tokens=CHAINS):
        some = [row for row in rows.tolist() if len(scores[row])]
        if some:
            for row, chunks in zip(some, _chains([scores[row] for row in some], exact, labels), strict=True):
                found[row] = chunks
    return found


def _chains(scores: Sequence[Floats], rules: Rules, labels: Sequence[str]) -> Iterator[list[tuple[Chunk, float]]]:
    lengths = np.array([len(one) for one in scores], np.int64)
    # in float64: a share of all rows is a difference of sums that grow with the text
    padded = np.zeros((len(scores), int(lengths.max()), len(labels)))
    for row, one in enumerate(scores):
        padded[row, : len(one)] = one
    padded -= log_sum(padded, 2)[:, :, None]  # which changes no probability, and keeps sums of many words exact
    paths = best(padded, lengths, rules)
    ahead, behind = forward(padded, rules), backward(padded, lengths, rules)
    for row, path in enumerate(paths):
        chunks = decode(labels[label] for label in path)
        length = len(path)
        whole = float(log_sum(ahead[row, length - 1] + rules.end, 0))
        ends = _ends(padded[row, :length], behind[row, :length], rules, labels)
        logs = [_log(chunk, path, padded[row], ahead[row], ends, rules) - whole for chunk in chunks]
        yield [(chunk, _odds(log)) for chunk, log in zip(chunks, logs, strict=True)]


def _ends(own: Scores, behind: Scores, rules: Rules, labels: Sequence[str]) -> Scores:
    """Return the log of the sum of all rows behind each word in which a mention that holds it ends there, (T, L)."""
    new = np.array([label[0] not in CONTINUES for label in labels])
    after = (own[1:] + behind[1:])[:, new]  # (T - 1, labels that begin something)
    inner = log_sum(rules.follow[:, new] + after[:, None, :], 2)
    return np.concatenate([inner, rules.end[None]])


def _log(chunk: Chunk, path: Sequence[int], own: Scores, ahead: Scores, ends: Scores, rules: Rules) -> float:
    """Return the log of the sum of all rows in which these labels, and no more, are one mention."""
    total = float(ahead[chunk.first, path[chunk.first]])
    for word in range(chunk.first + 1, chunk.last + 1):
        total += float(rules.follow[path[word - 1], path[word]] + own[word, path[word]])
    return total + float(ends[chunk.last, path[chunk.last]])


def _odds(log: float) -> float:
    """Return the log odds of a log probability."""
    log = min(log, -1e-12)
    return float(np.clip(log - np.log(-np.expm1(log)), -SUREST, SUREST))
