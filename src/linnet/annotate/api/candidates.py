"""Candidates for a span that somebody has just selected, from the pipeline of the project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from linnet.annotate.api.documents import document_in
from linnet.annotate.api.guard import Asked, Bench, make_router
from linnet.annotate.api.projects import openable_kb, project_of
from linnet.annotate.api.session import Body
from linnet.annotate.blind import may_ask
from linnet.annotate.documents import document_of
from linnet.annotate.fresh import Candidate, candidates_of
from linnet.annotate.marks import fit
from linnet.annotate.models import model_row
from linnet.annotate.proposals import live_ids, new_concepts
from linnet.annotate.uses import concepts_for
from linnet.data import Document, Span
from linnet.detect.conjuncts import is_name, readings
from linnet.kb import KnowledgeBase
from linnet.serve.problems import Problem

__all__ = ["router"]

router = make_router()


class Selection(Body):
    """Where something was selected, in code points, and the types that it may have."""

    document: int = Field(ge=1, le=2**31 - 1)
    parts: list[tuple[int, int]] = Field(min_length=1, max_length=100)
    types: list[str] = Field(default=[], max_length=20)
    limit: int = Field(default=9, ge=1, le=100)


@router.post("/projects/{project}/candidates")
def find(bench: Bench, asker: Asked, project: int, body: Selection) -> dict[str, Any]:
    """Return the concepts that a span may mean, best first; ``id`` null is "none of the knowledge base".

    Where the model in use has learned from a peer's hidden work on this document, the untrained recipe answers.
    ``used`` are the concepts chosen for the same words in this project, as far as I may know, the most frequent first.
    """
    row = project_of(bench, project)
    if not row["kb"]:
        raise Problem(409, "no-kb", "The project has no knowledge base", "an admin sets one in its settings")
    with bench.store.read() as db:
        doc: Document = document_of(document_in(db, asker, body.document))
        chosen = row["model"]
        if chosen and not may_ask(db, project, chosen, body.document, asker.user):
            chosen = None
        model = model_row(db, project, chosen) if chosen else None
        uses = bench.uses.count(db, project, asker.user)
    kb = bench.kb_named(row["kb"])
    linker = bench.linker(model, row["settings"]["untrained"], kb)
    parts = fit(body.parts, doc.text)
    found = candidates_of(linker, kb, doc, parts, tuple(body.types))
    with bench.store.read() as db:
        live, names = live_ids(db, project, kb), {one.id: one.name for one in new_concepts(db, project)}
    used = concepts_for(uses, " ".join(doc.text[start:end] for start, end in parts), live=live)[: body.limit]
    return {
        "kb": kb.version,
        "model": chosen,
        "p": found.probability,
        "calibration": found.calibration,
        "used": [
            {"id": id, "name": kb[id].name if id in kb else names.get(id, id), "count": count} for id, count in used
        ],
        "candidates": [_shown(one) for one in found.candidates[: body.limit]],
    }


@router.get("/projects/{project}/conjuncts")
def split_conjuncts(
    bench: Bench, project: int, text: Annotated[str, Query(min_length=1, max_length=1000)]
) -> dict[str, Any]:
    """Return the ways to take a coordination such as "breast and ovarian cancer" apart, the likeliest first.

    Each is a list of conjuncts: ``parts`` (code points from the beginning of ``text``), their words, and whether the
    knowledge base has such a name. Ways whose conjuncts are all names stand first. ``split`` with the parts as
    ``pieces``, counted from the beginning of the document, does it.
    """
    kb = openable_kb(bench, project)
    ways = [[_conjunct(kb, text, spans) for spans in way] for way in readings(text)]
    return {"readings": sorted(ways, key=lambda way: not all(one["named"] for one in way))}


def _conjunct(kb: KnowledgeBase | None, text: str, spans: Sequence[Span]) -> dict[str, Any]:
    words = " ".join(text[start:end] for start, end in spans)
    return {"parts": spans, "words": words, "named": kb is not None and is_name(kb, words)}


def _shown(one: Candidate) -> dict[str, Any]:
    return {"id": one.id, "name": one.name, "types": one.types, "score": one.score}
