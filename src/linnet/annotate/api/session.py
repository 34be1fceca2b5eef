"""Signing in and out, and the link that sets a password."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field

from linnet.annotate.api.guard import Asked, Bench, cookie_name, make_router
from linnet.annotate.people import name_of
from linnet.annotate.signing import (
    change_password,
    check_unchanged,
    hash_password,
    make_session,
    sign_in,
    sign_out,
    use_link,
    user_of_link,
)

__all__ = ["Body", "begin", "router"]

router = make_router()


class Body(BaseModel):
    """What a request sends: nothing that it does not know."""

    model_config = ConfigDict(extra="forbid")


class SignIn(Body):
    """A name and its password."""

    name: str = Field(max_length=500)
    password: str = Field(max_length=1000)


class FirstPassword(Body):
    """What a link holds, and the password that it is to set."""

    link: str = Field(max_length=200)
    password: str = Field(max_length=1000)


class NewPassword(Body):
    """The password there is, and the one there is to be; tokens end with the old one unless they are to be kept."""

    old: str = Field(max_length=1000)
    new: str = Field(max_length=1000)
    keep_tokens: bool = False


def begin(db: sa.Connection, request: Request, response: Response, user: int) -> dict[str, Any]:
    """Open a session in this browser, in the transaction that has asked whether this user may."""
    secret, csrf = make_session(db, user)
    secure = request.url.scheme == "https"
    response.set_cookie(cookie_name(request), secret, httponly=True, secure=secure, samesite="lax", path="/")
    return {"user": user, "name": name_of(db, user), "csrf": csrf}


@router.post("/session", status_code=201)
def begin_session(bench: Bench, request: Request, response: Response, body: SignIn) -> dict[str, Any]:
    """Sign in; ``csrf`` goes into the header X-CSRF-Token of every request that changes something."""
    with bench.store.read() as db:  # a password takes long to check: nobody else is to wait for it
        account = sign_in(db, body.name, body.password, bench.attempts)
    with bench.store.write() as db:
        check_unchanged(db, account)
        return begin(db, request, response, account.user)


@router.post("/session/password", status_code=201)
def set_password(bench: Bench, request: Request, response: Response, body: FirstPassword) -> dict[str, Any]:
    """Set a password by a link, which is used up, and sign in; open sessions and tokens end."""
    with bench.store.read() as db:
        user_of_link(db, body.link)
    hash = hash_password(body.password)
    with bench.store.write() as db:
        return begin(db, request, response, use_link(db, body.link, hash))


@router.delete("/session", status_code=204)
def end_session(bench: Bench, asker: Asked, request: Request, response: Response) -> None:
    """Sign out."""
    with bench.store.write() as db:
        sign_out(db, asker.secret)
    # browsers that get it without "secure" keep one whose name begins with __Host-
    secure = request.url.scheme == "https"
    response.delete_cookie(cookie_name(request), path="/", secure=secure, httponly=True, samesite="lax")


@router.get("/me")
def me(asker: Asked) -> dict[str, Any]:
    """Say who I am."""
    return {"user": asker.user, "name": asker.name, "admin": asker.admin, "csrf": asker.csrf}


@router.patch("/me", status_code=204)
def change_mine(bench: Bench, asker: Asked, body: NewPassword) -> None:
    """Change my password; all sessions end, and all tokens unless they are kept."""
    with bench.store.read() as db:
        account = sign_in(db, asker.name, body.old, bench.attempts)
    hash = hash_password(body.new)
    with bench.store.write() as db:
        change_password(db, account, hash, keep_tokens=body.keep_tokens)
