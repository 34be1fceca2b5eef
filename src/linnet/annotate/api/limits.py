"""What holds for all requests and answers: how large a body may be, and the headers that browsers keep to."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linnet.annotate.api.problems import Problem

__all__ = ["HEADERS", "PRIVATE", "Limits"]

HEADERS = {
    # no script, style or picture from elsewhere, and none in the page itself; nobody may put it into a frame
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
STRICT = "max-age=31536000"
PRIVATE = "no-store"  # documents may be about patients: nothing stays in a cache unless a route says so


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
        said = Headers(scope=scope).get("content-length", "0")
        if not said.isdecimal() or int(said) > most:
            await _too_large(most).answer()(scope, receive, sending)
            return
        await self.app(scope, _counted(receive, most), sending)


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


def _add_headers(message: Message, *, secure: bool) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("Cache-Control", PRIVATE)
    if secure:
        headers.setdefault("Strict-Transport-Security", STRICT)
