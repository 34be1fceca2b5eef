"""Self-alignment of an encoder on the synonyms of a knowledge base (SapBERT: Liu et al. 2021).

    name  ``[CLS] name [SEP]``      (names, tokens) -> (names, d), as the component pools names

A batch holds pairs of synonyms. Its names are compared with each other: those of one concept are drawn together, those
of different concepts pushed apart, as far as they are part of a hard triplet (`linnet.nn.losses`). No document is
needed. What differs from the published code: concepts that share a name are not pushed apart; names keep their case,
which is the tokenizer's matter; pairs are drawn anew each epoch; the names of all processes are compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from linnet.data import Document
from linnet.errors import DataError, RecipeError
from linnet.kb import KbName
from linnet.nn.losses import hard_triplets, multi_similarity
from linnet.nn.texts import framed, padded
from linnet.nn.vectors import encode_to_learn
from linnet.pipeline import Step
from linnet.retrieve.dense_args import AlignArgs
from linnet.retrieve.dense_linked import RetrieverInTraining, linked_mentions, training_key
from linnet.text.normalise import basic
from linnet.train.args import TrainArgs
from linnet.train.judge import Judge, judged
from linnet.train.loop import parameter_groups
from linnet.train.processes import gathered

__all__ = ["Alignment", "Batch", "fit", "namesakes"]

Ints = npt.NDArray[np.int64]


class Batch(NamedTuple):
    """Tensors: ids (names, tokens), mask and spans of names, and the rows of their concepts, int64 (names,)."""

    texts: tuple[Tensor, Tensor, Tensor]
    rows: Tensor


class Alignment:
    """What the gradient loop needs to know of self-alignment (`linnet.train.loop.Trainable`)."""

    def __init__(self, dense: RetrieverInTraining, args: AlignArgs) -> None:
        self.dense, self.args = dense, args
        self.module: nn.Module = dense.network
        names = list(dense.kb.names())
        encoder = dense.network.entity
        self.tokens = framed(encoder, [name.text for name in names], most=min(args.tokens, encoder.window))
        self.rows = np.array([name.concept for name in names], np.int64)  # (names,)
        self.synonyms = self._synonyms()
        self.concepts = len(dense.kb)
        self.namesakes = torch.from_numpy(namesakes(names, concepts=self.concepts))

    def _synonyms(self) -> list[Ints]:
        """Return the places of the names of each concept that has several: one of those that are read alike."""
        places: dict[int, dict[tuple[int, ...], int]] = defaultdict(dict)
        for place, (text, row) in enumerate(zip(self.tokens, self.rows.tolist(), strict=True)):
            places[row].setdefault(text.ids, place)
        return [np.array(list(own.values())) for own in places.values() if len(own) > 1]

    def groups(self, args: TrainArgs) -> list[dict[str, Any]]:
        """Return all parameters, which decay alike, as published."""
        return parameter_groups(self.module, args, no_decay=())

    def examples(self, docs: Sequence[Document], *, epoch: int, rng: np.random.Generator) -> Any:  # noqa: ARG002
        """Return the pairs of synonyms of an epoch as places of names, one array int64 (pairs, 2)."""
        return np.concatenate([own[_pairs(len(own), self.args.pairs, rng)] for own in self.synonyms])

    def collate(self, examples: Sequence[Ints]) -> Batch:
        """Return tensors of pairs: the first names of all, then the second ones."""
        places = np.stack(examples).T.ravel()
        texts = padded(
            [self.tokens[place] for place in places], padding=self.dense.network.entity.tokenizer.pad_token_id
        )
        return Batch(texts, torch.from_numpy(self.rows[places]))

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Return the multi-similarity loss of the pairs in hard triplets, among the names of all processes."""
        own = encode_to_learn(self.dense.network.names, batch.texts, chunk=self.args.encode_batch)
        vectors, rows = gathered(functional.normalize(own.float(), dim=-1)), gathered(batch.rows)
        args = self.args
        # beta times the rounding of bfloat16 would be a large error
        with torch.autocast(vectors.device.type, enabled=False):
            similarities = vectors @ vectors.T  # (names, names)
            pairs = hard_triplets(similarities, *self.compared(rows), margin=args.margin)
            loss = multi_similarity(similarities, *pairs, alpha=args.alpha, beta=args.beta, base=args.base)
        return {"multi_similarity": loss}

    def compared(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return which names of a batch belong together, and which do not, bool (names, names), by their concepts.

        Names of concepts that share a name are neither.
        """
        same = rows[:, None] == rows
        itself = torch.eye(len(rows), dtype=torch.bool, device=rows.device)
        codes = rows[:, None] * self.concepts + rows
        return same & ~itself, ~same & ~torch.isin(codes, self.namesakes.to(rows.device))


def _pairs(count: int, most: int, rng: np.random.Generator) -> Ints:
    """Return pairs of different numbers below `count`, (pairs, 2): all of them, or so many drawn at random.

    >>> _pairs(3, 50, np.random.default_rng(1)).tolist(), len(_pairs(1000, 50, np.random.default_rng(1)))
    ([[0, 1], [0, 2], [1, 2]], 50)
    """
    total = count * (count - 1) // 2
    if total <= most:
        return np.stack(np.triu_indices(count, 1), axis=1)
    chosen = rng.choice(total, most, replace=False)
    # pairs are numbered (0, 1), (0, 2), (1, 2), (0, 3) …: those up to a second number s are s (s + 1) / 2
    starts = np.arange(count) * (np.arange(count) - 1) // 2
    second = np.searchsorted(starts, chosen, side="right") - 1
    return np.stack([chosen - starts[second], second], axis=1)


def namesakes(names: Sequence[KbName], *, concepts: int) -> Ints:
    """Return the pairs of concepts that share a name when spelling is left aside, each pair (a, b) as a · concepts + b.

    Both orders of a pair are there.
    """
    rows: dict[str, set[int]] = defaultdict(set)
    for name in names:
        rows[basic(name.text) or name.text].add(name.concept)
    shared = [sorted(own) for own in rows.values() if len(own) > 1]
    return np.array(sorted({a * concepts + b for own in shared for a in own for b in own if a != b}), np.int64)


def fit(dense: RetrieverInTraining, dev: Sequence[Document], *, args: Mapping[str, Any]) -> Iterator[Step]:
    """Align the network of a component in place; `linnet.retrieve.dense.Dense.fit` says how it is called.

    Raises:
        RecipeError: wrong arguments, or a component of two encoders.
        DataError: no concept has two names.
    """
    own, loop = AlignArgs.split({key: value for key, value in args.items() if key != "checkpoints"})
    if not dense.shared:
        raise RecipeError("dense", ["stage: 'align' trains one encoder for mentions and names; set shared to true"])
    training = Alignment(dense, own)
    if not training.synonyms:
        raise DataError(f"dense: no concept of {dense.kb.path} has two names that could be aligned")
    folder, key = args.get("checkpoints"), training_key(dense, (), dev, own)
    judge, on = Judge(dense, lambda: dense.names_file), linked_mentions(dense, dev, None)
    yield from judged(training, judge, (), dev, linked=on, args=loop, folder=folder, key=key)
