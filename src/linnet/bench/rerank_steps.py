"""The steps of ``linnet bench rerank``: documents with candidates, then every packing turn by turn."""

from __future__ import annotations

import copy
import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from linnet.corpora.splits import split_documents
from linnet.nn.device import autocast
from linnet.nn.pooling import Pool
from linnet.nn.vectors import encode
from linnet.pipeline import Abbreviations
from linnet.pipeline.component import blind
from linnet.recipes.config import open_kb
from linnet.rerank.cross_encoder import CrossArgs, CrossEncoder, Read
from linnet.rerank.cross_training import Batch, CrossTraining, Example, Learned
from linnet.retrieve.ngram import Ngram
from linnet.text.packing import PACKINGS, Packed
from linnet.text.token_batches import TokenText

__all__ = ["measure", "prepare"]

BATCHES = (512, 1024, 2048, 4096, 8192)  # tokens
TAUGHT, MENTIONS = 8, 16  # documents that learning is timed on; mentions of a batch


class _Way(NamedTuple):
    """A packing, isolated or not."""

    name: str
    cross: CrossEncoder
    packed: list[Packed]

    @property
    def tokens(self) -> int:
        return sum(map(len, self.packed))


def prepare(
    kb: str, corpus: str, data: Path | None, *, documents: int, top_k: int, encoder: str
) -> tuple[CrossEncoder, list[Read]]:
    """Return a cross-encoder and the first development documents of a corpus as it reads them."""
    opened = open_kb(kb)
    cross = CrossEncoder(kb=opened, encoder=encoder, top_k=top_k, use_first_stage_scores=False, packing="base")
    gold = itertools.islice(split_documents(corpus, split="dev", data=data), documents)
    before = Abbreviations() >> Ngram(kb=opened, k=top_k)
    docs = before(blind(list(gold), before))
    return cross, [cross.reader.read(doc, cross.resolved(doc)) for doc in docs]


def measure(cross: CrossEncoder, reads: Sequence[Read], *, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield what was measured of each packing, by the names of the columns; the first is one pair at a time.

    In each round all packings have their turn, so that other work on the machine slows them alike.
    """
    ways = list(_ways(cross, reads))
    mentions = sum(len(read.asked) for read in reads)
    best = {way.name: _best_batch(way, reads) for way in ways}
    few = reads[:TAUGHT]
    taught = {way.name: _batches(way, few) for way in ways}
    rounds: dict[str, list[tuple[float, float, float]]] = {way.name: [] for way in ways}
    for _ in range(repeats):
        for way in ways:
            ours = _seconds(partial(way.cross.score, reads, tokens=best[way.name]))
            alone = _seconds(partial(_encode, way, best[way.name]))
            rounds[way.name].append((ours, alone, _seconds(partial(_learn, *taught[way.name]))))
    base = statistics.median(ours for ours, _, _ in rounds["base"])
    for way in ways:
        ours, alone, learning = (statistics.median(times) for times in zip(*rounds[way.name], strict=True))
        fewer = ways[0].tokens / way.tokens
        yield {
            "packing": way.name, "sequences": len(way.packed), "tokens": way.tokens,
            "longest": max(map(len, way.packed)), "token ratio": fewer, "tokens a batch": best[way.name],
            "mentions/s": mentions / ours, "time ratio": base / ours, "reached": base / ours / fewer,
            "tokens/s": way.tokens / ours, "encoder tokens/s": way.tokens / alone, "share": alone / ours,
            "annotations/s": sum(len(read.asked) for read in few) / learning,
        }  # fmt: skip


def _ways(cross: CrossEncoder, reads: Sequence[Read]) -> Iterator[_Way]:
    for isolated in (False, True):
        for packing in PACKINGS:
            made = copy.copy(cross)
            made.packing, made.isolated = packing, isolated
            made.network = cross.network  # a copy would read it anew
            yield _Way(packing + (", isolated" if isolated else ""), made, made.packed(reads)[0])


def _best_batch(way: _Way, reads: Sequence[Read]) -> int:
    """Return how many tokens a batch should have for this packing."""
    way.cross.score(reads[:2])
    return min(BATCHES, key=lambda tokens: _seconds(partial(way.cross.score, reads, tokens=tokens)))


def _encode(way: _Way, tokens: int) -> None:
    """Let the encoder alone read texts of the same lengths."""
    encoder = way.cross.network.encoder
    texts = [TokenText(tuple(one.ids), (0, len(one))) for one in way.packed]
    encode(encoder, Pool("cls", encoder.size), texts, tokens=tokens)


def _batches(way: _Way, reads: Sequence[Read]) -> tuple[CrossTraining, list[Batch]]:
    """Return a training, and its batches of about as many mentions in every packing."""
    learned = [
        Learned(read, [np.arange(len(one.candidates)) == 0 for one in read.asked], len(read.asked)) for read in reads
    ]
    training = CrossTraining(way.cross, CrossArgs(top_k=way.cross.top_k, dropout=0.0), learned)
    batches: list[Batch] = []
    some: list[Example] = []
    for example in training.examples((), epoch=0, rng=np.random.default_rng(0)):
        some.append(example)
        if sum(len(set(one.mentions.tolist())) for one in some) >= MENTIONS:
            batches.append(training.collate(some))
            some = []
    return training, [*batches, *([training.collate(some)] if some else [])]


def _learn(training: CrossTraining, batches: Sequence[Batch]) -> None:
    """Work out the gradient of each batch."""
    training.network.train()
    for batch in batches:
        with autocast(training.network.device):
            loss = sum(training.loss(batch).values(), torch.zeros(()))
        loss.backward()  # type: ignore[no-untyped-call]
        training.network.zero_grad(set_to_none=True)
    training.network.eval()


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
