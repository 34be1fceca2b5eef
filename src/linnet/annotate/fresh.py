"""What a pipeline says of one span that a person has just selected: its linker alone, without looking for mentions."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from linnet.annotate.marks import Parts
from linnet.data import Calibration, Document, Mention
from linnet.kb import KnowledgeBase
from linnet.pipeline import Component, Pipeline
from linnet.recipes.config import make

__all__ = ["Candidate", "Found", "candidates_of", "linker_of"]

LOOKED_UP = 64  # names of a pipeline that has no retriever of its own


class Candidate(NamedTuple):
    """A concept that may be meant; ``id`` is None for NIL."""

    id: str | None
    name: str
    types: tuple[str, ...]
    score: float


class Found(NamedTuple):
    """The candidates of a span, best first, and the probability of the answer."""

    candidates: tuple[Candidate, ...]
    probability: float | None
    calibration: Calibration


def candidates_of(
    linker: Pipeline, kb: KnowledgeBase, doc: Document, parts: Parts, types: tuple[str, ...] = ()
) -> Found:
    """Return what a linker says of a span.

    Args:
        linker: what `linker_of` gives.
        kb: its knowledge base.
        doc: the document; its mentions are left out of account.
        parts: the span, one part or more.
        types: the semantic types that are known of it.

    >>> from linnet.recipes.config import load
    >>> from linnet.kb.build import build
    >>> from linnet.data import Concept, Name, Span
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kb = build([Concept("X:1", (Name("Gout"),))], pathlib.Path(folder, "x.kb"))
    ...     found = candidates_of(
    ...         linker_of(load("dictionary", kb=kb), kb), kb, Document("d", "Acute gout."), (Span(6, 10),)
    ...     )
    ...     kb.close()
    >>> found.candidates[0].id
    'X:1'
    """
    start, end = parts[0].start, parts[-1].end
    mention = Mention(start, end, parts=parts if len(parts) > 1 else (), types=types, source="user")
    [answered] = linker([replace(doc, mentions=(mention,))])
    found = next((one for one in answered.mentions or () if one.spans == mention.spans), mention)
    rows = found.candidates
    if rows is None:
        return Found((), found.probability, found.calibration)
    pairs = zip(rows.rows.tolist(), rows.scores.tolist(), strict=True)
    made = tuple(_candidate(kb, row, score) for row, score in pairs)
    probability = found.probability
    if found.concepts == () and made and made[0].id is not None and probability is not None:
        probability = 1.0 - probability  # that the first candidate is meant, which was too improbable for an answer
    return Found(made, probability, found.calibration)


def _candidate(kb: KnowledgeBase, row: int, score: float) -> Candidate:
    if row < 0:
        return Candidate(None, "", (), score)
    concept = kb[row]
    return Candidate(concept.id, concept.name, concept.types, score)


def linker_of(pipeline: Pipeline, kb: KnowledgeBase) -> Pipeline:
    """Return a pipeline without the parts that find mentions; if no other one looks anything up, similar names are."""
    parts: list[Component] = [part for part in pipeline.parts if "mentions" not in part.gives]
    if not any("candidates" in part.gives for part in parts):
        place = next((at for at, part in enumerate(parts) if "candidates" in part.needs), len(parts))
        parts.insert(place, make({"use": "ngram", "k": LOOKED_UP}, kb))
    return pipeline.with_parts(parts)
