"""The screens: files of one folder, by name, for everybody. What they show comes from the interface, which asks."""

from __future__ import annotations

import hashlib
import re
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from linnet.serve.problems import not_found

__all__ = ["FOLDER", "PAGES", "Page"]

FOLDER = Path(__file__).parents[1] / "web"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\.[a-z0-9]+)")  # nothing that leads out of a folder
TYPES = MappingProxyType(
    {
        ".css": "text/css",
        ".html": "text/html",
        ".js": "text/javascript",
        ".svg": "image/svg+xml",
        ".txt": "text/plain",
    }
)


def _answer(request: Request) -> Response:
    """Return a file; browsers keep it, and ask each time whether it is still the same."""
    name = request.path_params.get("name", "index.html")
    content, media_type = _read(name)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if _has(request.headers.get("If-None-Match", ""), tag):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    if request.method == "HEAD":
        return Response(headers={**headers, "Content-Length": str(len(content))}, media_type=media_type)
    return Response(content, headers=headers, media_type=media_type)


def _read(name: str) -> tuple[bytes, str]:
    """Return the content of a file, and its media type.

    Raises:
        Problem: 404, there is no such file.
    """
    found = NAME.fullmatch(name)
    media_type = TYPES.get(found[1]) if found else None
    if media_type is None:
        raise not_found("page")
    try:
        return (FOLDER / name).read_bytes(), media_type
    except OSError as error:  # not there, a folder, or a name too long for the disk
        raise not_found("page") from error


def _has(header: str, tag: str) -> bool:
    return header.strip() == "*" or tag in (one.strip().removeprefix("W/") for one in header.split(","))


class Page(Route):
    """A route to files of the screens: the only kind that asks nobody who they are, and that only reads."""

    def __init__(self, path: str) -> None:
        super().__init__(path, _answer, methods=["GET"], include_in_schema=False)  # and so HEAD


PAGES = (Page("/"), Page("/{name}"))
