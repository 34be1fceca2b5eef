"""What is asked of a linking server. The workbench has the same routes, behind its own sign-in.

`add_routes` adds them to any router; ``app.state.linking`` is a `linnet.serve.linking.Linking`.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linnet.data import Concept
from linnet.errors import KnowledgeBaseError, LinnetError, UnknownConceptError
from linnet.kb import KnowledgeBase
from linnet.kb.terminologies import Terminologies
from linnet.retrieve import similar
from linnet.serve.forms import ANSWER, ASKED, LINE, Wanted, documents_in, read_wanted
from linnet.serve.jobs import Job
from linnet.serve.linker import Linker
from linnet.serve.linking import Linking
from linnet.serve.metrics import CONTENT_TYPE
from linnet.serve.problems import Problem, problem_of

__all__ = ["LINES", "Direct", "add_routes"]

logger = logging.getLogger(__name__)

LINES = "application/x-ndjson"
BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": Wanted.model_json_schema(), "examples": ASKED}},
    },
    "responses": {
        "200": {
            "description": "The documents with their mentions; one a line where `Accept` says so",
            "content": {
                "application/json": {"schema": {"type": "object"}, "example": ANSWER},
                LINES: {"schema": {"type": "string"}, "example": json.dumps(LINE) + "\n"},
            },
        }
    },
}
SHOWN = 20  # parents of a concept
SOON = 1.0  # seconds for an answer before somebody looks whether its client is still there


def add_routes(router: APIRouter) -> APIRouter:
    """Add all routes to a router, and return it."""
    router.post("/link", response_class=Response, openapi_extra=BODY)(_measured("/link", link))
    router.get("/concepts/{concept:path}", responses=_example(CONCEPT))(_measured("/concepts", read_concept))
    router.get("/search", responses=_example({"hits": [HIT]}))(_measured("/search", search))
    router.get("/pipelines")(_measured("/pipelines", list_pipelines))
    router.get("/health")(health)
    router.get("/metrics", response_class=Response)(metrics)
    for path, answer in (("/health", health), ("/metrics", metrics)):  # what watches servers may ask for no body
        router.head(path, include_in_schema=False)(answer)
    return router


def _example(value: object) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {"application/json": {"example": value}}}}


def _measured(route: str, endpoint: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Count the requests of a route, their statuses, and the seconds until their answers begin."""

    @functools.wraps(endpoint)
    async def measured(request: Request, **given: Any) -> Any:
        linking, started, status = _linking(request), time.perf_counter(), 200
        try:
            if inspect.iscoroutinefunction(endpoint):
                return await endpoint(request, **given)
            return await run_in_threadpool(endpoint, request, **given)
        except Exception as error:
            status = error.status_code if isinstance(error, Problem) else 422 if isinstance(error, LinnetError) else 500
            raise
        finally:
            linking.metrics.requests.labels(route, str(status)).inc()
            linking.metrics.seconds.labels(route).observe(time.perf_counter() - started)

    return measured


def _linking(request: Request) -> Linking:
    linking: Linking = request.app.state.linking
    return linking


def _client(request: Request) -> str:
    """Return what tells a client from others: its key or name, or else its address."""
    asker = getattr(request.state, "asker", None)
    name = getattr(request.state, "client", "") if asker is None else str(asker.user)
    return name or (request.client.host if request.client else "")


# --- linking ---------------------------------------------------------------------------------------------------------


async def link(request: Request) -> Response:
    """Link one text, several texts, or documents, and return documents with mentions, concepts and probabilities.

    ``names`` are the preferred names of the concepts. With ``Accept: application/x-ndjson`` each document comes on a
    line as soon as it and those before it are linked; a line with ``status`` and ``title`` says what went wrong with
    one. 413: too long; 429 and 503: ask again after ``Retry-After`` seconds; 504: it took too long.
    """
    linking = _linking(request)
    with linking.admit(client := _client(request)):
        with linking.reading():
            wanted = read_wanted(await _body(request, linking.settings.read))
            linker = linking.linker(wanted.pipeline)
            job = _job(linking, linker, wanted, client)
            linker.submit(job)
        if LINES in request.headers.get("accept", ""):
            return Lines(linking, job)
        with _watched(request, job):
            return await _answer(linking, linker, job)


