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

from linnet.nn.decoding import Decoding
from linnet.nn.seq2seq import Seq2Seq

__all__ = ["PrefixTree", "Written", "search_beams"]

Ints = npt.NDArray[np.int64]

NOTHING = float("-inf")


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
        room: how many tokens a name of each may have, int64 (texts,).
        totals: log probabilities of what was written, float32 (texts, beams); of a beam that is none -inf.
        rows: of the decoding, int64 (texts, beams), ascending.
        states: of the tree, int64 (texts, beams).
        trees: of the texts.
    """

    texts: Ints
    room: Ints
    totals: Tensor
    rows: Tensor
    states: Ints
    trees: list[PrefixTree]


@torch.inference_mode()
def search_beams(
    network: Seq2Seq,
    trees: Sequence[PrefixTree],
    encoded: Tensor,
    mask: Tensor,
    prompts: Sequence[Sequence[int]],
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
        prompts: what the decoder reads before it writes; as many tokens for each text unless the network is `packed`.
        beams: how many beginnings of names are kept at a time.
        length_penalty: power of a name's length by which its log probability is divided.
        longest: tokens of a name at most, its end included; longer ones are given up. None = as many as the window
            of the decoder has room for.
    """
    finished: list[list[Written]] = [[] for _ in trees]
    decoding = network.begin(encoded, mask, prompts)
    room = network.window + 1 - np.array([len(prompt) for prompt in prompts])  # the last token is not read
    live = _first_beams(trees, beams, room if longest is None else np.minimum(room, longest), encoded.device)
    length = 0
    while True:
        length += 1
        tokens, parents = _continue(live, decoding, finished, network.end, length**length_penalty)
        going = _going(live, finished, length**length_penalty, beams) & (live.room > length)
        if not going.any():
            return finished
        live, tokens, parents = _only(live, going, tokens, parents)
        is_beam = live.totals > NOTHING
        decoding.extend(parents[is_beam], tokens[is_beam])
        live.rows = is_beam.ravel().cumsum(0).view_as(live.rows) - 1


def _first_beams(trees: Sequence[PrefixTree], beams: int, room: Ints, device: torch.device) -> _Beams:
    """Return one beam of each text at the root of its tree."""
    totals = torch.full((len(trees), beams), NOTHING, device=device)
    totals[:, 0] = 0.0
    rows = torch.arange(len(trees), device=device)[:, None].expand(-1, beams)
    states = np.repeat(np.array([[tree.root] for tree in trees], np.int64), beams, axis=1)
    return _Beams(np.arange(len(trees)), room, totals, rows, states, list(trees))


def _continue(
    live: _Beams, decoding: Decoding, finished: list[list[Written]], end: int, length: float
) -> tuple[Tensor, Tensor]:
    """Move each text's beams on by a token; return the tokens and the rows they follow, int64 (texts, beams).

    Args:
        live: changed in place.
        decoding: what the decoder has read.
        finished: of all texts, changed in place.
        end: the token that finishes a name.
        length: what the log probability of a name that is finished now is divided by.
    """
    count, beams = live.totals.shape
    owners, tokens, targets = _continuations(live)
    if not len(owners):  # trees without names
        live.totals = torch.full_like(live.totals, NOTHING)
        return live.rows, live.rows
    scores = live.totals.ravel()[owners] + decoding.log_probabilities(live.rows.ravel()[owners], tokens)
    texts = torch.div(owners, beams, rounding_mode="floor")
    scores, places = _best(scores, texts, count, 2 * beams)  # (texts, 2 · beams)
    ends = (tokens[places] == end) & (scores > NOTHING)
    _finish(live, finished, ends[:, :beams], scores / length, targets[places])
    # those that go on come first, in their order
    order = torch.argsort(ends.to(torch.uint8), dim=1, stable=True)[:, :beams]
    live.totals = scores.masked_fill(ends, NOTHING).gather(1, order)
    places = places.gather(1, order)
    live.states = targets[places].numpy(force=True)
    return tokens[places], live.rows.ravel()[owners[places]]


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
    """Return which texts are not done."""
    best = (live.totals[:, 0] / length).tolist()
    going = np.zeros(len(best), np.bool_)
    for text, score in enumerate(best):
        own = finished[live.texts[text]]
        going[text] = score > NOTHING and (len(own) < beams or score > own[-1].score)
    return going


def _only(live: _Beams, kept: npt.NDArray[np.bool_], tokens: Tensor, parents: Tensor) -> tuple[_Beams, Tensor, Tensor]:
    """Return the beams of some of the texts, with their tokens and the rows they follow."""
    if kept.all():
        return live, tokens, parents
    places = np.flatnonzero(kept)
    rows = torch.from_numpy(places).to(tokens.device)
    trees = [live.trees[text] for text in places]
    some = _Beams(live.texts[places], live.room[places], live.totals[rows], live.rows[rows], live.states[places], trees)
    return some, tokens[rows], parents[rows]
