"""Who may ask a linking server: whoever has one of its keys or, where it has none, whoever is on this machine."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from linnet.errors import FormatError, LinnetError
from linnet.serve.loopback import host_in, is_loopback
from linnet.serve.problems import Problem
from linnet.text.files import read_text

__all__ = ["ENVIRONMENT", "Gate", "Keys", "read_keys"]

ENVIRONMENT = "LINNET_API_KEYS"
SHORTEST = 16  # characters of a key
OPEN = ("/health", "/openapi.json")  # what anybody may ask


class Keys:
    """Secrets of clients, kept as hashes.

    >>> keys = Keys({"ward": "correct horse battery"})
    >>> keys.owner("correct horse battery"), keys.owner("wrong"), len(keys)
    ('ward', None, 1)
    """

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._digests = {name: _digest(key) for name, key in keys.items()}

    def __len__(self) -> int:
        return len(self._digests)

    def owner(self, key: str) -> str | None:
        """Return whose key it is, None for nobody's; how long that takes tells nothing of the keys."""
        given, found = _digest(key), None
        for name, digest in self._digests.items():  # all of them, whichever it is
            if hmac.compare_digest(given, digest):
                found = name
        return found


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def read_keys(path: Path | None) -> Keys:
    """Return the keys of a file and of the environment variable LINNET_API_KEYS: one a line, a name before it or none.

    Raises:
        FormatError: a line that is no key, or a name that comes twice.
        LinnetError: the same of the variable.
    """
    found: dict[str, str] = {}
    if path is not None:
        _add(found, read_text(path).splitlines(), str(path))
        if not found:
            raise FormatError(path, "holds no key: one a line, such as the output of `openssl rand -hex 24`")
    _add(found, os.environ.get(ENVIRONMENT, "").replace(",", "\n").splitlines(), ENVIRONMENT)
    return Keys(found)


def _add(found: dict[str, str], lines: Iterable[str], where: str) -> None:
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        name = words[0] if len(words) == 2 else f"key {len(found) + 1}"
        if len(words) > 2 or len(words[-1]) < SHORTEST or not words[-1].isascii():
            said = f"expected a key of at least {SHORTEST} characters, a name before it or none"
            raise FormatError(where, said, line=number)
        if name in found:
            raise LinnetError(f"{where}:{number}: there are two keys of {name!r}: give each a name of its own")
        found[name] = words[-1]


class Gate:
    """Wraps an application: lets in who has a key.

    Args:
        app: what answers.
        keys: of its clients.
        everybody: let in everybody where there are no keys, not only this machine.
    """

    def __init__(self, app: ASGIApp, keys: Keys, *, everybody: bool = False) -> None:
        self.app, self._keys, self._everybody = app, keys, everybody

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            problem = self._refusal(scope)
            if problem is not None:
                await problem.answer()(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Problem | None:
        headers = Headers(scope=scope)
        if not self._keys:
            # a name of another site that was made to lead here: for browsers, its pages are then this server's own
            if self._everybody or is_loopback(host_in(headers.get("host", ""))):
                return None
            return Problem(403, "host", "This server is for its own machine alone", "ask it as http://localhost")
        kind, _, value = headers.get("authorization", "").partition(" ")
        given = value.strip() if kind.lower() == "bearer" else headers.get("x-api-key", "")
        owner = self._keys.owner(given) if given else None
        if owner is None and scope["path"] not in OPEN:
            detail = "this key is none of the server's" if given else "send a key: Authorization: Bearer KEY"
            return Problem(401, detail=detail, headers={"WWW-Authenticate": "Bearer"})
        scope.setdefault("state", {})["client"] = owner or ""
        return None
