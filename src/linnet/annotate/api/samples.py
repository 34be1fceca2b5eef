"""Samples: the next documents for me, by a strategy."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from anyio import to_thread
from pydantic import Field

from linnet.annotate.api.guard import Asked, Asker, Bench, make_router
from linnet.annotate.api.projects import openable_kb, project_of
from linnet.annotate.api.session import Body
from linnet.annotate.api.workbench import Workbench
from linnet.annotate.drawing import draw_documents

__all__ = ["router"]

router = make_router()


class Wish(Body):
    """How many documents, and by which strategy: that of the project if none is named."""

    n: int = Field(default=10, ge=1, le=200)
    strategy: str | None = Field(default=None, max_length=100)
    seed: int | None = Field(default=None, ge=0, lt=2**31)


@router.post("/projects/{project}/samples", status_code=201)
async def draw(bench: Bench, asker: Asked, project: int, body: Wish) -> dict[str, Any]:
    """Give me the next documents to read; they are mine until the lease ends, and for good once I have begun.

    After that I may still begin, unless I can see what others have made of the document meanwhile.

    While the project is cold, documents are drawn by chance; ``cold_start`` says how far off that is.
    """
    # one after the other: drawing takes long, and a team that begins its day would hold up all other requests
    return await to_thread.run_sync(_draw, bench, asker, project, body, limiter=bench.drawing)


def _draw(bench: Workbench, asker: Asker, project: int, body: Wish) -> dict[str, Any]:
    chosen = project_of(bench, project)["settings"]
    drawn = draw_documents(
        bench.store,
        project,
        asker.user,
        body.n,
        strategy=body.strategy or chosen["strategy"],
        annotators=chosen["annotators"],
        lease=timedelta(hours=chosen["lease_hours"]),
        seed=body.seed,
        kb=openable_kb(bench, project),
    )
    left = {key: getattr(drawn.cold, key) for key in ("links_left", "documents_left", "ece_left", "over")}
    told = {**asdict(drawn.cold), **left}
    return {"round": drawn.round, "strategy": drawn.strategy, "assignments": drawn.assignments, "cold_start": told}
