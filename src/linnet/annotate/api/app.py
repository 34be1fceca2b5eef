"""The application: all routes, what every request passes, and every error as problem details."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version

try:
    import fastapi
    import python_multipart  # noqa: F401 - which FastAPI imports when a route takes files
except ModuleNotFoundError as error:
    from linnet.errors import MissingExtraError

    name = "python-multipart" if error.name == "python_multipart" else str(error.name)
    raise MissingExtraError(name, extra="serve", wanted_by="the annotation workbench") from error

from typing import Any

from fastapi.routing import APIRoute

from linnet.annotate.api import (
    assignments,
    candidates,
    demo,
    documents,
    exports,
    jobs,
    kb,
    linking,
    oidc,
    projects,
    proposals,
    quality,
    samples,
    session,
    stream,
    uploads,
    users,
)
from linnet.annotate.api.access import ACCESS, PREFIX
from linnet.annotate.api.guard import Guarded, access_of, make_router
from linnet.annotate.api.pages import PAGES, Page
from linnet.annotate.api.problems import of_workbench
from linnet.annotate.api.workbench import Settings, Workbench
from linnet.annotate.store import Store
from linnet.errors import LinnetError
from linnet.serve.limits import HEADERS, PRIVATE, Limits
from linnet.serve.linking import Linking
from linnet.serve.problems import handle_errors

__all__ = ["make_app", "routes_of"]

RESOURCES = (  # the first route that fits answers: those that are asked for most often come first
    assignments, candidates, kb, documents, samples, session, oidc, users, projects, uploads, stream, proposals, jobs,
    quality, exports, demo, linking,
)  # fmt: skip
LARGE = ("uploads", "history")  # the last part of paths that take files


def make_app(store: Store, settings: Settings, link: Linking | None = None) -> fastapi.FastAPI:
    """Return the application; ``app.state.workbench`` is what its requests share, ``link`` what it links texts with.

    Raises:
        LinnetError: a route that the table of access does not have, or the other way round.
    """
    app = fastapi.FastAPI(
        title="Linnet",
        version=version("linnet"),
        summary="The annotation workbench",
        docs_url=None,  # their pages take scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
    )
    app.state.workbench = Workbench(store, settings)
    app.state.linking = link or Linking({})
    for router in (*(resource.router for resource in RESOURCES), _description(app)):
        # the routes themselves: a router that is included need not show what it holds
        app.router.routes.extend(router.routes)
    app.router.routes.extend(PAGES)
    handle_errors(app, {**HEADERS, "Cache-Control": PRIVATE}, of_workbench)
    _check_routes(app)

    def largest(method: str, path: str) -> int:
        if path == f"{PREFIX}/link":
            return int(app.state.linking.settings.body)
        large = method == "POST" and path.rpartition("/")[2] in LARGE
        return settings.largest_upload if large else settings.largest_body

    app.add_middleware(Limits, largest=largest)
    return app


def _description(app: fastapi.FastAPI) -> fastapi.APIRouter:
    router = make_router()

    @router.get("/openapi.json")
    def describe() -> dict[str, Any]:
        """Describe this interface, in the form of OpenAPI."""
        return app.openapi()

    @router.get("/ping")
    def ping() -> dict[str, Any]:
        """Say that the server is there, and whether it is a demo, which asks for no password."""
        return {"linnet": app.version, "demo": app.state.workbench.settings.demo}

    return router


def routes_of(app: fastapi.FastAPI) -> Iterator[tuple[str, APIRoute]]:
    """Yield the method and route of everything that the application answers, but for the screens."""
    for route in app.routes:
        if type(route) is Page:
            continue
        if not isinstance(route, APIRoute):
            raise LinnetError(f"{route!r} is no route that asks who calls")
        for method in sorted(route.methods or ()):
            yield method, route


def _check_routes(app: fastapi.FastAPI) -> None:
    found = set[str]()
    for method, route in routes_of(app):
        if not isinstance(route, Guarded) or access_of(method, route.path) is None:
            raise LinnetError(f"nobody says who may call {method} {route.path}")
        found.add(f"{method} {route.path.removeprefix(PREFIX)}")
    if left := set(ACCESS) - found:
        raise LinnetError(f"the table of access has routes that there are not: {', '.join(sorted(left))}")
