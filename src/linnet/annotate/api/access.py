"""Who may do what: one table of all routes. A route that is not in it is refused when the application is made.

What a role may see is more than this table says: of others' open work nobody learns (`linnet.annotate.blind`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from linnet.annotate.people import ROLES

__all__ = ["ACCESS", "ANYONE", "PREFIX", "SITE", "USER", "Access"]

PREFIX = "/api/v1"
ANYONE = "anyone"  # without signing in
USER = "user"  # signed in
SITE = "site"  # an administrator of the whole workbench


class Access(NamedTuple):
    """Who may call a route: one of the three above, or roles in the project that it is about.

    ``scope`` is what a token needs. With ``replayed``, a POST that is repeated with the same ``Idempotency-Key`` does
    nothing and gets the first answer again; answers that hold secrets are not kept for that.
    """

    who: frozenset[str]
    scope: str
    replayed: bool = False


def _read(*who: str) -> Access:
    return Access(frozenset(who), "read")


def _work(*who: str, replayed: bool = True) -> Access:
    return Access(frozenset(who), "write", replayed)


def _manage(*who: str, replayed: bool = True) -> Access:
    return Access(frozenset(who), "manage", replayed)


MEMBERS = ROLES
WORKERS = ("admin", "curator", "annotator")
LEADERS = ("admin", "curator")
ADMIN = "admin"

ACCESS: Mapping[str, Access] = MappingProxyType(
    {
        "GET /openapi.json": _read(ANYONE),
        "GET /ping": _read(ANYONE),
        "POST /session": _work(ANYONE, replayed=False),
        "DELETE /session": _read(USER),
        "POST /session/password": _work(ANYONE, replayed=False),
        "POST /session/demo": _work(ANYONE, replayed=False),
        "GET /oidc": _read(ANYONE),
        "POST /oidc": _work(ANYONE, replayed=False),
        "GET /oidc/callback": _read(ANYONE),
        "GET /me": _read(USER),
        "PATCH /me": _manage(USER, replayed=False),
        "GET /users": _manage(SITE),
        "POST /users": _manage(SITE, replayed=False),
        "PATCH /users/{user}": _manage(SITE, replayed=False),
        "GET /tokens": _read(USER),
        "POST /tokens": _manage(USER, replayed=False),
        "DELETE /tokens/{token}": _manage(USER, replayed=False),
        "GET /projects": _read(USER),
        "POST /projects": _manage(SITE),
        "GET /projects/{project}": _read(*MEMBERS),
        "PATCH /projects/{project}": _manage(ADMIN, replayed=False),
        "GET /projects/{project}/members": _read(*MEMBERS),
        "PUT /projects/{project}/members/{user}": _manage(ADMIN, replayed=False),
        "DELETE /projects/{project}/members/{user}": _manage(ADMIN, replayed=False),
        "GET /projects/{project}/guidelines": _read(*MEMBERS),
        "POST /projects/{project}/guidelines": _work(*LEADERS),
        "GET /projects/{project}/uploads": _read(*WORKERS),
        "POST /projects/{project}/uploads": _work(*WORKERS),
        "POST /projects/{project}/pastes": _work(*WORKERS),
        "GET /projects/{project}/documents": _read(*MEMBERS),
        "GET /projects/{project}/documents/{document}": _read(*MEMBERS),
        "DELETE /projects/{project}/documents/{document}": _manage(ADMIN, replayed=False),
        "GET /projects/{project}/assignments": _read(*MEMBERS),
        "POST /projects/{project}/assignments": _work(*LEADERS),
        "POST /projects/{project}/samples": _work(*WORKERS),
        "GET /assignments/{assignment}": _read(*MEMBERS),
        "POST /assignments/{assignment}/commands": _work(*WORKERS, replayed=False),
        "GET /assignments/{assignment}/elsewhere": _read(*WORKERS),
        "POST /assignments/{assignment}/preview": _work(*WORKERS, replayed=False),
        "GET /assignments/{assignment}/events": _read(*MEMBERS),
        "GET /projects/{project}/events": _read(*MEMBERS),
        "GET /projects/{project}/stream": _read(*MEMBERS),
        "GET /kb": _read(USER),
        "GET /recipes": _read(USER),
        "GET /kb/{kb}": _read(USER),
        "GET /kb/{version}/search": _read(USER),
        "GET /kb/{version}/concepts": _read(USER),
        "GET /kb/{version}/concepts/{concept:path}": _read(USER),
        "GET /kb/{version}/concepts/{concept:path}/children": _read(USER),
        "POST /kb/{version}/propose": _work(*WORKERS),
        "GET /projects/{project}/proposals": _read(*MEMBERS),
        "POST /projects/{project}/proposals/{proposal}/decision": _work(*LEADERS),
        "GET /projects/{project}/conjuncts": _read(*MEMBERS),
        "GET /projects/{project}/mentions": _read(*MEMBERS),
        "POST /projects/{project}/candidates": _work(*WORKERS, replayed=False),
        "GET /projects/{project}/jobs": _read(*MEMBERS),
        "POST /projects/{project}/jobs": _work(*LEADERS),
        "GET /jobs/{job}": _read(*MEMBERS),
        "GET /jobs/{job}/file": _read(*LEADERS),
        "POST /jobs/{job}/cancel": _work(*LEADERS),
        "GET /projects/{project}/models": _read(*MEMBERS),
        "GET /projects/{project}/compare": _read(*MEMBERS),
        "GET /models/{model}": _read(*MEMBERS),
        "POST /models/{model}/use": _work(*LEADERS),
        "POST /projects/{project}/untrained": _work(*LEADERS),
        "GET /projects/{project}/progress": _read(*MEMBERS),
        "GET /projects/{project}/agreement": _read(*LEADERS),
        "GET /projects/{project}/stopping": _read(*LEADERS),
        "GET /projects/{project}/exports/{format}": _read(*LEADERS),
        "GET /projects/{project}/history": _read(*LEADERS),
        "POST /projects/{project}/history": _manage(ADMIN, replayed=False),
        "POST /link": _work(USER, replayed=False),
        "GET /concepts/{concept:path}": _read(USER),
        "GET /search": _read(USER),
        "GET /pipelines": _read(USER),
        "GET /health": _read(ANYONE),
        "GET /metrics": _manage(SITE),
        "HEAD /health": _read(ANYONE),
        "HEAD /metrics": _manage(SITE),
    }
)
