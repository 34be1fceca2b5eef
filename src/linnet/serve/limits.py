"""What holds for all requests and answers: the size and digest of a body, and the headers that browsers keep to."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linnet.serve.problems import Problem

__all__ = ["HEADERS", "PRIVATE", "Limits"]

HEADERS = {
    # no script, style or picture from elsewhere, and none in the page itself; nobody may put it into a frame, and only
    # the templates of the screens may turn a text into HTML
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types lit-html"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
# one member of Content-Digest (RFC 9530), and those of the algorithms it names that are safe
DIGEST = re.compile(r"([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):(?:;[^,]*)?")
ALGORITHMS = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}
STRICT = "max-age=31536000"
PRIVATE = "no-store"  # documents may be about patients: nothing stays in a cache unless a route says so
# by whether the connection is secure
ADDED = {
    secure: [
        (name.lower().encode(), value.encode())
        for name, value in {
            **HEADERS,
            "Cache-Control": PRIVATE,
            **({"Strict-Transport-Security": STRICT} if secure else {}),
        }.items()
    ]
    for secure in (False, True)
}


class Limits:
    """Wraps an application; ``largest`` gives the bytes that a request of this method and path may have."""

    def __init__(self, app: ASGIApp, largest: Callable[[str, str], int]) -> None:
        self.app, self.largest = app, largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_headers(message, secure=scope.get("scheme") == "https")
            await send(message)

        most = self.largest(scope["method"], scope["path"])
        headers = Headers(scope=scope)
        said = headers.get("content-length", "0")
        if not said.isdecimal() or int(said) > most:
            await _too_large(most).answer()(scope, receive, sending)
            return
        try:
            wanted = _digests(headers.getlist("content-digest"))
        except Problem as problem:
            await problem.answer()(scope, receive, sending)
            return
        await self.app(scope, _checked(_counted(receive, most), wanted), sending)


def _too_large(most: int) -> Problem:
    return Problem(
        413, "too-large", "The request is too large", f"at most {most:,} bytes", headers={"Connection": "close"}
    )


def _counted(receive: Receive, most: int) -> Receive:
    """Return the same stream, which is refused once it is longer than it may be, whatever its headers say."""
    taken = 0

    async def counted() -> MutableMapping[str, Any]:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > most:
            raise _too_large(most)
        return message

    return counted


def _digests(headers: list[str]) -> dict[str, bytes]:
    """Return the digests that a body must have, by algorithm; those of others are nothing to go by.

    Raises:
        Problem: 400, the header is none of RFC 9530.
    """
    wanted: dict[str, bytes] = {}
    for member in filter(None, (part.strip() for header in headers for part in header.split(","))):
        found = DIGEST.fullmatch(member)
        try:
            value = base64.b64decode(found[2], validate=True) if found else None
        except binascii.Error:
            value = None
        if found is None or value is None:
            detail = f"Content-Digest is sha-256=:BASE64:, not {member[:100]!r}"
            raise Problem(400, "content-digest", "The digest cannot be read", detail)
        if found[1] in ALGORITHMS:
            wanted[found[1]] = value
    return wanted


def _checked(receive: Receive, wanted: Mapping[str, bytes]) -> Receive:
    """Return the same stream, which is refused at its end if it is not what its sender has sent.

    Routes act when they have all of a body: nothing has been done by then.
    """
    if not wanted:
        return receive
    running = {name: ALGORITHMS[name]() for name in wanted}

    async def checked() -> MutableMapping[str, Any]:
        message = await receive()
        if message["type"] == "http.request":
            for total in running.values():
                total.update(message.get("body", b""))
            wrong = [name for name, total in running.items() if total.digest() != wanted[name]]
            if wrong and not message.get("more_body", False):
                detail = f"the body that arrived has another {wrong[0]} digest than Content-Digest says: send it again"
                raise Problem(400, "content-digest", "The body has changed on the way", detail)
        return message

    return checked


def _add_headers(message: Message, *, secure: bool) -> None:
    """Add the headers that an answer has not set itself; every answer comes by here."""
    there = {name.lower() for name, _ in message["headers"]}
    message["headers"] = [*message["headers"], *(one for one in ADDED[secure] if one[0] not in there)]
