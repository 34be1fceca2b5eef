"""Knowledge bases: search as one types, concepts, and what is below them. A version never changes."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response

from linnet.annotate.api.guard import Bench, make_router
from linnet.errors import KnowledgeBaseError
from linnet.kb import KnowledgeBase

__all__ = ["router"]

router = make_router()
IMMUTABLE = "private, max-age=31536000, immutable"
Words = Annotated[str, Query(min_length=1, max_length=500)]
Filter = Annotated[list[str], Query(max_length=50)]
SHOWN_PARENTS = 20


@router.get("/kb/{kb}")
def describe(bench: Bench, kb: str) -> dict[str, Any]:
    """Describe a knowledge base, given by name or version: the version, by which to ask for more, sizes and types."""
    try:
        found = bench.kb_named(kb)
    except KnowledgeBaseError:
        found = bench.kb_of(kb)
    info = {key: int(found.info[key]) for key in ("concepts", "names", "retired")}
    return {"name": found.path.stem, "version": found.version, **info, "types": found.types()}


@router.get("/kb/{version}/search")
def search(
    bench: Bench,
    version: str,
    response: Response,
    q: Words,
    types: Filter = [],  # noqa: B006 - FastAPI copies it
    under: Filter = [],  # noqa: B006
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> dict[str, Any]:
    """Find concepts by id, exact name, beginning of a name, all words, any word; best first, one row a concept."""
    kb = bench.kb_of(version)
    hits = kb.search(q, types=types, under=under, limit=limit)
    response.headers["Cache-Control"] = IMMUTABLE
    return {
        "hits": [
            {"id": hit.id, "name": hit.name, "matched": hit.matched, "tier": hit.tier, "types": kb.types_of(hit.row)}
            for hit in hits
        ]
    }


@router.get("/kb/{version}/concepts/{concept}")
def read_concept(bench: Bench, version: str, concept: str, response: Response) -> dict[str, Any]:
    """Return a concept with its names, parents and children; an id that was retired leads to its successor."""
    kb = bench.kb_of(version)
    row = kb.row(concept)
    found = kb[row]
    response.headers["Cache-Control"] = IMMUTABLE
    return {
        "id": found.id,
        "asked": concept,
        "name": found.name,
        "names": [{"text": name.text, "scope": name.scope, "language": name.language} for name in found.names],
        "types": found.types,
        "definition": found.definition,
        "xrefs": found.xrefs,
        "parents": [_brief(kb, int(parent)) for parent in kb.parents(row)[:SHOWN_PARENTS]],
        "children": len(kb.children(row)),
    }


@router.get("/kb/{version}/concepts/{concept}/children")
def children(
    bench: Bench,
    version: str,
    concept: str,
    response: Response,
    after: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> dict[str, Any]:
    """List what is directly below a concept, a page at a time, each with the number of its own children."""
    kb = bench.kb_of(version)
    below = kb.children(kb.row(concept))
    response.headers["Cache-Control"] = IMMUTABLE
    shown = [{**_brief(kb, int(row)), "children": len(kb.children(int(row)))} for row in below[after : after + limit]]
    return {"children": shown, "next": after + limit if after + limit < len(below) else None}


def _brief(kb: KnowledgeBase, row: int) -> dict[str, Any]:
    found = kb[row]
    return {"id": found.id, "name": found.name, "types": found.types}
