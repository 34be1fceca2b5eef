"""``linnet bench evaluate``: how long an evaluation of many mentions takes, and how much memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from linnet.cli.common import Quiet, Verbose, listen, table
from linnet.data import Candidates, Concept, Document, Mention, Name
from linnet.evaluate import Options
from linnet.evaluate import evaluate as compare
from linnet.evaluate.meter import Meter, mib
from linnet.evaluate.report import Report
from linnet.kb import KnowledgeBase
from linnet.kb.build import build

__all__ = ["Measured", "evaluate", "measure"]

WORD = 8  # characters of a synthetic mention, the blank after it included
RIGHT = 0.8  # of the mentions have gold first
FAN = 10  # children of a concept


class Measured(NamedTuple):
    """An evaluation, and what making its documents and doing it took."""

    report: Report
    making: Meter
    meter: Meter


def evaluate(
    documents: Annotated[int, typer.Option(min=1, help="Documents.")] = 4392,
    mentions: Annotated[int, typer.Option(min=1, help="Total number of gold mentions.")] = 350_000,
    candidates: Annotated[int, typer.Option(min=1, help="Candidates per mention.")] = 64,
    concepts: Annotated[int, typer.Option(min=2, help="Concepts of the knowledge base.")] = 30_000,
    seed: Annotated[int, typer.Option(help="Seed of the synthetic documents.")] = 13,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate synthetic predictions with all measures, intervals, slices and errors."""
    listen(quiet=quiet, verbose=verbose)
    report, making, meter = measure(documents, mentions, candidates, concepts, seed=seed)
    rows = [
        ("documents", f"{report.documents:,}"),
        ("mentions × candidates", f"{report.mentions['gold']:,} × {min(candidates, concepts):,}"),
        ("measures, slices", f"{len(report.measures):,}, {len(report.slices):,}"),
        ("evaluation, all of it", f"{meter.seconds:.1f} s"),
        ("processor time of it", f"{meter.processor:.1f} s"),
        ("peak memory before, documents included", mib(making.anonymous)),
        ("peak memory meanwhile, documents included", mib(meter.anonymous)),
    ]
    table("evaluation", ("", "measured"), rows, right=(1,))


def measure(documents: int, mentions: int, candidates: int, concepts: int, *, seed: int) -> Measured:
    """Evaluate synthetic predictions of that size."""
    with tempfile.TemporaryDirectory() as folder:
        kb = build(_concepts(concepts), Path(folder) / "synthetic.kb")
        with Meter() as making:
            pairs = list(_pairs(kb, documents, mentions, min(candidates, concepts), np.random.default_rng(seed)))
        gold, predicted = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        with Meter() as meter:
            report = compare(gold, predicted, kb=kb, options=Options())
    return Measured(report, making, meter)


def _concepts(count: int) -> Iterator[Concept]:
    """Yield concepts with two names each, in a tree."""
    for number in range(count):
        parents = (f"X:{(number - 1) // FAN}",) if number else ()
        yield Concept(f"X:{number}", (Name(f"w{number:06d}"), Name(f"name {number}")), ("Thing",), parents=parents)


def _pairs(
    kb: KnowledgeBase, documents: int, mentions: int, candidates: int, rng: np.random.Generator
) -> Iterator[tuple[Document, Document]]:
    """Yield gold and predicted documents whose texts are names, one after the other."""
    ids = [kb.id(row) for row in range(len(kb))]
    scores = np.linspace(1.0, 0.0, candidates, dtype=np.float32)
    for number in range(documents):
        count = (number + 1) * mentions // documents - number * mentions // documents
        truth = rng.integers(len(ids), size=count)
        rows = (truth[:, None] + np.arange(candidates)) % len(ids)  # gold first
        shift = np.where(rng.random(count) < RIGHT, 0, rng.integers(1, candidates + 1, size=count))
        rows = (rows - shift[:, None]) % len(ids)
        text = " ".join(f"w{concept:06d}" for concept in truth.tolist())
        sure = rng.random(count)
        wanted, found = [], []
        for place in range(count):
            start, end = place * WORD, place * WORD + WORD - 1
            wanted.append(Mention(start, end, source="gold", types=("Thing",), concepts=(ids[truth[place]],)))
            listed = Candidates(rows[place], scores, kb=kb.version)
            answer = (ids[rows[place, 0]],)
            found.append(
                Mention(
                    start, end, candidates=listed, concepts=answer, probability=float(sure[place]), types=("Thing",)
                )
            )
        yield Document(str(number), text, mentions=tuple(wanted)), Document(str(number), text, mentions=tuple(found))
