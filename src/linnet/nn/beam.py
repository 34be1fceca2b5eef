"""Beam search under a prefix tree: a decoder writes names of the tree and cannot write anything else.

All texts are written at once. After each token the tree says for all beams together what may follow; of these
continuations, and no others, the best are kept. The answers are those of ``transformers.generate`` with beams and the
tree as ``prefix_allowed_tokens_fn``, whatever the batch:

* of a text's continuations the best `2 · beams` are looked at; an end among the best `beams` of them finishes a name,
  and the best `beams` that go on are kept;
* a finished name scores its log probability over its length (its end counts) to the power of the length penalty;
* a text is done when `beams` names are finished and the best beam, as long as it is now, scores no better than the
  worst of them, or when no beam is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from linnet.nn.seq2seq import Seq2Seq

__all__ = ["PrefixTree", "Written", "search_beams"]

Ints = npt.NDArray[np.int64]

NOTHING = float("-inf")
IDLE = 0.5  # share of texts that are done at which the others are moved together


class Continuations(Protocol):
    """The continuations of several states, one state behind the other: how many each has, tokens, states behind."""

    @property
    def counts(self) -> Ints:
        """Continuations of each state, int64 (states,)."""
        ...

    @property
    def tokens(self) -> Ints:
        """Tokens, int64 (continuations,)."""
        ...

    @property
    def targets(self) -> Ints:
        """States behind the tokens, int64 (continuations,)."""
        ...


class PrefixTree(Protocol):
    """What may be written, a token at a time, as `linnet.nn.trie` has it."""

    @property
    def root(self) -> int:
        """The state before the first token."""
        ...

    def step(self, states: Ints) -> Continuations:
        """Return the continuations of states, int64 (states,)."""
        ...


class Written(NamedTuple):
    """A name that was written: the state of the tree behind its end, and its score."""

    state: int
    score: float


@dataclass
class _Beams:
    """The beams of the texts that are still written, `beams` each.

    Attributes:
        texts: their places among all texts, int64 (texts,).
        totals: log probabilities of what was written, float32 (texts, beams); of a beam that is none -inf.
        states: of the tree, int64 (texts, beams).
        trees: of the texts.
    """

    texts: Ints
    totals: Tensor
    states: Ints
    trees: list[PrefixTree]


@torch.inference_mode()
def search_beams(
    network: Seq2Seq,
    trees: Sequence[PrefixTree],
    encoded: Tensor,
    mask: Tensor,
    prompts: Tensor,
    *,
    beams: int = 5,
    length_penalty: float = 1.0,
    longest: int | None = None,
) -> list[list[Written]]:
    """Return the best names of each text, the best first, at most `beams` of them.

    Args:
        network: writes.
        trees: of each text, what may be written.
        encoded: the texts as `network.encode` gives them, (texts, tokens, size).
        mask: of these, (texts, tokens).
        prompts: what the decoder reads before it writes, as many tokens for each text, (texts, prompt).
        beams: how many beginnings of names are kept at a time.
        length_penalty: power of a name's length by which its log probability is divided.
        longest: tokens of a name at most, its end included; longer ones are given up. None = as many as the window
            of the decoder has room for.
    """
    count, width = len(encoded), prompts.shape[1]
    room = network.window - width if longest is None else min(longest, network.window - width)
    finished: list[list[Written]] = [[] for _ in range(count)]
    logs, cache = network.advance(encoded, mask, prompts)
    live = _first_beams(trees, beams, logs.device)
    every = torch.arange(count, device=logs.device).repeat_interleave(beams)
    cache.self_attention_cache.reorder_cache(every)
    cache.cross_attention_cache.reorder_cache(every)
    encoded, mask, logs = encoded[every], mask[every], logs[every]
    for length in range(1, room + 1):
        tokens, sources = _continue(live, logs, finished, network.end, length**length_penalty)
        going = _going(live, finished, length**length_penalty, beams)
        if not going.any() or length == room:
            break
        rows = sources + beams * torch.arange(len(sources), device=sources.device)[:, None]
        if going.mean() <= IDLE:
            kept = torch.from_numpy(np.flatnonzero(going)).to(rows.device)
            live = _only(live, kept)
            rows, tokens = rows[kept], tokens[kept]
            cache.cross_attention_cache.reorder_cache(rows.ravel())
            encoded, mask = encoded[rows.ravel()], mask[rows.ravel()]
        cache.self_attention_cache.reorder_cache(rows.ravel())  # beams of a text read the same text: the rest stays
        logs, cache = network.advance(encoded, mask, tokens.reshape(-1, 1), cache)
    return finished


def _first_beams(trees: Sequence[PrefixTree], beams: int, device: torch.device) -> _Beams:
    """Return one beam of each text at the root of its tree."""
    totals = torch.full((len(trees), beams), NOTHING, device=device)
    totals[:, 0] = 0.0
    states = np.repeat(np.array([[tree.root] for tree in trees], np.int64), beams, axis=1)
    return _Beams(np.arange(len(trees)), totals, states, list(trees))


def _continue(
    live: _Beams, logs: Tensor, finished: list[list[Written]], end: int, length: float
) -> tuple[Tensor, Tensor]:
    """Move each text's beams on by a token; return the tokens and the beams they follow, int64 (texts, beams).

    Args:
        live: changed in place.
        logs: log probabilities of tokens behind each beam, (texts · beams, vocabulary).
        finished: of all texts, changed in place.
        end: the token that finishes a name.
        length: what the log probability of a name that is finished now is divided by.
    """
    count, beams = live.totals.shape
    owners, tokens, targets = _continuations(live)
    scores = live.totals.ravel()[owners] + logs[owners, tokens]
    texts = torch.div(owners, beams, rounding_mode="floor")
    scores, places = _best(scores, texts, count, 2 * beams)  # (texts, 2 · beams)
    ends = (tokens[places] == end) & (scores > NOTHING)
    _finish(live, finished, ends[:, :beams], scores / length, targets[places])
    # those that go on come first, in their order
    order = torch.argsort(ends.to(torch.uint8), dim=1, stable=True)[:, :beams]
    live.totals = scores.masked_fill(ends, NOTHING).gather(1, order)
    places = places.gather(1, order)
    live.states = targets[places].numpy(force=True)
    return tokens[places], owners[places] % beams


def _continuations(live: _Beams) -> tuple[Tensor, Tensor, Tensor]:
    """Return beams, tokens and states behind of all continuations, int64 (continuations,), text by text."""
    device, beams = live.totals.device, live.states.shape[1]
    is_beam = (live.totals > NOTHING).numpy(force=True).ravel()
    owners, tokens, targets = [], [], []
    by_tree: dict[int, list[int]] = {}
    for text, tree in enumerate(live.trees):
        by_tree.setdefault(id(tree), []).append(text)
    for texts in by_tree.values():
        slots = (np.array(texts)[:, None] * beams + np.arange(beams)).ravel()
        slots = slots[is_beam[slots]]
        found = live.trees[texts[0]].step(live.states.ravel()[slots])
        owners.append(np.repeat(slots, found.counts))
        tokens.append(found.tokens)
        targets.append(found.targets)
    beam, token, target = (np.concatenate(some) for some in (owners, tokens, targets))
    if len(by_tree) > 1:
        order = np.argsort(beam, kind="stable")
        beam, token, target = beam[order], token[order], target[order]
    made = [torch.from_numpy(np.ascontiguousarray(one, np.int64)).to(device) for one in (beam, token, target)]
    return made[0], made[1], made[2]


def _best(scores: Tensor, texts: Tensor, count: int, most: int) -> tuple[Tensor, Tensor]:
    """Return the best scores of each text and their places, (texts, most); -inf and place 0 where there are fewer.

    Args:
        scores: (continuations,), text by text.
        texts: whose they are, int64 (continuations,), ascending.
        count: of texts.
        most: scores of a text that are wanted.
    """
    sizes = torch.bincount(texts, minlength=count)
    starts = sizes.cumsum(0) - sizes
    width = max(most, int(sizes.max()))
    table = scores.new_full((count, width), NOTHING)
    table[texts, torch.arange(len(texts), device=texts.device) - starts[texts]] = scores
    best, places = table.topk(most, dim=1)
    places = torch.where(best > NOTHING, places + starts[:, None], 0)
    return best, places


def _finish(live: _Beams, finished: list[list[Written]], ends: Tensor, scores: Tensor, states: Tensor) -> None:
    """Keep the names that are finished now, the best of each text."""
    beams = ends.shape[1]
    for text, place in ends.nonzero().tolist():
        own = finished[live.texts[text]]
        own.append(Written(int(states[text, place]), float(scores[text, place])))
        own.sort(key=lambda one: -one.score)  # stable: of equals the earlier
        del own[beams:]


def _going(live: _Beams, finished: list[list[Written]], length: float, beams: int) -> npt.NDArray[np.bool_]:
    """Return which texts are not done; forget the beams of those that are."""
    best = (live.totals[:, 0] / length).tolist()
    going = np.zeros(len(best), np.bool_)
    for text, score in enumerate(best):
        own = finished[live.texts[text]]
        going[text] = score > NOTHING and (len(own) < beams or score > own[-1].score)
    live.totals[torch.from_numpy(~going).to(live.totals.device)] = NOTHING
    return going


def _only(live: _Beams, kept: Tensor) -> _Beams:
    """Return the beams of some of the texts."""
    places = kept.numpy(force=True)
    return _Beams(live.texts[places], live.totals[kept], live.states[places], [live.trees[text] for text in places])
