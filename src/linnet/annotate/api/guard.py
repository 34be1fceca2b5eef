"""What every request passes: who asks, with a session or a token, and whether the table of access lets them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Path, Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from linnet.annotate.api.access import ACCESS, ANYONE, PREFIX, SITE, USER, Access
from linnet.annotate.api.idempotency import answer_once
from linnet.annotate.api.workbench import Workbench
from linnet.annotate.signing import Caller, by_session, by_token, same_secret
from linnet.annotate.tables import assignment, job, member, model, project
from linnet.serve.problems import RESPONSES, Problem, not_found

__all__ = [
    "COOKIES",
    "LARGEST",
    "Asked",
    "Asker",
    "Bench",
    "Row",
    "access_of",
    "admit",
    "cookie_name",
    "make_router",
    "number_of",
]

CSRF_HEADER = "X-CSRF-Token"
COOKIES = {True: "__Host-linnet", False: "linnet"}  # behind TLS, and without
SAFE = ("GET", "HEAD", "OPTIONS")
THINGS = ("project", "assignment", "job", "model")  # what a path is about
LARGEST = 2**31 - 1  # a number of a row
Row = Annotated[int, Path(ge=0, le=LARGEST)]


@dataclass(frozen=True, slots=True)
class Asker:
    """Who makes a request, and about which project, in which role; 0 and "" where it is about none."""

    user: int
    name: str
    admin: bool
    csrf: str
    project: int = 0
    role: str = ""
    secret: str = ""  # of the session, or the token

    @property
    def leads(self) -> bool:
        """Whether they are curator or admin of the project."""
        return self.role in ("admin", "curator")


NOBODY = Asker(0, "", False, "")


def make_router() -> APIRouter:
    """Return a router whose routes all pass `admit`."""
    return APIRouter(prefix=PREFIX, route_class=Guarded, responses=RESPONSES)


def access_of(method: str, path: str) -> Access | None:
    """Return who may call the route with this path, None if the table does not know it."""
    return ACCESS.get(f"{method} {path.removeprefix(PREFIX)}")


class Guarded(APIRoute):
    """A route that asks first who calls, before it reads what they send.

    What answers runs in a thread and nothing else does: each change of threads waits for one that is computing.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, _in_thread(endpoint), **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            bench: Workbench = request.app.state.workbench
            access = access_of(request.method, self.path)
            if access is None:  # `make_app` has refused such routes
                raise Problem(405)
            asker = await run_in_threadpool(admit, bench, request, access)
            request.state.asker = asker
            if access.replayed and request.method == "POST" and "Idempotency-Key" in request.headers:
                return await answer_once(bench.store, asker.user, request, handle)
            return await handle(request)

        return guarded


def _in_thread(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(endpoint):
        return endpoint

    @functools.wraps(endpoint)
    async def answer(**given: Any) -> Any:
        return await run_in_threadpool(endpoint, **given)

    return answer


def cookie_name(request: Request) -> str:
    """Return the name of the session's cookie; behind TLS it is bound to this host."""
    return COOKIES[request.url.scheme == "https"]


def admit(bench: Workbench, request: Request, access: Access) -> Asker:
    """Return who asks, if they may.

    Raises:
        Problem: 401 for who is not known, 403 for who may not, 404 where the project is none of theirs.
    """
    open_to_all = ANYONE in access.who
    with bench.store.read() as db:
        caller, secret = _caller(db, request)
        if open_to_all:
            _check_site(request)
            return NOBODY
        if caller is None:
            raise Problem(401, detail="sign in first, or send a token", headers={"WWW-Authenticate": "Bearer"})
        _check_csrf(request, caller)
        if access.scope not in caller.scopes:
            raise Problem(403, "scope", "The token does not allow this", f"it needs the scope {access.scope!r}")
        asker = Asker(caller.user, caller.name, caller.admin, caller.csrf, secret=secret)
        if USER in access.who:
            return asker
        if SITE in access.who:
            if not caller.admin:
                raise Problem(403, detail="only administrators of the workbench may do this")
            return asker
        return _member(db, request, asker, access)


def _caller(db: sa.Connection, request: Request) -> tuple[Caller | None, str]:
    kind, _, value = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        secret = value.strip()
        return by_token(db, secret), secret
    # what else stands there may be meant for a proxy with a password of its own, which passes it on
    secret = request.cookies.get(cookie_name(request), "")
    return (by_session(db, secret) if secret else None), secret


def _check_csrf(request: Request, caller: Caller) -> None:
    """Refuse what another site makes a browser send: it does not know the session's second secret."""
    if request.method in SAFE or not caller.csrf:
        return
    if not same_secret(request.headers.get(CSRF_HEADER, ""), caller.csrf):
        raise Problem(403, "csrf", "The request does not come from the workbench's own pages", f"send {CSRF_HEADER}")


def _check_site(request: Request) -> None:
    """Refuse what browsers themselves say is sent by another site, where there is no session yet."""
    if request.method not in SAFE and request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        raise Problem(403, "csrf", "The request does not come from the workbench's own pages")


def _member(db: sa.Connection, request: Request, asker: Asker, access: Access) -> Asker:
    given = request.path_params
    thing = next((what for what in THINGS if what in given), "project")
    # what is about a knowledge base names its project behind the question mark
    named = given if thing in given else {"project": request.query_params.get("project", "")}
    found = _found(db, named, asker.user)
    if found is None:
        raise not_found(thing)
    id, role, archived = found
    if role not in access.who:
        needed = ", ".join(sorted(access.who))
        raise Problem(403, "role", "Your role does not allow this", f"you are {role}; it takes {needed}")
    if archived and request.method not in SAFE and request.method != "PATCH":
        raise Problem(409, "archived", "The project is archived", "an admin can bring it back")
    return Asker(asker.user, asker.name, asker.admin, asker.csrf, id, role, asker.secret)


def _found(db: sa.Connection, given: Mapping[str, Any], user: int) -> sa.Row[int, str, bool] | None:
    """Return the project that a path is about, the role of a user in it, and whether it is archived."""
    query = sa.select(project.c.id, member.c.role, project.c.archived).join(member, member.c.project == project.c.id)
    mine = query.where(member.c.user == user)  # who was disabled comes no further than `by_session` and `by_token`
    if "project" in given:
        return db.execute(mine.where(project.c.id == (number_of(given["project"]) or 0))).first()
    if "model" in given:
        return db.execute(mine.join(model).where(model.c.id == str(given["model"]))).first()
    of_table = assignment if "assignment" in given else job
    id = number_of(given.get("assignment", given.get("job", ""))) or 0
    return db.execute(mine.join(of_table, of_table.c.project == project.c.id).where(of_table.c.id == id)).first()


def number_of(value: Any) -> int | None:
    """Return the number of a row that somebody names, None for what is none."""
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and 0 < len(text) < 11 and int(text) <= LARGEST else None


async def _asked(request: Request) -> Asker:
    asker: Asker = request.state.asker
    return asker


async def _bench(request: Request) -> Workbench:
    bench: Workbench = request.app.state.workbench
    return bench


Asked = Annotated[Asker, Depends(_asked)]
Bench = Annotated[Workbench, Depends(_bench)]
