"""Concepts that the knowledge base lacks: proposed, listed, and decided on by curators."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from linnet.annotate.api.guard import Asked, Bench, make_router
from linnet.annotate.api.projects import kb_of_project
from linnet.annotate.api.session import Body
from linnet.annotate.proposals import Decision, decide, proposals_seen, propose
from linnet.errors import DataError

__all__ = ["router"]

router = make_router()


class Proposal(Body):
    """A concept that somebody misses; ``parent`` is the id of the one that it would be below."""

    name: str = Field(min_length=1, max_length=500)
    types: list[str] = Field(default=[], max_length=20)
    parent: str = Field(default="", max_length=200)
    note: str = Field(default="", max_length=5_000)


class Verdict(Body):
    """What a curator says; ``concept`` is the one of the knowledge base that it is, if that is what is said."""

    state: Decision
    concept: str = Field(default="", max_length=200)
    why: str = Field(default="", max_length=5_000)


@router.post("/kb/{version}/propose", status_code=201)
def propose_concept(bench: Bench, asker: Asked, version: str, project: int, body: Proposal) -> dict[str, Any]:
    """Propose a concept that the knowledge base lacks to the curators of a project; the same again adds nothing.

    The knowledge base is not changed. Once it is accepted it has an id, ``NEW:1``, is found and can be linked to.
    """
    kb = bench.kb_of(version)
    parent = kb.id(kb.row(body.parent)) if body.parent else ""
    kb.search("", types=body.types, limit=0)  # which refuses types that there are not
    with bench.store.write() as db:
        made = propose(db, project, asker.user, body.name, kb=version, types=body.types, parent=parent, note=body.note)
        return _one(proposals_seen(db, project, asker.user), made["id"])


@router.get("/projects/{project}/proposals")
def list_proposals(bench: Bench, asker: Asked, project: int) -> list[dict[str, Any]]:
    """List the proposals of a project, the newest first; who does not curate sees the own and the accepted ones."""
    with bench.store.read() as db:
        return proposals_seen(db, project, asker.user)


@router.post("/projects/{project}/proposals/{proposal}/decision")
def decide_on_proposal(bench: Bench, asker: Asked, project: int, proposal: str, body: Verdict) -> dict[str, Any]:
    """Accept a proposal, decline it, or say which concept of the knowledge base it is or has become."""
    concept = ""
    if body.concept:
        kb = kb_of_project(bench, project)
        if kb is None:
            raise DataError("the project has no knowledge base that could have this concept")
        concept = kb.id(kb.row(body.concept))
    with bench.store.write() as db:
        decide(db, project, proposal, asker.user, body.state, concept=concept, why=body.why)
        return _one(proposals_seen(db, project, asker.user), proposal)


def _one(shown: list[dict[str, Any]], id: str) -> dict[str, Any]:
    return next(entry for entry in shown if entry["id"] == id)
