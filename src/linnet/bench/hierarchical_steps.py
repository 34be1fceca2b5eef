"""The steps of ``linnet bench hierarchical``."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from linnet.bench.measured import MIB, best_seconds, dev_documents, open_kb
from linnet.data import Document
from linnet.detect.tagger import Tagger
from linnet.evaluate.meter import peak_resident
from linnet.joint.collective import Collective
from linnet.joint.hierarchical import Hierarchical
from linnet.joint.reading import JointNetwork
from linnet.pipeline import Pipeline
from linnet.recipes.config import read_recipe
from linnet.retrieve.ngram import Ngram

__all__ = ["Row", "measure_all"]

KINDS = ("Chemical", "Disease")


@dataclass(frozen=True)
class Row:
    """How fast a network reads documents.

    Args:
        what: the network.
        documents: how many there are.
        speed: documents a second.
        times: how many times as long as the tagger it takes.
        memory: MiB, the highest of the process up to then.
    """

    what: str
    documents: int
    speed: float
    times: float
    memory: float

    def to_record(self) -> dict[str, Any]:
        """Return the row as JSON has it."""
        return dataclasses.asdict(self)


def measure_all(source: str, *, encoder: str, most: int, data: Path | None) -> list[Row]:
    """Return a row of each network, the tagger first.

    Raises:
        RecipeError: the recipe names no corpus or knowledge base.
    """
    recipe = read_recipe(source)
    kb = open_kb(recipe, source, data=data)
    docs = dev_documents(recipe, most, data=data)
    tagger = Tagger(kb=kb, encoder=encoder, dictionary=False)
    tagger.types, tagger.trained = KINDS, True
    tagger.network = [tagger.fresh()]
    collective = Collective(kb=kb, encoder=encoder, mode="spans", dictionary=False)
    ngram = Ngram(kb=kb, k=64)
    for part in (*Pipeline(collective).front, *Pipeline(ngram).front):
        docs = part(docs)
    runs: list[tuple[str, Callable[[], object]]] = [
        ("tagger alone", functools.partial(_tag, tagger, docs)),
        ("tagger, n-grams", functools.partial(_tag, tagger, docs, ngram)),
        ("collective, spans", functools.partial(_read, collective, docs)),
    ]
    variants: tuple[Any, ...] = ("pt_multi", "pt_hierarchical", "pe_hierarchical", "pe_single")
    for variant in variants:
        for rows in ("plain", "tied"):
            part = Hierarchical(kb=kb, encoder=encoder, variant=variant, rows=rows, dictionary=False)
            part.types, part.trained = KINDS, True
            if part.network.rows is not None:  # all the same before training: then each is the nearest
                torch.nn.init.normal_(part.network.rows.weight)
            runs.append((f"{variant}, {rows} rows", functools.partial(_read, part, docs)))
    seconds = [best_seconds(run) for _, run in runs]
    return [
        Row(what, len(docs), len(docs) / took, took / seconds[0], peak_resident() / MIB)
        for (what, _), took in zip(runs, seconds, strict=True)
    ]


def _tag(part: Tagger, docs: Sequence[Document], ngram: Ngram | None = None) -> None:
    """Look for mentions; link the mentions of people, if there is something to link them with."""
    part.chunks(part.read(docs), part.network)
    if ngram is not None:
        ngram.retrieve(docs)


def _read(part: JointNetwork[Any], docs: Sequence[Document]) -> None:
    """Look for mentions; link the mentions of people."""
    texts = part.read(docs)
    said = part.read_documents(docs, texts, find=True)
    part.find_mentions(texts, said)
    for doc, text, own in zip(docs, texts, said, strict=True):
        part.search(part.mention_vectors(doc, text, own, [one.spans for one in doc.mentions or ()]), part.k)
