"""Signing in at a provider (OpenID Connect). Where none is set, these routes are as if they were not there."""

from __future__ import annotations

import logging
import secrets
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from pydantic import Field
from starlette.responses import RedirectResponse

from linnet.annotate.api.guard import Bench, make_router
from linnet.annotate.api.session import Body, begin
from linnet.annotate.identities import user_of
from linnet.annotate.oidc import Provider, derive
from linnet.annotate.signing import same_secret
from linnet.serve.problems import Problem

__all__ = ["router"]

logger = logging.getLogger(__name__)

router = make_router()
COOKIES = {True: "__Host-linnet-oidc", False: "linnet-oidc"}  # behind TLS, and without
LASTS = 600  # seconds that somebody may take at the provider
LONGEST = 4000  # characters of what comes back in an address


class Start(Body):
    """What a sign-in begins with; ``link`` is the secret of an invitation."""

    link: str = Field(default="", max_length=200, pattern="^[A-Za-z0-9_-]*$")


async def _provider(bench: Bench) -> Provider:
    if bench.oidc is None:
        raise Problem(404)
    return bench.oidc


Asks = Annotated[Provider, Depends(_provider)]
Given = Annotated[str, Query(max_length=LONGEST)]


@router.get("/oidc")
def offer(provider: Asks) -> dict[str, Any]:
    """Say what people know the provider by."""
    return {"name": provider.settings.name}


@router.post("/oidc")
def start(provider: Asks, request: Request, response: Response, body: Start) -> dict[str, Any]:
    """Begin a sign-in: ``url`` is where the browser has to go, which is sent back when it is done.

    Who is not known there yet and has an invitation sends its link along, and needs no password.
    """
    secret = secrets.token_urlsafe(32)
    url = provider.address(secret)
    secure = request.url.scheme == "https"
    # lax: the browser comes back from another site, and has to bring it along
    response.set_cookie(
        COOKIES[secure], f"{secret}.{body.link}", LASTS, httponly=True, secure=secure, samesite="lax", path="/"
    )
    return {"url": url}


@router.get("/oidc/callback", status_code=303, response_class=RedirectResponse)
def finish(
    bench: Bench,
    provider: Asks,
    request: Request,
    code: Given = "",
    state: Given = "",
    iss: Given = "",
    error: Given = "",
) -> RedirectResponse:
    """End a sign-in, and go on to the workbench."""
    secure = request.url.scheme == "https"
    secret, _, link = request.cookies.get(COOKIES[secure], "").partition(".")
    if not secret or not same_secret(state, derive(secret, "state")):
        raise Problem(400, "sign-in", "The sign-in was not begun in this browser", "it took too long, or: begin again")
    if error or not code:
        logger.warning("a sign-in at %s ended with %r", provider.settings.issuer, error[:200])
        raise Problem(401, "sign-in", "The provider did not sign you in", error[:200] or "it sent no code")
    claims = provider.claims(code, secret, iss)  # outside of a transaction: the provider may be slow
    answer = RedirectResponse("/", 303)
    with bench.store.write() as db:
        begin(db, request, answer, user_of(db, claims, provider.settings, link))
    answer.delete_cookie(COOKIES[secure], path="/", secure=secure, httponly=True, samesite="lax")
    return answer
