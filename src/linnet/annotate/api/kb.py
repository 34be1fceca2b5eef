"""Knowledge bases: search as one types, concepts, and what is below them. A version never changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Query, Response
from pydantic import Field

from linnet.annotate.api.aside import Aside
from linnet.annotate.api.guard import LARGEST, Asked, Asker, Bench, make_router
from linnet.annotate.api.projects import Choices, openable_kb
from linnet.annotate.api.session import Body
from linnet.annotate.api.workbench import Workbench
from linnet.annotate.blind import may_hint
from linnet.annotate.elsewhere import find_linked
from linnet.annotate.models import model_row, project_row
from linnet.annotate.people import role_of
from linnet.annotate.proposals import live_ids, new_concepts
from linnet.annotate.searching import Hit, Nearest, Search, Sources
from linnet.annotate.searching import search as find
from linnet.data import Concept
from linnet.errors import KnowledgeBaseError
from linnet.home import kb_folder
from linnet.kb import KnowledgeBase
from linnet.serve.problems import not_found

__all__ = ["router"]

router = make_router()
IMMUTABLE = "private, max-age=31536000, immutable"
MOST = 50  # values of a filter
Project = Annotated[int, Field(ge=1, le=LARGEST)]
MOST_ASKED = 200  # concepts in one list
SHOWN_PARENTS = 20
SHOWN_ABOVE = 2  # of a hit: its parent and the parent of that
SHOWN_DEFINITION = 300  # characters


class Wanted(Body):
    """What is searched for: see `linnet.annotate.searching.Search`."""

    q: str = Field(min_length=1, max_length=500)
    types: list[str] = Field(default=[], max_length=MOST)
    under: list[str] = Field(default=[], max_length=MOST)
    first: list[str] = Field(default=[], max_length=MOST)
    limit: int = Field(default=20, ge=1, le=200)
    late: bool = True
    project: Project | None = None

    def search(self) -> Search:
        """Return what is to be looked for."""
        return Search(
            text=self.q, types=self.types, under=self.under, first=self.first, limit=self.limit, late=self.late
        )


@router.get("/kb")
def list_kbs() -> dict[str, list[str]]:
    """List the knowledge bases of this server that have names, which projects can link to."""
    return {"names": [path.stem for path in sorted(kb_folder().glob("*.kb"))]}


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
    asker: Asked,
    version: str,
    response: Response,
    wanted: Annotated[Wanted, Query()],
) -> dict[str, Any]:
    """Find concepts by id, exact name, use, beginning of a name, all words, similar name, meaning, any word.

    Best first, one row a concept. With a project, what its people have chosen (as far as I may know) stands before mere
    beginnings of names, its own concepts are found, and ``used`` counts. ``late=false`` leaves out the tiers behind
    "all words", which take longest: the list is the beginning of the whole one. ``missing`` are tiers that can be asked
    for in a moment, when their index is open.
    """
    kb = bench.kb_of(version)
    similar, sources, missing = bench.similar(kb), Sources(), list[str]()
    nearest = None
    if wanted.project is not None:
        sources, nearest = _of_project(bench, asker, kb, wanted.project)
    if wanted.late:
        sources = replace(sources, similar=similar.value, nearest=nearest.value if nearest else None)
        opening = (("similar", similar), ("by meaning", nearest))
        missing = [tier for tier, one in opening if one is not None and not one.ready.is_set()]
    if wanted.project is None and not missing:
        response.headers["Cache-Control"] = IMMUTABLE
    return {"hits": [_hit(kb, hit) for hit in find(kb, wanted.search(), sources)], "missing": missing}


def _of_project(
    bench: Workbench, asker: Asker, kb: KnowledgeBase, project: int
) -> tuple[Sources, Aside[Nearest | None] | None]:
    """Return what a project has to search in, as far as the asker may know of it."""
    with bench.store.read() as db:
        _check_member(db, project, asker)
        row = project_row(db, project)
        model = model_row(db, project, row["model"]) if row["model"] else None
        hinting = model if model is None or may_hint(db, project, model["id"], asker.user) else None
        sources = Sources(uses=bench.uses.count(db, project, asker.user), new=new_concepts(db, project))
    if row["kb"] and bench.kb_named(row["kb"]).version == kb.version:
        return sources, bench.nearest(hinting, Choices.model_validate(row["settings"]).untrained, kb)
    return sources, None  # its pipelines are of another knowledge base


def _hit(kb: KnowledgeBase, hit: Hit) -> dict[str, Any]:
    shown = {"id": hit.id, "name": hit.name, "matched": hit.matched, "tier": hit.tier, "types": hit.types}
    definition = "" if hit.row is None else kb[hit.row].definition
    above = _above(kb, hit.row)
    return {**shown, "used": hit.used, "above": above, "definition": _begin(definition)}


def _begin(definition: str) -> str:
    """Return the beginning of a definition, for lists."""
    return definition if len(definition) <= SHOWN_DEFINITION else f"{definition[:SHOWN_DEFINITION].rstrip()}…"


@router.get("/kb/{version}/concepts")
def list_concepts(
    bench: Bench,
    asker: Asked,
    version: str,
    id: Annotated[list[str], Query(min_length=1, max_length=MOST_ASKED)],
    response: Response,
    project: Project | None = None,
) -> list[dict[str, Any]]:
    """Return concepts in brief, for lists; ``asked`` is the id that was sent. Those that there are not are left out."""
    kb = bench.kb_of(version)
    own: dict[str, Concept] = {}
    if project is not None:
        with bench.store.read() as db:
            _check_member(db, project, asker)
            own = {one.id: one for one in new_concepts(db, project)}
    if project is None or all(one in kb for one in id):  # others, such as NEW:1, the project may have tomorrow
        response.headers["Cache-Control"] = IMMUTABLE
    found = list[dict[str, Any]]()
    for asked in dict.fromkeys(id):
        made = own.get(asked)
        if made is not None and made.replaced_by is None:
            found.append({"asked": asked, **_in_brief(made), "above": []})
        elif (known := asked if made is None else made.replaced_by or "") in kb:
            row = kb.row(known)
            found.append({"asked": asked, **_in_brief(kb[row]), "above": _above(kb, row)})
    return found


def _in_brief(found: Concept) -> dict[str, Any]:
    definition = _begin(found.definition)
    return {"id": found.id, "name": found.name, "types": found.types, "definition": definition}


def _above(kb: KnowledgeBase, row: int | None) -> list[str]:
    """Return the names of the first parent of a concept and of the parent of that."""
    above = list[str]()
    while row is not None and len(above) < SHOWN_ABOVE:
        row = next(iter(kb.parents(row).tolist()), None)
        above += [] if row is None else [kb[row].name]
    return above


@router.get("/kb/{version}/concepts/{concept:path}/children")
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


@router.get("/kb/{version}/concepts/{concept:path}")  # after that of children, which it takes in
def read_concept(
    bench: Bench, asker: Asked, version: str, concept: str, response: Response, project: Project | None = None
) -> dict[str, Any]:
    """Return a concept with its names, parents and children; an id that was retired leads to its successor.

    With a project its own concepts are there, too: those that the knowledge base lacks.
    """
    kb, own = bench.kb_of(version), None
    if project is not None:
        with bench.store.read() as db:
            _check_member(db, project, asker)
            own = next((one for one in new_concepts(db, project) if one.id == concept), None)
    if own is None:
        response.headers["Cache-Control"] = IMMUTABLE
    if own is not None and own.replaced_by is None:
        return _shown(kb, concept, own, [kb.row(id) for id in own.parents if id in kb], 0)
    row = kb.row(concept if own is None else own.replaced_by or "")
    return _shown(kb, concept, kb[row], kb.parents(row)[:SHOWN_PARENTS].tolist(), len(kb.children(row)))


def _shown(kb: KnowledgeBase, asked: str, found: Concept, parents: Sequence[int], children: int) -> dict[str, Any]:
    return {
        "id": found.id,
        "asked": asked,
        "name": found.name,
        "names": [{"text": name.text, "scope": name.scope, "language": name.language} for name in found.names],
        "types": found.types,
        "definition": found.definition,
        "xrefs": found.xrefs,
        "parents": [_brief(kb, parent) for parent in parents],
        "children": children,
    }


def _check_member(db: sa.Connection, project: int, asker: Asker) -> None:
    if role_of(db, project, asker.user) is None:
        raise not_found("project")


@router.get("/projects/{project}/mentions")
def list_linked(
    bench: Bench,
    asker: Asked,
    project: int,
    concept: Annotated[str, Query(min_length=1, max_length=200)],
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> dict[str, Any]:
    """Return how many mentions were linked to a concept, as far as I may know, and the last of them with their text.

    Those of ids that lead to it, because they were retired or proposed, are its own.
    """
    kb = openable_kb(bench, project)
    with bench.store.read() as db:
        live = live_ids(db, project, kb)
        ids = {use.concept for use in bench.uses.count(db, project, asker.user) if live(use.concept) == live(concept)}
        count, last = find_linked(db, project, asker.user, ids | {concept}, most=limit)
    return {"count": count, "mentions": [asdict(one) for one in last]}


def _brief(kb: KnowledgeBase, row: int) -> dict[str, Any]:
    found = kb[row]
    return {"id": found.id, "name": found.name, "types": found.types}