@contextmanager
def _watched(request: Request, job: Job) -> Iterator[None]:
    """Abandon a job whose client has gone, unless it is answered at once, as most are."""
    begun = list[asyncio.Task[None]]()
    timer = asyncio.get_running_loop().call_later(SOON, lambda: begun.append(asyncio.create_task(_watch(request, job))))
    try:
        yield
    finally:
        timer.cancel()
        for task in begun:
            task.cancel()


async def _watch(request: Request, job: Job) -> None:
    """Wait until the client has gone, and abandon its job: those that ask again and again would wait for themselves."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    job.abandon(_gone())


def _gone() -> Problem:
    return Problem(400, "gone", "The client has gone", "and its request with it")


async def _body(request: Request, seconds: float) -> bytes:
    try:
        async with asyncio.timeout(seconds):
            return await request.body()
    except ClientDisconnect as error:
        raise _gone() from error
    except TimeoutError as error:
        detail = f"the rest of the request did not come within {seconds:g} s"
        raise Problem(408, detail=detail, headers={"Connection": "close"}) from error


def _job(linking: Linking, linker: Linker, wanted: Wanted, client: str) -> Job:
    docs = documents_in(wanted, linker.rows, linking.settings)
    if wanted.allow is None:
        return Job(docs, client)
    allow = wanted.allow.allow()
    if (kb := linker.kb) is not None and (problem := next(allow.problems(kb), None)):
        raise Problem(422, "invalid", "Some values are not as expected", f"allow.{problem}")
    return Job(docs, client, allow)


async def _answer(linking: Linking, linker: Linker, job: Job) -> Response:
    lines, names, place = list[bytes](), dict[str, str](), 0
    try:
        async with asyncio.timeout(linking.settings.seconds):
            for place in range(len(job.docs)):
                found = await job.outcome(place)
                lines.append(found.line)
                names.update(found.names)
    except Exception as error:
        problem = _problem(error)
        problem.more["id"] = job.docs[place].id
        raise problem from error
    finally:
        job.abandoned = True  # whatever of it is left
    # the lines are JSON already
    head, tail = json.dumps(linker.name).encode(), json.dumps(names).encode()
    parts = (b'{"pipeline":', head, b',"documents":[', b",".join(lines), b'],"names":', tail, b"}")
    return Response(b"".join(parts), media_type="application/json")


class Direct:
    """Wraps an application: answers ``POST /link`` past its router, which takes as long as a fifth of the linking."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self._link = app, _measured("/link", link)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["path"] != "/link" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            answer = await self._link(Request(scope, receive))
        except Exception as error:  # as `handle_errors` has it
            answer = problem_of(error).answer()
        await answer(scope, receive, send)


class Lines(StreamingResponse):
    """The documents of a job one by one, as soon as each is there and the client has taken those before."""

    def __init__(self, linking: Linking, job: Job) -> None:
        super().__init__(self._lines(), media_type=LINES)
        self._linking, self._job = linking, job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""

        async def sending(message: Message) -> None:
            async with asyncio.timeout(self._linking.settings.write):
                await send(message)

        try:
            with self._linking.counted(self._job.client):
                await super().__call__(scope, receive, sending)
        except TimeoutError:
            logger.warning("a client took nothing of its answer for %g s: given up", self._linking.settings.write)
            raise
        finally:
            self._job.abandoned = True

    async def _lines(self) -> AsyncIterator[bytes]:
        for place, doc in enumerate(self._job.docs):
            try:
                async with asyncio.timeout(self._linking.settings.seconds):
                    line = (await self._job.outcome(place)).line
            except Exception as error:  # the answer has begun: a line says so
                line = json.dumps({**_problem(error).body, "id": doc.id}).encode()
            yield line + b"\n"


def _problem(error: Exception) -> Problem:
    """Return what it is in HTTP that a document was not linked."""
    if isinstance(error, TimeoutError):
        return Problem(504, detail="linking took too long: send less at once, or ask again later")
    if isinstance(error, KnowledgeBaseError) and not isinstance(error, UnknownConceptError):
        return Problem(503, detail=str(error), headers={"Retry-After": "60"})
    return problem_of(error, lambda ours: Problem(422, "refused-data", "The data cannot be used", str(ours)))


# --- concepts --------------------------------------------------------------------------------------------------------

