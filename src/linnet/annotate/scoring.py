"""How good a model is on the documents that it has not learned from, and whether it may take another one's place."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

from linnet.data import Document
from linnet.evaluate import evaluate
from linnet.evaluate.evaluation import Options
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.pipeline.component import batches, blind

__all__ = ["as_told", "divide", "is_worse", "kept_apart", "score"]

SOME = 8  # documents between two looks whether to go on
PLACES = 1 << 64
FEWEST = 5  # documents; fewer, drawn anew, are much the same few again: the interval would be far too narrow
SHOWN = (
    "strict.precision", "strict.recall", "strict.f1", "document.f1", "recognition.strict.f1", "all.accuracy@1",
    "in-kb.accuracy@1",
)  # fmt: skip


def divide(docs: Sequence[Document], share: float) -> tuple[list[Document], list[Document]]:
    """Return the documents to train on and the dev part, which later models find the same documents in.

    A document's id alone decides, by a hash; where no document falls into the dev part, it is the one with the smallest
    hash. A dev document of one model is thus never one that an earlier model was trained on.

    >>> train, dev = divide([Document(f"note-{n}", "Fits.") for n in range(1000)], 0.2)
    >>> len(train), len(dev)
    (803, 197)
    """
    places = {doc.id: _place(doc.id) for doc in docs}
    limit = share * PLACES
    if len(places) > 1 and not any(place < limit for place in places.values()):
        limit = min(places.values()) + 1
    return [doc for doc in docs if places[doc.id] >= limit], [doc for doc in docs if places[doc.id] < limit]


def kept_apart(id: str, share: float) -> bool:
    """Return whether a document falls into the dev part of every training with this share, by its id alone.

    >>> sum(kept_apart(f"note-{n}", 0.2) for n in range(1000))
    197
    """
    return _place(id) < share * PLACES


def _place(id: str) -> int:
    digest = hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def score(
    pipeline: Pipeline, dev: Sequence[Document], kb: KnowledgeBase | None, check: Callable[[], object]
) -> dict[str, Any]:
    """Return the measures of a pipeline on the dev part as JSON, each with its bootstrap interval by document.

    ``documents`` and ``mentions`` say how much there was to measure on. `check` is called now and then.
    """
    found: list[Document] = []
    for some in batches(blind(dev, pipeline), SOME):
        check()
        found += pipeline(some)
    report = evaluate(dev, found, kb=kb, options=Options(classify=False))
    check()
    figures = {name: report.measures[name] for name in SHOWN if name in report.measures}
    told = {name: {"value": one.value, "low": one.low, "high": one.high} for name, one in figures.items()}
    return {"documents": len(dev), "mentions": sum(len(doc.mentions or ()) for doc in dev), "measures": told}


def as_told(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return measures of `score` without the ends of intervals that too few documents gave.

    >>> as_told({"documents": 1, "measures": {"strict.f1": {"value": 0.9, "low": 0.9, "high": 0.9}}})["measures"]
    {'strict.f1': {'value': 0.9, 'low': None, 'high': None}}
    """
    if metrics.get("documents", FEWEST) >= FEWEST:
        return metrics
    blunt = {name: {**one, "low": None, "high": None} for name, one in metrics["measures"].items()}
    return {**metrics, "measures": blunt}


def is_worse(new: dict[str, Any], old: dict[str, Any], name: str) -> bool:
    """Return whether a measure is below the interval of the model in use; without any figure nothing is known.

    >>> old = {"measures": {"strict.f1": {"value": 0.8, "low": 0.75, "high": 0.85}}}
    >>> [is_worse({"measures": {"strict.f1": {"value": value}}}, old, "strict.f1") for value in (0.7, 0.76, 0.9)]
    [True, False, False]
    """
    ours, theirs = new["measures"].get(name), old["measures"].get(name)
    if ours is None or theirs is None:
        return False
    low = theirs["value"] if theirs["low"] is None else theirs["low"]
    return bool(ours["value"] < low and not math.isclose(ours["value"], low))