Named = Annotated[str | None, Query(description="of `GET /pipelines`; its first one if left out")]
CONCEPT = {
    "id": "HP:0001250",
    "asked": "HP:0001250",
    "name": "Seizure",
    "names": [{"text": "Seizure", "scope": "exact", "language": ""}],
    "types": ["Phenotypic abnormality"],
    "definition": "",
    "xrefs": [],
    "parents": [{"id": "HP:0012638", "name": "Abnormal nervous system physiology"}],
}
HIT = {"id": "HP:0001250", "name": "Seizure", "matched": "Seizures", "tier": "exact"}


def read_concept(request: Request, concept: str, pipeline: Named = None) -> dict[str, Any]:
    """Return a concept of a pipeline's knowledge base; an id that was retired leads to its successor."""
    for kb in _kbs(_linking(request).linker(pipeline)):
        if concept in kb:
            return _shown(kb, concept, kb[concept])
    raise Problem(404, detail=f"there is no concept {concept!r}")


def _shown(kb: KnowledgeBase, asked: str, found: Concept) -> dict[str, Any]:
    parents = [kb[row] for row in kb.parents(kb.row(found.id))[:SHOWN].tolist()]
    return {
        "id": found.id,
        "asked": asked,
        "name": found.name,
        "names": [{"text": name.text, "scope": name.scope, "language": name.language} for name in found.names],
        "types": list(found.types),
        "definition": found.definition,
        "xrefs": list(found.xrefs),
        "parents": [{"id": one.id, "name": one.name} for one in parents],
    }


def search(
    request: Request,
    q: Annotated[str, Query(min_length=1, max_length=500, description="an id or words")],
    pipeline: Named = None,
    type: Annotated[list[str], Query(max_length=50, description="only concepts of these types")] = [],  # noqa: B006
    under: Annotated[list[str], Query(max_length=50, description="only what is below these")] = [],  # noqa: B006
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> dict[str, Any]:
    """Find concepts by id, exact name, beginning of a name, all words, else similar name, any word; best first.

    Of several knowledge bases those are asked that have one of the types and one of the ids.
    """
    known = _known(_kbs(_linking(request).linker(pipeline)), type, under)
    found = [hit for kb, own in known for hit in similar.search(kb, q, **own, limit=limit)]
    best = sorted(found, key=similar.by_tier)[:limit]
    return {"hits": [{"id": hit.id, "name": hit.name, "matched": hit.matched, "tier": hit.tier} for hit in best]}


def _known(
    kbs: list[KnowledgeBase], types: list[str], under: list[str]
) -> list[tuple[KnowledgeBase, dict[str, list[str]]]]:
    """Return those that have some of the types and of the ids, each with what it has of them.

    Raises:
        KnowledgeBaseError: what none has.
    """
    own = [(kb, [name for name in types if name in _types(kb)], [id for id in under if id in kb]) for kb in kbs]
    unknown = set(types).difference(*(kinds for _, kinds, _ in own))
    missing = set(under).difference(*(roots for _, _, roots in own))
    for kb in kbs[:1]:
        kb.search("", types=list(unknown), under=list(missing), limit=0)  # which refuses what it does not have
    some = bool(types), bool(under)
    return [(kb, {"types": kinds, "under": roots}) for kb, kinds, roots in own if (bool(kinds), bool(roots)) == some]


@functools.lru_cache(maxsize=8)
def _types(kb: KnowledgeBase) -> frozenset[str]:
    """Return the semantic types of a knowledge base, which are counted for it."""
    return frozenset(kb.types())


def _kbs(linker: Linker) -> list[KnowledgeBase]:
    """Return the knowledge bases of a pipeline."""
    held = linker.kb
    return list(held.kbs.values()) if isinstance(held, Terminologies) else [] if held is None else [held]


# --- the server itself -----------------------------------------------------------------------------------------------


def list_pipelines(request: Request) -> dict[str, Any]:
    """List the pipelines, the default first: what each needs of documents and gives, and its knowledge bases."""
    return {"linnet": version("linnet"), "pipelines": [one.describe() for one in _linking(request).linkers.values()]}


async def health(request: Request) -> Response:
    """Say whether all pipelines take requests: 200 or 503."""
    linking = _linking(request)
    said = {"status": "ok" if linking.well else "stopping", "pipelines": list(linking.linkers)}
    return JSONResponse(said, 200 if linking.well else 503)


def metrics(request: Request) -> Response:
    """Return what was counted, in the text format of Prometheus."""
    return Response(_linking(request).metrics.text(), media_type=CONTENT_TYPE)
